/* SPDX-License-Identifier: MIT */
/*
 * Promise: the simulator agrees with queueing theory, wherever that has an
 * exact answer; so it runs the disciplines, regimes and balances that it is told to.
 *
 * Tolerances are about three standard errors of the simulated mean.  A wrong
 * order of service is off by much more.
 */
#include "stages/sim/engine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REQUESTS = 400000, WARMUP = 20000, SPLIT_REQUESTS = 60000 };

#define US 1e-6

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

struct trial {
	struct model model;
	struct schedule schedule;
	struct engine_config config;
	struct engine_result result;
};

/* Cores with one queue, cohort policy, first come first served. */
static void trial_init(struct trial *t, const char *graph, uint32_t cores,
		       double rate_per_s)
{
	const char *why = NULL;

	*t = (struct trial){
		.schedule.policy = policy_find("cohort"),
		.schedule.part_count = 1,
		.config.core_count = cores,
		.config.rate_per_s = rate_per_s,
		.config.request_count = REQUESTS,
		.config.warmup_count = WARMUP,
		.config.seed = 1,
	};
	t->config.model = &t->model;
	t->config.schedule = &t->schedule;
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		t->schedule.pool_threads[i] = 1;
	assert(model_read(&t->model, graph, ".", &why));
}

static void trial_release(struct trial *t)
{
	engine_release(&t->result);
	model_release(&t->model);
}

static double response_s(const struct trial *t)
{
	double sum = 0;

	for (uint64_t i = 0; i < t->result.request_count; i++)
		sum += (double)t->result.requests[i].response_ns;
	return sum / 1e9 / (double)t->result.request_count;
}

/* In the queues of all stages, by event. */
static double wait_s(const struct trial *t)
{
	double wait_ns = 0, handled = 0;

	for (uint32_t i = 0; i < t->model.stage_count; i++) {
		wait_ns += t->result.stages[i].wait_ns;
		handled += (double)t->result.stages[i].handled_count;
	}
	return wait_ns / 1e9 / handled;
}

static void expect(const char *what, double simulated, double exact,
		   double tolerance)
{
	double off = simulated / exact - 1;

	printf("%-42s %12.6g  exact %12.6g  %+6.2f %%\n", what, simulated,
	       exact, 100 * off);
	(void)fflush(stdout);
	assert(fabs(off) <= tolerance);
}

#define ONE_STAGE(service)                                                     \
	"{\"stages\": [{\"name\": \"a\", \"service_us\": " service "}]}"

/* Of 100 us; each is used with 70 % load. */
#define EXPONENTIAL "{\"kind\": \"exponential\", \"mean\": 100}"
#define SERVICE_S (100 * US)
#define LOAD 0.7
#define RATE (LOAD / SERVICE_S)

/* Erlang 1917: mean wait of M/M/c, `load` of each server. */
static double erlang_c_wait_s(uint32_t servers, double load)
{
	double offered = servers * load;
	double blocked = 1; /* Erlang B, by recursion over servers */

	for (uint32_t i = 1; i <= servers; i++)
		blocked = offered * blocked / (i + offered * blocked);
	double waits = blocked / (1 - load * (1 - blocked));

	return waits * SERVICE_S / (servers * (1 - load));
}

static void test_mm1(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 1, RATE);
	engine_run(&t.config, &t.result);
	expect("M/M/1 wait", wait_s(&t), erlang_c_wait_s(1, LOAD), 0.04);
	expect("M/M/1 response", response_s(&t),
	       erlang_c_wait_s(1, LOAD) + SERVICE_S, 0.04);
	/* Little 1961. */
	const struct engine_stage *a = &t.result.stages[0];

	expect("M/M/1 queue, by Little's law", a->queued_mean,
	       (double)a->arrived_count / (double)t.result.span_ns * 1e9 *
		       wait_s(&t),
	       0.001);
	trial_release(&t);
}

static void test_mmc(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 4, 4 * RATE);
	engine_run(&t.config, &t.result);
	expect("M/M/4 wait", wait_s(&t), erlang_c_wait_s(4, LOAD), 0.04);
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
	engine_run(&t.config, &t.result);
	expect("M/G/1 wait", wait_s(&t), RATE * second_s2 / (2 * (1 - LOAD)),
	       0.05);
	trial_release(&t);
}

/*
 * Last come first served without preemption: mean wait as first come first
 * served, and its second moment more by 1 / (1 - rho) (Takacs, "Delay
 * distributions for one line with Poisson input, general holding times, and
 * various orders of service", Bell System Technical Journal 42, 1963).
 */
static void test_lcfs(void)
{
	struct trial t;
	double mean_s = RATE * SERVICE_S * SERVICE_S / (2 * (1 - LOAD));
	double second_s2 =
		2 * mean_s * mean_s +
		RATE * pow(SERVICE_S, 3) / (3 * (1 - LOAD)); /* of FCFS */
	double sum_s2 = 0;

	trial_init(&t, ONE_STAGE("100"), 1, RATE);
	t.schedule.discipline.kind = DISCIPLINE_LCFS;
	engine_run(&t.config, &t.result);
	for (uint64_t i = 0; i < t.result.request_count; i++)
		sum_s2 += pow((double)t.result.requests[i].response_ns / 1e9 -
				      SERVICE_S,
			      2);
	expect("M/D/1 LCFS wait", wait_s(&t), mean_s, 0.03);
	expect("M/D/1 LCFS wait, second moment",
	       sum_s2 / (double)t.result.request_count, second_s2 / (1 - LOAD),
	       0.08);
	trial_release(&t);
}

/* Of exponential service times in units of their mean: P(S <= x), the load and
 * the second moment of those up to x. */
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
	engine_run(&t.config, &t.result);
	expect("M/M/1 shortest job first, wait", wait_s(&t), wait * SERVICE_S,
	       0.03);
	trial_release(&t);
}

/*
 * Shortest remaining processing time (Schrage and Miller, "The queue M/G/1 with
 * the shortest remaining processing time discipline", Operations Research 14,
 * 1966).  Each job is split over 32 stages, between which it may lose the core.
 */
static void test_srpt(void)
{
	static char graph[4096];
	struct trial t;
	double response = 0, served = 0;
	size_t at = (size_t)sprintf(graph, "{\"size\": " EXPONENTIAL
					   ", \"stages\": [");

	for (int i = 0; i < STAGES_MAX; i++) {
		at += (size_t)sprintf(
			graph + at,
			"%s{\"name\": \"%d\", \"us_per_size\": 0.03125",
			i > 0 ? ", " : "", i);
		at += (size_t)(i + 1 < STAGES_MAX ?
				       sprintf(graph + at,
					       ", \"routes\": {\"%d\": 1}}",
					       i + 1) :
				       sprintf(graph + at, "}"));
	}
	strcpy(graph + at, "]}");
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
	trial_init(&t, graph, 1, RATE);
	t.schedule.policy = policy_find("color");
	t.schedule.discipline = (struct discipline){
		.kind = DISCIPLINE_SRPT,
		.ageing = 1e9,
	};
	t.config.request_count = SPLIT_REQUESTS;
	engine_run(&t.config, &t.result);
	expect("M/M/1 SRPT, response", response_s(&t), response * SERVICE_S,
	       0.04);
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
	engine_run(&t.config, &t.result);
	expect("M/G/1 processor sharing, response", response_s(&t),
	       SERVICE_S / (1 - LOAD), 0.04);
	trial_release(&t);

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 4, 4 * RATE);
	t.schedule.policy = policy_find("thread-per-connection");
	engine_run(&t.config, &t.result);
	expect("M/M/4 processor sharing, response", response_s(&t),
	       erlang_c_wait_s(4, LOAD) + SERVICE_S, 0.02);
	trial_release(&t);
}

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
	engine_run(&t.config, &t.result);
	expect("two pools in a line, response", response_s(&t),
	       2 * (erlang_c_wait_s(1, LOAD) + SERVICE_S), 0.04);
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
	engine_run(&t.config, &t.result);
	expect("four replicas, round robin, wait", wait_s(&t),
	       sigma / (1 - sigma) * SERVICE_S, 0.04);
	trial_release(&t);
}

/* No replica is idle while work waits, so the number of jobs is as in M/M/4. */
static void test_stealing(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 4, 4 * RATE);
	t.schedule.balance = BALANCE_REPLICATE;
	t.schedule.part_count = 4;
	t.schedule.steal = true;
	engine_run(&t.config, &t.result);
	expect("four replicas that steal, wait", wait_s(&t),
	       erlang_c_wait_s(4, LOAD), 0.04);
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
	const double switch_s = 20 * US, queues = 4;
	struct trial t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
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
		engine_run(&t.config, &t.result);
		expect(cases[i].name, wait_s(&t), exact, 0.04);
		trial_release(&t);
	}
}

/* Each request uses the one queue twice, and nobody else may meanwhile. */
static void test_queue_is_used_in_turn(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE("1"), 64, 0);
	t.config.client_count = 256;
	t.config.queue_ns = 100;
	engine_run(&t.config, &t.result);
	expect("64 cores at one slow queue, per second",
	       (double)t.result.finished_count / (double)t.result.span_ns * 1e9,
	       1e9 / (2 * 100), 0.01);
	trial_release(&t);
}

static void test_same_seed_same_run(void)
{
	struct trial a, b;

	trial_init(&a, ONE_STAGE(EXPONENTIAL), 2, RATE);
	trial_init(&b, ONE_STAGE(EXPONENTIAL), 2, RATE);
	a.config.request_count = b.config.request_count = WARMUP + 1000;
	engine_run(&a.config, &a.result);
	engine_run(&b.config, &b.result);
	for (uint64_t i = 0; i < a.result.request_count; i++)
		assert(a.result.requests[i].response_ns ==
		       b.result.requests[i].response_ns);
	assert(a.result.request_count == 1000);
	trial_release(&a);
	trial_release(&b);
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
	test_pools_in_a_line();
	test_round_robin();
	test_stealing();
	test_polling();
	test_queue_is_used_in_turn();
	test_same_seed_same_run();
	return 0;
}
