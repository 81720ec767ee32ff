/* SPDX-License-Identifier: MIT */
/*
 * Text: a stream into memory that grows as it is written to.
 *
 * If memory runs out, it reports this; open_memstream() would silently drop
 * what was written.
 *
 * Ownership  text_close() gives the text to the caller, for free().
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/util.h"

#include <stddef.h>
#include <stdio.h>

struct text {
	char *bytes;
	size_t count; /* exact after fflush() or text_close() */
	size_t room;
};

/* A stream to write to.  NULL: no memory. */
MUST_CHECK FILE *text_open(struct text *t);

/*
 * Close `to`, the stream that text_open() returned.  Returns all that was
 * written, followed by a NUL.  NULL: there was too little memory for all of it,
 * and the text is freed.
 */
MUST_CHECK char *text_close(struct text *t, FILE *to);

#endif
