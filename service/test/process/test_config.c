/* SPDX-License-Identifier: MIT */
/*
 * Promise: a flag may come from the command line, the environment or a file.
 * The first of these that has it decides, all values must be valid, and a
 * refusal names the source of the value.
 */
#include "base/error.h"
#include "service/config/options.h"

#include "base/test/check.h"
#include "base/util.h"
#include "stages/stage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 8 };

static char path[] = "/tmp/test_config-XXXXXX";
static struct error error;

/* `file` NULL: no --config.  The other two texts are split at spaces. */
static bool parse(struct options *o, const char *line, const char *variables,
		  const char *file)
{
	static char text[2][512], config[] = "--config";
	char *words[2][WORDS_MAX + 3] = { { (char[]){ "darkroom" } } };
	uint32_t counts[2] = { 1, 0 };

	(void)snprintf(text[0], sizeof(text[0]), "%s", line);
	(void)snprintf(text[1], sizeof(text[1]), "%s", variables);
	for (int i = 0; i < 2; i++)
		for (char *word = strtok(text[i], " "); word != NULL;
		     word = strtok(NULL, " ")) {
			CHECK_NUMBER(counts[i], <, WORDS_MAX);
			words[i][counts[i]++] = word;
		}
	if (file != NULL) {
		FILE *f = fopen(path, "w");

		CHECK(f != NULL);
		CHECK_NUMBER(fputs(file, f), >=, 0);
		CHECK_NUMBER(fclose(f), ==, 0);
		words[0][counts[0]++] = config;
		words[0][counts[0]++] = path;
	}
	error.text[0] = '\0';
	return options_parse(o, (int)counts[0], words[0], words[1], &error);
}

static void test_each_source_sets_flags(void)
{
	struct options o;

	CHECK(parse(&o, "", "PATH=/bin DARKROOM_MAX_BODY=3M DARKROOM=x", NULL));
	CHECK_NUMBER(o.body_bytes_max, ==, 3 << 20);
	options_release(&o);
	CHECK(parse(&o, "", "",
		    "{ \"max-uploads\": 7, \"max-body\": 1.5, \"trace\": "
		    "\"a b\", \"graph\": null, \"drain-timeout\": \"250ms\", "
		    "\"cores\": \"0,1\" }\n"));
	CHECK_NUMBER(o.uploads_max, ==, 7);
	CHECK_NUMBER(o.body_bytes_max, ==, 3 << 19);
	CHECK_TEXT(o.trace, "a b");
	CHECK_TEXT(o.cores, "0,1");
	CHECK(o.graph == NULL);
	CHECK_NUMBER(o.drain_ms, ==, 250);
	CHECK_NUMBER(o.connections_max, ==, 1024);
	options_release(&o);
}

static void test_command_line_over_environment_over_file(void)
{
	static const struct {
		const char *line, *variables, *file;
		uint32_t uploads_max;
	} cases[] = {
		{ "", "", NULL, 256 },
		{ "", "", "{\"max-uploads\": 3}", 3 },
		{ "", "DARKROOM_MAX_UPLOADS=2", "{\"max-uploads\": 3}", 2 },
		{ "--max-uploads 1", "DARKROOM_MAX_UPLOADS=2",
		  "{\"max-uploads\": 3}", 1 },
		{ "--max-uploads 1", "", "{\"max-uploads\": 3}", 1 },
		{ "--max-side 9 --max-uploads 1", "DARKROOM_MAX_UPLOADS=2",
		  NULL, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;

		check_case("cases[%zu]: %s", i, cases[i].line);
		CHECK(parse(&o, cases[i].line, cases[i].variables,
			    cases[i].file));
		CHECK_NUMBER(o.uploads_max, ==, cases[i].uploads_max);
		options_release(&o);
	}
}

/* A list also replaces the whole list of another source. */
static void test_a_source_is_overruled_as_a_whole(void)
{
	struct options o;

	CHECK(parse(&o, "--policy pool-per-stage --pool blur=5", "",
		    "{\"pool\": \"decode=7\", \"policy\": \"cohort\"}"));
	CHECK_TEXT(o.schedule.policy->name, "pool-per-stage");
	CHECK_NUMBER(o.schedule.pool_threads[2], ==, 5);
	CHECK_NUMBER(o.schedule.pool_threads[0], ==, 0);
	options_release(&o);
}

/* As many threads for each core of a replica as in the thesis, rounded up. */
static void test_pools_fit_the_cores(void)
{
	static const struct {
		const char *line;
		uint32_t cores, parts, wanted[PIPELINE_STEPS];
	} cases[] = {
		{ "", 4, 1, { 3, 1, 2, 3 } },
		{ "", 2, 1, { 2, 1, 1, 2 } },
		{ "", 1, 1, { 1, 1, 1, 1 } },
		{ "", 32, 1, { 24, 8, 16, 24 } },
		{ "", 8, 4, { 2, 1, 1, 2 } },
		{ "--pool blur=5", 8, 1, { 6, 2, 5, 6 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;

		check_case("cases[%zu]: %s", i, cases[i].line);
		CHECK(parse(&o, cases[i].line, "", "{}"));
		o.schedule.part_count = cases[i].parts;
		options_fit_pools(&o.schedule, o.stages, cases[i].cores);
		CHECK(memcmp(o.schedule.pool_threads, cases[i].wanted,
			     sizeof(cases[i].wanted)) == 0);
		options_release(&o);
	}
}

static void test_switches_may_be_off(void)
{
	static const struct {
		const char *line, *variables, *file;
		bool steals;
	} cases[] = {
		{ "--steal", "DARKROOM_STEAL=0", NULL, true },
		{ "", "DARKROOM_STEAL=1", NULL, true },
		{ "", "DARKROOM_STEAL=true", "{\"steal\": false}", true },
		{ "", "DARKROOM_STEAL=0", "{\"steal\": true}", false },
		{ "", "DARKROOM_STEAL=false", "{\"steal\": true}", false },
		{ "", "", "{\"steal\": true}", true },
		{ "", "", "{\"steal\": false}", false },
		{ "", "", "{\"steal\": null}", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;

		check_case("cases[%zu]: %s", i, cases[i].line);
		CHECK(parse(&o, cases[i].line, cases[i].variables,
			    cases[i].file));
		CHECK_NUMBER(o.schedule.steal, ==, cases[i].steals);
		CHECK_NUMBER((o.schedule.given != 0), ==, cases[i].steals);
		options_release(&o);
	}
}

/*
 * In every source, one flag of scheduling selects the papers' defaults for all
 * others.
 */
static void test_each_source_asks_for_the_papers(void)
{
	struct options o;

	CHECK(parse(&o, "", "DARKROOM_REGIME=gated", NULL));
	CHECK_TEXT(o.schedule.policy->name, "cohort");
	CHECK_NUMBER(o.schedule.discipline.kind, ==, DISCIPLINE_FCFS);
	options_release(&o);
	CHECK(parse(&o, "", "", "{\"policy\": \"color\"}"));
	CHECK_NUMBER(o.schedule.discipline.kind, ==, DISCIPLINE_FCFS);
	options_release(&o);
	CHECK(parse(&o, "", "DARKROOM_MAX_UPLOADS=1",
		    "{\"listen\": \"[::1]:80\"}"));
	CHECK_NUMBER(o.schedule.discipline.kind, ==, DISCIPLINE_SRPT);
	options_release(&o);
}

static void test_the_file_may_be_named_by_the_environment(void)
{
	char variable[64];
	struct options o;

	(void)snprintf(variable, sizeof(variable), "DARKROOM_CONFIG=%s", path);
	CHECK(parse(&o, "", "", "{\"max-side\": 99}"));
	options_release(&o);
	CHECK(parse(&o, "", variable, NULL));
	CHECK_NUMBER(o.limits.side_px_max, ==, 99);
	options_release(&o);
	/* The command line names another file. */
	CHECK(!parse(&o, "--config /none", variable, NULL));
	CHECK_PART(error.text, "/none");
	options_release(&o);
}

/*
 * Kubernetes sets these in every pod beside a service called darkroom or
 * darkroom-admin.
 */
static void test_variables_of_kubernetes_are_let_be(void)
{
	static const char *const taken[] = {
		"DARKROOM_SERVICE_HOST=10.0.0.1",
		"DARKROOM_SERVICE_PORT=80",
		"DARKROOM_SERVICE_PORT_HTTP=80",
		"DARKROOM_PORT=tcp://10.0.0.1:80",
		"DARKROOM_PORT_80_TCP=tcp://10.0.0.1:80",
		"DARKROOM_PORT_80_TCP_PROTO=tcp",
		"DARKROOM_ADMIN_PORT_53_UDP_ADDR=10.0.0.1",
		"DARKROOM_ADMIN_SERVICE_HOST=10.0.0.1",
	};
	struct options o;

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		CHECK(parse(&o, "", taken[i], NULL));
		options_release(&o);
	}
	CHECK(!parse(&o, "", "DARKROOM_PORT=8080", NULL));
	CHECK(!parse(&o, "", "DARKROOM_LISTN=a_SERVICE_HOST", NULL));
}

static void test_faults_in_variables_are_named(void)
{
	static const char *const cases[][2] = {
		{ "DARKROOM_MAX_BODI=1",
		  "DARKROOM_MAX_BODI: '1': there is no such variable" },
		{ "DARKROOM_=1", "DARKROOM_: '1': there is no" },
		{ "DARKROOM_max_body=1", "DARKROOM_max_body: '1': there" },
		{ "DARKROOM_MAX-BODY=1", "DARKROOM_MAX-BODY: '1': there" },
		{ "DARKROOM_HELP=1", "DARKROOM_HELP: '1': there is no" },
		{ "DARKROOM_PRINT_CONFIG=1", "DARKROOM_PRINT_CONFIG: '1'" },
		{ "DARKROOM_MAX_BODY=lots",
		  "DARKROOM_MAX_BODY: 'lots' is not a size from 1K to 4095M" },
		{ "DARKROOM_MAX_BODY", "DARKROOM_MAX_BODY: ''" },
		{ "DARKROOM_CONFIG=", "DARKROOM_CONFIG: '' is not a valid "
				      "FILE" },
		{ "DARKROOM_POLICY=fifo", "DARKROOM_POLICY: 'fifo' is not" },
		{ "DARKROOM_STEAL=yes",
		  "DARKROOM_STEAL: 'yes' is not 1, true, 0 or false" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;

		CHECK(!parse(&o, "", cases[i][0], NULL));
		CHECK(strncmp(error.text, cases[i][1], strlen(cases[i][1])) ==
		      0);
		/*
		 * A wrong value is refused even if another source overrules it.
		 */
		CHECK(!parse(&o, "--max-body 1 --policy mg1 --steal",
			     cases[i][0], NULL));
		options_release(&o);
	}
}

static void test_faults_in_files_are_named(void)
{
	static const char *const cases[][2] = {
		{ "", "not JSON in line 1" },
		{ "{\n\"max-body\": 3,\n}", "not JSON in line 3" },
		{ "{} {}", "not JSON in line 1" },
		{ "[1]", "not a JSON object" },
		{ "{\"max-bodi\": 1}", "max-bodi: there is no such key" },
		{ "{\"Max-Body\": 1}", "Max-Body: there is no such key" },
		{ "{\"help\": true}", "help: there is no such key" },
		{ "{\"config\": \"x\"}", "config: there is no such key" },
		{ "{\"max-side\": 1, \"listen\": \"a\", \"max-side\": 2}",
		  "max-side: it is there twice" },
		{ "{\"max-side\": null, \"max-side\": 2}",
		  "max-side: it is there twice" },
		{ "{\"max-side\": 0}", "max-side: '0' is not a whole number "
				       "from 1 to 65500" },
		{ "{\"max-side\": -1}", "max-side: '-1' is not" },
		{ "{\"max-side\": 1e300}", "max-side: '1e+300' is not" },
		{ "{\"max-side\": true}", "max-side: 'true' is not a whole" },
		{ "{\"max-side\": [1]}", "max-side: '[1]' is not a whole" },
		{ "{\"max-side\": {\"n\": 1}}", "max-side: '{\"n\":1}' is" },
		{ "{\"max-body\": \"5T\"}", "max-body: '5T' is not a size" },
		{ "{\"listen\": 8080}",
		  "listen: '8080' is not a string: ADDRESS:PORT" },
		{ "{\"policy\": [\"mg1\"]}",
		  "policy: '[\"mg1\"]' is not a string: NAME" },
		{ "{\"policy\": \"fifo\"}", "policy: 'fifo' is not a policy" },
		{ "{\"steal\": 1}", "steal: '1' is not true or false" },
		{ "{\"steal\": \"true\"}", "is not true or false" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;

		CHECK(!parse(&o, "", "", cases[i][0]));
		CHECK(strncmp(error.text, path, strlen(path)) == 0);
		CHECK_PART(error.text, cases[i][1]);
		options_release(&o);
		CHECK(!parse(
			&o, "--max-side 1 --policy mg1 --steal",
			"DARKROOM_MAX_BODY=1 DARKROOM_LISTEN=::", cases[i][0]));
		options_release(&o);
	}
}

static void test_files_are_bounded(void)
{
	static char large[(1 << 16) + 2] = "{}";
	struct options o;

	memset(large + 2, ' ', sizeof(large) - 3);
	CHECK(!parse(&o, "", "", large));
	CHECK_PART(error.text, "too large");
	options_release(&o);
	large[1 << 16] = '\0';
	CHECK(parse(&o, "", "", large));
	options_release(&o);
	CHECK(!parse(&o, "--config /", "", NULL));
	CHECK_NUMBER(strstr(error.text, "/: "), ==, error.text);
	options_release(&o);
}

static void test_later_refusals_know_the_source(void)
{
	char refusal[OPTIONS_REFUSAL_BYTES];
	struct options o;

	CHECK(parse(&o, "--cores 1", "DARKROOM_SAVE_GRAPH=g",
		    "{\"trace\": \"t\", \"cores\": \"2\"}"));
	options_refuse(&o, "cores", "1", "no", refusal);
	CHECK_TEXT(refusal, "--cores: '1': no");
	options_refuse(&o, "save-graph", "g", "no", refusal);
	CHECK_TEXT(refusal, "DARKROOM_SAVE_GRAPH: 'g': no");
	options_refuse(&o, "trace", "t", "no", refusal);
	CHECK(strncmp(refusal, path, strlen(path)) == 0);
	CHECK_TEXT(refusal + strlen(path), ": trace: 't': no");
	options_refuse(&o, "listen", "x", "no", refusal);
	CHECK_TEXT(refusal, "--listen: 'x': no");
	options_release(&o);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK_NUMBER(fd, >=, 0);
	(void)close(fd);
	test_each_source_sets_flags();
	test_command_line_over_environment_over_file();
	test_a_source_is_overruled_as_a_whole();
	test_pools_fit_the_cores();
	test_switches_may_be_off();
	test_each_source_asks_for_the_papers();
	test_the_file_may_be_named_by_the_environment();
	test_variables_of_kubernetes_are_let_be();
	test_faults_in_variables_are_named();
	test_faults_in_files_are_named();
	test_files_are_bounded();
	test_later_refusals_know_the_source();
	(void)unlink(path);
	return 0;
}
