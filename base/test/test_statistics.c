/* SPDX-License-Identifier: MIT */
/* Statistics against published values; each test names its source. */
#include "base/statistics.h"

#include "base/util.h"

#include <assert.h>
#include <math.h>

/*
 * A sample of the first `count` values; SAMPLE() takes a whole array.  There
 * are two samples, used in turn, so one expression can use both.
 */
static const struct sample *sample_of(const double *values, size_t count)
{
	static struct sample samples[2];
	static int turn;
	struct sample *s = &samples[turn ^= 1];

	*s = (struct sample){ .count = 0 };
	for (size_t i = 0; i < count; i++)
		sample_add(s, values[i]);
	return s;
}

#define SAMPLE(array) sample_of(array, ARRAY_SIZE(array))

static void expect(double actual, double expected, double tolerance)
{
	assert(fabs(actual - expected) <= tolerance);
}

static void test_mean_and_deviation(void)
{
	static const double values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	static const double one[] = { 3 };

	expect(sample_mean(SAMPLE(values)), 5, 1e-12);
	expect(sample_deviation(SAMPLE(values)), sqrt(32. / 7), 1e-12);
	expect(sample_mean(SAMPLE(one)), 3, 0);
	assert(isnan(sample_deviation(SAMPLE(one))));
}

/* R: quantile(c(6, 7, 15, 36, 39, 40, 41, 42, 43, 47, 49)) */
static void test_five_numbers(void)
{
	static const double values[] = { 49, 6,  7,  15, 36, 39,
					 40, 41, 42, 43, 47 };
	static const double even[] = { 4, 1, 3, 2 };
	double five[5];

	sample_five_numbers(SAMPLE(values), five);
	expect(five[0], 6, 0);
	expect(five[1], 25.5, 0);
	expect(five[2], 40, 0);
	expect(five[3], 42.5, 0);
	expect(five[4], 49, 0);
	expect(sample_median(SAMPLE(even)), 2.5, 0);
	expect(sample_median(sample_of(even, 1)), 4, 0);
}

/*
 * Levels and ranks as in tables of the sign test's interval, such as Hahn and
 * Meeker, Statistical Intervals: n = 5: 93.75 %, 6: 96.88 %, 8: 99.22 % at
 * the ends; n = 10: ranks 2 and 9, 97.85 %; n = 20: 6 and 15, 95.86 %.
 */
static void test_median_interval(void)
{
	static const struct {
		size_t count;
		size_t low;
		double level;
	} known[] = {
		{ 1, 1, 0 },       { 2, 1, 0.5 },     { 5, 1, 0.9375 },
		{ 6, 1, 0.96875 }, { 8, 1, 0.9922 },  { 9, 2, 0.9609 },
		{ 10, 2, 0.9785 }, { 20, 6, 0.9586 },
	};
	double values[20];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t count = known[i].count;
		struct confidence_interval interval;

		for (size_t k = 0; k < count; k++)
			values[k] = (double)(count - k); /* ranks, reversed */
		interval =
			sample_median_interval(sample_of(values, count), 0.95);
		expect(interval.low, (double)known[i].low, 0);
		expect(interval.high, (double)(count + 1 - known[i].low), 0);
		expect(interval.level, known[i].level, 5e-5);
	}
}

/* The example of scipy.stats.mannwhitneyu's documentation. */
static void test_example_of_scipy(void)
{
	static const double males[] = { 19, 22, 16, 29, 24 };
	static const double females[] = { 20, 11, 17, 12 };

	expect(sample_mann_whitney_p(SAMPLE(males), SAMPLE(females)),
	       0.11111111111111112, 1e-12);
	expect(sample_mann_whitney_p(SAMPLE(females), SAMPLE(males)),
	       0.11111111111111112, 1e-12);
}

/*
 * The example of R's ?wilcox.test (Hollander and Wolfe 1973, p. 69): W = 35;
 * one-sided p = 0.1272, so two-sided 0.2544.
 */
static void test_example_of_hollander_and_wolfe(void)
{
	static const double x[] = { 0.80, 0.83, 1.89, 1.04, 1.45,
				    1.38, 1.91, 1.64, 0.73, 1.46 };
	static const double y[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };

	expect(sample_mann_whitney_p(SAMPLE(x), SAMPLE(y)), 2 * 0.1272, 1e-4);
}

/*
 * Mann and Whitney 1947, table I: P(U <= u) for samples of m and n.
 * m = n = 3: u = 0: .050, 1: .100, 2: .200; m = n = 5: u = 0: .004, 2: .016,
 * 4: .048; here doubled for both sides.
 */
static void test_table_of_mann_and_whitney(void)
{
	static const double a3[] = { 1, 2, 3 };
	static const double b3[] = { 4, 5, 6 };
	static const double a3_u1[] = { 1, 2, 4 };
	static const double b3_u1[] = { 3, 5, 6 };
	static const double a5[] = { 1, 2, 3, 4, 5 };
	static const double b5[] = { 6, 7, 8, 9, 10 };
	static const double a5_u2[] = { 1, 2, 3, 4, 7.5 };
	static const double b5_u2[] = { 6, 7, 8, 9, 10 };
	static const double a5_u4[] = { 1, 2, 3, 4, 9.5 };

	expect(sample_mann_whitney_p(SAMPLE(a3), SAMPLE(b3)), 0.100, 1e-12);
	expect(sample_mann_whitney_p(SAMPLE(a3_u1), SAMPLE(b3_u1)), 0.200,
	       1e-12);
	expect(sample_mann_whitney_p(SAMPLE(a5), SAMPLE(b5)), 2 * 0.004, 5e-4);
	expect(sample_mann_whitney_p(SAMPLE(a5_u2), SAMPLE(b5_u2)), 2 * 0.016,
	       1e-3);
	expect(sample_mann_whitney_p(SAMPLE(a5_u4), SAMPLE(b5_u2)), 2 * 0.048,
	       1e-3);
	expect(sample_least_p(5, 5), 2. / 252, 1e-12);
	expect(sample_least_p(3, 3), 0.1, 1e-12);
	expect(sample_least_p(1, 1), 1, 0);
}

/*
 * With ties: ozone in New York, May and August 1973, R's airquality data, the
 * second example of ?wilcox.test: W = 127.5, p-value = 0.0001208.
 */
static void test_ties(void)
{
	static const double may[] = { 41, 36, 12, 18, 28, 23, 19,  8,  7,
				      16, 11, 14, 18, 14, 34, 6,   30, 11,
				      1,  11, 4,  32, 23, 45, 115, 37 };
	static const double august[] = { 39, 9,  16,  78, 35, 66,  122, 89, 110,
					 44, 28, 65,  22, 59, 23,  31,  44, 21,
					 9,  45, 168, 73, 76, 118, 84,  85 };
	static const double equal[] = { 1, 1, 1 };

	expect(sample_mann_whitney_p(SAMPLE(may), SAMPLE(august)), 0.0001208,
	       5e-8);
	expect(sample_mann_whitney_p(SAMPLE(equal), SAMPLE(equal)), 1, 0);
	expect(sample_mann_whitney_p(sample_of(equal, 1), sample_of(equal, 1)),
	       1, 0);
}

/*
 * Up to 20 values p is exact (U = 153 of 400), and the normal approximation is
 * near to it; from 21 values on, p is the approximation (U = 171 of 420).
 */
static void test_exact_and_normal_agree(void)
{
	double a[21];
	double b[21];

	for (int i = 0; i < 21; i++) {
		a[i] = 2 * i;
		b[i] = 2 * i + 5;
	}
	expect(sample_mann_whitney_p(sample_of(a, 20), sample_of(b, 20)),
	       erfc(46.5 / sqrt(2 * 20 * 20 * 41 / 12.)), 0.003);
	expect(sample_mann_whitney_p(SAMPLE(a), sample_of(b, 20)),
	       erfc(38.5 / sqrt(2 * 21 * 20 * 42 / 12.)), 1e-12);
}

int main(void)
{
	test_mean_and_deviation();
	test_five_numbers();
	test_median_interval();
	test_example_of_scipy();
	test_example_of_hollander_and_wolfe();
	test_table_of_mann_and_whitney();
	test_ties();
	test_exact_and_normal_agree();
	return 0;
}
