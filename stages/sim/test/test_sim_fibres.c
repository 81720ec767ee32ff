/* SPDX-License-Identifier: MIT */
/*
 * Promise: simulated user-level threads handle each event once, wait as one
 * queue does in theory if resources are ignored, and take no more memory than
 * there is if they are not.
 */
#include "stages/sim/test/trial.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>

static const char one[] = "{\"stages\": [{\"name\": \"a\", \"service_us\":"
			  " {\"kind\": \"exponential\", \"mean\": 1000}}]}";

/* Decode takes a picture of 10 MB, and scale gives most of it back. */
static const char pipeline[] =
	"{\"memory\": 60e6, \"stages\": ["
	"{\"name\": \"decode\", \"service_us\": 8000, \"takes\": 10e6,"
	" \"routes\": {\"scale\": 1}},"
	"{\"name\": \"scale\", \"service_us\": 2000, \"takes\": -9e6,"
	" \"routes\": {\"encode\": 1}},"
	"{\"name\": \"encode\", \"service_us\": 3000, \"takes\": -1e6}]}";

static const char sized[] =
	"{\"size\": {\"kind\": \"exponential\", \"mean\": 100}, \"stages\": ["
	"{\"name\": \"a\", \"us_per_size\": 0.5, \"takes_per_size\": 7,"
	" \"routes\": {\"b\": 1}},"
	"{\"name\": \"b\", \"us_per_size\": 0.2, \"routes\": {\"c\": 0.7}},"
	"{\"name\": \"c\", \"us_per_size\": 0.3, \"routes\": {\"a\": 0.3}}]}";

enum { REQUESTS = 20000, WARMUP = 1000 };

static void init(struct trial *t, const char *graph, uint32_t cores,
		 enum resource_rule rule)
{
	trial_init(t, graph, cores, 0);
	t->schedule.policy = policy_find("capriccio");
	t->schedule.resource_rule = rule;
	t->schedule.balance = cores > 1 ? BALANCE_REPLICATE : BALANCE_SHARED;
	t->schedule.part_count = cores;
}

static void test_each_event_is_handled_once(void)
{
	for (uint32_t rule = RESOURCES_LEARN; rule <= RESOURCES_IGNORE; rule++)
		for (uint32_t cores = 1; cores <= 3; cores += 2) {
			struct trial t;

			init(&t, sized, cores, (enum resource_rule)rule);
			t.config.request_count = REQUESTS;
			t.config.warmup_count = WARMUP;
			t.config.client_count = 20;
			t.config.switch_ns = 100;
			trial_run(&t);
			CHECK_NUMBER(t.result.request_count, ==,
				     REQUESTS - WARMUP);
			for (uint64_t i = 0; i < t.result.request_count; i++)
				CHECK_NUMBER((double)t.result.requests[i]
						     .response_ns,
					     >=,
					     t.result.requests[i].size * 700 -
						     3);
			/* Nothing is given back. */
			CHECK_NUMBER(t.result.memory_max, >,
				     100 * 7 * REQUESTS * 9 / 10);
			trial_release(&t);
		}
}

/* M/M/1: with one node both rules are first come, first served. */
static void test_one_queue_waits_as_in_theory(void)
{
	for (uint32_t rule = RESOURCES_LEARN; rule <= RESOURCES_IGNORE;
	     rule++) {
		struct trial t;

		init(&t, one, 1, (enum resource_rule)rule);
		t.config.rate_per_s = 700;
		trial_run(&t);
		CHECK_NUMBER(fabs(trial_response_s(&t) * (1000 - 700) - 1), <,
			     0.05);
		trial_release(&t);
	}
}

static int64_t run_pipeline(enum resource_rule rule)
{
	struct trial t;
	int64_t memory_max;

	init(&t, pipeline, 1, rule);
	t.config.request_count = REQUESTS;
	t.config.warmup_count = WARMUP;
	t.config.client_count = 64;
	trial_run(&t);
	memory_max = t.result.memory_max;
	/* The core is never idle: what is scarce only changes the order. */
	CHECK_NUMBER(fabs((double)t.result.finished_count /
				  ((double)t.result.span_ns / 1e9) * 0.013 -
			  1),
		     <, 0.01);
	trial_release(&t);
	return memory_max;
}

static void test_threads_take_no_more_than_there_is(void)
{
	/* The pictures of all clients at once, and one at a time. */
	CHECK_NUMBER(run_pipeline(RESOURCES_IGNORE), ==, 640000000);
	CHECK_NUMBER(run_pipeline(RESOURCES_LEARN), ==, 10000000);
}

int main(void)
{
	test_each_event_is_handled_once();
	test_one_queue_waits_as_in_theory();
	test_threads_take_no_more_than_there_is();
	return 0;
}
