/* SPDX-License-Identifier: MIT */
/* Arrivals come at their rate, as their kind says, the same for one seed. */
#include "loadgen/arrivals.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { COUNT = 100000 };

static uint64_t times_ns[COUNT];

static void draw(enum arrivals_kind kind, double rate_per_s, uint64_t seed)
{
	struct arrivals a;

	arrivals_init(&a, kind, rate_per_s, seed);
	for (int i = 0; i < COUNT; i++)
		times_ns[i] = arrivals_next_ns(&a);
}

static void test_constant_is_exact(void)
{
	draw(ARRIVALS_CONSTANT, 1000, 1);
	for (int i = 0; i < COUNT; i++)
		assert(times_ns[i] == (uint64_t)i * 1000000);
	draw(ARRIVALS_CONSTANT, 0.5, 1);
	assert(times_ns[0] == 0);
	assert(times_ns[3] == UINT64_C(6000000000));
	draw(ARRIVALS_CONSTANT, 3, 1); /* gaps of no whole number of ns */
	assert(times_ns[99999] == UINT64_C(33333000000000));
}

static void test_never_backwards(void)
{
	draw(ARRIVALS_POISSON, 1e6, 1);
	for (int i = 1; i < COUNT; i++)
		assert(times_ns[i] >= times_ns[i - 1]);
}

/* The mean of so many gaps has a standard deviation of 0.3 %. */
static void test_poisson_rate(void)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		draw(ARRIVALS_POISSON, 0.25, seed);
		assert(fabs((double)times_ns[COUNT - 1] / (COUNT * 4e9) - 1) <
		       0.02);
	}
}

/* A share of exp(-x) is longer than x mean gaps, and no gap tells the next. */
static void test_poisson_gaps_are_exponential(void)
{
	int longer[4] = { 0 };
	int both = 0;
	bool last = false;

	draw(ARRIVALS_POISSON, 1000, 5);
	for (int i = 1; i < COUNT; i++) {
		double gaps = (double)(times_ns[i] - times_ns[i - 1]) / 1e6;
		bool is_long = gaps > 1;

		for (int x = 0; x < 4; x++)
			longer[x] += gaps > x;
		both += is_long && last;
		last = is_long;
	}
	for (int x = 0; x < 4; x++)
		assert(fabs((double)longer[x] / COUNT - exp(-x)) < 0.01);
	assert(fabs((double)both / COUNT - exp(-2)) < 0.01);
}

static void test_seed_decides(void)
{
	struct arrivals a;
	bool differ = false;

	draw(ARRIVALS_POISSON, 7, 3);
	arrivals_init(&a, ARRIVALS_POISSON, 7, 3);
	for (int i = 0; i < COUNT; i++)
		assert(arrivals_next_ns(&a) == times_ns[i]);
	arrivals_init(&a, ARRIVALS_POISSON, 7, 4);
	for (int i = 0; i < COUNT; i++)
		differ = differ || arrivals_next_ns(&a) != times_ns[i];
	assert(differ);
}

static void test_names(void)
{
	enum arrivals_kind kind = ARRIVALS_NONE;

	assert(arrivals_find("poisson", &kind) && kind == ARRIVALS_POISSON);
	assert(arrivals_find("constant", &kind) && kind == ARRIVALS_CONSTANT);
	assert(!arrivals_find("none", &kind) && !arrivals_find("", &kind));
	assert(strcmp(arrivals_name(ARRIVALS_POISSON), "poisson") == 0);
	assert(arrivals_name(ARRIVALS_NONE) == NULL);
}

int main(void)
{
	test_constant_is_exact();
	test_never_backwards();
	test_poisson_rate();
	test_poisson_gaps_are_exponential();
	test_seed_decides();
	test_names();
	return 0;
}
