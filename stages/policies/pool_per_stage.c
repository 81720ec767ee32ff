/* SPDX-License-Identifier: MIT */
/*
 * Pool per stage: each stage has threads of its own, which take events from its
 * queue alone.  The kernel shares the cores among them.
 *
 * After Welsh, Culler and Brewer's SEDA as in Gordon, UCAM-CL-TR-781, section
 * 2.4.1, with pools of fixed size as in its table 4.2, or of changing
 * size (worker.c).
 */
#include "stages/policy.h"

static uint32_t pool_per_stage_pick(void *state, const struct group_view *view)
{
	(void)state;
	/* A worker that stays sees one stage. */
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
