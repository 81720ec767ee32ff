/* SPDX-License-Identifier: MIT */
/*
 * Steps: the rates of a sweep, FROM:TO:BY:SECONDS, as 10:100:10:30 for 30 s
 * each of 10, 20 .. 100 requests per second.
 *
 * Pure.
 */
#ifndef LOADGEN_STEPS_H
#define LOADGEN_STEPS_H

#include "loadgen/error.h"

#include <stdbool.h>

enum { STEPS_MAX = 1000 };

struct steps {
	double from_per_s;
	double to_per_s; /* the last rate if a step ends on it */
	double by_per_s;
	double duration_s; /* of each */
};

/* False: `error` quotes what is wrong, and `s` is untouched. */
MUST_CHECK bool steps_parse(struct steps *s, const char *text,
			    struct error *error);

/* From 1 to STEPS_MAX. */
int steps_count(const struct steps *s);

double steps_rate_per_s(const struct steps *s, int i);

#endif
