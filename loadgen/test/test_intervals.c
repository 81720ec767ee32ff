/* SPDX-License-Identifier: MIT */
/* Five seconds each, and what is left: rates worked out by hand. */
#include "loadgen/clock.h"
#include "loadgen/intervals.h"

#include <assert.h>
#include <math.h>

static void expect(const struct intervals *v, uint64_t makespan_ns, size_t i,
		   double end_s, double rate, double cumulative)
{
	struct interval got = intervals_get(v, makespan_ns, i);

	assert(fabs(got.end_s - end_s) < 1e-9);
	assert(fabs(got.bytes_per_s - rate) < 1e-9);
	assert(fabs(got.cumulative_bytes_per_s - cumulative) < 1e-9);
}

static void test_rates(void)
{
	struct intervals v = { 0 };
	uint64_t makespan_ns = 17 * NS_PER_S;

	assert(intervals_add(&v, 1, 40));
	assert(intervals_add(&v, 16 * NS_PER_S, 100)); /* as replies end */
	assert(intervals_add(&v, 5 * NS_PER_S, 60));   /* with the interval */
	assert(intervals_add(&v, 5 * NS_PER_S + 1, 30));
	assert(intervals_count(makespan_ns) == 4);
	expect(&v, makespan_ns, 0, 5, 20, 20);
	expect(&v, makespan_ns, 1, 10, 6, 13);
	expect(&v, makespan_ns, 2, 15, 0, 130 / 15.0);
	expect(&v, makespan_ns, 3, 17, 50, 230 / 17.0);
	intervals_release(&v);
}

static void test_ends(void)
{
	struct intervals v = { 0 };

	assert(intervals_count(0) == 0);
	assert(intervals_count(1) == 1);
	assert(intervals_count(5 * NS_PER_S) == 1);
	assert(intervals_count(5 * NS_PER_S + 1) == 2);
	expect(&v, 6 * NS_PER_S, 1, 6, 0, 0); /* nothing was answered */
	intervals_release(&v);
}

int main(void)
{
	test_rates();
	test_ends();
	return 0;
}
