/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	EXACT_COUNT_MAX = 20, /* of each sample */
	RANK_SUM_MAX = EXACT_COUNT_MAX * (2 * EXACT_COUNT_MAX + 1),
};

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

static void sort(double sorted[STATISTICS_COUNT_MAX], const double *values,
		 size_t count)
{
	assert(count >= 1 && count <= STATISTICS_COUNT_MAX);
	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare_values);
}

double statistics_mean(const double *values, size_t count)
{
	double sum = 0;

	assert(count >= 1);
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

double statistics_deviation(const double *values, size_t count)
{
	double mean = statistics_mean(values, count);
	double squares = 0;

	if (count == 1)
		return 0;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return sqrt(squares / (double)(count - 1));
}

/* Between the two nearest values, as far as `share` of the way reaches. */
static double quantile(const double *sorted, size_t count, double share)
{
	double place = share * (double)(count - 1);
	size_t below = (size_t)place;
	size_t above = below + 1 < count ? below + 1 : below;

	return sorted[below] +
	       (place - (double)below) * (sorted[above] - sorted[below]);
}

struct five_numbers statistics_five(const double *values, size_t count)
{
	double sorted[STATISTICS_COUNT_MAX];

	sort(sorted, values, count);
	return (struct five_numbers){
		.min = sorted[0],
		.lower_quartile = quantile(sorted, count, 0.25),
		.median = quantile(sorted, count, 0.5),
		.upper_quartile = quantile(sorted, count, 0.75),
		.max = sorted[count - 1],
	};
}

double statistics_median(const double *values, size_t count)
{
	return statistics_five(values, count).median;
}

/* The median is missed on one side if fewer than `rank` values are there. */
static double coverage(size_t count, size_t rank)
{
	double term = ldexp(1, -(int)count);
	double tail = 0;

	for (size_t i = 0; i < rank; i++) {
		tail += term;
		term *= (double)(count - i) / (double)(i + 1);
	}
	return 1 - 2 * tail;
}

struct confidence_interval
statistics_median_interval(const double *values, size_t count, double level)
{
	double sorted[STATISTICS_COUNT_MAX];
	size_t rank = 1;

	sort(sorted, values, count);
	while (2 * (rank + 1) <= count && coverage(count, rank + 1) >= level)
		rank++;
	return (struct confidence_interval){
		.low = sorted[rank - 1],
		.high = sorted[count - rank],
		.level = coverage(count, rank),
	};
}

/* Pairs in which a's value is the greater; a tie counts half. */
static double count_u(const double *a, size_t a_count, const double *b,
		      size_t b_count)
{
	double u = 0;

	for (size_t i = 0; i < a_count; i++)
		for (size_t j = 0; j < b_count; j++)
			u += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
	return u;
}

/* Sum of t^3 - t over all groups of t equal values; 0: there are no ties. */
static double tie_sum(const double *a, size_t a_count, const double *b,
		      size_t b_count)
{
	double all[2 * STATISTICS_COUNT_MAX];
	size_t count = a_count + b_count;
	double sum = 0;
	size_t end;

	memcpy(all, a, a_count * sizeof(*a));
	memcpy(all + a_count, b, b_count * sizeof(*b));
	qsort(all, count, sizeof(*all), compare_values);
	for (size_t begin = 0; begin < count; begin = end) {
		double ties;

		end = begin + 1;
		while (end < count && all[end] == all[begin])
			end++;
		ties = (double)(end - begin);
		sum += ties * ties * ties - ties;
	}
	return sum;
}

/*
 * P(U <= u): among all choices of a_count ranks, those with so small a sum.
 * ways[k][s]: choices of k of the ranks so far, of sum s.
 */
static double exact_tail(double u, size_t a_count, size_t b_count)
{
	double ways[EXACT_COUNT_MAX + 1][RANK_SUM_MAX + 1];
	size_t least = a_count * (a_count + 1) / 2;
	size_t sum_max = least + a_count * b_count;
	double below = 0;
	double all = 0;

	memset(ways, 0, sizeof(ways));
	ways[0][0] = 1;
	for (size_t rank = 1; rank <= a_count + b_count; rank++)
		for (size_t k = a_count; k >= 1; k--)
			for (size_t sum = rank; sum <= sum_max; sum++)
				ways[k][sum] += ways[k - 1][sum - rank];
	for (size_t sum = least; sum <= sum_max; sum++) {
		all += ways[a_count][sum];
		if ((double)(sum - least) <= u)
			below += ways[a_count][sum];
	}
	return below / all;
}

static double normal_p(double u, double ties, size_t a_count, size_t b_count)
{
	double pairs = (double)a_count * (double)b_count;
	double count = (double)(a_count + b_count);
	double variance =
		pairs / 12 * (count + 1 - ties / (count * (count - 1)));
	double distance = fabs(u - pairs / 2) - 0.5;

	if (variance <= 0 || distance <= 0)
		return 1; /* all are equal, or as near as can be */
	return erfc(distance / sqrt(2 * variance));
}

double statistics_mann_whitney_p(const double *a, size_t a_count,
				 const double *b, size_t b_count)
{
	double u = count_u(a, a_count, b, b_count);
	double ties = tie_sum(a, a_count, b, b_count);

	assert(a_count >= 1 && a_count <= STATISTICS_COUNT_MAX);
	assert(b_count >= 1 && b_count <= STATISTICS_COUNT_MAX);
	if (ties > 0 || a_count > EXACT_COUNT_MAX || b_count > EXACT_COUNT_MAX)
		return normal_p(u, ties, a_count, b_count);
	u = fmin(u, (double)(a_count * b_count) - u);
	return fmin(1, 2 * exact_tail(u, a_count, b_count));
}

double statistics_least_p(size_t a_count, size_t b_count)
{
	double choices = 1;

	for (size_t i = 1; i <= a_count; i++)
		choices *= (double)(b_count + i) / (double)i;
	return fmin(1, 2 / choices);
}
