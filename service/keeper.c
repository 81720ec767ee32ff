/* SPDX-License-Identifier: MIT */
#include "service/keeper.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CONTROL = KEEPER_SOCKET + 1, /* the keeper's end of the pipe */
	SIGNALS,                     /* its signalfd */
	DELAY_MS_MIN = 100,
	DELAY_MS_MAX = 5000,
	SOUND_MS = 10000, /* a helper that lived this long was well */
	CHECK_MS = 10000, /* the longest `check` */
	FLAGS_S = 10,     /* the longest `flags` */
	USAGE = 2,        /* the helper's status if they are wrong */
};

/* The commands that come through the control pipe, each one byte. */
static const char reload_command = 'r', replace_command = 'k';

/* The keeper's own state, in its process. */
struct keeper {
	const struct keeper_config *config;
	pid_t helper; /* 0: none runs */
	pid_t check;  /* of new keys; 0: none runs */
	/* Anonymous files, for KEEPER_KEYS of each; -1: there is none. */
	int keys, checked_keys;
	uint64_t check_end_ns;
	bool is_check_late;  /* it was ended because of this time */
	bool wants_check;    /* another one after it */
	uint64_t started_ns; /* of the helper */
	uint32_t delay_ms;   /* before the next start */
	bool is_replaced;    /* the helper was ended to start another */
	bool is_hung;        /* it was ended because it did not answer */
	bool is_wrong;       /* what `why` says */
	char why[KEEPER_DETAIL_BYTES]; /* why the last helper ended; or "" */
};

/* A note that a helper is not started, with the name of its keys in it. */
static __attribute__((format(printf, 2, 3))) void
tell_wrong(const struct keeper *k, const char *format, ...)
{
	char detail[KEEPER_DETAIL_BYTES];
	va_list values;

	va_start(values, format);
	(void)vsnprintf(detail, sizeof(detail), format, values);
	va_end(values);
	k->config->tell(KEEPER_SOCKET, false, true, detail);
}

/*
 * In the new process: become the helper.  Signals for the whole group of
 * processes, such as Ctrl-C or those of systemd, are for the server alone.
 */
static _Noreturn void run_helper(const struct keeper_config *c,
				 const char *command, int keys, pid_t keeper)
{
	const char *arguments[KEEPER_ARGUMENTS_MAX];
	sigset_t none;

	(void)memcpy(arguments, c->arguments, sizeof(arguments));
	arguments[1] = command;
	(void)sigemptyset(&none);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != keeper) /* it had ended before */
		_exit(EXIT_FAILURE);
	(void)close(CONTROL);
	(void)close(SIGNALS);
	if (dup2(keys, KEEPER_KEYS) < 0)
		_exit(EXIT_FAILURE);
	if (strcmp(command, "check") == 0)
		(void)close(KEEPER_SOCKET);
	(void)execv(c->program, (char *const *)arguments);
	_exit(127);
}

static void describe_end(const struct keeper_config *c,
			 char why[KEEPER_DETAIL_BYTES], int status,
			 bool is_hung)
{
	if (is_hung)
		(void)snprintf(why, KEEPER_DETAIL_BYTES,
			       "%s did not answer, and was ended by the server",
			       c->helper);
	else if (WIFSIGNALED(status))
		(void)snprintf(why, KEEPER_DETAIL_BYTES,
			       "%s was ended by signal %d", c->helper,
			       WTERMSIG(status));
	else if (WEXITSTATUS(status) == 127)
		(void)snprintf(why, KEEPER_DETAIL_BYTES,
			       "%s ended with status 127 (is %s installed?)",
			       c->helper, c->arguments[0]);
	else
		(void)snprintf(why, KEEPER_DETAIL_BYTES,
			       "%s ended with status %d", c->helper,
			       WEXITSTATUS(status));
}

/* A file for the keys of a helper, which is empty.  -1: errno. */
static int make_keys(void)
{
	return memfd_create("helper-keys", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static void start_helper(struct keeper *k)
{
	pid_t keeper = getpid(), pid;

	k->is_replaced = k->is_hung = false;
	k->started_ns = clock_now_ns();
	k->config->tell(KEEPER_SOCKET, true, k->is_wrong, k->why);
	if (k->keys < 0)
		k->keys = make_keys();
	pid = k->keys >= 0 ? fork() : -1;
	if (pid == 0)
		run_helper(k->config, "serve", k->keys, keeper);
	k->helper = pid > 0 ? pid : 0;
	if (pid > 0)
		return;
	k->delay_ms = DELAY_MS_MAX;
	k->is_wrong = true;
	(void)snprintf(k->why, sizeof(k->why), "%s could not be started: %s",
		       k->config->helper, strerror(errno));
}

/* Collect a helper that has ended, and choose when the next one starts. */
static void collect_helper(struct keeper *k)
{
	uint64_t lived_ns = clock_now_ns() - k->started_ns;
	int status;

	if (k->helper == 0 || waitpid(k->helper, &status, WNOHANG) == 0)
		return;
	if (!k->is_replaced) {
		k->is_wrong = true;
		describe_end(k->config, k->why, status, k->is_hung);
	}
	k->helper = 0;
	if (k->is_replaced || lived_ns > SOUND_MS * NS_PER_MS)
		k->delay_ms = k->is_replaced ? 0 : DELAY_MS_MIN;
	else
		k->delay_ms = k->delay_ms == 0 ? DELAY_MS_MIN : 2 * k->delay_ms;
	if (k->delay_ms > DELAY_MS_MAX)
		k->delay_ms = DELAY_MS_MAX;
}

/* Close the keys of a check, unless they are in use. */
static void forget_checked(struct keeper *k)
{
	if (k->checked_keys >= 0)
		(void)close(k->checked_keys);
	k->checked_keys = -1;
}

/* Run the helper's command `check`; if one runs, another one after it. */
static void begin_check(struct keeper *k)
{
	pid_t keeper = getpid(), pid;

	k->wants_check = k->check > 0;
	if (k->wants_check)
		return;
	k->checked_keys = make_keys();
	pid = k->checked_keys >= 0 ? fork() : -1;
	if (pid == 0)
		run_helper(k->config, "check", k->checked_keys, keeper);
	if (pid < 0) {
		forget_checked(k);
		tell_wrong(k,
			   "the new %s could not be checked, for lack of "
			   "memory or processes: the old ones stay in use",
			   k->config->keys);
		return;
	}
	k->check = pid;
	k->check_end_ns = clock_after_ms(CHECK_MS);
	k->is_check_late = false;
}

/* The new keys are accepted: replace the helper. */
static void use_new_keys(struct keeper *k)
{
	if (k->keys >= 0)
		(void)close(k->keys);
	k->keys = k->checked_keys;
	k->checked_keys = -1;
	(void)snprintf(k->why, sizeof(k->why), "the %s were read again",
		       k->config->keys);
	k->is_wrong = false;
	k->is_replaced = true;
	k->delay_ms = 0;
	if (k->helper > 0)
		(void)kill(k->helper, SIGKILL);
}

/* Collect a check that has ended, or end one that takes too long. */
static void collect_check(struct keeper *k)
{
	int status = -1;

	if (k->check == 0)
		return;
	if (waitpid(k->check, &status, WNOHANG) == 0) {
		if (!k->is_check_late && clock_now_ns() >= k->check_end_ns) {
			k->is_check_late = true;
			(void)kill(k->check, SIGKILL);
		}
		return;
	}
	k->check = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		use_new_keys(k);
	else
		tell_wrong(k, "the new %s %s: the old ones stay in use",
			   k->config->keys,
			   k->is_check_late ?
				   "could not be checked within 10 s" :
				   "are not accepted (the line before says "
				   "why)");
	forget_checked(k);
	if (k->wants_check)
		begin_check(k);
}

static void replace(struct keeper *k)
{
	if (k->helper == 0)
		return;
	k->is_hung = true;
	(void)kill(k->helper, SIGKILL);
}

/* False: the server has ended. */
static bool take_control(struct keeper *k)
{
	char byte;
	ssize_t n = read(CONTROL, &byte, 1);

	if (n == 1 && byte == reload_command)
		begin_check(k);
	if (n == 1 && byte == replace_command)
		replace(k);
	return n == 1 || (n < 0 && errno == EINTR);
}

/* How long may the loop wait for a signal or a command?  -1: for ever. */
static int wait_ms(const struct keeper *k)
{
	uint64_t now = clock_now_ns();

	if (k->helper == 0)
		return DELAY_MS_MIN;
	if (k->check == 0 || k->is_check_late)
		return -1;
	return now < k->check_end_ns ?
		       (int)((k->check_end_ns - now) / NS_PER_MS) + 1 :
		       0;
}

static void end_child(pid_t pid)
{
	if (pid == 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static _Noreturn void keep(const struct keeper_config *c)
{
	struct keeper k = { .config = c, .keys = -1, .checked_keys = -1 };
	struct pollfd waits[] = { { .fd = CONTROL, .events = POLLIN },
				  { .fd = SIGNALS, .events = POLLIN } };
	struct signalfd_siginfo ignored;

	for (bool is_over = false; !is_over;) {
		if (k.helper == 0 &&
		    clock_now_ns() >= k.started_ns + k.delay_ms * NS_PER_MS)
			start_helper(&k);
		(void)poll(waits, 2, wait_ms(&k));
		if ((waits[1].revents & POLLIN) != 0)
			(void)!read(SIGNALS, &ignored, sizeof(ignored));
		if (waits[0].revents != 0)
			is_over = !take_control(&k);
		collect_helper(&k);
		collect_check(&k);
	}
	end_child(k.helper);
	end_child(k.check);
	_exit(EXIT_SUCCESS);
}

/* In the new process: keep only the descriptors that a keeper needs. */
static _Noreturn void become_keeper(const struct keeper_config *c, int socket,
				    int control)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Above those that get their final numbers here. */
	int high_socket = fcntl(socket, F_DUPFD, SIGNALS + 1);
	int high_control = fcntl(control, F_DUPFD, SIGNALS + 1);
	sigset_t child;

	(void)prctl(PR_SET_NAME, c->process, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	if (dup2(high_socket, KEEPER_SOCKET) < 0 ||
	    dup2(high_control, CONTROL) < 0)
		_exit(EXIT_FAILURE);
	(void)close(SIGNALS);
	if (signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK) != SIGNALS ||
	    close_range(SIGNALS + 1, ~0U, 0) != 0)
		_exit(EXIT_FAILURE);
	keep(c);
}

/* In the new process: become the helper, whose errors go to `errors`. */
static _Noreturn void run_flags(const struct keeper_config *c, int errors)
{
	const char *arguments[KEEPER_ARGUMENTS_MAX];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	size_t count = 0;

	/* The keys that it reads are not kept. */
	for (size_t i = 0; c->arguments[i] != NULL; i++)
		if (strcmp(c->arguments[i], "--keep-keys") != 0)
			arguments[count++] = c->arguments[i];
	arguments[count] = NULL;
	arguments[1] = "flags";
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(errors, STDERR_FILENO);
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	(void)alarm(FLAGS_S); /* a file that is a pipe */
	(void)execv(c->program, (char *const *)arguments);
	_exit(127);
}

/* Read all that comes; of its first line, the text after "PROGRAM: ". */
static void read_refusal(int from, struct error *error)
{
	char text[sizeof(error->text)], more[256], *begin;
	size_t count = 0;
	ssize_t n;

	do {
		bool is_full = count == sizeof(text) - 1;

		n = is_full ?
			    read(from, more, sizeof(more)) :
			    read(from, text + count, sizeof(text) - 1 - count);
		if (n > 0 && !is_full)
			count += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	text[count] = '\0';
	text[strcspn(text, "\n")] = '\0';
	begin = strstr(text, ": ");
	error_set(error, "%s", begin != NULL ? begin + 2 : text);
}

enum keeper_result keeper_check_flags(const struct keeper_config *c,
				      struct error *error)
{
	int ends[2], status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		error_set(error, "%s", strerror(errno));
		return KEEPER_FAILED;
	}
	pid = fork();
	if (pid == 0)
		run_flags(c, ends[1]);
	(void)close(ends[1]);
	if (pid < 0)
		error_set(error, "%s could not be started: %s", c->helper,
			  strerror(errno));
	else
		read_refusal(ends[0], error);
	(void)close(ends[0]);
	if (pid < 0)
		return KEEPER_FAILED;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return KEEPER_OK;
	if (WIFEXITED(status) && WEXITSTATUS(status) == USAGE)
		return KEEPER_WRONG;
	describe_end(c, error->text, status, false);
	return KEEPER_FAILED;
}

bool keeper_start(const struct keeper_config *c, int *socket, int *control,
		  struct error *error)
{
	int ends[2] = { -1, -1 }, pipe_ends[2] = { -1, -1 };
	pid_t pid = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 &&
	    pipe2(pipe_ends, O_CLOEXEC) == 0 &&
	    fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK) == 0)
		pid = fork();
	if (pid == 0)
		become_keeper(c, ends[1], pipe_ends[0]);
	if (pid < 0)
		error_set(error, "the keeper of %s could not be started: %s",
			  c->helper, strerror(errno));
	for (int i = 0; i < 4; i++) {
		int fd = (const int[]){ ends[1], pipe_ends[0], ends[0],
					pipe_ends[1] }[i];

		if (fd >= 0 && (i < 2 || pid < 0))
			(void)close(fd);
	}
	*socket = pid > 0 ? ends[0] : -1;
	*control = pid > 0 ? pipe_ends[1] : -1;
	return pid > 0;
}

void keeper_reload(int control)
{
	/* A full pipe has enough requests already. */
	(void)!write(control, &reload_command, 1);
}

void keeper_replace(int control)
{
	(void)!write(control, &replace_command, 1);
}
