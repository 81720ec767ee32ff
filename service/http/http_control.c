/* SPDX-License-Identifier: MIT */
#include "service/http/http_reply.h"
#include "service/http/http_route.h"

#include "service/clock.h"
#include "service/http/readiness.h"
#include "service/http/viewers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_MS_DEFAULT = 1000, TRACE_MS_MAX = 60000 };

enum MHD_Result http_answer_health(struct request *r)
{
	return http_reply_text(r, "text/plain", strdup("ok\n"));
}

static enum readiness read_readiness(const struct http *h, bool *was_full)
{
	const struct readiness_view view = {
		.load = pipeline_load(h->config.pipeline),
		.is_stopping = atomic_load(&h->leaving),
		.refused_ns = atomic_load(&h->refused_ns),
		.now_ns = clock_now_ns(),
	};

	*was_full = atomic_load(&h->was_full);
	return readiness_decide(was_full, &view);
}

/* Two that ask at once may both see what was before. */
enum MHD_Result http_answer_ready(struct request *r)
{
	bool was_full;
	enum readiness readiness = read_readiness(r->http, &was_full);

	atomic_store(&r->http->was_full, was_full);
	if (readiness == READINESS_OK)
		return http_reply_text(r, "text/plain", strdup("ready\n"));
	r->problem = readiness == READINESS_STOPPING ? PROBLEM_STOPPING :
						       PROBLEM_NOT_READY;
	(void)snprintf(r->detail, sizeof(r->detail), "%s",
		       readiness_reason(readiness));
	return http_reply_problem(r);
}

enum MHD_Result http_answer_metrics(struct request *r)
{
	struct http *h = r->http;
	bool was_full; /* for /readyz to remember */
	const struct http_report report = {
		.counts = &h->counts,
		.is_ready = read_readiness(h, &was_full) == READINESS_OK,
		.connections_max = h->config.connections_max,
		.connection_count = atomic_load(&h->main.connection_count),
		.admin_connection_count =
			atomic_load(&h->admin.connection_count),
		.viewer_count = viewers_count(h->viewers),
	};

	return http_reply_text(
		r, "text/plain; version=0.0.4; charset=utf-8",
		r->config->metrics_text(r->config->report_arg, &report));
}

enum MHD_Result http_answer_stats(struct request *r)
{
	return http_reply_text(r, "application/json",
			       r->config->stats_json(r->config->report_arg));
}

/* False: it is no number, or more than `most`. */
static bool read_number(const char *text, uint64_t most, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
	       *n <= most;
}

/* False: r->detail says what is wrong. */
static bool read_window(struct request *r, uint64_t *since_ns,
			uint64_t *until_ns)
{
	const char *ms_text = MHD_lookup_connection_value(
		r->connection, MHD_GET_ARGUMENT_KIND, "ms");
	const char *until_text = MHD_lookup_connection_value(
		r->connection, MHD_GET_ARGUMENT_KIND, "until_us");
	uint64_t ms = TRACE_MS_DEFAULT, until_us = clock_now_ns() / 1000;

	if (ms_text != NULL &&
	    (!read_number(ms_text, TRACE_MS_MAX, &ms) || ms == 0)) {
		(void)snprintf(r->detail, sizeof(r->detail),
			       "ms must be 1 to %d.", TRACE_MS_MAX);
		return false;
	}
	if (until_text != NULL &&
	    !read_number(until_text, UINT64_MAX / 1000, &until_us)) {
		(void)snprintf(r->detail, sizeof(r->detail),
			       "until_us must be a time in us.");
		return false;
	}
	*until_ns = until_us * 1000;
	*since_ns = *until_ns > ms * 1000000 ? *until_ns - ms * 1000000 : 0;
	return true;
}

/* A MHD_ContentReaderFreeCallback. */
static void end_trace(void *cls)
{
	struct http *h = cls;

	free(h->trace);
	atomic_store(&h->is_tracing, false);
}

/* A trace may be large, and who asked may read it slowly: one at a time. */
static enum MHD_Result reply_trace(struct request *r, uint64_t since_ns,
				   uint64_t until_ns)
{
	struct http *h = r->http;
	struct MHD_Response *response = NULL;

	if (atomic_exchange(&h->is_tracing, true)) {
		r->problem = PROBLEM_TRACE_BUSY;
		return http_reply_problem(r);
	}
	h->trace = r->config->trace_json(r->config->report_arg, since_ns,
					 until_ns);
	if (h->trace != NULL)
		response =
			MHD_create_response_from_buffer_with_free_callback_cls(
				strlen(h->trace), h->trace, end_trace, h);
	if (response == NULL)
		end_trace(h);
	else
		r->reply_bytes = strlen(h->trace);
	return http_reply(r, MHD_HTTP_OK, "application/json", response);
}

enum MHD_Result http_answer_trace(struct request *r)
{
	uint64_t since_ns, until_ns;

	if (r->config->trace_json == NULL) {
		r->problem = PROBLEM_NO_TRACE;
		return http_reply_problem(r);
	}
	if (!read_window(r, &since_ns, &until_ns)) {
		r->problem = PROBLEM_BAD_PARAMETER;
		return http_reply_problem(r);
	}
	return reply_trace(r, since_ns, until_ns);
}
