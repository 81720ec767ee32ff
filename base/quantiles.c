/* SPDX-License-Identifier: MIT */
#include "base/quantiles.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void quantiles_sort(double *values, size_t count)
{
	if (count > 0)
		qsort(values, count, sizeof(*values), compare_doubles);
}

double quantile_nearest(const double *sorted, size_t count, double share)
{
	/*
	 * 0.07 * 100 is a little more than 7 in binary, but its rank must be 7.
	 */
	const double rounding = 1 - 1e-14;
	size_t rank;

	assert(count >= 1 && share >= 0 && share <= 1);
	rank = (size_t)ceil(share * (double)count * rounding);
	return sorted[rank > 0 ? rank - 1 : 0];
}

static size_t values_needed(double share)
{
	if (share < 0.9 || share == 1)
		return 1;
	if (share < 0.99)
		return QUANTILE_P90_VALUES;
	return share < 0.999 ? QUANTILE_P99_VALUES : QUANTILE_P999_VALUES;
}

double quantile_reported(const double *sorted, size_t count, double share)
{
	return count < values_needed(share) ?
		       (double)NAN :
		       quantile_nearest(sorted, count, share);
}

double quantile_between(const double *sorted, size_t count, double share)
{
	double place = share * (double)(count - 1);
	size_t below = (size_t)place;
	size_t above = below + 1 < count ? below + 1 : below;

	assert(count >= 1 && share >= 0 && share <= 1);
	return sorted[below] +
	       (place - (double)below) * (sorted[above] - sorted[below]);
}
