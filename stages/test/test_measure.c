/* SPDX-License-Identifier: MIT */
/*
 * Promise: the means follow what is counted, forget with a time constant of a
 * second, and stay 0 until something is known.
 */
#include "stages/stats.h"

#include "base/test/check.h"
#include "stages/stage.h"
#include "stages/tally.h"

#include <math.h>

#define START_NS UINT64_C(7000000000)

/* A stage on a clock of its own. */
struct trial {
	struct measure measure;
	struct measure_totals totals;
	struct stage_view view;
	uint64_t now_ns;
	uint32_t worker_count;
};

static struct trial trial_begin(void)
{
	return (struct trial){ .now_ns = START_NS, .worker_count = 1 };
}

static void trial_update(struct trial *t)
{
	measure_update(&t->measure, &t->totals, t->now_ns, t->worker_count,
		       &t->view);
}

/*
 * Make this number of updates, with `events` events of `service_ns` each
 * between two updates.
 */
static void trial_run(struct trial *t, uint32_t updates, uint64_t events,
		      uint64_t service_ns)
{
	for (uint32_t i = 0; i < updates; i++) {
		t->totals.arrived_count += events;
		t->totals.handled_count += events;
		t->totals.service_ns += events * service_ns;
		t->totals.switch_count += events > 0;
		t->totals.switch_ns += events > 0 ? service_ns / 10 : 0;
		t->now_ns += MEASURE_INTERVAL_NS;
		trial_update(t);
	}
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b);
}

static void test_the_first_call_only_begins(void)
{
	struct trial t = trial_begin();

	t.totals = (struct measure_totals){ 1000, 900, 800000, 0, 70, 60000 };
	trial_update(&t);
	CHECK_NUMBER(t.view.arrivals_per_s, ==, 0);
	CHECK_NUMBER(t.view.service_ns, ==, 0);
	CHECK_NUMBER(t.view.switch_ns, ==, 0);
	/* Counts from before the first update are no part of a rate. */
	trial_run(&t, 1, 2, 500);
	CHECK(is_near(t.view.arrivals_per_s, 40));
	CHECK(is_near(t.view.service_ns, 500));
	CHECK(is_near(t.view.switch_ns, 50));
}

static void test_unknown_stays_zero(void)
{
	struct trial t = trial_begin();

	trial_update(&t);
	trial_run(&t, 10, 0, 0);
	CHECK_NUMBER(t.view.arrivals_per_s, ==, 0);
	CHECK_NUMBER(t.view.service_ns, ==, 0);
	CHECK_NUMBER(t.view.switch_ns, ==, 0);
	/* Arrived, not handled. */
	t.totals.arrived_count = 5;
	t.now_ns += MEASURE_INTERVAL_NS;
	trial_update(&t);
	CHECK(is_near(t.view.arrivals_per_s, 100));
	CHECK_NUMBER(t.view.service_ns, ==, 0);
	CHECK_NUMBER(t.view.switch_ns, ==, 0);
}

static void test_steady_rates_are_exact(void)
{
	struct trial t = trial_begin();

	trial_update(&t);
	trial_run(&t, 3, 10, 2000);
	CHECK(is_near(t.view.arrivals_per_s, 200));
	CHECK(is_near(t.view.service_ns, 2000));
	CHECK(is_near(t.view.switch_ns, 200));
}

static void test_workers_share_the_arrivals(void)
{
	struct trial t = trial_begin();

	t.worker_count = 4;
	trial_update(&t);
	trial_run(&t, 3, 10, 2000);
	CHECK(is_near(t.view.arrivals_per_s, 50));
	CHECK(is_near(t.view.service_ns, 2000));
}

/* After a second of a new value, 1/e of the old one is left. */
static void test_forgets_with_a_time_constant_of_a_second(void)
{
	const uint32_t updates = (uint32_t)(1000000000 / MEASURE_INTERVAL_NS);
	double left = exp(-1);
	struct trial t = trial_begin();

	trial_update(&t);
	trial_run(&t, 5, 10, 2000);
	trial_run(&t, updates, 20, 5000);
	CHECK(is_near(t.view.arrivals_per_s, 400 - 200 * left));
	CHECK(is_near(t.view.service_ns, 5000 - 3000 * left));
	CHECK(is_near(t.view.switch_ns, 500 - 300 * left));
	/* The result is the same, however often the means are updated. */
	struct trial once = trial_begin();

	trial_update(&once);
	trial_run(&once, 5, 10, 2000);
	once.totals.arrived_count += 400;
	once.totals.handled_count += 400;
	once.totals.service_ns += UINT64_C(400) * 5000;
	once.now_ns += 1000000000;
	trial_update(&once);
	CHECK(is_near(once.view.arrivals_per_s, t.view.arrivals_per_s));
	CHECK(is_near(once.view.service_ns, t.view.service_ns));
}

static void test_arrivals_decay_and_service_stays(void)
{
	struct trial t = trial_begin();

	trial_update(&t);
	trial_run(&t, 5, 10, 2000);
	trial_run(&t, 20 * 20, 0, 0);
	CHECK_NUMBER(t.view.arrivals_per_s, <, 200 * 1e-8);
	CHECK(is_near(t.view.service_ns, 2000));
	CHECK(is_near(t.view.switch_ns, 200));
	trial_run(&t, 2000 * 20, 0, 0);
	CHECK_NUMBER(t.view.arrivals_per_s, >=, 0);
}

static void test_a_clock_that_stands_changes_nothing(void)
{
	struct trial t = trial_begin();

	trial_update(&t);
	trial_run(&t, 1, 10, 2000);
	t.totals.arrived_count += 10;
	trial_update(&t);
	t.now_ns--;
	trial_update(&t);
	CHECK(is_near(t.view.arrivals_per_s, 200));
	/* The ten events are counted when time goes on. */
	t.now_ns += 1;
	trial_run(&t, 1, 0, 0);
	CHECK(is_near(t.view.arrivals_per_s, 200));
}

static void test_leaves_the_queue_alone(void)
{
	struct trial t = trial_begin();

	t.view.queued_count = 42;
	trial_update(&t);
	trial_run(&t, 2, 10, 2000);
	CHECK_NUMBER(t.view.queued_count, ==, 42);
}

int main(void)
{
	test_the_first_call_only_begins();
	test_unknown_stays_zero();
	test_steady_rates_are_exact();
	test_workers_share_the_arrivals();
	test_forgets_with_a_time_constant_of_a_second();
	test_arrivals_decay_and_service_stays();
	test_a_clock_that_stands_changes_nothing();
	test_leaves_the_queue_alone();
	return 0;
}
