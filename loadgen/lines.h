/* SPDX-License-Identifier: MIT */
/*
 * Lines: a text file that people write, line by line.
 *
 * Empty lines, and those that begin with '#' (spaces before it or not), are
 * left out.  Line ends may be those of Windows.
 */
#ifndef LOADGEN_LINES_H
#define LOADGEN_LINES_H

#include "loadgen/error.h"

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

/* Open `path`; both are lent to `l`.  False: `error` says why. */
MUST_CHECK bool lines_open(struct lines *l, const char *path,
			   struct error *error);

/*
 * The next line without its end, lent and writable until the next call.
 * NULL: no more, or it could not be read, which lines_close() tells apart.
 */
char *lines_next(struct lines *l);

/* Write `error`: what is wrong with the last line, after path and number. */
__attribute__((format(printf, 2, 3))) void lines_blame(struct lines *l,
						       const char *format, ...);

/* False: a line could not be read, or was blamed; `error` says why. */
bool lines_close(struct lines *l);

#endif
