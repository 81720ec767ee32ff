/* SPDX-License-Identifier: MIT */
/* The program's one thread keeps 2,000 connections open at once. */
#include "base/test/check.h"
#include "loadgen/test/program.h"
#include "loadgen/test/server.h"

#include <stdio.h>
#include <sys/resource.h>

enum { CONNECTIONS = 2000, FILES_SPARE = 100, SKIPPED = 77 };

/*
 * Raise the limit of this process, which is the server; the client raises its
 * own.
 */
static bool raise_file_limit(void)
{
	struct rlimit limit;

	CHECK_NUMBER(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK_NUMBER(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	return limit.rlim_max >= CONNECTIONS + FILES_SPARE;
}

/* One request on each connection; the first reply comes after a second. */
static void test_closed_loop(const struct scratch *scratch)
{
	static struct server server = { .mode = SERVER_STALL };
	char photos[SCRATCH_PATH_BYTES];
	pid_t pid;

	server_start(&server);
	pid = program_start(
		scratch,
		(const char *const[]){ "--dataset",
				       scratch_path(scratch, "photos", photos),
				       "--connections", "2000", "--passes",
				       "2000", server.url, NULL });
	CHECK_NUMBER(program_wait(pid), ==, 0);
	server_stop(&server);
	CHECK_NUMBER(server.request_count, ==, CONNECTIONS);
	CHECK_NUMBER(server.connection_count, ==, CONNECTIONS);
	CHECK_NUMBER(server.open_count_peak, ==, CONNECTIONS);
	CHECK_NUMBER(server.strange_count, ==, 0);
	server_release(&server);
}

int main(void)
{
	struct scratch scratch;

	if (!raise_file_limit()) {
		fprintf(stderr, "skipped: fewer than %d files may be open\n",
			CONNECTIONS + FILES_SPARE);
		return SKIPPED;
	}
	scratch_init(&scratch);
	scratch_mkdir(&scratch, "photos");
	scratch_write(&scratch, "photos/a.jpg", "photo", 5);
	test_closed_loop(&scratch);
	scratch_release(&scratch);
	return 0;
}
