/* SPDX-License-Identifier: MIT */
/*
 * Multipart: a file as a browser's form would upload it (RFC 7578).
 *
 * Pure.
 */
#ifndef LOADGEN_MULTIPART_H
#define LOADGEN_MULTIPART_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOUNDARY_BYTES = 40 };

struct boundary {
	char text[BOUNDARY_BYTES];
};

struct multipart {
	char *body; /* owned by whoever asked for it */
	size_t body_bytes;
	size_t file_at; /* where the file begins in it */
};

/* One of many; `number` says which. */
struct boundary multipart_boundary(uint64_t number);

/* Whether the file could be taken to end early. */
bool multipart_has(const struct boundary *boundary, const void *bytes,
		   size_t size);

/*
 * One part named `field`, an image/jpeg with the last part of `path` as its
 * file name.  False: out of memory, and `out` is untouched.
 */
MUST_CHECK bool multipart_wrap(struct multipart *out,
			       const struct boundary *boundary,
			       const char *field, const char *path,
			       const void *bytes, size_t size);

#endif
