/* SPDX-License-Identifier: MIT */
/*
 * Take: reads words and numbers from text, as people write them in options and
 * files.
 *
 * A take_ function reads what stands at *at and moves *at past it.  A number_
 * function reads a whole text.  A number has no sign and no spaces; "inf",
 * "nan" and "0x10" are refused.
 *
 * Pure.
 */
#ifndef BASE_TAKE_H
#define BASE_TAKE_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

/* Take `word`.  False: something else stands at *at, and *at has not moved. */
bool take_word(const char **at, const char *word);

/*
 * Decimal digits, as many as there are.  False: there are none, or the number
 * is not from `least` to `most`; *at is undefined.
 */
MUST_CHECK bool take_number(const char **at, uint64_t least, uint64_t most,
			    uint64_t *out);

/*
 * The same for a number that may have a fraction, 20 or 0.5, and is at least 0.
 */
MUST_CHECK bool take_decimal(const char **at, double most, double *out);

/*
 * Digits, optionally with a point and an exponent: 12, 0.5, .5, 1e-3.  False:
 * there are none, or a double cannot hold the number; *at has not moved.
 */
MUST_CHECK bool take_real(const char **at, double *out);

/*
 * "NAME=", where NAME is one of `names`.  False: none of them is next; *at is
 * undefined.
 */
MUST_CHECK bool take_name(const char **at, const char *const *names,
			  uint32_t count, uint32_t *index);

/* Is this the end of the text? */
bool take_end(const char *at);

/*
 * Read a whole `text` that is a number from `min` to `max`: as take_real()
 * reads it, or, for a whole number, digits only.  False: it is not such a
 * number, and *out has not changed.
 */
MUST_CHECK bool number_read(const char *text, double min, double max,
			    double *out);
MUST_CHECK bool number_read_whole(const char *text, uint64_t min, uint64_t max,
				  uint64_t *out);

#endif
