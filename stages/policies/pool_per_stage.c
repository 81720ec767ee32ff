/* SPDX-License-Identifier: MIT */
/*
 * Pool per stage: each stage has its own threads, which take events only from
 * its queue.  The kernel shares the cores among the threads.
 *
 * This is SEDA by Welsh, Culler and Brewer, as described in Gordon,
 * UCAM-CL-TR-781, section 2.4.1.  Pools have a fixed size (its table 4.2) or a
 * changing one (worker.c).
 */
#include "stages/policy.h"

static uint32_t pool_per_stage_pick(void *state, const struct group_view *view)
{
	(void)state;
	/* The view of a worker that stays has only one stage, its own. */
	return view->stages[0].queued_count > 0 ? 0 : POLICY_IDLE;
}

const struct policy policy_pool_per_stage = {
	.name = "pool-per-stage",
	.summary = "SEDA: a pool of threads for each stage",
	.meaning =
		"Each stage has threads of its own, which take events from its "
		"queue alone. The kernel shares the cores among the threads, "
		"whatever the queues are like.",
	.workers = POLICY_WORKERS_STAY,
	.pick = pool_per_stage_pick,
};
