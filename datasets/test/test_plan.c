/* SPDX-License-Identifier: MIT */
/* Target sizes pass through the knots of a distribution. */
#include "datasets/plan.c" /* for quantiles_at() */

#include "base/test/check.h"

#include <math.h>
#include <stddef.h>

static const struct quantiles known = {
	{ { 0, 10 }, { 0.5, 1000 }, { 0.9, 2000 }, { 1, 16000 } }, 4
};

static void test_knots_are_met(void)
{
	for (uint32_t i = 0; i < known.count; i++)
		CHECK_NUMBER(fabs(quantiles_at(&known, known.knots[i].share) -
				  known.knots[i].bytes),
			     <, 1e-6);
}

static void test_between_knots_sizes_grow_by_factors(void)
{
	CHECK_NUMBER(fabs(quantiles_at(&known, 0.25) - 100), <, 1e-6);
	CHECK_NUMBER(fabs(quantiles_at(&known, 0.95) - sqrt(2000.0 * 16000)), <,
		     1e-6);
}

static void test_ends_are_exact(void)
{
	CHECK_NUMBER(quantiles_target(&known, 0, 7), ==, 10);
	CHECK_NUMBER(quantiles_target(&known, 3, 7), ==, 1000);
	CHECK_NUMBER(quantiles_target(&known, 6, 7), ==, 16000);
	CHECK_NUMBER(quantiles_target(&known, 0, 1), ==, 1000);
	for (uint32_t rank = 1; rank < 100; rank++)
		CHECK_NUMBER(quantiles_target(&known, rank - 1, 100), <,
			     quantiles_target(&known, rank, 100));
}

static double mean(const struct quantiles *q, uint32_t count)
{
	double total = 0;

	for (uint32_t i = 0; i < count; i++)
		total += (double)quantiles_target(q, i, count);
	return total / count;
}

static void test_mean_is_fitted(void)
{
	struct quantiles q = known;
	double before = mean(&q, 1000);

	quantiles_fit_mean(&q, 1000, before * 1.2);
	CHECK_NUMBER(fabs(mean(&q, 1000) / (before * 1.2) - 1), <, 1e-3);
	CHECK_NUMBER(q.knots[2].bytes, >, known.knots[2].bytes);
	CHECK_NUMBER(q.knots[1].bytes, ==, known.knots[1].bytes);
	/* A mean that cannot be reached: the result is as near as possible. */
	quantiles_fit_mean(&q, 1000, 1e9);
	CHECK_NUMBER(q.knots[2].bytes, >, 15999);
	CHECK_NUMBER(q.knots[2].bytes, <=, 16000);
}

int main(void)
{
	test_knots_are_met();
	test_between_knots_sizes_grow_by_factors();
	test_ends_are_exact();
	test_mean_is_fitted();
	return 0;
}
