/* SPDX-License-Identifier: MIT */
/*
 * Outgoing: a reply while it is sent.  Its head is as that of libmicrohttpd:
 * Date and Connection come first, then the headers of the reply, then the
 * length of the body, or "Transfer-Encoding: chunked" if it is not known.
 *
 * Ownership  The body is the reply's: it is released by outgoing_release().
 * Threads    The connection's.
 */
#ifndef SERVICE_OUTGOING_H
#define SERVICE_OUTGOING_H

#include "service/direct/wire.h"
#include "service/http/transport.h"

#include <stdbool.h>
#include <stdint.h>

struct outgoing {
	bool is_last; /* after it, the connection is closed */

	/* Private. */
	enum reply_kind kind;
	bool has_body, is_chunked;
	char *head;
	/* What is sent now: the head and the body, or a chunk. */
	struct iovec pieces[1 + REPLY_PIECES_MAX];
	uint32_t piece_at, piece_count;
	int fd;              /* REPLY_FILE; -1: none */
	uint64_t at;         /* REPLY_FILE: in the file; REPLY_READ: read */
	uint64_t bytes_left; /* REPLY_FILE; REPLY_READ with a length */
	ssize_t (*read)(void *arg, uint64_t at, char *to, size_t bytes_max);
	char *chunk; /* REPLY_READ */
	size_t chunk_bytes_max;
	void (*release)(void *arg);
	void *arg;
};

/* What the request says about its reply. */
struct reply_terms {
	bool is_http_1_0;
	bool is_head;    /* it gets no body */
	bool is_last;    /* close the connection, whatever the request says */
	bool says_close; /* it has "Connection: close" */
	bool says_keep;  /* "Connection: Keep-Alive" */
};

/* Take over a reply.  False: no memory, and the reply was dropped. */
MUST_CHECK bool outgoing_begin(struct outgoing *o, struct reply *p,
			       const struct reply_terms *terms);

/* Only this text, which stays the caller's. */
void outgoing_text(struct outgoing *o, const char *text);

/*
 * Send what is there, or a part of it (TRANSFER_YIELDS).  Returns WIRE_END if
 * the connection is lost, WIRE_AGAIN, or 1: all was sent.
 */
int outgoing_send(struct outgoing *o, struct wire *w, char *buffer,
		  size_t buffer_bytes);

/*
 * REPLY_READ: make the next chunk, which is to be sent.  Returns its bytes; 0:
 * the connection is suspended; REPLY_END: there is no other, but there may
 * be something to send.
 */
ssize_t outgoing_read(struct outgoing *o);

/* Must outgoing_read() be called after the head was sent? */
static inline bool outgoing_reads(const struct outgoing *o)
{
	return o->kind == REPLY_READ && o->has_body;
}

/* An empty ({0}) one is fine. */
void outgoing_release(struct outgoing *o);

#endif
