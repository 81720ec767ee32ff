/* SPDX-License-Identifier: MIT */
/*
 * Promise: an event that a cutoff passes over is handled in the next visit,
 * whether that is a normal visit or an interruption, and whether the event
 * waited in the queue or on the worker's own stack.
 *
 * The test acts as the worker: the group is planned, but its threads are not
 * started.
 */
#include "stages/cores.h"

#include "base/util.h"
#include "stages/group.h"
#include "stages/test/watchdog.h"

#include <assert.h>
#include <string.h>

enum { A, B, STAGES };

static const char *const names[STAGES] = { "a", "b" };

#define LONG_NS UINT64_C(2000000) /* the cutoff is 1000 us */

struct item {
	struct event event; /* first */
	char letter;
	uint32_t handled_count;
};

/* Events with a capital letter are long. */
static struct item items[] = {
	{ .letter = 'P', .event.left_ns = LONG_NS },
	{ .letter = 'Q', .event.left_ns = LONG_NS },
	{ .letter = 'R', .event.left_ns = LONG_NS },
	{ .letter = 'S', .event.left_ns = LONG_NS },
	{ .letter = 'x' },
	{ .letter = 'y' },
};

enum { ITEMS = ARRAY_SIZE(items) };

static struct group *group;
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
static char handled[ITEMS + 1]; /* letters, in turn */

static void handle(struct event *ev, void *arg)
{
	struct item *item = (struct item *)ev;

	(void)arg;
	assert(item->handled_count++ == 0);
	handled[strlen(handled)] = item->letter;
}

static void begin(const struct cores *cores, const char *flag,
		  const char *value)
{
	struct schedule s;
	char error[SCHEDULE_ERROR_BYTES];

	schedule_init(&s);
	assert(schedule_set(&s, "regime", "cutoff=1000", names, STAGES));
	assert(schedule_set(&s, flag, value, names, STAGES));
	assert(schedule_complete(&s, STAGES, 1, error));
	s.policy = &chooser;
	(void)memset(handled, 0, sizeof(handled));
	for (uint32_t i = 0; i < ITEMS; i++)
		items[i].handled_count = 0;
	group = group_new(
		&(struct group_config){ .schedule = &s, .cores = cores });
	for (uint32_t i = 0; i < STAGES; i++)
		assert(group_add(group, &(struct stage_config){
						.name = names[i],
						.handler = handle,
						.slots = ITEMS,
					}) != NULL);
	group->is_started = true;
	assert(group_plan(group));
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
				assert(stage_send(group->stages[stage],
						  &items[i].event));
}

/* The letters handled by this visit. */
static const char *visit(uint32_t stage)
{
	size_t before = strlen(handled);

	chosen = stage;
	assert(worker_visit(worker));
	return handled + before;
}

static void test_interruption_leaves_nothing(const struct cores *cores)
{
	begin(cores, "threshold", "b=2");
	send(B, "PQ");
	assert(strcmp(visit(B), "") == 0);
	assert(visitor_open_count(&worker->visitor, B) == 2);
	/* One more event, so that the next visit elsewhere is interrupted. */
	send(B, "R");
	send(A, "Sxy");
	assert(strcmp(visit(A), "xRPQy") == 0);
	assert(visitor_open_count(&worker->visitor, B) == 0);
	assert(strcmp(visit(A), "S") == 0);
	end();
}

static void test_stack_is_passed_over_once(const struct cores *cores)
{
	begin(cores, "discipline", "stack");
	send(B, "PxQy");
	assert(worker->visitor.stacks[B].count == 4);
	assert(strcmp(visit(B), "yx") == 0);
	assert(visitor_open_count(&worker->visitor, B) == 2);
	send(B, "R");
	assert(strcmp(visit(B), "QP") == 0);
	assert(strcmp(visit(B), "R") == 0);
	assert(visitor_open_count(&worker->visitor, B) == 0);
	end();
}

int main(void)
{
	const char *why;
	struct cores *cores = cores_new(NULL, &why);

	watchdog_start();
	test_interruption_leaves_nothing(cores);
	test_stack_is_passed_over_once(cores);
	cores_free(cores);
	return 0;
}
