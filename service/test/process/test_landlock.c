/* SPDX-License-Identifier: MIT */
/*
 * Promise: the sandbox takes away every right that the kernel's Landlock knows,
 * also without seccomp; below its folders it leaves those that a store needs.
 * With an older version it takes away the rights of that version.
 *
 * Each right is tried alone: first without a sandbox, where it must succeed.
 */
#include "base/test/check.h"
#include "base/test/scratch.h"
#include "base/util.h"
#include "service/sandbox.h"
#include "service/test/process/attacks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <seccomp.h>

enum { SKIPPED = 77, ABI_MIN = 2 };

/* Members of struct landlock_ruleset_attr. */
enum kind { FILES, PORTS, SCOPES, KIND_COUNT };

static struct scratch scratch;
static char inside[SCRATCH_PATH_BYTES], outside[SCRATCH_PATH_BYTES];
static int dir; /* where the next attempt is made */
static pid_t test_pid;
static int listeners[4] = { -1, -1, -1, -1 };
static struct sockaddr_in tcp_listener, udp_listener;
static struct sockaddr_un abstract_listener = { .sun_family = AF_UNIX };
static socklen_t abstract_bytes;

/* The errno of a call that returned -1; 0: the call succeeded. */
static int error_of(long result)
{
	return result == -1 ? errno : 0;
}

static int execute(void)
{
	char *argv[] = { (char[]){ "true" }, NULL };

	return error_of(
		syscall(SYS_execveat, dir, "program", argv, environ, 0));
}

static int write_file(void)
{
	return error_of(openat(dir, "file", O_WRONLY));
}

static int read_file(void)
{
	return error_of(openat(dir, "file", O_RDONLY));
}

static int read_dir(void)
{
	return error_of(openat(dir, ".", O_RDONLY | O_DIRECTORY));
}

static int remove_dir(void)
{
	return error_of(unlinkat(dir, "empty", AT_REMOVEDIR));
}

static int remove_file(void)
{
	return error_of(unlinkat(dir, "file", 0));
}

/* Everybody may make a device 0, 0: it has no driver. */
static int make_char(void)
{
	return error_of(mknodat(dir, "new", S_IFCHR | 0600, makedev(0, 0)));
}

static int make_dir(void)
{
	return error_of(mkdirat(dir, "new", 0700));
}

static int make_reg(void)
{
	return error_of(mknodat(dir, "new", S_IFREG | 0600, 0));
}

static int make_sock(void)
{
	return error_of(mknodat(dir, "new", S_IFSOCK | 0600, 0));
}

static int make_fifo(void)
{
	return error_of(mkfifoat(dir, "new", 0600));
}

static int make_block(void)
{
	return error_of(mknodat(dir, "new", S_IFBLK | 0600, makedev(7, 0)));
}

static int make_sym(void)
{
	return error_of(symlinkat("file", dir, "new"));
}

static int refer(void)
{
	return error_of(renameat(dir, "file", dir, "empty/file"));
}

/* The file is opened neither to read nor to write. */
static int truncate_file(void)
{
	return error_of(openat(dir, "file", O_ACCMODE | O_TRUNC));
}

static int ioctl_dev(void)
{
	int bits, fd = open("/dev/urandom", O_ACCMODE);

	return fd < 0 ? errno : error_of(ioctl(fd, RNDGETENTCNT, &bits));
}

static int connect_to(int type, const void *address, socklen_t bytes)
{
	const struct sockaddr *to = address;
	int fd = socket(to->sa_family, type, 0);

	CHECK_NUMBER(fd, >=, 0);
	return error_of(connect(fd, to, bytes));
}

static int resolve_unix(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d/%s",
		       dir, "socket");
	return connect_to(SOCK_STREAM, &to, sizeof(to));
}

static int bind_one(int type, struct sockaddr_in *address)
{
	socklen_t bytes = sizeof(*address);
	int fd = socket(AF_INET, type, 0);

	CHECK_NUMBER(fd, >=, 0);
	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (bind(fd, (struct sockaddr *)address, bytes) != 0)
		return -1;
	CHECK_NUMBER(getsockname(fd, (struct sockaddr *)address, &bytes), ==,
		     0);
	return fd;
}

static int bind_tcp(void)
{
	struct sockaddr_in unused;

	return error_of(bind_one(SOCK_STREAM, &unused));
}

static int connect_tcp(void)
{
	return connect_to(SOCK_STREAM, &tcp_listener, sizeof(tcp_listener));
}

static int bind_udp(void)
{
	struct sockaddr_in unused;

	return error_of(bind_one(SOCK_DGRAM, &unused));
}

static int connect_udp(void)
{
	return connect_to(SOCK_DGRAM, &udp_listener, sizeof(udp_listener));
}

static int connect_abstract(void)
{
	return connect_to(SOCK_STREAM, &abstract_listener, abstract_bytes);
}

static int signal_others(void)
{
	return error_of(kill(test_pid, 0));
}

static const struct right {
	const char *name;
	enum kind kind;
	int bit;
	long abi; /* the first version that knows it */
	int (*attempt)(void);
	int refusal;
	bool is_left; /* below the folders */
} rights[] = {
	{ "execute", FILES, 0, 1, execute, EACCES, false },
	{ "write_file", FILES, 1, 1, write_file, EACCES, true },
	{ "read_file", FILES, 2, 1, read_file, EACCES, true },
	{ "read_dir", FILES, 3, 1, read_dir, EACCES, true },
	{ "remove_dir", FILES, 4, 1, remove_dir, EACCES, true },
	{ "remove_file", FILES, 5, 1, remove_file, EACCES, true },
	{ "make_char", FILES, 6, 1, make_char, EACCES, false },
	{ "make_dir", FILES, 7, 1, make_dir, EACCES, true },
	{ "make_reg", FILES, 8, 1, make_reg, EACCES, true },
	{ "make_sock", FILES, 9, 1, make_sock, EACCES, false },
	{ "make_fifo", FILES, 10, 1, make_fifo, EACCES, false },
	{ "make_block", FILES, 11, 1, make_block, EACCES, false },
	{ "make_sym", FILES, 12, 1, make_sym, EACCES, false },
	{ "refer", FILES, 13, 2, refer, EACCES, true },
	{ "truncate", FILES, 14, 3, truncate_file, EACCES, true },
	{ "bind_tcp", PORTS, 0, 4, bind_tcp, EACCES, false },
	{ "connect_tcp", PORTS, 1, 4, connect_tcp, EACCES, false },
	{ "ioctl_dev", FILES, 15, 5, ioctl_dev, EACCES, false },
	{ "abstract_unix_socket", SCOPES, 0, 6, connect_abstract, EPERM,
	  false },
	{ "signal", SCOPES, 1, 6, signal_others, EPERM, false },
	{ "resolve_unix", FILES, 16, 9, resolve_unix, EACCES, false },
	{ "bind_udp", PORTS, 2, 10, bind_udp, EACCES, false },
	{ "connect_send_udp", PORTS, 3, 10, connect_udp, EACCES, false },
};

/* The test's sandbox has only Landlock. */
int __wrap_seccomp_load(scmp_filter_ctx filter);
int __wrap_seccomp_load(scmp_filter_ctx filter)
{
	(void)filter;
	return -ENOSYS;
}

static void listen_at(int *listener, const void *address, socklen_t bytes)
{
	*listener = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_NUMBER(*listener, >=, 0);
	CHECK_NUMBER(bind(*listener, address, bytes), ==, 0);
	CHECK_NUMBER(listen(*listener, 64), ==, 0);
}

static void listen_in(int *listener, const char *place)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	CHECK_NUMBER(strlen(place) + sizeof("/socket"), <=,
		     sizeof(at.sun_path));
	(void)strcpy(at.sun_path, place);
	(void)strcat(at.sun_path, "/socket");
	(void)close(*listener);
	listen_at(listener, &at, sizeof(at));
}

/* Listen at addresses outside of the sandbox. */
static void listen_outside(void)
{
	int fd = bind_one(SOCK_STREAM, &tcp_listener);

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(listen(fd, 64), ==, 0);
	CHECK_NUMBER(bind_one(SOCK_DGRAM, &udp_listener), >=, 0);
	abstract_bytes = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 +
			 (socklen_t)snprintf(abstract_listener.sun_path + 1, 64,
					     "test_landlock.%d", (int)getpid());
	listen_at(&listeners[0], &abstract_listener, abstract_bytes);
}

static void copy_program(const char *to)
{
	char bytes[4096];
	ssize_t n;
	int in = open("/bin/true", O_RDONLY);
	int out = open(to, O_CREAT | O_WRONLY, 0700);

	CHECK_NUMBER(in, >=, 0);
	CHECK_NUMBER(out, >=, 0);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		CHECK_NUMBER(write(out, bytes, (size_t)n), ==, n);
	CHECK_NUMBER(n, ==, 0);
	CHECK_NUMBER(close(in), ==, 0);
	CHECK_NUMBER(close(out), ==, 0);
}

/* Make what attempts change again. */
static void renew(void)
{
	char path[SCRATCH_PATH_BYTES];

	scratch_clear(&scratch);
	scratch_mkdir(&scratch, "inside/empty");
	scratch_mkdir(&scratch, "outside/empty");
	scratch_write_text(&scratch, "inside/file", "x");
	scratch_write_text(&scratch, "outside/file", "x");
	copy_program(scratch_path(&scratch, "inside/program", path));
	copy_program(scratch_path(&scratch, "outside/program", path));
	listen_in(&listeners[1], inside);
	listen_in(&listeners[2], outside);
}

static int (*attempt)(void);

static int attempt_confined(void)
{
	struct sandbox s;

	sandbox_enter(&s, (const char *[]){ inside, NULL }, false);
	CHECK(!s.seccomp);
	CHECK_PART(s.lacks, "seccomp");
	CHECK_NUMBER(s.landlock_abi, >, 0);
	return attempt();
}

static int try_in(const char *place, int (*run)(void))
{
	int result;

	renew();
	dir = open(place, O_PATH | O_DIRECTORY);
	CHECK_NUMBER(dir, >=, 0);
	result = attacks_in_a_process(run);
	(void)close(dir);
	return result;
}

static void expect(const struct right *r, const char *where, int result,
		   int expected)
{
	if (result != expected)
		(void)fprintf(stderr, "%s %s: %s, not %s\n", r->name, where,
			      strerror(result), strerror(expected));
	CHECK_NUMBER(result, ==, expected);
}

/* False: this user does not have the right. */
static bool succeeds_without_sandbox(const struct right *r)
{
	int result = try_in(outside, r->attempt);

	if (result == EPERM) {
		printf("%s: skipped: only root has this right\n", r->name);
		return false;
	}
	expect(r, "without a sandbox", result, 0);
	return true;
}

static void test_is_taken_away(const struct right *r, long kernel_abi)
{
	if (r->abi > kernel_abi) {
		printf("%s: skipped: the kernel's Landlock has ABI %ld, this "
		       "right has %ld\n",
		       r->name, kernel_abi, r->abi);
		return;
	}
	if (!succeeds_without_sandbox(r))
		return;
	attempt = r->attempt;
	/* The oldest version that has this right, and the newest. */
	for (int newest = 0; newest < 2; newest++) {
		long oldest_abi = r->abi > ABI_MIN ? r->abi : ABI_MIN;

		attacks_pretend_landlock_abi(newest ? kernel_abi : oldest_abi);
		expect(r, "outside", try_in(outside, attempt_confined),
		       r->refusal);
		expect(r, "inside", try_in(inside, attempt_confined),
		       r->is_left ? 0 : r->refusal);
	}
	attacks_pretend_landlock_abi(0);
}

static bool kernel_knows(enum kind kind, int bit)
{
	uint64_t handled[KIND_COUNT] = { 0 };

	handled[kind] = 1ULL << bit;

	long fd = syscall(SYS_landlock_create_ruleset, handled, sizeof(handled),
			  0);

	return fd >= 0 && close((int)fd) == 0;
}

static const struct right *find(enum kind kind, int bit)
{
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (rights[i].kind == kind && rights[i].bit == bit)
			return &rights[i];
	return NULL;
}

/* Rights of a newer kernel, which this version of Darkroom does not take. */
static void report_unknown_rights(void)
{
	static const char *const names[KIND_COUNT] = { "files", "ports",
						       "scopes" };

	for (int kind = 0; kind < KIND_COUNT; kind++)
		for (int bit = 0; bit < 64; bit++)
			if (kernel_knows((enum kind)kind, bit) &&
			    find((enum kind)kind, bit) == NULL)
				printf("not tried: a newer right: %s, bit %d\n",
				       names[kind], bit);
}

static int be_confined_by_an_older_version(void)
{
	struct sandbox s;

	attacks_pretend_landlock_abi(1);
	sandbox_enter(&s, (const char *[]){ NULL }, false);
	CHECK_NUMBER(s.landlock_abi, ==, 0);
	CHECK(!sandbox_is_whole(&s));
	CHECK_PART(s.lacks, "ABI 1, not 2");
	return 0;
}

static void test_older_versions_are_not_used(void)
{
	CHECK_NUMBER(attacks_in_a_process(be_confined_by_an_older_version), ==,
		     0);
}

/* Builds with sanitizers have no sandbox. */
static int be_confined(void)
{
	struct sandbox s;

	sandbox_enter(&s, (const char *[]){ NULL }, false);
	return s.landlock_abi > 0 ? 0 : SKIPPED;
}

int main(void)
{
	long kernel_abi = attacks_landlock_abi();

	if (kernel_abi < ABI_MIN ||
	    attacks_in_a_process(be_confined) == SKIPPED) {
		puts("skipped: no Landlock");
		return SKIPPED;
	}
	scratch_init(&scratch);
	(void)scratch_path(&scratch, "inside", inside);
	(void)scratch_path(&scratch, "outside", outside);
	test_pid = getpid();
	listen_outside();
	test_older_versions_are_not_used();
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		test_is_taken_away(&rights[i], kernel_abi);
	report_unknown_rights();
	scratch_release(&scratch);
	return 0;
}
