/* SPDX-License-Identifier: MIT */
/*
 * Promise: with several queues, too, the simulator agrees with queueing theory;
 * so it applies the given regimes and balances correctly.
 */
#include "stages/sim/test/formula.h"

#include "base/util.h"
#include "stages/sim/test/trial.h"

#include <math.h>

static uint32_t cyclic_pick(void *state, const struct group_view *view)
{
	uint32_t *next = state;

	*next = (*next + 1) % view->stage_count;
	return *next;
}

/* The server of a classical polling system, which visits empty queues too. */
static const struct policy cyclic = {
	.name = "cyclic",
	.workers = POLICY_WORKERS_ROAM,
	.state_bytes = sizeof(uint32_t),
	.pick = cyclic_pick,
};

/* Burke 1956, Jackson 1957: each stage of a line is an M/M/1 of its own. */
static void test_pools_in_a_line(void)
{
	struct trial t;

	trial_init(&t,
		   "{\"stages\": ["
		   "{\"name\": \"a\", \"service_us\": " EXPONENTIAL
		   ", \"routes\": {\"b\": 1}},"
		   "{\"name\": \"b\", \"service_us\": " EXPONENTIAL "}]}",
		   2, RATE);
	t.schedule.policy = policy_find("pool-per-stage");
	trial_run(&t);
	formula_expect("two pools in a line, response", trial_response_s(&t),
		       2 * (formula_erlang_c_wait_s(1, LOAD) + SERVICE_S),
		       0.04);
	trial_release(&t);
}

/*
 * Round robin over c replicas makes each of them E_c/M/1: E[W] = sigma S / (1 -
 * sigma), sigma = (c a / (c a + 1 - sigma))^c with a the load (Kleinrock,
 * Queueing Systems I, 1975, section 6.4).
 */
static void test_round_robin(void)
{
	struct trial t;
	double sigma = 0.5;

	for (int i = 0; i < 1000; i++)
		sigma = pow(4 * LOAD / (4 * LOAD + 1 - sigma), 4);
	trial_init(&t, ONE_STAGE(EXPONENTIAL), 4, 4 * RATE);
	t.schedule.balance = BALANCE_REPLICATE;
	t.schedule.part_count = 4;
	trial_run(&t);
	formula_expect("four replicas, round robin, wait", trial_wait_s(&t),
		       sigma / (1 - sigma) * SERVICE_S, 0.04);
	trial_release(&t);
	/* Keys are the numbers of requests, so they go to workers in turn. */
	trial_init(&t, ONE_STAGE(EXPONENTIAL ", \"type\": \"partitioned\""), 4,
		   4 * RATE);
	trial_run(&t);
	formula_expect("four workers, keys in turn, wait", trial_wait_s(&t),
		       sigma / (1 - sigma) * SERVICE_S, 0.04);
	trial_release(&t);
}

/* However many workers or threads there are, one serves: M/M/1. */
static void test_exclusive(void)
{
	static const char *const policies[] = { "cohort", "color",
						"pool-per-stage",
						"thread-per-connection" };

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct trial t;

		trial_init(&t,
			   ONE_STAGE(EXPONENTIAL ", \"type\": \"exclusive\""),
			   4, RATE);
		t.schedule.policy = policy_find(policies[i]);
		t.schedule.pool_threads[0] = 4;
		trial_run(&t);
		formula_expect("an exclusive stage, wait", trial_wait_s(&t),
			       formula_erlang_c_wait_s(1, LOAD), 0.04);
		trial_release(&t);
	}
}

/* No replica is idle while work waits, so the number of jobs is as in M/M/4. */
static void test_stealing(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 4, 4 * RATE);
	t.schedule.balance = BALANCE_REPLICATE;
	t.schedule.part_count = 4;
	t.schedule.steal = true;
	trial_run(&t);
	formula_expect("four replicas that steal, wait", trial_wait_s(&t),
		       formula_erlang_c_wait_s(4, LOAD), 0.04);
	trial_release(&t);
}

/*
 * Each of two replicas serves one interval of sizes, with half of the work, as
 * an M/G/1 of its own (Pollaczek-Khinchine).  With the mean size as unit, the
 * work of the sizes up to x is 1 - (1 + x) e^-x, and half of it is at x =
 * 1.678.
 */
static void test_size_intervals(void)
{
	const double x = 1.6783, e = exp(-x);
	const double squares[] = { 2 - (x * x + 2 * x + 2) * e,
				   (x * x + 2 * x + 2) * e };
	const double shares[] = { 1 - e, e };
	double exact = 0;
	struct trial t;

	for (int i = 0; i < 2; i++)
		exact += shares[i] * 2 * RATE * squares[i] * SERVICE_S *
			 SERVICE_S / (2 * (1 - LOAD));
	trial_init(&t, ONE_STAGE(EXPONENTIAL), 2, 2 * RATE);
	t.schedule.balance = BALANCE_REPLICATE;
	t.schedule.part_count = 2;
	t.schedule.distribute = DISTRIBUTE_SIZE;
	trial_run(&t);
	formula_expect("two intervals of sizes, wait", trial_wait_s(&t), exact,
		       0.05);
	trial_release(&t);
}

/*
 * Symmetric cyclic polling of N queues with constant switch-over time r, mean
 * waits (Takagi, "Queuing analysis of polling models", ACM Computing Surveys
 * 20, 1988, section 2):
 *	exhaustive  (lambda E[S^2] + r (N - rho)) / (2 (1 - rho))
 *	gated       (lambda E[S^2] + r (N + rho)) / (2 (1 - rho))
 *	one each    (lambda E[S^2] + r (N + rho)) / (2 (1 - rho - lambda r))
 * with lambda and rho of all queues together.
 */
static void test_polling(void)
{
	static const struct {
		const char *name;
		struct regime regime;
		double sign; /* of rho */
		bool is_limited;
	} cases[] = {
		{ "polling, exhaustive, wait",
		  { REGIME_EXHAUSTIVE, 0 },
		  -1,
		  0 },
		{ "polling, gated, wait", { REGIME_GATED, 0 }, 1, 0 },
		{ "polling, one each, wait", { REGIME_N_GATED, 1 }, 1, 1 },
	};
	const double switch_s = 20e-6, queues = 4;
	struct trial t;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double load =
			LOAD + (cases[i].is_limited ? RATE * switch_s : 0);
		double exact = (RATE * 2 * SERVICE_S * SERVICE_S +
				switch_s * (queues + cases[i].sign * LOAD)) /
			       (2 * (1 - load));

		trial_init(&t,
			   "{\"entries\": {\"a\": 0.25, \"b\": 0.25, "
			   "\"c\": 0.25, \"d\": 0.25}, \"stages\": ["
			   "{\"name\": \"a\", \"service_us\": " EXPONENTIAL
			   "}, {\"name\": \"b\", \"service_us\": " EXPONENTIAL
			   "}, {\"name\": \"c\", \"service_us\": " EXPONENTIAL
			   "}, {\"name\": \"d\", \"service_us\": " EXPONENTIAL
			   "}]}",
			   1, RATE);
		t.schedule.policy = &cyclic;
		t.schedule.regime = cases[i].regime;
		t.config.switch_ns = 20000;
		trial_run(&t);
		formula_expect(cases[i].name, trial_wait_s(&t), exact, 0.04);
		trial_release(&t);
	}
}

/* Each request uses the only queue twice, and only one can use it at a time. */
static void test_queue_is_used_in_turn(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE("1"), 64, 0);
	t.config.client_count = 256;
	t.config.queue_ns = 100;
	trial_run(&t);
	formula_expect("64 cores at one slow queue, per second",
		       (double)t.result.finished_count /
			       (double)t.result.span_ns * 1e9,
		       1e9 / (2 * 100), 0.01);
	trial_release(&t);
}

int main(void)
{
	test_pools_in_a_line();
	test_round_robin();
	test_exclusive();
	test_stealing();
	test_size_intervals();
	test_polling();
	test_queue_is_used_in_turn();
	return 0;
}
