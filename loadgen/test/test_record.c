/* SPDX-License-Identifier: MIT */
/* A record's percentiles and counts are those worked out by hand. */
#include "loadgen/record.h"

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

/* 1 .. count, the largest first. */
static struct summary summary_of(unsigned count)
{
	struct record r = { 0 };
	struct summary q;

	for (unsigned i = count; i > 0; i--)
		add_reply(&r, 200, i);
	assert(samples_summarize(&r.response, &q));
	record_release(&r);
	return q;
}

static void test_nearest_rank(void)
{
	struct summary q = summary_of(1);

	assert(q.p50_ns == 1 && q.p90_ns == 1 && q.p99_ns == 1);
	assert(q.max_ns == 1);
	q = summary_of(5); /* ranks 2.5, 4.5 and 4.95, rounded up */
	assert(q.p50_ns == 3 && q.p90_ns == 5 && q.p99_ns == 5);
	q = summary_of(10); /* 5, 9, 9.9 */
	assert(q.p50_ns == 5 && q.p90_ns == 9 && q.p99_ns == 10);
	q = summary_of(200); /* 100, 180, 198 */
	assert(q.p50_ns == 100 && q.p90_ns == 180 && q.p99_ns == 198);
	assert(q.max_ns == 200);
	q = summary_of(5000); /* more than the arrays first hold */
	assert(q.p50_ns == 2500 && q.p90_ns == 4500 && q.p99_ns == 4950);
	assert(q.max_ns == 5000);
}

static void test_mean(void)
{
	assert(summary_of(1).mean_ns == 1);
	assert(summary_of(4).mean_ns == 2.5);
	assert(summary_of(5000).mean_ns == 2500.5);
}

static void test_large_times_keep_their_order(void)
{
	struct record r = { 0 };
	struct summary q;

	add_reply(&r, 200, UINT64_C(1) << 40);
	add_reply(&r, 200, 3);
	assert(samples_summarize(&r.response, &q));
	assert(q.p50_ns == 3 && q.max_ns == UINT64_C(1) << 40);
	record_release(&r);
}

static void test_the_times_are_apart(void)
{
	struct record r = { 0 };
	struct summary q;

	add_reply(&r, 200, 3);
	assert(samples_summarize(&r.response, &q) && q.max_ns == 3);
	assert(samples_summarize(&r.from_first_byte, &q) && q.max_ns == 6);
	assert(samples_summarize(&r.from_last_byte, &q) && q.max_ns == 9);
	record_release(&r);
}

/* Of two classes that touch; the others stay empty. */
static void test_classes_are_apart(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .response_ns = 5 };
	struct summary s;

	result.uploaded_bytes = size_classes[0].bytes_below - 1;
	assert(record_add(&r, &result));
	result.uploaded_bytes = size_classes[0].bytes_below;
	result.response_ns = 7;
	assert(record_add(&r, &result));
	assert(record_add(&r, &result));
	result.status = 503;
	assert(record_add(&r, &result));
	assert(r.response.count == 3);
	assert(r.response_by_class[0].count == 1);
	assert(r.response_by_class[1].count == 2);
	assert(r.response_by_class[2].count == 0);
	assert(samples_summarize(&r.response_by_class[0], &s));
	assert(s.max_ns == 5);
	assert(samples_summarize(&r.response_by_class[1], &s));
	assert(s.mean_ns == 7);
	record_release(&r);
}

static void test_only_2xx_is_measured(void)
{
	struct record r = { 0 };
	struct summary q;

	add_reply(&r, 503, 1);
	add_reply(&r, 199, 1);
	add_reply(&r, 300, 1);
	add_error(&r, "reset");
	assert(!samples_summarize(&r.response, &q));
	assert(r.ok_count == 0 && r.uploaded_bytes == 0);
	assert(r.request_count == 4);
	add_reply(&r, 200, 7);
	add_reply(&r, 299, 7);
	assert(samples_summarize(&r.response, &q) && q.p50_ns == 7);
	assert(r.ok_count == 2 && r.uploaded_bytes == 20);
	assert(r.responses[503] == 1 && r.responses[200] == 1);
	record_release(&r);
}

/* The lag is the client's, whatever the server answered. */
static void test_lag_is_of_those_that_did_not_wait(void)
{
	struct record r = { 0 };
	struct result result = { .status = 200, .lag_ns = 5 };
	struct summary s;

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
	assert(samples_summarize(&r.lag, &s) && s.mean_ns == 6);
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
	test_nearest_rank();
	test_mean();
	test_large_times_keep_their_order();
	test_the_times_are_apart();
	test_classes_are_apart();
	test_only_2xx_is_measured();
	test_lag_is_of_those_that_did_not_wait();
	test_errors_are_counted_by_text();
	return 0;
}
