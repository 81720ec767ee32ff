/* SPDX-License-Identifier: MIT */
#include "service/http/http_reply.h"
#include "service/http/http_route.h"

#include "service/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMING_BYTES = 512 };

void http_add_header(struct request *r, struct MHD_Response *response,
		     const char *name, const char *value)
{
	if (MHD_add_response_header(response, name, value) != MHD_YES)
		r->lacks_header = true;
}

/* Is it the last reply on its connection? */
static bool is_last(const struct request *r)
{
	uint64_t max = r->config->requests_max;

	return r->closes || atomic_load(&r->port->http->leaving) ||
	       (max > 0 && client_request_count(r->client) >= max);
}

/* None of an upload that is stored, and perhaps still being made. */
static uint64_t result_bytes(const struct upload *u)
{
	uint64_t bytes = 0;

	if (u->store != NULL)
		return 0;
	for (uint32_t i = 0; i < u->variant_count; i++)
		if (u->variants[i].jpeg != NULL)
			bytes += u->variants[i].jpeg_bytes;
	return bytes;
}

/* Before it is queued: whoever sees the reply sees it counted. */
static void count_reply(const struct request *r, unsigned int status)
{
	struct http_counts *c = &r->http->counts;

	atomic_fetch_add(&c->replies[request_role(r)][status], 1);
	atomic_fetch_add(&c->sent_bytes[request_role(r)],
			 r->reply_bytes + result_bytes(&r->upload));
	if (r->problem != PROBLEM_NONE)
		atomic_fetch_add(&c->problems[r->problem], 1);
	if (r->problem == PROBLEM_OVERLOADED ||
	    r->problem == PROBLEM_MEMORY_FULL)
		atomic_store(&r->http->refused_ns, clock_now_ns());
}

__attribute__((format(printf, 3, 4))) static int
print_at(char text[TIMING_BYTES], int at, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	at += vsnprintf(text + at, TIMING_BYTES - (size_t)at, format, list);
	va_end(list);
	assert(at < TIMING_BYTES);
	return at;
}

/*
 * "body;dur=1.1, queue;dur=0.1, decode;dur=8.4;start=1.2, ..., total;dur=10.2",
 * in milliseconds; a start is since the head.
 */
static void add_timing(struct request *r, struct MHD_Response *response)
{
	const struct upload *u = &r->upload;
	char text[TIMING_BYTES];
	int at = print_at(text, 0, "body;dur=%.3f, queue;dur=%.3f",
			  (double)(u->submitted_ns - r->begin_ns) / 1e6,
			  (double)u->waited_ns / 1e6);

	for (uint32_t i = 0; i < http_stage_count(u); i++) {
		at = print_at(text, at, ", %s;dur=%.3f", pipeline_step_names[i],
			      (double)u->service_ns[i] / 1e6);
		if (u->begun_ns[i] > 0)
			at = print_at(text, at, ";start=%.3f",
				      (double)(u->begun_ns[i] - r->begin_ns) /
					      1e6);
	}
	(void)print_at(text, at, ", total;dur=%.3f",
		       (double)(r->replied_ns - r->begin_ns) / 1e6);
	http_add_header(r, response, "Server-Timing", text);
}

/* To who is to find us in its trace. */
static void add_trace(struct request *r, struct MHD_Response *response)
{
	char text[TRACEPARENT_BYTES];

	if (r->trace.trace_id[0] == '\0')
		return;
	trace_context_print(text, &r->trace);
	http_add_header(r, response, HTTP_HEADER_TRACEPARENT, text);
}

/* What replies of all kinds may have. */
static void add_headers(struct request *r, const char *type,
			struct MHD_Response *response)
{
	http_add_header(r, response, "X-Request-Id", r->id);
	add_trace(r, response);
	if (type != NULL)
		http_add_header(r, response, MHD_HTTP_HEADER_CONTENT_TYPE,
				type);
	if (r->content_range[0] != '\0')
		http_add_header(r, response, MHD_HTTP_HEADER_CONTENT_RANGE,
				r->content_range);
	if (r->submitted && !r->keeping.is_answered)
		add_timing(r, response);
	if (is_last(r))
		http_add_header(r, response, MHD_HTTP_HEADER_CONNECTION,
				"close");
}

static bool has_body(const struct request *r, unsigned int status)
{
	return !r->is_head && status != MHD_HTTP_NOT_MODIFIED;
}

enum MHD_Result http_reply(struct request *r, unsigned int status,
			   const char *type, struct MHD_Response *response)
{
	if (response == NULL)
		return MHD_NO; /* closes the connection */
	r->replied_ns = clock_now_ns();
	add_headers(r, type, response);
	if (r->lacks_header) {
		MHD_destroy_response(response);
		return MHD_NO;
	}
	client_enter(r->client, CLIENT_REPLY);
	r->status = status;
	if (!has_body(r, status))
		r->reply_bytes = 0;
	count_reply(r, status);

	enum MHD_Result ok =
		MHD_queue_response(r->connection, status, response);

	MHD_destroy_response(response);
	return ok;
}

/* Takes over `text`. */
static struct MHD_Response *response_of_text(struct request *r, char *text)
{
	if (text == NULL)
		return NULL;

	struct MHD_Response *response =
		MHD_create_response_from_buffer_with_free_callback(strlen(text),
								   text, free);

	if (response == NULL)
		free(text);
	else
		r->reply_bytes = strlen(text);
	return response;
}

enum MHD_Result http_reply_problem(struct request *r)
{
	unsigned int status = problem_status(r->problem);
	struct MHD_Response *response = response_of_text(
		r,
		problem_json(r->problem,
			     r->detail[0] != '\0' ? r->detail : NULL, r->id));

	if (response == NULL)
		return MHD_NO;
	if (problem_passes(r->problem)) {
		char seconds[16];

		(void)snprintf(seconds, sizeof(seconds), "%" PRIu32,
			       pipeline_retry_after_s(r->config->pipeline));
		http_add_header(r, response, MHD_HTTP_HEADER_RETRY_AFTER,
				seconds);
	}
	if (r->problem == PROBLEM_METHOD_NOT_ALLOWED)
		http_add_allow(r, response);
	http_add_challenge(r, response);
	return http_reply(r, status, "application/problem+json", response);
}

enum MHD_Result http_reply_text(struct request *r, const char *type, char *text)
{
	return http_reply(r, MHD_HTTP_OK, type, response_of_text(r, text));
}
