/* SPDX-License-Identifier: MIT */
/*
 * Promise: what is counted of the parts adds up to what is counted of the
 * stage, and each part knows how many wait in its own queues.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "stages/test/each_policy.h"
#include "stages/test/fake_cores.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

enum { ITEMS = 200, HELD = 20, CORES = 2 };

static struct item items[ITEMS];

static void send(struct line *l, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		items[i] = (struct item){ 0 };
		CHECK(line_send(l, &items[i]));
	}
}

/* Check the sums for a group that has stopped. */
static void check_sums(const struct line *l)
{
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats whole, part;
		uint64_t started = 0, visits = 0, service_ns = 0, waits = 0;
		uint64_t cohorts = 0;

		stage_read(l->stages[i], &whole);
		for (uint32_t p = 0; p < l->setup.schedule.part_count; p++) {
			stage_read_part(l->stages[i], p, &part);
			CHECK_NUMBER(part.queued_count, ==, 0);
			CHECK_NUMBER(part.handled_count, ==,
				     part.started_count);
			CHECK_NUMBER(part.services.count, ==,
				     part.started_count);
			started += part.started_count;
			visits += part.visit_count;
			service_ns += part.service_ns;
			waits += part.waits.count;
			cohorts += part.cohorts.count;
		}
		CHECK_NUMBER(started, ==, whole.started_count);
		CHECK_NUMBER(visits, ==, whole.visit_count);
		CHECK_NUMBER(service_ns, ==, whole.service_ns);
		CHECK_NUMBER(waits, ==, whole.waits.count);
		CHECK_NUMBER(cohorts, ==, whole.cohorts.count);
	}
}

/* Each worker of the first stage is in a handler; the other items wait. */
static void check_queues(const struct line *l, uint32_t workers)
{
	for (uint32_t p = 0; p < l->setup.schedule.part_count; p++) {
		struct stage_stats s;

		do {
			pause_ns(100000);
			stage_read_part(l->stages[0], p, &s);
		} while (s.started_count < workers ||
			 s.queued_count > HELD - workers);
		CHECK_NUMBER(s.started_count, ==, workers);
		CHECK_NUMBER(s.handled_count, ==, 0);
		CHECK_NUMBER(s.queued_count, ==, HELD - workers);
		stage_read_part(l->stages[1], p, &s);
		CHECK_NUMBER(s.started_count, ==, 0);
		CHECK_NUMBER(s.queued_count, ==, 0);
	}
}

static void test_each_replica_knows_its_queues(const struct line_setup *setup)
{
	uint32_t parts = setup->schedule.part_count;
	bool roams = setup->schedule.policy->workers == POLICY_WORKERS_ROAM;
	struct line l;

	line_init(&l, setup);
	atomic_store(&l.gate_is_closed, true);
	CHECK(group_start(l.group));
	send(&l, HELD * parts);
	check_queues(&l, roams ? CORES / parts : 1);
	atomic_store(&l.gate_is_closed, false);
	line_await(&l, HELD * parts);
	group_stop(l.group);
	check_sums(&l);
	line_release(&l);
}

static void test_callers_are_one_part(const struct line_setup *setup)
{
	struct stage_stats s;
	struct line l;

	line_start(&l, setup);
	send(&l, ITEMS);
	group_stop(l.group);
	check_sums(&l);
	stage_read_part(l.stages[0], 0, &s);
	CHECK_NUMBER(s.handled_count, ==, ITEMS);
	line_release(&l);
}

/* Stages 0 and 1 belong to part 0, 2 and 3 to part 1. */
static void test_partitions_have_their_stages(struct line_setup setup)
{
	struct stage_stats s;
	struct line l;

	setup.schedule.balance = BALANCE_PARTITION;
	setup.schedule.part_count = 2;
	line_start(&l, &setup);
	send(&l, ITEMS);
	line_await(&l, ITEMS);
	group_stop(l.group);
	check_sums(&l);
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		stage_read_part(l.stages[i], i / 2, &s);
		CHECK_NUMBER(s.handled_count, ==, ITEMS);
	}
	line_release(&l);
}

/* The first item holds its worker up until all others have finished. */
static void hold_first(struct item *item, const struct place *place)
{
	while (item == &items[0] && place->index == 0 &&
	       atomic_load(&place->line->finished_count) < ITEMS - 1)
		pause_ns(100000);
}

/* Stolen events leave the queue that they were in. */
static void test_thieves_count_at_their_own_part(struct line_setup setup)
{
	struct worker_stats one, other;
	struct line l;

	setup.begins = hold_first;
	setup.schedule.regime.kind = REGIME_N_GATED;
	setup.schedule.regime.limit = 1;
	setup.schedule.balance = BALANCE_REPLICATE;
	setup.schedule.part_count = 2;
	setup.schedule.steal = true;
	line_start(&l, &setup);
	send(&l, ITEMS);
	line_await(&l, ITEMS);
	group_stop(l.group);
	check_sums(&l);
	group_read_worker(l.group, 0, &one);
	group_read_worker(l.group, 1, &other);
	CHECK_NUMBER(one.stolen_count + other.stolen_count, >, 0);
	line_release(&l);
}

int main(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	struct line_setup setup = {
		.cores = cores,
		.is_unbound = true,
		.slots = ITEMS,
	};

	watchdog_start();
	fake_core_count = CORES;
	schedule_init(&setup.schedule);
	setup.schedule.part_count = 1;
	test_partitions_have_their_stages(setup);
	test_thieves_count_at_their_own_part(setup);
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		setup.schedule.policy = *p;
		setup.schedule.balance = BALANCE_SHARED;
		setup.schedule.part_count = 1;
		if ((*p)->workers == POLICY_WORKERS_CALLER) {
			test_callers_are_one_part(&setup);
			continue;
		}
		test_each_replica_knows_its_queues(&setup);
		setup.schedule.balance = BALANCE_REPLICATE;
		setup.schedule.part_count = 2;
		test_each_replica_knows_its_queues(&setup);
	}
	cores_free(cores);
	return 0;
}
