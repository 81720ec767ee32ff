/* SPDX-License-Identifier: MIT */
/*
 * Promises: whenever there is no work, all memory soon goes back to the system;
 * during work it is kept; a stop does not wait.
 */
#include "base/test/check.h"
#include "service/pipeline/buffers.h"
#include "base/clock.h"

#include <stdbool.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static struct memory_pool_stats stats_of(const struct buffers *b)
{
	struct memory_pool_stats s;

	buffers_read(b, &s);
	return s;
}

static void use_once(struct buffers *b)
{
	const struct memory *m = buffers_memory(b);
	void *block = m->alloc(m->arg, MIB);

	CHECK(block != NULL);
	m->free(m->arg, block);
	buffers_touch(b);
}

/* False: something is still kept after `limit_ms`. */
static bool becomes_empty(const struct buffers *b, int limit_ms)
{
	for (int i = 0; i < limit_ms; i++) {
		if (stats_of(b).kept_bytes == 0)
			return true;
		(void)usleep(1000);
	}
	return false;
}

static void test_idle_memory_goes_back(void)
{
	struct buffers *b = buffers_new(SIZE_MAX, SIZE_MAX);

	CHECK(b != NULL);
	for (int round = 0; round < 2; round++) {
		use_once(b);
		CHECK_NUMBER(stats_of(b).kept_bytes, >=, MIB);
		CHECK(becomes_empty(b, 60000));
	}
	buffers_free(b);
}

/* Not checked if this machine is so busy that the test itself seems idle. */
static void test_memory_stays_while_there_is_work(void)
{
	struct buffers *b = buffers_new(SIZE_MAX, SIZE_MAX);
	uint64_t last_ns = clock_now_ns(), gap_ns_max = 0;

	CHECK(b != NULL);
	for (int i = 0; i < 150; i++) {
		uint64_t now_ns;

		use_once(b);
		(void)usleep(20000);
		now_ns = clock_now_ns();
		if (now_ns - last_ns > gap_ns_max)
			gap_ns_max = now_ns - last_ns;
		last_ns = now_ns;
	}
	CHECK(stats_of(b).mapped_count == 1 || gap_ns_max > 500000000);
	buffers_free(b);
}

/* If each stop waited for the thread's next turn, all would take 2 minutes. */
static void test_stops_at_once(void)
{
	uint64_t start_ns = clock_now_ns();

	for (int i = 0; i < 120; i++) {
		struct buffers *b = buffers_new(SIZE_MAX, SIZE_MAX);

		CHECK(b != NULL);
		if (i % 2 == 0)
			use_once(b);
		buffers_free(b);
	}
	CHECK_NUMBER(clock_now_ns() - start_ns, <, 60 * NS_PER_S);
}

int main(void)
{
	test_idle_memory_goes_back();
	test_memory_stays_while_there_is_work();
	test_stops_at_once();
	return 0;
}
