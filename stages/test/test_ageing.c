/* SPDX-License-Identifier: MIT */
/*
 * Promise: with --discipline srpt an event with much work left waits for those
 * with little, but not for ever: only for those that came before its age made
 * up for its size.
 *
 * One worker, held at the gate (line.h) while small events keep coming.
 */
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

#include <assert.h>
#include <stdio.h>

enum { ITEMS = 60, AGEING = 15, LARGE = 1 };

#define LARGE_NS UINT64_C(1000000)
#define GAP_NS UINT64_C(500000) /* at least, between two */

static struct item items[ITEMS];
static uint32_t order[ITEMS], order_count;

static void look_begins(struct item *item, const struct place *place)
{
	if (place->index == 0)
		order[order_count++] = item->number;
}

static void send_all(struct line *l)
{
	struct stage_stats stats = { 0 };

	for (uint32_t i = 0; i < ITEMS; i++) {
		items[i] = (struct item){ .number = i };
		items[i].event.left_ns = i == LARGE ? LARGE_NS : 0;
		assert(line_send(l, &items[i]));
		while (stats.started_count == 0) /* the first, at the gate */
			stage_read(l->stages[0], &stats);
		pause_ns(GAP_NS);
	}
}

static void test_large_one_waits_for_its_age(const char *policy,
					     const char *regime,
					     const struct cores *core)
{
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
	setup.schedule.discipline =
		(struct discipline){ DISCIPLINE_SRPT, AGEING };
	if (regime != NULL)
		assert(schedule_set(&setup.schedule, "regime", regime, NULL,
				    0));
	order_count = 0;
	line_start(&l, &setup);
	atomic_store(&l.gate_is_closed, true);
	send_all(&l);
	atomic_store(&l.gate_is_closed, false);
	line_await(&l, ITEMS);
	group_stop(l.group);

	uint64_t turn_ns = items[LARGE].event.born_ns + AGEING * LARGE_NS;

	for (uint32_t i = 0; order[i] != LARGE; i++, before++)
		assert(items[order[i]].event.born_ns <= turn_ns);
	for (uint32_t i = before + 1; i < ITEMS; i++, after++)
		assert(items[order[i]].event.born_ns >= turn_ns);
	/* Some came in its time, and some too late: it is a bound. */
	assert(before > 1 && after > 0);
	line_release(&l);
}

int main(void)
{
	const char *why;
	char first[16];
	struct cores *cores = cores_new(NULL, &why);

	watchdog_start();
	(void)snprintf(first, sizeof(first), "%u", cores_cpu(cores, 0));
	cores_free(cores);
	cores = cores_new(first, &why);
	test_large_one_waits_for_its_age("color", NULL, cores);
	test_large_one_waits_for_its_age("srpt", "n-gated=1", cores);
	test_large_one_waits_for_its_age("cohort", NULL, cores);
	cores_free(cores);
	return 0;
}
