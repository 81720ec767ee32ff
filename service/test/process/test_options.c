/* SPDX-License-Identifier: MIT */
/* Promise: flags become options, or an error that names the flag and value. */
#include "service/config/options.h"

#include "base/util.h"
#include "stages/flags.h"

#include <assert.h>
#include <string.h>

enum { ARGS_MAX = 8 };

static struct error error;

/* `line` is split at blanks, as a shell would. */
static bool parse(struct options *o, const char *line)
{
	static char text[512];
	char *argv[ARGS_MAX + 1] = { (char[]){ "darkroom" } };
	int argc = 1;

	assert(strlen(line) < sizeof(text));
	(void)strcpy(text, line);
	for (char *arg = strtok(text, " "); arg != NULL;
	     arg = strtok(NULL, " "))
		argv[argc++] = arg;
	assert(argc <= ARGS_MAX);
	error.text[0] = '\0';
	return options_parse(o, argc, argv, (char *[]){ NULL }, &error);
}

static void test_defaults_run(void)
{
	struct options o;

	assert(parse(&o, ""));
	assert(!flags_is_asked(&o.asked) && !o.wants_policies);
	assert(strcmp(o.schedule.policy->name, "color") == 0);
	assert(o.schedule.discipline.kind == DISCIPLINE_SRPT);
	assert(o.schedule.discipline.follows_load);
	assert(strcmp(o.listen, "127.0.0.1:8080") == 0);
	assert(o.schedule.balance == BALANCE_SHARED && o.cores == NULL);
	assert(o.uploads_max == 256 && o.body_bytes_max == 64u << 20);
	assert(o.memory_bytes_max > 0 && o.deadline_ms == 60000);
	assert(o.limits.pixels_max == 250000000);
	assert(o.limits.result_pixels_max == 100000000);
	assert(o.trace == NULL && o.graph == NULL && o.save_graph == NULL);
}

/*
 * The limits of what one upload may ask for follow from the largest result,
 * unless they are given.  That is as large as a given --max-megapixels.
 */
static void test_limits_of_work_follow_megapixels(void)
{
	struct options o;

	assert(parse(&o, ""));
	assert(o.output_pixels_max == 200000000 && o.cpu_ms_max == 10000);
	assert(parse(&o, "--max-megapixels 40"));
	assert(o.limits.pixels_max == 40000000);
	assert(o.limits.result_pixels_max == 40000000);
	assert(o.output_pixels_max == 80000000 && o.cpu_ms_max == 4000);
	assert(parse(&o, "--max-megapixels 1"));
	assert(o.output_pixels_max == 2000000 && o.cpu_ms_max == 1000);
	assert(parse(&o, "--max-megapixels 300 --max-result-megapixels 50"));
	assert(o.limits.pixels_max == 300000000);
	assert(o.limits.result_pixels_max == 50000000);
	assert(o.output_pixels_max == 100000000 && o.cpu_ms_max == 5000);
	assert(parse(&o, "--max-output-megapixels 2.5 --max-cpu 300ms"));
	assert(o.output_pixels_max == 2500000 && o.cpu_ms_max == 300);
	assert(parse(&o, "--max-output-megapixels 0 --max-cpu 0"));
	assert(o.output_pixels_max == 0 && o.cpu_ms_max == 0);
}

static void expect_dropped(const char *line, const char *values)
{
	struct options o;
	char dropped[OPTIONS_DROPPED_BYTES];

	assert(parse(&o, line));
	assert(options_drop_best(&o, dropped) == (values != NULL));
	if (values != NULL)
		assert(strstr(dropped, values) != NULL &&
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

	assert(parse(&o, "--policy color"));
	assert(o.schedule.discipline.kind == DISCIPLINE_FCFS);
	assert(parse(&o, "--regime gated"));
	assert(strcmp(o.schedule.policy->name, "cohort") == 0);
	assert(parse(&o, "--max-uploads 3"));
	assert(strcmp(o.schedule.policy->name, "color") == 0);
}

/* The slice of the schedule that `line` gives, in nanoseconds. */
static uint64_t slice_of(const char *line)
{
	struct options o;

	assert(parse(&o, line));
	options_choose_slice(&o, &o.schedule);
	return o.schedule.slice_ns;
}

static void test_steps_pause_for_what_has_less_left(void)
{
	assert(slice_of("") == 1000000);
	assert(slice_of("--discipline srpt=5") == 1000000);
	assert(slice_of("--discipline edf") == 1000000);
	assert(slice_of("--discipline edf --slice 0") == 0);
	assert(slice_of("--discipline srpt --slice 50") == 50000);
	assert(slice_of("--discipline lcfs") == 0);
	assert(slice_of("--policy cohort") == 0);
}

static void test_both_ways_to_give_a_value(void)
{
	struct options o;

	assert(parse(&o, "--policy srpt --max-uploads=7 --cores 0,1"));
	assert(strcmp(o.schedule.policy->name, "srpt") == 0);
	assert(o.uploads_max == 7);
	assert(strcmp(o.cores, "0,1") == 0);
}

static void test_every_policy_can_be_chosen(void)
{
	for (const struct policy *const *p = policy_list; *p != NULL; p++) {
		char line[128];
		struct options o;

		(void)snprintf(line, sizeof(line), "--policy %s", (*p)->name);
		assert(parse(&o, line));
		assert(o.schedule.policy == *p);
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
		assert(parse(&o, line));
		assert(o.schedule.given == 1u << (f - schedule_flags));
	}
}

static void test_files_are_read(void)
{
	struct options o;

	assert(parse(&o, "--trace a --graph=b --save-graph c"));
	assert(strcmp(o.trace, "a") == 0);
	assert(strcmp(o.graph, "b") == 0);
	assert(strcmp(o.save_graph, "c") == 0);
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

		assert(!parse(&o, bad[i][0]));
		assert(strstr(error.text, bad[i][1]) != NULL);
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
