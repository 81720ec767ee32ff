/* SPDX-License-Identifier: MIT */
/* An order sends each file once per pass, and the same way for one seed. */
#include "loadgen/order.h"

#include <assert.h>
#include <string.h>

enum { FILES = 50, PASSES = 4, TOTAL = FILES * PASSES };

static void read_order(uint64_t seed, uint32_t out[TOTAL])
{
	struct order o = { 0 };
	uint32_t after;

	assert(order_init(&o, FILES, PASSES, seed));
	for (int i = 0; i < TOTAL; i++)
		assert(order_next(&o, &out[i]));
	assert(!order_next(&o, &after));
	assert(!order_next(&o, &after)); /* and it stays over */
	order_release(&o);
}

static void test_each_file_once_per_pass(void)
{
	uint32_t files[TOTAL];

	read_order(1, files);
	for (int pass = 0; pass < PASSES; pass++) {
		int seen[FILES] = { 0 };

		for (int i = 0; i < FILES; i++)
			seen[files[pass * FILES + i]]++;
		for (int i = 0; i < FILES; i++)
			assert(seen[i] == 1);
	}
}

static void test_same_seed_same_order(void)
{
	uint32_t once[TOTAL];
	uint32_t again[TOTAL];

	read_order(7, once);
	read_order(7, again);
	assert(memcmp(once, again, sizeof(once)) == 0);
}

static void test_another_seed_another_order(void)
{
	uint32_t one[TOTAL];
	uint32_t other[TOTAL];

	read_order(7, one);
	read_order(8, other);
	assert(memcmp(one, other, sizeof(one)) != 0);
}

static void test_fresh_shuffle_for_each_pass(void)
{
	uint32_t files[TOTAL];

	read_order(1, files);
	for (int pass = 1; pass < PASSES; pass++)
		assert(memcmp(files, &files[pass * FILES],
			      FILES * sizeof(*files)) != 0);
}

/* Every file comes first now and then: the shuffle reaches both ends. */
static void test_every_file_can_be_first(void)
{
	int first[3] = { 0 };

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct order o = { 0 };
		uint32_t file;

		assert(order_init(&o, 3, 1, seed));
		assert(order_next(&o, &file));
		first[file]++;
		order_release(&o);
	}
	for (int i = 0; i < 3; i++)
		assert(first[i] > 50);
}

static void test_without_end(void)
{
	struct order o = { 0 };
	uint32_t file;

	assert(order_init(&o, 1, 0, 1));
	for (int i = 0; i < 1000; i++)
		assert(order_next(&o, &file) && file == 0);
	order_release(&o);
}

int main(void)
{
	test_each_file_once_per_pass();
	test_same_seed_same_order();
	test_another_seed_another_order();
	test_fresh_shuffle_for_each_pass();
	test_every_file_can_be_first();
	test_without_end();
	return 0;
}
