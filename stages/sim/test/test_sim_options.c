/* SPDX-License-Identifier: MIT */
/*
 * Promise: a command line is read completely, or refused by an error that names
 * the fault.
 */
#include "stages/sim/options.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

enum { ARGUMENTS_MAX = 32 };

#define GRAPH "--graph", SIM_GRAPHS "/image.json"

static bool parse(struct sim_options *o, struct error *error,
		  const char *const *arguments)
{
	const char *argv[ARGUMENTS_MAX + 2] = { "stages_sim" };
	int argc = 1;

	while (*arguments != NULL)
		argv[argc++] = *arguments++;
	return sim_options_parse(o, argc, (char **)argv, error);
}

static void test_load_is_a_rate(void)
{
	const char *const arguments[] = { GRAPH,
					  "--cores",
					  "4",
					  "--load",
					  "0.5",
					  "--seed",
					  "7",
					  "--requests",
					  "100",
					  "--warmup",
					  "10",
					  "--switch",
					  "3",
					  "--queue-ns",
					  "5",
					  "--policy",
					  "srpt",
					  "--json",
					  "--classes",
					  "10,20",
					  "--pause-gap",
					  "6",
					  "--discipline",
					  "srpt",
					  "--slice",
					  "9",
					  NULL };
	struct error error;
	struct sim_options o;

	CHECK(parse(&o, &error, arguments));
	/* A request has 15.33 ms of work. */
	CHECK_NUMBER(fabs(o.config.rate_per_s / (0.5 * 4 / 0.01533) - 1), <,
		     0.01);
	CHECK_NUMBER(o.config.core_count, ==, 4);
	CHECK_NUMBER(o.config.seed, ==, 7);
	CHECK_NUMBER(o.config.request_count, ==, 110);
	CHECK_NUMBER(o.config.warmup_count, ==, 10);
	CHECK_NUMBER(o.config.switch_ns, ==, 3);
	CHECK_NUMBER(o.config.queue_ns, ==, 5);
	CHECK_NUMBER(o.config.pause_gap_ns, ==, 6);
	CHECK_NUMBER(o.schedule.policy, ==, policy_find("srpt"));
	CHECK_TEXT(o.json, "-");
	CHECK_NUMBER(o.schedule.slice_ns, ==, 9000);
	CHECK_NUMBER(o.classes.bound_count, ==, 2);
	CHECK_NUMBER(o.classes.bounds[1], ==, 20);
	sim_options_release(&o);
}

/* Decoding is most of the work. */
static void test_parts_are_cut_or_given(void)
{
	const char *const cut[] = { GRAPH,         "--load", "1",
				    "--cores",     "2",      "--balance",
				    "partition=2", NULL };
	const char *const given[] = { GRAPH,         "--load",  "1",
				      "--cores",     "2",       "--balance",
				      "partition=2", "--parts", "encode=1",
				      NULL };
	struct error error;
	struct sim_options o;

	CHECK(parse(&o, &error, cut));
	for (uint32_t i = 0; i < 4; i++)
		CHECK_NUMBER(o.config.parts[i], ==, (i > 0));
	sim_options_release(&o);
	CHECK(parse(&o, &error, given));
	for (uint32_t i = 0; i < 4; i++)
		CHECK_NUMBER(o.config.parts[i], ==, (i == 3));
	sim_options_release(&o);
}

static void test_fleet_is_read(void)
{
	const char *const agent[] = { GRAPH,   "--load",
				      "0.5",   "--nodes",
				      "3",     "--cores",
				      "2",     "--dispatch",
				      "agent", "--agent-half",
				      "250",   "--dispatch-limit",
				      "4",     "--agent-ms",
				      "50",    "--dispatch-queue",
				      "size",  NULL };
	const char *const pooled[] = { GRAPH,    "--load",  "0.5", "--nodes",
				       "3",      "--cores", "2",   "--dispatch",
				       "pooled", NULL };
	const char *const split[] = { GRAPH, "--load",     "0.5",   "--nodes",
				      "3",   "--dispatch", "split", NULL };
	struct error error;
	struct sim_options o;
	double rate;

	CHECK(parse(&o, &error, agent));
	CHECK_NUMBER(o.config.node_count, ==, 3);
	CHECK_NUMBER(o.config.core_count, ==, 2);
	CHECK_NUMBER(o.config.dispatch, ==, DISPATCH_AGENT);
	CHECK_NUMBER(o.config.node_limit, ==, 8);
	CHECK(o.config.held_by_size);
	CHECK_NUMBER(o.config.agent_ns, ==, 50000000);
	CHECK_NUMBER(o.config.agent_half_ns, ==, 250000000);
	rate = o.config.rate_per_s;
	sim_options_release(&o);

	/* The same as one node with all cores. */
	CHECK(parse(&o, &error, pooled));
	CHECK_NUMBER(o.config.node_count, ==, 1);
	CHECK_NUMBER(o.config.core_count, ==, 6);
	CHECK_NUMBER(fabs(o.config.rate_per_s / rate - 1), <, 1e-9);
	sim_options_release(&o);

	/* Two thirds of the bytes are below 1.11 MB. */
	CHECK(parse(&o, &error, split));
	CHECK_NUMBER(fabs(o.config.split / 1.11e6 - 1), <, 0.02);
	sim_options_release(&o);
}

static void test_faults_are_named(void)
{
	static const struct {
		const char *const arguments[9];
		const char *named;
	} cases[] = {
		{ { "--load", "1" }, "--graph" },
		{ { "--graph", "/none", "--load", "1" }, "/none" },
		{ { GRAPH, "--json", "x" }, "is needed" },
		{ { GRAPH }, "--load" },
		{ { GRAPH, "--load", "1", "--threshold", "decode=2,resize=4" },
		  "--threshold: 'resize' is no stage; there are decode, " },
		{ { GRAPH, "--load", "1", "--pool", "decod=2" },
		  "--pool: 'decod' is no stage; did you mean 'decode'?" },
		{ { GRAPH, "--load", "1", "--pool", "decode=2" },
		  "--pool with --policy cohort: user-level threads" },
		{ { GRAPH, "--load", "1", "--pool", "decode=many" },
		  "--pool: 'decode=many' is not a valid " },
		{ { GRAPH, "--load", "1", "--pool", "decode" },
		  "--pool: 'decode' is not a valid " },
		{ { GRAPH, "--load", "1", "--clients", "2" }, "--clients" },
		{ { GRAPH, "--load", "1", "--rate", "2" },
		  "--rate: not with --load" },
		{ { GRAPH, "--clients", "1", "--gaps", "/none" },
		  "--gaps: not with --clients" },
		{ { GRAPH, "--load", "x" }, "'x'" },
		{ { GRAPH, "--load" }, "--load" },
		{ { GRAPH, "--load", "1", "--cores", "1025" }, "1024" },
		{ { GRAPH, "--load", "1", "--policy", "none" }, "--policy" },
		{ { GRAPH, "--load", "1", "--colour" }, "--colour" },
		{ { GRAPH, "--load", "1", "more" }, "'more'" },
		{ { GRAPH, "--load", "1", "--classes", "2,1" }, "--classes" },
		{ { GRAPH, "--load", "1", "--parts", "a=0" }, "--parts" },
		{ { GRAPH, "--gaps", "/none" }, "--gaps" },
		{ { GRAPH, "--load", "1", "--nodes", "65" }, "64" },
		{ { GRAPH, "--nodes", "64", "--cores", "65" }, "4096" },
		{ { GRAPH, "--load", "1", "--dispatch", "best" }, "'best'" },
		{ { GRAPH, "--dispatch", "split", "--dispatch-limit", "2" },
		  "--dispatch-limit" },
		{ { GRAPH, "--load", "1", "--look", "blind", "--idle",
		    "code-pause" },
		  "--idle: patience in microseconds needs --switch" },
		{ { GRAPH, "--load", "1", "--dispatch-queue", "size" },
		  "--dispatch-limit" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error = { "" };
		struct sim_options o;

		check_case("cases[%zu]", i);
		CHECK(!parse(&o, &error, cases[i].arguments));
		CHECK_PART(error.text, cases[i].named);
		sim_options_release(&o);
	}
}

int main(void)
{
	test_load_is_a_rate();
	test_parts_are_cut_or_given();
	test_fleet_is_read();
	test_faults_are_named();
	return 0;
}
