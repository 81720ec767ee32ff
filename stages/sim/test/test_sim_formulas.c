/* SPDX-License-Identifier: MIT */
/*
 * Promise: at one stage the simulator agrees with queueing theory, wherever
 * that has an exact answer; so it applies the given disciplines correctly.
 */
#include "stages/sim/test/formula.h"
#include "stages/sim/test/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void test_mm1(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 1, RATE);
	trial_run(&t);
	formula_expect("M/M/1 wait", trial_wait_s(&t),
		       formula_erlang_c_wait_s(1, LOAD), 0.04);
	formula_expect("M/M/1 response", trial_response_s(&t),
		       formula_erlang_c_wait_s(1, LOAD) + SERVICE_S, 0.04);
	/* Little 1961. */
	const struct sim_stage_stats *a = &t.result.stages[0];

	formula_expect("M/M/1 queue, by Little's law", a->queued_mean,
		       (double)a->arrived_count / (double)t.result.span_ns *
			       1e9 * trial_wait_s(&t),
		       0.001);
	trial_release(&t);
}

static void test_mmc(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 4, 4 * RATE);
	trial_run(&t);
	formula_expect("M/M/4 wait", trial_wait_s(&t),
		       formula_erlang_c_wait_s(4, LOAD), 0.04);
	trial_release(&t);
}

/* Pollaczek 1930, Khinchine 1932: E[W] = lambda E[S^2] / (2 (1 - rho)). */
static void test_mg1(void)
{
	struct trial t;
	double second_s2 = exp(1.0) * SERVICE_S * SERVICE_S;

	/* The median that makes the mean 100: 100 / exp(1 / 2). */
	trial_init(&t,
		   ONE_STAGE("{\"kind\": \"lognormal\", "
			     "\"median\": 60.653066, \"sigma\": 1}"),
		   1, RATE);
	trial_run(&t);
	formula_expect("M/G/1 wait", trial_wait_s(&t),
		       RATE * second_s2 / (2 * (1 - LOAD)), 0.05);
	trial_release(&t);
}

/*
 * Last come first served without preemption: the mean wait is that of first
 * come first served, and its second moment is 1 / (1 - rho) times as large
 * (Takacs, "Delay distributions for one line with Poisson input, general
 * holding times, and various orders of service", Bell System Technical Journal
 * 42, 1963).
 */
static void test_lcfs(void)
{
	struct trial t;
	double mean_s = RATE * SERVICE_S * SERVICE_S / (2 * (1 - LOAD));
	double second_s2 = 2 * mean_s * mean_s +
			   /* Second moment of the wait with FCFS. */
			   RATE * pow(SERVICE_S, 3) / (3 * (1 - LOAD));
	double sum_s2 = 0;

	trial_init(&t, ONE_STAGE("100"), 1, RATE);
	t.schedule.discipline.kind = DISCIPLINE_LCFS;
	trial_run(&t);
	for (uint64_t i = 0; i < t.result.request_count; i++)
		sum_s2 += pow((double)t.result.requests[i].response_ns / 1e9 -
				      SERVICE_S,
			      2);
	formula_expect("M/D/1 LCFS wait", trial_wait_s(&t), mean_s, 0.03);
	formula_expect("M/D/1 LCFS wait, second moment",
		       sum_s2 / (double)t.result.request_count,
		       second_s2 / (1 - LOAD), 0.08);
	trial_release(&t);
}

/*
 * For exponential service times, with their mean as the unit: P(S <= x); and
 * below, load and second moment of the times up to x.
 */
static double share_up_to(double x)
{
	return 1 - exp(-x);
}

static double load_up_to(double x)
{
	return LOAD * (1 - exp(-x) * (1 + x));
}

static double second_up_to(double x)
{
	return 2 - exp(-x) * (x * x + 2 * x + 2);
}

/*
 * Shortest job first without preemption (Phipps, "Machine repair as a priority
 * waiting-line problem", Operations Research 4, 1956, after Cobham 1954):
 * E[W(x)] = lambda E[S^2] / (2 (1 - load_up_to(x))^2).
 */
static void test_shortest_job_first(void)
{
	struct trial t;
	double wait = 0;

	for (double x = 0; x < 40; x += 0.001)
		wait += (share_up_to(x + 0.001) - share_up_to(x)) * LOAD * 2 /
			(2 * pow(1 - load_up_to(x + 0.0005), 2));
	trial_init(&t, ONE_STAGE(EXPONENTIAL), 1, RATE);
	t.schedule.discipline = (struct discipline){
		.kind = DISCIPLINE_SRPT,
		.ageing = 1e9, /* so that birth does not count */
	};
	trial_run(&t);
	formula_expect("M/M/1 shortest job first, wait", trial_wait_s(&t),
		       wait * SERVICE_S, 0.03);
	trial_release(&t);
}

/*
 * Shortest remaining processing time (Schrage and Miller, "The queue M/G/1 with
 * the shortest remaining processing time discipline", Operations Research 14,
 * 1966).  The limit of paused jobs is hardly ever reached.
 */
static void test_srpt(void)
{
	struct trial t;
	double response = 0, served = 0;

	for (double x = 0; x < 40; x += 0.001) {
		double middle = x + 0.0005;
		double waits = LOAD *
			       (second_up_to(middle) +
				middle * middle * exp(-middle)) /
			       (2 * pow(1 - load_up_to(middle), 2));

		served += 0.001 / (1 - load_up_to(middle));
		response += (share_up_to(x + 0.001) - share_up_to(x)) *
			    (waits + served);
	}
	trial_init(&t, ONE_STAGE(EXPONENTIAL), 1, RATE);
	t.schedule.discipline = (struct discipline){
		.kind = DISCIPLINE_SRPT,
		.ageing = 1e9,
	};
	t.schedule.slice_ns = t.config.pause_gap_ns = 1000;
	trial_run(&t);
	formula_expect("M/M/1 SRPT, response", trial_response_s(&t),
		       response * SERVICE_S, 0.04);
	trial_release(&t);
}

/*
 * Processor sharing: E[T] = E[S] / (1 - rho), whatever the distribution
 * (Kleinrock, "Time-shared systems: a theoretical treatment", JACM 14, 1967;
 * Sakata, Noguchi and Oizumi 1971).  On c cores with exponential service the
 * number of jobs is that of M/M/c.
 */
static void test_processor_sharing(void)
{
	struct trial t;

	trial_init(&t,
		   ONE_STAGE("{\"kind\": \"lognormal\", "
			     "\"median\": 60.653066, \"sigma\": 1}"),
		   1, RATE);
	t.schedule.policy = policy_find("thread-per-connection");
	trial_run(&t);
	formula_expect("M/G/1 processor sharing, response",
		       trial_response_s(&t), SERVICE_S / (1 - LOAD), 0.04);
	trial_release(&t);

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 4, 4 * RATE);
	t.schedule.policy = policy_find("thread-per-connection");
	trial_run(&t);
	formula_expect("M/M/4 processor sharing, response",
		       trial_response_s(&t),
		       formula_erlang_c_wait_s(4, LOAD) + SERVICE_S, 0.02);
	trial_release(&t);
}

/*
 * With a short cutoff, requests share the core (Harizopoulos and Ailamaki, in
 * Gordon, UCAM-CL-TR-781, section 2.4.2).  At this load it is rare that more
 * requests are under way than may be paused.
 */
static void test_cutoff_is_processor_sharing(void)
{
	struct trial t;

	trial_init(&t,
		   ONE_STAGE("{\"kind\": \"lognormal\", "
			     "\"median\": 60.653066, \"sigma\": 1}"),
		   1, 0.5 / SERVICE_S);
	t.schedule.regime = (struct regime){ REGIME_CUTOFF, 5000 };
	t.config.pause_gap_ns = 5000;
	trial_run(&t);
	formula_expect("M/G/1 cutoff, response", trial_response_s(&t),
		       SERVICE_S / (1 - 0.5), 0.04);
	trial_release(&t);
}

int main(void)
{
	test_mm1();
	test_mmc();
	test_mg1();
	test_lcfs();
	test_shortest_job_first();
	test_srpt();
	test_processor_sharing();
	test_cutoff_is_processor_sharing();
	return 0;
}
