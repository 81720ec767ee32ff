/* SPDX-License-Identifier: MIT */
/* Quantiles are those of sorted values, interpolated, and keep their files. */
#include "imgops/bench/stats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void test_sorts_by_value_then_path(void)
{
	struct value v[] = {
		{ 2, "b" }, { -1, "z" }, { 2, "a" }, { 0.5, "y" }
	};

	values_sort(v, 4);
	assert(v[0].value == -1 && strcmp(v[0].path, "z") == 0);
	assert(v[1].value == 0.5 && strcmp(v[1].path, "y") == 0);
	assert(strcmp(v[2].path, "a") == 0 && strcmp(v[3].path, "b") == 0);
}

static void test_quantiles(void)
{
	struct value v[] = { { 10, "" }, { 20, "" }, { 30, "" }, { 50, "" } };

	assert(values_quantile(v, 4, 0) == 10);
	assert(values_quantile(v, 4, 1) == 50);
	assert(values_quantile(v, 4, 0.5) == 25);
	assert(fabs(values_quantile(v, 4, 0.1) - 13) < 1e-12);
	assert(fabs(values_quantile(v, 4, 0.9) - 44) < 1e-12);
	assert(values_quantile(v, 3, 0.5) == 20);
	assert(values_quantile(v, 1, 0.1) == 10);
}

int main(void)
{
	test_sorts_by_value_then_path();
	test_quantiles();
	return 0;
}
