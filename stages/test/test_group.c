/* SPDX-License-Identifier: MIT */
/*
 * Promise: under every policy, shared and replicated, each event accepted is
 * handled exactly once at each stage, whenever the group is stopped; and a
 * group with nothing to do does nothing.
 *
 * What each item meets on its way is checked in line.c.
 */
#include "base/error.h"
#include "stages/event.h"
#include "stages/queue.h"

#include "base/util.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"
#include "stages/threads/resources.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ITEMS = 300, /* items of each sender */
	LONE_EVENTS = 300,
};

/*
 * Checks that hold always: an accepted item has left the line, a refused one
 * has not.
 */
static uint32_t check_items(const struct item *items, uint32_t count)
{
	uint32_t accepted = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t ended =
			items[i].finished_count + items[i].dropped_count;

		CHECK_NUMBER(ended, ==, items[i].is_accepted);
		CHECK_NUMBER(items[i].handlers_now, ==, 0);
		CHECK(event_peek(&items[i].event)->stage == NULL);
		if (items[i].finished_count > 0)
			CHECK_NUMBER(items[i].at, ==, LINE_STAGES);
		if (!items[i].is_accepted)
			CHECK_NUMBER(items[i].at, ==, 0);
		accepted += items[i].is_accepted;
	}
	return accepted;
}

static void check_queues_are_empty(struct line *l)
{
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats stats;

		stage_read(l->stages[i], &stats);
		CHECK_NUMBER(stats.queued_count, ==, 0);
		CHECK_NUMBER(stats.arrived_count, ==, stats.handled_count);
	}
}

/* Items go to the replicas in turn; each handles its share on its own core. */
static void check_shares(const struct line_setup *setup,
			 const struct item *items, uint32_t count)
{
	if (setup->schedule.policy->workers == POLICY_WORKERS_CALLER ||
	    setup->schedule.part_count < 2)
		return;
	for (uint32_t r = 0; r < setup->schedule.part_count; r++) {
		uint32_t share = 0;

		for (uint32_t i = 0; i < count; i++)
			share +=
				items[i].cpu == (int)cores_cpu(setup->cores, r);
		CHECK_NUMBER(share, ==, count / setup->schedule.part_count);
	}
}

static void test_each_event_is_handled_once(const struct line_setup *setup)
{
	struct line_setup with_delays = *setup;
	struct line l;
	struct item *items = calloc(CROWD_THREADS * ITEMS, sizeof(*items));
	struct crowd crowd = { &l, items, ITEMS, .persist = true };

	CHECK(items != NULL);
	with_delays.delay_ns_max = 10000;
	line_start(&l, &with_delays);
	crowd_start(&crowd);
	crowd_join(&crowd);
	line_await(&l, CROWD_THREADS * ITEMS);
	group_stop(l.group);
	CHECK_NUMBER(check_items(items, CROWD_THREADS * ITEMS), ==,
		     CROWD_THREADS * ITEMS);
	CHECK_NUMBER(l.finished_count, ==, CROWD_THREADS * ITEMS);
	check_shares(setup, items, CROWD_THREADS * ITEMS);
	check_queues_are_empty(&l);
	line_release(&l);
	free(items);
}

static policy_pick_fn *pick_to_slow_down;

/* Keeps a worker busy with an old view until an event arrives. */
static uint32_t slow_pick(void *state, const struct group_view *view)
{
	uint32_t stage = pick_to_slow_down(state, view);

	for (volatile uint32_t pause = 3000; pause > 0;)
		pause = pause - 1;
	return stage;
}

/*
 * On one core, so that a single worker roams.  The event arrives just when the
 * worker goes to sleep, and no other event or worker would wake it.
 */
static void test_lone_event_is_never_slept_through(const struct line_setup *s)
{
	static struct item items[LONE_EVENTS];
	struct line_setup slow = *s;
	struct policy policy = *s->schedule.policy;
	struct line l;
	char list[16];
	struct error why;

	if (s->schedule.part_count > 1)
		return;
	(void)snprintf(list, sizeof(list), "%u", cores_cpu(s->cores, 0));
	struct cores *one = cores_new(list, why.text);

	CHECK(one != NULL);
	slow.cores = one;
	pick_to_slow_down = policy.pick;
	if (policy.pick != NULL)
		policy.pick = slow_pick;
	slow.schedule.policy = &policy;
	line_start(&l, &slow);
	for (uint32_t i = 0; i < LONE_EVENTS; i++) {
		uint32_t looks = 0;

		items[i] = (struct item){ 0 };
		CHECK(line_send(&l, &items[i]));
		while (atomic_load(&l.finished_count) <= i)
			if (++looks > 5000) /* the worker may need this core */
				(void)sched_yield();
		for (volatile uint32_t pause = i * 33; pause > 0;)
			pause = pause - 1;
	}
	group_stop(l.group);
	line_release(&l);
	cores_free(one);
}

/* Small queues, so that items are refused and dropped on the way too. */
static void stop_while_sending(const struct line_setup *setup, uint32_t wait_ns)
{
	struct line_setup narrow = *setup;
	struct line l;
	struct item *items = calloc(CROWD_THREADS * ITEMS, sizeof(*items));
	struct crowd crowd = { &l, items, ITEMS, .persist = false };

	CHECK(items != NULL);
	narrow.slots = 3;
	narrow.delay_ns_max = 3000;
	line_start(&l, &narrow);
	crowd_start(&crowd);
	pause_ns(wait_ns);
	group_stop(l.group);
	/*
	 * All items have ended when group_stop() returns, not only when the
	 * senders notice the stop.
	 */
	uint64_t ended =
		atomic_load(&l.finished_count) + atomic_load(&l.dropped_count);

	crowd_join(&crowd);
	CHECK_NUMBER(check_items(items, CROWD_THREADS * ITEMS), ==, ended);
	check_queues_are_empty(&l);
	line_release(&l);
	free(items);
}

static void test_stop_while_sending_loses_nothing(const struct line_setup *s)
{
	for (uint32_t i = 0; i < 20; i++)
		stop_while_sending(s, i * i * 5000);
}

static void *open_gate(void *arg)
{
	struct line *l = arg;

	pause_ns(5000000);
	atomic_store(&l->gate_is_closed, false);
	return NULL;
}

static void test_stop_drains_all_queues(const struct line_setup *setup)
{
	static struct item items[ITEMS];
	struct line l;
	pthread_t opener;

	if (setup->schedule.policy->workers == POLICY_WORKERS_CALLER)
		return; /* no queues; the sender would wait at the gate */
	line_start(&l, setup);
	atomic_store(&l.gate_is_closed, true);
	for (uint32_t i = 0; i < ITEMS; i++) {
		items[i] = (struct item){ 0 };
		items[i].is_accepted = line_send(&l, &items[i]);
		CHECK(items[i].is_accepted);
	}
	CHECK(!pthread_create(&opener, NULL, open_gate, &l));
	group_stop(l.group);
	CHECK_NUMBER(l.finished_count, ==, ITEMS);
	CHECK_NUMBER(check_items(items, ITEMS), ==, ITEMS);
	check_queues_are_empty(&l);

	/*
	 * After the stop a send is refused, and the item is still the sender's.
	 */
	items[0] = (struct item){ 0 };
	CHECK(!line_send(&l, &items[0]));
	CHECK_NUMBER(items[0].at, ==, 0);
	CHECK(event_peek(&items[0].event)->stage == NULL);
	(void)pthread_join(opener, NULL);
	line_release(&l);
}

static void test_starts_and_stops_many_times(const struct line_setup *setup)
{
	for (uint32_t i = 0; i < 50; i++) {
		struct line l;
		struct item item = { 0 };

		line_start(&l, setup);
		if (i % 2 == 0)
			item.is_accepted = line_send(&l, &item);
		group_stop(l.group); /* perhaps before any worker ran */
		CHECK_NUMBER(l.finished_count, ==, item.is_accepted);
		CHECK_NUMBER(item.is_accepted, ==, (i % 2 == 0));
		group_stop(l.group); /* a second stop does nothing */
		line_release(&l);
	}
}

static void test_group_that_never_started_is_freed(const struct line_setup *s)
{
	struct line l;

	line_init(&l, s);
	line_release(&l);
	group_free(NULL);
}

/* The number of the call of pthread_create() that fails, from 1; 0: none. */
static uint32_t create_fails_at;
/* Threads created and joined by this thread's calls. */
static uint32_t created_count, joined_count;

/* The linker puts these in place of pthread's: see CMakeLists.txt. */
int __real_pthread_create(pthread_t *, const pthread_attr_t *,
			  void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
			  void *(*)(void *), void *);
int __real_pthread_join(pthread_t, void **);
int __wrap_pthread_join(pthread_t, void **);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*start)(void *), void *arg)
{
	if (create_fails_at > 0 && --create_fails_at == 0)
		return EAGAIN;
	created_count++;
	return __real_pthread_create(thread, attr, start, arg);
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	joined_count++;
	return __real_pthread_join(thread, result);
}

static void test_failed_start_leaves_no_thread(const struct line_setup *setup)
{
	struct line l;
	uint32_t workers;

	line_start(&l, setup);
	workers = group_worker_count(l.group);
	group_stop(l.group);
	line_release(&l);

	for (uint32_t at = 1; at <= workers; at++) {
		line_init(&l, setup);
		create_fails_at = at;
		CHECK(!group_start(l.group));
		CHECK_NUMBER(create_fails_at, ==, 0);
		CHECK_NUMBER(created_count, ==, joined_count);
		line_release(&l);
	}
}

static void do_nothing(struct event *ev, void *arg)
{
	(void)ev;
	(void)arg;
}

/* 2^32 + 4 slots in all; an overflow would make them 4. */
static void test_too_long_a_queue_is_refused(const struct line_setup *setup)
{
	static const uint32_t slots[] = {
		QUEUE_SLOTS_MAX,
		QUEUE_SLOTS_MAX,
		QUEUE_SLOTS_MAX,
		QUEUE_SLOTS_MAX,
		8,
	};
	struct stage_group *g;

	if (!setup->schedule.policy->has_central_queue)
		return;
	g = group_new(&(struct group_config){
		.schedule = &setup->schedule,
		.cores = setup->cores,
	});
	for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
		CHECK(group_add(g, &(struct stage_config){
					   .name = "wide",
					   .handler = do_nothing,
					   .slots = slots[i],
				   }) != NULL);
	CHECK(!group_start(g));
	group_free(g);
}

static void test_workers_are_as_many_as_planned(const struct line_setup *setup)
{
	struct line l;
	uint32_t wanted = 0;

	line_start(&l, setup);
	if (setup->schedule.policy->workers == POLICY_WORKERS_ROAM)
		wanted = cores_count(setup->cores);
	if (setup->schedule.policy->workers == POLICY_WORKERS_STAY)
		wanted = (1 + 2 + 1 + 2) * setup->schedule.part_count;
	if (setup->schedule.policy->workers == POLICY_WORKERS_FIBRES)
		wanted = setup->schedule.part_count;
	CHECK_NUMBER(group_worker_count(l.group), ==, wanted);
	group_stop(l.group);
	line_release(&l);
}

static uint64_t stack_capacity(void)
{
	struct resource_state states[RESOURCES];

	resources_read(resources_process(), states);
	CHECK_NUMBER(states[RESOURCE_STACKS].limit, ==,
		     states[RESOURCE_STACKS].capacity);
	return states[RESOURCE_STACKS].capacity;
}

/* The stacks of a process are those of all its groups. */
static void test_stacks_of_groups_add_up(const struct line_setup *setup)
{
	bool has_stacks =
		setup->schedule.policy->workers == POLICY_WORKERS_FIBRES;
	uint64_t before = stack_capacity(), of_one;
	struct line first, second;

	line_start(&first, setup);
	of_one = stack_capacity() - before;
	CHECK_NUMBER((of_one > 0), ==, has_stacks);
	line_start(&second, setup);
	CHECK_NUMBER(stack_capacity(), ==, before + 2 * of_one);
	group_stop(first.group);
	line_release(&first);
	CHECK_NUMBER(stack_capacity(), ==, before + of_one);
	group_stop(second.group);
	line_release(&second);
	CHECK_NUMBER(stack_capacity(), ==, before);
}

enum { LOCAL_BYTES = 120 << 10 };

static void use_locals(struct event *ev, void *arg)
{
	volatile char bytes[LOCAL_BYTES];

	(void)ev;
	for (size_t i = 0; i < sizeof(bytes); i += 1024)
		bytes[i] = (char)i;
	stage_pause_point();
	*(bool *)arg = bytes[1024] == 0;
}

/* A handler may use as much stack as the group's configuration says. */
static void test_handler_with_many_locals(const struct line_setup *setup)
{
	bool is_done = false;
	struct event ev = { .number = 1 };
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &setup->schedule,
		.cores = setup->cores,
		.stacks_max = 2,
		.stack_bytes = LOCAL_BYTES + (32 << 10),
	});
	struct stage *s = group_add(g, &(struct stage_config){
					       .name = "deep",
					       .handler = use_locals,
					       .arg = &is_done,
					       .slots = 1,
				       });

	CHECK(s != NULL && group_start(g));
	CHECK(stage_send(s, &ev));
	group_stop(g);
	CHECK(is_done);
	group_free(g);
}

static void test_idle_group_uses_no_cpu(const struct line_setup *setup)
{
	struct line l;
	struct item item = { 0 };

	line_start(&l, setup);
	CHECK(line_send(&l, &item));
	line_await(&l, 1);
	pause_ns(20000000);
	uint64_t before_ns = clock_cpu_ns();

	pause_ns(300000000);
	/* A single polling worker would use most of 300 ms. */
	CHECK_NUMBER(clock_cpu_ns() - before_ns, <, 60000000);
	group_stop(l.group);
	line_release(&l);
}

int main(void)
{
	watchdog_start();
	line_each_setup(test_each_event_is_handled_once);
	line_each_setup(test_lone_event_is_never_slept_through);
	line_each_setup(test_stop_while_sending_loses_nothing);
	line_each_setup(test_stop_drains_all_queues);
	line_each_setup(test_starts_and_stops_many_times);
	line_each_setup(test_group_that_never_started_is_freed);
	line_each_setup(test_failed_start_leaves_no_thread);
	line_each_setup(test_too_long_a_queue_is_refused);
	line_each_setup(test_workers_are_as_many_as_planned);
	line_each_setup(test_stacks_of_groups_add_up);
	line_each_setup(test_handler_with_many_locals);
	line_each_setup(test_idle_group_uses_no_cpu);
	return 0;
}
