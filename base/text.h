/* SPDX-License-Identifier: MIT */
/*
 * Text: a stream into memory that grows as it is written to.
 *
 * Unlike open_memstream(), it reports when memory did not suffice, instead of
 * silently dropping what was written.
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
 * Close the stream `to` of text_open().  Returns all that was written, followed
 * by a NUL; NULL: memory did not suffice for all of it, and nothing is kept.
 */
MUST_CHECK char *text_close(struct text *t, FILE *to);

#endif
