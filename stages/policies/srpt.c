/* SPDX-License-Identifier: MIT */
/*
 * SRPT: a worker visits the last stage of the pipeline that has events; after
 * each visit it looks from the end again.
 *
 * In a pipeline this is a rough approximation of "shortest remaining processing
 * time first": events that are nearly done are finished first.
 *
 * After Gordon, UCAM-CL-TR-781, section 3.1.2.  There a worker is blind: it
 * works its way back from the end, and begins again as soon as a visit has
 * found an event.
 */
#include "stages/policy.h"

struct srpt {
	uint32_t before; /* blind: how many stages are not visited yet */
};

static uint32_t srpt_pick(void *state, const struct group_view *view)
{
	struct srpt *s = state;

	if (view->is_blind) {
		if (view->has_found || s->before == 0)
			s->before = view->stage_count;
		return --s->before;
	}
	for (uint32_t i = view->stage_count; i > 0; i--)
		if (view->stages[i - 1].queued_count > 0)
			return i - 1;
	return POLICY_IDLE;
}

const struct policy policy_srpt = {
	.name = "srpt",
	.summary = "a thread per core visits the last stage that has work",
	.meaning =
		"One worker per core visits the stage nearest the end that has "
		"events, and after each visit looks from the end again. What "
		"is nearly done is finished before more is begun.",
	.workers = POLICY_WORKERS_ROAM,
	.state_bytes = sizeof(struct srpt),
	.pick = srpt_pick,
};
