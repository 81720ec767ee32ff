/* SPDX-License-Identifier: MIT */
/* Both kinds of quantiles, for values whose quantiles are known. */
#include "base/quantiles.h"

#include <assert.h>
#include <math.h>

static double hundred[100]; /* 1 .. 100 */

static void test_sorts(void)
{
	for (int i = 0; i < 100; i++)
		hundred[i] = (i * 37) % 100 + 1;
	quantiles_sort(hundred, 100);
	for (int i = 0; i < 100; i++)
		assert(hundred[i] == i + 1);
	quantiles_sort(hundred, 0);
}

/*
 * The rank is exact for every per cent, also where the share is not exact in
 * binary.
 */
static void test_nearest_rank(void)
{
	for (int percent = 1; percent <= 100; percent++)
		assert(quantile_nearest(hundred, 100, percent / 100.0) ==
		       percent);
	assert(quantile_nearest(hundred, 100, 0) == 1);
	assert(quantile_nearest(hundred, 100, 0.501) == 51);
	assert(quantile_nearest(hundred, 1, 0.999) == 1);
	assert(quantile_nearest(hundred, 3, 0.5) == 2);
}

static void test_between(void)
{
	assert(quantile_between(hundred, 100, 0.5) == 50.5);
	assert(quantile_between(hundred, 99, 0.5) == 50);
	assert(quantile_between(hundred, 100, 0) == 1);
	assert(quantile_between(hundred, 100, 1) == 100);
	assert(fabs(quantile_between(hundred, 5, 0.1) - 1.4) < 1e-12);
	assert(quantile_between(hundred, 1, 0.7) == 1);
}

int main(void)
{
	test_sorts();
	test_nearest_rank();
	test_between();
	return 0;
}
