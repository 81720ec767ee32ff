/* SPDX-License-Identifier: MIT */
#include "stages/test/trial.h"

#include "base/test/check.h"

#include <stdlib.h>

void trial_init(struct trial *t, const struct policy *p, uint32_t count)
{
	*t = (struct trial){ .policy = p };
	t->state = calloc(1, p->state_bytes + 1);
	CHECK(t->state != NULL);
	t->view = (struct group_view){
		.stages = t->stages,
		.stage_count = count,
	};
}

void trial_release(struct trial *t)
{
	free(t->state);
}

uint32_t trial_pick(struct trial *t)
{
	return t->policy->pick(t->state, &t->view);
}

uint32_t trial_visit(struct trial *t)
{
	uint32_t stage = trial_pick(t);

	CHECK_NUMBER(stage, <, t->view.stage_count);
	CHECK_NUMBER(t->stages[stage].queued_count, >, 0);
	t->stages[stage].queued_count = 0;
	return stage;
}
