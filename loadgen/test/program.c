/* SPDX-License-Identifier: MIT */
#include "loadgen/test/program.h"

#include "base/test/check.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ARGS_MAX = 24 };

void program_find(const char *name, char path[SCRATCH_PATH_BYTES])
{
	ssize_t length = readlink("/proc/self/exe", path,
				  SCRATCH_PATH_BYTES - strlen(name) - 1);

	CHECK_NUMBER(length, >, 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, name);
}

pid_t program_start(const struct scratch *scratch, const char *const *args)
{
	char program[SCRATCH_PATH_BYTES];
	char *all[ARGS_MAX] = { program };
	char out[SCRATCH_PATH_BYTES];
	char err[SCRATCH_PATH_BYTES];
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int flags = O_WRONLY | O_CREAT | O_TRUNC;

	program_find("loadgen", program);
	for (int i = 0; args[i] != NULL; i++) {
		CHECK_NUMBER(i, <, ARGS_MAX - 2);
		all[i + 1] = (char *)args[i];
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO,
					 scratch_path(scratch, "stdout", out),
					 flags, 0666);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO,
					 scratch_path(scratch, "stderr", err),
					 flags, 0666);
	CHECK_NUMBER(posix_spawn(&pid, program, &actions, NULL, all, environ),
		     ==, 0);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

int program_wait(pid_t pid)
{
	int status;

	CHECK_NUMBER(waitpid(pid, &status, 0), ==, pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}
