/* SPDX-License-Identifier: MIT */
#include "base/statistics.h"

#include "base/quantiles.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	EXACT_COUNT_MAX = 20, /* of each sample */
	RANK_SUM_MAX = EXACT_COUNT_MAX * (2 * EXACT_COUNT_MAX + 1),
};

void sample_add(struct sample *s, double value)
{
	if (isfinite(value) && s->count < SAMPLE_COUNT_MAX)
		s->values[s->count++] = value;
}

static struct sample sorted(const struct sample *s)
{
	struct sample copy = *s;

	quantiles_sort(copy.values, copy.count);
	return copy;
}

double sample_mean(const struct sample *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += s->values[i];
	return s->count > 0 ? sum / (double)s->count : (double)NAN;
}

double sample_deviation(const struct sample *s)
{
	double mean = sample_mean(s);
	double squares = 0;

	if (s->count < 2)
		return NAN;
	for (size_t i = 0; i < s->count; i++)
		squares += (s->values[i] - mean) * (s->values[i] - mean);
	return sqrt(squares / (double)(s->count - 1));
}

void sample_five_numbers(const struct sample *s, double five[5])
{
	struct sample ordered = sorted(s);

	for (int i = 0; i < 5; i++)
		five[i] = s->count > 0 ? quantile_between(ordered.values,
							  s->count, i / 4.) :
					 (double)NAN;
}

double sample_median(const struct sample *s)
{
	double five[5];

	sample_five_numbers(s, five);
	return five[2];
}

/*
 * The probability that the median lies between the order statistics `rank` and
 * count + 1 - `rank`.  It lies outside if fewer than `rank` values are on one
 * side of it.
 */
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

struct confidence_interval sample_median_interval(const struct sample *s,
						  double level)
{
	struct sample ordered = sorted(s);
	size_t count = s->count;
	size_t rank = 1;

	while (2 * (rank + 1) <= count && coverage(count, rank + 1) >= level)
		rank++;
	return (struct confidence_interval){
		.low = ordered.values[rank - 1],
		.high = ordered.values[count - rank],
		.level = coverage(count, rank),
	};
}

/* Pairs in which a's value is the greater; a tie counts half. */
static double count_u(const struct sample *a, const struct sample *b)
{
	double u = 0;

	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			u += a->values[i] > b->values[j]  ? 1 :
			     a->values[i] == b->values[j] ? 0.5 :
							    0;
	return u;
}

/* Sum of t^3 - t over all groups of t equal values; 0: there are no ties. */
static double tie_sum(const struct sample *a, const struct sample *b)
{
	double all[2 * SAMPLE_COUNT_MAX];
	size_t count = a->count + b->count;
	double sum = 0;
	size_t end;

	memcpy(all, a->values, a->count * sizeof(*all));
	memcpy(all + a->count, b->values, b->count * sizeof(*all));
	quantiles_sort(all, count);
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
 * P(U <= u): of all ways to choose a_count of the ranks, the share whose sum of
 * ranks gives a U of at most `u`.  In the loop, ways[k][s] is the number of
 * ways to choose k ranks with the sum s among the ranks up to `rank`.
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
		return 1; /* all values are equal, or U is at its mean */
	return erfc(distance / sqrt(2 * variance));
}

double sample_mann_whitney_p(const struct sample *a, const struct sample *b)
{
	double u = count_u(a, b);
	double ties = tie_sum(a, b);

	assert(a->count >= 1 && b->count >= 1);
	if (ties > 0 || a->count > EXACT_COUNT_MAX ||
	    b->count > EXACT_COUNT_MAX)
		return normal_p(u, ties, a->count, b->count);
	u = fmin(u, (double)(a->count * b->count) - u);
	return fmin(1, 2 * exact_tail(u, a->count, b->count));
}

double sample_least_p(size_t a_count, size_t b_count)
{
	double choices = 1;

	for (size_t i = 1; i <= a_count; i++)
		choices *= (double)(b_count + i) / (double)i;
	return fmin(1, 2 / choices);
}
