/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/server_process.h"

#include "loadgen/clock.h"
#include "loadgen/compare/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_S = 30, PORT_BYTES = 8, TAIL_BYTES = 320 };

/* The words of a command after {port} was put in. */
struct words {
	char *command[PLAN_ARGUMENTS_MAX + 1];
	struct variable environment[PLAN_VARIABLES_MAX];
};

/* False: the system has none to give. */
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

/* `text` with the port wherever {port} stands.  NULL: out of memory. */
static char *put_port(const char *text, const char *port)
{
	char *result = NULL;
	size_t result_bytes;
	FILE *out = open_memstream(&result, &result_bytes);
	const char *place;

	if (out == NULL)
		return NULL;
	while ((place = strstr(text, PLAN_PORT)) != NULL) {
		fprintf(out, "%.*s%s", (int)(place - text), text, port);
		text = place + strlen(PLAN_PORT);
	}
	fputs(text, out);
	if (fclose(out) == 0)
		return result;
	free(result);
	return NULL;
}

static void words_release(struct words *words)
{
	for (size_t i = 0; i < PLAN_ARGUMENTS_MAX; i++)
		free(words->command[i]);
	for (size_t i = 0; i < PLAN_VARIABLES_MAX; i++)
		free((char *)words->environment[i].value);
}

static bool words_init(struct words *words, const struct arm *arm,
		       const char *port)
{
	*words = (struct words){ 0 };
	for (size_t i = 0; arm->command[i] != NULL; i++) {
		words->command[i] = put_port(arm->command[i], port);
		if (words->command[i] == NULL)
			return false;
	}
	for (size_t i = 0; i < arm->variable_count; i++) {
		words->environment[i].name = arm->environment[i].name;
		words->environment[i].value =
			put_port(arm->environment[i].value, port);
		if (words->environment[i].value == NULL)
			return false;
	}
	return true;
}

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

/* The error, with what the server said last. */
static void explain(struct error *error, const char *what, const char *log)
{
	char tail[TAIL_BYTES];

	process_log_tail(log, tail, sizeof(tail));
	error_set(error, "%s; its log, %s, ends:\n%s", what, log,
		  *tail != '\0' ? tail : "(empty)");
}

static bool wait_for_answer(struct server_process *s, const char *log,
			    const volatile sig_atomic_t *stop,
			    struct error *error)
{
	uint64_t until_ns = clock_now_ns() + ANSWER_S * NS_PER_S;
	int status;
	char what[96];
	char how[64];

	while (!probe_answers(s->url)) {
		if (s->process.pid != 0 &&
		    process_has_ended(&s->process, &status)) {
			process_describe(status, how, sizeof(how));
			snprintf(what, sizeof(what),
				 "the server ended at once: %s", how);
			explain(error, what, log);
			return false;
		}
		if (*stop) {
			error_set(error, "interrupted");
			return false;
		}
		if (clock_now_ns() >= until_ns) {
			snprintf(what, sizeof(what),
				 "no answer to HTTP in %d s", ANSWER_S);
			explain(error, what, log);
			return false;
		}
		process_pause();
	}
	return true;
}

static bool start(struct server_process *s, const struct arm *arm,
		  const char *port, const char *log, struct error *error)
{
	struct words words;
	bool started = false;

	if (words_init(&words, arm, port)) {
		struct process_config config = {
			.command = (const char *const *)words.command,
			.environment = words.environment,
			.variable_count = arm->variable_count,
			.directory = arm->directory,
			.log = log,
		};

		started = process_start(&s->process, &config, error);
	} else {
		error_set(error, "out of memory");
	}
	words_release(&words);
	return started;
}

bool server_process_start(struct server_process *s, const struct arm *arm,
			  const char *query, const char *log,
			  const volatile sig_atomic_t *stop,
			  struct error *error)
{
	char port[PORT_BYTES] = "";

	if (arm->command[0] != NULL && !find_port(port, error))
		return false;
	s->url = make_url(arm, query, port);
	if (s->url == NULL) {
		error_set(error, "out of memory");
		return false;
	}
	if ((arm->command[0] == NULL || start(s, arm, port, log, error)) &&
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
