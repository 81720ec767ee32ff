/* SPDX-License-Identifier: MIT */
/* `loadgen compare` as its user runs it, with trivial servers. */
#include "base/test/check.h"
#include "loadgen/compare/test/xml.h"
#include "base/json.h"
#include "base/util.h"
#include "loadgen/test/program.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPETITIONS = 2 };

static struct scratch scratch; /* has photos/ and the plans */
static char photos[SCRATCH_PATH_BYTES];
static char server[SCRATCH_PATH_BYTES];

#define RUN(...) PROGRAM_RUN(&scratch, "compare", __VA_ARGS__)

/* The tests run beside others, so no run of theirs is disturbed. */
static const char *verify = "none", *refusals = "fail";
static const char *disturbed = "\"disturbed_percent\": 100,";
static const char *counter = "uploads_total";

/* A plan of two arms: the pause in ms and the status of each. */
static void write_plan(const char *name, const char *closed,
		       const char *const first[2], const char *const second[2])
{
	char text[2048];
	int length = snprintf(
		text, sizeof(text),
		"{ \"title\": \"Two <servers>\", \"verify\": \"%s\","
		"\"refusals\": \"%s\", \"repetitions\": %d, "
		"%s \"server_counter\": \"%s\","
		"\"closed\": { \"connections\": 1, %s },"
		"\"open\": { \"percent_of_capacity\": [20],"
		"\"duration_s\": 0.05 }, \"arms\": ["
		"{ \"name\": \"Quick & small\", \"command\":"
		"[\"%s\", \"{port}\", \"%s\", \"%s\"],"
		"\"url\": \"http://127.0.0.1:{port}/\" },"
		"{ \"name\": \"Lazy\", \"command\":"
		"[\"%s\", \"{port}\", \"%s\", \"%s\"],"
		"\"url\": \"http://127.0.0.1:{port}/\" } ] }",
		verify, refusals, REPETITIONS, disturbed, counter, closed,
		server, first[0], first[1], server, second[0], second[1]);

	CHECK_NUMBER(length, >, 0);
	CHECK_NUMBER(length, <, (int)sizeof(text));
	scratch_write(&scratch, name, text, (size_t)length);
}

/*
 * Check that all servers that logged their pid have ended.  Returns their
 * number; 0 if none was started.
 */
static int expect_ended(const char *log)
{
	char *text;
	int count = 0;

	if (!scratch_has(&scratch, log))
		return 0;
	text = scratch_read(&scratch, log);

	for (char *at = text; (at = strstr(at, "pid ")) != NULL; at += 4) {
		errno = 0;
		CHECK_NUMBER(kill((pid_t)atoi(at + 4), 0), !=, 0);
		CHECK_NUMBER(errno, ==, ESRCH);
		count++;
	}
	free(text);
	return count;
}

static int count_runs(const cJSON *results, const char *arm, const char *load)
{
	const cJSON *run;
	int count = 0;

	cJSON_ArrayForEach(run, cJSON_GetObjectItem(results, "runs"))
	{
		count += strcmp(cJSON_GetObjectItem(run, "arm")->valuestring,
				arm) == 0 &&
			 strcmp(cJSON_GetObjectItem(run, "load")->valuestring,
				load) == 0;
	}
	return count;
}

static void expect_results(const char *name)
{
	cJSON *results = scratch_read_json(&scratch, name);
	const cJSON *runs = cJSON_GetObjectItem(results, "runs");
	/* A repetition has these of both arms, one load after the other. */
	static const char *const loads[] = { "warm-up", "closed", "open" };
	const char *arms[2];
	double capacity = 0; /* of the first arm, in this repetition */

	CHECK_TEXT(cJSON_GetObjectItem(results, "schema")->valuestring,
		   "darkroom-compare/1");
	CHECK_NUMBER(count_runs(results, "Quick & small", "closed"), ==,
		     REPETITIONS);
	CHECK_NUMBER(count_runs(results, "Lazy", "closed"), ==, REPETITIONS);
	CHECK_NUMBER(count_runs(results, "Lazy", "open"), ==, REPETITIONS);
	CHECK_NUMBER(count_runs(results, "Lazy", "warm-up"), ==, REPETITIONS);
	for (int r = 0; r < 3 * REPETITIONS; r++) {
		for (int i = 0; i < 2; i++) {
			const cJSON *run = cJSON_GetArrayItem(runs, 2 * r + i);
			const char *load = json_text(run, "load");

			arms[i] = json_text(run, "arm");
			CHECK_TEXT(load, loads[r % 3]);
			if (strcmp(load, "closed") == 0 &&
			    strcmp(arms[i], "Quick & small") == 0)
				capacity = json_number(
					run, "result.responses_per_s", 0);
			if (strcmp(load, "open") == 0)
				CHECK_NUMBER(
					fabs(json_number(run,
							 "result.rate_per_s",
							 0) /
						     (0.2 * capacity) -
					     1),
					<, 1e-3);
		}
		CHECK(strcmp(arms[0], arms[1]) != 0);
	}
	cJSON_Delete(results);
}

/*
 * Results are not compared with earlier ones of other conditions, and nothing
 * is measured for that.
 */
static void expect_other_conditions(const char *out)
{
	static const struct {
		const char *object, *key, *value, *message;
	} others[] = {
		{ "machine", "cpu", "\"6502\"", ", and was 6502\n" },
		{ "machine", "cores", "0.5", "number of cores is " },
		{ NULL, "dataset", "\"pets\"", "photos, and was pets\n" },
		{ "plan", "query", "\"w=9\"", "query is none, and was w=9\n" },
	};
	char plan[SCRATCH_PATH_BYTES], old[SCRATCH_PATH_BYTES];
	char late[SCRATCH_PATH_BYTES];

	scratch_path(&scratch, "old.json", old);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		check_case("others[%zu]: %s", i, others[i].object);
		cJSON *root = scratch_read_json(&scratch, "out/results.json");
		cJSON *object =
			others[i].object == NULL ?
				root :
				cJSON_GetObjectItem(root, others[i].object);
		char *text;

		cJSON_DeleteItemFromObject(object, others[i].key);
		cJSON_AddItemToObject(object, others[i].key,
				      cJSON_Parse(others[i].value));
		text = cJSON_Print(root);
		scratch_write(&scratch, "old.json", text, strlen(text));
		cJSON_free(text);
		cJSON_Delete(root);
		CHECK_NUMBER(RUN("--report", out, "--with", old), ==, 1);
		scratch_expect(&scratch, "stderr", "cannot be compared: the ");
		scratch_expect(&scratch, "stderr", others[i].message);
		CHECK_NUMBER(RUN(scratch_path(&scratch, "plan.json", plan),
				 "--dataset", photos, "--output",
				 scratch_path(&scratch, "late", late), "--with",
				 old),
			     ==, 2);
		scratch_expect(&scratch, "stderr", others[i].message);
		CHECK(!scratch_has(&scratch, "late/results.json"));
	}
}

static void expect_reports_of_two(void)
{
	char *svg;

	scratch_expect(&scratch, "out/report.md", "# Two \\<servers\\>");
	scratch_expect(&scratch, "out/report.md", "| Lazy |");
	scratch_expect(&scratch, "out/report.md", "| Quick & small |");
	scratch_expect(&scratch, "out/report.md", "| the baseline |");
	scratch_expect(&scratch, "out/report.md", "Power: of ");
	scratch_expect(&scratch, "out/report.html", "Quick &amp; small");
	scratch_expect(&scratch, "out/report.html", "data:image/svg+xml");
	scratch_expect(&scratch, "out/report.md", "](throughput.svg)");
	svg = scratch_read(&scratch, "out/throughput.svg");
	CHECK(xml_is_well_formed(svg));
	free(svg);
}

static void test_two_servers(void)
{
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];
	char old[SCRATCH_PATH_BYTES], later[SCRATCH_PATH_BYTES];

	write_plan("plan.json", "\"passes\": 3",
		   (const char *const[]){ "0", "200" },
		   (const char *const[]){ "5", "200" });
	CHECK_NUMBER(RUN(scratch_path(&scratch, "plan.json", plan), "--dataset",
			 photos, "--output",
			 scratch_path(&scratch, "out", out)),
		     ==, 0);
	scratch_expect(&scratch, "stdout", "out/report.html");
	scratch_expect(&scratch, "stderr", "repetition 2, Lazy, closed loop");
	expect_results("out/results.json");
	expect_reports_of_two();
	CHECK_NUMBER(expect_ended("out/logs/arm-1.log"), ==, REPETITIONS);
	CHECK_NUMBER(expect_ended("out/logs/arm-2.log"), ==, REPETITIONS);
	/*
	 * Make the report again from the results; the results are not
	 * overwritten.
	 */
	CHECK_NUMBER(remove(scratch_path(&scratch, "out/report.html", plan)),
		     ==, 0);
	CHECK_NUMBER(RUN("--report", out), ==, 0);
	CHECK_NUMBER(RUN("--report", out, "--with",
			 scratch_path(&scratch, "out/results.json", plan)),
		     ==, 0);
	scratch_expect(&scratch, "stdout", "Lazy: throughput, MB/s: ");
	scratch_expect(&scratch, "stdout", "+0.0 %");
	scratch_path(&scratch, "out/results.json", old);
	expect_other_conditions(out);
	CHECK_NUMBER(RUN("--report", out, "--with", "/no/such/file"), ==, 2);
	scratch_expect(&scratch, "stderr", "/no/such/file: No such file");
	scratch_expect(&scratch, "out/report.html", "Quick &amp; small");
	CHECK_NUMBER(RUN(scratch_path(&scratch, "plan.json", plan), "--dataset",
			 photos, "--output", out),
		     ==, 2);
	scratch_expect(&scratch, "stderr",
		       "out/results.json is there already, with 8 runs: give "
		       "another --output, or remove it; --report ");
	scratch_expect(&scratch, "stderr", "out makes its reports again\n");
	/* A new comparison, and what has changed since the last one. */
	CHECK_NUMBER(RUN(plan, "--dataset", photos, "--repetitions", "2",
			 "--output", scratch_path(&scratch, "later", later),
			 "--with", old),
		     ==, 0);
	scratch_expect(&scratch, "stdout", "later/report.html");
	scratch_expect(&scratch, "stdout", "Lazy: CPU, ms per image: ");
}

/*
 * With slices, the arms are measured in turns while their servers live, and a
 * figure is the mean of a repetition's slices.
 */
static void test_slices(void)
{
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];
	cJSON *results;
	const cJSON *run;
	int changes = 0;
	const char *last = "";

	write_plan("sliced.json", "\"passes\": 1, \"slices\": 6",
		   (const char *const[]){ "0", "200" },
		   (const char *const[]){ "0", "200" });
	CHECK_NUMBER(RUN(scratch_path(&scratch, "sliced.json", plan),
			 "--dataset", photos, "--output",
			 scratch_path(&scratch, "sliced", out)),
		     ==, 0);
	results = scratch_read_json(&scratch, "sliced/results.json");
	CHECK_NUMBER(count_runs(results, "Lazy", "closed"), ==,
		     6 * REPETITIONS);
	cJSON_ArrayForEach(run, cJSON_GetObjectItem(results, "runs"))
	{
		if (strcmp(json_text(run, "load"), "closed") != 0)
			continue;
		changes += strcmp(json_text(run, "arm"), last) != 0;
		last = json_text(run, "arm");
	}
	CHECK_NUMBER(changes, >=, 6 * REPETITIONS);
	cJSON_Delete(results);
	CHECK_NUMBER(expect_ended("sliced/logs/arm-1.log"), ==, REPETITIONS);
	scratch_expect(&scratch, "sliced/report.md", "| - | 12 |\n");
}

/*
 * Compile a file again and again, at most 500 times, in a process group of its
 * own: as many compilers at a time as use an eighth of the cores or more.
 */
static pid_t start_compilers(void)
{
	static const char loop[] =
		"cd \"$1\" && for i in $(seq 500); do"
		" \"$0\" -O2 -D_GNU_SOURCE -I. -c base/statistics.c"
		" -o /dev/null || exit; done";
	static const char many[] = "for i in $(seq $2); do sh -c \"$3\" \"$0\""
				   " \"$1\" & done; wait";
	char count[24];
	pid_t pid = fork();

	CHECK_NUMBER(pid, >=, 0);
	if (pid > 0)
		return pid;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(count, sizeof(count), "%ld",
		 sysconf(_SC_NPROCESSORS_ONLN) / 8 + 1);
	execl("/bin/sh", "sh", "-c", many, COMPILER, ROOT, count, loop,
	      (char *)NULL);
	abort();
}

/* They must still run: they end only where the compiler fails. */
static void stop_compilers(pid_t pid)
{
	int status;

	CHECK_NUMBER(waitpid(pid, &status, WNOHANG), ==, 0);
	CHECK_NUMBER(kill(-pid, SIGKILL), ==, 0);
	CHECK_NUMBER(waitpid(pid, &status, 0), ==, pid);
	CHECK(WIFSIGNALED(status));
	CHECK_NUMBER(WTERMSIG(status), ==, SIGKILL);
}

/*
 * With the default limit, a run beside a compiler is made again, and when that
 * does not help, the report says so.
 */
static void test_disturbed(void)
{
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];
	pid_t compilers = start_compilers();
	cJSON *results;

	disturbed = "\"left_out_percent\": 100,";
	write_plan("busy.json", "\"duration_s\": 0.6",
		   (const char *const[]){ "1", "200" },
		   (const char *const[]){ "1", "200" });
	disturbed = "\"disturbed_percent\": 100,";
	CHECK_NUMBER(RUN(scratch_path(&scratch, "busy.json", plan), "--dataset",
			 photos, "--repetitions", "1", "--arms", "Lazy",
			 "--output", scratch_path(&scratch, "busy", out)),
		     ==, 0);
	stop_compilers(compilers);
	results = scratch_read_json(&scratch, "busy/results.json");
	CHECK_NUMBER(count_runs(results, "Lazy", "closed"), ==, 3);
	cJSON_Delete(results);
	scratch_expect(&scratch, "stderr", "; disturbed (others took ");
	scratch_expect(&scratch, "stderr",
		       " % of the cores); attempt 2 of 3\n");
	/* The last attempt is marked, too. */
	scratch_expect(&scratch, "stderr", " % of the cores)\n");
	scratch_expect(&scratch, "busy/report.md",
		       "take more than 5 % of the machine's cores;");
	scratch_expect(&scratch, "busy/report.md",
		       "Lazy: runs disturbed in all 3 attempts:");
	scratch_expect(&scratch, "busy/report.md",
		       "\n**Disturbed measurement.** In 1 of 2 runs, ");
	scratch_expect(&scratch, "stdout", "DISTURBED: In 1 of 2 runs, ");
}

/*
 * If others disturb all closed loops so much that they are left out, the open
 * loops get their rates nevertheless, and loadgen says where these come from.
 */
static void test_rates_of_disturbed_runs(void)
{
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];
	pid_t compilers = start_compilers();
	cJSON *results;

	disturbed = "\"disturbed_percent\": 0.1, \"left_out_percent\": 0.1,";
	write_plan("spoiled.json", "\"duration_s\": 0.6",
		   (const char *const[]){ "1", "200" },
		   (const char *const[]){ "1", "200" });
	disturbed = "\"disturbed_percent\": 100,";
	CHECK_NUMBER(RUN(scratch_path(&scratch, "spoiled.json", plan),
			 "--dataset", photos, "--repetitions", "1", "--arms",
			 "Lazy", "--output",
			 scratch_path(&scratch, "spoiled", out)),
		     ==, 0);
	stop_compilers(compilers);
	results = scratch_read_json(&scratch, "spoiled/results.json");
	CHECK_NUMBER(count_runs(results, "Lazy", "open"), ==, 1);
	cJSON_Delete(results);
	scratch_expect(&scratch, "stderr",
		       "repetition 1, Lazy: all closed loops were left out; "
		       "the rates of the open loops follow from these");
	scratch_expect(&scratch, "stdout",
		       "In 1 of the repetitions, the rates of the open loops "
		       "follow from these all the same.");
}

/* Of all runs against each server, as many as it was sent. */
static void test_server_counter(void)
{
	static const char *const good[] = { "0", "200" };
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];
	cJSON *results;
	const cJSON *run;

	write_plan("counted.json", "\"passes\": 1", good, good);
	CHECK_NUMBER(RUN(scratch_path(&scratch, "counted.json", plan),
			 "--dataset", photos, "--output",
			 scratch_path(&scratch, "counted", out)),
		     ==, 0);
	results = scratch_read_json(&scratch, "counted/results.json");
	cJSON_ArrayForEach(run, cJSON_GetObjectItem(results, "runs"))
	{
		CHECK_NUMBER(
			json_number(run, "result.server_counter.increase", NAN),
			==, json_number(run, "result.requests", NAN));
	}
	cJSON_Delete(results);
	scratch_expect(&scratch, "counted/report.md",
		       "| Median rate counted by the server, 1/s "
		       "(uploads\\_total) |");
	/* A server without it is found before anything is measured. */
	counter = "other_total";
	write_plan("uncounted.json", "\"passes\": 1", good, good);
	counter = "uploads_total";
	CHECK_NUMBER(RUN(scratch_path(&scratch, "uncounted.json", plan),
			 "--dataset", photos, "--output",
			 scratch_path(&scratch, "uncounted", out)),
		     ==, 1);
	scratch_expect(&scratch, "stderr", "repetition 1: ");
	scratch_expect(&scratch, "stderr",
		       "--server-counter other_total: http://127.0.0.1:");
	results = scratch_read_json(&scratch, "uncounted/results.json");
	CHECK_NUMBER(cJSON_GetArraySize(cJSON_GetObjectItem(results, "runs")),
		     ==, 0);
	cJSON_Delete(results);
}

/*
 * Nothing was measured before a mistake was found: when it is mended, the same
 * folder will do.  One with a file that is no results.json is left alone.
 */
static void test_results_without_runs_are_overwritten(void)
{
	static const char *const good[] = { "0", "200" };
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];

	write_plan("first.json", "\"passes\": 1", good,
		   (const char *const[]){ "0", "500" });
	scratch_path(&scratch, "first.json", plan);
	scratch_path(&scratch, "first", out);
	CHECK_NUMBER(RUN(plan, "--dataset", "/no/such/photos", "--output", out),
		     ==, 2);
	scratch_expect(&scratch, "stderr",
		       "--dataset: /no/such/photos: No such file");
	CHECK(!scratch_has(&scratch, "first"));
	CHECK_NUMBER(RUN(plan, "--dataset", photos, "--output", out), ==, 1);
	CHECK(scratch_has(&scratch, "first/results.json"));
	write_plan("first.json", "\"passes\": 1", good, good);
	CHECK_NUMBER(RUN(plan, "--dataset", photos, "--output", out), ==, 0);
	scratch_write(&scratch, "first/results.json", "{", 1);
	CHECK_NUMBER(RUN(plan, "--dataset", photos, "--output", out), ==, 2);
	scratch_expect(&scratch, "stderr",
		       "first/results.json is there already: give another "
		       "--output, or remove it\n");
}

static void test_wrong_answers(void)
{
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];

	write_plan("wrong.json", "\"passes\": 1",
		   (const char *const[]){ "0", "200" },
		   (const char *const[]){ "0", "500" });
	CHECK_NUMBER(RUN(scratch_path(&scratch, "wrong.json", plan),
			 "--dataset", photos, "--output",
			 scratch_path(&scratch, "wrong", out)),
		     ==, 1);
	scratch_expect(&scratch, "stderr",
		       "arm 'Lazy', repetition 1: 3 of 3 requests were "
		       "not answered 2xx; the first: ");
	scratch_expect(&scratch, "stderr", ".jpg: status 500");
	CHECK_NUMBER(expect_ended("wrong/logs/arm-1.log"), <=, 1);
	CHECK_NUMBER(expect_ended("wrong/logs/arm-2.log"), ==, 1);
	scratch_expect(&scratch, "wrong/results.json",
		       "Quick & small"); /* the results name the arms */
	CHECK_NUMBER(RUN("--report", out), ==, 0);
	scratch_expect(&scratch, "wrong/report.md",
		       "\n**Not complete.** It ended in repetition 1 of 2: arm "
		       "'Lazy', repetition 1: 3 of 3 requests were not ");
}

/* Replies 503 are counted, if the plan says so; another one is not. */
static void test_refusals(void)
{
	static const char *const good[] = { "0", "200" };
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];

	refusals = "count";
	write_plan("full.json", "\"passes\": 1", good,
		   (const char *const[]){ "0", "503" });
	CHECK_NUMBER(RUN(scratch_path(&scratch, "full.json", plan), "--dataset",
			 photos, "--output",
			 scratch_path(&scratch, "full", out)),
		     ==, 0);
	scratch_expect(&scratch, "full/report.md", "Replies 503, %");
	scratch_expect(&scratch, "full/report.md", "| 100.0 |");
	write_plan("broken.json", "\"passes\": 1", good,
		   (const char *const[]){ "0", "500" });
	CHECK_NUMBER(RUN(scratch_path(&scratch, "broken.json", plan),
			 "--dataset", photos, "--output",
			 scratch_path(&scratch, "broken", out)),
		     ==, 1);
	scratch_expect(&scratch, "stderr", "3 of 3 requests were not");
	refusals = "fail";
}

/* The replies have status 200, but their body "reply" is no picture. */
static void test_answers_that_are_no_pictures(void)
{
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];

	verify = "decode";
	write_plan("text.json", "\"passes\": 1",
		   (const char *const[]){ "0", "200" },
		   (const char *const[]){ "0", "200" });
	verify = "none";
	CHECK_NUMBER(RUN(scratch_path(&scratch, "text.json", plan), "--dataset",
			 photos, "--output",
			 scratch_path(&scratch, "text", out)),
		     ==, 1);
	scratch_expect(&scratch, "stderr",
		       "arm 'Quick & small', repetition 1: 3 of 3 "
		       "replies are wrong: ");
	scratch_expect(&scratch, "stderr", ".jpg: ");
}

static void test_server_that_does_not_start(void)
{
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];

	write_plan("dead.json", "\"passes\": 1",
		   (const char *const[]){ "0", "200" },
		   (const char *const[]){ "0", "200\", \"more" });
	CHECK_NUMBER(RUN(scratch_path(&scratch, "dead.json", plan), "--dataset",
			 photos, "--output",
			 scratch_path(&scratch, "dead", out)),
		     ==, 1);
	scratch_expect(&scratch, "stderr",
		       "arm 'Lazy', repetition 1: the server ended at "
		       "once: exit status 3");
	scratch_expect(&scratch, "stderr", "no port");
	CHECK_NUMBER(expect_ended("dead/logs/arm-1.log"), <=, 1);
}

/* Interrupts a run of the first server. */
static void test_interrupted(int signal_number, const char *name)
{
	struct timespec pause = { .tv_nsec = 20000000 };
	char log_name[64];
	char plan[SCRATCH_PATH_BYTES];
	char out[SCRATCH_PATH_BYTES];
	bool begun = false;
	int ended = 0;
	pid_t pid;

	write_plan("long.json", "\"duration_s\": 1000",
		   (const char *const[]){ "0", "200" },
		   (const char *const[]){ "0", "200" });
	pid = program_start(&scratch,
			    (const char *const[]){
				    "compare",
				    scratch_path(&scratch, "long.json", plan),
				    "--dataset", photos, "--output",
				    scratch_path(&scratch, name, out), NULL });
	snprintf(log_name, sizeof(log_name), "%s/results.json", name);
	while (!begun) { /* until the warm-up is over */
		nanosleep(&pause, NULL);
		begun = scratch_has(&scratch, log_name);
	}
	CHECK_NUMBER(kill(pid, signal_number), ==, 0);
	CHECK_NUMBER(program_wait(pid), ==, 130);
	snprintf(log_name, sizeof(log_name), "%s/report.md", name);
	scratch_expect(&scratch, log_name,
		       "\n**Not complete.** It ended in repetition 1 of 2: "
		       "interrupted. ");
	for (int i = 1; i <= 2; i++) {
		snprintf(log_name, sizeof(log_name), "%s/logs/arm-%d.log", name,
			 i);
		ended += expect_ended(log_name);
	}
	CHECK(ended == 1 || ended == 2);
}

static void test_usage(void)
{
	char plan[SCRATCH_PATH_BYTES];

	scratch_path(&scratch, "plan.json", plan);
	CHECK_NUMBER(RUN("--help"), ==, 0);
	scratch_expect(&scratch, "stdout", "--repetitions N");
	CHECK_NUMBER(RUN("--output", "x"), ==, 2);
	scratch_expect(&scratch, "stderr", "PLAN.json and --output DIR");
	CHECK_NUMBER(RUN("--repetition", "0"), ==, 2);
	CHECK_NUMBER(RUN(plan, "--output", "/no/such/folder", "--dataset", "x",
			 "--repetitions", "0"),
		     ==, 2);
	scratch_expect(&scratch, "stderr",
		       "--repetitions: '0' is not a whole number from 1 "
		       "to 100");
	CHECK_NUMBER(RUN(plan, "--output", "/no/such/folder", "--dataset", "x",
			 "--connections", "0"),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "--connections: '0'");
	CHECK_NUMBER(RUN(plan, "--output", "/no/such/folder", "--dataset", "x",
			 "--arms", "Lazy,Busy"),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "the plan has no arm 'Busy'");
	CHECK_NUMBER(RUN(plan, "--output", "/no/such/folder"), ==, 2);
	scratch_expect(&scratch, "stderr", "--dataset DIR is missing");
	CHECK_NUMBER(
		RUN(plan, "--output", "/no/such/folder", "--dataset", photos),
		==, 2);
	scratch_expect(&scratch, "stderr",
		       "--output /no/such/folder: No such file");
	CHECK_NUMBER(RUN("--report", "/no/such/folder"), ==, 2);
	scratch_expect(&scratch, "stderr",
		       "/no/such/folder/results.json: No such file");
}

int main(void)
{
	program_find("compare_reply_server", server);
	scratch_init(&scratch);
	scratch_path(&scratch, "photos", photos);
	scratch_mkdir(&scratch, "photos");
	scratch_write(&scratch, "photos/a.jpg", "one", 3);
	scratch_write(&scratch, "photos/b.jpg", "two", 3);
	scratch_write(&scratch, "photos/c.jpg", "three", 5);
	test_two_servers();
	test_slices();
	test_disturbed();
	test_rates_of_disturbed_runs();
	test_server_counter();
	test_results_without_runs_are_overwritten();
	test_wrong_answers();
	test_refusals();
	test_answers_that_are_no_pictures();
	test_server_that_does_not_start();
	test_interrupted(SIGINT, "sigint");
	test_interrupted(SIGTERM, "sigterm");
	test_usage();
	scratch_release(&scratch);
	return 0;
}
