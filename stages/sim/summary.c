/* SPDX-License-Identifier: MIT */
#include "stages/sim/summary.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static void *array_new(uint64_t count, size_t size)
{
	void *array = calloc(count + 1, size);

	assert(array != NULL);
	return array;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The place of a share of `count` things in order. */
static uint64_t rank(uint64_t count, double share)
{
	uint64_t at = (uint64_t)ceil(share * (double)count);

	return at > 0 ? at - 1 : 0;
}

void summary_classify(const struct engine_result *result,
		      struct size_classes *out)
{
	static const double shares[] = { 0.5, 0.9, 0.99 };
	double *sizes = array_new(result->request_count, sizeof(*sizes));

	for (uint64_t i = 0; i < result->request_count; i++)
		sizes[i] = result->requests[i].size;
	qsort(sizes, result->request_count, sizeof(*sizes), by_size);
	*out = (struct size_classes){ .bound_count = 3 };
	for (int i = 0; i < 3; i++)
		out->bounds[i] = sizes[rank(result->request_count, shares[i])];
	free(sizes);
}

/* `low` <= size < `high` */
static void summarise(const struct engine_result *result, double low,
		      double high, struct summary *out)
{
	uint64_t *times = array_new(result->request_count, sizeof(*times));
	uint64_t count = 0;
	double sum = 0;

	for (uint64_t i = 0; i < result->request_count; i++) {
		const struct engine_request *r = &result->requests[i];

		if (r->size < low || r->size >= high)
			continue;
		times[count++] = r->response_ns;
		sum += (double)r->response_ns;
	}
	qsort(times, count, sizeof(*times), by_time);
	*out = (struct summary){ .count = count };
	if (count > 0) {
		out->mean_ns = sum / (double)count;
		out->p50_ns = times[rank(count, 0.5)];
		out->p90_ns = times[rank(count, 0.9)];
		out->p99_ns = times[rank(count, 0.99)];
		out->max_ns = times[count - 1];
	}
	free(times);
}

void summary_all(const struct engine_result *result, struct summary *out)
{
	summarise(result, 0, INFINITY, out);
}

void summary_class(const struct engine_result *result,
		   const struct size_classes *classes, uint32_t number,
		   struct summary *out)
{
	assert(number <= classes->bound_count);
	summarise(result, number > 0 ? classes->bounds[number - 1] : 0,
		  number < classes->bound_count ? classes->bounds[number] :
						  INFINITY,
		  out);
}

double summary_confidence_ns(const struct engine_result *result)
{
	const double student = 2.093; /* 97.5 %, 19 degrees of freedom */
	uint64_t length = result->request_count / SUMMARY_BATCHES;
	double sum = 0, squares = 0;

	if (length == 0)
		return INFINITY;
	for (uint64_t b = 0; b < SUMMARY_BATCHES; b++) {
		double mean = 0;

		for (uint64_t i = b * length; i < (b + 1) * length; i++)
			mean += (double)result->requests[i].response_ns /
				(double)length;
		sum += mean;
		squares += mean * mean;
	}
	double variance =
		(squares - sum * sum / SUMMARY_BATCHES) / (SUMMARY_BATCHES - 1);

	return student * sqrt(fmax(variance, 0) / SUMMARY_BATCHES);
}
