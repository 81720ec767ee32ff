/* SPDX-License-Identifier: MIT */
/*
 * Sample: one metric's values of some runs, and what is said of them.
 *
 * Of no values there is a count alone; the rest takes one at least.  Pure.
 */
#ifndef LOADGEN_COMPARE_SAMPLE_H
#define LOADGEN_COMPARE_SAMPLE_H

#include "loadgen/compare/statistics.h"

#include <stddef.h>

/* All zero: no value. */
struct sample {
	double values[STATISTICS_COUNT_MAX];
	size_t count;
};

/* What is not finite was not measured, and is not counted. */
void sample_add(struct sample *s, double value);

double sample_mean(const struct sample *s);
double sample_median(const struct sample *s);
double sample_max(const struct sample *s);

/* Mann and Whitney's p. */
double sample_p(const struct sample *a, const struct sample *b);

#endif
