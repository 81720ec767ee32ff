/* SPDX-License-Identifier: MIT */
/* Stats: the order of values, each with the file it is of. */
#ifndef IMGOPS_BENCH_STATS_H
#define IMGOPS_BENCH_STATS_H

#include <stddef.h>

struct value {
	double value;
	const char *path; /* lent */
};

/* Sort upwards; equal values by path. */
void values_sort(struct value *values, size_t count);

/*
 * The quantile `q`, 0..1, of `count` >= 1 sorted values: 0 is the first, 1 the
 * last, and between two values it is interpolated (R's type 7, NumPy's
 * default).
 */
double values_quantile(const struct value *values, size_t count, double q);

#endif
