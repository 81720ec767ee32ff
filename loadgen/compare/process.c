/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/process.h"

#include "base/clock.h"
#include "base/text.h"
#include "loadgen/client/request.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PAUSE_MS = 10,
	STOP_MS = 10000,
	PROBE_S = 1,
	ANSWER_MS = 30000,
	PORT_BYTES = 8,
	TAIL_BYTES = 320,
};

/*
 * Returns `text` with each {port} replaced by `port`, unless that is NULL, and
 * with `query` appended as to a URL, unless that is empty.  The caller frees
 * the result.  NULL: out of memory.
 */
static char *expand(const char *text, const char *port, const char *query)
{
	char joint = strchr(text, '?') != NULL ? '&' : '?';
	struct text result;
	FILE *out = text_open(&result);
	const char *mark;

	if (out == NULL)
		return NULL;
	while (port != NULL && (mark = strstr(text, PLAN_PORT)) != NULL) {
		fprintf(out, "%.*s%s", (int)(mark - text), text, port);
		text = mark + strlen(PLAN_PORT);
	}
	fputs(text, out);
	if (*query != '\0')
		fprintf(out, "%c%s", joint, query);
	return text_close(&result, out);
}

/* Open `path` as the descriptor `fd`. */
static bool open_as(int fd, const char *path, int flags)
{
	int opened = open(path, flags, 0666);
	bool done = opened >= 0 && dup2(opened, fd) >= 0;

	if (opened > STDERR_FILENO)
		close(opened);
	return done;
}

/*
 * Replace the child process by the program.  Returns only if that fails; errno
 * says why.  Nothing is freed, because the child then ends.
 */
static void become_program(const struct process_config *config, pid_t parent)
{
	const int append = O_WRONLY | O_CREAT | O_APPEND;
	char *words[PLAN_ARGUMENTS_MAX + 1] = { NULL };
	const cJSON *item;
	size_t count = 0;

	if (!open_as(STDIN_FILENO, "/dev/null", O_RDONLY) ||
	    !open_as(STDOUT_FILENO, config->log, append) ||
	    !open_as(STDERR_FILENO, config->log, append))
		return;
	cJSON_ArrayForEach(item, config->environment)
	{
		char *value = expand(item->valuestring, config->port, "");

		if (value == NULL || setenv(item->string, value, 1) != 0)
			return;
	}
	cJSON_ArrayForEach(item, config->command)
	{
		assert(count < PLAN_ARGUMENTS_MAX);
		words[count] = expand(item->valuestring, config->port, "");
		if (words[count++] == NULL)
			return;
	}
	if (config->directory != NULL && chdir(config->directory) != 0)
		return;
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) /* it died before prctl() */
		_exit(1);
	execvp(words[0], words);
}

/* Returns the pid of the new process.  0: it could not be started. */
static pid_t process_start(const struct process_config *config,
			   struct error *error)
{
	pid_t parent = getpid();
	int failure = 0;
	int ends[2];
	pid_t pid = -1;

	/* orphans of its group become our children */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/*
	 * If the start fails, the child writes errno; if not, exec closes the
	 * pipe.
	 */
	if (pipe2(ends, O_CLOEXEC) == 0) {
		pid = fork();
		if (pid == 0) {
			setpgid(0, 0);
			become_program(config, parent);
			_exit(write(ends[1], &errno, sizeof(errno)) < 0);
		}
		close(ends[1]);
		while (pid > 0 &&
		       read(ends[0], &failure, sizeof(failure)) < 0 &&
		       errno == EINTR)
			;
		close(ends[0]);
	}
	if (pid > 0 && failure == 0)
		return pid;
	error_set(error, "cannot start '%s': %s",
		  config->command->child->valuestring,
		  strerror(pid > 0 ? failure : errno));
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return 0;
}

/*
 * True: the process has ended.  Then the rest of its group was killed and
 * waited for, so no process of the group is left.
 */
static bool process_has_ended(pid_t pid, int *status)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid == 0)
		return false;
	kill(-pid, SIGKILL); /* before the number can be reused */
	waitpid(pid, status, 0);
	/* Its children are ours now, so waitpid() finds all of them. */
	while (waitpid(-pid, NULL, 0) > 0 || errno == EINTR)
		;
	return true;
}

/* Send the signals, 10 s apart, until the process has ended. */
static void process_end(pid_t pid, const int *signals, int *status)
{
	for (bool ended = false; !ended; signals++) {
		uint64_t until_ns = *signals != SIGKILL ?
					    clock_after_ms(STOP_MS) :
					    UINT64_MAX;

		kill(-pid, *signals);
		while (!(ended = process_has_ended(pid, status)) &&
		       clock_now_ns() < until_ns)
			poll(NULL, 0, PAUSE_MS);
	}
}

bool process_run(const struct process_config *config,
		 const volatile sig_atomic_t *stop, int *status,
		 struct error *error)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGKILL };
	pid_t pid = process_start(config, error);
	bool ended;

	if (pid == 0)
		return false;
	while (!(ended = process_has_ended(pid, status)) && !*stop)
		poll(NULL, 0, PAUSE_MS);
	if (!ended)
		process_end(pid, signals, status);
	return true;
}

/*
 * Read the last lines of a log, at most `text_bytes` - 1 bytes, from the
 * beginning of a line if possible.  `text` is empty if nothing can be read.
 */
static void read_log_tail(const char *path, char *text, size_t text_bytes)
{
	FILE *in = fopen(path, "re");
	bool cut = false;
	size_t count = 0;
	char *line;

	if (in != NULL) {
		cut = fseek(in, 1 - (long)text_bytes, SEEK_END) == 0 &&
		      ftell(in) > 0;
		if (!cut)
			rewind(in);
		count = fread(text, 1, text_bytes - 1, in);
		fclose(in);
	}
	line = cut ? memchr(text, '\n', count) : NULL;
	if (line != NULL) {
		count -= (size_t)(line + 1 - text);
		memmove(text, line + 1, count);
	}
	while (count > 0 && text[count - 1] == '\n')
		count--;
	text[count] = '\0';
}

void process_explain(struct error *error, const char *what, const int *status,
		     const char *log)
{
	char tail[TAIL_BYTES];
	char how[64] = "";

	read_log_tail(log, tail, sizeof(tail));
	if (status != NULL && WIFSIGNALED(*status))
		snprintf(how, sizeof(how), ": signal %d (%s)",
			 WTERMSIG(*status), strsignal(WTERMSIG(*status)));
	else if (status != NULL)
		snprintf(how, sizeof(how), ": exit status %d",
			 WEXITSTATUS(*status));
	error_set(error, "%s%s; its log, %s, ends:\n%s", what, how, log,
		  *tail != '\0' ? tail : "(empty)");
}

/* Find a port of 127.0.0.1 that is not in use.  False: there is none. */
static bool find_port(char port[PORT_BYTES], struct error *error)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool found = fd >= 0 &&
		     bind(fd, (struct sockaddr *)&address, size) == 0 &&
		     getsockname(fd, (struct sockaddr *)&address, &size) == 0;

	if (!found)
		error_set(error, "no free port: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	snprintf(port, PORT_BYTES, "%u", (unsigned)ntohs(address.sin_port));
	return found;
}

/*
 * Send GET to one address.  True: an HTTP reply began within a second; with
 * TLS, the server has taken the connection.
 */
static bool answers_at(const struct addrinfo *a, const struct url *url)
{
	static const char beginning[] = { 'H', 'T', 'T', 'P', '/' };
	const struct timeval limit = { .tv_sec = PROBE_S };
	char reply[sizeof(beginning)];
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
	bool answered;

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	answered =
		connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
		(url->is_tls || (dprintf(fd,
					 "GET %s HTTP/1.1\r\nHost: %s\r\n"
					 "Connection: close\r\n\r\n",
					 url->target, url->authority) > 0 &&
				 recv(fd, reply, sizeof(reply), MSG_WAITALL) ==
					 (ssize_t)sizeof(reply) &&
				 memcmp(reply, beginning, sizeof(reply)) == 0));
	close(fd);
	return answered;
}

/*
 * Does the server at the URL `text` answer HTTP?  Any status counts, because
 * this only waits for the start; the warm-up checks the replies.
 */
static bool answers_http(const char *text)
{
	struct addrinfo *addresses;
	struct error ignored;
	bool answered = false;
	struct url url;

	if (!url_parse(&url, text, &ignored))
		return false;
	addresses = url_resolve(&url, &ignored);
	for (const struct addrinfo *a = addresses; a != NULL && !answered;
	     a = a->ai_next)
		answered = answers_at(a, &url);
	if (addresses != NULL)
		freeaddrinfo(addresses);
	url_release(&url);
	return answered;
}

static bool wait_for_answer(struct server_process *s, const char *log,
			    const volatile sig_atomic_t *stop,
			    struct error *error)
{
	uint64_t until_ns = clock_after_ms(ANSWER_MS);
	int status;

	while (!answers_http(s->url)) {
		if (s->pid != 0 && process_has_ended(s->pid, &status)) {
			s->pid = 0;
			process_explain(error, "the server ended at once",
					&status, log);
		} else if (*stop) {
			error_set(error, "interrupted");
		} else if (clock_now_ns() >= until_ns) {
			process_explain(error, "no answer to HTTP in 30 s",
					NULL, log);
		} else {
			poll(NULL, 0, PAUSE_MS);
			continue;
		}
		return false;
	}
	return true;
}

bool server_process_start(struct server_process *s, const struct arm *arm,
			  const char *query, const char *log,
			  const volatile sig_atomic_t *stop,
			  struct error *error)
{
	char port[PORT_BYTES] = "";
	const struct process_config config = {
		.command = arm->command,
		.environment = arm->environment,
		.port = port,
		.directory = arm->directory,
		.log = log,
	};

	if (arm->command != NULL && !find_port(port, error))
		return false;
	s->url = expand(arm->url, port, query);
	if (s->url == NULL)
		return error_fail(error, "out of memory");
	if (arm->command != NULL)
		s->pid = process_start(&config, error);
	if ((arm->command == NULL || s->pid != 0) &&
	    wait_for_answer(s, log, stop, error))
		return true;
	server_process_stop(s);
	return false;
}

void server_process_pause(const struct server_process *s)
{
	if (s->pid != 0)
		kill(-s->pid, SIGSTOP);
}

void server_process_resume(const struct server_process *s)
{
	if (s->pid != 0)
		kill(-s->pid, SIGCONT);
}

void server_process_stop(struct server_process *s)
{
	static const int signals[] = { SIGTERM, SIGKILL };
	int ignored;

	server_process_resume(s);
	if (s->pid != 0)
		process_end(s->pid, signals, &ignored);
	free(s->url);
	*s = (struct server_process){ 0 };
}
