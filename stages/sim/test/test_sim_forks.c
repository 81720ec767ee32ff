/* SPDX-License-Identifier: MIT */
/*
 * Promise: a request that forks waits for all of its children, which run at the
 * same time as far as the policy lets them, in its part and with its key; two
 * queues that each get a child answer as in theory; no child is lost, and the
 * load has the work of children.
 */
#include "stages/sim/test/formula.h"
#include "stages/sim/test/trial.h"
#include "stages/test/each_policy.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "base/util.h"

enum { CORES_MAX = 4, REQUESTS = 50, MANY = 5000 };

/* Times in us, as in the graph. */
enum { FORK = 100, CHILDREN = 6, CHILD = 250, JOIN = 30, AFTER = 10 };
#define FORKING(type_of_b)                                                     \
	"{\"stages\": ["                                                       \
	"{\"name\": \"a\", \"service_us\": 100, \"forks\": {\"b\": 6},"        \
	" \"join_us\": 30, \"routes\": {\"c\": 1}},"                           \
	"{\"name\": \"b\", \"service_us\": 250,"                               \
	" \"type\": \"" type_of_b "\"},"                                       \
	"{\"name\": \"c\", \"service_us\": 10}]}"

/* One request after the other, without other requests. */
static void init(struct trial *t, const char *graph, const char *policy,
		 uint32_t cores)
{
	trial_init(t, graph, cores, 0);
	t->schedule.policy = policy_find(policy);
	t->config.client_count = 1;
	t->config.request_count = REQUESTS;
	t->config.warmup_count = 0;
}

/* All children take as long as `children`, one after the other, would. */
static void check_makespan(struct trial *t, uint64_t children)
{
	uint64_t us = FORK + children * CHILD + JOIN + AFTER;

	trial_run(t);
	for (uint64_t i = 0; i < t->result.request_count; i++)
		CHECK_NUMBER(t->result.requests[i].response_ns, ==, us * 1000);
	trial_release(t);
}

static void test_children_share_the_cores(void)
{
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		for (uint32_t cores = 1; cores <= CORES_MAX; cores++) {
			bool runs_alone =
				(*p)->workers == POLICY_WORKERS_CALLER ||
				(*p)->workers == POLICY_WORKERS_FIBRES;
			struct trial t;

			init(&t, FORKING("shared"), (*p)->name, cores);
			if ((*p)->workers == POLICY_WORKERS_FIBRES) {
				t.schedule.balance = BALANCE_REPLICATE;
				t.schedule.part_count = cores;
			}
			/* As many at once as have a core. */
			t.schedule.pool_threads[1] = cores;
			check_makespan(&t, runs_alone ? CHILDREN :
							(CHILDREN + cores - 1) /
								cores);
		}
}

/* A pool's threads share cores: six on three cores take twice as long. */
static void test_children_share_the_cores_of_a_pool(void)
{
	struct trial t;

	init(&t, FORKING("shared"), "pool-per-stage", 3);
	t.schedule.pool_threads[1] = CHILDREN;
	check_makespan(&t, CHILDREN / 3);
}

static void test_children_stay_with_their_request(void)
{
	struct trial t;

	/* In its replica, */
	init(&t, FORKING("shared"), "cohort", 2);
	t.schedule.balance = BALANCE_REPLICATE;
	t.schedule.part_count = 2;
	check_makespan(&t, CHILDREN);
	/* unless another one steals half of them; */
	init(&t, FORKING("shared"), "cohort", 2);
	t.schedule.balance = BALANCE_REPLICATE;
	t.schedule.part_count = 2;
	t.schedule.steal = true;
	check_makespan(&t, CHILDREN / 2);
	/* at a stage with keys, with one worker; */
	init(&t, FORKING("partitioned"), "cohort", 2);
	check_makespan(&t, CHILDREN);
	/* and in an exclusive stage, one at a time. */
	init(&t, FORKING("exclusive"), "cohort", 2);
	check_makespan(&t, CHILDREN);
}

/*
 * One queue gets all children, one after the other: each of nine events costs a
 * push and a pop.
 */
static void test_each_child_is_pushed(void)
{
	const uint64_t events = 1 + CHILDREN + 1 + 1, queue_ns = 70;
	struct trial t;

	init(&t, FORKING("shared"), "cohort", 1);
	t.config.queue_ns = queue_ns;
	trial_run(&t);
	CHECK_NUMBER(t.result.requests[1].response_ns, ==,
		     (FORK + CHILDREN * CHILD + JOIN + AFTER) * 1000 +
			     2 * events * queue_ns);
	trial_release(&t);
}

/*
 * Two queues M/M/1, of which each request needs both: the mean response is (12
 * - rho) / 8 of that of one queue (Nelson and Tantawi, "Approximate analysis of
 * fork/join synchronization in parallel queues", IEEE Trans. on Computers
 * 37(6), 1988, after Flatto and Hahn 1984).
 */
static void test_fork_to_two_queues(void)
{
	struct trial t;

	trial_init(&t,
		   "{\"stages\": [{\"name\": \"a\", \"service_us\": 0,"
		   " \"forks\": {\"b\": 1, \"c\": 1}},"
		   "{\"name\": \"b\", \"service_us\": " EXPONENTIAL "},"
		   "{\"name\": \"c\", \"service_us\": " EXPONENTIAL "}]}",
		   3, RATE);
	t.schedule.policy = policy_find("pool-per-stage");
	trial_run(&t);
	formula_expect("fork to two queues, response", trial_response_s(&t),
		       (12 - LOAD) / 8 * SERVICE_S / (1 - LOAD), 0.03);
	trial_release(&t);
}

static const char going_on[] =
	"{\"size\": {\"kind\": \"exponential\", \"mean\": 100}, \"stages\": ["
	"{\"name\": \"a\", \"us_per_size\": 0.1, \"forks\": {\"b\": 2, \"c\":"
	" 1}, \"join_us_per_size\": 0.2, \"routes\": {\"b\": 0.5}},"
	"{\"name\": \"b\", \"us_per_size\": 0.2, \"routes\": {\"c\": 0.5}},"
	"{\"name\": \"c\", \"us_per_size\": 0.1}]}";

/* Of each request: of `a` twice, of `b` 2.5, and of `c` 2.25 on average. */
static void check_counts(const struct trial *t)
{
	static const double events[] = { 2, 2.5, 2.25 };
	const double done = (double)t->result.request_count;
	double work_ns = 0, by_stage[STAGES_MAX];

	for (uint32_t i = 0; i < t->model.stage_count; i++) {
		const struct sim_stage_stats *s = &t->result.stages[i];

		CHECK_NUMBER((double)s->handled_count, >,
			     0.9 * events[i] * done);
		CHECK_NUMBER((double)s->handled_count, <,
			     1.1 * events[i] * done);
		work_ns += s->service_ns;
	}
	CHECK_NUMBER(work_ns, >,
		     0.9 * done * model_work_ns(&t->model, by_stage));
	CHECK_NUMBER(work_ns, <,
		     1.1 * done * model_work_ns(&t->model, by_stage));
	/* Its own work, and on each path of a child at least that of `b`. */
	for (uint64_t i = 0; i < t->result.request_count; i++)
		CHECK_NUMBER((double)t->result.requests[i].response_ns, >=,
			     t->result.requests[i].size * 500 - 5);
}

static void test_every_policy_ends_all_children(void)
{
	static const enum regime_kind regimes[] = { REGIME_EXHAUSTIVE,
						    REGIME_CUTOFF };
	static const enum discipline_kind disciplines[] = { DISCIPLINE_FCFS,
							    DISCIPLINE_STACK,
							    DISCIPLINE_SRPT };

	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		for (uint32_t i = 0; i < 2 * ARRAY_SIZE(disciplines); i++) {
			struct trial t;

			/* 80 % of two nodes with three cores. */
			trial_init(&t, going_on, 3, 0.8 * 6 / 102.5e-6);
			t.schedule.policy = *p;
			t.schedule.regime =
				(struct regime){ regimes[i % 2], 20000 };
			t.schedule.discipline.kind = disciplines[i / 2];
			t.schedule.discipline.ageing = 10;
			t.schedule.slice_ns = 10000;
			if ((*p)->workers == POLICY_WORKERS_FIBRES) {
				t.schedule.balance = BALANCE_REPLICATE;
				t.schedule.part_count = 3;
			}
			for (uint32_t s = 0; s < STAGES_MAX; s++)
				t.schedule.pool_threads[s] = 3;
			t.config.node_count = 2;
			t.config.dispatch = DISPATCH_LEAST_WORK;
			t.config.pause_gap_ns = 3000;
			t.config.queue_ns = 10;
			t.config.request_count = MANY;
			t.config.warmup_count = 0;
			trial_run(&t);
			check_counts(&t);
			trial_release(&t);
		}
}

int main(void)
{
	test_children_share_the_cores();
	test_children_share_the_cores_of_a_pool();
	test_children_stay_with_their_request();
	test_each_child_is_pushed();
	test_fork_to_two_queues();
	test_every_policy_ends_all_children();
	return 0;
}
