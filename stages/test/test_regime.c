/* SPDX-License-Identifier: MIT */
/*
 * Promise: a visit of each regime ends where table 3.1 of UCAM-CL-TR-781 says,
 * and a threshold interrupts only for a stage that has events.
 *
 * The visitor is real (the test has all of visit.c); its one queue is a count.
 */
#include "stages/visit.c"

#include "base/test/check.h"

enum { EVENTS_MAX = 1000 };

#define EVENT_NS UINT64_C(10)
#define BEGIN_NS UINT64_C(5000)

static struct toy {
	uint32_t queued, coming;
	uint64_t now_ns;
	struct event event;
} toy;

static uint32_t toy_queued(const struct visit_station *s)
{
	(void)s;
	return toy.queued;
}

static uint32_t toy_passed(const struct visit_station *s)
{
	(void)s;
	return 0;
}

static struct event *toy_pop(struct visit_station *s)
{
	(void)s;
	if (toy.queued == 0)
		return NULL;
	toy.queued--;
	return &toy.event;
}

static void toy_turn(struct visitor *v, uint32_t from, uint32_t to,
		     uint64_t gap_ns)
{
	(void)v;
	(void)from;
	(void)to;
	(void)gap_ns;
}

static const struct visit_access toy_access = {
	.queued_count = toy_queued,
	.passed_count = toy_passed,
	.pop = toy_pop,
	.turn = toy_turn,
};

static uint32_t pick_first(void *state, const struct group_view *view)
{
	(void)state;
	return view->stages[0].queued_count > 0 ? 0 : POLICY_IDLE;
}

static const struct policy policy = { .pick = pick_first };

/*
 * How many events a visit handles that finds `queued` events at a stage.  One
 * more arrives while it handles each of the first `coming` events.
 */
static uint32_t handled_at(const struct schedule *schedule, uint32_t stage,
			   uint32_t queued, uint32_t coming)
{
	struct visit_group group = { .schedule = schedule, .part_count = 1 };
	struct visit_station station = { .is_exclusive = false };
	struct visitor v = {
		.access = &toy_access,
		.group = &group,
		.station_count = 1,
		.stations = { &station },
	};
	enum visit_step step;

	visit_station_init(&station, schedule, stage, 0);
	visitor_init(&v);
	toy = (struct toy){ queued, coming, BEGIN_NS, { 0 } };
	while ((step = visitor_step(&v, toy.now_ns)) != VISIT_OVER) {
		if (step == VISIT_REST)
			return 0;
		if (step != VISIT_HANDLE)
			continue;
		toy.queued += toy.coming > 0;
		toy.coming -= toy.coming > 0;
		toy.now_ns += EVENT_NS;
		CHECK_NUMBER(v.visit.handled_count, <, EVENTS_MAX);
	}
	return v.visit.handled_count;
}

static uint32_t handled_by(const struct regime *r, uint32_t queued,
			   uint32_t coming)
{
	struct schedule schedule = { .policy = &policy, .regime = *r };

	return handled_at(&schedule, 0, queued, coming);
}

static void test_exhaustive_takes_all_that_come(void)
{
	struct regime r = { .kind = REGIME_EXHAUSTIVE };

	CHECK_NUMBER(handled_by(&r, 3, 0), ==, 3);
	CHECK_NUMBER(handled_by(&r, 3, 5), ==, 8);
	CHECK(!regime_is_gated(&r));
}

static void test_gated_takes_those_that_waited(void)
{
	struct regime r = { .kind = REGIME_GATED };

	CHECK_NUMBER(handled_by(&r, 3, 5), ==, 3);
	CHECK_NUMBER(handled_by(&r, 1, 5), ==, 1);
	CHECK_NUMBER(handled_by(&r, 0, 5), ==, 0);
	CHECK(regime_is_gated(&r));
}

static void test_n_gated_takes_at_most_n_of_them(void)
{
	struct regime r = { .kind = REGIME_N_GATED, .limit = 4 };

	CHECK_NUMBER(handled_by(&r, 9, 5), ==, 4);
	CHECK_NUMBER(handled_by(&r, 4, 5), ==, 4);
	CHECK_NUMBER(handled_by(&r, 3, 5), ==, 3);
	CHECK(regime_is_gated(&r));
	r.limit = UINT64_MAX;
	CHECK_NUMBER(handled_by(&r, 3, 5), ==, 3);
}

static void test_time_gated_ends_by_the_clock_or_empty(void)
{
	struct regime r = { .kind = REGIME_TIME_GATED, .limit = 4 * EVENT_NS };

	CHECK_NUMBER(handled_by(&r, 9, 5), ==, 4);
	CHECK_NUMBER(handled_by(&r, 2, 1), ==, 3);
	r.limit++; /* the fifth begins in time */
	CHECK_NUMBER(handled_by(&r, 9, 5), ==, 5);
	CHECK(!regime_is_gated(&r));
	r.limit = UINT64_MAX;
	CHECK_NUMBER(handled_by(&r, 9, 5), ==, 14);
}

static void test_cutoff_is_gated_and_bounds_turns(void)
{
	struct regime r = { .kind = REGIME_CUTOFF, .limit = 70 };
	struct visit v;

	set_regime(&v, &r, 3, BEGIN_NS);
	CHECK_NUMBER(v.cutoff_ns, ==, 70);
	CHECK_NUMBER(handled_by(&r, 3, 5), ==, 3);
	CHECK(regime_is_gated(&r));
}

static void test_turns_have_no_bound_without_a_cutoff(void)
{
	for (enum regime_kind k = REGIME_EXHAUSTIVE; k < REGIME_CUTOFF; k++) {
		struct regime r = { .kind = k, .limit = 70 };
		struct visit v;

		set_regime(&v, &r, 3, BEGIN_NS);
		CHECK_NUMBER(v.cutoff_ns, ==, UINT64_MAX);
	}
}

static void test_a_stage_may_have_its_own(void)
{
	struct schedule s = { .policy = &policy,
			      .regime = { REGIME_GATED, 0 },
			      .rules.own_regimes = 1u << 1 | 1u << 31 };

	s.rules.regimes[1] = (struct regime){ REGIME_N_GATED, 2 };
	s.rules.regimes[2] =
		(struct regime){ REGIME_N_GATED, 1 }; /* not its own */
	s.rules.regimes[31] = (struct regime){ REGIME_EXHAUSTIVE, 0 };
	CHECK_NUMBER(handled_at(&s, 0, 3, 5), ==, 3);
	CHECK_NUMBER(handled_at(&s, 1, 3, 5), ==, 2);
	CHECK_NUMBER(handled_at(&s, 2, 3, 5), ==, 3);
	CHECK_NUMBER(handled_at(&s, 31, 3, 5), ==, 8);
}

static void test_threshold_of_length(void)
{
	struct threshold t = { .queued_count = 8 };

	CHECK(!threshold_is_exceeded(&t, 8, BEGIN_NS, BEGIN_NS));
	CHECK(threshold_is_exceeded(&t, 9, BEGIN_NS, BEGIN_NS));
	/*
	 * However long ago the last visit was, a stage without events is not
	 * visited.
	 */
	CHECK(!threshold_is_exceeded(&t, 8, 0, UINT64_MAX));
}

static void test_threshold_of_time_needs_events(void)
{
	struct threshold t = { .unvisited_ns = 100 };

	CHECK(!threshold_is_exceeded(&t, 1, BEGIN_NS, BEGIN_NS + 100));
	CHECK(threshold_is_exceeded(&t, 1, BEGIN_NS, BEGIN_NS + 101));
	CHECK(!threshold_is_exceeded(&t, 0, BEGIN_NS, BEGIN_NS + 101));
	/* Visited after the caller looked at the clock. */
	CHECK(!threshold_is_exceeded(&t, 1, BEGIN_NS, BEGIN_NS - 1));
	CHECK(!threshold_is_exceeded(&t, 1000, BEGIN_NS, BEGIN_NS));
}

static void test_either_threshold_interrupts(void)
{
	struct threshold both = { .queued_count = 8, .unvisited_ns = 100 };
	struct threshold none = { 0 };

	CHECK(threshold_is_exceeded(&both, 9, BEGIN_NS, BEGIN_NS));
	CHECK(threshold_is_exceeded(&both, 1, BEGIN_NS, BEGIN_NS + 101));
	CHECK(!threshold_is_exceeded(&both, 8, BEGIN_NS, BEGIN_NS + 100));
	CHECK(!threshold_is_exceeded(&none, UINT32_MAX, 0, UINT64_MAX));
}

int main(void)
{
	test_exhaustive_takes_all_that_come();
	test_gated_takes_those_that_waited();
	test_n_gated_takes_at_most_n_of_them();
	test_time_gated_ends_by_the_clock_or_empty();
	test_cutoff_is_gated_and_bounds_turns();
	test_turns_have_no_bound_without_a_cutoff();
	test_a_stage_may_have_its_own();
	test_threshold_of_length();
	test_threshold_of_time_needs_events();
	test_either_threshold_interrupts();
	return 0;
}
