/* SPDX-License-Identifier: MIT */
/*
 * The sequences are those that published sets and results were made with, and
 * the distributions have the right means.
 */
#include "base/random.h"
#include "base/test/check.h"

#include <math.h>

enum { DRAWS = 100000 };

/* The reference implementation's first numbers of seed 1234567. */
static void test_splitmix_is_the_published_one(void)
{
	uint64_t state = 1234567;

	CHECK_NUMBER(random_next(&state), ==, UINT64_C(6457827717110365317));
	CHECK_NUMBER(random_next(&state), ==, UINT64_C(3203168211198807973));
	CHECK_NUMBER(random_next(&state), ==, UINT64_C(9817491932198370423));
}

static void test_ranges(void)
{
	uint64_t state = 1;
	uint32_t seen = 0;

	for (int i = 0; i < DRAWS; i++) {
		double fraction = random_fraction(&state);
		double between = random_between(&state, 2, 3);
		uint32_t below = random_below(&state, 7);

		CHECK_NUMBER(fraction, >=, 0);
		CHECK_NUMBER(fraction, <, 1);
		CHECK_NUMBER(between, >=, 2);
		CHECK_NUMBER(between, <, 3);
		CHECK_NUMBER(below, <, 7);
		seen |= 1u << below;
	}
	CHECK_NUMBER(seen, ==, 0x7f);
}

static void test_streams_differ(void)
{
	struct random a, b, again;

	random_init(&a, 1, 0);
	random_init(&b, 1, 1);
	random_init(&again, 1, 0);
	for (int i = 0; i < 100; i++) {
		double x = random_uniform(&a);

		CHECK_NUMBER(x, !=, random_uniform(&b));
		CHECK_NUMBER(x, ==, random_uniform(&again));
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
	CHECK_NUMBER(fabs(exponential - 5), <, 0.1);
	CHECK_NUMBER(fabs(normal), <, 0.02);
	CHECK_NUMBER(fabs(squares - 1), <, 0.02);
}

int main(void)
{
	test_splitmix_is_the_published_one();
	test_ranges();
	test_streams_differ();
	test_means();
	return 0;
}
