/* SPDX-License-Identifier: MIT */
/*
 * Pieces of a text that is written as it is sent: text as it is, or bytes in
 * base64 (RFC 4648), encoded then and there, so that it takes no memory.
 */
#ifndef SERVICE_BASE64_PIECE_H
#define SERVICE_BASE64_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct base64_piece {
	const void *bytes; /* lent */
	size_t count;
	bool is_encoded; /* else they are characters as they are */
};

uint64_t base64_piece_chars(const struct base64_piece *p);

/*
 * Write at most `max` (1 or more) of its characters, from `offset` on, which is
 * less than all.  Returns how many: at least one.
 */
size_t base64_piece_read(const struct base64_piece *p, uint64_t offset,
			 char *out, size_t max);

#endif
