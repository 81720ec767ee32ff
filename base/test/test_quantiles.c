/* SPDX-License-Identifier: MIT */
/* Both kinds of quantiles, for values whose quantiles are known. */
#include "base/quantiles.h"
#include "base/test/check.h"

#include <math.h>

static double hundred[100]; /* 1 .. 100 */

static void test_sorts(void)
{
	for (int i = 0; i < 100; i++)
		hundred[i] = (i * 37) % 100 + 1;
	quantiles_sort(hundred, 100);
	for (int i = 0; i < 100; i++)
		CHECK_NUMBER(hundred[i], ==, i + 1);
	quantiles_sort(hundred, 0);
}

/*
 * The rank is exact for every per cent, also where the share is not exact in
 * binary.
 */
static void test_nearest_rank(void)
{
	for (int percent = 1; percent <= 100; percent++)
		CHECK_NUMBER(quantile_nearest(hundred, 100, percent / 100.0),
			     ==, percent);
	CHECK_NUMBER(quantile_nearest(hundred, 100, 0), ==, 1);
	CHECK_NUMBER(quantile_nearest(hundred, 100, 0.501), ==, 51);
	CHECK_NUMBER(quantile_nearest(hundred, 1, 0.999), ==, 1);
	CHECK_NUMBER(quantile_nearest(hundred, 3, 0.5), ==, 2);
}

static void test_between(void)
{
	CHECK_NUMBER(quantile_between(hundred, 100, 0.5), ==, 50.5);
	CHECK_NUMBER(quantile_between(hundred, 99, 0.5), ==, 50);
	CHECK_NUMBER(quantile_between(hundred, 100, 0), ==, 1);
	CHECK_NUMBER(quantile_between(hundred, 100, 1), ==, 100);
	CHECK_NUMBER(fabs(quantile_between(hundred, 5, 0.1) - 1.4), <, 1e-12);
	CHECK_NUMBER(quantile_between(hundred, 1, 0.7), ==, 1);
}

/* A percentile has ten values or more above it. */
static void test_reported(void)
{
	static double many[10000];

	for (int i = 0; i < 10000; i++)
		many[i] = i + 1;
	CHECK_NUMBER(quantile_reported(many, 1, 0.5), ==, 1);
	CHECK_NUMBER(quantile_reported(many, 100, 0.9), ==, 90);
	CHECK(isnan(quantile_reported(many, 99, 0.9)));
	CHECK_NUMBER(quantile_reported(many, 1000, 0.99), ==, 990);
	CHECK(isnan(quantile_reported(many, 999, 0.99)));
	CHECK_NUMBER(quantile_reported(many, 10000, 0.999), ==, 9990);
	CHECK(isnan(quantile_reported(many, 9999, 0.999)));
	CHECK_NUMBER(quantile_reported(many, 3, 1), ==, 3);
	CHECK(isnan(quantile_reported(many, 0, 0.5)));
}

int main(void)
{
	test_sorts();
	test_nearest_rank();
	test_between();
	test_reported();
	return 0;
}
