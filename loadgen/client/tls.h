/* SPDX-License-Identifier: MIT */
/*
 * TLS for the client: versions 1.2 and 1.3, by GnuTLS.
 *
 * A session is made for a socket that is connected and does not block.  Its
 * functions do as much as the socket takes and return -1 with errno EAGAIN if
 * they have to wait for it, in either direction.
 *
 * Ownership  The socket is the caller's, and is closed after the session.
 * Threads    One.
 */
#ifndef LOADGEN_CLIENT_TLS_H
#define LOADGEN_CLIENT_TLS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct tls;
struct tls_session;

/*
 * Servers must have a certificate for the URL's host, signed by one of
 * `ca_file` or, if that is NULL, by one that the system trusts; unless
 * `is_insecure`.  NULL: `error` says why.
 */
struct tls *tls_new(const char *ca_file, bool is_insecure, struct error *error);
void tls_free(struct tls *t); /* NULL is fine */

/* NULL: no memory. */
struct tls_session *tls_open(const struct tls *t, const char *host, int fd);

/* Say the end, if the socket takes it at once.  NULL is fine. */
void tls_close(struct tls_session *s);

/* 0: established.  -1: errno; if it is not EAGAIN, tls_why() says more. */
int tls_handshake(struct tls_session *s);

/* As recv() and writev(); after EAGAIN, send the same bytes again. */
ssize_t tls_recv(struct tls_session *s, void *to, size_t bytes);
ssize_t tls_send(struct tls_session *s, const struct iovec *parts,
		 size_t count);

/* Static text: why the last call has failed. */
const char *tls_why(const struct tls_session *s);

#endif
