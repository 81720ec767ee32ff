/* SPDX-License-Identifier: MIT */
/*
 * Statistics against published values; each test names its source.  Student's
 * distribution is tested by itself, so the .c file is included.
 */
#include "base/statistics.c"

#include "base/test/check.h"
#include "base/util.h"

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
	CHECK_NUMBER(fabs(actual - expected), <=, tolerance);
}

static void test_mean_and_deviation(void)
{
	static const double values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	static const double one[] = { 3 };

	expect(sample_mean(SAMPLE(values)), 5, 1e-12);
	expect(sample_deviation(SAMPLE(values)), sqrt(32. / 7), 1e-12);
	expect(sample_mean(SAMPLE(one)), 3, 0);
	CHECK(isnan(sample_deviation(SAMPLE(one))));
}

static void test_median(void)
{
	static const double values[] = { 49, 6,  7,  15, 36, 39,
					 40, 41, 42, 43, 47 };
	static const double even[] = { 4, 1, 3, 2 };

	expect(sample_median(SAMPLE(values)), 40, 0);
	expect(sample_median(SAMPLE(even)), 2.5, 0);
	expect(sample_median(sample_of(even, 1)), 4, 0);
	CHECK(isnan(sample_median(sample_of(even, 0))));
}

/* Tables of Student's t, such as that of Abramowitz and Stegun, 26.10. */
static void test_student(void)
{
	static const struct {
		double p, freedom, t;
	} known[] = {
		{ 0.75, 1, 1 },          { 0.975, 1, 12.7062 },
		{ 0.95, 4, 2.13185 },    { 0.975, 4, 2.77645 },
		{ 0.975, 9, 2.262157 },  { 0.995, 9, 3.249836 },
		{ 0.8, 24, 0.856855 },   { 0.975, 100, 1.983972 },
		{ 0.975, 1e6, 1.95997 }, { 0.5, 3, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		double p = known[i].p, t = known[i].t;
		double freedom = known[i].freedom;

		check_case("known[%zu]", i);
		expect(student_cdf(t, freedom), p, 1e-5);
		expect(student_cdf(-t, freedom), 1 - p, 1e-5);
		expect(student_quantile(p, freedom), t, 1e-5 * fmax(1, t));
		expect(student_quantile(1 - p, freedom), -t, 1e-5 * fmax(1, t));
	}
}

static const double sleep_1[] = { 0.7, -1.6, -0.2, -1.2, -0.1,
				  3.4, 3.7,  0.8,  0.0,  2.0 };
static const double sleep_2[] = { 1.9, 0.8, 1.1, 0.1, -0.1,
				  4.4, 5.5, 1.6, 4.6, 3.4 };

/* A sample whose values have these logarithms. */
static struct sample exp_of(const double *logs, size_t count)
{
	struct sample s = { .count = 0 };

	for (size_t i = 0; i < count; i++)
		sample_add(&s, exp(logs[i]));
	return s;
}

/*
 * Student's own example (1908), R's t.test(extra ~ group, sleep, paired =
 * TRUE): t = -4.0621, p = 0.002833, -2.4598858 to -0.7001142, mean -1.58.
 */
static void test_sleep(void)
{
	struct sample a = exp_of(sleep_1, 10), b = exp_of(sleep_2, 10);
	struct sample_ratio r = sample_compare(&a, &b, 0.95);

	CHECK_NUMBER(r.blocks, ==, 10);
	expect(r.p, 0.002833, 1e-6);
	expect(log(r.ratio), -1.58, 1e-9);
	expect(log(r.low), -2.4598858, 1e-6);
	expect(log(r.high), -0.7001142, 1e-6);
}

/*
 * The same values as two samples, R's t.test(extra ~ group, sleep): t =
 * -1.8608, 17.776 degrees of freedom, p = 0.07939, -3.3654832 to 0.2054832.
 */
static void test_apart(void)
{
	struct sample a = exp_of(sleep_1, 10), b = exp_of(sleep_2, 10);
	struct sample_ratio r = sample_compare_apart(&a, &b, 0.95);

	CHECK_NUMBER(r.blocks, ==, 10);
	expect(r.p, 0.07939, 1e-5);
	expect(log(r.ratio), -1.58, 1e-9);
	expect(log(r.low), -3.3654832, 1e-6);
	expect(log(r.high), 0.2054832, 1e-6);
	b.count = 1;
	r = sample_compare_apart(&a, &b, 0.95);
	CHECK_NUMBER(r.blocks, ==, 1);
	CHECK(isnan(r.p));
	CHECK_NUMBER(r.ratio, >, 0);
}

/* Values are compared with those of the same block, in any order. */
static void test_blocks(void)
{
	struct sample a = { .count = 0 }, b = { .count = 0 };
	struct sample_ratio r;

	for (size_t i = 10; i-- > 0;)
		sample_add_block(&a, i, exp(sleep_1[i]));
	for (size_t i = 0; i < 10; i++)
		sample_add_block(&b, i, exp(sleep_2[i]));
	sample_add_block(&a, 20, 5); /* only in one */
	sample_add_block(&b, 21, 6);
	sample_add_block(&b, 22, NAN);
	r = sample_compare(&a, &b, 0.95);
	CHECK_NUMBER(r.blocks, ==, 10);
	expect(r.p, 0.002833, 1e-6);
	sample_add_block(&b, 21, 9); /* the mean of 6, 9 and 3 */
	sample_add_block(&b, 21, 3);
	CHECK_NUMBER(sample_added(&b), ==, b.count + 2);
	CHECK_NUMBER(b.count, ==, 11);
	expect(b.values[10], 6, 1e-12);
	/* A difference that every round shows is found beside any noise. */
	a.count = b.count = 0;
	for (size_t i = 0; i < 10; i++) {
		sample_add(&a, exp2((double)(i % 4)) * (i % 2 ? 1.03 : 1.031));
		sample_add(&b, exp2((double)(i % 4)));
	}
	r = sample_compare(&a, &b, 0.95);
	CHECK_NUMBER(r.p, <, 1e-9);
	CHECK_NUMBER(r.low, >, 1.03);
	CHECK_NUMBER(r.high, <, 1.031);
}

static void test_few_blocks(void)
{
	static const double one[] = { 3, 4 };
	struct sample_ratio r =
		sample_compare(sample_of(one, 1), sample_of(one + 1, 1), 0.95);

	CHECK_NUMBER(r.blocks, ==, 1);
	CHECK(isnan(r.p));
	CHECK(isnan(r.low));
	expect(r.ratio, 0.75, 1e-12);
	CHECK(isnan(sample_equivalence_p(&r, 1.02)));
	r = sample_compare(sample_of(one, 0), sample_of(one, 1), 0.95);
	CHECK_NUMBER(r.blocks, ==, 0);
	CHECK(isnan(r.ratio));
	r = sample_compare(SAMPLE(one), SAMPLE(one), 0.95);
	CHECK_NUMBER(r.p, ==, 1);
	CHECK_NUMBER(r.low, ==, 1);
	CHECK_NUMBER(r.high, ==, 1);
	expect(sample_equivalence_p(&r, 1.02), 0, 0);
}

/* (log(1.02) - 0.005) / (0.01 / sqrt(10)) = 4.681; P(T <= -4.681) of 9. */
static void test_equivalence(void)
{
	const struct sample_ratio near = { .blocks = 10,
					   .ratio = exp(0.005),
					   .error = 0.01 / sqrt(10),
					   .freedom = 9 };
	const struct sample_ratio below = { .blocks = 10,
					    .ratio = exp(-0.005),
					    .error = 0.01 / sqrt(10),
					    .freedom = 9 };
	const struct sample_ratio far = { .blocks = 10,
					  .ratio = 1.03,
					  .error = 0.01 / sqrt(10),
					  .freedom = 9 };

	expect(sample_equivalence_p(&near, 1.02), 0.000575, 2e-6);
	expect(sample_equivalence_p(&below, 1.02), 0.000575, 2e-6);
	CHECK_NUMBER(sample_equivalence_p(&far, 1.02), >, 0.5);
}

static void test_power(void)
{
	double n = sample_blocks_needed(0.03, 1.02, 0.05, 0.8);

	/* (1.96 + 0.84)^2 0.03^2 / log(1.02)^2 = 18, and more for few blocks */
	CHECK_NUMBER(n, ==, 21);
	CHECK_NUMBER(sample_least_ratio(0.03, 21, 0.05, 0.8), <=, 1.02);
	CHECK_NUMBER(sample_least_ratio(0.03, 20, 0.05, 0.8), >, 1.02);
	CHECK_NUMBER(sample_blocks_needed(0, 1.02, 0.05, 0.8), ==, 2);
	CHECK(isinf(sample_blocks_needed(100, 1.02, 0.05, 0.8)));
}

/* R: p.adjust(c(0.01, 0.04, 0.03), "holm") is 0.03 0.06 0.06. */
static void test_holm(void)
{
	double p[] = { 0.01, NAN, 0.04, 0.03 };
	double large[] = { 0.5, 0.7 };

	holm_correct(p, 4);
	expect(p[0], 0.03, 1e-12);
	CHECK(isnan(p[1]));
	expect(p[2], 0.06, 1e-12);
	expect(p[3], 0.06, 1e-12);
	holm_correct(large, 2);
	CHECK_NUMBER(large[0], ==, 1);
	CHECK_NUMBER(large[1], ==, 1);
	holm_correct(large, 0);
}

int main(void)
{
	test_mean_and_deviation();
	test_median();
	test_student();
	test_sleep();
	test_apart();
	test_blocks();
	test_few_blocks();
	test_equivalence();
	test_power();
	test_holm();
	return 0;
}
