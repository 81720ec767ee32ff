/* SPDX-License-Identifier: MIT */
/*
 * Trials: a policy with the state and the view of one worker, for tests.
 */
#ifndef STAGES_TEST_TRIAL_H
#define STAGES_TEST_TRIAL_H

#include "stages/stage.h"

enum { TRIAL_STAGES = 5 };

struct trial {
	const struct policy *policy;
	void *state;
	struct stage_view stages[TRIAL_STAGES]; /* a test may change it */
	struct group_view view;
};

/* `count` stages, all empty and never measured. */
void trial_init(struct trial *t, const struct policy *p, uint32_t count);

void trial_release(struct trial *t);

/* Ask the policy. */
uint32_t trial_pick(struct trial *t);

/*
 * Ask the policy, and take all events of the stage that it names.  Returns the
 * stage.
 */
uint32_t trial_visit(struct trial *t);

#endif
