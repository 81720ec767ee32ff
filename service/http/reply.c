/* SPDX-License-Identifier: MIT */
#include "service/http/request.h"
#include "service/http/connection/clients.h"
#include "service/http/connection/tls.h"

#include "base/clock.h"
#include "service/log/log.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { TIMING_BYTES = 512 };

void reply_add_header(struct request *r, struct MHD_Response *response,
		      const char *name, const char *value)
{
	if (MHD_add_response_header(response, name, value) != MHD_YES)
		r->lacks_header = true;
}

/* Is it the last reply on its connection? */
static bool is_last(const struct request *r)
{
	uint64_t max = r->config->requests_max;

	return r->must_close || atomic_load(&r->port->http->leaving) ||
	       (max > 0 && client_request_count(r->client) >= max);
}

/* 0 for an upload to be stored, because it may still be in the pipeline. */
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

/*
 * Called before the reply is queued, so that a client that has the reply finds
 * it counted.
 */
static void count_reply(const struct request *r, unsigned int status)
{
	struct http_counts *c = &r->http->counts;

	atomic_fetch_add(&c->replies[request_role(r)][status], 1);
	atomic_fetch_add(&c->sent_bytes[request_role(r)],
			 r->reply_bytes + result_bytes(&r->upload));
	if (request_role(r) == ROLE_UPLOAD)
		minute_count(&r->http->minute, r->replied_ns, status,
			     r->replied_ns - r->begin_ns);
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
 * in milliseconds; `start` is the time after the head.
 */
static void add_timing_header(struct request *r, struct MHD_Response *response)
{
	const struct upload *u = &r->upload;
	char text[TIMING_BYTES];
	int at = print_at(text, 0, "body;dur=%.3f, queue;dur=%.3f",
			  (double)(u->submitted_ns - r->begin_ns) / 1e6,
			  (double)u->waited_ns / 1e6);

	for (uint32_t i = 0; i < upload_stage_count(u); i++) {
		at = print_at(text, at, ", %s;dur=%.3f", pipeline_step_names[i],
			      (double)u->service_ns[i] / 1e6);
		if (u->begun_ns[i] > 0)
			at = print_at(text, at, ";start=%.3f",
				      (double)(u->begun_ns[i] - r->begin_ns) /
					      1e6);
	}
	(void)print_at(text, at, ", total;dur=%.3f",
		       (double)(r->replied_ns - r->begin_ns) / 1e6);
	reply_add_header(r, response, "Server-Timing", text);
}

/* Added if the caller has sent its trace. */
static void add_trace_header(struct request *r, struct MHD_Response *response)
{
	char text[TRACEPARENT_BYTES];

	if (r->trace.trace_id[0] == '\0')
		return;
	trace_context_print(text, &r->trace);
	reply_add_header(r, response, HTTP_HEADER_TRACEPARENT, text);
}

/*
 * Restrictions for browsers: pages of other sites may show stored pictures, but
 * only our own page may use reports and files of the page.
 */
static void add_browser_headers(struct request *r,
				struct MHD_Response *response)
{
	enum role role = request_role(r);

	reply_add_header(r, response, "X-Content-Type-Options", "nosniff");
	reply_add_header(r, response, "Content-Security-Policy",
			 r->policy != NULL ? r->policy : HTTP_NO_CONTENT);
	if (role == ROLE_IMAGE)
		reply_add_header(r, response, "Cross-Origin-Resource-Policy",
				 "cross-origin");
	else if (role == ROLE_REPORT || role == ROLE_PAGE)
		reply_add_header(r, response, "Cross-Origin-Resource-Policy",
				 "same-origin");
}

/* Headers that replies of all kinds may have. */
static void add_headers(struct request *r, const char *type,
			struct MHD_Response *response)
{
	reply_add_header(r, response, "X-Request-Id", r->id);
	add_browser_headers(r, response);
	add_trace_header(r, response);
	if (type != NULL)
		reply_add_header(r, response, MHD_HTTP_HEADER_CONTENT_TYPE,
				 type);
	if (r->content_range[0] != '\0')
		reply_add_header(r, response, MHD_HTTP_HEADER_CONTENT_RANGE,
				 r->content_range);
	if (r->has_timing)
		add_timing_header(r, response);
	if (is_last(r))
		reply_add_header(r, response, MHD_HTTP_HEADER_CONNECTION,
				 "close");
}

static bool has_body(const struct request *r, unsigned int status)
{
	return !r->is_head && status != MHD_HTTP_NOT_MODIFIED;
}

enum MHD_Result reply_send(struct request *r, unsigned int status,
			   const char *type, struct MHD_Response *response)
{
	if (response == NULL)
		return MHD_NO; /* libmicrohttpd then closes the connection */
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

struct MHD_Response *response_of_text(struct request *r, char *text)
{
	struct MHD_Response *response;

	if (text == NULL)
		return NULL;
	r->reply_bytes = strlen(text);
	response = MHD_create_response_from_buffer_with_free_callback(
		r->reply_bytes, text, free);
	if (response == NULL)
		free(text);
	return response;
}

struct MHD_Response *response_of_bytes(struct request *r, const void *bytes,
				       size_t count)
{
	r->reply_bytes = count;
	return MHD_create_response_from_buffer(count, (void *)bytes,
					       MHD_RESPMEM_PERSISTENT);
}

/* Returns "" if there is none. */
static const char *retry_after(const struct request *r, char text[16])
{
	uint32_t after_s = problem_retry_s(r->problem);

	text[0] = '\0';
	if (problem_status(r->problem) != MHD_HTTP_SERVICE_UNAVAILABLE)
		return text;
	if (after_s == 0)
		after_s = pipeline_retry_after_s(r->config->pipeline);
	(void)snprintf(text, 16, "%" PRIu32, after_s);
	return text;
}

char *reply_whole_problem(enum problem problem, const char *detail,
			  const char *id, const char *retry_after_s)
{
	unsigned int status = problem_status(problem);
	char *body = problem_json(problem, detail, id);
	struct text text;
	FILE *to = body != NULL ? text_open(&text) : NULL;

	if (to != NULL) {
		(void)fprintf(to,
			      "HTTP/1.1 %u %s\r\n"
			      "Content-Type: application/problem+json\r\n"
			      "X-Content-Type-Options: nosniff\r\n"
			      "Content-Security-Policy: " HTTP_NO_CONTENT "\r\n"
			      "Content-Length: %zu\r\n"
			      "Connection: close\r\n",
			      status, MHD_get_reason_phrase_for(status),
			      strlen(body));
		if (id != NULL)
			(void)fprintf(to, "X-Request-Id: %s\r\n", id);
		if (retry_after_s[0] != '\0')
			(void)fprintf(to, "Retry-After: %s\r\n", retry_after_s);
		(void)fprintf(to, "\r\n%s", body);
	}
	free(body);
	return to != NULL ? text_close(&text, to) : NULL;
}

static void write_raw(const struct request *r, const char *text)
{
	void *tls = connection_tls(r->connection);

	if (tls != NULL)
		tls_send(tls, text);
	else
		(void)send(connection_fd(r->connection), text, strlen(text),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool reply_cut_off(struct request *r)
{
	char seconds[16];
	const char *detail = r->detail[0] != '\0' ? r->detail : NULL;
	char *text = reply_whole_problem(r->problem, detail, r->id,
					 retry_after(r, seconds));

	if (text == NULL)
		return false;
	reply_count_sent(r);
	write_raw(r, text);
	free(text);
	return true;
}

void reply_count_sent(struct request *r)
{
	r->replied_ns = clock_now_ns();
	r->status = problem_status(r->problem);
	count_reply(r, r->status);
}

/* RFC 6750, 3: gives the reason, unless no key was sent at all. */
static void add_challenge_header(struct request *r,
				 struct MHD_Response *response)
{
	if (problem_status(r->problem) != MHD_HTTP_UNAUTHORIZED)
		return;
	reply_add_header(r, response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
			 r->problem == PROBLEM_INVALID_KEY ?
				 "Bearer realm=\"darkroom\", "
				 "error=\"invalid_token\"" :
				 "Bearer realm=\"darkroom\"");
}

enum MHD_Result reply_problem(struct request *r)
{
	unsigned int status = problem_status(r->problem);
	char seconds[16];
	struct MHD_Response *response = response_of_text(
		r,
		problem_json(r->problem,
			     r->detail[0] != '\0' ? r->detail : NULL, r->id));

	if (response == NULL)
		return MHD_NO;
	if (retry_after(r, seconds)[0] != '\0')
		reply_add_header(r, response, MHD_HTTP_HEADER_RETRY_AFTER,
				 seconds);
	if (r->problem == PROBLEM_METHOD_NOT_ALLOWED)
		reply_add_header(r, response, MHD_HTTP_HEADER_ALLOW, r->allow);
	add_challenge_header(r, response);
	return reply_send(r, status, "application/problem+json", response);
}
