/* SPDX-License-Identifier: MIT */
/*
 * Promises: Retry-After is what is inside over the rate of late; sensible
 * before anything has ended, after idle time and at a standstill; within
 * 1 .. 60; and not the same for all who are refused together.
 */
#include "service/pipeline/drain.h"

#include <assert.h>
#include <stdbool.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

enum { TELLINGS = 240 };

/* A clock that runs for days. */
static const uint64_t start_ns = 86400 * SECOND * 3 + 123456789;

/* So many ends per second, evenly, for that long.  Returns when it is over. */
static uint64_t run(struct drain *d, uint64_t from_ns, uint32_t per_s,
		    uint32_t seconds)
{
	for (uint32_t i = 0; i < per_s * seconds; i++)
		drain_count(d, from_ns + i * SECOND / per_s);
	return from_ns + seconds * SECOND;
}

/* Every answer within `s` and as much more; both ends are among them. */
static bool tells(struct drain *d, uint32_t inside, uint64_t now_ns, uint32_t s)
{
	bool least = false, most = false;

	for (int i = 0; i < TELLINGS; i++) {
		uint32_t told = drain_retry_after_s(d, inside, now_ns);

		if (told < s || told > 2 * s)
			return false;
		least = least || told == s;
		most = most || told == 2 * s;
	}
	return least && most;
}

static void test_goes_by_the_rate_of_late(void)
{
	struct drain d = { 0 };
	uint64_t now;

	drain_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 30);
	assert(tells(&d, 1, now, 1));
	assert(tells(&d, 750, now, 8));
	/* Ten times slower, and some seconds later only that counts. */
	now = run(&d, now, 10, 10);
	assert(tells(&d, 75, now, 8));
	now = run(&d, now, 1000, 10);
	assert(tells(&d, 7500, now, 8));
}

static void test_nothing_is_known_at_start(void)
{
	struct drain d = { 0 };

	assert(tells(&d, 0, start_ns, 1));
	drain_begin(&d, start_ns);
	assert(tells(&d, 256, start_ns, 1));
	assert(tells(&d, 64, start_ns + 50 * MS, 4));
}

/* A burst after an hour of nothing finds a server that is not slow. */
static void test_idle_time_does_not_count(void)
{
	struct drain d = { 0 };
	uint64_t now;

	drain_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 10) + 3600 * SECOND;
	drain_begin(&d, now);
	now = run(&d, now, 100, 1);
	assert(tells(&d, 250, now, 3));
}

static void test_standstill_is_told(void)
{
	struct drain d = { 0 };
	uint64_t now;

	drain_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 10);
	assert(tells(&d, 50, now, 1));
	/* The fewer of the last ones count, the longer. */
	assert(drain_retry_after_s(&d, 50, now + 7 * SECOND) >= 2);
	assert(tells(&d, 50, now + 60 * SECOND, 30));
	/* However much, however long. */
	assert(tells(&d, UINT32_MAX, now + 1000000 * SECOND, 30));
}

/* Between a burst's ends lie seconds of other work. */
static void test_bursts_are_averaged(void)
{
	struct drain d = { 0 };
	uint64_t now = start_ns;

	drain_begin(&d, now);
	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 100; j++)
			drain_count(&d, now);
		now += 2 * SECOND;
		uint32_t s = drain_retry_after_s(&d, 250, now);

		assert(s >= 3 && s <= 2 * 9);
	}
}

int main(void)
{
	test_goes_by_the_rate_of_late();
	test_nothing_is_known_at_start();
	test_idle_time_does_not_count();
	test_standstill_is_told();
	test_bursts_are_averaged();
	return 0;
}
