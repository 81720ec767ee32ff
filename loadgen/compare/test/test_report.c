/* SPDX-License-Identifier: MIT */
/* A report agrees with the results, and mentions bad runs. */
#include "loadgen/compare/report.h"

#include "base/random.h"
#include "base/test/check.h"
#include "base/util.h"
#include "loadgen/compare/results.h"
#include "loadgen/compare/test/xml.h"
#include "base/test/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plan_text[] =
	"{ \"title\": \"T\", \"dataset\": \"D\","
	"\"closed\": { \"connections\": 16, \"passes\": 1 },"
	"\"open\": { \"percent_of_capacity\": [50, 80], \"duration_s\": 1,"
	"\"connections\": 2048 },"
	"\"arms\": [ { \"name\": \"left out\", \"url\": \"http://h/\" },"
	"{ \"name\": \"free\", \"url\": \"http://h/\" },"
	"{ \"name\": \"bound\", \"url\": \"http://h/\","
	"\"connections\": 4 } ] }";

static struct scratch scratch;
static struct plan plan;
static struct report_notes notes; /* of the last report */

static void add_closed(cJSON *results, const char *arm, uint64_t repetition,
		       double speed)
{
	struct results_run run = { .arm = arm,
				   .load = LOAD_CLOSED,
				   .repetition = repetition };
	char text[640];

	snprintf(text, sizeof(text),
		 "{ \"bytes_per_s\": %f, \"responses_per_s\": %f,"
		 "\"makespan_s\": 1, \"requests\": 1000, \"responses\":"
		 "{ \"200\": 1000 }, \"response_ms\": { \"p90\": %f },"
		 "\"server\": { \"cpu_s\": 1000, \"cpu_percent\": 100,"
		 "\"peak_memory_bytes\": 1048576, \"voluntary_switches\": 1,"
		 "\"involuntary_switches\": 1 },"
		 "\"intervals\": [ { \"end_s\": 5, \"bytes_per_s\": 1e6 } ],"
		 "\"percentiles\": [ [0, %f] ] }",
		 1e6 * speed, speed, 1000 / speed, 1000 / speed);
	results_add(results, &run, cJSON_Parse(text));
}

static void add_open(cJSON *results, const char *arm, uint64_t repetition,
		     double percent, int failed)
{
	struct results_run run = { .arm = arm,
				   .load = LOAD_OPEN,
				   .repetition = repetition,
				   .percent_of_capacity = percent };
	char text[256];

	snprintf(text, sizeof(text),
		 "{ \"rate_per_s\": %f, \"requests\": 2000, \"responses\":"
		 "{ \"200\": %d, \"503\": %d }, \"response_ms\":"
		 "{ \"p50\": 1, \"p90\": 2, \"p99\": 3 },"
		 "\"half_means_ms\": [ 1, %f ] }",
		 percent, 2000 - failed, failed,
		 arm[0] == 'f' ?
			 1 :
			 percent / 50 + 0.2 + 0.01 * (double)repetition);
	results_add(results, &run, cJSON_Parse(text));
}

/*
 * Write the report of `results`, free them, and return the report's file
 * `name`, which the caller frees.
 */
static char *report(cJSON *results, const char *name)
{
	struct error error;

	if (!report_write(scratch.dir, results, &notes, &error)) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	CHECK_NUMBER(*notes.no_plots.text, ==, '\0');
	cJSON_Delete(results);
	return scratch_read(&scratch, name);
}

static void expect(const char *text, const char *part)
{
	if (strstr(text, part) == NULL) {
		fprintf(stderr, "'%s' is missing in:\n%s", part, text);
		abort();
	}
}

/* A plot has one marker for each point of a curve, and one in the key. */
static size_t count_points(const char *svg, const char *rgb)
{
	char mark[64];
	size_t count = 0;

	snprintf(mark, sizeof(mark), " color='rgb(%s)'/>", rgb);
	while ((svg = strstr(svg, mark)) != NULL) {
		count++;
		svg++;
	}
	CHECK_NUMBER(count, >, 0);
	return count - 1;
}

/*
 * Three repetitions.  In two of them "free" is overloaded before 80 %, so that
 * it has only one run at 80 %.  In one of them "bound" loses requests.
 */
static cJSON *make_results(void)
{
	cJSON *results = results_new(&plan);

	for (uint64_t i = 1; i <= 3; i++) {
		add_closed(results, "free", i, 10 + (double)i);
		add_closed(results, "bound", i, 20 + (double)i);
		add_open(results, "free", i, 50, 0);
		add_open(results, "bound", i, 50, 0);
		add_open(results, "bound", i, 80, i == 2 ? 140 : 0);
	}
	add_open(results, "free", 1, 80, 0);
	return results;
}

static void test_open_loop_without_survivors(void)
{
	char *markdown = report(make_results(), "report.md");
	char *svg = scratch_read(&scratch, "load_p90.svg");

	expect(markdown,
	       "| free | 80 % | 80.0 | - | 1.0 | 2.0 | 3.0 | - | - | - "
	       "| 0.00 | 1 of 3 |\n");
	expect(markdown, "| bound | 80 % | 80.0 | - | 1.0 | 2.0 | 3.0 | - | - "
			 "| - | 0.00 | 3 of 3 |\n");
	expect(markdown, "The curves have only points that all runs of");
	CHECK_NUMBER(count_points(svg, "213,  94,   0"), ==, 1); /* free */
	CHECK_NUMBER(count_points(svg, "  0, 128,  92"), ==, 2); /* bound */
	free(svg);
	free(markdown);
}

static void test_one_bad_run_is_told(void)
{
	char *markdown = report(make_results(), "report.md");

	expect(markdown, "bound, open loop at 80 %: not all requests were "
			 "answered 2xx in 1 of 3 runs, and 7.00 % were not in "
			 "the worst;");
	CHECK(strstr(markdown, "open loop at 50 %: not all") == NULL);
	free(markdown);
}

static void test_connections(void)
{
	char *markdown = report(make_results(), "report.md");

	expect(markdown, "- free, 16 connections, 2048 in the open loop: ");
	expect(markdown, "- bound, 4 connections, 4 in the open loop: ");
	expect(markdown, "2048 connections where an arm has no number");
	expect(markdown, "further ones wait in the client");
	free(markdown);
}

static void test_differences(void)
{
	char *markdown = report(make_results(), "report.md");

	/*
	 * The baseline is the first arm that was measured, which is not the
	 * plan's first.  Ratios of three rounds: 21/11, 22/12, 23/13.
	 */
	expect(markdown, "Against free, the baseline");
	expect(markdown, "| bound | 22.000 | 1.836 | 1.671 to 2.018 | "
			 "0.00131 | 0.999 | more | 3.81 % | 3 |\n");
	expect(markdown, "| free | 12.000 | 1 | - | - | - | the baseline | - | "
			 "3 |\n");
	expect(markdown, "- throughput, MB/s: more: bound +83.6 % \\[+67.1, "
			 "+101.8\\].\n");
	expect(markdown, "- p90 of response times, ms: less: bound -45.5 %");
	expect(markdown, "- CPU, ms per image: equivalent within 2 %: bound "
			 "+0.0 % \\[+0.0, +0.0\\].");
	expect(markdown, "Power: of bound, whose ratios scatter most, 3 "
			 "repetitions find a difference of 12.5 % in 80 of 100 "
			 "cases; for one of 2 % it takes 31 repetitions.");
	expect(markdown, "Uploads, Mbit/s (greatest 5 s)");
	expect(markdown, "| bound | 1.836 \\[1.671, 2.018\\] | 1000.00 | 1 | "
			 "45 | - |\n");
	expect(markdown, "| free | 1 | 1000.00 | 1 | 83 | - |\n");
	expect(markdown, "< 50 KB at 80 %: p90, ms");
	free(markdown);
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;

	for (; (text = strstr(text, part)) != NULL; text++)
		found++;
	return found;
}

/*
 * Tests are of the repetitions, but a plot has a point for each slice, and its
 * box their quartiles: of 5, 10 and 15 MB/s in both repetitions.
 */
static void test_slices(void)
{
	cJSON *results = results_new(&plan);
	char *text, *plot;

	for (uint64_t i = 1; i <= 2; i++)
		for (int slice = 1; slice <= 3; slice++) {
			add_closed(results, "free", i, 5 * slice);
			add_closed(results, "bound", i, 20 + slice);
		}
	text = report(results, "report.md");
	expect(text, "| free | 10.000 | 1 | - | - | - | the baseline | - | 6 "
		     "|\n");
	expect(text, "| bound | 22.000 | 2.200 | 2.200 to 2.200 |");
	free(text);
	text = scratch_read(&scratch, "plots.gnuplot");
	plot = strstr(text, "\"throughput.svg\"");
	CHECK(plot != NULL);
	*strstr(plot, "eval boxes") = '\0';
	expect(plot, "\n1 5 6.25 10 13.75 15 1\n");
	CHECK_NUMBER(count(plot, "\n1 5 1\n"), ==, 2);
	CHECK_NUMBER(count(plot, "\n1 10 1\n"), ==, 2);
	CHECK_NUMBER(count(plot, "\n1 15 1\n"), ==, 2);
	free(text);
}

/* What the server has counted is compared in a table that says so. */
static void test_server_counter(void)
{
	struct plan counted;
	struct error error;
	cJSON *json = cJSON_Parse(plan_text);
	cJSON *results, *run;
	char *markdown;
	int i = 0;

	cJSON_AddStringToObject(json, "server_counter", "in_bytes_total");
	CHECK(plan_read(&counted, json, &error));
	results = results_new(&counted);
	for (uint64_t k = 1; k <= 3; k++) {
		add_closed(results, "free", k, 10);
		add_closed(results, "bound", k, 10);
	}
	cJSON_ArrayForEach(run, cJSON_GetObjectItem(results, "runs"))
	{
		cJSON *result = cJSON_GetObjectItem(run, "result");
		cJSON *counter =
			cJSON_AddObjectToObject(result, "server_counter");

		cJSON_AddStringToObject(counter, "name", "in_bytes_total");
		cJSON_AddNumberToObject(counter, "per_s",
					i++ % 2 == 0 ? 2e6 : 3e6);
	}
	markdown = report(results, "report.md");
	expect(markdown, "| Configuration | Median rate counted by the server, "
			 "MB/s (in\\_bytes\\_total) | Ratio to the baseline |");
	expect(markdown, "| bound | 3.000 | 1.500 | 1.500 to 1.500 | 0 | 1 | "
			 "more | 0.00 % | 3 |\n");
	expect(markdown, "- rate counted by the server, MB/s "
			 "(in\\_bytes\\_total): more: bound +50.0 %");
	free(markdown);
	plan_release(&counted);
}

/* An open loop at 80 % whose small uploads have a p90 of `ms`. */
static void add_small(cJSON *results, const char *arm, uint64_t repetition,
		      double ms)
{
	struct results_run run = { .arm = arm,
				   .load = LOAD_OPEN,
				   .repetition = repetition,
				   .percent_of_capacity = 80 };
	char text[256];

	snprintf(text, sizeof(text),
		 "{ \"rate_per_s\": 80, \"requests\": 2000,"
		 "\"responses\": { \"200\": 2000 },"
		 "\"response_ms\": { \"p90\": 2 }, \"size_classes\": [ {"
		 "\"count\": 100, \"response_ms\": { \"p90\": %f } } ] }",
		 ms);
	results_add(results, &run, cJSON_Parse(text));
}

/* Small uploads of an open loop are compared as all uploads are. */
static void test_small_uploads(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	for (uint64_t i = 1; i <= 3; i++) {
		add_closed(results, "free", i, 10);
		add_closed(results, "bound", i, 10);
		add_open(results, "free", i, 50, 0);
		add_open(results, "bound", i, 50, 0);
		add_small(results, "free", i, 10 + (double)i / 10);
		add_small(results, "bound", i, 30 + (double)i / 10);
	}
	markdown = report(results, "report.md");
	expect(markdown, "- p90 at 80 % of the capacity, ms: equivalent");
	expect(markdown, "- p90 of uploads \\< 50 KB at 80 % of the capacity, "
			 "ms: more: bound +196.1 %");
	expect(markdown, "| Configuration | Median p90 of uploads \\< 50 KB at "
			 "80 % of the capacity, ms | Ratio to the baseline |");
	expect(markdown, "| bound | 30.2 | 2.961 |");
	expect(markdown, "](open_p90.svg)");
	expect(markdown, "](open_small_p90.svg)");
	free(markdown);
}

/* The arms `free` and `bound` in three repetitions. */
static cJSON *make_series(double speed, double free_ms, double bound_ms)
{
	cJSON *results = results_new(&plan);

	for (uint64_t i = 1; i <= 3; i++) {
		double drift = (double)i / 10;

		add_closed(results, "free", i, speed + drift);
		add_closed(results, "bound", i, speed + drift);
		add_open(results, "free", i, 50, 0);
		add_small(results, "free", i, free_ms + drift);
		add_small(results, "bound", i, bound_ms + drift);
	}
	return results;
}

/*
 * Since an earlier comparison: open loops too, and each p corrected for both
 * arms; alone it would be half of that.
 */
static void test_changes(void)
{
	cJSON *now = make_series(10, 30, 10), *before = make_series(10, 20, 10);
	struct error error;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	CHECK(report_print_changes(out, now, before, &error));
	fclose(out);
	expect(text,
	       "free: p90 of uploads < 50 KB at 80 % of the capacity, ms "
	       "(80.0 requests/s, was 80.0): medians 30.2, was 20.2; ratio of "
	       "the geometric means +49.5 % ");
	expect(text, "], more, p = 4.25e-07\n");
	expect(text, "bound: throughput, MB/s: medians 10.200, was 10.200; "
		     "ratio of the geometric means +0.0 % ");
	/* "bound" has no run at 50 %, and both are needed. */
	expect(text, "free: p90 at 50 %");
	CHECK(strstr(text, "bound: p90 at 50 %") == NULL);
	free(text);
	cJSON_Delete(now);
	cJSON_Delete(before);
}

/* What is not complete says so before all figures. */
static void test_a_part_of_a_comparison(void)
{
	cJSON *results = make_results();
	char *markdown;

	results_set_stop(results, 2, RESULTS_INTERRUPTED);
	results_set_stop(results, 3, RESULTS_INTERRUPTED);
	markdown = report(results, "report.md");
	expect(markdown,
	       "# T\n\n**Not complete.** It ended in repetition 3 of 10: "
	       "interrupted. What follows is what had been measured.\n");
	free(markdown);
	results = make_results();
	results_set_stop(results, 1, "arm 'free' <died>");
	markdown = report(results, "report.md");
	expect(markdown, "in repetition 1 of 10: arm 'free' \\<died\\>. What");
	free(markdown);
	results = make_results();
	results_set_stop(results, 10, RESULTS_INTERRUPTED);
	results_set_stop(results, 0, NULL);
	markdown = report(results, "report.md");
	CHECK(strstr(markdown, "Not complete") == NULL);
	free(markdown);
}

/* Two repetitions that differ much say nothing; their numbers are cut. */
static void test_numbers_without_use_are_cut(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	for (uint64_t i = 1; i <= 2; i++) {
		add_closed(results, "free", i, 10);
		add_closed(results, "bound", i, i == 1 ? 10 : 40);
	}
	markdown = report(results, "report.md");
	expect(markdown, "not decided: bound +100.0 % \\[-100.0, above "
			 "+1000\\].\n");
	expect(markdown, "it takes more than 1,000 repetitions.\n");
	free(markdown);
}

/* A run that the server has spoiled counts, but it is named. */
static void test_outliers(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	for (uint64_t i = 1; i <= 5; i++) {
		add_closed(results, "free", i, i == 4 ? 2 : 10);
		add_closed(results, "bound", i, i == 4 ? 4 : 10);
	}
	markdown = report(results, "report.md");
	expect(markdown, "- free, repetition 4: p90 of response times, ms: "
			 "500.0, more than 3 times from the median 100.0.");
	CHECK(strstr(markdown, "- bound, repetition") == NULL);
	expect(markdown, "- | 5 |\n");
	free(markdown);
}

/* Is each arm's verdict, against the first, what was planted? */
static void expect_verdict(double factor, double noise, const char *verdict)
{
	cJSON *results = results_new(&plan);
	uint64_t state = 5;
	char *markdown, row[128];

	for (uint64_t i = 1; i <= 10; i++) {
		/* Rounds differ by up to a half, arms of a round by `noise`. */
		double round = random_between(&state, 10, 15);

		add_closed(results, "free", i, round);
		add_closed(results, "bound", i,
			   round * factor *
				   exp(random_between(&state, -noise, noise)));
	}
	markdown = report(results, "report.md");
	snprintf(row, sizeof(row), "- throughput, MB/s: %s: bound ", verdict);
	expect(markdown, row);
	free(markdown);
}

static void test_planted_effects(void)
{
	expect_verdict(0.97, 0.02, "less");
	expect_verdict(1.04, 0.02, "more");
	expect_verdict(1, 0.02, "equivalent within 2 %");
	expect_verdict(1.004, 0.01, "equivalent within 2 %");
	expect_verdict(0.98, 0.3, "not decided");
}

/*
 * With nine arms, one of nine equal ones seems to differ in some reports.  Each
 * p is corrected for that.
 */
static void test_many_arms(void)
{
	struct plan many;
	struct error error;
	uint64_t state = 1;
	cJSON *json = cJSON_Parse(plan_text), *arms = cJSON_CreateArray();
	int differences = 0;

	for (int a = 0; a < 10; a++) {
		cJSON *arm = cJSON_CreateObject();
		char name[2] = { (char)('a' + a), 0 };

		cJSON_AddStringToObject(arm, "name", name);
		cJSON_AddStringToObject(arm, "url", "http://h/");
		cJSON_AddItemToArray(arms, arm);
	}
	cJSON_ReplaceItemInObject(json, "arms", arms);
	CHECK(plan_read(&many, json, &error));
	for (int trial = 0; trial < 20; trial++) {
		cJSON *results = results_new(&many);
		char *markdown;

		for (uint64_t i = 1; i <= 10; i++)
			for (size_t a = 0; a < many.arm_count; a++)
				add_closed(results, many.arms[a].name, i,
					   random_between(&state, 10, 11));
		markdown = report(results, "report.md");
		differences += strstr(markdown, "MB/s: less") != NULL ||
			       strstr(markdown, "MB/s: more") != NULL;
		free(markdown);
	}
	/* Without a correction: in 7 of 20. */
	CHECK_NUMBER(differences, <=, 3);
	plan_release(&many);
}

/* A disturbed run is told, and one that was made again is only counted. */
static void test_disturbed_runs(void)
{
	cJSON *results = results_new(&plan);
	struct results_run run = { .arm = "free",
				   .load = LOAD_CLOSED,
				   .repetition = 1,
				   .attempt = 1,
				   .is_repeated = true };
	char *markdown;

	/* All that others took is known before anything else. */
	static const char banner[] =
		"# T\n\n**Disturbed measurement.** In 1 of 1 runs, other "
		"programs and the hypervisor took more than 5 % of the "
		"machine's cores, up to 17.0 %, each time that the run was "
		"made. It counts: on a quiet machine, figures may be better."
		"\n";

	for (int i = 0; i < 3; i++) {
		run.is_repeated = i < 2;
		results_add(results, &run,
			    cJSON_Parse("{ \"bytes_per_s\": 1e6,"
					"\"machine\":"
					"{ \"disturbed_percent\": 17 } }"));
	}
	markdown = report(results, "report.md");
	CHECK(strncmp(markdown, banner, strlen(banner)) == 0);
	CHECK(strncmp(notes.disturbed, "In 1 of 1 runs", 14) == 0);
	expect(markdown, "- Runs made again: 2; disturbed each time: 1.");
	expect(markdown,
	       "- free: runs disturbed in all 3 attempts: 1. The last "
	       "attempts are used, in which other programs and the "
	       "hypervisor took up to 17.0 % of the cores.");
	free(markdown);
}

/* A run of a closed loop while others took a part of the cores. */
static void add_disturbed(cJSON *results, const char *arm, uint64_t repetition,
			  double speed, double percent)
{
	struct results_run run = { .arm = arm,
				   .load = LOAD_CLOSED,
				   .repetition = repetition };
	char text[256];

	snprintf(text, sizeof(text),
		 "{ \"bytes_per_s\": %f, \"responses_per_s\": %f,"
		 "\"machine\": { \"disturbed_percent\": %f } }",
		 1e6 * speed, speed, percent);
	results_add(results, &run, cJSON_Parse(text));
}

/*
 * What others spoiled has no part in a verdict: without these runs, "bound" is
 * twice as fast in each repetition.
 */
static void test_spoiled_runs_are_left_out(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	for (uint64_t i = 1; i <= 4; i++) {
		double round = 10 + (double)i / 10;

		add_disturbed(results, "free", i, round, i == 4 ? 6 : 0);
		/* Almost exactly as large as allowed, and a little more. */
		add_disturbed(results, "bound", i,
			      i == 2 ? round : 2 * round + 0.01 * (double)i,
			      i == 1 ? 20 :
			      i == 2 ? 20.1 :
				       0);
	}
	markdown = report(results, "report.md");
	expect(markdown, "- throughput, MB/s: more: bound +100.");
	expect(markdown, "| the baseline | - | 4 |\n");
	expect(markdown, "| more | 0.0");
	expect(markdown,
	       "In 3 of 8 runs, other programs and the hypervisor took more "
	       "than 5 % of the machine's cores, up to 20.1 %,");
	expect(markdown, "1 of these, with more than 20 %, counts in no figure "
			 "and no verdict. The other 2 count: on a quiet "
			 "machine, figures may be better. Measure again when "
			 "the machine is quiet, or raise left\\_out\\_percent "
			 "in the plan (figures are then rough).\n");
	expect(markdown, "- bound: runs left out of all figures: 1. In each of "
			 "3 attempts,");
	expect(markdown, "- Runs made again: 0; disturbed each time: 3.");
	free(markdown);
}

/* An arm that others spoiled in each repetition is in no table. */
static void test_a_spoiled_arm_is_lost(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	for (uint64_t i = 1; i <= 3; i++) {
		add_disturbed(results, "free", i, 10, 60);
		add_disturbed(results, "bound", i, 10, 0);
	}
	markdown = report(results, "report.md");
	expect(markdown,
	       "No closed loop of this arm is left, so it is in no table: "
	       "free. The baseline, free, has no run that counts, so nothing "
	       "is compared. Figures of the other arms follow. Measure again");
	CHECK(strstr(markdown, "| free |") == NULL);
	/* No other arm is in its place. */
	expect(markdown, "\n## Findings\n\nThe baseline, free, has no run that "
			 "counts, so nothing is compared.\n\n## ");
	expect(markdown, "| bound | 10.000 | - | - | - | - | - | - | 3 |\n");
	expect(markdown, "| bound | - | - | - | - | - |\n\nMedians of the "
			 "repetitions.\n");
	CHECK(strstr(markdown, "| the baseline |") == NULL);
	free(markdown);
	results = results_new(&plan);
	add_disturbed(results, "free", 1, 10, 60);
	markdown = report(results, "report.md");
	expect(markdown, " so it is in no table: free.");
	CHECK(strstr(markdown, "The baseline, ") == NULL);
	expect(markdown, "No run is left of which there could be figures.");
	expect(markdown, "disturbed each time: 1.");
	free(markdown);
}

/* All of them are named in one sentence. */
static void test_spoiled_arms_are_lost(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	add_disturbed(results, "left out", 1, 10, 0);
	add_disturbed(results, "free", 1, 10, 60);
	add_disturbed(results, "bound", 1, 10, 60);
	markdown = report(results, "report.md");
	expect(markdown,
	       "No closed loop of these arms is left, so they are in no "
	       "table: free, bound.");
	CHECK(strstr(markdown, "The baseline, ") == NULL);
	free(markdown);
}

/* The closed loops count; the table of the open loops would be empty. */
static void test_all_open_loops_are_left_out(void)
{
	struct results_run run = { .arm = "free",
				   .load = LOAD_OPEN,
				   .repetition = 1,
				   .percent_of_capacity = 50 };
	cJSON *results = results_new(&plan);
	char *markdown;

	add_disturbed(results, "free", 1, 10, 0);
	results_add(results, &run,
		    cJSON_Parse("{ \"machine\": "
				"{ \"disturbed_percent\": 30 } }"));
	markdown = report(results, "report.md");
	expect(markdown,
	       "\n## Open loop\n\nNo run of the open loops counts: others took "
	       "more than 20 % of the cores in each.\n\n## Configurations\n");
	free(markdown);
}

/* One run that counts is not "they". */
static void test_one_disturbed_run_beside_a_spoiled_one(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	add_disturbed(results, "free", 1, 10, 10);
	add_disturbed(results, "free", 2, 10, 30);
	add_disturbed(results, "free", 3, 10, 40);
	markdown = report(results, "report.md");
	expect(markdown, "2 of these, with more than 20 %, count in no figure "
			 "and no verdict. ");
	expect(markdown, " The other one counts: on a quiet machine, ");
	free(markdown);
}

static void add_short(cJSON *results, uint64_t repetition)
{
	struct results_run run = { .arm = "free",
				   .load = LOAD_CLOSED,
				   .repetition = repetition };

	results_add(results, &run,
		    cJSON_Parse("{ \"bytes_per_s\": 1e6, \"makespan_s\": 0.4,"
				"\"machine\": "
				"{ \"disturbed_percent\": null } }"));
}

/* What is not known of runs is not said to be nothing. */
static void test_short_runs_are_not_judged(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	add_short(results, 1);
	add_short(results, 2);
	markdown = report(results, "report.md");
	expect(markdown,
	       "# T\n\n**Disturbances not judged.** How much others took is "
	       "not "
	       "known, because all runs are shorter than 0.5 s: let them last "
	       "1 s or more (duration\\_s).\n");
	expect(markdown,
	       "- Runs made again: 0; disturbed each time: 0; not judged, "
	       "because they are shorter than 0.5 s: 2 of 2.\n");
	CHECK_PART(notes.not_judged.text, "1 s or more");
	free(markdown);
	results = results_new(&plan);
	add_short(results, 1);
	add_disturbed(results, "free", 2, 10, 1);
	markdown = report(results, "report.md");
	CHECK(strstr(markdown, "**Disturbances not judged.**") == NULL);
	expect(markdown, "because they are shorter than 0.5 s: 1 of 2.\n");
	free(markdown);
	/* Of a server elsewhere, nothing is known, however long runs are. */
	results = results_new(&plan);
	add_closed(results, "free", 1, 10);
	markdown = report(results, "report.md");
	expect(markdown, "disturbed each time: 0; not judged: 1 of 1.\n");
	CHECK_NUMBER(*notes.not_judged.text, ==, '\0');
	free(markdown);
}

/* The plan wants no judgement, but what others took is told. */
static void test_the_plan_judges_nothing(void)
{
	struct plan patient;
	struct error error;
	cJSON *json = cJSON_Parse(plan_text), *results;
	char *markdown;

	cJSON_AddNumberToObject(json, "disturbed_percent", 100);
	CHECK(plan_read(&patient, json, &error));
	results = results_new(&patient);
	add_disturbed(results, "free", 1, 10, 68);
	add_disturbed(results, "free", 2, 10, 52);
	add_disturbed(results, "free", 3, 10, 3);
	markdown = report(results, "report.md");
	expect(markdown,
	       "# T\n\n**Disturbances not judged.** The plan's "
	       "disturbed\\_percent is 100. Other programs and the hypervisor "
	       "took 52 % of the cores in the median of the runs, up to 68 %."
	       "\n");
	CHECK(strstr(markdown, "more than 100 %") == NULL);
	CHECK(strstr(markdown, "disturbed each time") == NULL);
	expect(markdown, "| free | 10.000 | 1 |");
	free(markdown);
	plan_release(&patient);
}

/*
 * The rates of the open loops follow from the first arm's quiet runs.  Where it
 * has none, the report says so.
 */
static void test_spoiled_runs_set_no_rates(void)
{
	cJSON *results = results_new(&plan);
	bool all_left_out;
	char *markdown;

	add_disturbed(results, "free", 1, 10, 0);
	add_disturbed(results, "free", 1, 2, 60);
	add_disturbed(results, "free", 1, 3, 60);
	add_disturbed(results, "bound", 1, 50, 0);
	CHECK_NUMBER(results_capacity_per_s(results, &plan, "free", 1,
					    &all_left_out),
		     ==, 10);
	CHECK(!all_left_out);
	CHECK(isnan(results_capacity_per_s(results, &plan, "free", 2,
					   &all_left_out)));
	CHECK(!all_left_out);
	add_disturbed(results, "free", 2, 2, 60);
	add_disturbed(results, "free", 2, 3, 60);
	add_disturbed(results, "free", 2, 4, 60);
	CHECK_NUMBER(results_capacity_per_s(results, &plan, "free", 2,
					    &all_left_out),
		     ==, 3);
	CHECK(all_left_out);
	markdown = report(results, "report.md");
	expect(markdown, "In 1 of the repetitions, the rates of the open loops "
			 "follow from these all the same.");
	free(markdown);
}

/* The plan says what is too much; 100: nothing is. */
static void test_the_plan_says_what_is_left_out(void)
{
	struct plan patient;
	struct error error;
	cJSON *json = cJSON_Parse(plan_text), *results;
	char *markdown;

	cJSON_AddNumberToObject(json, "left_out_percent", 100);
	CHECK(plan_read(&patient, json, &error));
	results = results_new(&patient);
	for (uint64_t i = 1; i <= 2; i++) {
		add_disturbed(results, "free", i, 10, 60);
		add_disturbed(results, "bound", i, 10, 0);
	}
	markdown = report(results, "report.md");
	expect(markdown, "| free |");
	expect(markdown, "up to 60.0 %, each time that the run was made. They "
			 "count:");
	free(markdown);
	plan_release(&patient);
}

static void add_machine(cJSON *results, uint64_t repetition,
			const char *machine)
{
	struct results_run run = { .arm = "free",
				   .load = LOAD_CLOSED,
				   .repetition = repetition };
	char text[256];

	snprintf(text, sizeof(text),
		 "{ \"bytes_per_s\": 1e6, \"machine\": { %s } }", machine);
	results_add(results, &run, cJSON_Parse(text));
}

/* How busy and how fast the machine was, if it is known. */
static void test_machine(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	add_machine(results, 1, "\"load_average\": 2.5, \"core_mhz\": 2600");
	add_machine(results, 2, "\"load_average\": 1.5, \"core_mhz\": 2450.4");
	add_machine(results, 3, "\"load_average\": 9.25, \"core_mhz\": null");
	markdown = report(results, "report.md");
	expect(markdown,
	       "- Load average of a minute, server and client included, at the "
	       "end of a run: median 2.50, 1.50 - 9.25 over all runs.\n");
	expect(markdown, "- Mean frequency of the cores, MHz, at the end of a "
			 "run: median 2525, 2450 - 2600 over all runs.\n");
	free(markdown);
	results = results_new(&plan);
	add_machine(results, 1, "\"load_average\": 2, \"core_mhz\": null");
	markdown = report(results, "report.md");
	expect(markdown, "median 2.00, 2.00 - 2.00 over all runs.\n");
	CHECK(strstr(markdown, "Mean frequency") == NULL);
	free(markdown);
}

/* Response times that grow within the runs are no steady state. */
static void test_unsteady(void)
{
	char *markdown = report(make_results(), "report.md");

	expect(markdown, "- bound, open loop at 50 %: no steady state: in the "
			 "second half of a run the mean response time was 1.22 "
			 "times \\[1.20, 1.25\\] that of the first half");
	CHECK(strstr(markdown, "- free, open loop at 50 %") == NULL);
	/* "bound" at 50 % and 80 %, and "free", which is steady, at 50 %. */
	expect(markdown,
	       "- Steady state: in 1 of 6 loops of the arms, no change of the "
	       "mean response time by more than 10 % from the first half of a "
	       "run to the second was found; too few replies or repetitions to "
	       "check: free, closed loop; free, open loop at 80 %; bound, "
	       "closed loop.\n");
	free(markdown);
}

/* Times of the two halves of a run, and a little more in each repetition. */
static void add_halves(cJSON *results, const char *arm, double first,
		       double second)
{
	for (uint64_t i = 1; i <= 3; i++) {
		struct results_run run = { .arm = arm,
					   .load = LOAD_CLOSED,
					   .repetition = i };
		char text[128];

		snprintf(text, sizeof(text),
			 "{ \"bytes_per_s\": 1e6, \"half_means_ms\": "
			 "[ %f, %f ] }",
			 first, second + 0.001 * (double)i);
		results_add(results, &run, cJSON_Parse(text));
	}
}

/* A decrease is no steady state either; and what passes is told, too. */
static void test_steady(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	add_halves(results, "free", 1, 0.8);
	add_halves(results, "bound", 1, 1);
	markdown = report(results, "report.md");
	expect(markdown, "- free, closed loop: no steady state: in the second "
			 "half of a run the mean response time was 0.80 times "
			 "\\[0.80, 0.80\\] that of the first half");
	expect(markdown, "- Steady state: in 1 of 2 loops of the arms, ");
	free(markdown);
	results = results_new(&plan);
	add_halves(results, "free", 1, 0.95);
	add_halves(results, "bound", 1, 1.05);
	markdown = report(results, "report.md");
	CHECK(strstr(markdown, "no steady state") == NULL);
	expect(markdown, "- Steady state: in 2 of 2 loops of the arms, no "
			 "change of the mean response time by more than 10 % "
			 "from the first half of a run to the second was "
			 "found.\n");
	free(markdown);
}

/* From one run there is no deviation, interval or p. */
static void test_one_run(void)
{
	cJSON *results = results_new(&plan);
	char *markdown;

	add_closed(results, "bound", 1, 20);
	add_closed(results, "free", 1, 10);
	add_open(results, "free", 1, 50, 0);
	add_open(results, "bound", 1, 50, 0);
	markdown = report(results, "report.md");
	expect(markdown, "| bound | 20.000 | 2.000 | - | - | - | - | - | 1 |");
	expect(markdown, "From one repetition no difference can be told");
	CHECK(strstr(markdown, "nan") == NULL);
	/* A plot of one point for each arm shows no more than the tables. */
	expect(markdown, "There are none: no figure has two runs of an arm.");
	CHECK(strstr(markdown, ".svg") == NULL);
	CHECK(strstr(markdown, "A point is a run") == NULL);
	free(markdown);
}

/* With two rates, there are curves; with one, only boxes of several runs. */
static void test_plots_of_one_point_are_left_out(void)
{
	cJSON *json = cJSON_Parse(plan_text), *results;
	struct plan one_rate;
	struct error error;
	char *markdown;

	cJSON_ReplaceItemInObject(cJSON_GetObjectItem(json, "open"),
				  "percent_of_capacity",
				  cJSON_CreateDoubleArray((double[]){ 80 }, 1));
	CHECK(plan_read(&one_rate, json, &error));
	results = results_new(&one_rate);
	for (uint64_t i = 1; i <= 2; i++) {
		add_closed(results, "free", i, 10);
		add_open(results, "free", i, 80, 0);
	}
	markdown = report(results, "report.md");
	plan_release(&one_rate);
	expect(markdown, "](throughput.svg)");
	expect(markdown, "](open_p90.svg)");
	CHECK(strstr(markdown, "](load_p90.svg)") == NULL);
	/* HdrHistogram's ladder has one step here. */
	CHECK(strstr(markdown, "](response_times.svg)") == NULL);
	free(markdown);
	results = results_new(&plan);
	add_closed(results, "free", 1, 10);
	add_open(results, "free", 1, 50, 0);
	add_open(results, "free", 1, 80, 0);
	markdown = report(results, "report.md");
	expect(markdown, "](load_p90.svg)");
	CHECK(strstr(markdown, "](throughput.svg)") == NULL);
	CHECK(strstr(markdown, "](open_p90.svg)") == NULL);
	free(markdown);
}

/* The CPU time of a server on another machine is not known. */
static void test_no_server_figures(void)
{
	struct results_run run = { .arm = "free",
				   .load = LOAD_CLOSED,
				   .repetition = 1 };
	cJSON *results = results_new(&plan);
	char *markdown;

	results_add(results, &run,
		    cJSON_Parse("{ \"bytes_per_s\": 1e6, \"server\": null }"));
	markdown = report(results, "report.md");
	expect(markdown, "| free | 1.000 | 1 | - | - | - | the baseline | - | "
			 "1 |\n");
	expect(markdown, "| free | - | - | - | - | - | - |\n");
	free(markdown);
}

/* Why one of the arms has none. */
static void test_no_box_of_few_replies(void)
{
	struct results_run run = { .arm = "bound", .load = LOAD_CLOSED };
	cJSON *results = results_new(&plan);
	char *markdown;

	for (run.repetition = 1; run.repetition <= 2; run.repetition++) {
		add_closed(results, "free", run.repetition, 10);
		results_add(results, &run,
			    cJSON_Parse("{ \"bytes_per_s\": 1e6,"
					"\"responses\": { \"200\": 99 },"
					"\"response_ms\": { \"p90\": 5 } }"));
	}
	markdown = report(results, "report.md");
	expect(markdown, "\nbound has no box of p90: not each of its runs has "
			 "100 replies.\n");
	CHECK(strstr(markdown, "free has no box") == NULL);
	free(markdown);
}

static void test_a_box_for_each_metric(void)
{
	static const char *const names[] = {
		"throughput",   "makespan", "responses",
		"response_p90", "cpu_use",  "uploads",
		"cpu",          "memory",   "switches",
	};
	char *markdown = report(make_results(), "report.md");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char link[64];

		snprintf(link, sizeof(link), "](%s.svg)", names[i]);
		expect(markdown, link);
	}
	free(markdown);
}

static const char nasty[] =
	"'`touch pwned` $(x) @m %s%n {\\Bold} \\n <a href=\"y\">&\t|</svg>";

/* In HTML, meta and img have no end tag; all else is XML, too. */
static void drop_elements(char *html, const char *name)
{
	char *element;

	while ((element = strstr(html, name)) != NULL) {
		char *end = strchr(element, '>') + 1;

		memmove(element, end, strlen(end) + 1);
	}
}

/* gnuplot, SVG, HTML and Markdown show every character of a name as text. */
static void test_nasty_names(void)
{
	struct plan nasty_plan;
	cJSON *json = cJSON_Parse(plan_text);
	cJSON *results;
	struct error error;
	char *text;

	cJSON_ReplaceItemInObject(json, "title", cJSON_CreateString(nasty));
	cJSON_ReplaceItemInObject(
		cJSON_GetArrayItem(cJSON_GetObjectItem(json, "arms"), 1),
		"name", cJSON_CreateString("' . `touch p` . '%s%n<b>&|"));
	CHECK(plan_read(&nasty_plan, json, &error));
	results = results_new(&nasty_plan);
	for (uint64_t i = 1; i <= 2; i++)
		add_closed(results, nasty_plan.arms[1].name, i, 10);
	add_open(results, nasty_plan.arms[1].name, 1, 50, 0);
	add_open(results, nasty_plan.arms[1].name, 1, 80, 0);
	text = report(results, "throughput.svg");
	CHECK(xml_is_well_formed(text));
	expect(text, "<title>Throughput, closed loop</title>");
	expect(text, "' . `touch p` . '%s%n&lt;b>&amp;|</text>");
	expect(text, "prefers-color-scheme:dark");
	free(text);
	text = scratch_read(&scratch, "load_p50.svg");
	CHECK(xml_is_well_formed(text));
	expect(text, "' . `touch p` . '%s%n&lt;b>&amp;|</text>");
	free(text);
	CHECK(!scratch_has(&scratch, "p"));
	CHECK(!scratch_has(&scratch, "pwned"));
	text = scratch_read(&scratch, "report.md");
	expect(text, "\\<a href");
	expect(text, "%s%n\\<b\\>&\\| | 10.000 |");
	free(text);
	text = scratch_read(&scratch, "report.html");
	CHECK(strncmp(text, "<!DOCTYPE html>\n", 16) == 0);
	CHECK(strstr(text, "<a") == NULL);
	CHECK(strstr(text, "<b>") == NULL);
	drop_elements(text, "<meta");
	drop_elements(text, "<img");
	CHECK(xml_is_well_formed(text + 16));
	free(text);
	plan_release(&nasty_plan);
}

/* The page needs no other file: it contains the pictures. */
static void test_html_is_complete(void)
{
	char *html = report(make_results(), "report.html");
	const char *at = html;

	expect(html, "<img alt=\"Throughput, closed loop\" "
		     "src=\"data:image/svg+xml,%3C");
	while ((at = strstr(at, "src=\"")) != NULL)
		CHECK(strncmp(at += 5, "data:image/svg+xml,", 19) == 0);
	CHECK(strstr(html, "<link") == NULL);
	CHECK(strstr(html, "<script") == NULL);
	free(html);
}

/*
 * The report has only tables, and says why.  The script is there, to be run on
 * a machine with gnuplot.
 */
static void test_without_gnuplot(void)
{
	char *path = strdup(getenv("PATH"));
	char folder[SCRATCH_PATH_BYTES];
	cJSON *results = make_results();
	struct error error;
	char *text;

	scratch_mkdir(&scratch, "plain");
	scratch_path(&scratch, "plain", folder);
	setenv("PATH", "/nonexistent", 1);
	CHECK(report_write(folder, results, &notes, &error));
	setenv("PATH", path, 1);
	CHECK_PART(notes.no_plots.text, "gnuplot");
	text = scratch_read(&scratch, "plain/report.md");
	expect(text, "| bound | 22.000 |");
	expect(text, "There are none: cannot start 'gnuplot'");
	CHECK(strstr(text, ".svg") == NULL);
	free(text);
	CHECK(scratch_has(&scratch, "plain/plots.gnuplot"));
	CHECK(!scratch_has(&scratch, "plain/throughput.svg"));
	cJSON_Delete(results);
	free(path);
}

static void test_verdict_of_xml(void)
{
	CHECK(xml_is_well_formed("<a x=\"1\">t &amp; <b/></a>"));
	CHECK(xml_is_well_formed("<?xml version='1'?>\n<a x = '1'\n><b/></a>"));
	CHECK(!xml_is_well_formed("<a><b></a></b>"));
	CHECK(!xml_is_well_formed("<a>&</a>"));
	CHECK(!xml_is_well_formed("<a>"));
	CHECK(!xml_is_well_formed("<a x=1/>"));
	CHECK(!xml_is_well_formed("<a/><b/>"));
	CHECK(!xml_is_well_formed("<a x=\"<\"/>"));
}

/* There is no half of a report. */
static void test_what_cannot_be_written(void)
{
	cJSON *results = make_results();
	char folder[SCRATCH_PATH_BYTES];
	struct error error;

	scratch_mkdir(&scratch, "blocked");
	scratch_mkdir(&scratch, "blocked/memory.svg");
	scratch_path(&scratch, "blocked", folder);
	CHECK(!report_write(folder, results, &notes, &error));
	CHECK_PART(error.text, "blocked/memory.svg: Is a directory");
	CHECK(scratch_has(&scratch, "blocked/throughput.svg"));
	CHECK(!scratch_has(&scratch, "blocked/report.md"));
	CHECK(!scratch_has(&scratch, "blocked/report.md.tmp"));
	CHECK(!scratch_has(&scratch, "blocked/memory.svg.tmp"));
	cJSON_Delete(results);
}

int main(void)
{
	struct error error;

	CHECK(plan_read(&plan, cJSON_Parse(plan_text), &error));
	scratch_init(&scratch);
	test_open_loop_without_survivors();
	test_one_bad_run_is_told();
	test_connections();
	test_differences();
	test_slices();
	test_server_counter();
	test_small_uploads();
	test_changes();
	test_a_part_of_a_comparison();
	test_numbers_without_use_are_cut();
	test_outliers();
	test_planted_effects();
	test_many_arms();
	test_disturbed_runs();
	test_spoiled_runs_are_left_out();
	test_a_spoiled_arm_is_lost();
	test_spoiled_arms_are_lost();
	test_all_open_loops_are_left_out();
	test_one_disturbed_run_beside_a_spoiled_one();
	test_short_runs_are_not_judged();
	test_the_plan_judges_nothing();
	test_spoiled_runs_set_no_rates();
	test_the_plan_says_what_is_left_out();
	test_machine();
	test_unsteady();
	test_steady();
	test_one_run();
	test_plots_of_one_point_are_left_out();
	test_no_server_figures();
	test_no_box_of_few_replies();
	test_a_box_for_each_metric();
	test_nasty_names();
	test_html_is_complete();
	test_without_gnuplot();
	test_verdict_of_xml();
	test_what_cannot_be_written();
	scratch_release(&scratch);
	plan_release(&plan);
	return 0;
}
