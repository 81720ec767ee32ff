/* SPDX-License-Identifier: MIT */
/*
 * Promise: each policy visits stages in the order of its publication, except
 * for the deviations that the head of its file names.  No threads.
 */
#include "stages/test/trial.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

enum { TABLE = 144 };

static void test_cohort_sweeps_as_a_wave(void)
{
	static const uint32_t wave[] = { 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1 };
	struct trial t;

	trial_init(&t, policy_find("cohort"), 4);
	for (uint32_t i = 0; i < ARRAY_SIZE(wave); i++) {
		for (uint32_t s = 0; s < 4; s++)
			t.stages[s].queued_count = 7;
		CHECK_NUMBER(trial_pick(&t), ==, wave[i]);
	}
	trial_release(&t);
}

static void test_cohort_passes_empty_stages_on_its_way(void)
{
	struct trial t;

	trial_init(&t, policy_find("cohort"), 4);
	t.stages[2].queued_count = 1;
	CHECK_NUMBER(trial_visit(&t), ==,
		     2); /* forward: 3 is next, then back */
	t.stages[0].queued_count = 1;
	t.stages[1].queued_count = 1;
	CHECK_NUMBER(trial_visit(&t), ==, 1);
	CHECK_NUMBER(trial_visit(&t), ==, 0);
	t.stages[0].queued_count = 1; /* the wave has turned: 1 2 3 2 1 0 */
	t.stages[3].queued_count = 1;
	CHECK_NUMBER(trial_visit(&t), ==, 3);
	CHECK_NUMBER(trial_visit(&t), ==, 0);
	trial_release(&t);
}

static void test_srpt_restarts_at_the_end(void)
{
	struct trial t;

	trial_init(&t, policy_find("srpt"), 4);
	for (uint32_t s = 0; s < 4; s++)
		t.stages[s].queued_count = 2;
	CHECK_NUMBER(trial_visit(&t), ==, 3);
	CHECK_NUMBER(trial_visit(&t), ==, 2);
	t.stages[3].queued_count = 1; /* sent on by stage 2 */
	CHECK_NUMBER(trial_visit(&t), ==, 3);
	CHECK_NUMBER(trial_visit(&t), ==, 1);
	t.stages[2].queued_count = 1;
	CHECK_NUMBER(trial_visit(&t), ==, 2);
	CHECK_NUMBER(trial_visit(&t), ==, 0);
	trial_release(&t);
}

/* The stages that a blind policy names; `found`: '1' for visits that find. */
static void expect_blind(struct trial *t, const char *found, const char *stages)
{
	t->view.is_blind = true;
	for (uint32_t i = 0; i < t->view.stage_count; i++)
		t->stages[i].queued_count = 1;
	t->view.has_found = false;
	for (; *found != '\0'; found++, stages++) {
		CHECK_NUMBER(trial_pick(t), ==, (uint32_t)(*stages - '0'));
		t->view.has_found = *found == '1';
	}
}

static void test_blind_orders(void)
{
	static const double service_ns[] = { 20, 5, 30, 10 };
	struct trial t;

	trial_init(&t, policy_find("cohort"), 4);
	expect_blind(&t, "01100101000", "01232101232");
	trial_release(&t);
	/* Back from the end; after an event, again from the end. */
	trial_init(&t, policy_find("srpt"), 4);
	expect_blind(&t, "0000010110010", "3210323233213");
	trial_release(&t);
	/* The slowest first; after an event, the slowest again. */
	trial_init(&t, policy_find("dbr"), 4);
	for (uint32_t s = 0; s < 4; s++)
		t.stages[s].service_ns = service_ns[s];
	expect_blind(&t, "0000010110010", "2031202022032");
	/* New rates count after a whole round without an event. */
	t.stages[3].service_ns = 40;
	expect_blind(&t, "0000", "0313");
	trial_release(&t);
}

/* Set the loads of the first stages. */
static void trial_measure(struct trial *t, const double *loads, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		t->stages[i].service_ns = 2e6;
		t->stages[i].arrivals_per_s = loads[i] * 500;
	}
	t->view.measured_count++;
}

/* The polling table, as a worker goes through it if all stages have work. */
static void trial_table(struct trial *t, uint32_t table[TABLE],
			uint32_t visits[TRIAL_STAGES])
{
	memset(visits, 0, TRIAL_STAGES * sizeof(*visits));
	for (uint32_t i = 0; i < t->view.stage_count; i++)
		t->stages[i].queued_count = 1;
	for (uint32_t i = 0; i < TABLE; i++) {
		table[i] = trial_pick(t);
		CHECK_NUMBER(table[i], <, t->view.stage_count);
		visits[table[i]]++;
	}
}

/*
 * The longest distance from a visit of a stage to its next one, in the table as
 * a circle.
 */
static uint32_t longest_gap(const uint32_t table[TABLE], uint32_t stage)
{
	uint32_t gap = 0, longest = 0;

	for (uint32_t i = 0; i < 2 * TABLE; i++) {
		gap++;
		if (table[i % TABLE] != stage)
			continue;
		longest = gap > longest && i >= TABLE ? gap : longest;
		gap = 0;
	}
	return longest;
}

static void test_mg1_has_equal_shares_before_measurements(void)
{
	uint32_t table[TABLE], visits[TRIAL_STAGES];
	struct trial t;

	trial_init(&t, policy_find("mg1"), 5);
	trial_table(&t, table, visits);
	for (uint32_t i = 0; i < 5; i++)
		CHECK(visits[i] == 28 || visits[i] == 29);
	trial_release(&t);
}

/*
 * Worked out by hand.  Five stages with 100 events per second and these 95th
 * percentiles, in ms; the means and the costs of switching do not matter:
 *
 *	5    rho 0.5           sqrt(0.5 x 0.5)      0.5000
 *	1    rho 0.1           sqrt(0.1 x 0.9)      0.3000
 *	0.2  rho 0.02          sqrt(0.02 x 0.98)    0.1400
 *	20   rho 2, so 0.99    sqrt(0.99 x 0.01)    0.0995
 *	0    rho 0, so 0.005   sqrt(0.005 x 0.995)  0.0705; the sum is 1.1100
 *
 * Of 144 visits: 64.86, 38.92, 18.16, 12.91 and 9.15.
 */
static void test_mg1_is_that_of_the_thesis(void)
{
	static const double p95_ms[] = { 5, 1, 0.2, 20, 0 };
	static const uint32_t expected[] = { 65, 39, 18, 13, 9 };

	for (int gated = 0; gated < 2; gated++) {
		uint32_t table[TABLE], visits[TRIAL_STAGES];
		struct trial t;

		trial_init(&t, policy_find("mg1"), 5);
		for (uint32_t i = 0; i < 5; i++) {
			t.stages[i].is_gated = gated == 1;
			t.stages[i].arrivals_per_s = 100;
			t.stages[i].service_ns = 1e5 * (i + 1);
			t.stages[i].service_p95_ns = p95_ms[i] * 1e6;
			t.stages[i].switch_ns = 1000 * (i + 1);
		}
		t.view.measured_count++;
		trial_table(&t, table, visits);
		for (uint32_t i = 0; i < 5; i++)
			CHECK_NUMBER(visits[i], ==, expected[i]);
		trial_release(&t);
	}
}

/* Worked out by hand from Boxma's formulas. */
static void test_mg1_visits_by_load_and_switching(void)
{
	static const double loads[] = { 0.8, 0.2 };
	static const struct {
		bool is_gated[2];
		double switch_ns[2];
		uint32_t visits[2];
	} cases[] = {
		{ { false, false }, { 0, 0 }, { 72, 72 } },
		{ { true, true }, { 0, 0 }, { 102, 42 } },
		{ { true, false }, { 0, 0 }, { 108, 36 } },
		{ { false, false }, { 4000, 1000 }, { 48, 96 } },
		{ { true, true }, { 3000, 2000 }, { 96, 48 } },
		/*
		 * A cost that is not known counts as that of the other stage.
		 */
		{ { false, false }, { 4000, 0 }, { 72, 72 } },
	};

	for (uint32_t c = 0; c < ARRAY_SIZE(cases); c++) {
		uint32_t table[TABLE], visits[TRIAL_STAGES];
		struct trial t;

		check_case("cases[%zu]", (size_t)c);
		trial_init(&t, policy_find("mg1-boxma"), 2);
		for (uint32_t i = 0; i < 2; i++) {
			t.stages[i].is_gated = cases[c].is_gated[i];
			t.stages[i].switch_ns = cases[c].switch_ns[i];
		}
		trial_measure(&t, loads, 2);
		trial_table(&t, table, visits);
		CHECK_NUMBER(visits[0], ==, cases[c].visits[0]);
		CHECK_NUMBER(visits[1], ==, cases[c].visits[1]);
		trial_release(&t);
	}
}

static void test_mg1_visits_are_evenly_spaced(void)
{
	static const double loads[] = { 0.4, 0.1, 0.25, 0, 0.01 };
	uint32_t table[TABLE], visits[TRIAL_STAGES];
	struct trial t;

	trial_init(&t, policy_find("mg1-boxma"), 5);
	trial_measure(&t, loads, 5);
	trial_table(&t, table, visits);
	CHECK_NUMBER(visits[3], ==, 1); /* without load, still one visit */
	for (uint32_t i = 0; i < 5; i++)
		CHECK_NUMBER(longest_gap(table, i) * visits[i], <, 2 * TABLE);
	trial_release(&t);
}

/* Itai and Rosberg's rule, by sorting. */
static void test_mg1_spaces_by_the_golden_ratio(void)
{
	const double golden = (1 + sqrt(5)) / 2;
	static const double loads[] = { 0.8, 0.2 };
	uint32_t table[TABLE], visits[TRIAL_STAGES];
	struct trial t;

	trial_init(&t, policy_find("mg1-boxma"), 2);
	t.stages[0].is_gated = t.stages[1].is_gated = true;
	trial_measure(&t, loads, 2);
	trial_table(&t, table, visits);
	for (uint32_t k = 0; k < TABLE; k++) {
		uint32_t place = 0;

		for (uint32_t other = 0; other < TABLE; other++)
			place += fmod(other / golden, 1) < fmod(k / golden, 1);
		CHECK_NUMBER(table[place], ==, (k < visits[0] ? 0 : 1));
	}
	trial_release(&t);
}

static void test_mg1_leaves_out_what_is_no_measurement(void)
{
	static const double loads[] = { 0.8, 0.2, NAN, -1 };
	uint32_t table[TABLE], visits[TRIAL_STAGES];
	struct trial t;

	trial_init(&t, policy_find("mg1-boxma"), 4);
	t.stages[0].switch_ns = 1000;
	t.stages[1].switch_ns = 0x1p-1074;
	t.stages[3].switch_ns = INFINITY;
	trial_measure(&t, loads, 4);
	trial_table(&t, table, visits);
	CHECK_NUMBER(visits[0], ==, 71);
	CHECK_NUMBER(visits[1], ==, 71);
	CHECK_NUMBER(visits[2], ==, 1);
	CHECK_NUMBER(visits[3], ==, 1);
	trial_release(&t);
}

static void test_mg1_follows_loads_that_move(void)
{
	static const double at_first[] = { 0.2, 0.2 };
	static const double nearly[] = { 0.209, 0.2 }; /* 72.6 visits */
	static const double later[] = { 0.5, 0.01 };
	uint32_t table[TABLE], visits[TRIAL_STAGES], before[TRIAL_STAGES];
	struct trial t;

	trial_init(&t, policy_find("mg1-boxma"), 2);
	trial_measure(&t, at_first, 2);
	trial_table(&t, table, before);
	trial_measure(&t, nearly, 2);
	trial_table(&t, table, visits);
	CHECK_NUMBER(visits[0], ==, before[0]);
	CHECK_NUMBER(visits[1], ==, before[1]);
	trial_measure(&t, later, 2);
	t.view.measured_count--; /* as if there was no new measurement */
	trial_table(&t, table, visits);
	CHECK_NUMBER(visits[0], ==, before[0]);
	trial_measure(&t, later, 2);
	trial_table(&t, table, visits);
	CHECK_NUMBER(visits[0], >, 4 * visits[1]);
	trial_release(&t);
}

/* Everything waits; stages are emptied in the order of `order`. */
static void expect_order(struct trial *t, const uint32_t *order)
{
	for (uint32_t i = 0; i < t->view.stage_count; i++)
		t->stages[i].queued_count = 1;
	for (uint32_t i = 0; i < t->view.stage_count; i++)
		CHECK_NUMBER(trial_visit(t), ==, order[i]);
}

static void test_dbr_prefers_the_slowest(void)
{
	static const uint32_t unknown[] = { 0, 1, 2, 3 };
	static const uint32_t known[] = { 2, 0, 3, 1 };
	static const uint32_t changed[] = { 1, 2, 0, 3 };
	static const uint32_t first_unknown[] = { 1, 2, 3, 0 };
	static const double service_ns[] = { 20, 5, 30, 20 };
	struct trial t;

	trial_init(&t, policy_find("dbr"), 4);
	expect_order(&t, unknown);
	/* Rates become known, while something waits all the time. */
	for (uint32_t s = 0; s < 4; s++)
		t.stages[s].service_ns = service_ns[s];
	expect_order(&t, known);
	/* Rates that change matter once nothing waits. */
	t.stages[1].service_ns = 40;
	expect_order(&t, known);
	CHECK_NUMBER(trial_pick(&t), ==, POLICY_IDLE);
	expect_order(&t, changed);
	t.stages[0].service_ns = NAN;
	CHECK_NUMBER(trial_pick(&t), ==, POLICY_IDLE);
	expect_order(&t, first_unknown);
	trial_release(&t);
}

static void test_dbr_restarts_at_the_slowest(void)
{
	struct trial t;

	trial_init(&t, policy_find("dbr"), 3);
	t.stages[1].service_ns = 30;
	t.stages[2].service_ns = 20;
	t.stages[0].service_ns = 10;
	t.stages[0].queued_count = 1;
	t.stages[2].queued_count = 1;
	CHECK_NUMBER(trial_visit(&t), ==, 2);
	t.stages[1].queued_count = 1;
	CHECK_NUMBER(trial_visit(&t), ==, 1);
	t.stages[1].queued_count = 1;
	t.stages[2].queued_count = 1;
	CHECK_NUMBER(trial_visit(&t), ==, 1);
	CHECK_NUMBER(trial_visit(&t), ==, 2);
	CHECK_NUMBER(trial_visit(&t), ==, 0);
	trial_release(&t);
}

static void test_color_takes_turns(void)
{
	struct trial t;

	trial_init(&t, policy_find("color"), 3);
	t.stages[0].queued_count = 9;
	for (uint32_t i = 0; i < 3; i++)
		CHECK_NUMBER(trial_pick(&t), ==, 0);
	t.stages[1].queued_count = 9;
	t.stages[2].queued_count = 9;
	for (uint32_t i = 0; i < 9; i++)
		CHECK_NUMBER(trial_pick(&t), ==, (i + 1) % 3);
	t.stages[1].queued_count = 0;
	CHECK_NUMBER(trial_pick(&t), ==, 2);
	CHECK_NUMBER(trial_pick(&t), ==, 0);
	trial_release(&t);
}

int main(void)
{
	test_cohort_sweeps_as_a_wave();
	test_cohort_passes_empty_stages_on_its_way();
	test_srpt_restarts_at_the_end();
	test_blind_orders();
	test_mg1_has_equal_shares_before_measurements();
	test_mg1_is_that_of_the_thesis();
	test_mg1_visits_by_load_and_switching();
	test_mg1_visits_are_evenly_spaced();
	test_mg1_spaces_by_the_golden_ratio();
	test_mg1_leaves_out_what_is_no_measurement();
	test_mg1_follows_loads_that_move();
	test_dbr_prefers_the_slowest();
	test_dbr_restarts_at_the_slowest();
	test_color_takes_turns();
	return 0;
}
