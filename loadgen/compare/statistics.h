/* SPDX-License-Identifier: MIT */
/*
 * Statistics: what may be said of a few repetitions, and of two arms.
 *
 * Nothing assumes a normal distribution, but the standard deviation.  Pure.
 *
 * Limits     from 1 to STATISTICS_COUNT_MAX values, all of them finite.
 */
#ifndef LOADGEN_COMPARE_STATISTICS_H
#define LOADGEN_COMPARE_STATISTICS_H

#include <stddef.h>

enum { STATISTICS_COUNT_MAX = 100 };

/* The five numbers of a box plot; quartiles interpolate (R's type 7). */
struct five_numbers {
	double min;
	double lower_quartile;
	double median;
	double upper_quartile;
	double max;
};

struct confidence_interval {
	double low;
	double high;
	double level; /* the true one, from 0 to 1 */
};

double statistics_mean(const double *values, size_t count);

/* Of the population, estimated: divided by count - 1.  Of one value: 0. */
double statistics_deviation(const double *values, size_t count);

double statistics_median(const double *values, size_t count);

struct five_numbers statistics_five(const double *values, size_t count);

/*
 * Of the median: the narrowest pair of order statistics
 * that covers it with probability `level`, by the binomial distribution.  For
 * few values none does: then the widest pair, with the level that it has
 * (5 values: 0.9375; 1 value: 0).
 */
struct confidence_interval
statistics_median_interval(const double *values, size_t count, double level);

/*
 * Mann-Whitney U test, two-sided: how probable values at least so different
 * are, if both samples come from one distribution.  Exact for up to 20 values
 * each without ties, else by the normal approximation, corrected for ties and
 * continuity.
 */
double statistics_mann_whitney_p(const double *a, size_t a_count,
				 const double *b, size_t b_count);

/* The least p that samples of these sizes can have, without ties. */
double statistics_least_p(size_t a_count, size_t b_count);

#endif
