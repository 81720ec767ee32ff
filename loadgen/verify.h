/* SPDX-License-Identifier: MIT */
/*
 * Verify: whether a reply is the picture that was asked for.
 *
 * It must decode as a JPEG, to its end and without a warning of libjpeg-turbo;
 * pixels are made at an eighth of the size, which reads all data.  Its size may
 * be looked at too (promise.h), where the request promises one.  That comes
 * first: only what has the right size is decoded.
 *
 * Threads    One for each.
 * Limits     More than 100 megapixels are wrong.
 */
#ifndef LOADGEN_VERIFY_H
#define LOADGEN_VERIFY_H

#include "loadgen/error.h"
#include "loadgen/promise.h"

#include <stdbool.h>
#include <stddef.h>

enum verify_kind {
	VERIFY_NONE,
	VERIFY_DECODE,
	VERIFY_SIZE, /* and decode */
};

/* By its name on the command line.  False: no such name. */
MUST_CHECK bool verify_find(const char *name, enum verify_kind *kind);

struct verify;

/* NULL: out of memory. */
struct verify *verify_new(void);
void verify_free(struct verify *v);

/*
 * `promise` may be NULL: any size will do.  False: `why` says what is wrong
 * with the reply.
 */
MUST_CHECK bool verify_reply(struct verify *v, const void *bytes, size_t size,
			     const struct promise *promise, struct error *why);

#endif
