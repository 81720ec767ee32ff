/* SPDX-License-Identifier: MIT */
/*
 * Verify: checks that a reply is the picture that was requested.
 *
 * A reply must be a whole PPM, PNG, WebP, AVIF or JPEG XL, or a JPEG that
 * libjpeg-turbo decodes to its end without a warning.  A JPEG is decoded at a
 * DCT scale of 1/8, which also reads all of its data.  With VERIFY_SIZE the
 * reply must also have the size that Darkroom's HTTP API defines for the
 * query's w, h, fit, enlarge and orient.  Width and height may differ by one
 * pixel.  The size is checked first: a reply of the wrong size is not decoded.
 *
 * The check is independent: it uses none of the server's code.
 *
 * Threads    One for each `struct verify`.
 * Limits     A reply of more than 100 megapixels is judged wrong.
 */
#ifndef LOADGEN_REPORT_VERIFY_H
#define LOADGEN_REPORT_VERIFY_H

#include "loadgen/dataset/picture_header.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verify_kind {
	VERIFY_NONE,
	VERIFY_DECODE,
	VERIFY_SIZE, /* check the size, and decode */
};

/* Find the kind with this name on the command line.  False: no such name. */
MUST_CHECK bool verify_find(const char *name, enum verify_kind *kind);

struct verify;

/* NULL: out of memory. */
struct verify *verify_new(enum verify_kind kind);
void verify_free(struct verify *v);

/*
 * Check the reply `bytes` to `upload`.  `target` is the path and query of the
 * request.  Any size is right if the size of `upload` is not known (width_px 0)
 * or if a variant in the query has a size of its own.  False: `why` says what
 * is wrong with the reply.
 */
MUST_CHECK bool verify_reply(struct verify *v, const void *bytes, size_t size,
			     const char *target,
			     const struct picture_header *upload,
			     struct error *why);

/* Counts of checked replies.  All zero: none. */
struct reply_checks {
	uint64_t checked_count;
	uint64_t wrong_count;
	struct error first_wrong; /* "file: reason"; empty: none */
};

/* Count the reply to `path`; `why` is read only if the reply is wrong. */
void reply_checks_add(struct reply_checks *c, const char *path, bool is_right,
		      const struct error *why);

#endif
