/* SPDX-License-Identifier: MIT */
/*
 * Cohort: a worker goes through the stages like a wave, from the first to the
 * last and back.
 *
 * It handles many events of one stage in a row, so the code and tables of that
 * stage stay in the cache.  In return, an event waits until the wave comes.
 *
 * After Larus and Parkes, "Using Cohort Scheduling to Enhance Server
 * Performance", USENIX 2002, section 4.1.2, and Gordon, UCAM-CL-TR-781, section
 * 2.4.2.  The per-core stacks and the thresholds described there have flags of
 * their own: --discipline stack and --threshold.  Deviation: unless --look is
 * blind, a worker skips an empty queue without a visit.
 */
#include "stages/policy.h"

struct cohort {
	uint32_t step; /* position in the sweep: 0 .. sweep_length() - 1 */
};

/* Of four stages: 0 1 2 3 2 1, then again 0 1 2 3 2 1. */
static uint32_t sweep_length(uint32_t stage_count)
{
	return stage_count > 1 ? 2 * stage_count - 2 : 1;
}

static uint32_t stage_at(uint32_t step, uint32_t stage_count)
{
	return step < stage_count ? step : 2 * stage_count - 2 - step;
}

static uint32_t cohort_pick(void *state, const struct group_view *view)
{
	struct cohort *c = state;
	uint32_t length = sweep_length(view->stage_count);

	for (uint32_t tried = 0; tried < length; tried++) {
		uint32_t stage = stage_at(c->step, view->stage_count);

		c->step = (c->step + 1) % length;
		if (view->stages[stage].queued_count > 0)
			return stage;
	}
	return POLICY_IDLE;
}

const struct policy policy_cohort = {
	.name = "cohort",
	.summary = "a thread per core sweeps the stages as a wave",
	.meaning =
		"One worker per core sweeps the stages as a wave, first to "
		"last and back. Many events of a stage run in a row, so its "
		"code and tables stay in the cache; in return, an event waits "
		"for the wave.",
	.workers = POLICY_WORKERS_ROAM,
	.state_bytes = sizeof(struct cohort),
	.pick = cohort_pick,
};
