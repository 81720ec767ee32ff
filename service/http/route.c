/* SPDX-License-Identifier: MIT */
/* Which paths and methods there are, and which file answers them. */
#include "service/http/request.h"

#include "service/http/http_state.h"
#include "service/http/head/params.h"
#include "service/http/head/query.h"
#include "service/http/handlers/watch/reports.h"

#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const role_names[ROLES] = {
	[ROLE_NONE] = "none",           [ROLE_UPLOAD] = "upload",
	[ROLE_TICKET] = "ticket",       [ROLE_IMAGE] = "image",
	[ROLE_REMOVAL] = "removal",     [ROLE_PROBE] = "probe",
	[ROLE_PAGE] = "page",           [ROLE_REPORT] = "report",
	[ROLE_PREFLIGHT] = "preflight",
};

/*
 * To add an endpoint, add an entry.  `role` decides which port serves it, and
 * to whom.
 */
static const struct route routes[] = {
	{ "/", METHOD_GET, ROLE_PAGE, .handler = &page_handler },
	{ "/web/{file}", METHOD_GET, ROLE_PAGE, .handler = &page_handler },
	{ "/", METHOD_POST, ROLE_UPLOAD, .handler = &upload_handler },
	{ "/v1/process", METHOD_POST, ROLE_UPLOAD, .handler = &upload_handler },
	{ "/v1/images", METHOD_POST, ROLE_UPLOAD,
	  .handler = &stored_upload_handler },
	{ "/v1/images", METHOD_GET, ROLE_REPORT, .handler = &list_handler },
	{ "/v1/images/{id}", METHOD_GET, ROLE_UPLOAD,
	  .handler = &making_handler, .makes = true },
	{ "/v1/images/{id}", METHOD_GET, ROLE_IMAGE,
	  .handler = &image_handler },
	{ "/v1/images/{id}", METHOD_POST, ROLE_UPLOAD,
	  .handler = &adding_handler },
	{ "/v1/images/{id}", METHOD_DELETE, ROLE_REMOVAL,
	  .handler = &image_removal_handler },
	{ "/v1/images/{id}/{variant}", METHOD_GET, ROLE_IMAGE,
	  .handler = &picture_handler },
	{ "/v1/originals/{id}", METHOD_GET, ROLE_UPLOAD,
	  .handler = &original_handler },
	{ "/v1/uploads", METHOD_POST, ROLE_UPLOAD,
	  .handler = &new_ticket_handler, .speaks_tus = true },
	{ "/v1/uploads/{id}", METHOD_GET, ROLE_TICKET,
	  .handler = &ticket_handler, .speaks_tus = true },
	{ "/v1/uploads/{id}", METHOD_PUT, ROLE_TICKET,
	  .handler = &ticket_upload_handler, .speaks_tus = true },
	{ "/v1/uploads/{id}", METHOD_POST, ROLE_TICKET,
	  .handler = &ticket_upload_handler, .speaks_tus = true },
	{ "/v1/uploads/{id}", METHOD_PATCH, ROLE_TICKET,
	  .handler = &ticket_part_handler, .speaks_tus = true },
	{ "/v1/uploads/{id}", METHOD_DELETE, ROLE_TICKET,
	  .handler = &ticket_removal_handler, .speaks_tus = true },
	{ "/v1/openapi.json", METHOD_GET, ROLE_PAGE,
	  .handler = &openapi_handler, .is_described = true },
	{ "/healthz", METHOD_GET, ROLE_PROBE, .handler = &health_handler },
	{ "/readyz", METHOD_GET, ROLE_PROBE, .handler = &ready_handler },
	{ "/metrics", METHOD_GET, ROLE_REPORT, .handler = &report_handler,
	  .report = REPORT_METRICS, .takes_metrics_key = true },
	{ "/stats", METHOD_GET, ROLE_REPORT, .handler = &report_handler,
	  .report = REPORT_STATS },
	{ "/trace", METHOD_GET, ROLE_REPORT, .handler = &trace_handler,
	  .report = REPORT_TRACE },
	{ "/v1/blocking-graph", METHOD_GET, ROLE_REPORT,
	  .handler = &blocking_handler, .report = REPORT_BLOCKING },
	{ "/v1/estimates", METHOD_GET, ROLE_REPORT,
	  .handler = &estimates_handler },
	{ "/v1/live", METHOD_GET, ROLE_REPORT, .handler = &live_handler,
	  .report = REPORT_HELLO },
	{ "/v1/load", METHOD_GET, ROLE_REPORT, .handler = &load_handler },
};

/* OPTIONS of any of them, and of those that only our own page may use. */
static const struct route preflight_route = { "", METHOD_OPTIONS,
					      ROLE_PREFLIGHT,
					      .handler = &preflight_handler };
static const struct route own_options_route = { "", METHOD_OPTIONS, ROLE_PAGE,
						.handler = &preflight_handler };

static const struct {
	enum method method;
	const char *names[2]; /* two names, or one and NULL */
} methods[] = {
	{ METHOD_GET, { "GET", "HEAD" } },
	{ METHOD_POST, { "POST", NULL } },
	{ METHOD_PUT, { "PUT", NULL } },
	{ METHOD_PATCH, { "PATCH", NULL } },
	{ METHOD_DELETE, { "DELETE", NULL } },
	{ METHOD_OPTIONS, { "OPTIONS", NULL } },
};

enum { METHODS = ARRAY_SIZE(methods) };

/* 0: no path has this method. */
static unsigned int find_method(const char *name)
{
	for (size_t i = 0; i < METHODS; i++)
		for (size_t k = 0; k < 2 && methods[i].names[k] != NULL; k++)
			if (strcmp(methods[i].names[k], name) == 0)
				return methods[i].method;
	return 0;
}

const struct route *route_at(uint32_t i)
{
	return i < ARRAY_SIZE(routes) ? &routes[i] : NULL;
}

const char *route_method_name(const struct route *route)
{
	for (size_t i = 0; i < METHODS; i++)
		if (methods[i].method == route->method)
			return methods[i].names[0];
	abort();
}

static bool serves(const struct port *port, enum role role)
{
	const struct http *h = port->http;

	switch (role) {
	case ROLE_NONE:
	case ROLES:
		break;
	case ROLE_UPLOAD:
	case ROLE_TICKET:
	case ROLE_IMAGE:
	case ROLE_REMOVAL:
		return port == &h->main;
	case ROLE_PROBE:
	case ROLE_PAGE:
	case ROLE_PREFLIGHT:
		return true;
	case ROLE_REPORT:
		return port == &h->admin ||
		       (h->config.admin_fd < 0 && !h->config.hides_reports);
	}
	abort();
}

static bool matches(const char *pattern, const char *path,
		    char segments[SEGMENTS_MAX][SEGMENT_BYTES])
{
	for (; *pattern != '\0'; pattern++) {
		if (*pattern != '{') {
			if (*pattern != *path++)
				return false;
			continue;
		}

		size_t bytes = strcspn(path, "/");

		if (bytes == 0 || bytes >= SEGMENT_BYTES)
			return false;
		memcpy(*segments, path, bytes);
		(*segments++)[bytes] = '\0';
		path += bytes;
		pattern = strchr(pattern, '}');
	}
	return *path == '\0';
}

/* Why this port does not serve the requests of a role. */
static const char *reason_for_not(const struct request *r, enum role role)
{
	if (role != ROLE_REPORT)
		return "This is the server's admin port; send uploads, and "
		       "requests for stored images, to its main port.";
	if (r->config->admin_fd >= 0)
		return "Reports, live views and the list of images are on the "
		       "server's admin port, that of --admin-listen; with "
		       "--admin-url, its page has a link there.";
	return "Others can reach this port without a key, so there are no "
	       "reports at it, and no list of images: see --admin-listen and "
	       "--api-key-file.";
}

/* True: `detail` says where else this port's path has this method. */
static bool explain_other_port(struct request *r, unsigned int wanted)
{
	char segments[SEGMENTS_MAX][SEGMENT_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (serves(r->port, routes[i].role) ||
		    routes[i].method != wanted ||
		    !matches(routes[i].path, r->path, segments))
			continue;
		request_explain(r, "%s", reason_for_not(r, routes[i].role));
		return true;
	}
	return false;
}

enum { PATH_SHOWN_BYTES = 101 };

/* An upload to a path with the name of its file, as `curl -T` sends it. */
static void explain_missing(struct request *r)
{
	const char *method = r->head->method;
	char shown[PATH_SHOWN_BYTES];

	if (r->port != &r->http->main ||
	    (strcmp(method, "POST") != 0 && strcmp(method, "PUT") != 0))
		return;
	request_explain(r,
			"There is nothing at %s; uploads go to POST / or POST "
			"/v1/images.",
			params_show(shown, sizeof(shown), r->path));
}

static void explain_method(struct request *r)
{
	char shown[PARAMS_SHOWN_BYTES];

	request_explain(r, "This path takes %s, not %s.", r->allow,
			params_shown(shown, r->head->method));
}

/* A problem of the head takes precedence. */
static void explain_refusal(struct request *r, unsigned int wanted,
			    unsigned int allowed)
{
	if (r->problem != PROBLEM_NONE || explain_other_port(r, wanted))
		return;
	if (allowed == 0)
		explain_missing(r);
	else
		explain_method(r);
}

/* Add to the value of the Allow header. */
static void print_methods(char *text, unsigned int allowed)
{
	for (size_t i = 0; i < METHODS; i++) {
		if (!(allowed & methods[i].method))
			continue;
		for (size_t k = 0; k < 2 && methods[i].names[k]; k++) {
			(void)strcat(text, text[0] != '\0' ? ", " : "");
			(void)strcat(text, methods[i].names[k]);
		}
	}
}

/* May pages of --cors-origin send requests of this role? */
static bool is_for_others(enum role role)
{
	return role == ROLE_UPLOAD || role == ROLE_TICKET ||
	       role == ROLE_IMAGE || role == ROLE_REMOVAL;
}

/*
 * tus: clients that cannot send PATCH or DELETE send POST with this header.  It
 * counts only below /v1/uploads/, where no signature is about a method.
 */
static const char *method_of(const struct request *r)
{
	const char *instead = request_header(r, "X-HTTP-Method-Override");

	return instead != NULL && strcmp(r->head->method, "POST") == 0 &&
			       strncmp(r->path, "/v1/uploads/", 12) == 0 ?
		       instead :
		       r->head->method;
}

/* Does the query ask for a picture? */
static bool asks_for_picture(const struct request *r)
{
	for (uint32_t i = 0; i < r->argument_count; i++)
		if (query_has(r->arguments[i].name))
			return true;
	return false;
}

enum problem route_find(struct request *r)
{
	const char *method = method_of(r);
	unsigned int wanted = find_method(method), allowed = 0;
	bool is_shared = false;

	r->is_head = strcmp(method, "HEAD") == 0;
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		const struct route *route = &routes[i];

		if (!serves(r->port, route->role) ||
		    !matches(route->path, r->path, r->segments) ||
		    (route->makes && !asks_for_picture(r)))
			continue;
		r->route = route;
		r->speaks_tus = route->speaks_tus;
		allowed |= route->method;
		is_shared |= is_for_others(route->role);
		if (route->method == wanted)
			return PROBLEM_NONE;
	}
	print_methods(r->allow, allowed);
	if (wanted != METHOD_OPTIONS || allowed == 0)
		explain_refusal(r, wanted, allowed);
	if (allowed == 0)
		return PROBLEM_NOT_FOUND;
	print_methods(r->allow, METHOD_OPTIONS);
	if (wanted != METHOD_OPTIONS)
		return PROBLEM_METHOD_NOT_ALLOWED;
	r->route = is_shared ? &preflight_route : &own_options_route;
	return PROBLEM_NONE;
}
