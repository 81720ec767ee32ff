/* SPDX-License-Identifier: MIT */
/*
 * Promise: a replica without work takes events that wait in another one whose
 * worker is blocked, for as long as the regime lets a visit last.  The replica
 * and the parts count the stolen events and how they ended.
 *
 * Two replicas with one worker each.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "stages/group.h"
#include "stages/test/each_policy.h"
#include "stages/test/fake_cores.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

#include <string.h>

enum { ITEMS = 200, ROUNDS = 4 };

static struct schedule thieves(const struct policy *policy)
{
	struct schedule s;

	schedule_init(&s);
	s.policy = policy;
	s.balance = BALANCE_REPLICATE;
	s.part_count = 2;
	s.distribute = DISTRIBUTE_LEAST_LOADED;
	s.steal = true;
	return s;
}

static void check_nothing_is_under_way(const struct stage_group *g)
{
	for (uint32_t p = 0; p < g->part_count; p++)
		CHECK_NUMBER(g->visits.parts[p].under_way_count, ==, 0);
}

static struct item items[ITEMS];

/* The first handler waits until the other items have ended. */
static void look_begins(struct item *item, const struct place *place)
{
	if (item == &items[0] && place->index == 0)
		line_await(place->line, ITEMS - 1);
}

/* Send the items to both replicas before any is handled, and handle them. */
static void run(struct line *l, const struct schedule *schedule,
		const struct cores *cores)
{
	struct line_setup setup = {
		.schedule = *schedule,
		.cores = cores,
		.is_unbound = true,
		.slots = ITEMS,
		.begins = look_begins,
	};

	line_start(l, &setup);
	atomic_store(&l->gate_is_closed, true);
	for (uint32_t i = 0; i < ITEMS; i++) {
		items[i] = (struct item){ 0 };
		CHECK(line_send(l, &items[i]));
	}
	atomic_store(&l->gate_is_closed, false);
	group_stop(l->group);
	CHECK_NUMBER(l->finished_count, ==, ITEMS);
}

static uint64_t stolen_count(const struct stage_group *g)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats w;

		group_read_worker(g, i, &w);
		count += w.stolen_count;
	}
	return count;
}

static void test_idle_worker_takes_what_waits(const struct policy *policy,
					      const struct cores *cores)
{
	struct schedule schedule = thieves(policy);
	struct line l;

	run(&l, &schedule, cores);
	/* The items of the replica whose worker is blocked are stolen. */
	CHECK_NUMBER(stolen_count(l.group), >, 0);
	check_nothing_is_under_way(l.group);
	line_release(&l);
}

/*
 * A share of the queue is many events: 100 wait in the victim's queue, which
 * nobody else takes from.
 */
static void test_thief_visits_as_the_regime_says(const struct cores *cores)
{
	struct schedule schedule = thieves(policy_find("cohort"));
	struct line l;

	schedule.regime = (struct regime){ REGIME_N_GATED, 1 };
	run(&l, &schedule, cores);
	CHECK_NUMBER(stolen_count(l.group), >, 0);
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		struct stage_stats s;

		stage_read(l.stages[i], &s);
		CHECK_NUMBER(s.visit_count - s.visit_empty_count, ==, ITEMS);
	}
	line_release(&l);
}

struct looper {
	struct event event; /* must be the first member */
	uint32_t rounds;
};

static struct looper loopers[ITEMS];
static struct stage *loop_stage;
static _Atomic uint32_t round_count; /* rounds of all events together */

/* Sends to its own stage; the first event blocks its worker till the end. */
static void loop(struct event *ev, void *arg)
{
	struct looper *looper = (struct looper *)ev;

	(void)arg;
	if (looper == &loopers[0]) {
		while (atomic_load(&round_count) < ROUNDS * (ITEMS - 1))
			pause_ns(100000);
		return;
	}
	(void)atomic_fetch_add(&round_count, 1);
	if (++looper->rounds < ROUNDS)
		CHECK(stage_send(loop_stage, ev));
}

static void test_thief_is_charged_for_what_it_sends(const struct cores *cores)
{
	struct schedule schedule = thieves(policy_find("cohort"));

	schedule.discipline.kind = DISCIPLINE_STACK;
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &schedule, .cores = cores });

	loop_stage = group_add(g, &(struct stage_config){
					  .name = "loop",
					  .handler = loop,
					  .slots = ITEMS,
				  });
	CHECK(group_start(g));
	for (uint32_t i = 0; i < ITEMS; i++)
		CHECK(stage_send(loop_stage, &loopers[i].event));
	group_stop(g);
	CHECK_NUMBER(round_count, ==, ROUNDS * (ITEMS - 1));
	check_nothing_is_under_way(g);
	group_free(g);
}

/* Two stages, whose events wait in the central queue in turn. */
static struct mix {
	struct event events[ITEMS];
	struct stage *stages[2];
	_Atomic bool gate_is_closed;
	_Atomic uint32_t ended_count;
} mix;

/* The first event blocks its worker until the others have ended. */
static void handle_mixed(struct event *ev, void *arg)
{
	(void)arg;
	while (atomic_load(&mix.gate_is_closed) ||
	       (ev == &mix.events[0] &&
		atomic_load(&mix.ended_count) < ITEMS - 1))
		pause_ns(100000);
	(void)atomic_fetch_add(&mix.ended_count, 1);
}

static void run_mixed(struct stage_group *g)
{
	static const char *const names[] = { "a", "b" };
	struct stage_stats stats = { 0 };

	memset(&mix, 0, sizeof(mix));
	for (uint32_t i = 0; i < 2; i++)
		mix.stages[i] = group_add(g, &(struct stage_config){
						     .name = names[i],
						     .handler = handle_mixed,
						     .slots = ITEMS,
					     });
	CHECK(group_start(g));
	atomic_store(&mix.gate_is_closed, true);
	/* Events go to the two replicas in turn. */
	for (uint32_t i = 0; i < ITEMS; i++) {
		CHECK(stage_send(mix.stages[i / 2 % 2], &mix.events[i]));
		while (stats.started_count == 0)
			stage_read(mix.stages[0], &stats);
	}
	atomic_store(&mix.gate_is_closed, false);
	group_stop(g);
}

/*
 * The events of a visit come just before it, and all are of its stage.  Returns
 * the time between visits that were not separated by a sleep.
 */
static uint64_t check_mixed_visits(const struct stage_group *g, uint32_t worker)
{
	static struct span spans[4 * ITEMS];
	uint64_t next = 0, missed = 0, end_ns = 0, gaps_ns = 0, events = 0;
	uint32_t count =
		group_read_trace(g, worker, &next, spans, 4 * ITEMS, &missed);

	for (uint32_t i = 0; i < count; i++) {
		const struct span *s = &spans[i];

		if (s->kind == SPAN_EVENT) {
			events++;
			continue;
		}
		if (s->kind == SPAN_VISIT && end_ns > 0)
			gaps_ns += s->start_ns - end_ns;
		end_ns = s->kind == SPAN_VISIT ? s->end_ns : 0;
		CHECK(s->kind == SPAN_SLEEP || s->number == events);
		for (; events > 0; events--)
			CHECK_NUMBER(spans[i - events].stage, ==, s->stage);
	}
	return gaps_ns;
}

static void
test_theft_of_several_stages_is_several_visits(const struct cores *cores)
{
	struct schedule schedule = thieves(policy_find("color"));

	schedule.distribute = DISTRIBUTE_ROUND_ROBIN;
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &schedule, .cores = cores });

	run_mixed(g);
	CHECK_NUMBER(stolen_count(g), >=, ITEMS / 4);
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats w;

		group_read_worker(g, i, &w);
		CHECK_NUMBER(w.work.switch_ns, <=, check_mixed_visits(g, i));
	}
	group_free(g);
}

int main(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	watchdog_start();
	fake_core_count = 2;
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		if ((*p)->workers == POLICY_WORKERS_ROAM)
			test_idle_worker_takes_what_waits(*p, cores);
	test_thief_visits_as_the_regime_says(cores);
	test_thief_is_charged_for_what_it_sends(cores);
	test_theft_of_several_stages_is_several_visits(cores);
	cores_free(cores);
	return 0;
}
