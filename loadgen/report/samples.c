/* SPDX-License-Identifier: MIT */
#include "loadgen/report/samples.h"

#include "base/quantiles.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { SAMPLES_FIRST = 1024, RUNGS_PER_HALF = 5 };

const char *const figure_names[FIGURE_COUNT] = {
	[FIGURE_MEAN] = "mean", [FIGURE_P50] = "p50",    [FIGURE_P90] = "p90",
	[FIGURE_P99] = "p99",   [FIGURE_P999] = "p99.9", [FIGURE_MAX] = "max",
};

const size_t figure_samples[FIGURE_COUNT] = {
	[FIGURE_MEAN] = 1,
	[FIGURE_P50] = 1,
	[FIGURE_P90] = QUANTILE_P90_VALUES,
	[FIGURE_P99] = QUANTILE_P99_VALUES,
	[FIGURE_P999] = QUANTILE_P999_VALUES,
	[FIGURE_MAX] = 1,
};

bool samples_reserve(struct samples *s)
{
	size_t capacity = s->capacity == 0 ? SAMPLES_FIRST : 2 * s->capacity;
	double *values;

	if (s->count < s->capacity)
		return true;
	values = reallocarray(s->values, capacity, sizeof(*values));
	if (values == NULL)
		return false;
	s->values = values;
	s->capacity = capacity;
	return true;
}

void samples_add(struct samples *s, double value)
{
	assert(s->count < s->capacity);
	s->values[s->count++] = value;
	s->is_sorted = false;
}

static void samples_sort(struct samples *s)
{
	if (!s->is_sorted)
		quantiles_sort(s->values, s->count);
	s->is_sorted = true;
}

static double samples_mean(const struct samples *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += s->values[i];
	return sum / (double)s->count;
}

bool samples_summarize(struct samples *s, struct summary *out)
{
	static const double shares[FIGURE_COUNT] = {
		[FIGURE_P50] = 0.5,    [FIGURE_P90] = 0.9, [FIGURE_P99] = 0.99,
		[FIGURE_P999] = 0.999, [FIGURE_MAX] = 1,
	};

	if (s->count == 0)
		return false;
	samples_sort(s);
	out->figures[FIGURE_MEAN] = samples_mean(s);
	for (int i = FIGURE_P50; i < FIGURE_COUNT; i++)
		out->figures[i] =
			quantile_reported(s->values, s->count, shares[i]);
	return true;
}

static size_t count_up_to(const struct samples *s, size_t rank)
{
	while (rank < s->count && s->values[rank] == s->values[rank - 1])
		rank++;
	return rank;
}

/*
 * The number of samples above rung `i`: 10, 9 .. 6 tenths of all; then 10, 9 ..
 * 6 tenths of half as many; and so on.
 */
static size_t count_above(size_t count, unsigned i)
{
	size_t tenths = 2 * RUNGS_PER_HALF - i % RUNGS_PER_HALF;

	return (count * tenths / 10) >> (i / RUNGS_PER_HALF);
}

bool samples_rung(struct samples *s, unsigned i, struct samples_rung *out)
{
	double tenths = 2 * RUNGS_PER_HALF - i % RUNGS_PER_HALF;
	size_t above;
	size_t rank;

	if (s->count == 0 || (i > 0 && count_above(s->count, i - 1) == 0))
		return false;
	samples_sort(s);
	above = count_above(s->count, i);
	rank = above < s->count ? s->count - above : 1;
	*out = (struct samples_rung){
		.value = s->values[rank - 1],
		.percentile = above == 0 ?
				      1 :
				      1 - ldexp(tenths / 10,
						-(int)(i / RUNGS_PER_HALF)),
		.count = count_up_to(s, rank),
	};
	return true;
}

void samples_release(struct samples *s)
{
	free(s->values);
	*s = (struct samples){ 0 };
}
