/* SPDX-License-Identifier: MIT */
#include "loadgen/report/server_counter.h"

#include "base/clock.h"
#include "loadgen/client/connection.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* After the '{' of labels, whose values may contain any character. */
static const char *skip_labels(const char *at)
{
	bool is_quoted = false;

	for (; *at != '\0' && *at != '\n'; at++) {
		if (is_quoted && *at == '\\' && at[1] != '\0')
			at++;
		else if (*at == '"')
			is_quoted = !is_quoted;
		else if (*at == '}' && !is_quoted)
			return at + 1;
	}
	return at;
}

/* The value of a sample, from the end of its name on.  NAN: there is none. */
static double take_value(const char *at)
{
	char *end;
	double value;

	if (*at == '{')
		at = skip_labels(at + 1);
	if (*at != ' ' && *at != '\t') /* it has another, longer name */
		return NAN;
	at += strspn(at, " \t");
	value = *at == '\n' ? (double)NAN : strtod(at, &end);
	return isfinite(value) && end != at ? value : (double)NAN;
}

bool server_counter_sum(const char *text, const char *name, double *sum)
{
	size_t length = strlen(name);
	bool any = false;

	*sum = 0;
	for (const char *line = text; line != NULL && *line != '\0';) {
		double value = strncmp(line, name, length) == 0 ?
				       take_value(line + length) :
				       (double)NAN;

		if (!isnan(value)) {
			*sum += value;
			any = true;
		}
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return any;
}

/* Send the request, and wait until it has ended. */
static void fetch(struct connection *c, const struct request *request,
		  double timeout_s)
{
	uint64_t end_ns =
		clock_now_ns() + (uint64_t)(timeout_s * (double)NS_PER_S);
	bool in_flight = connection_begin(c, request);

	while (in_flight) {
		struct epoll_event event;
		uint64_t now_ns = clock_now_ns();
		int left_ms = now_ns < end_ns ?
				      (int)((end_ns - now_ns) / NS_PER_MS) + 1 :
				      0;
		int count = epoll_wait(c->epoll_fd, &event, 1, left_ms);

		if (count < 0 && errno == EINTR)
			continue;
		in_flight = count == 1 && connection_continue(c, event.events);
		if (count == 0)
			connection_break(c, "No reply in time");
		else if (count < 0)
			connection_break(c, strerrordesc_np(errno));
	}
}

/* What does the reply say about the counter? */
static bool read_reply(const struct connection *c, const char *name,
		       double *value, struct error *why)
{
	struct result result = connection_describe(c, 0);
	char *text;
	bool found;

	if (result.error != NULL)
		return error_fail(why, "%s", result.error);
	if (!result_is_ok(&result))
		return error_fail(why, "status %d", result.status);
	text = strndup(result.reply_bytes > 0 ? result.reply : "",
		       result.reply_bytes);
	if (text == NULL)
		return error_fail(why, "%s", strerror(ENOMEM));
	found = server_counter_sum(text, name, value);
	free(text);
	return found || error_fail(why, "there is no such counter");
}

/* `url` with the path /metrics. */
static bool read_from(const struct url *url, const struct load_options *o,
		      const char *fields, double *value, struct error *why)
{
	const struct request request = { .target = "/metrics",
					 .fields = fields };
	struct addrinfo *addresses = url_resolve(url, why);
	struct tls *tls = NULL;
	struct connection c;
	int epoll_fd;
	bool done = false;

	if (addresses == NULL)
		return false;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0) {
		error_set(why, "epoll: %s", strerror(errno));
	} else if (!url->is_tls ||
		   (tls = tls_new(o->ca_file, o->is_insecure, why)) != NULL) {
		connection_init(&c, url, addresses, tls, epoll_fd, true);
		fetch(&c, &request, o->timeout_s);
		done = read_reply(&c, o->server_counter, value, why);
		connection_release(&c);
	}
	if (epoll_fd >= 0)
		close(epoll_fd);
	tls_free(tls);
	freeaddrinfo(addresses);
	return done;
}

bool server_counter_read(const struct load_options *o, const char *fields,
			 double *value, struct error *error)
{
	struct url url = { 0 };
	struct error why;
	bool done;

	if (!url_parse(&url, o->url, error))
		return false;
	done = read_from(&url, o, fields, value, &why) ||
	       error_fail(error, "--server-counter %s: %s://%s/metrics: %s",
			  o->server_counter, url.is_tls ? "https" : "http",
			  url.authority, why.text);
	url_release(&url);
	return done;
}
