/* SPDX-License-Identifier: MIT */
#include "service/http/request.h"

#include "service/http/http_state.h"
#include "service/http/head/params.h"

#include "service/log/log.h"
#include "service/pipeline/pipeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connection *request_suspendable(const struct request *r)
{
	return r->port->has_threads ? NULL : r->connection;
}

bool request_suspend(struct request *r)
{
	if (r->port->has_threads)
		return false;
	connection_suspend(r->connection);
	return true;
}

void request_resume(struct request *r)
{
	if (!r->port->has_threads)
		connection_resume(r->connection);
}

void request_explain(struct request *r, const char *format, ...)
{
	char text[REQUEST_DETAIL_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	free(r->detail);
	r->detail = text[0] != '\0' ? strdup(text) : NULL;
}

void request_refuse(struct request *r, enum problem problem)
{
	r->problem = problem;
	if (r->handler->refuse != NULL)
		r->handler->refuse(r);
	request_count_refusal(r, problem);
}

void request_count_refusal(const struct request *r, enum problem problem)
{
	if (!problem_is_refusal(problem))
		return;
	pipeline_count_refused(r->config->pipeline);
	atomic_fetch_add(&r->http->counts.refusals[problem], 1);
}

void request_count_abandoned(const struct request *r)
{
	pipeline_count_abandoned(r->config->pipeline);
	log_message(r->config->log, LOG_LEVEL_WARN,
		    "request %s is abandoned: --drain-timeout is over", r->id);
}

bool request_takes(struct request *r, const char *const *names)
{
	char shown[PARAMS_SHOWN_BYTES];

	for (uint32_t i = 0; i < r->argument_count; i++) {
		const char *name = r->arguments[i].name;
		const char *const *known = names;

		while (known != NULL && *known != NULL &&
		       strcmp(*known, name) != 0)
			known++;
		if (known != NULL && *known != NULL)
			continue;
		request_explain(r, "There is no parameter '%s' for this path.",
				params_shown(shown, name));
		return false;
	}
	return true;
}

void request_release(struct request *r)
{
	struct port *port = r->port;
	bool is_stream;

	if (atomic_fetch_sub(&r->holder_count, 1) > 1)
		return;
	is_stream = r->state == REQUEST_STREAM;
	if (r->handler->release != NULL)
		r->handler->release(r);
	free(r->own);
	free(r->detail);
	free(r->arguments);
	free(r);
	/* Last: when the count is 0, http_stop() may free the server. */
	if (!is_stream)
		atomic_fetch_sub(&port->request_count, 1);
}
