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
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAUSE_MS = 10,
	STOP_S = 10,
	PROBE_S = 1,
	ANSWER_S = 30,
	PORT_BYTES = 8,
	TAIL_BYTES = 320,
};

/*
 * Returns `text` with `port` in place of each {port}; `port` may be NULL:
 * unchanged.  The caller frees the result.  NULL: out of memory.
 */
static char *put_port(const char *text, const char *port)
{
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
	return text_close(&result, out);
}

/* Runs in the child, so allocated memory need not be freed. */
static bool set_environment(const struct process_config *config)
{
	for (size_t i = 0; i < config->variable_count; i++) {
		char *value =
			put_port(config->environment[i].value, config->port);

		if (value == NULL ||
		    setenv(config->environment[i].name, value, 1) != 0)
			return false;
	}
	return true;
}

/* In the child.  Returns only if it fails. */
static void execute_command(const struct process_config *config)
{
	char *words[PLAN_ARGUMENTS_MAX + 1] = { NULL };

	for (size_t i = 0; config->command[i] != NULL; i++) {
		assert(i < PLAN_ARGUMENTS_MAX);
		words[i] = put_port(config->command[i], config->port);
		if (words[i] == NULL)
			return;
	}
	execvp(words[0], words);
}

/* In the child.  Returns only if it fails; errno says why. */
static void become_program(const struct process_config *config, pid_t parent)
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
	if (!set_environment(config))
		return;
	if (config->directory != NULL && chdir(config->directory) != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) /* it had died before prctl() */
		_exit(1);
	execute_command(config);
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
	/* orphans of its group become our children */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe2(ends, O_CLOEXEC) == 0) {
		pid = fork();
		if (pid == 0) {
			setpgid(0, 0);
			become_program(config, parent);
			failure = errno;
			_exit(write(ends[1], &failure, sizeof(failure)) < 0);
		}
		failure = pid < 0 ? errno : 0;
		close(ends[1]);
		if (pid > 0) {
			setpgid(pid, pid); /* the child does it, too */
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
	kill(-p->pid, SIGKILL); /* before the number can be reused */
	waitpid(p->pid, status, 0);
	/* Children of an ended process become ours, so none is missed. */
	while (waitpid(-p->pid, NULL, 0) > 0 || errno == EINTR)
		;
	p->pid = 0;
	return true;
}

static void sleep_briefly(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_MS * (long)NS_PER_MS };

	nanosleep(&pause, NULL);
}

/* False: it had not ended at `until_ns`. */
static bool wait_until(struct process *p, uint64_t until_ns, int *status)
{
	while (!process_has_ended(p, status)) {
		if (clock_now_ns() >= until_ns)
			return false;
		sleep_briefly();
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
		sleep_briefly();
	}
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

/* The arm's URL with port and query.  NULL: out of memory. */
static char *make_url(const struct arm *arm, const char *query,
		      const char *port)
{
	char *base = put_port(arm->url, port);
	char *url = NULL;
	const char *joint = "";

	if (base == NULL)
		return NULL;
	if (*query != '\0')
		joint = strchr(base, '?') != NULL ? "&" : "?";
	if (asprintf(&url, "%s%s%s", base, joint, query) < 0)
		url = NULL;
	free(base);
	return url;
}

/* -1: nobody listens. */
static int connect_to(const struct url *url)
{
	struct timeval limit = { .tv_sec = PROBE_S };
	struct error ignored;
	struct addrinfo *addresses = url_resolve(url, &ignored);
	int fd = -1;

	for (struct addrinfo *a = addresses; a != NULL && fd < 0;
	     a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	if (addresses != NULL)
		freeaddrinfo(addresses);
	return fd;
}

/*
 * GET `text`, a URL.  True: the first bytes of any HTTP reply came within a
 * second.  Only uploads can show whether replies are right.
 */
static bool answers_http(const char *text)
{
	static const char beginning[] = "HTTP/";
	char reply[sizeof(beginning) - 1];
	struct error ignored;
	struct url url;
	bool answered = false;
	int fd;

	if (!url_parse(&url, text, &ignored))
		return false;
	fd = connect_to(&url);
	if (fd >= 0) {
		dprintf(fd,
			"GET %s HTTP/1.1\r\nHost: %s\r\n"
			"Connection: close\r\n\r\n",
			url.target, url.authority);
		answered = recv(fd, reply, sizeof(reply), MSG_WAITALL) ==
				   (ssize_t)sizeof(reply) &&
			   memcmp(reply, beginning, sizeof(reply)) == 0;
		close(fd);
	}
	url_release(&url);
	return answered;
}

static bool wait_for_answer(struct server_process *s, const char *log,
			    const volatile sig_atomic_t *stop,
			    struct error *error)
{
	uint64_t until_ns = clock_now_ns() + ANSWER_S * NS_PER_S;
	int status;

	while (!answers_http(s->url)) {
		if (s->process.pid != 0 &&
		    process_has_ended(&s->process, &status)) {
			process_explain(error, "the server ended at once",
					&status, log);
			return false;
		}
		if (*stop) {
			error_set(error, "interrupted");
			return false;
		}
		if (clock_now_ns() >= until_ns) {
			process_explain(error, "no answer to HTTP in 30 s",
					NULL, log);
			return false;
		}
		sleep_briefly();
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
		.variable_count = arm->variable_count,
		.port = port,
		.directory = arm->directory,
		.log = log,
	};
	bool has_command = arm->command[0] != NULL;

	if (has_command && !find_port(port, error))
		return false;
	s->url = make_url(arm, query, port);
	if (s->url == NULL) {
		error_set(error, "out of memory");
		return false;
	}
	if ((!has_command || process_start(&s->process, &config, error)) &&
	    wait_for_answer(s, log, stop, error))
		return true;
	server_process_stop(s);
	return false;
}

void server_process_stop(struct server_process *s)
{
	int ignored;

	if (s->process.pid != 0)
		process_stop(&s->process, &ignored);
	free(s->url);
	*s = (struct server_process){ 0 };
}
