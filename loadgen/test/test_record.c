/* SPDX-License-Identifier: MIT */
/* A record's counts are those worked out by hand. */
#include "loadgen/record.h"

#include "loadgen/clock.h"

#include <assert.h>
#include <string.h>

static void add_reply(struct record *r, int status, uint64_t ns)
{
	struct result result = {
		.status = status,
		.uploaded_bytes = 10,
		.response_ns = ns,
		.from_last_byte_ns = 3 * ns,
		.from_first_byte_ns = 2 * ns,
	};

	assert(record_add(r, &result));
}

static void add_error(struct record *r, const char *text)
{
	struct result result = { .error = text, .uploaded_bytes = 10 };

	assert(record_add(r, &result));
}

static double figure_of(struct samples *samples, enum figure figure)
{
	struct summary s;

	assert(samples_summarize(samples, &s));
	return s.figures[figure];
}

static void test_the_times_are_apart(void)
{
	struct record r = { 0 };

	add_reply(&r, 200, 3);
	assert(figure_of(&r.response, FIGURE_MAX) == 3);
	assert(figure_of(&r.from_first_byte, FIGURE_MAX) == 6);
	assert(figure_of(&r.from_last_byte, FIGURE_MAX) == 9);
	record_release(&r);
}

/* Of two classes that touch; the others stay empty. */
static void test_classes_are_apart(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .response_ns = 5 };

	result.uploaded_bytes = size_classes[0].bytes_below - 1;
	assert(record_add(&r, &result));
	result.uploaded_bytes = size_classes[0].bytes_below;
	result.response_ns = 7;
	assert(record_add(&r, &result));
	assert(record_add(&r, &result));
	result.status = 503;
	assert(record_add(&r, &result));
	assert(r.response.count == 3);
	assert(r.by_size[0].response.count == 1);
	assert(r.by_size[1].response.count == 2);
	assert(r.by_size[2].response.count == 0);
	assert(figure_of(&r.by_size[0].response, FIGURE_MAX) == 5);
	assert(figure_of(&r.by_size[1].response, FIGURE_MEAN) == 7);
	record_release(&r);
}

/* What is not a JPEG has no class of megapixels. */
static void test_megapixels(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .response_ns = 5 };

	assert(record_add(&r, &result));
	result.megapixels = megapixel_classes[1].megapixels_below;
	result.response_ns = 9;
	assert(record_add(&r, &result));
	result.status = 503;
	assert(record_add(&r, &result));
	assert(r.megapixels == result.megapixels);
	assert(r.by_megapixels[0].response.count == 0);
	assert(r.by_megapixels[1].response.count == 0);
	assert(r.by_megapixels[2].response.count == 1);
	assert(figure_of(&r.by_megapixels[2].response, FIGURE_MAX) == 9);
	record_release(&r);
}

/* From the first byte, or from the intended time; without calibration none. */
static void test_slowdown(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200,
				 .response_ns = 10,
				 .from_first_byte_ns = 30,
				 .megapixels = 0.01 };

	assert(record_add(&r, &result));
	assert(r.slowdown.count == 0);
	result.unloaded_ns = 20;
	assert(record_add(&r, &result));
	assert(r.slowdown.count == 1);
	assert(figure_of(&r.slowdown, FIGURE_MAX) == 1.5);
	result.scheduled = true;
	result.response_ns = 50;
	assert(record_add(&r, &result));
	assert(figure_of(&r.slowdown, FIGURE_MAX) == 2.5);
	assert(figure_of(&r.by_size[0].slowdown, FIGURE_MEAN) == 2);
	assert(figure_of(&r.by_megapixels[0].slowdown, FIGURE_MEAN) == 2);
	record_release(&r);
}

static void test_intervals(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200,
				 .uploaded_bytes = 20,
				 .ended_ns = 6 * NS_PER_S };

	assert(record_add(&r, &result));
	result.status = 503;
	assert(record_add(&r, &result));
	assert(intervals_get(&r.intervals, 10 * NS_PER_S, 1).bytes_per_s == 4);
	record_release(&r);
}

static void test_only_2xx_is_measured(void)
{
	struct record r = { 0 };

	add_reply(&r, 503, 1);
	add_reply(&r, 199, 1);
	add_reply(&r, 300, 1);
	add_error(&r, "reset");
	assert(r.response.count == 0);
	assert(r.ok_count == 0 && r.uploaded_bytes == 0);
	assert(r.request_count == 4);
	add_reply(&r, 200, 7);
	add_reply(&r, 299, 7);
	assert(figure_of(&r.response, FIGURE_P50) == 7);
	assert(r.ok_count == 2 && r.uploaded_bytes == 20);
	assert(r.responses[503] == 1 && r.responses[200] == 1);
	record_release(&r);
}

/* The lag is the client's, whatever the server answered. */
static void test_lag_is_of_those_that_did_not_wait(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .lag_ns = 5 };

	assert(record_add(&r, &result)); /* of a closed loop */
	assert(r.lag.count == 0 && r.waited_count == 0);
	result.scheduled = true;
	assert(record_add(&r, &result));
	result.status = 503;
	result.lag_ns = 7;
	assert(record_add(&r, &result));
	result.waited = true;
	result.lag_ns = 1000;
	assert(record_add(&r, &result));
	assert(r.lag.count == 2 && r.waited_count == 1);
	assert(figure_of(&r.lag, FIGURE_MEAN) == 6);
	record_release(&r);
}

static void test_errors_are_counted_by_text(void)
{
	struct record r = { 0 };

	add_error(&r, "reset");
	add_error(&r, "refused");
	add_error(&r, "reset");
	assert(r.transport_error_count == 3 && r.request_count == 3);
	assert(r.error_kinds == 2);
	assert(strcmp(r.errors[0].text, "reset") == 0);
	assert(r.errors[0].count == 2);
	assert(strcmp(r.errors[1].text, "refused") == 0);
	assert(r.errors[1].count == 1);
	record_release(&r);
}

int main(void)
{
	test_the_times_are_apart();
	test_classes_are_apart();
	test_megapixels();
	test_slowdown();
	test_intervals();
	test_only_2xx_is_measured();
	test_lag_is_of_those_that_did_not_wait();
	test_errors_are_counted_by_text();
	return 0;
}
