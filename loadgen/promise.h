/* SPDX-License-Identifier: MIT */
/*
 * Promise: the size of the picture that a request is to be answered with.
 *
 * By the rules of Darkroom's HTTP API for w, h, fit, enlarge and orient, worked
 * out anew: none of the server's code.
 *
 * Pure.
 */
#ifndef LOADGEN_PROMISE_H
#define LOADGEN_PROMISE_H

#include "loadgen/jpeg_header.h"

#include <stdbool.h>

struct promise {
	double width_px; /* before rounding */
	double height_px;
};

/*
 * What `target`, a path with a query or none, promises for `upload`.  False: a
 * value is not one of those rules, or a variant has its own, and `out` is
 * untouched.
 */
bool promise_find(struct promise *out, const char *target,
		  const struct jpeg_header *upload);

/* Whether a picture is as promised, give or take one pixel on each side. */
bool promise_is_kept(const struct promise *p, int width_px, int height_px);

#endif
