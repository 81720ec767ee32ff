/* SPDX-License-Identifier: MIT */
#include "datasets/quantiles.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

double quantiles_at(const struct quantiles *q, double share)
{
	uint32_t k = 1;

	assert(q->count >= 2 && q->count <= QUANTILE_KNOTS_MAX);
	while (k + 1 < q->count && share > q->knots[k].share)
		k++;

	const struct quantile_knot *low = &q->knots[k - 1];
	const struct quantile_knot *high = &q->knots[k];
	double part = (share - low->share) / (high->share - low->share);

	return low->bytes * pow(high->bytes / low->bytes, part);
}

uint64_t quantiles_target(const struct quantiles *q, uint32_t rank,
			  uint32_t count)
{
	double share = (rank + 0.5) / count;

	assert(rank < count);
	if (count > 1 && rank == 0)
		share = 0;
	if (count > 1 && rank == count - 1)
		share = 1;
	return (uint64_t)llround(quantiles_at(q, share));
}

static double mean_of_targets(const struct quantiles *q, uint32_t count)
{
	double total = 0;

	for (uint32_t rank = 0; rank < count; rank++)
		total += (double)quantiles_target(q, rank, count);
	return total / count;
}

void quantiles_fit_mean(struct quantiles *q, uint32_t count, double mean_bytes)
{
	struct quantile_knot *knot = &q->knots[q->count - 2];
	double low = knot[-1].bytes;
	double high = knot[1].bytes;

	assert(q->count >= 3);
	/* The mean grows with the knot. */
	for (int step = 0; step < 40; step++) {
		knot->bytes = (low + high) / 2;
		if (mean_of_targets(q, count) < mean_bytes)
			low = knot->bytes;
		else
			high = knot->bytes;
	}
}

static int compare_sizes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest size that `percent` of the sorted sizes do not exceed. */
static uint64_t nearest_rank(const uint64_t *sizes, uint64_t count,
			     uint64_t percent)
{
	return sizes[(count * percent + 99) / 100 - 1];
}

struct size_summary sizes_summarise(uint64_t *sizes, uint64_t count)
{
	struct size_summary s = { .count = count };

	assert(count >= 1);
	qsort(sizes, count, sizeof(*sizes), compare_sizes);
	for (uint64_t i = 0; i < count; i++)
		s.total += sizes[i];
	s.min = sizes[0];
	s.max = sizes[count - 1];
	s.mean = (double)s.total / (double)count;
	s.median = nearest_rank(sizes, count, 50);
	s.p90 = nearest_rank(sizes, count, 90);
	s.p99 = nearest_rank(sizes, count, 99);
	return s;
}
