/* SPDX-License-Identifier: MIT */
/*
 * Number: numbers as people write them, in options and in files.
 *
 * A decimal number is digits, with a point or not, and then an exponent or not:
 * 12, 0.5, .5, 1e-3.  A whole number is digits alone.  Neither has a sign, and
 * nothing else is taken: no space, "inf", "nan" or "0x10".
 *
 * Pure.
 */
#ifndef LOADGEN_NUMBER_H
#define LOADGEN_NUMBER_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Step over the decimal number that `*text` begins with.  False: there is none,
 * or a double does not hold it, and nothing is touched.
 */
MUST_CHECK bool number_take(const char **text, double *out);

/*
 * Read a `text` that is a number from `min` to `max`, and nothing else.  False:
 * it is not, and `out` is untouched.
 */
MUST_CHECK bool number_read(const char *text, double min, double max,
			    double *out);
MUST_CHECK bool number_read_whole(const char *text, uint64_t min, uint64_t max,
				  uint64_t *out);

#endif
