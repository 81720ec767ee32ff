/* SPDX-License-Identifier: MIT */
/*
 * Promise: every policy in list.h keeps the contract of policy.h, whatever is
 * measured; each_policy() tries it for every combination of empty and waiting
 * stages.  No threads.
 */
#include "stages/test/each_policy.h"
#include "stages/test/trial.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS_MAX = 1000, UNDER_WAY_MAX = 16 };

static void each_policy_that_picks(void (*test)(const struct policy *,
						uint32_t stage_count))
{
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		if ((*p)->pick == NULL)
			continue;
		/* A worker that stays sees one stage. */
		uint32_t most =
			(*p)->workers == POLICY_WORKERS_STAY ? 1 : TRIAL_STAGES;

		for (uint32_t count = 1; count <= most; count++)
			test(*p, count);
	}
}

static void test_serves_every_stage_of_a_steady_flow(const struct policy *p,
						     uint32_t count)
{
	struct trial t;
	uint32_t sent = 0, finished = 0;

	trial_init(&t, p, count);
	/*
	 * One event arrives in each turn, unless the most events are under way;
	 * each visit moves its events on.
	 */
	for (uint32_t turn = 0; turn < ROUNDS_MAX; turn++) {
		if (sent - finished < UNDER_WAY_MAX) {
			t.stages[0].queued_count++;
			sent++;
		}
		uint32_t stage = trial_pick(&t);

		CHECK_NUMBER(stage, <, count);
		uint32_t moved = t.stages[stage].queued_count;

		CHECK_NUMBER(moved, >, 0);
		t.stages[stage].queued_count = 0;
		if (stage + 1 < count)
			t.stages[stage + 1].queued_count += moved;
		else
			finished += moved;
	}
	CHECK_NUMBER(finished, >, ROUNDS_MAX / 2);
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
	CHECK_NUMBER(trial_pick(&b), ==, first);
	trial_release(&a);
	trial_release(&b);
}

static void test_any_measurement_is_survived(const struct policy *p,
					     uint32_t count)
{
	static const double odd[] = { 0,     -1,        1,        1e9,
				      1e308, 0x1p-1074, INFINITY, NAN };
	enum { ODD = ARRAY_SIZE(odd) };
	struct trial t;

	trial_init(&t, p, count);
	for (uint32_t round = 0; round < ODD * ODD * ODD; round++) {
		for (uint32_t i = 0; i < count; i++) {
			t.stages[i].arrivals_per_s = odd[(round + i) % ODD];
			t.stages[i].service_ns = odd[(round / ODD + i) % ODD];
			t.stages[i].switch_ns =
				odd[(round / ODD / ODD + i) % ODD];
			t.stages[i].queued_count = 1;
			t.stages[i].is_gated = !t.stages[i].is_gated;
		}
		t.view.measured_count++;
		for (uint32_t i = 0; i < count; i++)
			(void)trial_visit(&t); /* each once */
		CHECK_NUMBER(trial_pick(&t), ==, POLICY_IDLE);
	}
	trial_release(&t);
}

static void test_every_policy_is_found(void)
{
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		/* This also fails if two policies have the same name. */
		CHECK_NUMBER(policy_find((*p)->name), ==, *p);
	}
	CHECK(policy_list()[0] != NULL);
	CHECK(policy_find("") == NULL);
	CHECK(policy_find("cohor") == NULL);
	CHECK(policy_find("cohorts") == NULL);
	CHECK(policy_find("COHORT") == NULL);
}

static const struct policy mine = {
	.name = "mine",
	.summary = "none",
	.meaning = "None.",
	.workers = POLICY_WORKERS_CALLER,
};

static void test_own_policies_are_found(void)
{
	struct policy incomplete = mine, taken = mine, last = mine;
	uint32_t count = 0;

	incomplete.workers = POLICY_WORKERS_ROAM; /* without pick() */
	CHECK(!policy_register(&incomplete));
	incomplete = mine;
	incomplete.meaning = NULL;
	CHECK(!policy_register(&incomplete));
	taken.name = "cohort";
	CHECK(!policy_register(&taken));

	CHECK(policy_find("mine") == NULL);
	CHECK(policy_register(&mine));
	CHECK_NUMBER(policy_find("mine"), ==, &mine);
	CHECK(!policy_register(&mine));
	while (policy_list()[count] != NULL)
		count++;
	CHECK_NUMBER(policy_list()[count - 1], ==, &mine);
	for (; count < POLICIES_MAX; count++) {
		static struct policy more[POLICIES_MAX];
		static char names[POLICIES_MAX][8];

		(void)snprintf(names[count], sizeof(names[0]), "mine%u", count);
		more[count] = mine;
		more[count].name = names[count];
		CHECK(policy_register(&more[count]));
	}
	last.name = "last";
	CHECK(!policy_register(&last));
}

int main(void)
{
	test_every_policy_is_found();
	each_policy_that_picks(test_serves_every_stage_of_a_steady_flow);
	each_policy_that_picks(test_states_are_independent);
	each_policy_that_picks(test_any_measurement_is_survived);
	test_own_policies_are_found(); /* last: they stay */
	return 0;
}
