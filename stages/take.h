/* SPDX-License-Identifier: MIT */
/*
 * Taking: reading the text of a flag from left to right.
 *
 * Each function goes behind what it takes; where `*at` is after it returned
 * false is not defined, except for take_word().
 */
#ifndef STAGES_TAKE_H
#define STAGES_TAKE_H

#include <stdbool.h>
#include <stdint.h>

/* If `word` is next.  False: `*at` has not moved. */
bool take_word(const char **at, const char *word);

/* Decimal digits, as many as there are. */
bool take_number(const char **at, uint64_t least, uint64_t most, uint64_t *out);

/* The same with a fraction, as 20 or 0.5; at least 0. */
bool take_decimal(const char **at, double most, double *out);

/* "NAME=", one of `names`. */
bool take_name(const char **at, const char *const *names, uint32_t count,
	       uint32_t *index);

/* Is nothing left? */
bool take_end(const char *at);

#endif
