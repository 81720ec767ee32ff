/* SPDX-License-Identifier: MIT */
/*
 * Promise: every policy in list.h keeps the contract of policy.h, for every
 * combination of empty and waiting stages; and each published policy visits in
 * the order it was published with.  No threads.
 */
#include "stages/policy.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 5, ROUNDS_MAX = 1000 };

/* A policy with the state and the view of one worker. */
struct trial {
	const struct policy *policy;
	void *state;
	struct stage_view stages[STAGES];
	struct group_view view;
};

static void trial_init(struct trial *t, const struct policy *p, uint32_t count)
{
	*t = (struct trial){ .policy = p };
	t->state = calloc(1, p->state_bytes + 1);
	assert(t->state != NULL);
	t->view = (struct group_view){
		.stages = t->stages,
		.stage_count = count,
	};
}

static void trial_release(struct trial *t)
{
	free(t->state);
}

static uint32_t trial_pick(struct trial *t)
{
	return t->policy->pick(t->state, &t->view);
}

/* Stage that is visited; its events are taken. */
static uint32_t trial_visit(struct trial *t)
{
	uint32_t stage = trial_pick(t);

	assert(stage < t->view.stage_count);
	assert(t->stages[stage].queued_count > 0);
	t->stages[stage].queued_count = 0;
	return stage;
}

static void each_policy_that_picks(void (*test)(const struct policy *,
						uint32_t stage_count))
{
	for (const struct policy *const *p = policy_list; *p != NULL; p++) {
		if ((*p)->workers == POLICY_WORKERS_CALLER)
			continue;
		/* A worker that stays sees one stage. */
		uint32_t most =
			(*p)->workers == POLICY_WORKERS_STAY ? 1 : STAGES;

		for (uint32_t count = 1; count <= most; count++)
			test(*p, count);
	}
}

static void test_never_sleeps_on_work(const struct policy *p, uint32_t count)
{
	struct trial t;

	trial_init(&t, p, count);
	/* The same state throughout, as a worker keeps it. */
	for (uint32_t waiting = 1; waiting < 1u << count; waiting++) {
		for (uint32_t i = 0; i < count; i++)
			t.stages[i].queued_count = (waiting >> i & 1) * 3;
		uint32_t left = 0, visits = 0;

		do {
			(void)trial_visit(&t);
			left = 0;
			for (uint32_t i = 0; i < count; i++)
				left += t.stages[i].queued_count;
			assert(++visits < ROUNDS_MAX);
		} while (left > 0);
	}
	trial_release(&t);
}

static void test_sleeps_when_nothing_waits(const struct policy *p,
					   uint32_t count)
{
	struct trial t;

	trial_init(&t, p, count);
	for (uint32_t i = 0; i < 3 * count; i++) {
		assert(trial_pick(&t) == POLICY_IDLE);
		t.stages[i % count].queued_count = 1;
		(void)trial_visit(&t);
		assert(trial_pick(&t) == POLICY_IDLE);
	}
	trial_release(&t);
}

static void test_serves_every_stage_of_a_steady_flow(const struct policy *p,
						     uint32_t count)
{
	struct trial t;
	uint32_t finished = 0;

	trial_init(&t, p, count);
	/* One event arrives a turn; each visit moves its events on. */
	for (uint32_t turn = 0; turn < ROUNDS_MAX; turn++) {
		t.stages[0].queued_count++;
		uint32_t stage = trial_pick(&t);

		assert(stage < count);
		uint32_t moved = t.stages[stage].queued_count;

		assert(moved > 0);
		t.stages[stage].queued_count = 0;
		if (stage + 1 < count)
			t.stages[stage + 1].queued_count += moved;
		else
			finished += moved;
	}
	assert(finished > ROUNDS_MAX / 2);
	trial_release(&t);
}

static void test_states_are_independent(const struct policy *p, uint32_t count)
{
	struct trial a, b;

	trial_init(&a, p, count);
	trial_init(&b, p, count);
	for (uint32_t i = 0; i < count; i++)
		a.stages[i].queued_count = b.stages[i].queued_count = 1;
	uint32_t first = trial_pick(&a);

	for (uint32_t i = 0; i < 3; i++)
		(void)trial_pick(&a);
	assert(trial_pick(&b) == first);
	trial_release(&a);
	trial_release(&b);
}

static void test_cohort_sweeps_as_a_wave(void)
{
	static const uint32_t wave[] = { 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1 };
	struct trial t;

	trial_init(&t, policy_find("cohort"), 4);
	for (uint32_t i = 0; i < sizeof(wave) / sizeof(wave[0]); i++) {
		for (uint32_t s = 0; s < 4; s++)
			t.stages[s].queued_count = 7;
		assert(trial_pick(&t) == wave[i]);
	}
	trial_release(&t);
}

static void test_cohort_passes_empty_stages_on_its_way(void)
{
	struct trial t;

	trial_init(&t, policy_find("cohort"), 4);
	t.stages[2].queued_count = 1;
	assert(trial_visit(&t) == 2); /* forward: 3 is next, then back */
	t.stages[0].queued_count = 1;
	t.stages[1].queued_count = 1;
	assert(trial_visit(&t) == 1);
	assert(trial_visit(&t) == 0);
	t.stages[0].queued_count = 1; /* the wave has turned: 1 2 3 2 1 0 */
	t.stages[3].queued_count = 1;
	assert(trial_visit(&t) == 3);
	assert(trial_visit(&t) == 0);
	trial_release(&t);
}

static void test_srpt_restarts_at_the_end(void)
{
	struct trial t;

	trial_init(&t, policy_find("srpt"), 4);
	for (uint32_t s = 0; s < 4; s++)
		t.stages[s].queued_count = 2;
	assert(trial_visit(&t) == 3);
	assert(trial_visit(&t) == 2);
	t.stages[3].queued_count = 1; /* what stage 2 sent on */
	assert(trial_visit(&t) == 3);
	assert(trial_visit(&t) == 1);
	t.stages[2].queued_count = 1;
	assert(trial_visit(&t) == 2);
	assert(trial_visit(&t) == 0);
	trial_release(&t);
}

static void test_every_policy_is_described_and_found(void)
{
	for (const struct policy *const *p = policy_list; *p != NULL; p++) {
		assert((*p)->name[0] != '\0' && (*p)->summary[0] != '\0');
		assert(strchr((*p)->summary, '\n') == NULL);
		/* Fails too when two have one name. */
		assert(policy_find((*p)->name) == *p);
		assert(((*p)->pick == NULL) ==
		       ((*p)->workers == POLICY_WORKERS_CALLER));
	}
	assert(policy_list[0] != NULL);
	assert(policy_find("") == NULL);
	assert(policy_find("cohor") == NULL);
	assert(policy_find("cohorts") == NULL);
	assert(policy_find("COHORT") == NULL);
}

int main(void)
{
	test_every_policy_is_described_and_found();
	each_policy_that_picks(test_never_sleeps_on_work);
	each_policy_that_picks(test_sleeps_when_nothing_waits);
	each_policy_that_picks(test_serves_every_stage_of_a_steady_flow);
	each_policy_that_picks(test_states_are_independent);
	test_cohort_sweeps_as_a_wave();
	test_cohort_passes_empty_stages_on_its_way();
	test_srpt_restarts_at_the_end();
	return 0;
}
