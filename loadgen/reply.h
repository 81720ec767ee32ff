/* SPDX-License-Identifier: MIT */
/*
 * Reply: the bytes of one HTTP reply, as they come in.
 *
 * Interim replies (100 Continue, 103 Early Hints) are passed over.  A reply is
 * whole at its last byte, whichever of HTTP's ways says which that is: length,
 * chunks, or the end of the connection.
 *
 * Pure: no socket, no clock.
 *
 * Ownership  A reply owns its body.
 * Limits     A body of REPLY_BYTES_MAX and headers of 80 KiB.
 */
#ifndef LOADGEN_REPLY_H
#define LOADGEN_REPLY_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>

#define REPLY_BYTES_MAX ((size_t)64 << 20)

struct reply {
	http_parser parser;
	bool has_begun;
	bool is_whole;
	bool keep_alive;   /* once whole: the connection may be used again */
	const char *error; /* static text, or NULL; then nothing else holds */

	bool keep_body;
	char *body; /* not NULL only if kept */
	size_t body_bytes;
	size_t body_capacity;
};

/* Fill `r`. */
void reply_init(struct reply *r, bool keep_body);
void reply_release(struct reply *r);

/* Await a new reply; the last one is gone. */
void reply_begin(struct reply *r);

/* The next bytes of a reply that is neither whole nor in error. */
void reply_take(struct reply *r, const char *bytes, size_t count);

/* The server has closed the connection: the reply is whole now or never. */
void reply_take_end(struct reply *r);

/* Of a whole reply. */
int reply_status(const struct reply *r);

#endif
