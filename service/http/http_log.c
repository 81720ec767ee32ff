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

static void add_step(struct log_request *line, const struct request *r,
		     const char *name, uint64_t begun_ns, uint64_t ns)
{
	line->steps[line->step_count++] =
		(struct log_step){ name, begun_ns - r->begin_ns, ns };
}

/* Until all of it was there, or nobody was interested in more. */
static void add_body(struct log_request *line, const struct request *r)
{
	uint64_t end_ns = r->begin_ns + line->total_ns;

	if (r->received_bytes == 0)
		return;
	if (r->upload.submitted_ns > 0)
		end_ns = r->upload.submitted_ns;
	else if (r->status != 0)
		end_ns = r->replied_ns;
	add_step(line, r, "body", r->begin_ns, end_ns - r->begin_ns);
}

/* Steps begin in this order: who begins one has been through those before. */
static void add_upload(struct log_request *line, const struct request *r)
{
	const struct upload *u = &r->upload;

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
	for (uint32_t i = 0; i < http_stage_count(u); i++) {
		const char *name = pipeline_step_names[i];

		add_time(line, name, u->service_ns[i]);
		if (u->begun_ns[i] > 0)
			add_step(line, r, name, u->begun_ns[i],
				 u->service_ns[i]);
	}
}

static void add_reply(struct log_request *line, const struct request *r)
{
	if (r->status != 0)
		add_step(line, r, "reply", r->replied_ns,
			 r->begin_ns + line->total_ns - r->replied_ns);
}

static void add_trace(struct log_request *line, const struct trace_context *c)
{
	if (c->trace_id[0] == '\0')
		return;
	line->trace_id = c->trace_id;
	line->span_id = c->span_id;
	line->parent_span_id = c->parent_id;
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
	add_trace(&line, &r->trace);
	if (r->status != 0 && r->problem != PROBLEM_NONE)
		line.code = problem_code(r->problem);
	add_body(&line, r);
	/* With a promise alone, the pipeline may still have it. */
	if (!atomic_load(&r->keeping.is_promised))
		add_upload(&line, r);
	add_reply(&line, r);
	log_request(r->config->log, &line);
}
