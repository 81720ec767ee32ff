/* SPDX-License-Identifier: MIT */
/*
 * A policy of one's own: a worker visits the stage where most events wait.
 *
 *	cc -shared -fPIC -o longest_queue.so longest_queue.c
 *	stages_sim --policy-file ./longest_queue.so --policy longest-queue ...
 *
 * A program gives it to policy_register() instead.
 */
#include <stages/policy.h>

static uint32_t pick(void *state, const struct group_view *view)
{
	uint32_t best = POLICY_IDLE, most = 0;

	(void)state;
	for (uint32_t i = 0; i < view->stage_count; i++) {
		if (view->stages[i].queued_count > most) {
			most = view->stages[i].queued_count;
			best = i;
		}
	}
	return best;
}

static const struct policy longest_queue = {
	.name = "longest-queue",
	.summary = "the stage where most events wait",
	.meaning = "A worker visits the stage where most events wait.",
	.needs_lengths = true,
	.pick = pick,
};

STAGES_POLICY_FILE(longest_queue);
