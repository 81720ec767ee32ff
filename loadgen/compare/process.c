/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/process.h"

#include "loadgen/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 10, STOP_S = 10 };

/* In the child.  Returns only if it fails; errno says why. */
static void become(const struct process_config *config, pid_t parent)
{
	int log = open(config->log, O_WRONLY | O_CREAT | O_APPEND, 0666);
	int null;

	if (log < 0 || dup2(log, STDOUT_FILENO) < 0 ||
	    dup2(log, STDERR_FILENO) < 0)
		return;
	if (log > STDERR_FILENO)
		close(log);
	null = open("/dev/null", O_RDONLY);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return;
	if (null > STDERR_FILENO)
		close(null);
	signal(SIGPIPE, SIG_DFL);
	for (size_t i = 0; i < config->variable_count; i++)
		if (setenv(config->environment[i].name,
			   config->environment[i].value, 1) != 0)
			return;
	if (config->directory != NULL && chdir(config->directory) != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) /* it died before we asked */
		_exit(1);
	execvp(config->command[0], (char *const *)config->command);
}

/* The child writes errno; if it could start, the pipe is closed by exec. */
static int read_failure(int pipe_end)
{
	int failure = 0;

	while (read(pipe_end, &failure, sizeof(failure)) < 0 && errno == EINTR)
		;
	return failure;
}

bool process_start(struct process *p, const struct process_config *config,
		   struct error *error)
{
	pid_t parent = getpid();
	int failure = 0;
	int ends[2];
	pid_t pid = -1;

	assert(p->pid == 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* what it leaves becomes our child */
	if (pipe2(ends, O_CLOEXEC) == 0) {
		pid = fork();
		if (pid == 0) {
			setpgid(0, 0);
			become(config, parent);
			failure = errno;
			_exit(write(ends[1], &failure, sizeof(failure)) < 0);
		}
		failure = pid < 0 ? errno : 0;
		close(ends[1]);
		if (pid > 0) {
			setpgid(pid, pid); /* whoever is first */
			failure = read_failure(ends[0]);
		}
		close(ends[0]);
	} else {
		failure = errno;
	}
	if (failure == 0) {
		p->pid = pid;
		return true;
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	error_set(error, "cannot start '%s': %s", config->command[0],
		  strerror(failure));
	return false;
}

bool process_has_ended(struct process *p, int *status)
{
	siginfo_t info = { 0 };

	assert(p->pid > 0);
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) !=
		    0 ||
	    info.si_pid == 0)
		return false;
	kill(-p->pid, SIGKILL); /* before the number can be another's */
	waitpid(p->pid, status, 0);
	while (waitpid(-p->pid, NULL, 0) > 0 || errno == EINTR)
		; /* who dies leaves us its children, so none is missed */
	p->pid = 0;
	return true;
}

void process_pause(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_MS * (long)NS_PER_MS };

	nanosleep(&pause, NULL);
}

/* Until it has ended, or the time has come. */
static bool wait_until(struct process *p, uint64_t until_ns, int *status)
{
	while (!process_has_ended(p, status)) {
		if (clock_now_ns() >= until_ns)
			return false;
		process_pause();
	}
	return true;
}

void process_stop(struct process *p, int *status)
{
	kill(-p->pid, SIGTERM);
	if (wait_until(p, clock_now_ns() + STOP_S * NS_PER_S, status))
		return;
	kill(-p->pid, SIGKILL);
	wait_until(p, UINT64_MAX, status);
}

void process_wait(struct process *p, const volatile sig_atomic_t *stop,
		  int *status)
{
	while (!process_has_ended(p, status)) {
		if (*stop) {
			kill(-p->pid, SIGINT);
			if (!wait_until(p, clock_now_ns() + STOP_S * NS_PER_S,
					status))
				process_stop(p, status);
			return;
		}
		process_pause();
	}
}

void process_describe(int status, char *text, size_t text_bytes)
{
	if (WIFSIGNALED(status))
		snprintf(text, text_bytes, "signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, text_bytes, "exit status %d",
			 WEXITSTATUS(status));
}

void process_log_tail(const char *path, char *text, size_t text_bytes)
{
	FILE *in = fopen(path, "re");
	long length;
	size_t count = 0;
	char *line;

	if (in != NULL) {
		fseek(in, 0, SEEK_END);
		length = ftell(in);
		if (length >= (long)text_bytes)
			fseek(in, length - (long)text_bytes + 1, SEEK_SET);
		else
			rewind(in);
		count = fread(text, 1, text_bytes - 1, in);
		fclose(in);
		line = length >= (long)text_bytes ? memchr(text, '\n', count) :
						    NULL;
		if (line != NULL) { /* from the first whole line on */
			count -= (size_t)(line + 1 - text);
			memmove(text, line + 1, count);
		}
	}
	while (count > 0 && text[count - 1] == '\n')
		count--;
	text[count] = '\0';
}
