/* SPDX-License-Identifier: MIT */
#include "loadgen/report/record.h"

#include "base/clock.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t interval_ns = INTERVAL_S * NS_PER_S;

const struct class_bound class_bounds[CLASS_KINDS][CLASS_COUNT] = {
	[CLASSES_BY_BYTES] = { { "< 50 KB", 50000 },
			       { "50-200 KB", 200000 },
			       { "200-800 KB", 800000 },
			       { ">= 800 KB", INFINITY } },
	[CLASSES_BY_MEGAPIXELS] = { { "< 0.1 MP", 0.1 },
				    { "0.1-0.5 MP", 0.5 },
				    { "0.5-2 MP", 2 },
				    { ">= 2 MP", INFINITY } },
};

unsigned class_of(enum class_kind kind, double amount)
{
	unsigned i = 0;

	while (i < CLASS_COUNT - 1 && amount >= class_bounds[kind][i].below)
		i++;
	return i;
}

/*
 * A reply that ends exactly at the end of an interval counts in that interval.
 */
static size_t interval_at(uint64_t end_ns)
{
	return end_ns == 0 ? 0 : (size_t)((end_ns - 1) / interval_ns);
}

/* False: out of memory, and nothing is counted. */
static bool intervals_add(struct intervals *v, uint64_t end_ns, uint64_t bytes)
{
	size_t i = interval_at(end_ns);

	if (i >= v->count) {
		uint64_t *grown = reallocarray(v->bytes, i + 1, sizeof(*grown));

		if (grown == NULL)
			return false;
		memset(grown + v->count, 0,
		       (i + 1 - v->count) * sizeof(*grown));
		v->bytes = grown;
		v->count = i + 1;
	}
	v->bytes[i] += bytes;
	return true;
}

size_t intervals_count(uint64_t makespan_ns)
{
	return makespan_ns == 0 ? 0 : interval_at(makespan_ns) + 1;
}

struct interval intervals_get(const struct intervals *v, uint64_t makespan_ns,
			      size_t i)
{
	uint64_t begin_ns = i * interval_ns;
	uint64_t end_ns = begin_ns + interval_ns;
	uint64_t cumulative = 0;

	assert(i < intervals_count(makespan_ns));
	if (end_ns > makespan_ns)
		end_ns = makespan_ns;
	for (size_t j = 0; j <= i && j < v->count; j++)
		cumulative += v->bytes[j];
	return (struct interval){
		.end_s = (double)end_ns / (double)NS_PER_S,
		.bytes_per_s = i >= v->count ?
				       0 :
				       (double)v->bytes[i] * (double)NS_PER_S /
					       (double)(end_ns - begin_ns),
		.cumulative_bytes_per_s =
			(double)cumulative * (double)NS_PER_S / (double)end_ns,
	};
}

static bool record_add_error(struct record *r, const char *text)
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

static struct record_class *find_class(struct record *r, enum class_kind kind,
				       double amount)
{
	return &r->classes[kind][class_of(kind, amount)];
}

static bool record_class_reserve(struct record_class *class)
{
	return samples_reserve(&class->response) &&
	       samples_reserve(&class->slowdown);
}

/* record_class_reserve() has made room. */
static void record_class_add(struct record_class *class,
			     const struct result *result)
{
	samples_add(&class->response, (double)result->response_ns);
	if (result->unloaded_ns != 0)
		samples_add(&class->slowdown, result_slowdown(result));
}

/* Count a 2xx reply. */
static bool record_add_ok(struct record *r, const struct result *result)
{
	struct record_class *by_bytes =
		find_class(r, CLASSES_BY_BYTES, (double)result->uploaded_bytes);
	struct record_class *by_megapixels =
		find_class(r, CLASSES_BY_MEGAPIXELS, result->megapixels);
	bool has_size = result->megapixels > 0;

	if (!samples_reserve(&r->response) ||
	    !samples_reserve(&r->from_last_byte) ||
	    !samples_reserve(&r->from_first_byte) ||
	    !samples_reserve(&r->slowdown) || !record_class_reserve(by_bytes) ||
	    !record_class_reserve(by_megapixels) ||
	    !intervals_add(&r->intervals, result->ended_ns,
			   result->uploaded_bytes))
		return false;
	samples_add(&r->response, (double)result->response_ns);
	samples_add(&r->from_last_byte, (double)result->from_last_byte_ns);
	samples_add(&r->from_first_byte, (double)result->from_first_byte_ns);
	if (result->unloaded_ns != 0)
		samples_add(&r->slowdown, result_slowdown(result));
	record_class_add(by_bytes, result);
	if (has_size)
		record_class_add(by_megapixels, result);
	r->ok_count++;
	r->uploaded_bytes += result->uploaded_bytes;
	r->megapixels += result->megapixels;
	return true;
}

bool record_add(struct record *r, const struct result *result)
{
	bool has_lag = result->scheduled && !result->waited;

	assert(result->status >= 0 && result->status < RECORD_STATUS_COUNT);
	if (has_lag && !samples_reserve(&r->lag))
		return false;
	if (result->error != NULL) {
		if (!record_add_error(r, result->error))
			return false;
		r->transport_error_count++;
	} else {
		if (result_is_ok(result) && !record_add_ok(r, result))
			return false;
		r->responses[result->status]++;
	}
	if (has_lag)
		samples_add(&r->lag, (double)result->lag_ns);
	r->waited_count += result->scheduled && result->waited;
	r->request_count++;
	return true;
}

static void record_class_release(struct record_class *class)
{
	samples_release(&class->response);
	samples_release(&class->slowdown);
}

void record_halves(const struct record *r, double mean_ns[2])
{
	size_t half = r->response.count / 2;

	assert(!r->response.is_sorted);
	for (size_t h = 0; h < 2; h++) {
		const double *values = r->response.values + h * half;
		double sum = 0;

		for (size_t i = 0; i < half; i++)
			sum += values[i];
		mean_ns[h] = half > 0 ? sum / (double)half : (double)NAN;
	}
}

void record_release(struct record *r)
{
	samples_release(&r->response);
	for (int i = 0; i < CLASS_KINDS * CLASS_COUNT; i++)
		record_class_release(
			&r->classes[i / CLASS_COUNT][i % CLASS_COUNT]);
	samples_release(&r->slowdown);
	free(r->intervals.bytes);
	samples_release(&r->from_last_byte);
	samples_release(&r->from_first_byte);
	samples_release(&r->lag);
	free(r->errors);
	*r = (struct record){ 0 };
}

void outcome_release(struct outcome *out)
{
	record_release(&out->record);
	*out = (struct outcome){ 0 };
}
