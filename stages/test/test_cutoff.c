/* SPDX-License-Identifier: MIT */
/*
 * Promises: an event that has run for the cutoff is paused; the next visit goes
 * on with it, after all events that waited, whether that is a normal visit or
 * an interruption, and whether the event came from the queue or from the
 * worker's own stack.  An event that cannot be paused runs to its end.
 *
 * The test acts as the worker: the group is planned, but its threads are not
 * started.
 */
#include "base/error.h"
#include "stages/stage.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "base/util.h"
#include "stages/flags.h"
#include "stages/event.h"
#include "stages/group.c"
#include "stages/stats.h"
#include "stages/worker.c"
#include "stages/test/watchdog.h"

#include <string.h>

enum { A, B, STAGES };

static const char *const names[STAGES] = { "a", "b" };

#define LONG_NS UINT64_C(2000000) /* the cutoff is 1000 us */

struct item {
	struct event event; /* must be the first member */
	char letter;
	uint32_t turns; /* turns that a long event takes, if it can be paused */
	uint32_t handled_count;
};

/* Events with a capital letter are long. */
static struct item items[] = {
	{ .letter = 'P', .turns = 2 },
	{ .letter = 'Q', .turns = 2 },
	{ .letter = 'R', .turns = 2 },
	{ .letter = 'S', .turns = 3 },
	{ .letter = 'x' },
	{ .letter = 'y' },
};

enum { ITEMS = ARRAY_SIZE(items) };

static struct stage_group *group;
static struct worker *worker;
static uint32_t chosen; /* the stage that the worker visits next */

static uint32_t pick_chosen(void *state, const struct group_view *view)
{
	(void)state;
	return view->stages[chosen].queued_count > 0 ? chosen : POLICY_IDLE;
}

static const struct policy chooser = {
	.name = "chooser",
	.workers = POLICY_WORKERS_ROAM,
	.pick = pick_chosen,
};

/* The letter of each event when it begins, and each time it goes on. */
static char handled[3 * ITEMS + 1];

/* Run until the event has been paused, or for longer than the cutoff. */
static void run_until_paused(const struct event *ev)
{
	uint64_t ran_ns = event_peek(ev)->stage_ran_ns,
		 end_ns = clock_now_ns() + LONG_NS;
	bool is_over;

	do {
		is_over = clock_now_ns() >= end_ns;
		stage_pause_point();
	} while (!is_over && event_peek(ev)->stage_ran_ns == ran_ns);
}

static void handle(struct event *ev, void *arg)
{
	struct item *item = (struct item *)ev;

	(void)arg;
	handled[strlen(handled)] = item->letter;
	for (uint32_t turn = 1; turn < item->turns; turn++) {
		uint64_t ran_ns = event_peek(ev)->stage_ran_ns;

		run_until_paused(ev);
		if (event_peek(ev)->stage_ran_ns > ran_ns)
			handled[strlen(handled)] = item->letter;
	}
	CHECK_NUMBER(item->handled_count++, ==, 0);
}

static void begin(const struct cores *cores, const char *flag,
		  const char *value, enum stage_type type)
{
	struct schedule s;
	struct error error;

	schedule_init(&s);
	CHECK(schedule_set(&s, "regime", "cutoff=1000", names, STAGES));
	CHECK(schedule_set(&s, flag, value, names, STAGES));
	CHECK(schedule_complete(&s, STAGES, 1, error.text));
	s.policy = &chooser;
	(void)memset(handled, 0, sizeof(handled));
	for (uint32_t i = 0; i < ITEMS; i++)
		items[i].handled_count = 0;
	group = group_new(
		&(struct group_config){ .schedule = &s, .cores = cores });
	for (uint32_t i = 0; i < STAGES; i++)
		CHECK(group_add(group, &(struct stage_config){
					       .name = names[i],
					       .handler = handle,
					       .slots = ITEMS,
					       .type = type,
				       }) != NULL);
	group->is_started = true;
	CHECK(group_plan(group));
	worker = &group->workers[0];
	worker_set_current(worker);
}

/*
 * Every event that was sent has been handled, or group_stop() would not return.
 */
static void end(void)
{
	worker_set_current(NULL);
	group_stop(group);
	group_free(group);
}

static void send(uint32_t stage, const char *letters)
{
	for (; *letters != '\0'; letters++)
		for (uint32_t i = 0; i < ITEMS; i++)
			if (items[i].letter == *letters)
				CHECK(stage_send(group->stages[stage],
						 &items[i].event));
}

/* The letters handled by this visit. */
static const char *visit(uint32_t stage)
{
	size_t before = strlen(handled);

	chosen = stage;
	CHECK(worker_visit(worker));
	return handled + before;
}

static uint64_t waiting_count(uint32_t stage)
{
	struct stage_stats s;

	stage_read(group->stages[stage], &s);
	return s.queued_count;
}

static void test_long_events_share(const struct cores *cores,
				   const char *discipline)
{
	bool is_reversed = strcmp(discipline, "lcfs") == 0;

	begin(cores, "discipline", discipline, STAGE_SHARED);
	send(B, "PSx");
	CHECK_TEXT(visit(B), is_reversed ? "xSP" : "PSx");
	CHECK_NUMBER(waiting_count(B), ==, 2);
	send(B, "yQ");
	CHECK_TEXT(visit(B), is_reversed ? "QySP" : "yQPS");
	CHECK_TEXT(visit(B), "QS");
	CHECK_NUMBER(waiting_count(B), ==, 0);
	end();
}

/*
 * An interruption has no cutoff, and also handles the events that one paused.
 */
static void test_interruption_leaves_nothing(const struct cores *cores)
{
	begin(cores, "threshold", "b=2", STAGE_SHARED);
	send(B, "PQ");
	CHECK_TEXT(visit(B), "PQ");
	CHECK_NUMBER(waiting_count(B), ==, 2);
	/* One more event, so that the next visit elsewhere is interrupted. */
	send(B, "R");
	send(A, "Sxy");
	CHECK_TEXT(visit(A), "SRPQxy");
	CHECK_NUMBER(waiting_count(B), ==, 0);
	CHECK_TEXT(visit(A), "S");
	CHECK_TEXT(visit(A), "S");
	end();
}

static void test_stack_is_fresh(const struct cores *cores)
{
	begin(cores, "discipline", "stack", STAGE_SHARED);
	send(B, "PxQy");
	CHECK_NUMBER(worker->visitor.stacks[B].count, ==, 4);
	CHECK_TEXT(visit(B), "yQxP");
	CHECK_NUMBER(waiting_count(B), ==, 2);
	send(B, "R");
	CHECK_TEXT(visit(B), "RQP");
	CHECK_TEXT(visit(B), "R");
	CHECK_NUMBER(waiting_count(B), ==, 0);
	end();
}

static void test_others_run_to_their_end(const struct cores *cores)
{
	begin(cores, "discipline", "fcfs", STAGE_EXCLUSIVE);
	send(B, "PxQ");
	CHECK_TEXT(visit(B), "PxQ");
	CHECK_NUMBER(waiting_count(B), ==, 0);
	end();
}

static void test_stages_have_rules_of_their_own(const struct cores *cores)
{
	begin(cores, "discipline", "a=lcfs,b=stack", STAGE_SHARED);
	send(A, "xy");
	CHECK_NUMBER(worker->visitor.stacks[A].count, ==, 0);
	CHECK_TEXT(visit(A), "yx");
	send(B, "PQ");
	CHECK_NUMBER(worker->visitor.stacks[B].count, ==, 2);
	CHECK_TEXT(visit(B), "QP");
	CHECK_TEXT(visit(B), "QP");
	end();
	begin(cores, "regime", "a=gated", STAGE_SHARED);
	send(A, "P");
	CHECK_TEXT(visit(A), "P");
	CHECK_NUMBER(waiting_count(A), ==, 0);
	send(B, "Q");
	CHECK_TEXT(visit(B), "Q");
	CHECK_NUMBER(waiting_count(B), ==, 1);
	CHECK_TEXT(visit(B), "Q");
	end();
}

int main(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	watchdog_start();
	test_long_events_share(cores, "fcfs");
	test_long_events_share(cores, "lcfs");
	test_interruption_leaves_nothing(cores);
	test_stack_is_fresh(cores);
	test_others_run_to_their_end(cores);
	test_stages_have_rules_of_their_own(cores);
	cores_free(cores);
	return 0;
}
