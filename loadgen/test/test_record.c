/* SPDX-License-Identifier: MIT */
/* Counts and rates of a record are as computed by hand. */
#include "loadgen/report/record.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <math.h>
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

	CHECK(record_add(r, &result));
}

static void add_error(struct record *r, const char *text)
{
	struct result result = { .error = text, .uploaded_bytes = 10 };

	CHECK(record_add(r, &result));
}

static double figure_of(struct samples *samples, enum figure figure)
{
	struct summary s;

	CHECK(samples_summarize(samples, &s));
	return s.figures[figure];
}

static void test_times_are_separate(void)
{
	struct record r = { 0 };

	add_reply(&r, 200, 3);
	CHECK_NUMBER(figure_of(&r.response, FIGURE_MAX), ==, 3);
	CHECK_NUMBER(figure_of(&r.from_first_byte, FIGURE_MAX), ==, 6);
	CHECK_NUMBER(figure_of(&r.from_last_byte, FIGURE_MAX), ==, 9);
	record_release(&r);
}

/* Neighbouring classes are counted separately; the others stay empty. */
static void test_classes_are_separate(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .response_ns = 5 };

	result.uploaded_bytes =
		(uint64_t)class_bounds[CLASSES_BY_BYTES][0].below - 1;
	CHECK(record_add(&r, &result));
	result.uploaded_bytes =
		(uint64_t)class_bounds[CLASSES_BY_BYTES][0].below;
	result.response_ns = 7;
	CHECK(record_add(&r, &result));
	CHECK(record_add(&r, &result));
	result.status = 503;
	CHECK(record_add(&r, &result));
	CHECK_NUMBER(r.response.count, ==, 3);
	CHECK_NUMBER(r.classes[CLASSES_BY_BYTES][0].response.count, ==, 1);
	CHECK_NUMBER(r.classes[CLASSES_BY_BYTES][1].response.count, ==, 2);
	CHECK_NUMBER(r.classes[CLASSES_BY_BYTES][2].response.count, ==, 0);
	CHECK_NUMBER(
		figure_of(&r.classes[CLASSES_BY_BYTES][0].response, FIGURE_MAX),
		==, 5);
	CHECK_NUMBER(figure_of(&r.classes[CLASSES_BY_BYTES][1].response,
			       FIGURE_MEAN),
		     ==, 7);
	record_release(&r);
}

/* An upload that is not a JPEG has no megapixel class. */
static void test_megapixels(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .response_ns = 5 };

	CHECK(record_add(&r, &result));
	result.megapixels = class_bounds[CLASSES_BY_MEGAPIXELS][1].below;
	result.response_ns = 9;
	CHECK(record_add(&r, &result));
	result.status = 503;
	CHECK(record_add(&r, &result));
	CHECK_NUMBER(r.megapixels, ==, result.megapixels);
	CHECK_NUMBER(r.classes[CLASSES_BY_MEGAPIXELS][0].response.count, ==, 0);
	CHECK_NUMBER(r.classes[CLASSES_BY_MEGAPIXELS][1].response.count, ==, 0);
	CHECK_NUMBER(r.classes[CLASSES_BY_MEGAPIXELS][2].response.count, ==, 1);
	CHECK_NUMBER(figure_of(&r.classes[CLASSES_BY_MEGAPIXELS][2].response,
			       FIGURE_MAX),
		     ==, 9);
	record_release(&r);
}

/*
 * The slowdown counts from the first byte or the intended time; without a
 * calibration there is none.
 */
static void test_slowdown(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200,
				 .response_ns = 10,
				 .from_first_byte_ns = 30,
				 .megapixels = 0.01 };

	CHECK(record_add(&r, &result));
	CHECK_NUMBER(r.slowdown.count, ==, 0);
	result.unloaded_ns = 20;
	CHECK(record_add(&r, &result));
	CHECK_NUMBER(r.slowdown.count, ==, 1);
	CHECK_NUMBER(figure_of(&r.slowdown, FIGURE_MAX), ==, 1.5);
	result.scheduled = true;
	result.response_ns = 50;
	CHECK(record_add(&r, &result));
	CHECK_NUMBER(figure_of(&r.slowdown, FIGURE_MAX), ==, 2.5);
	CHECK_NUMBER(figure_of(&r.classes[CLASSES_BY_BYTES][0].slowdown,
			       FIGURE_MEAN),
		     ==, 2);
	CHECK_NUMBER(figure_of(&r.classes[CLASSES_BY_MEGAPIXELS][0].slowdown,
			       FIGURE_MEAN),
		     ==, 2);
	record_release(&r);
}

static void add_bytes(struct record *r, uint64_t ended_ns, uint64_t bytes)
{
	struct result result = { .status = 200,
				 .uploaded_bytes = bytes,
				 .ended_ns = ended_ns };

	CHECK(record_add(r, &result));
	result.status = 503;
	CHECK(record_add(r, &result)); /* not 2xx: it does not count */
}

static void expect_interval(const struct record *r, uint64_t makespan_ns,
			    size_t i, double end_s, double rate,
			    double cumulative)
{
	struct interval got = intervals_get(&r->intervals, makespan_ns, i);

	CHECK_NUMBER(fabs(got.end_s - end_s), <, 1e-9);
	CHECK_NUMBER(fabs(got.bytes_per_s - rate), <, 1e-9);
	CHECK_NUMBER(fabs(got.cumulative_bytes_per_s - cumulative), <, 1e-9);
}

/* Intervals of five seconds; the last one is shorter. */
static void test_interval_rates(void)
{
	struct record r = { 0 };
	uint64_t makespan_ns = 17 * NS_PER_S;

	add_bytes(&r, 1, 40);
	add_bytes(&r, 16 * NS_PER_S, 100); /* replies end in any order */
	/* This reply ends exactly at the end of an interval. */
	add_bytes(&r, 5 * NS_PER_S, 60);
	add_bytes(&r, 5 * NS_PER_S + 1, 30);
	CHECK_NUMBER(intervals_count(makespan_ns), ==, 4);
	expect_interval(&r, makespan_ns, 0, 5, 20, 20);
	expect_interval(&r, makespan_ns, 1, 10, 6, 13);
	expect_interval(&r, makespan_ns, 2, 15, 0, 130 / 15.0);
	expect_interval(&r, makespan_ns, 3, 17, 50, 230 / 17.0);
	record_release(&r);
}

static void test_interval_count(void)
{
	struct record r = { 0 };

	CHECK_NUMBER(intervals_count(0), ==, 0);
	CHECK_NUMBER(intervals_count(1), ==, 1);
	CHECK_NUMBER(intervals_count(5 * NS_PER_S), ==, 1);
	CHECK_NUMBER(intervals_count(5 * NS_PER_S + 1), ==, 2);
	expect_interval(&r, 6 * NS_PER_S, 1, 6, 0, 0); /* no 2xx reply */
}

static void expect_megapixel_class(double megapixels, unsigned expected)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .megapixels = megapixels };

	CHECK(record_add(&r, &result));
	for (unsigned i = 0; i < CLASS_COUNT; i++)
		CHECK_NUMBER(r.classes[CLASSES_BY_MEGAPIXELS][i].response.count,
			     ==, (i == expected));
	record_release(&r);
}

/* Every size has one class; a class begins where the one before it ends. */
static void test_megapixel_classes(void)
{
	for (unsigned i = 0; i < CLASS_COUNT - 1; i++) {
		double border = class_bounds[CLASSES_BY_MEGAPIXELS][i].below;

		expect_megapixel_class(nextafter(border, 0), i);
		expect_megapixel_class(border, i + 1);
	}
	expect_megapixel_class(1e9, CLASS_COUNT - 1);
	expect_megapixel_class(0.32 * 0.24, 0);
	expect_megapixel_class(0.64 * 0.48, 1);
	expect_megapixel_class(1.28 * 0.96, 2);
	expect_megapixel_class(4 * 3, 3);
}

static void test_size_class_borders(void)
{
	CHECK_NUMBER(class_of(CLASSES_BY_BYTES, 0), ==, 0);
	for (unsigned i = 0; i < CLASS_COUNT - 1; i++) {
		double border = class_bounds[CLASSES_BY_BYTES][i].below;

		CHECK_NUMBER(class_of(CLASSES_BY_BYTES, border - 1), ==, i);
		CHECK_NUMBER(class_of(CLASSES_BY_BYTES, border), ==, i + 1);
	}
	CHECK(isinf(class_bounds[CLASSES_BY_BYTES][CLASS_COUNT - 1].below));
	CHECK_NUMBER(class_of(CLASSES_BY_BYTES, 0x1p64), ==, CLASS_COUNT - 1);
}

static void test_known_sizes(void)
{
	CHECK_NUMBER(class_of(CLASSES_BY_BYTES, 1800), ==, 0);
	CHECK_NUMBER(class_of(CLASSES_BY_BYTES, 50000), ==, 1);
	CHECK_NUMBER(class_of(CLASSES_BY_BYTES, 600000), ==, 2);
	CHECK_NUMBER(class_of(CLASSES_BY_BYTES, 4000000), ==, 3);
}

static void test_only_2xx_is_measured(void)
{
	struct record r = { 0 };

	add_reply(&r, 503, 1);
	add_reply(&r, 199, 1);
	add_reply(&r, 300, 1);
	add_error(&r, "reset");
	CHECK_NUMBER(r.response.count, ==, 0);
	CHECK_NUMBER(r.ok_count, ==, 0);
	CHECK_NUMBER(r.uploaded_bytes, ==, 0);
	CHECK_NUMBER(r.request_count, ==, 4);
	add_reply(&r, 200, 7);
	add_reply(&r, 299, 7);
	CHECK_NUMBER(figure_of(&r.response, FIGURE_P50), ==, 7);
	CHECK_NUMBER(r.ok_count, ==, 2);
	CHECK_NUMBER(r.uploaded_bytes, ==, 20);
	CHECK_NUMBER(r.responses[503], ==, 1);
	CHECK_NUMBER(r.responses[200], ==, 1);
	record_release(&r);
}

/*
 * The client causes the lag, so requests with other replies than 2xx count too.
 */
static void test_lag_is_of_requests_that_did_not_wait(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .lag_ns = 5 };

	CHECK(record_add(&r, &result)); /* in a closed loop */
	CHECK_NUMBER(r.lag.count, ==, 0);
	CHECK_NUMBER(r.waited_count, ==, 0);
	result.scheduled = true;
	CHECK(record_add(&r, &result));
	result.status = 503;
	result.lag_ns = 7;
	CHECK(record_add(&r, &result));
	result.waited = true;
	result.lag_ns = 1000;
	CHECK(record_add(&r, &result));
	CHECK_NUMBER(r.lag.count, ==, 2);
	CHECK_NUMBER(r.waited_count, ==, 1);
	CHECK_NUMBER(figure_of(&r.lag, FIGURE_MEAN), ==, 6);
	record_release(&r);
}

static void test_errors_are_counted_by_text(void)
{
	struct record r = { 0 };

	add_error(&r, "reset");
	add_error(&r, "refused");
	add_error(&r, "reset");
	CHECK_NUMBER(r.transport_error_count, ==, 3);
	CHECK_NUMBER(r.request_count, ==, 3);
	CHECK_NUMBER(r.error_kinds, ==, 2);
	CHECK_TEXT(r.errors[0].text, "reset");
	CHECK_NUMBER(r.errors[0].count, ==, 2);
	CHECK_TEXT(r.errors[1].text, "refused");
	CHECK_NUMBER(r.errors[1].count, ==, 1);
	record_release(&r);
}

int main(void)
{
	test_times_are_separate();
	test_classes_are_separate();
	test_megapixels();
	test_slowdown();
	test_interval_rates();
	test_interval_count();
	test_megapixel_classes();
	test_size_class_borders();
	test_known_sizes();
	test_only_2xx_is_measured();
	test_lag_is_of_requests_that_did_not_wait();
	test_errors_are_counted_by_text();
	return 0;
}
