/* SPDX-License-Identifier: MIT */
/* A run that other programs disturb says so first, and gives no verdict. */
#include "base/json.h"
#include "base/test/check.h"
#include "loadgen/test/program.h"
#include "loadgen/test/server.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct scratch scratch;
static char photos[SCRATCH_PATH_BYTES];

/*
 * The limit is so low that a burner always exceeds it.  Runs of less than half
 * a second are not judged.
 */
#define RUN(...)                                                               \
	PROGRAM_RUN(&scratch, "--dataset", photos, "--disturbed", "0.1",       \
		    "--rate", "20", "--arrivals", "constant", "--duration",    \
		    "0.6", __VA_ARGS__)

/*
 * Another program takes all of a core that it gets.  It is no child of this
 * process, which is the server, so its work is not the server's.
 */
static pid_t start_burner(void)
{
	pid_t test = getpid(), child, burner;
	int ends[2];

	CHECK_NUMBER(pipe(ends), ==, 0);
	child = fork();
	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		burner = fork();
		CHECK_NUMBER(burner, >=, 0);
		while (burner == 0)
			if (kill(test, 0) != 0)
				_exit(0);
		_exit(write(ends[1], &burner, sizeof(burner)) < 0);
	}
	CHECK_NUMBER(read(ends[0], &burner, sizeof(burner)), ==,
		     (ssize_t)sizeof(burner));
	CHECK_NUMBER(waitpid(child, NULL, 0), ==, child);
	return burner;
}

static double number_in(const char *name, const char *key)
{
	cJSON *object = scratch_read_json(&scratch, name);
	double number = json_number(object, key, NAN);

	cJSON_Delete(object);
	return number;
}

/* Neither that the goal was met nor that it was missed. */
static void test_require(const char *url)
{
	char *text;

	CHECK_NUMBER(RUN("--require", "max<60s", url), ==, 1);
	text = scratch_read(&scratch, "stdout");
	CHECK(strncmp(text, "DISTURBED: ", 11) == 0);
	free(text);
	scratch_expect(&scratch, "stdout", "max < 60000 ms: no verdict");
	scratch_expect(&scratch, "stderr", "more than --disturbed 0.1");
}

/* Three attempts, and then it gives up. */
static void test_find_max(const char *url)
{
	char json[SCRATCH_PATH_BYTES];

	CHECK_NUMBER(RUN("--find-max", "max<60s", "--json",
			 scratch_path(&scratch, "json", json), url),
		     ==, 1);
	scratch_expect(&scratch, "stdout", "no verdict\n");
	scratch_expect(&scratch, "stdout", "\nDISTURBED: in 3 of 3 runs, ");
	/* The limit is the lower one of --disturbed and the usual one. */
	scratch_expect(&scratch, "stdout",
		       "took more than\n0.1 % of this machine's cores,");
	scratch_expect(&scratch, "stdout", "gives no verdict: 3 of them");
	scratch_expect(&scratch, "stderr", "no verdict at 20 requests/s");
	CHECK_NUMBER(number_in("json", "disturbed_runs"), ==, 3);
	CHECK_NUMBER(number_in("json", "runs_without_verdict"), ==, 3);
}

int main(void)
{
	struct server server = { .mode = SERVER_ECHO };
	pid_t burner = start_burner();

	scratch_init(&scratch);
	scratch_path(&scratch, "photos", photos);
	scratch_mkdir(&scratch, "photos");
	scratch_write(&scratch, "photos/a.jpg", "one", 3);
	server_start(&server);
	test_require(server.url);
	test_find_max(server.url);
	server_stop(&server);
	CHECK_NUMBER(kill(burner, SIGKILL), ==, 0);
	server_release(&server);
	scratch_release(&scratch);
	return 0;
}
