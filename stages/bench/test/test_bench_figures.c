/* SPDX-License-Identifier: MIT */
/* Promise: medians and quantiles are those of the values, in any order. */
#include "stages/bench/figures.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static void test_median_is_in_the_middle(void)
{
	double odd[] = { 30, 10, 20 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };
	struct spread s = spread_of(odd, 3);

	assert(s.median == 20 && s.least == 10 && s.most == 30);
	s = spread_of(even, 4);
	assert(s.median == 2.5 && s.least == 1 && s.most == 4);
	s = spread_of(one, 1);
	assert(s.median == 7 && s.least == 7 && s.most == 7);
}

static void test_quantile_is_the_least_that_a_share_reaches(void)
{
	uint64_t times[] = { 9, 2, 10, 4, 5, 6, 7, 8, 3, 1 };

	times_sort(times, 10);
	assert(times_quantile(times, 10, 0) == 1);
	assert(times_quantile(times, 10, 0.5) == 5);
	assert(times_quantile(times, 10, 0.51) == 6);
	assert(times_quantile(times, 10, 0.9) == 9);
	assert(times_quantile(times, 10, 0.99) == 10);
	assert(times_quantile(times, 10, 1) == 10);
	times_sort(NULL, 0);
	assert(times_quantile(NULL, 0, 0.5) == 0);
}

static void test_every_figure_has_a_name_of_its_own(void)
{
	for (int i = 0; i < FIGURES; i++) {
		assert(figure_abouts[i].name != NULL &&
		       figure_abouts[i].title != NULL);
		for (int j = 0; j < i; j++)
			assert(strcmp(figure_abouts[i].name,
				      figure_abouts[j].name) != 0);
	}
}

int main(void)
{
	test_median_is_in_the_middle();
	test_quantile_is_the_least_that_a_share_reaches();
	test_every_figure_has_a_name_of_its_own();
	return 0;
}
