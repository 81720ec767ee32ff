/* SPDX-License-Identifier: MIT */
/*
 * Promises about user-level threads: a handler that waits is continued once for
 * each wake-up, whichever comes first and whichever thread wakes it; others run
 * meanwhile; a stop waits for those that wait; with few stacks nothing is lost
 * and nothing stands still; and a thread is at the place that its policy names,
 * with what it has used.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "base/util.h"
#include "stages/eventcount.h"
#include "stages/event.h"
#include "stages/group.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"
#include "stages/threads/scheduler.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { WAITERS = 200, ROUNDS = 50, FEW_STACKS = 4 };

struct waiter {
	struct event event; /* must be the first member */
	_Atomic bool asks;  /* to be woken */
	_Atomic bool has_ended;
	_Atomic bool is_woken; /* before the wait returned */
	uint32_t rounds;       /* left */
	bool asks_late;        /* only when somebody else has woken it */
};

static struct waiter waiters[WAITERS];
static struct stage *first_stage, *last_stage;
static _Atomic uint32_t ended_count;

static struct stage_group *start_group(const struct cores *cores,
				       const struct thread_policy *threads,
				       stage_fn *first, stage_fn *last,
				       uint32_t stacks_max)
{
	static struct policy policy;
	struct schedule schedule;
	struct error error;

	schedule_init(&schedule);
	policy = *policy_find("capriccio");
	if (threads != NULL)
		policy.threads = threads;
	schedule.policy = &policy;
	CHECK(schedule_complete(&schedule, 2, cores_count(cores), error.text));
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &schedule,
		.cores = cores,
		.stacks_max = stacks_max,
	});

	CHECK(g != NULL);
	first_stage = group_add(g, &(struct stage_config){
					   .name = "first",
					   .handler = first,
					   .slots = 2 * WAITERS,
				   });
	last_stage = group_add(g, &(struct stage_config){
					  .name = "last",
					  .handler = last,
					  .slots = 2 * WAITERS,
				  });
	CHECK(group_start(g));
	return g;
}

static void end_waiter(struct event *ev, void *arg)
{
	struct waiter *w = (struct waiter *)ev;

	(void)arg;
	CHECK(!stage_can_wait() || event_peek(ev)->wake == 0);
	(void)atomic_fetch_add(&ended_count, 1);
	atomic_store(&w->has_ended, true);
}

/* Ask to be woken, and wait; then go on to the last stage. */
static void wait_for_waker(struct event *ev, void *arg)
{
	struct waiter *w = (struct waiter *)ev;

	(void)arg;
	CHECK(stage_can_wait());
	for (; w->rounds > 0; w->rounds--) {
		atomic_store(&w->asks, true);
		if (w->asks_late) /* the wake-up comes before the wait */
			while (!atomic_load(&w->is_woken))
				(void)sched_yield();
		stage_wait();
		CHECK(atomic_exchange(&w->is_woken, false));
	}
	CHECK(stage_send(last_stage, ev));
	CHECK(!stage_can_wait()); /* it has no event any more */
}

/* Wakes whoever asks, once for each time. */
static void *wake_them(void *arg)
{
	uint32_t random = 1;

	(void)arg;
	while (atomic_load(&ended_count) < WAITERS) {
		for (uint32_t i = 0; i < WAITERS; i++) {
			struct waiter *w = &waiters[i];

			if (!atomic_exchange(&w->asks, false))
				continue;
			random = random * 1664525 + 1013904223;
			if (random >> 30 == 0)
				(void)sched_yield();
			/* Somebody who waits may go on from here. */
			atomic_store(&w->is_woken, true);
			stage_wake(&w->event);
		}
		(void)sched_yield();
	}
	return NULL;
}

static void clear_waiters(void)
{
	for (uint32_t i = 0; i < WAITERS; i++)
		waiters[i] = (struct waiter){ .rounds = ROUNDS };
	ended_count = 0;
}

/* All wait at once, as none is woken before all have asked. */
static void test_waits_end_by_wake_ups(const struct cores *cores,
				       bool asks_late)
{
	struct stage_group *g =
		start_group(cores, NULL, wait_for_waker, end_waiter, 0);
	struct stage_stats first, last;
	pthread_t waker;

	clear_waiters();
	for (uint32_t i = 0; i < WAITERS; i++) {
		waiters[i].asks_late = asks_late;
		CHECK(stage_send(first_stage, &waiters[i].event));
	}
	CHECK(!pthread_create(&waker, NULL, wake_them, NULL));
	group_stop(g); /* waits for them all */
	CHECK_NUMBER(ended_count, ==, WAITERS);
	(void)pthread_join(waker, NULL);
	stage_read(first_stage, &first);
	stage_read(last_stage, &last);
	CHECK_NUMBER(first.started_count, ==, WAITERS);
	CHECK_NUMBER(first.queued_count, ==, 0);
	CHECK_NUMBER(first.paused_count, ==, WAITERS * ROUNDS);
	CHECK_NUMBER(first.resumed_count, ==, WAITERS * ROUNDS);
	CHECK_NUMBER(first.handled_count, ==, WAITERS);
	CHECK_NUMBER(last.handled_count, ==, WAITERS);
	CHECK_NUMBER(first.visit_count, ==, WAITERS * (ROUNDS + 1));
	group_free(g);
}

/* The first waits until the last has passed it. */
static void wait_for_another(struct event *ev, void *arg)
{
	struct waiter *w = (struct waiter *)ev;

	(void)arg;
	if (w == &waiters[0])
		stage_wait();
	CHECK(stage_send(last_stage, ev));
}

static void wake_first(struct event *ev, void *arg)
{
	struct waiter *w = (struct waiter *)ev;

	(void)arg;
	CHECK_NUMBER((atomic_fetch_add(&ended_count, 1) < WAITERS - 1), ==,
		     (w != &waiters[0]));
	if (w == &waiters[WAITERS - 1])
		stage_wake(&waiters[0].event);
}

static struct cores *one_core(void)
{
	struct error why;
	char list[16];
	struct cores *all = cores_new(NULL, why.text), *one;

	CHECK(all != NULL);
	(void)snprintf(list, sizeof(list), "%u", cores_cpu(all, 0));
	one = cores_new(list, why.text);
	CHECK(one != NULL);
	cores_free(all);
	return one;
}

static void test_others_run_while_one_waits(void)
{
	struct cores *one = one_core();
	struct stage_group *g =
		start_group(one, NULL, wait_for_another, wake_first, 0);

	clear_waiters();
	for (uint32_t i = 0; i < WAITERS; i++)
		CHECK(stage_send(first_stage, &waiters[i].event));
	group_stop(g);
	CHECK_NUMBER(ended_count, ==, WAITERS);
	group_free(g);
	cores_free(one);
}

/* An upload with a part: it waits until the part has ended. */
struct whole {
	struct event event; /* must be the first member */
	struct whole *part; /* NULL: it is a part */
	struct whole *whole;
};

static struct whole wholes[WAITERS], parts[WAITERS];

static void start_part(struct event *ev, void *arg)
{
	struct whole *w = (struct whole *)ev;

	(void)arg;
	CHECK(stage_send(last_stage, &w->part->event));
	stage_wait();
	(void)atomic_fetch_add(&ended_count, 1);
}

static void end_part(struct event *ev, void *arg)
{
	struct whole *w = (struct whole *)ev;

	(void)arg;
	CHECK(w->part == NULL);
	stage_wake(&w->whole->event);
}

/* If those that wait could hold all stacks, no part would ever get one. */
static void test_few_stacks_are_enough(const struct cores *cores)
{
	for (uint32_t stacks = 2; stacks <= FEW_STACKS; stacks++) {
		struct stage_group *g =
			start_group(cores, NULL, start_part, end_part, stacks);

		(void)memset(wholes, 0, sizeof(wholes));
		(void)memset(parts, 0, sizeof(parts));
		ended_count = 0;
		for (uint32_t i = 0; i < WAITERS; i++) {
			wholes[i].part = &parts[i];
			parts[i].whole = &wholes[i];
			CHECK(stage_send(first_stage, &wholes[i].event));
		}
		group_stop(g);
		CHECK_NUMBER(ended_count, ==, WAITERS);
		group_free(g);
	}
}

/* --- How many may wait. --- */

enum { NEW_COUNT = 40 };

static struct event waiting_events[NEW_COUNT];
static struct scheduler *direct; /* this thread runs it */

static const struct blocking_site *wait_once(struct event *ev)
{
	(void)ev;
	scheduler_wait(direct, BLOCKING_SITE());
	return NULL;
}

/* How many of many new threads hold a stack and wait, in the end? */
static uint32_t count_waiting(uint32_t stacks_max)
{
	struct eventcount sleeps = { 0 };
	struct scheduler_place places[PLACES_MAX];
	struct scheduler_counts counts;
	uint32_t waiting = 0, most;

	direct = scheduler_new(&(struct scheduler_config){
		.policy = policy_find("capriccio")->threads,
		.stacks.count = stacks_max,
		.run = wait_once,
		.sleeps = &sleeps,
	});
	CHECK(direct != NULL);
	(void)memset(waiting_events, 0, sizeof(waiting_events));
	for (uint32_t i = 0; i < NEW_COUNT; i++)
		scheduler_post(direct, &waiting_events[i], BLOCKING_SITE(),
			       true);
	scheduler_run(direct, 1);
	scheduler_read(direct, places, &counts);
	for (uint32_t i = 0; i < PLACES_MAX; i++)
		waiting += places[i].waiting;
	most = counts.stack_count;
	for (uint32_t i = 0; i < NEW_COUNT; i++) {
		if (wake_up(&event_inside(&waiting_events[i])->wake))
			scheduler_wake(&waiting_events[i]);
		scheduler_run(direct, 1);
	}
	scheduler_read(direct, places, &counts);
	CHECK_NUMBER(counts.begun_count, ==, NEW_COUNT);
	CHECK_NUMBER(counts.stack_count, ==, 0);
	CHECK_NUMBER(counts.stack_count_max, ==, most);
	CHECK_NUMBER(waiting, ==, most);
	scheduler_free(direct);
	return waiting;
}

static void test_stacks_are_reserved(void)
{
	static const struct {
		uint32_t stacks_max, for_new;
	} cases[] = {
		{ 1, 1 },   { 2, 1 },   { 3, 2 },   { 7, 6 },   { 8, 7 },
		{ 15, 14 }, { 16, 14 }, { 17, 15 }, { 24, 21 }, { 32, 28 },
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_NUMBER(count_waiting(cases[i].stacks_max), ==,
			     cases[i].for_new);
}

/* --- What a policy is told. --- */

enum { AT_FIRST, AT_PART, AT_WAIT, AT_LAST, PLACES, TAKEN = 1000 };

static struct {
	const struct blocking_site *sites[PLACES];
	uint32_t froms[PLACES];
	int64_t memory[PLACES + 1], stacks;
	uint64_t cpu_ns;
	uint32_t count, left_count, started;
} told;

static void tell_start(void *state, struct resources *shared)
{
	(void)state;
	(void)shared;
	told.started++;
}

static uint32_t tell_arrive(void *state, uint32_t from,
			    const struct blocking_site *at,
			    const struct usage *used)
{
	uint32_t place = told.count++;

	(void)state;
	CHECK_NUMBER(place, <, PLACES);
	told.sites[place] = at;
	told.froms[place] = from;
	CHECK_NUMBER((used == NULL), ==, (place == AT_PART));
	if (used == NULL)
		return place;
	told.memory[place] = used->taken[RESOURCE_MEMORY];
	told.stacks += used->taken[RESOURCE_STACKS];
	told.cpu_ns += used->cpu_ns;
	return place;
}

static void tell_leave(void *state, uint32_t from, const struct usage *used)
{
	(void)state;
	CHECK_NUMBER(from, ==, (told.left_count == 0 ? AT_PART : AT_LAST));
	told.left_count++;
	told.memory[PLACES] += used->taken[RESOURCE_MEMORY];
	told.stacks += used->taken[RESOURCE_STACKS];
	told.cpu_ns += used->cpu_ns;
}

static uint32_t tell_pick(void *state, uint64_t ready, uint64_t now_ns)
{
	(void)state;
	CHECK_NUMBER(ready, !=, 0);
	CHECK_NUMBER(now_ns, >, 0);
	return (uint32_t)__builtin_ctzll(ready);
}

static void take_and_wait(struct event *ev, void *arg)
{
	struct whole *w = (struct whole *)ev;

	(void)arg;
	stage_take(RESOURCE_MEMORY, TAKEN);
	CHECK(stage_send(last_stage, &w->part->event));
	stage_wait();
	stage_take(RESOURCE_MEMORY, 2 * TAKEN);
	CHECK(stage_send(last_stage, ev));
}

static void give_back(struct event *ev, void *arg)
{
	struct whole *w = (struct whole *)ev;

	(void)arg;
	if (w->part == NULL) {
		stage_wake(&w->whole->event);
		stage_take(RESOURCE_MEMORY, 7);
	} else {
		stage_take(RESOURCE_MEMORY, -3 * TAKEN);
	}
}

static void test_policy_is_told_the_path(void)
{
	static const struct thread_policy threads = {
		.state_bytes = 1,
		.start = tell_start,
		.arrive = tell_arrive,
		.leave = tell_leave,
		.pick = tell_pick,
	};
	struct cores *one = one_core();
	struct stage_group *g =
		start_group(one, &threads, take_and_wait, give_back, 0);
	struct stage_stats first, last;

	(void)memset(&told, 0, sizeof(told));
	told.started = 1;
	wholes[0] = (struct whole){ .part = &parts[0] };
	parts[0] = (struct whole){ .whole = &wholes[0] };
	CHECK(stage_send(first_stage, &wholes[0].event));
	group_stop(g);
	CHECK_NUMBER(told.count, ==, PLACES);
	CHECK_NUMBER(told.left_count, ==, 2);
	CHECK_NUMBER(told.froms[AT_FIRST], ==, PLACE_NONE);
	CHECK_NUMBER(told.froms[AT_PART], ==, AT_FIRST);
	CHECK_NUMBER(told.froms[AT_WAIT], ==, AT_FIRST);
	CHECK_NUMBER(told.froms[AT_LAST], ==, AT_WAIT);
	for (uint32_t i = 0; i < PLACES; i++) {
		CHECK_TEXT(told.sites[i]->function,
			   i == AT_FIRST ? "test_policy_is_told_the_path" :
					   "take_and_wait");
		for (uint32_t k = 0; k < i; k++)
			CHECK_NUMBER(told.sites[k], !=, told.sites[i]);
	}
	CHECK_NUMBER(told.memory[AT_FIRST], ==, 0);
	CHECK_NUMBER(told.memory[AT_WAIT], ==, TAKEN);
	CHECK_NUMBER(told.memory[AT_LAST], ==, 2 * TAKEN);
	CHECK_NUMBER(told.memory[PLACES], ==, 7 - 3 * TAKEN);
	CHECK_NUMBER(told.stacks, ==, 0); /* all were given back */
	stage_read(first_stage, &first);
	stage_read(last_stage, &last);
	/* The CPU time of the threads is that of the handlers, and more. */
	CHECK_NUMBER(told.cpu_ns, >=, first.service_ns + last.service_ns);
	group_free(g);
	cores_free(one);
}

int main(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	watchdog_start();
	test_waits_end_by_wake_ups(cores, false);
	test_waits_end_by_wake_ups(cores, true);
	test_others_run_while_one_waits();
	test_few_stacks_are_enough(cores);
	test_stacks_are_reserved();
	test_policy_is_told_the_path();
	CHECK(!stage_can_wait());
	cores_free(cores);
	return 0;
}
