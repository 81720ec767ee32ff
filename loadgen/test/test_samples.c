/* SPDX-License-Identifier: MIT */
/* Figures of samples are as computed by hand. */
#include "loadgen/report/samples.h"

#include "base/test/check.h"

#include <math.h>
#include <string.h>

/* Values from `count` down to 1. */
static struct samples make_samples(unsigned count)
{
	struct samples s = { 0 };

	for (unsigned i = count; i > 0; i--) {
		CHECK(samples_reserve(&s));
		samples_add(&s, i);
	}
	return s;
}

/* Two figures are the same, or both are missing. */
static bool is_same(double figure, double expected)
{
	return figure == expected || (isnan(figure) && isnan(expected));
}

static void expect_ranks(unsigned count, double p50, double p90, double p99,
			 double p999)
{
	struct samples s = make_samples(count);
	struct summary q;

	CHECK(samples_summarize(&s, &q));
	CHECK_NUMBER(q.figures[FIGURE_P50], ==, p50);
	CHECK(is_same(q.figures[FIGURE_P90], p90));
	CHECK(is_same(q.figures[FIGURE_P99], p99));
	CHECK(is_same(q.figures[FIGURE_P999], p999));
	CHECK_NUMBER(q.figures[FIGURE_MAX], ==, count);
	samples_release(&s);
}

static void test_nearest_rank(void)
{
	expect_ranks(1, 1, NAN, NAN, NAN);
	expect_ranks(5, 3, NAN, NAN, NAN);   /* 2.5, rounded up */
	expect_ranks(104, 52, 94, NAN, NAN); /* 93.6, rounded up */
	/* Enough samples that the array has grown. */
	expect_ranks(5000, 2500, 4500, 4950, NAN);
}

/* A percentile is missing if less than ten samples are above it. */
static void test_too_few_samples(void)
{
	expect_ranks(99, 50, NAN, NAN, NAN);
	expect_ranks(100, 50, 90, NAN, NAN);
	expect_ranks(999, 500, 900, NAN, NAN);
	expect_ranks(1000, 500, 900, 990, NAN);
	expect_ranks(9999, 5000, 9000, 9900, NAN);
	expect_ranks(10000, 5000, 9000, 9900, 9990);
}

static void test_mean(void)
{
	struct samples s = make_samples(4);
	struct summary q;

	CHECK(samples_summarize(&s, &q));
	CHECK_NUMBER(q.figures[FIGURE_MEAN], ==, 2.5);
	samples_release(&s);
}

static void test_nothing(void)
{
	struct samples s = { 0 };
	struct samples_rung rung;
	struct summary q;

	CHECK(!samples_summarize(&s, &q));
	CHECK(!samples_rung(&s, 0, &rung));
	samples_release(&s);
}

/* Samples that are added later are sorted with the others. */
static void test_adding_goes_on(void)
{
	struct samples s = make_samples(3);
	struct summary q;

	CHECK(samples_summarize(&s, &q));
	CHECK(samples_reserve(&s));
	samples_add(&s, 0.5);
	CHECK(samples_summarize(&s, &q));
	CHECK_NUMBER(q.figures[FIGURE_P50], ==, 1);
	CHECK_NUMBER(q.figures[FIGURE_MAX], ==, 3);
	samples_release(&s);
}

static void expect_rung(struct samples *s, unsigned i, double percentile,
			double value)
{
	struct samples_rung rung;

	CHECK(samples_rung(s, i, &rung));
	CHECK_NUMBER(fabs(rung.percentile - percentile), <, 1e-12);
	CHECK_NUMBER(rung.value, ==, value);
	CHECK_NUMBER(rung.count, ==, value);
}

static void test_ladder(void)
{
	struct samples s = make_samples(1000);
	struct samples_rung rung;
	unsigned last = 0;

	expect_rung(&s, 0, 0, 1);
	expect_rung(&s, 1, 0.1, 100);
	expect_rung(&s, 4, 0.4, 400);
	expect_rung(&s, 5, 0.5, 500);
	expect_rung(&s, 6, 0.55, 550);
	expect_rung(&s, 10, 0.75, 750);
	expect_rung(&s, 12, 0.8, 800);
	expect_rung(&s, 15, 0.875, 875);
	expect_rung(&s, 20, 0.9375, 938); /* 937.5, rounded up */
	while (samples_rung(&s, last + 1, &rung))
		last++;
	expect_rung(&s, last, 1, 1000);
	/*
	 * rounded down, 0.6 * 1000 / 512 is one sample and 1000 / 1024 is none
	 */
	CHECK_NUMBER(last, ==, 50);
	expect_rung(&s, last - 1, 1 - 0.6 / 512, 999);
	samples_release(&s);
}

static void test_ladder_counts_equals(void)
{
	struct samples s = make_samples(1);
	struct samples_rung rung;

	for (int i = 0; i < 9; i++) {
		CHECK(samples_reserve(&s));
		samples_add(&s, 7);
	}
	CHECK(samples_rung(&s, 0, &rung));
	CHECK_NUMBER(rung.value, ==, 1);
	CHECK_NUMBER(rung.count, ==, 1);
	CHECK(samples_rung(&s, 2, &rung));
	CHECK_NUMBER(rung.value, ==, 7);
	CHECK_NUMBER(rung.count, ==, 10);
	samples_release(&s);
}

int main(void)
{
	test_nearest_rank();
	test_too_few_samples();
	test_mean();
	test_nothing();
	test_adding_goes_on();
	test_ladder();
	test_ladder_counts_equals();
	return 0;
}
