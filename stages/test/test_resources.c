/* SPDX-License-Identifier: MIT */
/*
 * Promise: a limit falls only when productivity falls and overhead rises
 * together, rises again when there have been no signs for a while, and stays
 * between an eighth of the capacity and the capacity.  No threads, except for
 * the one that adds at the same time.
 */
#include "stages/threads/resources.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { CAPACITY = 160000000 };

static uint64_t faults;

static uint64_t read_faults(void)
{
	return faults;
}

struct machine {
	struct resources r;
	uint64_t now_ns;
};

static void start(struct machine *m)
{
	faults = 0;
	m->now_ns = 1000;
	resources_init(&m->r, read_faults);
	resources_set_capacity(&m->r, RESOURCE_MEMORY, CAPACITY);
	resources_learn(&m->r, m->now_ns);
}

/* A tenth of a second: 100 passages at this speed (1: the usual). */
static void run_window(struct machine *m, double speed, uint64_t new_faults)
{
	struct resource_work done = {
		.passage_count = 100,
		.passed_ns = NS_PER_S / 10,
		.usual_ns = (uint64_t)(speed * NS_PER_S / 10),
		.ended_count = 25,
	};

	faults += new_faults;
	m->now_ns += RESOURCES_WINDOW_NS;
	resources_count_work(&m->r, &done);
	resources_learn(&m->r, m->now_ns);
}

static void run_windows(struct machine *m, uint32_t count, double speed,
			uint64_t new_faults)
{
	for (uint32_t i = 0; i < count; i++)
		run_window(m, speed, new_faults);
}

static uint64_t limit(const struct machine *m, enum resource which)
{
	struct resource_state states[RESOURCES];

	resources_read(&m->r, states);
	return states[which].limit;
}

static void use(struct machine *m, int64_t bytes)
{
	struct resource_state states[RESOURCES];

	resources_read(&m->r, states);
	resources_take(&m->r, RESOURCE_MEMORY,
		       bytes - (int64_t)states[RESOURCE_MEMORY].used);
}

static void test_use_is_a_sum(void)
{
	struct machine m;
	struct resource_state states[RESOURCES];

	start(&m);
	resources_take(&m.r, RESOURCE_MEMORY, -10); /* seen before its taker */
	CHECK_NUMBER(resources_utilisation(&m.r, RESOURCE_MEMORY), ==, 0);
	resources_take(&m.r, RESOURCE_MEMORY, CAPACITY / 2 + 10);
	CHECK_NUMBER(fabs(resources_utilisation(&m.r, RESOURCE_MEMORY) - 0.5),
		     <, 1e-9);
	resources_take(&m.r, RESOURCE_FILES, 7);
	resources_read(&m.r, states);
	CHECK_NUMBER(states[RESOURCE_FILES].used, ==, 7);
	CHECK_NUMBER(states[RESOURCE_FILES].capacity, ==, 0);
	CHECK_TEXT(states[RESOURCE_MEMORY].name, "memory");
	/* Without a limit there is no scarcity. */
	CHECK_NUMBER(resources_utilisation(&m.r, RESOURCE_FILES), ==, 0);
}

static void test_one_sign_alone_changes_nothing(void)
{
	struct machine m;

	start(&m);
	use(&m, CAPACITY * 9 / 10);
	run_windows(&m, 20, 1, 0);
	run_windows(&m, 5, 0.5, 0); /* slow, but without faults */
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, CAPACITY);
	run_windows(&m, 20, 1, 0);
	run_windows(&m, 5, 1, 1000); /* faults, but not slow */
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, CAPACITY);
	run_windows(&m, 50, 1, 0);
	run_windows(&m, 5, 0.5, 5); /* faults, but few */
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, CAPACITY);
}

static void test_a_limit_falls_below_what_is_used(void)
{
	struct machine m;

	start(&m);
	use(&m, 100000000);
	run_windows(&m, 20, 1, 0);
	run_window(&m, 0.5, 1000);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, 90000000);
	/* It does not rise because more is used. */
	use(&m, 120000000);
	run_window(&m, 0.5, 1000);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, 90000000);
	/* An eighth is left, whatever happens. */
	use(&m, 1000);
	run_windows(&m, 2, 0.1, 10000);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, CAPACITY / 8);
}

static void test_a_limit_rises_late_and_slowly(void)
{
	struct machine m;
	uint64_t before;

	start(&m);
	use(&m, 80000000);
	run_windows(&m, 20, 1, 0);
	run_window(&m, 0.5, 1000);
	before = limit(&m, RESOURCE_MEMORY);
	CHECK_NUMBER(before, ==, 72000000);
	run_windows(&m, 9, 1, 0);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, before);
	run_windows(&m, 2, 1, 0);
	uint64_t after = limit(&m, RESOURCE_MEMORY);

	CHECK_NUMBER(after, >, before);
	CHECK_NUMBER(after, <=, before + CAPACITY / 16);
	/* Not in the way: it stays. */
	use(&m, 1000);
	before = limit(&m, RESOURCE_MEMORY);
	run_windows(&m, 20, 1, 0);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, before);
	/* It ends at the capacity. */
	use(&m, CAPACITY);
	run_windows(&m, 100, 1, 0);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, CAPACITY);
}

/* Policies hold the use below a limit, from a half of it on. */
static void test_a_limit_that_holds_threads_back_rises(void)
{
	struct machine m;

	start(&m);
	use(&m, 80000000);
	run_windows(&m, 20, 1, 0);
	run_window(&m, 0.5, 1000);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, 72000000);
	use(&m, 50000000);
	run_windows(&m, 100, 1, 0);
	CHECK_NUMBER(resources_utilisation(&m.r, RESOURCE_MEMORY), <,
		     RESOURCES_PRESSURE_FROM);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), <, CAPACITY);
}

/* A limit of long ago may be below an eighth of what was used since. */
static void test_the_least_limit_follows_what_is_used(void)
{
	struct machine m;

	start(&m);
	resources_set_capacity(&m.r, RESOURCE_MEMORY, 0);
	use(&m, 1000);
	run_windows(&m, 20, 1, 0);
	run_window(&m, 0.5, 1000);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, 900);
	use(&m, 800000);
	run_window(&m, 0.3, 10000);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, 100000);
}

static void test_a_limit_is_learned_without_a_capacity(void)
{
	struct machine m;

	start(&m);
	resources_set_capacity(&m.r, RESOURCE_MEMORY, 0);
	use(&m, 1000000);
	run_windows(&m, 20, 1, 0);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, 0);
	run_window(&m, 0.5, 1000);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, 900000);
	run_windows(&m, 12, 1, 0);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), >, 900000);
	/* An eighth of the most that was used is left, whatever happens. */
	use(&m, 10);
	run_window(&m, 0.5, 1000);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, 1000000 / 8);
}

static void test_files_follow_response_times(void)
{
	struct machine m;

	start(&m);
	resources_set_capacity(&m.r, RESOURCE_FILES, 1000);
	resources_take(&m.r, RESOURCE_FILES, 800);
	resources_count_work(&m.r,
			     &(struct resource_work){ .begun_count = 100 });
	run_windows(&m, 20, 1, 0);
	CHECK_NUMBER(limit(&m, RESOURCE_FILES), ==, 1000);
	/* Three times as many under way, and they end no faster. */
	resources_count_work(&m.r,
			     &(struct resource_work){ .begun_count = 200 });
	run_window(&m, 1, 0);
	CHECK_NUMBER(limit(&m, RESOURCE_FILES), ==, 1000);
	run_windows(&m, 30, 1, 0);
	resources_count_work(&m.r,
			     &(struct resource_work){ .begun_count = 700 });
	run_window(&m, 0.5, 0);
	CHECK_NUMBER(limit(&m, RESOURCE_FILES), ==, 720);
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, CAPACITY);
}

static void test_few_passages_are_no_window(void)
{
	struct machine m;

	start(&m);
	use(&m, CAPACITY);
	run_windows(&m, 20, 1, 0);
	faults += 100000;
	resources_count_work(&m.r, &(struct resource_work){
					   .passage_count = 3,
					   .passed_ns = NS_PER_S,
					   .usual_ns = NS_PER_S / 10,
				   });
	for (uint32_t i = 0; i < 10; i++) {
		m.now_ns += RESOURCES_WINDOW_NS;
		resources_learn(&m.r, m.now_ns);
	}
	CHECK_NUMBER(limit(&m, RESOURCE_MEMORY), ==, CAPACITY);
}

enum { ROUNDS = 100000 };

static void *take_and_give(void *arg)
{
	struct machine *m = arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		resources_take(&m->r, RESOURCE_MEMORY, 100);
		resources_count_work(&m->r, &(struct resource_work){
						    .passage_count = 1,
						    .passed_ns = 1,
						    .usual_ns = 1,
					    });
		resources_learn(&m->r,
				1000 + (uint64_t)i * RESOURCES_WINDOW_NS / 10);
		resources_take(&m->r, RESOURCE_MEMORY, -99);
	}
	return NULL;
}

static void test_threads_may_learn_at_once(void)
{
	struct machine m;
	pthread_t thread;
	struct resource_state states[RESOURCES];

	start(&m);
	resources_init(&m.r, NULL);
	CHECK_NUMBER(pthread_create(&thread, NULL, take_and_give, &m), ==, 0);
	(void)take_and_give(&m);
	CHECK_NUMBER(pthread_join(thread, NULL), ==, 0);
	resources_read(&m.r, states);
	CHECK_NUMBER(states[RESOURCE_MEMORY].used, ==, 2 * ROUNDS);
}

static void test_the_process_has_its_own(void)
{
	struct resources *r = resources_process();

	CHECK(r != NULL);
	CHECK_NUMBER(r, ==, resources_process());
	CHECK(r->read_faults != NULL);
	resources_take(r, RESOURCE_STACKS, 2);
	CHECK_NUMBER(resources_utilisation(r, RESOURCE_STACKS), ==, 0);
}

int main(void)
{
	test_use_is_a_sum();
	test_one_sign_alone_changes_nothing();
	test_a_limit_falls_below_what_is_used();
	test_a_limit_rises_late_and_slowly();
	test_a_limit_that_holds_threads_back_rises();
	test_the_least_limit_follows_what_is_used();
	test_a_limit_is_learned_without_a_capacity();
	test_files_follow_response_times();
	test_few_passages_are_no_window();
	test_threads_may_learn_at_once();
	test_the_process_has_its_own();
	return 0;
}
