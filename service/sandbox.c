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
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <seccomp.h>

/*
 * Headers may be older than the kernel: those of Debian 12 end with version 2
 * of Landlock's ABI.
 */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP (1ULL << 0)
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_SCOPE_SIGNAL
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif
#ifndef LANDLOCK_ACCESS_FS_RESOLVE_UNIX
#define LANDLOCK_ACCESS_FS_RESOLVE_UNIX (1ULL << 16)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_UDP
#define LANDLOCK_ACCESS_NET_BIND_UDP (1ULL << 2)
#define LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP (1ULL << 3)
#endif

/* The first version that can allow moving files between folders (store). */
enum { LANDLOCK_ABI_MIN = 2 };

/*
 * The kernel's struct landlock_ruleset_attr.  An older kernel, whose struct is
 * shorter, accepts this one if the rest is 0.
 */
struct rights {
	uint64_t files;
	uint64_t ports;
	uint64_t scopes;
};

static const uint64_t rights_beneath =
	LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
	LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
	LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
	LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
	LANDLOCK_ACCESS_FS_REFER;

/* All rights, by the version that knows them first. */
static const struct {
	uint32_t abi;
	struct rights rights;
} landlock_rights[] = {
	{ 1,
	  { .files =
		    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
		    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
		    LANDLOCK_ACCESS_FS_REMOVE_DIR |
		    LANDLOCK_ACCESS_FS_REMOVE_FILE |
		    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
		    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
		    LANDLOCK_ACCESS_FS_MAKE_FIFO |
		    LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		    LANDLOCK_ACCESS_FS_MAKE_SYM } },
	{ 2, { .files = LANDLOCK_ACCESS_FS_REFER } },
	{ 3, { .files = LANDLOCK_ACCESS_FS_TRUNCATE } },
	{ 4,
	  { .ports = LANDLOCK_ACCESS_NET_BIND_TCP |
		     LANDLOCK_ACCESS_NET_CONNECT_TCP } },
	{ 5, { .files = LANDLOCK_ACCESS_FS_IOCTL_DEV } },
	{ 6,
	  { .scopes = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET |
		      LANDLOCK_SCOPE_SIGNAL } },
	{ 9, { .files = LANDLOCK_ACCESS_FS_RESOLVE_UNIX } },
	{ 10,
	  { .ports = LANDLOCK_ACCESS_NET_BIND_UDP |
		     LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP } },
};

static struct rights rights_of(long abi)
{
	struct rights all = { .files = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(landlock_rights); i++) {
		if (landlock_rights[i].abi > abi)
			continue;
		all.files |= landlock_rights[i].rights.files;
		all.ports |= landlock_rights[i].rights.ports;
		all.scopes |= landlock_rights[i].rights.scopes;
	}
	return all;
}

/* Add to what the sandbox lacks. */
static __attribute__((format(printf, 2, 3))) void lack(struct sandbox *s,
						       const char *format, ...)
{
	size_t used = strlen(s->lacks);
	va_list values;

	if (used > 0)
		used += (size_t)snprintf(s->lacks + used,
					 sizeof(s->lacks) - used, "; ");
	if (used >= sizeof(s->lacks))
		return;
	va_start(values, format);
	(void)vsnprintf(s->lacks + used, sizeof(s->lacks) - used, format,
			values);
	va_end(values);
}

static bool allow_beneath(int ruleset, const char *folder, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights,
		.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	bool ok = rule.parent_fd >= 0 &&
		  syscall(SYS_landlock_add_rule, ruleset,
			  LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
	int why = errno;

	if (rule.parent_fd >= 0)
		(void)close(rule.parent_fd);
	errno = why;
	return ok;
}

/* Forbid all rights that this version knows, except those below folders. */
static bool restrict_rights(const char *const *folders, long abi)
{
	const struct rights handled = rights_of(abi);
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled,
				   sizeof(handled), 0);
	bool ok = ruleset >= 0;

	for (; ok && *folders != NULL; folders++)
		ok = allow_beneath(ruleset, *folders,
				   rights_beneath & handled.files);
	ok = ok && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;

	int why = errno;

	if (ruleset >= 0)
		(void)close(ruleset);
	errno = why;
	return ok;
}

static void enter_landlock(struct sandbox *s, const char *const *folders)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 0 && errno == EOPNOTSUPP)
		lack(s, "Landlock is switched off (kernel parameter lsm=)");
	else if (abi < 0)
		lack(s, "the kernel has no Landlock (%s)", strerror(errno));
	else if (abi < LANDLOCK_ABI_MIN)
		lack(s, "the kernel's Landlock is too old (ABI %ld, not %d)",
		     abi, LANDLOCK_ABI_MIN);
	else if (!restrict_rights(folders, abi))
		lack(s, "the kernel refuses Landlock's rules (%s)",
		     strerror(errno));
	else
		s->landlock_abi = (uint32_t)abi;
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

/*
 * Allowed only if there are folders, to which Landlock limits these calls and
 * those of allow_opening().
 */
static const int file_calls[] = {
	SCMP_SYS(faccessat),  /* asks only whether a folder is writable */
	SCMP_SYS(faccessat2), /* used instead, if the kernel has it */
	SCMP_SYS(flock),      SCMP_SYS(fstatfs), SCMP_SYS(rename),
	SCMP_SYS(renameat),   SCMP_SYS(unlink),  SCMP_SYS(unlinkat),
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
#define IN(argument, bits, value)                                              \
	SCMP_A##argument(SCMP_CMP_MASKED_EQ, bits, value)
#define LACKS(argument, bits) IN(argument, bits, 0)
#define HAS(argument, bits) IN(argument, bits, bits)
#define SETS(level, option)                                                    \
	{                                                                      \
		SCMP_SYS(setsockopt), 2,                                       \
		{                                                              \
			IS(1, level), IS(2, option)                            \
		}                                                              \
	}

/* What makes a namespace. */
#define CLONE_NEW                                                              \
	(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |         \
	 CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS)

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
		/* Threads are allowed, but no processes and no namespaces. */
		{ SCMP_SYS(clone),
		  1,
		  { IN(0, CLONE_THREAD | CLONE_NEW, CLONE_THREAD) } },
		{ SCMP_SYS(prctl), 1, { IS(0, PR_SET_NAME) } },
		{ SCMP_SYS(sched_setaffinity), 1, { IS(0, 0) } },
		{ SCMP_SYS(sched_getaffinity), 1, { IS(0, 0) } },
		{ SCMP_SYS(sched_setattr), 1, { IS(0, 0) } },
		{ SCMP_SYS(sched_getattr), 1, { IS(0, 0) } },
		/* Reading its own limits. */
		{ SCMP_SYS(prlimit64), 2, { IS(0, 0), IS(2, 0) } },
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

/*
 * Files are opened to read, to write or for both.  With the fourth mode, 3,
 * which allows neither, Landlock before ABI 3 lets O_TRUNC empty any file, and
 * before ABI 5 any device take ioctl().  Files that are made cannot be
 * set-user-ID: that would lend the server's rights to others.  RENAME_WHITEOUT
 * would make a device, whatever Landlock says.
 */
static bool allow_opening(scmp_filter_ctx filter)
{
	static const uint64_t ways[] = { O_RDONLY, O_WRONLY, O_RDWR };
	const struct rule others[] = {
		{ SCMP_SYS(mkdirat), 1, { LACKS(2, S_ISUID | S_ISGID) } },
		{ SCMP_SYS(renameat2), 1, { IS(4, 0) } },
		{ SCMP_SYS(renameat2), 1, { IS(4, RENAME_EXCHANGE) } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const struct rule rules[] = {
			{ SCMP_SYS(open),
			  2,
			  { IN(1, O_ACCMODE, ways[i]),
			    LACKS(2, S_ISUID | S_ISGID) } },
			{ SCMP_SYS(openat),
			  2,
			  { IN(2, O_ACCMODE, ways[i]),
			    LACKS(3, S_ISUID | S_ISGID) } },
		};

		if (!allow_rules(filter, rules, ARRAY_SIZE(rules)))
			return false;
	}
	return allow_rules(filter, others, ARRAY_SIZE(others));
}

/*
 * Allow a thread to open counters of itself only: pid 0, and no flag that makes
 * the pid one of a control group, or gives the events of a counter to another.
 */
static bool allow_counters(scmp_filter_ctx filter)
{
	const struct rule rule = {
		SCMP_SYS(perf_event_open),
		2,
		{ IS(1, 0), LACKS(4, ~(uint64_t)PERF_FLAG_FD_CLOEXEC) }
	};

	return allow_rules(filter, &rule, 1);
}

/* Returns 0 or an errno. */
static int restrict_calls(bool has_folders, bool counts_hardware)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (filter == NULL)
		return ENOMEM;

	/* A tree instead of a list; not all versions support it. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	/* The kernel's own errors. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);

	bool ok = allow_calls(filter, calls, ARRAY_SIZE(calls)) &&
		  (!has_folders ||
		   (allow_calls(filter, file_calls, ARRAY_SIZE(file_calls)) &&
		    allow_opening(filter))) &&
		  allow_with_arguments(filter) &&
		  (!counts_hardware || allow_counters(filter));
	int error = ok ? -seccomp_load(filter) : EINVAL;

	seccomp_release(filter);
	return error;
}

static void enter_seccomp(struct sandbox *s, bool has_folders,
			  bool counts_hardware)
{
	int error = restrict_calls(has_folders, counts_hardware);

	s->seccomp = error == 0;
	if (error != 0)
		lack(s, "the kernel refuses a seccomp filter (%s)",
		     strerror(error));
}

void sandbox_enter(struct sandbox *s, const char *const *folders,
		   bool counts_hardware)
{
	bool has_folders = folders[0] != NULL;

	*s = (struct sandbox){ .landlock_abi = 0 };
	if (HAS_SANITIZERS) {
		lack(s, "builds with sanitizers have no sandbox");
		return;
	}
	s->no_new_privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
	if (!s->no_new_privileges)
		lack(s, "the kernel has no no_new_privs (%s)", strerror(errno));
	enter_landlock(s, folders);
	enter_seccomp(s, has_folders, counts_hardware);
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
