/* SPDX-License-Identifier: MIT */
/*
 * What the log is told of a request.  Nothing of it is the client's words: the
 * method is one of a list, the path is the route's, the id is ours.
 */
#include "service/http/http_route.h"

#include "service/http/clients.h"
#include "service/clock.h"
#include "service/log/log.h"

#include <string.h>

const char *http_method_name(const char *method)
{
	static const char *const names[] = {
		MHD_HTTP_METHOD_GET,     MHD_HTTP_METHOD_HEAD,
		MHD_HTTP_METHOD_POST,    MHD_HTTP_METHOD_PUT,
		MHD_HTTP_METHOD_DELETE,  MHD_HTTP_METHOD_PATCH,
		MHD_HTTP_METHOD_OPTIONS,
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], method) == 0)
			return names[i];
	return "other";
}

static const char *end_name(const struct request *r,
			    enum MHD_RequestTerminationCode how)
{
	if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		return "sent";
	if (how == MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN)
		return "stopped";
	return client_is_shut(r->client) ? "shut" : "gone";
}

/* Probes and readings would be most of the log, and say nothing. */
static bool is_worth_telling(const struct request *r)
{
	return r->route == NULL || r->route->role == ROLE_UPLOAD ||
	       r->route->role == ROLE_IMAGE || r->status != MHD_HTTP_OK;
}

static void add_time(struct log_request *line, const char *name, uint64_t ns)
{
	line->times[line->time_count++] = (struct log_time){ name, ns };
}

static void add_upload(struct log_request *line, const struct upload *u)
{
	line->pixels_in = img_pixels(u->header.stored);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		if (v->jpeg == NULL)
			continue;
		line->pixels_out += img_pixels(v->size);
		line->bytes_out += v->jpeg_bytes;
		line->variant_count++;
	}
	add_time(line, "queue", u->waited_ns);
	for (uint32_t i = 0; i < http_stage_count(u); i++)
		add_time(line, pipeline_step_names[i], u->service_ns[i]);
}

void http_log(const struct request *r, enum MHD_RequestTerminationCode how)
{
	struct log_request line = {
		.id = r->id,
		.method = r->method,
		.path = r->route != NULL ? r->route->path : NULL,
		.end = end_name(r, how),
		.status = r->status,
		.bytes_in = r->received_bytes,
		.bytes_out = r->reply_bytes,
		.total_ns = clock_now_ns() - r->begin_ns,
	};

	if (!is_worth_telling(r))
		return;
	if (r->trace.trace_id[0] != '\0') {
		line.trace_id = r->trace.trace_id;
		line.span_id = r->trace.span_id;
		line.parent_span_id = r->trace.parent_id;
	}
	if (r->status != 0 && r->problem != PROBLEM_NONE)
		line.code = problem_code(r->problem);
	/* With a promise alone, the pipeline may still have it. */
	if (!r->keeping.is_answered)
		add_upload(&line, &r->upload);
	log_request(r->config->log, &line);
}
