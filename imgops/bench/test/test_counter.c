/* SPDX-License-Identifier: MIT */
/*
 * A counter counts the blocks that were allocated and not yet freed, in any
 * order.
 */
#include "imgops/bench/measure.c"

#include "base/test/check.h"

#include <stdlib.h>

static bool is_out_of_memory;

static void *inner_alloc(void *arg, size_t bytes)
{
	++*(int *)arg;
	return is_out_of_memory ? NULL : malloc(bytes);
}

static void inner_free(void *arg, void *block)
{
	--*(int *)arg;
	free(block);
}

static void test_counts_live_and_peak(const struct memory *inner)
{
	struct counter c;
	void *a, *b, *d;

	counter_init(&c, inner);
	a = c.memory.alloc(c.memory.arg, 100);
	b = c.memory.alloc(c.memory.arg, 30);
	CHECK_NUMBER(c.live_bytes, ==, 130);
	CHECK_NUMBER(c.peak_bytes, ==, 130);
	c.memory.free(c.memory.arg, a); /* not the last one */
	CHECK_NUMBER(c.live_bytes, ==, 30);
	CHECK_NUMBER(c.peak_bytes, ==, 130);
	d = c.memory.alloc(c.memory.arg, 40);
	CHECK_NUMBER(c.live_bytes, ==, 70);
	CHECK_NUMBER(c.peak_bytes, ==, 130);
	c.memory.free(c.memory.arg, b);
	c.memory.free(c.memory.arg, d);
	CHECK_NUMBER(c.live_bytes, ==, 0);
	CHECK_NUMBER(c.alloc_count, ==, 3);
	counter_release(&c);
}

static void test_many_blocks(const struct memory *inner)
{
	void *blocks[1000];
	struct counter c;

	counter_init(&c, inner);
	for (size_t i = 0; i < 1000; i++)
		blocks[i] = c.memory.alloc(c.memory.arg, i);
	CHECK_NUMBER(c.peak_bytes, ==, 999 * 1000 / 2);
	for (size_t i = 0; i < 1000; i++)
		c.memory.free(c.memory.arg, blocks[i * 7 % 1000]);
	counter_release(&c);
}

static void test_no_memory_is_not_counted(const struct memory *inner)
{
	struct counter c;

	counter_init(&c, inner);
	is_out_of_memory = true;
	CHECK(c.memory.alloc(c.memory.arg, 5) == NULL);
	is_out_of_memory = false;
	CHECK_NUMBER(c.live_bytes, ==, 0);
	CHECK_NUMBER(c.alloc_count, ==, 0);
	counter_release(&c);
}

int main(void)
{
	int inner_count = 0;
	struct memory inner = { .alloc = inner_alloc,
				.free = inner_free,
				.arg = &inner_count };

	test_counts_live_and_peak(&inner);
	test_many_blocks(&inner);
	/* All blocks came from the inner allocator and went back to it. */
	CHECK_NUMBER(inner_count, ==, 0);
	test_no_memory_is_not_counted(&inner);
	return 0;
}
