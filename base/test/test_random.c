/* SPDX-License-Identifier: MIT */
/*
 * The sequences are those that published sets and results were made with, and
 * the distributions have the right means.
 */
#include "base/random.h"

#include <assert.h>
#include <math.h>

enum { DRAWS = 100000 };

/* The reference implementation's first numbers of seed 1234567. */
static void test_splitmix_is_the_published_one(void)
{
	uint64_t state = 1234567;

	assert(random_next(&state) == UINT64_C(6457827717110365317));
	assert(random_next(&state) == UINT64_C(3203168211198807973));
	assert(random_next(&state) == UINT64_C(9817491932198370423));
}

static void test_ranges(void)
{
	uint64_t state = 1;
	uint32_t seen = 0;

	for (int i = 0; i < DRAWS; i++) {
		double fraction = random_fraction(&state);
		double between = random_between(&state, 2, 3);
		uint32_t below = random_below(&state, 7);

		assert(fraction >= 0 && fraction < 1);
		assert(between >= 2 && between < 3);
		assert(below < 7);
		seen |= 1u << below;
	}
	assert(seen == 0x7f);
}

static void test_streams_differ(void)
{
	struct random a, b, again;

	random_init(&a, 1, 0);
	random_init(&b, 1, 1);
	random_init(&again, 1, 0);
	for (int i = 0; i < 100; i++) {
		double x = random_uniform(&a);

		assert(x != random_uniform(&b));
		assert(x == random_uniform(&again));
	}
}

static void test_means(void)
{
	struct random r;
	double exponential = 0, normal = 0, squares = 0;

	random_init(&r, 1, 0);
	for (int i = 0; i < DRAWS; i++) {
		double x = random_normal(&r);

		exponential += random_exponential(&r, 5) / DRAWS;
		normal += x / DRAWS;
		squares += x * x / DRAWS;
	}
	assert(fabs(exponential - 5) < 0.1);
	assert(fabs(normal) < 0.02 && fabs(squares - 1) < 0.02);
}

int main(void)
{
	test_splitmix_is_the_published_one();
	test_ranges();
	test_streams_differ();
	test_means();
	return 0;
}
