/* SPDX-License-Identifier: MIT */
/*
 * Text: a stream into memory, as open_memstream() makes, but one that does not
 * lose in silence what it has no memory for.
 */
#ifndef SERVICE_TEXT_H
#define SERVICE_TEXT_H

#include <stddef.h>
#include <stdio.h>

struct text {
	char *bytes;
	size_t count, room;
};

/* To write to.  NULL: no memory. */
FILE *text_open(struct text *t);

/*
 * End the stream.  All that was written, with a NUL behind it, for the caller
 * to free(); NULL: not all of it could be kept.
 */
char *text_close(struct text *t, FILE *to);

#endif
