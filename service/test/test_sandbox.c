/* SPDX-License-Identifier: MIT */
/*
 * Promise: who gets control of a confined process cannot read or write a file
 * beyond its folders, run a program, make a process, reach the network or bring
 * code of his own; while it can serve from what is open, start threads, and use
 * its folders.
 *
 * Each attack is tried outside of the sandbox first, where it succeeds.
 */
#include "service/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static char folder[] = "/tmp/test_sandbox.XXXXXX";
static char beyond[] = "/tmp/test_sandbox_beyond.XXXXXX"; /* a file */
static int root_fd, folder_fd, listening_fd;
static struct sockaddr_in address;

/* The errno of a call that returns -1; 0: it succeeded. */
static int error_of(long result)
{
	return result == -1 ? errno : 0;
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
	char path[64] = "../..";

	return error_of(openat(folder_fd, strcat(path, beyond), O_RDONLY));
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

static int make_a_file(void)
{
	int error = error_of(
		open("/tmp/test_sandbox_new", O_CREAT | O_WRONLY, 0600));

	(void)unlink("/tmp/test_sandbox_new");
	return error;
}

static int move_a_file_out(void)
{
	int error = error_of(
		renameat(folder_fd, "out", AT_FDCWD, "/tmp/test_sandbox_out"));

	(void)unlink("/tmp/test_sandbox_out");
	return error;
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
	return error_of(connect(listening_fd, (struct sockaddr *)&address,
				sizeof(address)));
}

static int trace(void)
{
	return error_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int signal_others(void)
{
	return error_of(kill(getppid(), 0));
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

	assert(at != MAP_FAILED);
	return error_of(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}

static int go_elsewhere(void)
{
	return error_of(chdir("/"));
}

static const struct {
	const char *name;
	int (*attempt)(void);
	int refusal; /* its errno */
} attacks[] = {
	{ "read a file", read_a_file, EACCES },
	{ "read by an open folder", read_by_an_open_folder, EACCES },
	{ "read by dots", read_by_dots, EACCES },
	{ "read by a link", read_by_a_link, EACCES },
	{ "write a file", write_a_file, EACCES },
	{ "cut a file", cut_a_file, EPERM },
	{ "make a file", make_a_file, EACCES },
	{ "move a file out", move_a_file_out, EACCES },
	{ "run a program", run_a_program, EPERM },
	{ "run a shell", run_a_shell, EPERM },
	{ "make a process", make_a_process, EPERM },
	{ "make a socket", make_a_socket, EPERM },
	{ "connect a socket", connect_a_socket, EPERM },
	{ "trace", trace, EPERM },
	{ "signal others", signal_others, EPERM },
	{ "map code", map_code, EPERM },
	{ "make memory code", make_memory_code, EPERM },
	{ "go elsewhere", go_elsewhere, EPERM },
	{ "remove a file", remove_a_file, EACCES },
};

#define ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

/* What it returns in a process of its own; -1: that crashed. */
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

/* What attacks aim at. */
static void prepare(void)
{
	socklen_t bytes = sizeof(address);
	int fd = mkstemp(beyond);

	assert(fd >= 0 && close(fd) == 0);
	root_fd = open("/", O_RDONLY | O_DIRECTORY);
	assert(root_fd >= 0 && mkdtemp(folder) != NULL);
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert(folder_fd >= 0);
	assert(symlinkat(beyond, folder_fd, "link") == 0);
	make_file(folder_fd, "out");

	/* A socket that can be connected, to itself. */
	listening_fd = socket(AF_INET, SOCK_DGRAM, 0);
	address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert(listening_fd >= 0);
	assert(bind(listening_fd, (struct sockaddr *)&address, bytes) == 0);
	assert(getsockname(listening_fd, (struct sockaddr *)&address, &bytes) ==
	       0);
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

/* As a store does: made elsewhere, exchanged, listed, removed. */
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

static void check(size_t i, int error, int expected)
{
	if (error != expected)
		(void)fprintf(stderr, "%s: %s\n", attacks[i].name,
			      strerror(error));
	assert(error == expected);
}

static void test_attacks_succeed_outside(void)
{
	for (size_t i = 0; i < ATTACKS; i++)
		check(i, in_a_process(attacks[i].attempt), 0);
	make_file(folder_fd, "out");
	make_file(AT_FDCWD, beyond);
}

static void test_attacks_are_refused(void)
{
	for (size_t i = 0; i < ATTACKS; i++)
		check(i, attacks[i].attempt(), attacks[i].refusal);
}

static int be_confined(void)
{
	struct sandbox s;

	sandbox_enter(&s, (const char *[]){ folder, NULL });
	sandbox_print(&s, stdout);
	(void)putchar('\n');
	(void)fflush(stdout);
	if (!sandbox_is_whole(&s))
		return SKIPPED;
	test_threads_can_be_started();
	test_folder_can_be_used();
	test_attacks_are_refused();
	return 0;
}

/* Where nothing is to be opened, nothing can be. */
static int be_confined_without_folders(void)
{
	struct sandbox s;

	sandbox_enter(&s, (const char *[]){ NULL });
	if (!sandbox_is_whole(&s))
		return SKIPPED;
	assert(openat(folder_fd, "out", O_RDONLY) == -1 && errno == EPERM);
	return 0;
}

static void clean_up(void)
{
	(void)unlinkat(folder_fd, "link", 0);
	(void)unlinkat(folder_fd, "out", 0);
	(void)unlinkat(folder_fd, "tmp/other", 0);
	(void)unlinkat(folder_fd, "tmp", AT_REMOVEDIR);
	(void)rmdir(folder);
	(void)unlink(beyond);
}

int main(void)
{
	int status;

	prepare();
	test_attacks_succeed_outside();
	status = in_a_process(be_confined);
	assert(in_a_process(be_confined_without_folders) == status);
	clean_up();
	return status;
}
