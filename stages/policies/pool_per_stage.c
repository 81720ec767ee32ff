/* SPDX-License-Identifier: MIT */
/*
 * Pool per stage: each stage has threads of its own, which take one event at a
 * time from its queue.  The kernel shares the cores among them.
 *
 * After Welsh, Culler and Brewer's SEDA as in Gordon, UCAM-CL-TR-781, section
 * 2.4.1, with pools of fixed size as in its table 4.2.
 */
#include "stages/policy.h"

static struct visit pool_per_stage_pick(void *state,
					const struct group_view *view)
{
	(void)state;
	return (struct visit){
		.stage = 0, /* a worker that stays sees one stage */
		.events_max = view->stages[0].queued_count > 0 ? 1 : 0,
	};
}

const struct policy policy_pool_per_stage = {
	.name = "pool-per-stage",
	.summary = "SEDA: a pool of threads for each stage",
	.workers = POLICY_WORKERS_STAY,
	.pick = pool_per_stage_pick,
};
