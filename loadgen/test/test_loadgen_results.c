/* SPDX-License-Identifier: MIT */
/*
 * The program's results: it measures, checks and writes what the options ask
 * for, and docs/loadgen.md explains every key of its JSON.
 */
#include "base/test/check.h"
#include "loadgen/test/program.h"
#include "loadgen/test/server.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 4 }; /* number of files in SAMPLES */

static struct scratch scratch;         /* contains all output files */
static char texts[SCRATCH_PATH_BYTES]; /* a folder without JPEGs */

#define RUN(...) PROGRAM_RUN(&scratch, __VA_ARGS__)

static double number(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	CHECK(cJSON_IsNumber(item));
	return item->valuedouble;
}

/*
 * Does the object have statuses or error texts as names?  They are data, not
 * keys to document.
 */
static bool has_data_for_names(const cJSON *item)
{
	return item->string != NULL &&
	       (strcmp(item->string, "responses") == 0 ||
		strcmp(item->string, "transport_error_texts") == 0);
}

/* Expect that `document` has each name.  Returns the number of names. */
static int expect_documented(const cJSON *item, const char *document)
{
	const cJSON *child;
	int count = 0;

	if (item->string != NULL) {
		char quoted[80];

		snprintf(quoted, sizeof(quoted), "`%s`", item->string);
		if (strstr(document, quoted) == NULL)
			fprintf(stderr, "%s is not documented\n", quoted);
		CHECK_PART(document, quoted);
		count++;
	}
	if (has_data_for_names(item))
		return count;
	cJSON_ArrayForEach(child, item) count +=
		expect_documented(child, document);
	return count;
}

static char *read_document(void)
{
	FILE *in = fopen(DOCUMENT, "r");
	char *text = NULL;
	size_t size = 0;

	CHECK(in != NULL);
	CHECK_NUMBER(getdelim(&text, &size, '\0', in), >, 0);
	fclose(in);
	return text;
}

/* With all options, in a closed and in an open loop. */
static void test_every_key_is_documented(void)
{
	struct server server = { .mode = SERVER_ECHO, .counter = "n_total" };
	char *document = read_document();
	char json[SCRATCH_PATH_BYTES];
	cJSON *object;

	scratch_path(&scratch, "keys.json", json);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--calibrate", "--verify",
			 "size", "--golden", SAMPLES, "--server-counter",
			 "n_total", "--json", json, server.url),
		     ==, 0);
	object = scratch_read_json(&scratch, "keys.json");
	CHECK_NUMBER(expect_documented(object, document), >, 100);
	cJSON_Delete(object);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--rate", "100", "--duration",
			 "0.1", "--json", json, server.url),
		     ==, 0);
	object = scratch_read_json(&scratch, "keys.json");
	CHECK_NUMBER(expect_documented(object, document), >, 80);
	cJSON_Delete(object);
	server_stop(&server);
	server_release(&server);
	free(document);
}

/* Use CPU time before the run: more than is used during the run. */
static void burn_a_second(void)
{
	struct timespec cpu;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	while (cpu.tv_sec < 1);
}

/*
 * The measured server is this process, although it is also the parent of the
 * client.
 */
static void expect_server_is_this(void)
{
	cJSON *object = scratch_read_json(&scratch, "server.json");
	const cJSON *server = cJSON_GetObjectItem(object, "server");
	const cJSON *pids = cJSON_GetObjectItem(server, "pids");

	CHECK_NUMBER(cJSON_GetArraySize(pids), ==, 1);
	CHECK_NUMBER(cJSON_GetArrayItem(pids, 0)->valueint, ==, getpid());
	CHECK_NUMBER(number(server, "cpu_s"), <, 1);
	CHECK_NUMBER(number(server, "peak_memory_bytes"), >, 0);
	/* On a busy machine the server may never have waited. */
	CHECK_NUMBER(number(server, "voluntary_switches"), >=, 0);
	cJSON_Delete(object);
}

static void test_server_is_found(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char json[SCRATCH_PATH_BYTES];
	char pid[16];

	scratch_path(&scratch, "server.json", json);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	burn_a_second();
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--json", json, server.url), ==,
		     0);
	expect_server_is_this();
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--json", json, "--pid", pid,
			 server.url),
		     ==, 0);
	expect_server_is_this();
	CHECK_NUMBER(
		RUN("--dataset", SAMPLES, "--pid", "2147483647", server.url),
		==, 2);
	scratch_expect(&scratch, "stderr", "--pid 2147483647: no such process");
	server_stop(&server);
	server_release(&server);
}

static void test_calibration(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char json[SCRATCH_PATH_BYTES];
	const cJSON *slowdown;
	cJSON *object;

	scratch_path(&scratch, "calibrated.json", json);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--calibrate", "--passes", "2",
			 "--json", json, server.url),
		     ==, 0);
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, (3 + 2) * FILES);
	object = scratch_read_json(&scratch, "calibrated.json");
	CHECK_NUMBER(number(object, "requests"), ==, 2 * FILES);
	slowdown = cJSON_GetObjectItem(object, "slowdown");
	CHECK_NUMBER(number(slowdown, "p50"), >, 0);
	cJSON_Delete(object);
	server_release(&server);
}

/* Files that were not answered 2xx have no slowdown. */
static void test_calibration_without_answers(void)
{
	struct server server = { .mode = SERVER_BUSY };
	char url[SERVER_URL_BYTES];
	char json[SCRATCH_PATH_BYTES];
	int port = dead_port_open(false, url);

	scratch_path(&scratch, "busy.json", json);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--calibrate", "--json", json,
			 server.url),
		     ==, 1);
	server_stop(&server);
	scratch_expect(&scratch, "busy.json",
		       "\"slowdown\":\t{\n\t\t\"mean\":\tnull");
	server_release(&server);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--calibrate", url), ==, 1);
	scratch_expect(&scratch, "stderr", "--calibrate: ");
	close(port);
}

static void test_verify(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char small[SERVER_URL_BYTES + 8];

	server_start(&server);
	snprintf(small, sizeof(small), "%s?w=9", server.url);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--verify", "size", server.url),
		     ==, 0);
	scratch_expect(&scratch, "stdout",
		       "verified        4 replies, 0 wrong");
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--verify", "decode", small), ==,
		     0);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--verify", "size", small), ==,
		     1);
	scratch_expect(&scratch, "stderr",
		       "--verify: 4 of 4 replies were wrong; first ");
	scratch_expect(&scratch, "stderr", " instead of 9 x ");
	CHECK_NUMBER(RUN("--dataset", texts, "--verify", "decode", server.url),
		     ==, 1);
	scratch_expect(&scratch, "stderr",
		       "1 of 1 replies were wrong; first a.jpg: not a "
		       "JPEG");
	CHECK_NUMBER(RUN("--dataset", texts, "--verify", "all", server.url), ==,
		     2);
	scratch_expect(&scratch, "stderr",
		       "--verify: 'all' is not size or decode");
	server_stop(&server);
	server_release(&server);
}

static void test_golden(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char saved[SCRATCH_PATH_BYTES];

	scratch_path(&scratch, "saved", saved);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", texts, "--save", saved, server.url), ==,
		     0);
	CHECK_NUMBER(RUN("--dataset", texts, "--golden", saved, server.url), ==,
		     0);
	scratch_expect(&scratch, "stdout",
		       "golden          1 replies, 0 wrong");
	scratch_write(&scratch, "saved/a.jpg", "other", 5);
	CHECK_NUMBER(RUN("--dataset", texts, "--golden", saved, server.url), ==,
		     1);
	scratch_expect(&scratch, "stderr",
		       "--golden: 1 of 1 replies were wrong; first a.jpg");
	CHECK_NUMBER(RUN("--dataset", texts, "--golden", "/no/such/folder",
			 server.url),
		     ==, 2);
	scratch_expect(&scratch, "stderr",
		       "--golden /no/such/folder: No such file");
	server_stop(&server);
	server_release(&server);
}

static void test_files(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char csv[SCRATCH_PATH_BYTES];
	char percentiles[SCRATCH_PATH_BYTES];
	char *text;
	int lines = 0;

	scratch_path(&scratch, "rows.csv", csv);
	scratch_path(&scratch, "times.hgrm", percentiles);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--csv", csv, "--percentiles",
			 percentiles, server.url),
		     ==, 0);
	text = scratch_read(&scratch, "rows.csv");
	CHECK(strncmp(text, "intended_s,", 11) == 0);
	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	CHECK_NUMBER(lines, ==, 1 + FILES);
	free(text);
	scratch_expect(&scratch, "times.hgrm",
		       "Total count    =            4]");
	CHECK_NUMBER(
		RUN("--dataset", SAMPLES, "--csv", "/no/such/f", server.url),
		==, 2);
	scratch_expect(&scratch, "stderr", "--csv /no/such/f: No such file");
	CHECK_NUMBER(
		RUN("--dataset", SAMPLES, "--csv", "/dev/full", server.url), ==,
		1);
	scratch_expect(&scratch, "stderr", "--csv: ");
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--percentiles", "/dev/full",
			 server.url),
		     ==, 1);
	scratch_expect(&scratch, "stderr", "--percentiles: ");
	CHECK_NUMBER(RUN("--dataset", SAMPLES, "--csv", csv, "--step",
			 "9:9:9:1", server.url),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "--step: not with --csv");
	server_stop(&server);
	server_release(&server);
}

int main(void)
{
	scratch_init(&scratch);
	scratch_path(&scratch, "texts", texts);
	scratch_mkdir(&scratch, "texts");
	scratch_write(&scratch, "texts/a.jpg", "text", 4);
	test_every_key_is_documented();
	test_server_is_found();
	test_calibration();
	test_calibration_without_answers();
	test_verify();
	test_golden();
	test_files();
	scratch_release(&scratch);
	return 0;
}
