/* SPDX-License-Identifier: MIT */
/* A search finds the highest rate of a server that fails above it. */
#include "loadgen/search.h"

#include <assert.h>

enum { TRIALS_MAX = 60 };

/* Returns the number of trials. */
static int run(struct search *s, double capacity_per_s)
{
	double rate_per_s;
	int trials = 0;

	while ((rate_per_s = search_next(s)) != 0) {
		assert(rate_per_s >= s->lowest_per_s && rate_per_s <= 1e6);
		assert(++trials <= TRIALS_MAX);
		search_note(s, rate_per_s <= capacity_per_s);
	}
	return trials;
}

static void test_within_two_per_cent(void)
{
	static const double firsts[] = { 0.01, 1, 10, 317, 1e6 };

	for (int i = 0; i < 5; i++)
		for (double c = 0.0011; c < 9e5; c *= 1.37) {
			struct search s = { .first_per_s = firsts[i],
					    .lowest_per_s = 0.001 };

			run(&s, c);
			assert(s.held_per_s <= c && s.failed_per_s > c);
			assert(s.failed_per_s <= 1.02 * s.held_per_s);
		}
}

static void test_known_course(void)
{
	static const struct {
		double rate_per_s;
		bool holds;
	} course[] = {
		{ 10, true },    { 20, true },     { 40, false },
		{ 30, true },    { 35, false },    { 32.5, true },
		{ 33.75, true }, { 34.375, true },
	};
	struct search s = { .first_per_s = 10, .lowest_per_s = 0.001 };

	for (int i = 0; i < 8; i++) {
		assert(search_next(&s) == course[i].rate_per_s);
		search_note(&s, course[i].holds);
	}
	assert(search_next(&s) == 0 && s.held_per_s == 34.375);
}

static void test_halves_until_one_holds(void)
{
	struct search s = { .first_per_s = 100, .lowest_per_s = 0.001 };

	search_note(&s, false);
	assert(search_next(&s) == 50);
	search_note(&s, false);
	assert(search_next(&s) == 25);
	search_note(&s, true);
	assert(search_next(&s) == 37.5);
}

static void test_ends_without_a_limit(void)
{
	struct search never = { .first_per_s = 10, .lowest_per_s = 0.001 };
	struct search always = { .first_per_s = 10, .lowest_per_s = 0.001 };

	run(&never, 0);
	assert(never.held_per_s == 0);
	run(&always, 1e9);
	assert(always.failed_per_s == 0 && always.held_per_s == 1e6);
}

int main(void)
{
	test_within_two_per_cent();
	test_known_course();
	test_halves_until_one_holds();
	test_ends_without_a_limit();
	return 0;
}
