/* SPDX-License-Identifier: MIT */
/*
 * Forecast: what img_cost() had said, against what was measured.
 */
#ifndef IMGOPS_BENCH_FORECAST_H
#define IMGOPS_BENCH_FORECAST_H

#include "imgops/bench/measure.h"

/* Over the accepted files; paths are lent by `m`. */
struct forecast {
	size_t count; /* 0: nothing below is set */
	/* |ln (foretold / measured)|: 0.1 is about 10 % */
	double cpu_median, cpu_p90, cpu_worst;
	const char *cpu_worst_path;
	/* foretold / measured peak */
	double memory_least, memory_median, memory_most;
	const char *memory_least_path, *memory_most_path;
	size_t memory_low_count; /* files that took more than foretold */
};

/* False: no memory. */
MUST_CHECK bool forecast_judge(struct forecast *f, const struct measure *m);

#endif
