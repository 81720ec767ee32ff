/* SPDX-License-Identifier: MIT */
/*
 * Lines: a text file that people write, read line by line.
 *
 * Empty lines and comments are skipped.  A comment is a line whose first
 * character after spaces is '#'.  Lines may end in CRLF.  The file may be a
 * pipe, such as a shell's <(...).
 */
#ifndef LOADGEN_DATASET_LINES_H
#define LOADGEN_DATASET_LINES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lines {
	const char *path; /* lent */
	FILE *in;
	char *text;
	size_t capacity;
	uint64_t number; /* of the last line that was read, from 1 */
	struct error *error;
	bool failed; /* `error` has been set */
};

/*
 * Open `path`; `l` borrows it and `error`.  False: it cannot be opened, or it
 * is a regular file and no text, such as a picture; `error` says so, and then
 * that it should be `expected`, such as "a text file with a query in each
 * line".
 */
MUST_CHECK bool lines_open(struct lines *l, const char *path,
			   const char *expected, struct error *error);

/*
 * The next line without its line end.  It is lent, and may be written to, until
 * the next call.  NULL: there are no more lines, or the next one cannot be
 * read; lines_close() returns which it was.
 */
char *lines_next(struct lines *l);

/* Set `error` to the path, the number of the last line, and this message. */
__attribute__((format(printf, 2, 3))) void lines_fail(struct lines *l,
						      const char *format, ...);

/* False: a line could not be read or is wrong; `error` says why. */
bool lines_close(struct lines *l);

#endif
