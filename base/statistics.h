/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a sample, and comparisons of two.  A sample has the values of
 * one metric, one for each block of runs; a block may have one run.  All
 * functions are pure.
 *
 * Limits     of an empty sample, mean, deviation and median are NAN; the other
 *            functions need at least one value.
 */
#ifndef BASE_STATISTICS_H
#define BASE_STATISTICS_H

#include <stddef.h>

enum { SAMPLE_COUNT_MAX = 100, HOLM_TESTS_MAX = 64 };

/* All zero: no value. */
struct sample {
	double values[SAMPLE_COUNT_MAX];
	size_t blocks[SAMPLE_COUNT_MAX]; /* in which it was measured */
	size_t merged[SAMPLE_COUNT_MAX]; /* how many values it is the mean of */
	size_t count;
};

/*
 * NAN and infinity mean "not measured" and are ignored.  The block of a value
 * is the number of those before it.
 */
void sample_add(struct sample *s, double value);

/* The value of a block is the mean of all that are added. */
void sample_add_block(struct sample *s, size_t block, double value);

/* How many values were added, to all blocks together. */
size_t sample_added(const struct sample *s);

double sample_mean(const struct sample *s);

/* Estimated for the population: divided by count - 1.  Of one value: NAN. */
double sample_deviation(const struct sample *s);

double sample_median(const struct sample *s);

/*
 * Two samples, compared block by block: a block is a round in which both were
 * measured.  The test and the intervals are Student's, of the logarithms of
 * a's values divided by b's.  They assume that these scatter normally.  With
 * less than two common blocks, all members except `blocks` and `ratio` are NAN;
 * without one, `ratio` is, too.
 */
struct sample_ratio {
	size_t blocks;
	double ratio;     /* the geometric mean of a / b */
	double low, high; /* its confidence interval */
	double deviation; /* of the logarithms */
	double p;         /* two-sided, that the ratio is 1 */
	double error;     /* standard error of the logarithm of `ratio` */
	double freedom;   /* degrees of it */
};

/*
 * Values that are not above 0 are left out.  `level`: of the interval, such as
 * 0.95.
 */
struct sample_ratio sample_compare(const struct sample *a,
				   const struct sample *b, double level);

/*
 * The same for samples of two experiments, which have no common blocks: by
 * Welch's t test.  `blocks` is the number of values of the smaller one.  With
 * less than two values in one of them, all members except `blocks` and `ratio`
 * are NAN.  `deviation` is that of the difference of two values.
 */
struct sample_ratio sample_compare_apart(const struct sample *a,
					 const struct sample *b, double level);

/*
 * Two one-sided tests (Schuirmann 1987): the probability of ratios so near to 1
 * if the true one is not between 1 / `bound` and `bound`.  NAN if there are
 * less than two blocks.
 */
double sample_equivalence_p(const struct sample_ratio *r, double bound);

/*
 * How many blocks it takes to find a ratio of `bound` at p <= `alpha` with
 * probability `power`, if logarithms have this deviation.  INFINITY if a
 * million are too few.
 */
double sample_blocks_needed(double deviation, double bound, double alpha,
			    double power);

/* The least ratio above 1 that `blocks` >= 2 blocks find in this way. */
double sample_least_ratio(double deviation, size_t blocks, double alpha,
			  double power);

/*
 * Holm's correction (1979) of `count` tests, at most HOLM_TESTS_MAX: each p
 * becomes the least level of the whole family at which its test is significant.
 * NAN is no test.
 */
void holm_correct(double *p, size_t count);

#endif
