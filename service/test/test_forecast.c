/* SPDX-License-Identifier: MIT */
/*
 * Promises: a forecast goes with the body's size, follows what pictures took of
 * late, and is a number after any of them.
 */
#include "service/pipeline/forecast.h"

#include <assert.h>
#include <stdbool.h>

static void learn_often(struct forecast *f, uint64_t body, uint64_t picture)
{
	for (int i = 0; i < 100; i++)
		forecast_learn(f, body, picture);
}

static bool is_about(uint64_t a, uint64_t b)
{
	return a <= b + b / 50 + 64 && b <= a + a / 50 + 64;
}

static void test_follows_the_last_pictures(void)
{
	struct forecast f;

	forecast_init(&f);
	assert(forecast_bytes(&f, 1 << 20) > 1 << 20);
	learn_often(&f, 1 << 20, 10 << 20);
	assert(is_about(forecast_bytes(&f, 1 << 20), 10 << 20));
	assert(is_about(forecast_bytes(&f, 1 << 10), 10 << 10));
	learn_often(&f, 4 << 20, 2 << 20);
	assert(is_about(forecast_bytes(&f, 4 << 20), 2 << 20));
	assert(forecast_bytes(&f, 0) == 0);
}

/* Nor does a kilobyte that becomes a giant spoil the next ones' places. */
static void test_one_alone_changes_little(void)
{
	struct forecast f;

	forecast_init(&f);
	learn_often(&f, 1 << 20, 4 << 20);
	forecast_learn(&f, 665, UINT64_C(1) << 40);
	assert(forecast_bytes(&f, 1 << 20) < 8 << 20);
	learn_often(&f, 1 << 20, 4 << 20);
	forecast_learn(&f, UINT64_C(1) << 40, 4 << 20);
	assert(forecast_bytes(&f, 1 << 20) > 2 << 20);
}

/* A few large ones weigh more than as many small ones. */
static void test_small_bodies_do_not_spoil_it(void)
{
	struct forecast f;

	forecast_init(&f);
	for (int i = 0; i < 100; i++) {
		forecast_learn(&f, 4 << 20, 8 << 20);
		forecast_learn(&f, 100, 300000);
	}
	assert(forecast_bytes(&f, 4 << 20) < 10 << 20);
}

static void test_extremes_are_numbers(void)
{
	struct forecast f;

	forecast_init(&f);
	learn_often(&f, 0, 0);
	assert(forecast_bytes(&f, UINT32_MAX) < UINT64_C(1) << 40);
	learn_often(&f, 0, UINT64_C(1) << 40);
	assert(forecast_bytes(&f, 1 << 10) > 0);
}

int main(void)
{
	test_follows_the_last_pictures();
	test_one_alone_changes_little();
	test_small_bodies_do_not_spoil_it();
	test_extremes_are_numbers();
	return 0;
}
