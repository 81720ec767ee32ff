/* SPDX-License-Identifier: MIT */
/* The program: exit codes, messages and the files that it writes. */
#include "base/test/check.h"
#include "loadgen/test/program.h"
#include "base/json.h"
#include "base/test/scratch.h"
#include "loadgen/test/server.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 3 };

static struct scratch scratch; /* contains photos/ and all output files */
static char photos[SCRATCH_PATH_BYTES];

#define RUN(...) PROGRAM_RUN(&scratch, __VA_ARGS__)

/* The tests run beside others, whatever these take of the cores. */
#define UNDISTURBED "--disturbed", "100"

static double number_in(const char *name, const char *key)
{
	cJSON *object = scratch_read_json(&scratch, name);
	double number = json_number(object, key, NAN);

	CHECK(!isnan(number));
	cJSON_Delete(object);
	return number;
}

static void test_all_answered(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char json[SCRATCH_PATH_BYTES];
	char save[SCRATCH_PATH_BYTES];
	char *reply;

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--passes", "2", "--json",
			 scratch_path(&scratch, "good.json", json), "--save",
			 scratch_path(&scratch, "good", save), server.url),
		     ==, 0);
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, 2 * FILES);
	scratch_expect(&scratch, "stdout", "200: 6");
	scratch_expect(&scratch, "stdout", server.url);
	CHECK_NUMBER(number_in("good.json", "requests"), ==, 2 * FILES);
	CHECK_NUMBER(number_in("good.json", "uploaded_bytes"), ==, 2 * 12);
	CHECK_NUMBER(number_in("good.json", "bytes_per_s"), >, 0);
	scratch_expect(&scratch, "good/status.tsv", "sub/c.jpg\t200\t6\n");
	reply = scratch_read(&scratch, "good/sub__c.jpg");
	CHECK_TEXT(reply, "photo3");
	free(reply);
	server_release(&server);
}

/* Nothing else is on standard output then, whatever was measured. */
static void test_json_instead_of_text(void)
{
	struct server server = { .mode = SERVER_ECHO };

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--json", "-", server.url), ==,
		     0);
	CHECK_NUMBER(number_in("stdout", "requests"), ==, FILES);
	CHECK_NUMBER(RUN("--dataset", photos, "--json=-", UNDISTURBED,
			 "--require", "max<60s", server.url),
		     ==, 0);
	CHECK_NUMBER(number_in("stdout", "requests"), ==, FILES);
	CHECK_NUMBER(RUN("--dataset", photos, "--json", "-", "--arrivals",
			 "constant", "--step", "100:100:1:0.05", server.url),
		     ==, 0);
	CHECK_NUMBER(number_in("stdout", "steps.0.requests"), >, 0);
	server_stop(&server);
	server_release(&server);
}

static void test_open_loop(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char json[SCRATCH_PATH_BYTES];

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--rate", "200", "--duration",
			 "0.05", "--arrivals", "constant", "--json",
			 scratch_path(&scratch, "open.json", json), server.url),
		     ==, 0);
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, 10);
	scratch_expect(&scratch, "stdout", "200: 10");
	scratch_expect(&scratch, "stdout",
		       "open loop, 200 requests/s, constant");
	CHECK_NUMBER(number_in("open.json", "rate_per_s"), ==, 200);
	CHECK_NUMBER(number_in("open.json", "makespan_s"), >=, 0.045);
	server_release(&server);
}

/* Of a warm-up or calibration nothing is counted. */
static void test_server_counter(void)
{
	struct server server = { .mode = SERVER_ECHO, .counter = "done_total" };
	char json[SCRATCH_PATH_BYTES];

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--passes", "2", "--calibrate",
			 "--warm-up", "0.01", "--server-counter", "done_total",
			 "--json", scratch_path(&scratch, "counter.json", json),
			 server.url),
		     ==, 0);
	scratch_expect(&scratch, "stdout",
		       "server counter  done_total\n                6 more, ");
	CHECK_NUMBER(number_in("counter.json", "server_counter.increase"), ==,
		     2 * FILES);
	CHECK_NUMBER(fabs(number_in("counter.json", "server_counter.per_s") -
			  number_in("counter.json", "responses_per_s")),
		     <, 1e-6);
	server_stop(&server);
	CHECK_NUMBER(server.strange_count, ==, 0);
	server_release(&server);
}

/* Then nothing is sent. */
static void test_server_without_the_counter(void)
{
	struct server server = { .mode = SERVER_ECHO, .counter = "done_total" };
	char url[SERVER_URL_BYTES];
	int dead = dead_port_open(false, url);

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--server-counter", "done",
			 server.url),
		     ==, 2);
	scratch_expect(&scratch, "stderr",
		       "loadgen: --server-counter done: http://127.0.0.1:");
	scratch_expect(&scratch, "stderr",
		       "/metrics: there is no such counter");
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, 0);
	server_release(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--server-counter", "done", url),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "/metrics: Connection refused");
	close(dead);
	dead = dead_port_open(true, url);
	CHECK_NUMBER(RUN("--dataset", photos, "--server-counter", "done",
			 "--timeout", "0.5", url),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "/metrics: No reply in time");
	close(dead);
	server = (struct server){ .mode = SERVER_BUSY };
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--server-counter", "done",
			 server.url),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "/metrics: status 503");
	server_stop(&server);
	server_release(&server);
}

static void test_trace(void)
{
	static const char times[] = "# three\n0\n0.001\n\n0.03\n";
	struct server server = { .mode = SERVER_ECHO };
	char trace[SCRATCH_PATH_BYTES + sizeof("trace=")] = "trace=";
	char json[SCRATCH_PATH_BYTES];

	scratch_write(&scratch, "times", times, strlen(times));
	scratch_path(&scratch, "times", trace + strlen(trace));
	scratch_path(&scratch, "trace.json", json);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--arrivals", trace, "--json",
			 json, server.url),
		     ==, 0);
	CHECK_NUMBER(number_in("trace.json", "requests"), ==, 3);
	CHECK_NUMBER(number_in("trace.json", "rate_per_s"), ==, 100);
	CHECK_NUMBER(number_in("trace.json", "makespan_s"), >=, 0.03);
	CHECK_NUMBER(RUN("--dataset", photos, "--arrivals", trace, "--rate",
			 "25", "--json", json, server.url),
		     ==, 0);
	CHECK_NUMBER(number_in("trace.json", "makespan_s"), >=, 0.12);
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, 6);
	server_release(&server);
	scratch_write(&scratch, "times", "1\nx\n", 4);
	CHECK_NUMBER(RUN("--dataset", photos, "--arrivals", trace, "http://h/"),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "times:2: 'x': not a time");
}

/* Queries come from a list of files and from draws. */
static void test_queries(void)
{
	static const char list[] = "photos/a.jpg\tw=7\nphotos/b.jpeg\n";
	static const char draws[] = "w=20\n3\tw=10\n";
	struct server server = { .mode = SERVER_ECHO };
	char path[SCRATCH_PATH_BYTES];
	char params[SCRATCH_PATH_BYTES];
	int drawn[2] = { 0 };
	bool by_file;

	scratch_write(&scratch, "list", list, strlen(list));
	scratch_write(&scratch, "params", draws, strlen(draws));
	scratch_path(&scratch, "list", path);
	scratch_path(&scratch, "params", params);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", path, server.url), ==, 0);
	CHECK_NUMBER(RUN("--dataset", photos, "--params", params, "--passes",
			 "20", server.url),
		     ==, 0);
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, 2 + 20 * FILES);
	by_file = server.bodies[0].bytes[0] == 'o'; /* the file named "one" */
	CHECK_TEXT(server.bodies[by_file ? 0 : 1].width, "7");
	CHECK_TEXT(server.bodies[by_file ? 1 : 0].width, "");
	for (unsigned i = 2; i < server.request_count; i++)
		drawn[strcmp(server.bodies[i].width, "10") == 0]++;
	CHECK_NUMBER(drawn[0], >, 0);
	CHECK_NUMBER(drawn[1], >, drawn[0]);
	server_release(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--params", "/no/such/file",
			 "http://h/"),
		     ==, 2);
	scratch_expect(&scratch, "stderr",
		       "--params: /no/such/file: No such file");
}

/* All requests have the key, including those of --calibrate. */
static void test_api_key(void)
{
	static const char keys[] = "# ours\n\nfirst-key\nsecond-key\n";
	struct server server = { .mode = SERVER_ECHO,
				 .authorization = "Bearer first-key" };
	char path[SCRATCH_PATH_BYTES];

	scratch_write(&scratch, "keys", keys, strlen(keys));
	scratch_path(&scratch, "keys", path);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--api-key-file", path,
			 "--calibrate", server.url),
		     ==, 0);
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, 4 * FILES);
	CHECK_NUMBER(server.strange_count, ==, 0);
	server_release(&server);
	scratch_write(&scratch, "keys", "two words\n", 10);
	CHECK_NUMBER(
		RUN("--dataset", photos, "--api-key-file", path, "http://h/"),
		==, 2);
	scratch_expect(&scratch, "stderr", "keys:1: not a key");
	scratch_write(&scratch, "keys", "# none\n", 7);
	CHECK_NUMBER(
		RUN("--dataset", photos, "--api-key-file", path, "http://h/"),
		==, 2);
	scratch_expect(&scratch, "stderr", "no key in it");
}

static void test_form(void)
{
	struct server server = { .mode = SERVER_ECHO, .takes_forms = true };
	char json[SCRATCH_PATH_BYTES];

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--multipart", "image", "--json",
			 scratch_path(&scratch, "form.json", json), server.url),
		     ==, 0);
	server_stop(&server);
	CHECK_NUMBER(server.strange_count, ==, 0);
	for (unsigned i = 0; i < FILES; i++)
		CHECK(memmem(server.bodies[i].bytes,
			     server.bodies[i].size_bytes, "name=\"image\"",
			     strlen("name=\"image\"")) != NULL);
	CHECK_NUMBER(number_in("form.json", "uploaded_bytes"), ==, 12);
	server_release(&server);
}

static void test_step(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char json[SCRATCH_PATH_BYTES];
	cJSON *object;

	scratch_path(&scratch, "step.json", json);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--step", "100:300:100:0.05",
			 "--arrivals", "constant", "--json", json, server.url),
		     ==, 0);
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, 5 + 10 + 15);
	object = scratch_read_json(&scratch, "step.json");
	CHECK_NUMBER(cJSON_GetArraySize(json_at(object, "steps")), ==, 3);
	CHECK_NUMBER(json_number(object, "steps.0.rate_per_s", 0), ==, 100);
	CHECK_NUMBER(json_number(object, "steps.1.rate_per_s", 0), ==, 200);
	CHECK_NUMBER(json_number(object, "steps.2.rate_per_s", 0), ==, 300);
	CHECK_NUMBER(json_number(object, "steps.0.requests", 0), ==, 5);
	CHECK_NUMBER(json_number(object, "steps.1.requests", 0), ==, 10);
	CHECK_NUMBER(json_number(object, "steps.2.requests", 0), ==, 15);
	/* Five replies have a median, but no higher percentile. */
	CHECK_NUMBER(json_number(object, "steps.0.response_ms.p50", 0), >, 0);
	CHECK(cJSON_IsNull(json_at(object, "steps.0.response_ms.p90")));
	scratch_expect(&scratch, "stdout",
		       "          -          -        0        -\n");
	scratch_expect(&scratch, "stdout", "   errors others %\n");
	CHECK(cJSON_HasObjectItem(object, "schema"));
	CHECK(!cJSON_HasObjectItem(object, "objective"));
	cJSON_Delete(object);
	server_release(&server);
}

static void expect_max(double max_per_s)
{
	cJSON *object = scratch_read_json(&scratch, "max.json");

	CHECK(cJSON_HasObjectItem(object, "max_rate_per_s"));
	CHECK_NUMBER(json_number(object, "max_rate_per_s", 0), ==, max_per_s);
	CHECK_TEXT(json_text(object, "objective"), "max < 60000 ms");
	CHECK_NUMBER(cJSON_GetArraySize(json_at(object, "steps")), >, 1);
	cJSON_Delete(object);
}

/*
 * Each run lasts 20 ms.  At 50 requests/s or more it has at least two requests,
 * and the server drops the second one.
 */
static void test_find_max(void)
{
	struct server server = { .mode = SERVER_DROP_SECOND };
	char json[SCRATCH_PATH_BYTES];

	scratch_path(&scratch, "max.json", json);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, UNDISTURBED, "--find-max",
			 "max<60s", "--rate", "100", "--duration", "0.02",
			 "--arrivals", "constant", "--json", json, server.url),
		     ==, 0);
	server_stop(&server);
	scratch_expect(&scratch, "stdout",
		       "kept max < 60000 ms: 50 requests/s");
	expect_max(50);
	server_release(&server);
}

static void test_find_no_max(void)
{
	struct server server = { .mode = SERVER_BUSY };
	char json[SCRATCH_PATH_BYTES];

	scratch_path(&scratch, "max.json", json);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, UNDISTURBED, "--find-max",
			 "max<60s", "--rate", "100", "--duration", "0.02",
			 "--json", json, server.url),
		     ==, 1);
	server_stop(&server);
	scratch_expect(&scratch, "stderr", "no rate kept the objective");
	expect_max(0);
	server_release(&server);
}

/* A millisecond has one request; a p90 takes 100 replies. */
static void test_find_max_takes_enough_replies(void)
{
	struct server server = { .mode = SERVER_BUSY };
	char json[SCRATCH_PATH_BYTES];
	cJSON *object;

	scratch_path(&scratch, "long.json", json);
	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, UNDISTURBED, "--find-max",
			 "p90<60s", "--rate", "1000", "--duration", "0.001",
			 "--json", json, server.url),
		     ==, 1);
	server_stop(&server);
	object = scratch_read_json(&scratch, "long.json");
	CHECK_NUMBER(json_number(object, "steps.0.requests", 0), >=, 100);
	cJSON_Delete(object);
	server_release(&server);
}

/* A goal decides the exit status, also about requests that failed. */
static void test_require(void)
{
	struct server server = { .mode = SERVER_ECHO };
	struct server busy = { .mode = SERVER_BUSY };

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, UNDISTURBED, "--require",
			 "max<60s", server.url),
		     ==, 0);
	scratch_expect(&scratch, "stdout", "required");
	scratch_expect(&scratch, "stdout", "max < 60000 ms: kept");
	/* Without a rate, which a busy machine might not keep. */
	CHECK_NUMBER(RUN("--dataset", photos, UNDISTURBED, "--require",
			 "p50<0.000001ms", server.url),
		     ==, 1);
	scratch_expect(&scratch, "stdout", "p50 < 1e-06 ms: slow");
	CHECK_NUMBER(RUN("--dataset", photos, UNDISTURBED, "--require",
			 "p99<60s", server.url),
		     ==, 1);
	scratch_expect(&scratch, "stdout", "p99 < 60000 ms: too few replies");
	server_stop(&server);
	server_start(&busy);
	CHECK_NUMBER(RUN("--dataset", photos, UNDISTURBED, "--require",
			 "max<60s", busy.url),
		     ==, 1);
	scratch_expect(&scratch, "stdout", "max < 60000 ms: errors");
	server_stop(&busy);
	server_release(&server);
	server_release(&busy);
}

/* The requests of a warm-up are sent, and appear nowhere. */
static void test_warm_up(void)
{
	struct server server = { .mode = SERVER_ECHO };
	char json[SCRATCH_PATH_BYTES], csv[SCRATCH_PATH_BYTES];
	cJSON *object;
	char *rows;
	int lines = 0;

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--warm-up", "0.05", "--rate",
			 "100", "--arrivals", "constant", "--duration", "0.03",
			 "--json", scratch_path(&scratch, "warm.json", json),
			 "--csv", scratch_path(&scratch, "warm.csv", csv),
			 server.url),
		     ==, 0);
	server_stop(&server);
	object = scratch_read_json(&scratch, "warm.json");
	CHECK_NUMBER(json_number(object, "requests", 0), ==, 3);
	cJSON_Delete(object);
	rows = scratch_read(&scratch, "warm.csv");
	for (const char *c = rows; *c != '\0'; c++)
		lines += *c == '\n';
	CHECK_NUMBER(lines, ==, 1 + 3);
	free(rows);
	CHECK_NUMBER(server.request_count, >, 3);
	server_release(&server);
}

static void test_some_not_answered(void)
{
	struct server server = { .mode = SERVER_BUSY };
	char json[SCRATCH_PATH_BYTES];

	server_start(&server);
	CHECK_NUMBER(RUN("--dataset", photos, "--json",
			 scratch_path(&scratch, "busy.json", json), server.url),
		     ==, 1);
	server_stop(&server);
	scratch_expect(&scratch, "stdout", "503: 3");
	scratch_expect(&scratch, "stderr",
		       "3 of 3 requests were not answered 2xx");
	scratch_expect(&scratch, "busy.json", "\"p90\":\tnull");
	scratch_expect(&scratch, "busy.json", ".jpg: status 503\"");
	server_release(&server);
}

static void test_nothing_listens(void)
{
	char json[SCRATCH_PATH_BYTES];
	char url[SERVER_URL_BYTES];
	int port = dead_port_open(false, url);

	CHECK_NUMBER(RUN("--dataset", photos, "--duration", "1000", "--json",
			 scratch_path(&scratch, "dead.json", json), url),
		     ==, 1);
	scratch_expect(&scratch, "dead.json", ".jpg: Connection refused\"");
	scratch_expect(&scratch, "stderr",
		       "gave up connecting: Connection refused");
	scratch_expect(&scratch, "stdout", "8 x Connection refused");
	close(port);
}

static void test_interrupted(void)
{
	char url[SERVER_URL_BYTES];
	int port = dead_port_open(true, url);
	pid_t pid = program_start(
		&scratch,
		(const char *const[]){ "--dataset", photos, url, NULL });
	/* Once it connects, the program is running. */
	int client = accept(port, NULL, NULL);

	CHECK_NUMBER(client, >=, 0);
	CHECK_NUMBER(kill(pid, SIGINT), ==, 0);
	CHECK_NUMBER(program_wait(pid), ==, 130);
	scratch_expect(&scratch, "stdout", "makespan");
	close(client);
	close(port);
}

static void test_usage_errors(void)
{
	CHECK_NUMBER(RUN("--help"), ==, 0);
	scratch_expect(&scratch, "stdout", "--connections N");
	CHECK_NUMBER(RUN("--dataset", photos, "--passes", "zero", "http://h/"),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "--passes: 'zero'");
	CHECK_NUMBER(RUN("--dataset", "/no/such/folder", "http://h/"), ==, 2);
	scratch_expect(&scratch, "stderr",
		       "--dataset: /no/such/folder: No such file");
	CHECK_NUMBER(RUN("--dataset", photos, "--json", "/no/such/file",
			 "http://h/"),
		     ==, 2);
	scratch_expect(&scratch, "stderr",
		       "--json /no/such/file: No such file");
	CHECK_NUMBER(RUN("--dataset", photos, "--save", "/no/such/folder",
			 "http://h/"),
		     ==, 2);
	scratch_expect(&scratch, "stderr", "--save: /no/such/folder");
}

/* The disk is full: the program reports the error and ends. */
static void test_unwritten_outputs(void)
{
	struct server server = { .mode = SERVER_ECHO };

	server_start(&server);
	CHECK_NUMBER(
		RUN("--dataset", photos, "--json", "/dev/full", server.url), ==,
		1);
	server_stop(&server);
	scratch_expect(&scratch, "stderr", "--json /dev/full: No space left");
	server_release(&server);
}

int main(void)
{
	scratch_init(&scratch);
	scratch_path(&scratch, "photos", photos);
	scratch_mkdir(&scratch, "photos");
	scratch_mkdir(&scratch, "photos/sub");
	scratch_write(&scratch, "photos/a.jpg", "one", 3);
	scratch_write(&scratch, "photos/b.jpeg", "two", 3);
	scratch_write(&scratch, "photos/sub/c.jpg", "photo3", 6);
	test_all_answered();
	test_json_instead_of_text();
	test_open_loop();
	test_server_counter();
	test_server_without_the_counter();
	test_trace();
	test_queries();
	test_api_key();
	test_form();
	test_step();
	test_find_max();
	test_find_no_max();
	test_find_max_takes_enough_replies();
	test_require();
	test_warm_up();
	test_some_not_answered();
	test_nothing_listens();
	test_interrupted();
	test_usage_errors();
	test_unwritten_outputs();
	scratch_release(&scratch);
	return 0;
}
