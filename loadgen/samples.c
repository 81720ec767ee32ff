/* SPDX-License-Identifier: MIT */
#include "loadgen/samples.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { SAMPLES_FIRST = 1024, RUNGS_PER_HALF = 5 };

const char *const figure_names[FIGURE_COUNT] = {
	[FIGURE_MEAN] = "mean", [FIGURE_P50] = "p50",    [FIGURE_P90] = "p90",
	[FIGURE_P99] = "p99",   [FIGURE_P999] = "p99.9", [FIGURE_MAX] = "max",
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

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(struct samples *s)
{
	if (!s->is_sorted && s->count > 0)
		qsort(s->values, s->count, sizeof(*s->values), compare_values);
	s->is_sorted = true;
}

/* The sample of rank ceil(per_mille / 1000 * count), counted from 1. */
static double nearest_rank(const struct samples *s, unsigned per_mille)
{
	size_t rank = (s->count * per_mille + 999) / 1000;

	assert(s->is_sorted && rank >= 1 && rank <= s->count);
	return s->values[rank - 1];
}

static double mean(const struct samples *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += s->values[i];
	return sum / (double)s->count;
}

bool samples_summarize(struct samples *s, struct summary *out)
{
	if (s->count == 0)
		return false;
	sort(s);
	*out = (struct summary){ .figures = {
					 [FIGURE_MEAN] = mean(s),
					 [FIGURE_P50] = nearest_rank(s, 500),
					 [FIGURE_P90] = nearest_rank(s, 900),
					 [FIGURE_P99] = nearest_rank(s, 990),
					 [FIGURE_P999] = nearest_rank(s, 999),
					 [FIGURE_MAX] = nearest_rank(s, 1000),
				 } };
	return true;
}

double samples_deviation(const struct samples *s)
{
	double middle = mean(s);
	double squares = 0;

	for (size_t i = 0; i < s->count; i++)
		squares += (s->values[i] - middle) * (s->values[i] - middle);
	return sqrt(squares / (double)s->count);
}

static size_t count_up_to(const struct samples *s, size_t rank)
{
	while (rank < s->count && s->values[rank] == s->values[rank - 1])
		rank++;
	return rank;
}

/* The samples above rung `i`: 10, 9 .. 6 tenths of a half, then of the next. */
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
	sort(s);
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
