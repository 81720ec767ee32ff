/* SPDX-License-Identifier: MIT */
#include "service/decoder/helper/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <seccomp.h>

/* Data of the program and its libraries, and what malloc() keeps. */
enum { OWN_BYTES = 64 << 20 };

static bool limit(__rlimit_resource_t what, uint64_t most)
{
	struct rlimit limits;

	if (getrlimit(what, &limits) != 0)
		return false;
	/* There may be a lower one already. */
	if (limits.rlim_max == RLIM_INFINITY || limits.rlim_max > most)
		limits.rlim_max = most;
	limits.rlim_cur = limits.rlim_max;
	return setrlimit(what, &limits) == 0;
}

static bool limit_all(uint64_t bytes_max)
{
	return limit(RLIMIT_DATA, bytes_max + OWN_BYTES) &&
	       limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0);
}

/* The kernel ends this process first, and not the server. */
static void be_first_to_end(void)
{
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (file < 0)
		return;
	(void)!write(file, "800", 3);
	(void)close(file);
}

static bool allow(scmp_filter_ctx filter, int socket)
{
	static const int calls[] = {
		/* memory */
		SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(mremap),
		SCMP_SYS(munmap),
		/* its time, and its end */
		SCMP_SYS(clock_gettime), SCMP_SYS(exit), SCMP_SYS(exit_group),
		SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(gettimeofday),
		SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigaction),
		SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
		SCMP_SYS(setitimer),
		/* locks, of which there are no others to hold them */
		SCMP_SYS(futex), SCMP_SYS(getrandom), SCMP_SYS(sched_yield)
	};
	const struct scmp_arg_cmp not_executable =
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	const struct scmp_arg_cmp by_socket =
		SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)socket);
	const struct scmp_arg_cmp itself =
		SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());
	const struct scmp_arg_cmp own_thread = SCMP_A0(SCMP_CMP_EQ, 0);
	/* Of its own thread only. */
	const struct scmp_arg_cmp of_process =
		SCMP_A0(SCMP_CMP_EQ, PRIO_PROCESS);
	const struct scmp_arg_cmp of_itself = SCMP_A1(SCMP_CMP_EQ, 0);
	const struct scmp_arg_cmp to_slow =
		SCMP_A2(SCMP_CMP_EQ, JAIL_SLOW_NICE);
	const struct scmp_arg_cmp to_idle = SCMP_A1(SCMP_CMP_EQ, SCHED_IDLE);
	/* RLIMIT_DATA does not count other memory. */
	const struct scmp_arg_cmp is_counted =
		SCMP_A3(SCMP_CMP_MASKED_EQ,
			MAP_SHARED | MAP_GROWSDOWN | MAP_HUGETLB, 0);
	const struct {
		int call;
		struct scmp_arg_cmp condition;
	} rules[] = {
		{ SCMP_SYS(mprotect), not_executable },
		{ SCMP_SYS(recvfrom), by_socket },
		{ SCMP_SYS(sendto), by_socket },
		{ SCMP_SYS(tgkill), itself }, /* abort() */
		{ SCMP_SYS(sched_getaffinity), own_thread },
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0) != 0)
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, rules[i].call, 1,
				     rules[i].condition) != 0)
			return false;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				not_executable, is_counted) == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setpriority),
				3, of_process, of_itself, to_slow) == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ALLOW,
				SCMP_SYS(sched_setscheduler), 2, own_thread,
				to_idle) == 0;
}

static bool forbid_calls(int socket)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	bool ok = filter != NULL && allow(filter, socket) &&
		  seccomp_load(filter) == 0;

	seccomp_release(filter);
	return ok;
}

bool jail_enter(int socket, uint64_t bytes_max)
{
	be_first_to_end();
	(void)prctl(PR_SET_NAME, "decoder-lane", 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (HAS_SANITIZERS)
		return true;
	return close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0) == 0 &&
	       close_range((unsigned)socket + 1, ~0U, 0) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       limit_all(bytes_max) && forbid_calls(socket);
}

void jail_be_idle(void)
{
	const struct sched_param none = { .sched_priority = 0 };

	/* Where the kernel refuses, the next best. */
	if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
		(void)setpriority(PRIO_PROCESS, 0, JAIL_SLOW_NICE);
}
