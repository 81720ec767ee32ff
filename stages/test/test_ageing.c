/* SPDX-License-Identifier: MIT */
/*
 * Promise: with --discipline srpt an event with much work left waits for those
 * with little, but not for ever: only for those that came before its age made
 * up for its size, or, if the discipline follows the load, before its patience
 * was over.  Patience is short while the group does not keep up.
 *
 * One worker, held at the gate (line.h) while small events keep coming.
 *
 * The same holds for an event that is paused again and again: no event that
 * came after its turn runs before its end.
 */
#include "base/error.h"
#include "stages/flags.h"
#include "stages/group.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"
#include "stages/visit.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <stdio.h>
#include <string.h>

enum { ITEMS = 60, AGEING = 15, LARGE = 1, ROUNDS = 10 };

#define LARGE_NS UINT64_C(1000000)
#define EXPECTED_NS (10 * LARGE_NS)
#define GAP_NS UINT64_C(500000) /* at least this time between two events */

static struct item items[ITEMS];
static uint32_t order[ITEMS], order_count;

static void look_begins(struct item *item, const struct place *place)
{
	if (place->index == 0)
		order[order_count++] = item->number;
}

/* The large one has `large_ns` of work. */
static void send_all(struct line *l, uint64_t large_ns)
{
	struct stage_stats stats = { 0 };

	for (uint32_t i = 0; i < ITEMS; i++) {
		items[i] = (struct item){ .number = i };
		items[i].event.left_ns = i == LARGE ? large_ns : 0;
		items[i].event.expected_ns = EXPECTED_NS;
		CHECK(line_send(l, &items[i]));
		while (stats.started_count == 0) /* the first, at the gate */
			stage_read(l->stages[0], &stats);
		pause_ns(GAP_NS);
	}
}

static void test_large_one_waits(const char *policy, const char *regime,
				 bool follows_load, const struct cores *core)
{
	/* So much work that ageing alone would let all others go first. */
	uint64_t large_ns = follows_load ? 1000 * LARGE_NS : LARGE_NS;
	struct line_setup setup = {
		.cores = core,
		.slots = ITEMS,
		.begins = look_begins,
	};
	uint32_t before = 0, after = 0;
	struct line l;

	schedule_init(&setup.schedule);
	setup.schedule.policy = policy_find(policy);
	setup.schedule.part_count = 1;
	setup.schedule.discipline = (struct discipline){
		.kind = DISCIPLINE_SRPT,
		.ageing = AGEING,
		.follows_load = follows_load,
	};
	if (regime != NULL)
		CHECK(schedule_set(&setup.schedule, "regime", regime, NULL, 0));
	order_count = 0;
	line_start(&l, &setup);
	atomic_store(&l.gate_is_closed, true);
	send_all(&l, large_ns);
	atomic_store(&l.gate_is_closed, false);
	line_await(&l, ITEMS);
	group_stop(l.group);

	const struct event *large = &items[LARGE].event;
	uint64_t turn_ns = large->born_ns + (follows_load ? large->patience_ns :
							    AGEING * LARGE_NS);

	for (uint32_t i = 0; order[i] != LARGE; i++, before++)
		CHECK_NUMBER(items[order[i]].event.born_ns, <=, turn_ns);
	for (uint32_t i = before + 1; i < ITEMS; i++, after++)
		CHECK_NUMBER(items[order[i]].event.born_ns, >=, turn_ns);
	/*
	 * Some events overtook it, and some came too late to overtake it: the
	 * bound has an effect.
	 */
	CHECK_NUMBER(before, >, 1);
	CHECK_NUMBER(after, >, 0);
	line_release(&l);
}

/* The event that is paused, and those that it sends. */
static struct {
	struct stage *stage;
	struct event large, early[ROUNDS], late[ROUNDS];
	uint64_t slice_ns;
	bool large_has_ended;
	uint32_t early_count, late_count; /* how many have run */
} paused;

static void send_born(struct event *ev, uint64_t born_ns)
{
	ev->born_ns = born_ns;
	CHECK(stage_send(paused.stage, ev));
}

/*
 * In each round an event comes that is before the turn of the large one, and
 * one that is after it.  The first needs a pause; the second has to wait.
 */
static void handle_large(struct event *ev)
{
	const struct discipline *d = &paused.stage->group->schedule.discipline;
	uint64_t age_ns =
		d->follows_load ? ev->patience_ns : AGEING * ev->left_ns;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t end_ns = clock_now_ns() + paused.slice_ns;

		send_born(&paused.early[i], ev->born_ns + 1);
		send_born(&paused.late[i], ev->born_ns + age_ns + 1);
		while (clock_now_ns() < end_ns)
			continue;
		stage_pause_point();
		CHECK_NUMBER(paused.early_count, ==, i + 1);
		CHECK_NUMBER(paused.late_count, ==, 0);
	}
	paused.large_has_ended = true;
}

static void handle_any(struct event *ev, void *arg)
{
	(void)arg;
	if (ev == &paused.large) {
		handle_large(ev);
	} else if (ev >= paused.late && ev < paused.late + ROUNDS) {
		CHECK(paused.large_has_ended);
		paused.late_count++;
	} else {
		CHECK(!paused.large_has_ended);
		paused.early_count++;
	}
}

static void test_a_paused_one_waits(const char *policy, const char *discipline,
				    const struct cores *core)
{
	struct error error;
	struct stage_stats stats;
	struct schedule s;

	memset(&paused, 0, sizeof(paused));
	schedule_init(&s);
	CHECK(schedule_set(&s, "policy", policy, NULL, 0));
	CHECK(schedule_set(&s, "discipline", discipline, NULL, 0));
	CHECK(schedule_set(&s, "slice", "20", NULL, 0));
	CHECK(schedule_complete(&s, 1, 1, error.text));
	paused.slice_ns = s.slice_ns;

	struct stage_group *g = group_new(
		&(struct group_config){ .schedule = &s, .cores = core });

	paused.stage = group_add(g, &(struct stage_config){
					    .name = "a",
					    .handler = handle_any,
					    .slots = 2 * ROUNDS + 1,
				    });
	CHECK(group_start(g));
	/* Its work while it runs shortens its turn by much less than this. */
	paused.large.left_ns = 1000000 * LARGE_NS;
	paused.large.expected_ns = 1000000 * LARGE_NS;
	CHECK(stage_send(paused.stage, &paused.large));
	group_stop(g);
	stage_read(paused.stage, &stats);
	CHECK_NUMBER(stats.paused_count, ==, ROUNDS);
	CHECK_NUMBER(paused.late_count, ==, ROUNDS);
	group_free(g);
}

/* `count` events find `least` to `most` others; the patience of the last. */
static uint64_t last_patience(struct visit_group *g, uint32_t count,
			      uint32_t least, uint32_t most)
{
	struct event ev = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		ev = (struct event){
			.left_ns = 1000,
			.expected_ns = 2000,
			.under_way_count = least + i % (most - least + 1),
		};
		visit_begin_event(g, &ev);
	}
	return ev.patience_ns;
}

static void test_patience_follows_the_load(void)
{
	struct schedule s;
	struct visit_group clients = { .schedule = &s, .core_count = 2 };
	struct visit_group arrivals = { .schedule = &s, .core_count = 2 };
	struct event unknown = { 0 };

	schedule_init(&s);
	s.discipline.kind = DISCIPLINE_SRPT;
	/* 64 clients begin, then each sends again as soon as it may. */
	CHECK_NUMBER(last_patience(&clients, 64, 0, 63), >, 1000);
	CHECK_NUMBER(last_patience(&clients, 400, 60, 63), ==, 400);
	CHECK_NUMBER(last_patience(&clients, 1, 7, 7), ==,
		     6000); /* a light load */
	CHECK_NUMBER(last_patience(&clients, 1, 62, 62), ==, 400);
	/* A queue becomes long, and short again. */
	CHECK_NUMBER(last_patience(&arrivals, 1000, 0, 100), ==, 1500);
	CHECK_NUMBER(last_patience(&arrivals, 300, 100, 140), ==, 1500);
	uint64_t between = last_patience(&arrivals, 10000, 100, 126);

	CHECK_NUMBER(between, >, 400);
	CHECK_NUMBER(between, <, 1500);
	visit_begin_event(&arrivals, &unknown);
	CHECK_NUMBER(unknown.patience_ns, ==, UINT64_MAX);
}

int main(void)
{
	struct error why;
	char first[16];
	struct cores *cores = cores_new(NULL, why.text);

	watchdog_start();
	test_patience_follows_the_load();
	(void)snprintf(first, sizeof(first), "%u", cores_cpu(cores, 0));
	cores_free(cores);
	cores = cores_new(first, why.text);
	test_large_one_waits("color", NULL, false, cores);
	test_large_one_waits("srpt", "n-gated=1", false, cores);
	test_large_one_waits("cohort", NULL, false, cores);
	test_large_one_waits("color", NULL, true, cores);
	test_a_paused_one_waits("cohort", "srpt=15", cores);
	test_a_paused_one_waits("color", "srpt=15", cores);
	test_a_paused_one_waits("pool-per-stage", "srpt=15", cores);
	test_a_paused_one_waits("color", "srpt", cores);
	cores_free(cores);
	return 0;
}
