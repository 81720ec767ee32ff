/* SPDX-License-Identifier: MIT */
/*
 * Promise: an attacker who gets control of a confined process cannot read or
 * write a file outside of its folders, run a program, make a process, reach the
 * network or load code; but the process can serve from open descriptors, start
 * threads, and use its folders.
 *
 * Each attack is tried outside of the sandbox first, where it succeeds.
 */
#include "base/test/check.h"
#include "service/sandbox.h"
#include "base/util.h"
#include "service/test/process/attacks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static const char *folder; /* of the sandbox */
static int folder_fd;

static void make_file(int parent, const char *name)
{
	int fd = openat(parent, name, O_CREAT | O_RDWR, 0600);

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(write(fd, "x", 1), ==, 1);
	CHECK_NUMBER(close(fd), ==, 0);
}

static int count_events(unsigned long flags)
{
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, flags) < 0 ?
		       errno :
		       0;
}

/* `outside`: the result of count_events(0) without a sandbox. */
static void test_counters_only_if_asked_for(bool asked_for, int outside)
{
	static const unsigned long flags[] = { PERF_FLAG_FD_NO_GROUP,
					       PERF_FLAG_FD_OUTPUT,
					       PERF_FLAG_PID_CGROUP,
					       1UL << 40 };

	CHECK_NUMBER(count_events(0), ==, (asked_for ? outside : EPERM));
	CHECK_NUMBER(count_events(PERF_FLAG_FD_CLOEXEC), ==,
		     (asked_for ? outside : EPERM));
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		CHECK_NUMBER(count_events(flags[i]), ==, EPERM);
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

	CHECK_NUMBER(pthread_create(&thread, NULL, answer, &here), ==, 0);
	CHECK_NUMBER(pthread_join(thread, &told), ==, 0);
	CHECK_NUMBER(told, ==, &here);
}

/*
 * Use a folder as a store does: files are made elsewhere, exchanged, listed and
 * removed.
 */
static void test_folder_can_be_used(void)
{
	char byte;
	struct stat found;

	CHECK_NUMBER(mkdirat(folder_fd, "tmp", 0700), ==, 0);
	CHECK_NUMBER(mkdirat(folder_fd, "aa", 0700), ==, 0);
	make_file(folder_fd, "tmp/new");
	CHECK_NUMBER(renameat(folder_fd, "tmp/new", folder_fd, "aa/file"), ==,
		     0);
	make_file(folder_fd, "tmp/other");
	CHECK_NUMBER(renameat2(folder_fd, "tmp/other", folder_fd, "aa/file",
			       RENAME_EXCHANGE),
		     ==, 0);

	int fd = openat(folder_fd, "aa/file", O_RDONLY);

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(fsync(folder_fd), ==, 0);
	CHECK_NUMBER(read(fd, &byte, 1), ==, 1);
	CHECK_NUMBER(byte, ==, 'x');
	CHECK_NUMBER(fstat(fd, &found), ==, 0);
	CHECK_NUMBER(found.st_size, ==, 1);
	CHECK_NUMBER(unlinkat(folder_fd, "aa/file", 0), ==, 0);
	CHECK_NUMBER(unlinkat(folder_fd, "aa", AT_REMOVEDIR), ==, 0);
	CHECK_NUMBER(unlinkat(folder_fd, "tmp/other", 0), ==, 0);
	CHECK_NUMBER(unlinkat(folder_fd, "tmp", AT_REMOVEDIR), ==, 0);
}

static void check(const struct attack *a, int error, int expected)
{
	if (error != expected)
		(void)fprintf(stderr, "%s: %s\n", a->name, strerror(error));
	CHECK_NUMBER(error, ==, expected);
}

static void test_attacks_succeed_outside(void)
{
	for (const struct attack *a = attacks; a->name != NULL; a++) {
		check(a, attacks_in_a_process(a->attempt), 0);
		attacks_renew();
	}
}

static void test_attacks_are_refused(void)
{
	for (const struct attack *a = attacks; a->name != NULL; a++)
		check(a, a->attempt(), a->refusal);
}

#define CALL(name)                                                             \
	{                                                                      \
#name, SYS_##name                                              \
	}

/* A part of what attacks use; with wrong arguments, so nothing happens. */
static const struct {
	const char *name;
	long number;
} forbidden_calls[] = {
	/* files */
	CALL(openat2),
	CALL(truncate),
	CALL(fallocate),
	CALL(linkat),
	CALL(symlinkat),
	CALL(mknodat),
	CALL(fchmod),
	CALL(fchmodat),
	CALL(fchown),
	CALL(fchownat),
	CALL(utimensat),
	CALL(setxattr),
	CALL(fsetxattr),
	CALL(removexattr),
	CALL(fchdir),
	CALL(chroot),
	CALL(pivot_root),
	CALL(mount),
	CALL(move_mount),
	CALL(open_tree),
	CALL(fsopen),
	CALL(mount_setattr),
	CALL(umount2),
	CALL(name_to_handle_at),
	CALL(open_by_handle_at),
	CALL(inotify_init1),
	CALL(inotify_add_watch),
	CALL(fanotify_init),
	CALL(copy_file_range),
	CALL(splice),
	CALL(quotactl),
	CALL(swapon),
	/* processes and threads */
	CALL(execve),
	CALL(execveat),
	CALL(unshare),
	CALL(setns),
	CALL(kill),
	CALL(tkill),
	CALL(rt_sigqueueinfo),
	CALL(rt_tgsigqueueinfo),
	CALL(pidfd_open),
	CALL(pidfd_getfd),
	CALL(pidfd_send_signal),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(process_madvise),
	CALL(ptrace),
	CALL(kcmp),
	CALL(setpgid),
	CALL(setpriority),
	CALL(sched_setscheduler),
	CALL(sched_setattr),
	CALL(ioprio_set),
	CALL(personality),
	CALL(prlimit64),
	CALL(setrlimit),
	/* users */
	CALL(setuid),
	CALL(setgid),
	CALL(setresuid),
	CALL(setresgid),
	CALL(setgroups),
	CALL(capset),
	/* memory */
	CALL(userfaultfd),
	CALL(pkey_mprotect),
	CALL(remap_file_pages),
	CALL(shmget),
	CALL(shmat),
	CALL(mbind),
	CALL(migrate_pages),
	CALL(move_pages),
	CALL(mlock),
	/* sockets and messages */
	CALL(socket),
	CALL(socketpair),
	CALL(bind),
	CALL(listen),
	CALL(connect),
	CALL(sendmmsg),
	CALL(msgget),
	CALL(semget),
	CALL(mq_open),
	/* the kernel */
	CALL(bpf),
	CALL(io_uring_setup),
	CALL(io_uring_enter),
	CALL(io_uring_register),
	CALL(io_setup),
	CALL(io_submit),
	CALL(add_key),
	CALL(request_key),
	CALL(keyctl),
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(reboot),
	CALL(syslog),
	CALL(acct),
	CALL(sethostname),
	CALL(settimeofday),
	CALL(clock_settime),
	CALL(adjtimex),
	CALL(timer_create),
	CALL(seccomp),
	CALL(landlock_restrict_self),
};

static void test_other_calls_are_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(forbidden_calls); i++) {
		check_case("forbidden_calls[%zu]: %s", i,
			   forbidden_calls[i].name);
		long result = syscall(forbidden_calls[i].number, -1L, -1L, -1L,
				      -1L, -1L, -1L);
		int error = result == -1 ? errno : 0;

		if (error != EPERM)
			(void)fprintf(stderr, "%s: %s\n",
				      forbidden_calls[i].name, strerror(error));
		CHECK_NUMBER(error, ==, EPERM);
	}
}

static int be_confined(void)
{
	int outside = count_events(0);
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
	test_other_calls_are_refused();
	return 0;
}

/* Without folders, nothing can be opened. */
static int be_confined_without_folders(void)
{
	int outside = count_events(0);
	struct sandbox s;

	if (outside != 0)
		printf("counters outside: %s\n", strerror(outside));
	sandbox_enter(&s, (const char *[]){ NULL }, true);
	if (!sandbox_is_whole(&s))
		return SKIPPED;
	CHECK_NUMBER(openat(folder_fd, "out", O_RDONLY), ==, -1);
	CHECK_NUMBER(errno, ==, EPERM);
	test_counters_only_if_asked_for(true, outside);
	return 0;
}

int main(void)
{
	int status;

	folder = attacks_prepare();
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
	CHECK_NUMBER(folder_fd, >=, 0);
	test_attacks_succeed_outside();
	status = attacks_in_a_process(be_confined);
	if (status == 0) {
		/* As on the oldest kernel that is enough for `require`. */
		attacks_renew();
		attacks_pretend_landlock_abi(2);
		CHECK_NUMBER(attacks_in_a_process(be_confined), ==, 0);
		attacks_pretend_landlock_abi(0);
	}
	CHECK_NUMBER(attacks_in_a_process(be_confined_without_folders), ==,
		     status);
	attacks_clean_up();
	return status;
}
