/* SPDX-License-Identifier: MIT */
/*
 * Quantiles: a distribution of file sizes, given by a few of its points, and
 * the figures by which such a distribution is described.
 *
 * Between two knots sizes grow log-linearly with the rank: equal steps of rank
 * multiply the size by equal factors.
 */
#ifndef DATASETS_QUANTILES_H
#define DATASETS_QUANTILES_H

#include <stdint.h>

enum { QUANTILE_KNOTS_MAX = 6 };

struct quantile_knot {
	double share; /* of the files that are smaller */
	double bytes;
};

struct quantiles {
	struct quantile_knot knots[QUANTILE_KNOTS_MAX]; /* shares 0 .. 1 */
	uint32_t count;                                 /* >= 2 */
};

struct size_summary {
	uint64_t count;
	uint64_t total;
	uint64_t min;
	uint64_t max;
	double mean;
	uint64_t median; /* percentiles are those of the nearest rank */
	uint64_t p90;
	uint64_t p99;
};

/* The size that the share `share` of files, 0 to 1, stays below. */
double quantiles_at(const struct quantiles *q, double share);

/*
 * The size of the file of rank `rank`, 0 .. count-1, when `count` files stand
 * for the distribution.  The first and the last are its ends exactly; a single
 * file is its median.
 */
uint64_t quantiles_target(const struct quantiles *q, uint32_t rank,
			  uint32_t count);

/*
 * Move the size of the last knot but one so that `count` files have the mean
 * `mean_bytes`, or come as near to it as its neighbours allow.
 */
void quantiles_fit_mean(struct quantiles *q, uint32_t count, double mean_bytes);

/* Describe `count` >= 1 sizes, which are sorted in place. */
struct size_summary sizes_summarise(uint64_t *sizes, uint64_t count);

#endif
