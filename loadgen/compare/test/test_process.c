/* SPDX-License-Identifier: MIT */
/*
 * Promise: after the start the server runs; after the stop none of its
 * processes runs.
 */
#include "loadgen/compare/process.c"

#include "base/test/check.h"
#include "loadgen/test/program.h"
#include "loadgen/test/server.h"

#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct scratch scratch;
static char program[SCRATCH_PATH_BYTES];
static char log_path[SCRATCH_PATH_BYTES];
static const volatile sig_atomic_t go_on;

/* Returns the number after `key` in the server's log. */
static long logged(const char *key)
{
	char *text = scratch_read(&scratch, "log");
	char *place = strstr(text, key);
	long number;

	CHECK(place != NULL);
	number = strtol(place + strlen(key), NULL, 10);
	free(text);
	return number;
}

static bool is_alive(long pid)
{
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

static cJSON *kept; /* JSON of the tests' arms; freed at the end */

static cJSON *keep(cJSON *json)
{
	cJSON_AddItemToArray(kept, json);
	return json;
}

/* A list of the words. */
#define WORDS(...)                                                             \
	keep(cJSON_CreateStringArray(                                          \
		(const char *const[]){ __VA_ARGS__ },                          \
		sizeof((const char *const[]){ __VA_ARGS__ }) /                 \
			sizeof(char *)))

static bool start(struct server_process *s, const struct arm *arm,
		  struct error *error)
{
	unlink(log_path);
	return server_process_start(s, arm, "w=1", log_path, &go_on, error);
}

static void test_start_and_stop(void)
{
	struct arm arm = {
		.url = "http://127.0.0.1:{port}/",
		.command = WORDS(program, "{port}", "0", "200"),
	};
	struct server_process s = { 0 };
	struct error error;
	int status;
	long pid;

	CHECK(start(&s, &arm, &error));
	CHECK(strncmp(s.url, "http://127.0.0.1:", 17) == 0);
	CHECK_PART(s.url, "/?w=1");
	CHECK(answers_http(s.url));
	pid = logged("pid ");
	CHECK(is_alive(pid));
	process_end(s.pid, (const int[]){ SIGTERM, SIGKILL }, &status);
	s.pid = 0;
	CHECK(!is_alive(pid));
	CHECK(WIFEXITED(status));
	CHECK_NUMBER(WEXITSTATUS(status), ==, 0);
	server_process_stop(&s); /* allowed, though nothing runs */
	CHECK(s.url == NULL);
}

/*
 * A shell, the server that it starts, and a child that ignores SIGTERM: all of
 * them end.
 */
static void test_the_whole_group_ends(void)
{
	cJSON *environment = keep(cJSON_CreateObject());
	struct arm arm = {
		.url = "http://127.0.0.1:{port}/?q=1",
		.command =
			WORDS("sh", "-c",
			      "trap '' TERM; sleep 1000 & echo sleeper $!; "
			      "cd / && \"$PROGRAM\" $PORT 0 200 & wait; wait"),
		.environment = environment,
	};
	struct server_process s = { 0 };
	struct error error;
	long server;
	long sleeper;

	cJSON_AddStringToObject(environment, "PORT", "{port}");
	cJSON_AddStringToObject(environment, "PROGRAM", program);
	CHECK(start(&s, &arm, &error));
	CHECK_PART(s.url, "/?q=1&w=1");
	server = logged("pid ");
	sleeper = logged("sleeper ");
	CHECK(is_alive(server));
	CHECK(is_alive(sleeper));
	kill(s.pid, SIGKILL); /* the leader alone */
	server_process_stop(&s);
	CHECK(!is_alive(server));
	CHECK(!is_alive(sleeper));
	errno = 0;
	CHECK_NUMBER(waitpid(-1, NULL, WNOHANG), <, 0);
	CHECK_NUMBER(errno, ==, ECHILD);
}

/* The process has an empty standard input, and the log as both outputs. */
static void test_no_descriptor_is_left_open(void)
{
	struct process_config config = {
		.command = WORDS("sh", "-c",
				 "for f in /proc/$$/fd/*; do readlink $f; "
				 "done; read line || echo empty"),
		.log = log_path,
	};
	struct error error;
	char *text;
	char *null;
	int status;

	close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC); /* what we inherited */
	unlink(log_path);
	CHECK(process_run(&config, &go_on, &status, &error));
	CHECK(WIFEXITED(status));
	CHECK_NUMBER(WEXITSTATUS(status), ==, 0);
	text = scratch_read(&scratch, "log");
	null = strstr(text, "/dev/null\n");
	CHECK(null != NULL);
	CHECK(strstr(null + 1, "/dev/null\n") == NULL);
	CHECK_PART(text, "empty\n");
	free(text);
}

static void expect_failure(const struct arm *arm, const char *part)
{
	struct server_process s = { 0 };
	struct error error;

	CHECK(!start(&s, arm, &error));
	CHECK_PART(error.text, part);
	CHECK_NUMBER(s.pid, ==, 0);
	CHECK(s.url == NULL);
}

static void test_failures(void)
{
	struct arm missing = {
		.url = "http://127.0.0.1:{port}/",
		.command = WORDS("/no/such/program"),
	};
	struct arm ends = {
		.url = "http://127.0.0.1:{port}/",
		.command = WORDS(program, "", "0", "200"),
	};
	struct arm elsewhere = {
		.url = "http://127.0.0.1:{port}/",
		.command = WORDS(program, "{port}", "0", "200"),
		.directory = "/no/such/folder",
	};

	expect_failure(&missing,
		       "cannot start '/no/such/program': No such file");
	expect_failure(&ends, "ended at once: exit status 3");
	expect_failure(&ends, "ends:\nno port");
	expect_failure(&elsewhere, "No such file");
}

static void test_interrupted(void)
{
	static const volatile sig_atomic_t stop = 1;
	struct arm arm = {
		.url = "http://127.0.0.1:{port}/",
		.command = WORDS("sleep", "1000"),
	};
	struct server_process s = { 0 };
	struct error error;

	CHECK(!server_process_start(&s, &arm, "", log_path, &stop, &error));
	CHECK_TEXT(error.text, "interrupted");
	CHECK_NUMBER(s.pid, ==, 0);
}

static void test_probe(void)
{
	struct server server = { .mode = SERVER_BUSY };
	char url[SERVER_URL_BYTES];
	int port = dead_port_open(true, url);

	CHECK(!answers_http(url)); /* it listens, but sends nothing */
	close(port);
	CHECK(!answers_http(url));
	CHECK(!answers_http("http://127.0.0.1:port/"));
	server_start(&server);
	CHECK(answers_http(server.url)); /* 503 is an answer */
	server_stop(&server);
	server_release(&server);
}

static void test_log_tail(void)
{
	char text[16];

	scratch_write(&scratch, "tail", "first line\nsecond\nthird\n", 24);
	read_log_tail(scratch_path(&scratch, "tail", log_path), text,
		      sizeof(text));
	CHECK(strcmp(text, "second\nthird") == 0 || strcmp(text, "third") == 0);
	read_log_tail("/no/such/file", text, sizeof(text));
	CHECK_NUMBER(text[0], ==, '\0');
}

int main(void)
{
	program_find("compare_reply_server", program);
	kept = cJSON_CreateArray();
	scratch_init(&scratch);
	scratch_path(&scratch, "log", log_path);
	test_start_and_stop();
	test_the_whole_group_ends();
	test_no_descriptor_is_left_open();
	test_failures();
	test_interrupted();
	test_probe();
	test_log_tail();
	scratch_release(&scratch);
	cJSON_Delete(kept);
	return 0;
}
