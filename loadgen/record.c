/* SPDX-License-Identifier: MIT */
#include "loadgen/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_FIRST = 1024 };

/* Make room for one more. */
static bool samples_reserve(struct samples *s)
{
	size_t capacity = s->capacity == 0 ? SAMPLES_FIRST : 2 * s->capacity;
	uint64_t *ns;

	if (s->count < s->capacity)
		return true;
	ns = reallocarray(s->ns, capacity, sizeof(*ns));
	if (ns == NULL)
		return false;
	s->ns = ns;
	s->capacity = capacity;
	return true;
}

/* There is room. */
static void samples_add(struct samples *s, uint64_t ns)
{
	assert(s->count < s->capacity);
	s->ns[s->count++] = ns;
}

static bool add_error(struct record *r, const char *text)
{
	struct record_error *errors;

	for (size_t i = 0; i < r->error_kinds; i++)
		if (strcmp(r->errors[i].text, text) == 0) {
			r->errors[i].count++;
			return true;
		}
	errors = reallocarray(r->errors, r->error_kinds + 1, sizeof(*errors));
	if (errors == NULL)
		return false;
	errors[r->error_kinds++] = (struct record_error){ text, 1 };
	r->errors = errors;
	return true;
}

static bool add_times(struct record *r, const struct result *result)
{
	unsigned class = size_class_of(result->uploaded_bytes);

	if (!samples_reserve(&r->response) ||
	    !samples_reserve(&r->response_by_class[class]) ||
	    !samples_reserve(&r->from_last_byte) ||
	    !samples_reserve(&r->from_first_byte))
		return false;
	samples_add(&r->response, result->response_ns);
	samples_add(&r->response_by_class[class], result->response_ns);
	samples_add(&r->from_last_byte, result->from_last_byte_ns);
	samples_add(&r->from_first_byte, result->from_first_byte_ns);
	return true;
}

bool record_add(struct record *r, const struct result *result)
{
	bool has_lag = result->scheduled && !result->waited;

	assert(result->status >= 0 && result->status < RECORD_STATUS_COUNT);
	if (has_lag && !samples_reserve(&r->lag))
		return false;
	if (result->error != NULL) {
		if (!add_error(r, result->error))
			return false;
		r->transport_error_count++;
	} else {
		if (result_is_ok(result)) {
			if (!add_times(r, result))
				return false;
			r->ok_count++;
			r->uploaded_bytes += result->uploaded_bytes;
		}
		r->responses[result->status]++;
	}
	if (has_lag)
		samples_add(&r->lag, result->lag_ns);
	r->waited_count += result->scheduled && result->waited;
	r->request_count++;
	return true;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The sample of rank ceil(percent / 100 * count), counted from 1. */
static uint64_t nearest_rank(const struct samples *sorted, unsigned percent)
{
	size_t rank = (sorted->count * percent + 99) / 100;

	assert(rank >= 1 && rank <= sorted->count);
	return sorted->ns[rank - 1];
}

static double mean(const struct samples *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += (double)s->ns[i];
	return sum / (double)s->count;
}

bool samples_summarize(struct samples *s, struct summary *out)
{
	if (s->count == 0)
		return false;
	qsort(s->ns, s->count, sizeof(*s->ns), compare_ns);
	*out = (struct summary){
		.mean_ns = mean(s),
		.p50_ns = nearest_rank(s, 50),
		.p90_ns = nearest_rank(s, 90),
		.p99_ns = nearest_rank(s, 99),
		.max_ns = nearest_rank(s, 100),
	};
	return true;
}

void record_release(struct record *r)
{
	free(r->response.ns);
	for (int i = 0; i < SIZE_CLASS_COUNT; i++)
		free(r->response_by_class[i].ns);
	free(r->from_last_byte.ns);
	free(r->from_first_byte.ns);
	free(r->lag.ns);
	free(r->errors);
	*r = (struct record){ 0 };
}
