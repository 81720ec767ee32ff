/* SPDX-License-Identifier: MIT */
/*
 * Wire: the bytes of a connection, with or without TLS.
 *
 * A call does as much as the socket takes at once.  WIRE_AGAIN: nothing is
 * complete, but a part of a record of TLS may have been received or sent; call
 * again when `need` is fulfilled.  If the socket blocks, a call waits instead.
 *
 * Ownership  The socket is the caller's, and is open from wire_init() to
 *            wire_release().  A wire does not move between these.
 * Threads    One at a time.
 * Limits     A handshake takes up to 7 KB of a fibre's stack of 64 KiB, with an
 *            ECDSA key or one of RSA with 4096 bits (GnuTLS 3.7.9; test_wire
 *            prints it).
 */
#ifndef SERVICE_WIRE_H
#define SERVICE_WIRE_H

#include "service/direct/uthread.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct gnutls_session_int;
struct wire_tls;

enum {
	WIRE_END = 0, /* the other side has closed, or the connection is lost */
	WIRE_AGAIN = -1,
};

/* A step of a transfer yields after this number of bytes. */
enum { WIRE_STEP_BYTES = 256 * 1024 };

struct wire {
	int fd;
	bool blocks;
	struct gnutls_session_int *session; /* NULL: no TLS */
	/* A record that was given to GnuTLS, but not to the socket yet. */
	bool has_record;
	/* Of the record that GnuTLS is receiving: header and rest. */
	uint32_t header_count, left_count;
	unsigned char header[5];
	enum transfer_need need;
};

/* What all sessions share.  NULL: no memory. */
struct wire_tls *wire_tls_new(void);

/* NULL is fine. */
void wire_tls_free(struct wire_tls *tls);

/* `tls` NULL: without TLS.  False: no memory. */
MUST_CHECK bool wire_init(struct wire *w, int fd, bool blocks,
			  const struct wire_tls *tls);

void wire_release(struct wire *w);

/*
 * After WIRE_AGAIN from wire_recv(): nothing that was received is kept here, as
 * a part of a record.
 */
bool wire_is_empty(const struct wire *w);

/* 1: TLS is established, or not used; WIRE_END or WIRE_AGAIN. */
int wire_handshake(struct wire *w);

/*
 * With TLS: say that no more will be sent, if the socket takes it at once.
 * Afterwards it does not block.
 */
void wire_bye(struct wire *w);

/*
 * Returns how many bytes were received, WIRE_END or WIRE_AGAIN.  A client that
 * wants another handshake (TLS 1.2) ends the connection.
 */
ssize_t wire_recv(struct wire *w, char *to, size_t bytes);

/*
 * Returns how many bytes were sent, WIRE_END or WIRE_AGAIN.  After WIRE_AGAIN,
 * the next call must be for the same bytes.  `more`: others follow at once.
 * `buffer` is used during this call.
 */
ssize_t wire_send(struct wire *w, struct iovec *pieces, size_t count, bool more,
		  char *buffer, size_t buffer_bytes);

/* The same for bytes of a file. */
ssize_t wire_send_file(struct wire *w, int file_fd, uint64_t offset,
		       size_t bytes, char *buffer, size_t buffer_bytes);

#endif
