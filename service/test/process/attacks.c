/* SPDX-License-Identifier: MIT */
#include "service/test/process/attacks.h"

#include "base/test/check.h"
#include "base/test/scratch.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct scratch work;
static char folder[SCRATCH_PATH_BYTES];
static char beyond[SCRATCH_PATH_BYTES]; /* a file */
/* Files that an attack tries to make. */
static char beyond_new[SCRATCH_PATH_BYTES], beyond_out[SCRATCH_PATH_BYTES];
static int root_fd, folder_fd, beyond_fd = -1, connected_fd = -1,
			       listening_fd = -1;
static struct sockaddr_in connected_to, aim;
static pid_t attacked_pid;

/* The errno of a call that returned -1; 0: the call succeeded. */
static int error_of(long result)
{
	return result == -1 ? errno : 0;
}

/* The same for a call that a kernel may have taken, but not understood. */
static int taken_error_of(long result)
{
	int error = error_of(result);

	return error != EINVAL ? error : 0;
}

static int read_a_file(void)
{
	return error_of(open(beyond, O_RDONLY));
}

static int read_by_an_open_folder(void)
{
	return error_of(openat(root_fd, beyond + 1, O_RDONLY));
}

static int read_by_dots(void)
{
	return error_of(openat(folder_fd, "../beyond", O_RDONLY));
}

static int read_by_a_link(void)
{
	return error_of(openat(folder_fd, "link", O_RDONLY));
}

static int write_a_file(void)
{
	return error_of(open(beyond, O_WRONLY));
}

static int cut_a_file(void)
{
	return error_of(truncate(beyond, 0));
}

/* Descriptors that were open before are not Landlock's matter. */
static int cut_an_open_file(void)
{
	return error_of(ftruncate(beyond_fd, 0));
}

/* The fourth access mode, with which a file can be neither read nor written. */
static int empty_a_file(void)
{
	return error_of(openat(root_fd, beyond + 1, O_ACCMODE | O_TRUNC));
}

static int open_a_device_for_control(void)
{
	return error_of(open("/dev/null", O_ACCMODE));
}

#ifdef SYS_open
static int empty_a_file_by_open(void)
{
	return error_of(syscall(SYS_open, beyond, O_ACCMODE | O_TRUNC, 0));
}

static int make_a_file_by_creat(void)
{
	return error_of(syscall(SYS_creat, beyond, 0600));
}
#endif

static int open_by_openat2(void)
{
	const struct open_how how = { .flags = O_ACCMODE | O_TRUNC };

	return error_of(
		syscall(SYS_openat2, AT_FDCWD, beyond, &how, sizeof(how)));
}

static int lend_rights_by_a_file(void)
{
	return error_of(openat(folder_fd, "lent", O_CREAT | O_WRONLY, 04755));
}

static int lend_rights_by_a_folder(void)
{
	return error_of(mkdirat(folder_fd, "lent_folder", 02755));
}

static int make_a_file(void)
{
	return error_of(open(beyond_new, O_CREAT | O_WRONLY, 0600));
}

static int move_a_file_out(void)
{
	return error_of(renameat(folder_fd, "out", AT_FDCWD, beyond_out));
}

/* The place of the file is taken by a device. */
static int make_a_device_by_moving(void)
{
	return taken_error_of(renameat2(folder_fd, "out", folder_fd, "moved",
					RENAME_WHITEOUT));
}

static int remove_a_file(void)
{
	return error_of(unlink(beyond));
}

static int run_a_program(void)
{
	return error_of(execl("/bin/true", "true", (char *)NULL));
}

static int run_a_shell(void)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ ":" },
			 NULL };
	pid_t pid;
	int error = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);

	if (error == 0)
		(void)waitpid(pid, NULL, 0);
	return error;
}

static int make_a_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return error_of(pid);
}

static int make_a_socket(void)
{
	return error_of(socket(AF_INET, SOCK_STREAM, 0));
}

static int connect_a_socket(void)
{
	return error_of(connect(connected_fd, (struct sockaddr *)&connected_to,
				sizeof(connected_to)));
}

/*
 * A socket can be connected only if it does not listen.  A second shutdown()
 * would also close it for sending, so this is done only once.
 */
static void stop_listening(void)
{
	int listens = 0;
	socklen_t bytes = sizeof(listens);

	CHECK_NUMBER(getsockopt(listening_fd, SOL_SOCKET, SO_ACCEPTCONN,
				&listens, &bytes),
		     ==, 0);
	if (listens != 0)
		(void)shutdown(listening_fd, SHUT_RDWR);
}

static int connect_by_sendto(void)
{
	stop_listening();
	return error_of(sendto(listening_fd, "x", 1, MSG_FASTOPEN,
			       (struct sockaddr *)&aim, sizeof(aim)));
}

static int connect_by_sendmsg(void)
{
	struct iovec text = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	const struct msghdr message = {
		.msg_name = &aim,
		.msg_namelen = sizeof(aim),
		.msg_iov = &text,
		.msg_iovlen = 1,
	};

	stop_listening();
	return error_of(sendmsg(listening_fd, &message, MSG_FASTOPEN));
}

static int connect_by_an_option(void)
{
	int on = 1;

	stop_listening();
	return error_of(setsockopt(listening_fd, IPPROTO_TCP,
				   TCP_FASTOPEN_CONNECT, &on, sizeof(on)));
}

static int trace(void)
{
	return error_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int signal_others(void)
{
	return error_of(kill(attacked_pid, 0));
}

static int aim_signals_of_a_socket(void)
{
	return error_of(fcntl(connected_fd, F_SETOWN, attacked_pid));
}

static int choose_signals_of_a_socket(void)
{
	return error_of(fcntl(connected_fd, F_SETSIG, SIGURG));
}

static int ask_for_signals_of_a_socket(void)
{
	return error_of(fcntl(connected_fd, F_SETFL, O_ASYNC));
}

static int bind_others(void)
{
	cpu_set_t set;

	CHECK_NUMBER(sched_getaffinity(0, sizeof(set), &set), ==, 0);
	return error_of(sched_setaffinity(attacked_pid, sizeof(set), &set));
}

static int read_where_others_run(void)
{
	cpu_set_t set;

	return error_of(sched_getaffinity(attacked_pid, sizeof(set), &set));
}

static int read_limits_of_others(void)
{
	struct rlimit limit;

	return error_of(prlimit(attacked_pid, RLIMIT_NOFILE, NULL, &limit));
}

/* CLONE_THREAD needs more flags, so this does nothing. */
static int make_a_namespace(void)
{
	return taken_error_of(syscall(SYS_clone, CLONE_THREAD | CLONE_NEWNET,
				      NULL, NULL, NULL, NULL));
}

static int map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ?
		       errno :
		       0;
}

static int make_memory_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return error_of(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}

static int go_elsewhere(void)
{
	return error_of(chdir("/"));
}

const struct attack attacks[] = {
	{ "read a file", read_a_file, EACCES },
	{ "read by an open folder", read_by_an_open_folder, EACCES },
	{ "read by dots", read_by_dots, EACCES },
	{ "read by a link", read_by_a_link, EACCES },
	{ "write a file", write_a_file, EACCES },
	{ "cut a file", cut_a_file, EPERM },
	{ "cut an open file", cut_an_open_file, EPERM },
	{ "empty a file", empty_a_file, EPERM },
	{ "open a device for control", open_a_device_for_control, EPERM },
#ifdef SYS_open
	{ "empty a file by open", empty_a_file_by_open, EPERM },
	{ "make a file by creat", make_a_file_by_creat, EPERM },
#endif
	{ "open by openat2", open_by_openat2, EPERM },
	{ "lend rights by a file", lend_rights_by_a_file, EPERM },
	{ "lend rights by a folder", lend_rights_by_a_folder, EPERM },
	{ "make a file", make_a_file, EACCES },
	{ "move a file out", move_a_file_out, EACCES },
	{ "make a device by moving", make_a_device_by_moving, EPERM },
	{ "run a program", run_a_program, EPERM },
	{ "run a shell", run_a_shell, EPERM },
	{ "make a process", make_a_process, EPERM },
	{ "make a socket", make_a_socket, EPERM },
	{ "connect a socket", connect_a_socket, EPERM },
	{ "connect by sendto", connect_by_sendto, EPERM },
	{ "connect by sendmsg", connect_by_sendmsg, EPERM },
	{ "connect by an option", connect_by_an_option, EPERM },
	{ "trace", trace, EPERM },
	{ "signal others", signal_others, EPERM },
	{ "aim signals", aim_signals_of_a_socket, EPERM },
	{ "choose signals", choose_signals_of_a_socket, EPERM },
	{ "ask for signals", ask_for_signals_of_a_socket, EPERM },
	{ "bind others", bind_others, EPERM },
	{ "read where others run", read_where_others_run, EPERM },
	{ "read limits of others", read_limits_of_others, EPERM },
	{ "make a namespace", make_a_namespace, EPERM },
	{ "map code", map_code, EPERM },
	{ "make memory code", make_memory_code, EPERM },
	{ "go elsewhere", go_elsewhere, EPERM },
	{ "remove a file", remove_a_file, EACCES },
	{ .name = NULL },
};

static void make_file(int parent, const char *name)
{
	int fd = openat(parent, name, O_CREAT | O_RDWR, 0600);

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(write(fd, "x", 1), ==, 1);
	CHECK_NUMBER(close(fd), ==, 0);
}

/* Make a socket on a free port; *address gets its address. */
static int make_socket(int type, struct sockaddr_in *address)
{
	socklen_t bytes = sizeof(*address);
	int fd = socket(AF_INET, type, 0);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(bind(fd, (struct sockaddr *)address, bytes), ==, 0);
	CHECK_NUMBER(getsockname(fd, (struct sockaddr *)address, &bytes), ==,
		     0);
	return fd;
}

static int make_listening_socket(struct sockaddr_in *address)
{
	int fd = make_socket(SOCK_STREAM, address);

	CHECK_NUMBER(listen(fd, 8), ==, 0);
	return fd;
}

void attacks_renew(void)
{
	struct sockaddr_in unused;

	(void)unlinkat(folder_fd, "out", 0); /* it may be a device now */
	make_file(folder_fd, "out");
	make_file(AT_FDCWD, beyond);
	(void)close(beyond_fd);
	beyond_fd = open(beyond, O_RDWR);
	CHECK_NUMBER(beyond_fd, >=, 0);
	(void)close(connected_fd);
	/* An attack could connect this socket, to its own address. */
	connected_fd = make_socket(SOCK_DGRAM, &connected_to);
	(void)close(listening_fd);
	listening_fd = make_listening_socket(&unused);
}

const char *attacks_prepare(void)
{
	attacked_pid = getpid();
	scratch_init(&work);
	(void)scratch_path(&work, "folder", folder);
	(void)scratch_path(&work, "beyond", beyond);
	(void)scratch_path(&work, "new", beyond_new);
	(void)scratch_path(&work, "out", beyond_out);
	root_fd = open("/", O_RDONLY | O_DIRECTORY);
	CHECK_NUMBER(root_fd, >=, 0);
	CHECK_NUMBER(mkdir(folder, 0700), ==, 0);
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
	CHECK_NUMBER(folder_fd, >=, 0);
	CHECK_NUMBER(symlinkat(beyond, folder_fd, "link"), ==, 0);
	(void)make_listening_socket(&aim);
	attacks_renew();
	return folder;
}

void attacks_clean_up(void)
{
	scratch_release(&work);
}

int attacks_in_a_process(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	CHECK_NUMBER(pid, >=, 0);
	if (pid == 0)
		_exit(run());
	CHECK_NUMBER(waitpid(pid, &status, 0), ==, pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

long attacks_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? abi : 0;
}

static long pretended_abi; /* 0: the kernel's */

void attacks_pretend_landlock_abi(long abi)
{
	pretended_abi = abi;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* It reads six arguments, whatever the caller has passed. */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list arguments;

	va_start(arguments, number);
	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_landlock_create_ruleset &&
	    a[2] == LANDLOCK_CREATE_RULESET_VERSION && pretended_abi > 0)
		return pretended_abi;
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
