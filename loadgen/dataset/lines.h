/* SPDX-License-Identifier: MIT */
/*
 * Lines: a text file that people write, read line by line.
 *
 * Empty lines are skipped, and so are lines whose first character after spaces
 * is '#'.  Line ends may be those of Windows.
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
	uint64_t number; /* of the last line, from 1 */
	struct error *error;
	bool failed; /* `error` is written */
};

/* Open `path`; `l` borrows it and `error`.  False: `error` says why. */
MUST_CHECK bool lines_open(struct lines *l, const char *path,
			   struct error *error);

/*
 * The next line without its end, lent and writable until the next call.  NULL:
 * there is none, or it cannot be read; then lines_close() is false.
 */
char *lines_next(struct lines *l);

/* Set `error` to path, line number and what is wrong with the last line. */
__attribute__((format(printf, 2, 3))) void lines_fail(struct lines *l,
						      const char *format, ...);

/* False: a line could not be read or is wrong; `error` says why. */
bool lines_close(struct lines *l);

#endif
