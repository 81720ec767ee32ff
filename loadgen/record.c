/* SPDX-License-Identifier: MIT */
#include "loadgen/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

static bool reserve_class(struct record_class *class)
{
	return samples_reserve(&class->response) &&
	       samples_reserve(&class->slowdown);
}

/* There is room. */
static void add_to_class(struct record_class *class,
			 const struct result *result)
{
	samples_add(&class->response, (double)result->response_ns);
	if (result->unloaded_ns != 0)
		samples_add(&class->slowdown, result_slowdown(result));
}

/* Of a 2xx reply. */
static bool add_ok(struct record *r, const struct result *result)
{
	struct record_class *by_size =
		&r->by_size[size_class_of(result->uploaded_bytes)];
	struct record_class *by_megapixels =
		&r->by_megapixels[megapixel_class_of(result->megapixels)];
	bool is_jpeg = result->megapixels > 0;

	if (!samples_reserve(&r->response) ||
	    !samples_reserve(&r->from_last_byte) ||
	    !samples_reserve(&r->from_first_byte) ||
	    !samples_reserve(&r->slowdown) || !reserve_class(by_size) ||
	    !reserve_class(by_megapixels) ||
	    !intervals_add(&r->intervals, result->ended_ns,
			   result->uploaded_bytes))
		return false;
	samples_add(&r->response, (double)result->response_ns);
	samples_add(&r->from_last_byte, (double)result->from_last_byte_ns);
	samples_add(&r->from_first_byte, (double)result->from_first_byte_ns);
	if (result->unloaded_ns != 0)
		samples_add(&r->slowdown, result_slowdown(result));
	add_to_class(by_size, result);
	if (is_jpeg)
		add_to_class(by_megapixels, result);
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
		if (!add_error(r, result->error))
			return false;
		r->transport_error_count++;
	} else {
		if (result_is_ok(result) && !add_ok(r, result))
			return false;
		r->responses[result->status]++;
	}
	if (has_lag)
		samples_add(&r->lag, (double)result->lag_ns);
	r->waited_count += result->scheduled && result->waited;
	r->request_count++;
	return true;
}

static void release_class(struct record_class *class)
{
	samples_release(&class->response);
	samples_release(&class->slowdown);
}

void record_release(struct record *r)
{
	samples_release(&r->response);
	for (int i = 0; i < SIZE_CLASS_COUNT; i++)
		release_class(&r->by_size[i]);
	for (int i = 0; i < MEGAPIXEL_CLASS_COUNT; i++)
		release_class(&r->by_megapixels[i]);
	samples_release(&r->slowdown);
	intervals_release(&r->intervals);
	samples_release(&r->from_last_byte);
	samples_release(&r->from_first_byte);
	samples_release(&r->lag);
	free(r->errors);
	*r = (struct record){ 0 };
}
