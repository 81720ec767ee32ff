/* SPDX-License-Identifier: MIT */
/*
 * Quantiles: exact quantiles of values that are all kept.
 *
 * Sort the values once, then ask for as many quantiles as needed.  Integers up
 * to 2^53 (104 days in ns) are exact in a double.  For values that are too many
 * to keep, see histogram.h.
 *
 * Pure.
 */
#ifndef BASE_QUANTILES_H
#define BASE_QUANTILES_H

#include <stddef.h>

/* Ascending; no value is a NaN. */
void quantiles_sort(double *values, size_t count);

/*
 * Nearest rank: the smallest value that at least a share (0 .. 1) of all
 * `count` >= 1 values do not exceed.  It is always one of the values.
 */
double quantile_nearest(const double *sorted, size_t count, double share);

/*
 * A percentile needs ten values or more above it; with fewer, chance decides.
 * So no program reports one of fewer values than this:
 */
enum {
	QUANTILE_P90_VALUES = 100,
	QUANTILE_P99_VALUES = 1000,
	QUANTILE_P999_VALUES = 10000,
};

/*
 * As quantile_nearest().  NAN: there are too few values for this share, or
 * none.
 */
double quantile_reported(const double *sorted, size_t count, double share);

/*
 * Interpolated linearly between the two nearest values.  For a share of 0.5 and
 * an even `count`, this is the mean of the two middle values.  `count` is at
 * least 1.
 */
double quantile_between(const double *sorted, size_t count, double share);

#endif
