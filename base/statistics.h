/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a sample, and comparisons of two.  A sample has the values of
 * one metric, one from each run.
 *
 * Only the standard deviation assumes a normal distribution.  All functions are
 * pure.
 *
 * Limits     of an empty sample, mean, deviation, median and the five numbers
 *            are NAN; the other functions need at least one value.
 */
#ifndef BASE_STATISTICS_H
#define BASE_STATISTICS_H

#include <stddef.h>

enum { SAMPLE_COUNT_MAX = 100 };

/* All zero: no value. */
struct sample {
	double values[SAMPLE_COUNT_MAX];
	size_t count;
};

struct confidence_interval {
	double low;
	double high;
	double level; /* the real probability, from 0 to 1 */
};

/* NAN and infinity mean "not measured" and are ignored. */
void sample_add(struct sample *s, double value);

double sample_mean(const struct sample *s);

/* Estimated for the population: divided by count - 1.  Of one value: NAN. */
double sample_deviation(const struct sample *s);

double sample_median(const struct sample *s);

/*
 * The five numbers of a box plot: minimum, lower quartile, median, upper
 * quartile, maximum; quartiles interpolate (R's type 7).
 */
void sample_five_numbers(const struct sample *s, double five[5]);

/*
 * The narrowest pair of order statistics that contains the median of the
 * population with probability `level`, by the binomial distribution.  If there
 * are too few values for that: the widest pair, with the level that it has
 * (5 values: 0.9375; 1 value: 0).
 */
struct confidence_interval sample_median_interval(const struct sample *s,
						  double level);

/*
 * Mann-Whitney U test, two-sided: the probability that the values differ at
 * least this much if both samples come from one distribution.  Exact for up to
 * 20 values each without ties; otherwise by the normal approximation, corrected
 * for ties and continuity.
 */
double sample_mann_whitney_p(const struct sample *a, const struct sample *b);

/* The least p that two samples of these sizes can have, without ties. */
double sample_least_p(size_t a_count, size_t b_count);

#endif
