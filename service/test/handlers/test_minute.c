/* SPDX-License-Identifier: MIT */
/*
 * Promises: every reply is counted in its second; a second is kept for a minute
 * and then forgotten; recent counts cover only the last seconds; and gauges are
 * read at most once a second.
 */
#include "service/http/handlers/watch/minute.h"

#include "base/test/check.h"

#include <math.h>

static const uint64_t s = 1000000000, ms = 1000000;
static struct minute m;
static uint64_t now_ns;
static int look_count;

/* Three quarters of a core are used. */
static void look(void *arg, struct minute_gauges *out)
{
	CHECK_NUMBER(arg, ==, &m);
	look_count++;
	*out = (struct minute_gauges){
		.at_ns = now_ns,
		.cpu_ns = now_ns / 4 * 3,
		.memory_used_bytes = 1000,
		.in_flight_count = 7,
	};
}

static void begin(void)
{
	look_count = 0;
	now_ns = 1000 * s + s / 2;
	minute_init(&m, look, &m, now_ns);
}

static void reply(uint64_t at_ns, unsigned int status, uint64_t took_ns)
{
	now_ns = at_ns;
	minute_count(&m, now_ns, status, took_ns);
}

static void test_replies_are_counted_in_their_second(void)
{
	struct minute_second told;

	begin();
	for (uint64_t i = 0; i < 100; i++)
		reply(1001 * s + i * ms, 200 + (unsigned int)i % 3, 7 * ms);
	reply(1001 * s + 900 * ms, 201, 300 * ms);
	reply(1001 * s + 901 * ms, 422, 900 * ms);
	reply(1001 * s + 902 * ms, 503, 1);
	reply(1001 * s + 903 * ms, 507, 1);
	CHECK_NUMBER(look_count, ==, 1);
	CHECK(!minute_read(&m, 1000, &told));
	CHECK(!minute_read(&m, 1002, &told));
	CHECK(minute_read(&m, 1001, &told));
	CHECK_NUMBER(told.second, ==, 1001);
	CHECK_NUMBER(told.replies.ok_count, ==, 101);
	CHECK_NUMBER(told.replies.client_error_count, ==, 1);
	CHECK_NUMBER(told.replies.server_error_count, ==, 2);
	/* Only 2xx replies have a time in the figures. */
	CHECK_NUMBER(told.times.count, ==, 101);
	CHECK_NUMBER(told.time_ns_max, ==, 300 * ms);
	CHECK_NUMBER(histogram_quantile(&told.times, 0.9), <, 8 * ms);
	CHECK_NUMBER(told.gauges.in_flight_count, ==, 7);
	CHECK_NUMBER(told.cores, <, 0); /* nobody has looked since */
	now_ns = 1002 * s;
	minute_look(&m, now_ns);
	minute_look(&m, now_ns + 1);
	CHECK_NUMBER(look_count, ==, 2);
	CHECK(minute_read(&m, 1001, &told));
	CHECK_NUMBER(fabs(told.cores - 0.75), <, 1e-6);
	minute_release(&m);
}

static void test_a_minute_is_kept(void)
{
	struct minute_second told;
	uint64_t first;

	begin();
	CHECK_NUMBER(minute_first(&m, now_ns, MINUTE_SECONDS), ==, 1000);
	for (uint64_t second = 1001; second < 1200; second++) {
		uint64_t count = 0;

		if (second % 10 != 0) /* nothing happens in these */
			reply(second * s, 200, ms);
		first = minute_first(&m, second * s, MINUTE_SECONDS);
		CHECK_NUMBER(first, ==, (second > 1060 ? second - 60 : 1000));
		for (uint64_t i = first; i <= second; i++) {
			bool is_there = minute_read(&m, i, &told);

			CHECK_NUMBER(is_there, ==, (i % 10 != 0));
			CHECK(!is_there || told.replies.ok_count == 1);
			count += is_there;
		}
		CHECK(second < 1060 || count > 50);
	}
	CHECK(!minute_read(&m, 1101, &told));
	/* A thread that is delayed by too much changes nothing. */
	reply(1101 * s, 200, ms);
	CHECK(!minute_read(&m, 1101, &told));
	minute_release(&m);
}

static void test_what_is_long_ago_is_not_recent(void)
{
	struct minute_recent recent;

	begin();
	minute_read_recent(&m, now_ns, &recent);
	CHECK_NUMBER(recent.duration_s, ==, 0);
	CHECK_NUMBER(recent.times.count, ==, 0);
	reply(1001 * s, 200, 900 * ms);
	minute_read_recent(&m, 1002 * s + s / 2, &recent);
	CHECK_NUMBER(recent.duration_s, ==, 2);
	CHECK_NUMBER(recent.replies.ok_count, ==, 1);
	reply(1006 * s, 200, 2 * ms);
	reply(1007 * s + s / 4, 500, 3 * ms);
	minute_read_recent(&m, now_ns, &recent);
	CHECK_NUMBER(recent.duration_s, ==, 5.25);
	CHECK_NUMBER(recent.time_ns_max, ==, 2 * ms);
	CHECK_NUMBER(recent.replies.ok_count, ==, 1);
	CHECK_NUMBER(recent.times.count, ==, 1);
	CHECK_NUMBER(recent.replies.server_error_count, ==, 1);
	minute_release(&m);
}

int main(void)
{
	test_replies_are_counted_in_their_second();
	test_a_minute_is_kept();
	test_what_is_long_ago_is_not_recent();
	return 0;
}
