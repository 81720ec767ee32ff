/* SPDX-License-Identifier: MIT */
/*
 * Promise: an attacker who gets control of a confined process cannot read or
 * write a file outside of its folders, run a program, make a process, reach the
 * network or load code; but the process can serve from open descriptors, start
 * threads, and use its folders.
 *
 * Each attack is tried outside of the sandbox first, where it succeeds.
 */
#include "service/sandbox.h"
#include "service/test/attacks.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static const char *folder; /* of the sandbox */
static int folder_fd;

/* The result of an attack in a process of its own; -1: the process crashed. */
static int in_a_process(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	assert(pid >= 0);
	if (pid == 0)
		_exit(run());
	assert(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void make_file(int parent, const char *name)
{
	int fd = openat(parent, name, O_CREAT | O_RDWR, 0600);

	assert(fd >= 0);
	assert(write(fd, "x", 1) == 1);
	assert(close(fd) == 0);
}

static int count_events(void)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) < 0 ?
		       errno :
		       0;
}

/* `outside`: the result of count_events() without a sandbox. */
static void test_counters_only_if_asked_for(bool asked_for, int outside)
{
	assert(count_events() == (asked_for ? outside : EPERM));
}

static void *answer(void *arg)
{
	(void)pthread_setname_np(pthread_self(), "answers");
	return arg;
}

static void test_threads_can_be_started(void)
{
	int here;
	void *told;
	pthread_t thread;

	assert(pthread_create(&thread, NULL, answer, &here) == 0);
	assert(pthread_join(thread, &told) == 0 && told == &here);
}

/*
 * Use a folder as a store does: files are made elsewhere, exchanged, listed and
 * removed.
 */
static void test_folder_can_be_used(void)
{
	char byte;
	struct stat found;

	assert(mkdirat(folder_fd, "tmp", 0700) == 0);
	assert(mkdirat(folder_fd, "aa", 0700) == 0);
	make_file(folder_fd, "tmp/new");
	assert(renameat(folder_fd, "tmp/new", folder_fd, "aa/file") == 0);
	make_file(folder_fd, "tmp/other");
	assert(renameat2(folder_fd, "tmp/other", folder_fd, "aa/file",
			 RENAME_EXCHANGE) == 0);

	int fd = openat(folder_fd, "aa/file", O_RDONLY);

	assert(fd >= 0 && fsync(folder_fd) == 0);
	assert(read(fd, &byte, 1) == 1 && byte == 'x');
	assert(fstat(fd, &found) == 0 && found.st_size == 1);
	assert(unlinkat(folder_fd, "aa/file", 0) == 0);
	assert(unlinkat(folder_fd, "aa", AT_REMOVEDIR) == 0);
}

static void check(const struct attack *a, int error, int expected)
{
	if (error != expected)
		(void)fprintf(stderr, "%s: %s\n", a->name, strerror(error));
	assert(error == expected);
}

static void test_attacks_succeed_outside(void)
{
	for (const struct attack *a = attacks; a->name != NULL; a++) {
		check(a, in_a_process(a->attempt), 0);
		attacks_renew();
	}
}

static void test_attacks_are_refused(void)
{
	for (const struct attack *a = attacks; a->name != NULL; a++)
		check(a, a->attempt(), a->refusal);
}

static int be_confined(void)
{
	int outside = count_events();
	struct sandbox s;

	sandbox_enter(&s, (const char *[]){ folder, NULL }, false);
	sandbox_print(&s, stdout);
	(void)putchar('\n');
	(void)fflush(stdout);
	if (!sandbox_is_whole(&s))
		return SKIPPED;
	test_threads_can_be_started();
	test_folder_can_be_used();
	test_counters_only_if_asked_for(false, outside);
	test_attacks_are_refused();
	return 0;
}

/* Without folders, nothing can be opened. */
static int be_confined_without_folders(void)
{
	int outside = count_events();
	struct sandbox s;

	if (outside != 0)
		printf("counters outside: %s\n", strerror(outside));
	sandbox_enter(&s, (const char *[]){ NULL }, true);
	if (!sandbox_is_whole(&s))
		return SKIPPED;
	assert(openat(folder_fd, "out", O_RDONLY) == -1 && errno == EPERM);
	test_counters_only_if_asked_for(true, outside);
	return 0;
}

int main(void)
{
	int status;

	folder = attacks_prepare();
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert(folder_fd >= 0);
	test_attacks_succeed_outside();
	status = in_a_process(be_confined);
	assert(in_a_process(be_confined_without_folders) == status);
	attacks_clean_up();
	return status;
}
