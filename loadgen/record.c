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

static bool add_times(struct record *r, const struct result *result)
{
	unsigned class = size_class_of(result->uploaded_bytes);

	if (!samples_reserve(&r->response) ||
	    !samples_reserve(&r->response_by_class[class]) ||
	    !samples_reserve(&r->from_last_byte) ||
	    !samples_reserve(&r->from_first_byte))
		return false;
	samples_add(&r->response, (double)result->response_ns);
	samples_add(&r->response_by_class[class], (double)result->response_ns);
	samples_add(&r->from_last_byte, (double)result->from_last_byte_ns);
	samples_add(&r->from_first_byte, (double)result->from_first_byte_ns);
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
		samples_add(&r->lag, (double)result->lag_ns);
	r->waited_count += result->scheduled && result->waited;
	r->request_count++;
	return true;
}

void record_release(struct record *r)
{
	samples_release(&r->response);
	for (int i = 0; i < SIZE_CLASS_COUNT; i++)
		samples_release(&r->response_by_class[i]);
	samples_release(&r->from_last_byte);
	samples_release(&r->from_first_byte);
	samples_release(&r->lag);
	free(r->errors);
	*r = (struct record){ 0 };
}
