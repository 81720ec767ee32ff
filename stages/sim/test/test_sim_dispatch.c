/* SPDX-License-Identifier: MIT */
/*
 * Promise: a dispatcher chooses as its definition says, one node makes every
 * choice the same, and a fleet serves each request once.
 */
#include "stages/sim/dispatch.h"

#include "base/test/check.h"
#include "base/util.h"
#include "stages/sim/sim.h"
#include "stages/sim/test/formula.h"
#include "stages/sim/test/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 20000, WARMUP = 1000, MS = 1000000 };

#define LINE                                                                   \
	"{\"size\": {\"kind\": \"exponential\", \"mean\": 100}, "              \
	"\"stages\": ["                                                        \
	"{\"name\": \"a\", \"us_per_size\": 0.8, \"routes\": {\"b\": 1}},"     \
	"{\"name\": \"b\", \"us_per_size\": 0.2}]}"

static const enum dispatch_kind kinds[] = {
	DISPATCH_LEAST_WORK,      DISPATCH_ROUNDROBIN, DISPATCH_RANDOM,
	DISPATCH_RANDOM2,         DISPATCH_LEASTCONN,  DISPATCH_AGENT,
	DISPATCH_AGENT_LEASTCONN, DISPATCH_GUARDED,    DISPATCH_SPLIT,
};

/* Nodes with two cores, 90 % busy, unless there is a limit. */
static void init(struct trial *t, enum dispatch_kind kind, uint32_t nodes)
{
	trial_init(t, LINE, 2, nodes * 2 * 0.9 / 100e-6);
	t->schedule.policy = policy_find("srpt");
	t->schedule.discipline.kind = DISCIPLINE_SRPT;
	t->config.request_count = REQUESTS;
	t->config.warmup_count = WARMUP;
	t->config.node_count = nodes;
	t->config.dispatch = kind;
	t->config.agent_ns = MS;
	t->config.agent_half_ns = MS;
	t->config.split = 202; /* three fifths of the work is below */
}

/* The report of a run, as text; the caller frees it. */
static char *report_text(struct trial *t)
{
	struct report r = { .config = &t->config, .result = &t->result };
	char *text = NULL;
	size_t length;

	trial_run(t);
	FILE *out = open_memstream(&text, &length);

	CHECK(out != NULL);
	report_print(out, &r);
	CHECK_NUMBER(fclose(out), ==, 0);
	CHECK_NUMBER(length, >, 500);
	trial_release(t);
	return text;
}

static void test_one_node_makes_choices_equal(void)
{
	struct trial t;

	init(&t, DISPATCH_POOLED, 1);
	t.config.node_count = 0; /* as before there were fleets */
	char *before = report_text(&t);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		init(&t, kinds[i], 1);
		char *text = report_text(&t);

		CHECK_TEXT(text, before);
		free(text);
	}
	free(before);
}

/* Each request of each stage once, and the same work as on one node. */
static void test_each_request_is_served_once(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds) * 2; i++) {
		enum dispatch_kind kind = kinds[i / 2];
		struct trial t;

		if (i % 2 == 1 && !dispatch_has_limit(kind))
			continue;
		init(&t, kind, 5);
		t.config.node_limit = i % 2 == 1 ? 3 : 0;
		trial_run(&t);
		CHECK_NUMBER(t.result.request_count, ==, REQUESTS - WARMUP);
		for (uint64_t n = 0; n < t.result.request_count; n++)
			CHECK_NUMBER((double)t.result.requests[n].response_ns,
				     >=, t.result.requests[n].size * 1000 - 2);
		/* At the ends of the span some requests are under way. */
		for (uint32_t s = 0; s < 2; s++)
			CHECK_NUMBER(llabs((long long)t.result.stages[s]
						   .handled_count -
					   (REQUESTS - WARMUP)),
				     <, 500);
		CHECK_NUMBER(t.result.finished_count, ==,
			     t.result.stages[1].handled_count);
		trial_release(&t);
	}
}

/*
 * With a limit, at most that many requests are at a node; so, with one request
 * for each core, none waits there.
 */
static void test_limit_holds_requests_back(void)
{
	struct trial t;

	init(&t, DISPATCH_RANDOM2, 4);
	t.config.node_limit = 2;
	trial_run(&t);
	CHECK_NUMBER(t.result.stages[0].queued_count_max, <=, 1);
	CHECK_NUMBER(trial_wait_s(&t), <, 1e-9);
	trial_release(&t);
}

/* One at a core, and the smallest first: that is shortest job first. */
static void test_held_requests_go_by_size(void)
{
	struct trial t[2];
	double response_s[2];

	for (int i = 0; i < 2; i++) {
		init(&t[i], DISPATCH_LEASTCONN, 3);
		t[i].config.node_limit = 2;
		t[i].config.held_by_size = i == 1;
		trial_run(&t[i]);
		response_s[i] = trial_response_s(&t[i]);
		trial_release(&t[i]);
	}
	CHECK_NUMBER(response_s[1], <, 0.8 * response_s[0]);
}

/* With one request at each core, the balancer's queue is an M/M/6. */
static void test_full_nodes_make_one_queue(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 2, 6 * RATE);
	t.config.node_count = 3;
	t.config.dispatch = DISPATCH_LEASTCONN;
	t.config.node_limit = 2;
	trial_run(&t);
	formula_expect("three nodes, a request for each core, response",
		       trial_response_s(&t),
		       formula_erlang_c_wait_s(6, LOAD) + SERVICE_S, 0.02);
	trial_release(&t);
}

/* Poisson arrivals that are divided at random are Poisson: M/M/1. */
static void test_random_nodes_are_queues_of_their_own(void)
{
	struct trial t;

	trial_init(&t, ONE_STAGE(EXPONENTIAL), 1, 4 * RATE);
	t.config.node_count = 4;
	t.config.dispatch = DISPATCH_RANDOM;
	trial_run(&t);
	formula_expect("four nodes at random, wait", trial_wait_s(&t),
		       formula_erlang_c_wait_s(1, LOAD), 0.04);
	trial_release(&t);
}

static double response_s(enum dispatch_kind kind)
{
	struct trial t;
	double s;

	init(&t, kind, 8);
	trial_run(&t);
	s = trial_response_s(&t);
	trial_release(&t);
	return s;
}

static void test_knowledge_helps(void)
{
	double random = response_s(DISPATCH_RANDOM);
	double random2 = response_s(DISPATCH_RANDOM2);

	CHECK_NUMBER(random2, <, 0.8 * random);
	CHECK_NUMBER(response_s(DISPATCH_ROUNDROBIN), <, random);
	CHECK_NUMBER(response_s(DISPATCH_AGENT), <, 0.8 * random);
	CHECK_NUMBER(response_s(DISPATCH_LEAST_WORK), <, random2);
	CHECK_NUMBER(response_s(DISPATCH_LEASTCONN), <, random2);
	CHECK_NUMBER(response_s(DISPATCH_GUARDED), <, random2);
}

static void test_same_seed_same_run(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct trial a, b;

		init(&a, kinds[i], 3);
		init(&b, kinds[i], 3);
		char *first = report_text(&a), *second = report_text(&b);

		CHECK_TEXT(first, second);
		free(first);
		free(second);
	}
}

static int choose_once(enum dispatch_kind kind, uint32_t count, uint32_t limit,
		       const struct dispatch_node *nodes, double size)
{
	struct dispatch *d = dispatch_new(kind, count, limit, 50, 1);
	int node =
		dispatch_choose(d, nodes, &(struct dispatch_job){ size, size });

	dispatch_free(d);
	return node;
}

static void test_least_is_chosen_unless_full(void)
{
	const struct dispatch_node nodes[] = {
		{ .under_way_count = 2, .left_ns = 10, .weight = 100 },
		{ .under_way_count = 1, .left_ns = 30, .weight = 66 },
		{ .under_way_count = 9, .left_ns = 5, .weight = 100 },
	};
	/* A node without requests is chosen whatever its weight is. */
	const struct dispatch_node idle[] = {
		{ .under_way_count = 1, .weight = 100 },
		{ .under_way_count = 0, .weight = 1 },
	};

	CHECK_NUMBER(choose_once(DISPATCH_LEASTCONN, 3, 0, nodes, 1), ==, 1);
	/* 3 / 100 against 2 / 66 with the new request. */
	CHECK_NUMBER(choose_once(DISPATCH_AGENT_LEASTCONN, 3, 0, nodes, 1), ==,
		     0);
	CHECK_NUMBER(choose_once(DISPATCH_AGENT_LEASTCONN, 2, 0, idle, 1), ==,
		     1);
	CHECK_NUMBER(choose_once(DISPATCH_LEAST_WORK, 3, 0, nodes, 1), ==, 2);
	CHECK_NUMBER(choose_once(DISPATCH_LEAST_WORK, 3, 9, nodes, 1), ==, 0);
	CHECK_NUMBER(choose_once(DISPATCH_LEAST_WORK, 3, 2, nodes, 1), ==, 1);
	CHECK_NUMBER(choose_once(DISPATCH_LEAST_WORK, 3, 1, nodes, 1), ==,
		     DISPATCH_NONE);
	/* Sizes below 50 go to the first two nodes. */
	CHECK_NUMBER(choose_once(DISPATCH_SPLIT, 3, 0, nodes, 49), ==, 1);
	CHECK_NUMBER(choose_once(DISPATCH_SPLIT, 3, 0, nodes, 50), ==, 2);
}

static void test_random2_compares_requests_by_weight(void)
{
	/* 3 x 100 against 2 x 50: node 0 is the less loaded for its weight. */
	const struct dispatch_node nodes[] = {
		{ .under_way_count = 3, .weight = 100 },
		{ .under_way_count = 2, .weight = 50 },
	};
	struct dispatch *weighted = dispatch_new(DISPATCH_AGENT, 2, 0, 0, 1);
	struct dispatch *plain = dispatch_new(DISPATCH_RANDOM2, 2, 0, 0, 1);
	struct dispatch_job job = { 1, 1 };
	int to_second[2] = { 0, 0 };

	for (int i = 0; i < 90000; i++) {
		to_second[0] += dispatch_choose(weighted, nodes, &job);
		to_second[1] += dispatch_choose(plain, nodes, &job);
	}
	/* Only if both draws are node 1: 1/9; unless both are node 0: 3/4. */
	CHECK_NUMBER(abs(to_second[0] - 10000), <, 500);
	CHECK_NUMBER(abs(to_second[1] - 67500), <, 700);
	dispatch_free(weighted);
	dispatch_free(plain);
}

static void test_guardrails_hold_a_node_back(void)
{
	struct dispatch_node nodes[] = { { .left_ns = 0 }, { .left_ns = 1 } };
	struct dispatch *d = dispatch_new(DISPATCH_GUARDED, 2, 0, 0, 1);
	/* 100 ns is of rank 20: 1.25^20 = 86.7 and 2 x 1.25^21 = 216.8. */
	struct dispatch_job job = { 100, 100 }, other = { 1000, 1000 };

	for (int i = 0; i < 2; i++) {
		CHECK_NUMBER(dispatch_choose(d, nodes, &job), ==, 0);
		dispatch_sent(d, 0, &job);
	}
	CHECK_NUMBER(dispatch_choose(d, nodes, &job), ==, 1);
	CHECK_NUMBER(dispatch_choose(d, nodes, &other), ==, 0);
	dispatch_emptied(d, 0);
	CHECK_NUMBER(dispatch_choose(d, nodes, &job), ==, 0);
	dispatch_free(d);
}

/* 100 half / (half + left), by hand. */
static void test_agent_weights(void)
{
	static const struct {
		double left_ms;
		uint32_t weight;
	} table[] = {
		{ 0, 100 },
		{ 250, 80 },
		{ 1000, 50 },
		{ 3000, 25 },
		{ 7000, 13 } /* 12.5 */,
		{ 49000, 2 },
		{ 99000, 1 },
		{ 1e7, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		CHECK_NUMBER(
			dispatch_weight(table[i].left_ms * MS, 1000.0 * MS), ==,
			table[i].weight);
	CHECK_NUMBER(dispatch_weight(250.0 * MS, 250.0 * MS), ==, 50);
}

int main(void)
{
	test_one_node_makes_choices_equal();
	test_each_request_is_served_once();
	test_limit_holds_requests_back();
	test_held_requests_go_by_size();
	test_full_nodes_make_one_queue();
	test_random_nodes_are_queues_of_their_own();
	test_knowledge_helps();
	test_same_seed_same_run();
	test_least_is_chosen_unless_full();
	test_random2_compares_requests_by_weight();
	test_guardrails_hold_a_node_back();
	test_agent_weights();
	return 0;
}
