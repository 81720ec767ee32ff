/* SPDX-License-Identifier: MIT */
/*
 * Color: there is one central queue for all stages.  A worker takes an event
 * from it and runs the stage that the event was sent to, so no visit finds an
 * empty queue.
 *
 * After Gordon, UCAM-CL-TR-781, section 3.1.4.  Deviation: exclusive stages
 * and stages partitioned by key have queues of their own, because their events
 * would block the central queue.  A worker takes turns between the central
 * queue and those of these queues that have events.
 */
#include "stages/policy.h"

struct color {
	uint32_t next; /* index of the queue whose turn it is */
};

static uint32_t color_pick(void *state, const struct group_view *view)
{
	struct color *c = state;

	for (uint32_t tried = 0; tried < view->stage_count; tried++) {
		uint32_t stage = c->next % view->stage_count;

		c->next = stage + 1;
		if (view->stages[stage].queued_count > 0)
			return stage;
	}
	return POLICY_IDLE;
}

const struct policy policy_color = {
	.name = "color",
	.summary = "a thread per core takes events from one central queue",
	.meaning =
		"All stages share one queue. One worker per core takes the "
		"first event of it and runs the stage that this was sent to, "
		"so no empty queue is visited, and the discipline orders all "
		"that waits, whatever its stage.",
	.workers = POLICY_WORKERS_ROAM,
	.has_central_queue = true,
	.state_bytes = sizeof(struct color),
	.pick = color_pick,
};
