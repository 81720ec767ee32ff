/* SPDX-License-Identifier: MIT */
/*
 * A call that is not listed fails with EPERM; it does not kill the process.  If
 * a library makes such a call in a rare case, one operation fails, not all
 * uploads.  An attacker gains nothing by that.
 */
#include "service/sandbox.h"

#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <seccomp.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZERS 1
#else
#define HAS_SANITIZERS 0
#endif

/* The first version that can allow moving files between folders (store). */
enum { LANDLOCK_ABI_MIN = 2 };

static const uint64_t rights_beneath =
	LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
	LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
	LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
	LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REFER;

static const uint64_t rights_nowhere =
	LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
	LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK |
	LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM;

static bool allow_beneath(int ruleset, const char *folder)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights_beneath,
		.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	bool ok = rule.parent_fd >= 0 &&
		  syscall(SYS_landlock_add_rule, ruleset,
			  LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;

	if (rule.parent_fd >= 0)
		(void)close(rule.parent_fd);
	return ok;
}

/* Returns the version of Landlock's ABI; 0: Landlock is not in force. */
static uint32_t restrict_files(const char *const *folders)
{
	const struct landlock_ruleset_attr handled = {
		.handled_access_fs = rights_beneath | rights_nowhere,
	};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < LANDLOCK_ABI_MIN)
		return 0;

	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled,
				   sizeof(handled), 0);
	bool ok = ruleset >= 0;

	for (; ok && *folders != NULL; folders++)
		ok = allow_beneath(ruleset, *folders);
	ok = ok && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
	if (ruleset >= 0)
		(void)close(ruleset);
	return ok ? (uint32_t)abi : 0;
}

/* Allowed with any arguments. */
static const int calls[] = {
	/* connections */
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(memfd_create), /* packages for the store helper */
	SCMP_SYS(sendfile),
	SCMP_SYS(shutdown),
	/* waiting */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	/* open files */
	SCMP_SYS(close),
	SCMP_SYS(dup),
	SCMP_SYS(fdatasync),
	SCMP_SYS(fstat),
	SCMP_SYS(fsync),
	SCMP_SYS(getdents64),
	SCMP_SYS(lseek),
	SCMP_SYS(newfstatat),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	/* memory */
	SCMP_SYS(brk),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	/* threads */
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(futex),
	SCMP_SYS(getcpu),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(membarrier),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list),
	/* signals */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sigaltstack),
	/* time and resources */
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrusage),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
};

/* Allowed only if there are folders, to which Landlock limits these calls. */
static const int file_calls[] = {
	SCMP_SYS(flock),   SCMP_SYS(fstatfs),  SCMP_SYS(ftruncate),
	SCMP_SYS(mkdirat), SCMP_SYS(open),     SCMP_SYS(openat),
	SCMP_SYS(rename),  SCMP_SYS(renameat), SCMP_SYS(renameat2),
	SCMP_SYS(unlink),  SCMP_SYS(unlinkat),
};

static bool allow_calls(scmp_filter_ctx filter, const int *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, list[i], 0) != 0)
			return false;
	return true;
}

struct rule {
	int call;
	uint32_t condition_count;
	struct scmp_arg_cmp conditions[2]; /* all must hold */
};

static bool allow_rules(scmp_filter_ctx filter, const struct rule *list,
			size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, list[i].call,
					   list[i].condition_count,
					   list[i].conditions) != 0)
			return false;
	return true;
}

#define IS(argument, value) SCMP_A##argument(SCMP_CMP_EQ, value)
#define LACKS(argument, bits) SCMP_A##argument(SCMP_CMP_MASKED_EQ, bits, 0)
#define HAS(argument, bits) SCMP_A##argument(SCMP_CMP_MASKED_EQ, bits, bits)
#define SETS(level, option)                                                    \
	{                                                                      \
		SCMP_SYS(setsockopt), 2,                                       \
		{                                                              \
			IS(1, level), IS(2, option)                            \
		}                                                              \
	}

static bool allow_with_arguments(scmp_filter_ctx f)
{
	const struct rule rules[] = {
		/*
		 * For replies.  MSG_FASTOPEN is forbidden, because with it
		 * these calls could open a connection.
		 */
		{ SCMP_SYS(sendto), 1, { LACKS(3, MSG_FASTOPEN) } },
		{ SCMP_SYS(sendmsg), 1, { LACKS(2, MSG_FASTOPEN) } },
		SETS(IPPROTO_TCP, TCP_NODELAY),
		SETS(IPPROTO_TCP, TCP_CORK),
		SETS(IPPROTO_TCP, TCP_NOTSENT_LOWAT),
		SETS(SOL_SOCKET, SO_LINGER),
		SETS(SOL_SOCKET, SO_RCVLOWAT),
		/*
		 * F_SETOWN and F_SETSIG could send signals to other processes,
		 * so they are not in this list.
		 */
		{ SCMP_SYS(fcntl), 1, { IS(1, F_GETFL) } },
		{ SCMP_SYS(fcntl), 1, { IS(1, F_SETFD) } },
		{ SCMP_SYS(ioctl), 1, { IS(1, FIONBIO) } },
		{ SCMP_SYS(ioctl), 1, { IS(1, FIONREAD) } },
		/* stdio checks whether a file is a terminal. */
		{ SCMP_SYS(ioctl), 1, { IS(1, TCGETS) } },
		{ SCMP_SYS(mmap), 1, { LACKS(2, PROT_EXEC) } },
		{ SCMP_SYS(mprotect), 1, { LACKS(2, PROT_EXEC) } },
		/* Threads are allowed, but not processes. */
		{ SCMP_SYS(clone), 1, { HAS(0, CLONE_THREAD) } },
		{ SCMP_SYS(prctl), 1, { IS(0, PR_SET_NAME) } },
		{ SCMP_SYS(sched_setaffinity), 1, { IS(0, 0) } },
		/* Reading its own limits. */
		{ SCMP_SYS(prlimit64), 1, { IS(2, 0) } },
		/* abort() */
		{ SCMP_SYS(tgkill), 1, { IS(0, (scmp_datum_t)getpid()) } },
	};

	/*
	 * The flags of clone3() are in memory, where the filter cannot see
	 * them.  After ENOSYS the C library uses clone().
	 */
	return seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
				0) == 0 &&
	       allow_rules(f, rules, ARRAY_SIZE(rules));
}

/* Allow a thread to open counters of itself only (pid 0). */
static bool allow_counters(scmp_filter_ctx filter)
{
	const struct rule rule = { SCMP_SYS(perf_event_open), 1, { IS(1, 0) } };

	return allow_rules(filter, &rule, 1);
}

static bool restrict_calls(bool has_folders, bool counts_hardware)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (filter == NULL)
		return false;

	/* A tree instead of a list; not all versions support it. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);

	bool ok = allow_calls(filter, calls, ARRAY_SIZE(calls)) &&
		  (!has_folders ||
		   allow_calls(filter, file_calls, ARRAY_SIZE(file_calls))) &&
		  allow_with_arguments(filter) &&
		  (!counts_hardware || allow_counters(filter)) &&
		  seccomp_load(filter) == 0;

	seccomp_release(filter);
	return ok;
}

void sandbox_enter(struct sandbox *s, const char *const *folders,
		   bool counts_hardware)
{
	bool has_folders = folders[0] != NULL;

	*s = (struct sandbox){ .landlock_abi = 0 };
	if (HAS_SANITIZERS)
		return;
	s->no_new_privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
	s->landlock_abi = restrict_files(folders);
	s->seccomp = restrict_calls(has_folders, counts_hardware);
}

bool sandbox_is_whole(const struct sandbox *s)
{
	return s->no_new_privileges && s->landlock_abi > 0 && s->seccomp;
}

void sandbox_print(const struct sandbox *s, FILE *to)
{
	const char *before = "";

	if (s->no_new_privileges) {
		(void)fputs("no new privileges", to);
		before = ", ";
	}
	if (s->landlock_abi > 0) {
		(void)fprintf(to, "%sLandlock (ABI %u)", before,
			      s->landlock_abi);
		before = ", ";
	}
	if (s->seccomp) {
		(void)fprintf(to, "%sseccomp", before);
		before = ", ";
	}
	if (before[0] == '\0')
		(void)fputs("none", to);
}
