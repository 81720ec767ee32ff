/* SPDX-License-Identifier: MIT */
/* Promise: flags become options, or an error that names the flag and value. */
#include "base/error.h"
#include "service/config/options.h"

#include "base/test/check.h"
#include "base/util.h"
#include "stages/flags.h"

#include <string.h>

enum { ARGS_MAX = 8 };

static struct error error;

/* `line` is split at blanks, as a shell would. */
static bool parse(struct options *o, const char *line)
{
	static char text[512];
	char *argv[ARGS_MAX + 1] = { (char[]){ "darkroom" } };
	int argc = 1;

	CHECK_NUMBER(strlen(line), <, sizeof(text));
	(void)strcpy(text, line);
	for (char *arg = strtok(text, " "); arg != NULL;
	     arg = strtok(NULL, " "))
		argv[argc++] = arg;
	CHECK_NUMBER(argc, <=, ARGS_MAX);
	error.text[0] = '\0';
	return options_parse(o, argc, argv, (char *[]){ NULL }, &error);
}

static void test_defaults_run(void)
{
	struct options o;

	CHECK(parse(&o, ""));
	CHECK(!flags_is_asked(&o.asked));
	CHECK(!o.wants_policies);
	CHECK_TEXT(o.schedule.policy->name, "color");
	CHECK_NUMBER(o.schedule.discipline.kind, ==, DISCIPLINE_SRPT);
	CHECK(o.schedule.discipline.follows_load);
	CHECK_TEXT(o.listen, "127.0.0.1:8080");
	CHECK_NUMBER(o.schedule.balance, ==, BALANCE_SHARED);
	CHECK(o.cores == NULL);
	CHECK_NUMBER(o.uploads_max, ==, 256);
	CHECK_NUMBER(o.body_bytes_max, ==, 64u << 20);
	CHECK_NUMBER(o.memory_bytes_max, >, 0);
	CHECK_NUMBER(o.deadline_ms, ==, 60000);
	CHECK_NUMBER(o.limits.pixels_max, ==, 250000000);
	CHECK_NUMBER(o.limits.result_pixels_max, ==, 100000000);
	CHECK(o.trace == NULL);
	CHECK(o.graph == NULL);
	CHECK(o.save_graph == NULL);
}

/*
 * The limits of what one upload may ask for follow from the largest result,
 * unless they are given.  That is as large as a given --max-megapixels.
 */
static void test_limits_of_work_follow_megapixels(void)
{
	struct options o;

	CHECK(parse(&o, ""));
	CHECK_NUMBER(o.output_pixels_max, ==, 200000000);
	CHECK_NUMBER(o.cpu_ms_max, ==, 10000);
	CHECK(parse(&o, "--max-megapixels 40"));
	CHECK_NUMBER(o.limits.pixels_max, ==, 40000000);
	CHECK_NUMBER(o.limits.result_pixels_max, ==, 40000000);
	CHECK_NUMBER(o.output_pixels_max, ==, 80000000);
	CHECK_NUMBER(o.cpu_ms_max, ==, 4000);
	CHECK(parse(&o, "--max-megapixels 1"));
	CHECK_NUMBER(o.output_pixels_max, ==, 2000000);
	CHECK_NUMBER(o.cpu_ms_max, ==, 1000);
	CHECK(parse(&o, "--max-megapixels 300 --max-result-megapixels 50"));
	CHECK_NUMBER(o.limits.pixels_max, ==, 300000000);
	CHECK_NUMBER(o.limits.result_pixels_max, ==, 50000000);
	CHECK_NUMBER(o.output_pixels_max, ==, 100000000);
	CHECK_NUMBER(o.cpu_ms_max, ==, 5000);
	CHECK(parse(&o, "--max-output-megapixels 2.5 --max-cpu 300ms"));
	CHECK_NUMBER(o.output_pixels_max, ==, 2500000);
	CHECK_NUMBER(o.cpu_ms_max, ==, 300);
	CHECK(parse(&o, "--max-output-megapixels 0 --max-cpu 0"));
	CHECK_NUMBER(o.output_pixels_max, ==, 0);
	CHECK_NUMBER(o.cpu_ms_max, ==, 0);
}

static void expect_dropped(const char *line, const char *values)
{
	struct options o;
	char dropped[OPTIONS_DROPPED_BYTES];

	CHECK(parse(&o, line));
	CHECK_NUMBER(options_drop_best(&o, dropped), ==, (values != NULL));
	if (values != NULL)
		CHECK(strstr(dropped, values) != NULL &&
		      strlen(strstr(dropped, " here")) ==
			      strlen(" here") + strlen(values));
}

/* What a scheduling flag changes about the others has a sentence. */
static void test_dropped_defaults_are_named(void)
{
	expect_dropped("", NULL);
	expect_dropped("--max-uploads 3", NULL);
	expect_dropped("--slice 1000", " --policy color --discipline srpt");
	expect_dropped("--regime gated",
		       " --policy color --discipline srpt --slice 1000");
	expect_dropped("--discipline srpt", " --policy color");
	expect_dropped("--policy color", " --discipline srpt --slice 1000");
	expect_dropped("--policy mg1 --discipline edf", NULL);
	expect_dropped("--policy capriccio", NULL);
	expect_dropped("--policy servlib --threads 1:1", NULL);
}

/* If one scheduling flag is given, the others have the papers' defaults. */
static void test_one_flag_asks_for_the_papers(void)
{
	struct options o;

	CHECK(parse(&o, "--policy color"));
	CHECK_NUMBER(o.schedule.discipline.kind, ==, DISCIPLINE_FCFS);
	CHECK(parse(&o, "--regime gated"));
	CHECK_TEXT(o.schedule.policy->name, "cohort");
	CHECK(parse(&o, "--max-uploads 3"));
	CHECK_TEXT(o.schedule.policy->name, "color");
}

/* The slice of the schedule that `line` gives, in nanoseconds. */
static uint64_t slice_of(const char *line)
{
	struct options o;

	CHECK(parse(&o, line));
	options_choose_slice(&o, &o.schedule);
	return o.schedule.slice_ns;
}

static void test_steps_pause_for_what_has_less_left(void)
{
	CHECK_NUMBER(slice_of(""), ==, 1000000);
	CHECK_NUMBER(slice_of("--discipline srpt=5"), ==, 1000000);
	CHECK_NUMBER(slice_of("--discipline edf"), ==, 1000000);
	CHECK_NUMBER(slice_of("--discipline edf --slice 0"), ==, 0);
	CHECK_NUMBER(slice_of("--discipline srpt --slice 50"), ==, 50000);
	CHECK_NUMBER(slice_of("--discipline lcfs"), ==, 0);
	CHECK_NUMBER(slice_of("--policy cohort"), ==, 0);
}

static void test_both_ways_to_give_a_value(void)
{
	struct options o;

	CHECK(parse(&o, "--policy srpt --max-uploads=7 --cores 0,1"));
	CHECK_TEXT(o.schedule.policy->name, "srpt");
	CHECK_NUMBER(o.uploads_max, ==, 7);
	CHECK_TEXT(o.cores, "0,1");
}

static void test_every_policy_can_be_chosen(void)
{
	for (const struct policy *const *p = policy_list(); *p != NULL; p++) {
		char line[128];
		struct options o;

		(void)snprintf(line, sizeof(line), "--policy %s", (*p)->name);
		CHECK(parse(&o, line));
		CHECK_NUMBER(o.schedule.policy, ==, *p);
	}
}

/* The first and the last flag of the schedule, too. */
static void test_every_flag_of_the_schedule_has_room(void)
{
	for (const struct flag *f = schedule_flags; f->name != NULL; f++) {
		char line[128];
		struct options o;

		if (f->initial == NULL)
			continue;
		(void)snprintf(line, sizeof(line), "--%s %s", f->name,
			       f->initial);
		CHECK(parse(&o, line));
		CHECK_NUMBER(o.schedule.given, ==, 1u << (f - schedule_flags));
	}
}

static void test_files_are_read(void)
{
	struct options o;

	CHECK(parse(&o, "--trace a --graph=b --save-graph c"));
	CHECK_TEXT(o.trace, "a");
	CHECK_TEXT(o.graph, "b");
	CHECK_TEXT(o.save_graph, "c");
}

static void test_bad_flags_are_named(void)
{
	static const char *const bad[][2] = {
		{ "--polcy cohort", "--polcy" },
		{ "extra", "extra" },
		{ "-x", "-x" },
		{ "--", "--" },
		{ "--policy", "--policy" },
		{ "--policy fifo", "fifo" },
		{ "--policy=", "--policy" },
		{ "--help=yes", "--help" },
		{ "--balance partly", "partly" },
		{ "--balance replicate=0", "replicate=0" },
		{ "--balance replicate=x", "replicate=x" },
		{ "--max-uploads 0", "--max-uploads" },
		{ "--max-uploads -1", "-1" },
		{ "--max-uploads 1x", "1x" },
		{ "--max-body 99999999999999999999", "--max-body" },
		{ "--max-side 65501", "65501" },
		{ "--drain-timeout 1x", "1x" },
		{ "--express 5ms", "--express: it was removed; --slice" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct options o;

		CHECK(!parse(&o, bad[i][0]));
		CHECK_PART(error.text, bad[i][1]);
	}
}

int main(void)
{
	test_defaults_run();
	test_limits_of_work_follow_megapixels();
	test_one_flag_asks_for_the_papers();
	test_dropped_defaults_are_named();
	test_steps_pause_for_what_has_less_left();
	test_both_ways_to_give_a_value();
	test_every_policy_can_be_chosen();
	test_every_flag_of_the_schedule_has_room();
	test_files_are_read();
	test_bad_flags_are_named();
	return 0;
}
