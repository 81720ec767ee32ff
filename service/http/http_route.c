/* SPDX-License-Identifier: MIT */
/* Which paths and methods there are, and who answers them. */
#include "service/http/http_reply.h"
#include "service/http/http_route.h"

#include <stdlib.h>
#include <string.h>

/* {} stands for one segment of a path, which the request keeps. */
static const struct route routes[] = {
	{ "/", METHOD_GET, ROLE_PAGE, NULL, http_answer_page },
	{ "/web/{file}", METHOD_GET, ROLE_PAGE, NULL, http_answer_page_file },
	{ "/", METHOD_POST, ROLE_UPLOAD, http_begin_upload,
	  http_answer_upload },
	{ "/v1/process", METHOD_POST, ROLE_UPLOAD, http_begin_upload,
	  http_answer_upload },
	{ "/v1/images", METHOD_POST, ROLE_UPLOAD, http_begin_image,
	  http_answer_upload },
	{ "/v1/images/{id}", METHOD_GET, ROLE_IMAGE, NULL, http_answer_image },
	{ "/v1/images/{id}", METHOD_DELETE, ROLE_REMOVAL, NULL,
	  http_answer_delete },
	{ "/v1/images/{id}/{variant}", METHOD_GET, ROLE_IMAGE, NULL,
	  http_answer_variant },
	{ "/healthz", METHOD_GET, ROLE_PROBE, NULL, http_answer_health },
	{ "/readyz", METHOD_GET, ROLE_PROBE, NULL, http_answer_ready },
	{ "/metrics", METHOD_GET, ROLE_REPORT, NULL, http_answer_metrics },
	{ "/stats", METHOD_GET, ROLE_REPORT, NULL, http_answer_stats },
	{ "/trace", METHOD_GET, ROLE_REPORT, NULL, http_answer_trace },
	{ "/v1/live", METHOD_GET, ROLE_REPORT, NULL, http_answer_live },
};

static const struct {
	enum method method;
	const char *names[2]; /* or one and NULL */
} methods[] = {
	{ METHOD_GET, { MHD_HTTP_METHOD_GET, MHD_HTTP_METHOD_HEAD } },
	{ METHOD_POST, { MHD_HTTP_METHOD_POST, NULL } },
	{ METHOD_DELETE, { MHD_HTTP_METHOD_DELETE, NULL } },
};

enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

/* 0: none that any path takes. */
static unsigned int find_method(const char *name)
{
	for (size_t i = 0; i < METHODS; i++)
		for (size_t k = 0; k < 2 && methods[i].names[k] != NULL; k++)
			if (strcmp(methods[i].names[k], name) == 0)
				return methods[i].method;
	return 0;
}

static bool serves(const struct port *port, enum role role)
{
	const struct http *h = port->http;

	switch (role) {
	case ROLE_NONE:
	case ROLES:
		break;
	case ROLE_UPLOAD:
	case ROLE_IMAGE:
	case ROLE_REMOVAL:
		return port == &h->main;
	case ROLE_PROBE:
	case ROLE_PAGE:
		return true;
	case ROLE_REPORT:
		return port == &h->admin || h->config.admin_fd < 0;
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

enum problem http_find_route(struct request *r, const char *path,
			     const char *method)
{
	unsigned int wanted = find_method(method);

	r->is_head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		const struct route *route = &routes[i];

		if (!serves(r->port, route->role) ||
		    !matches(route->path, path, r->segments))
			continue;
		r->route = route;
		r->allowed |= route->method;
		if (route->method == wanted)
			return PROBLEM_NONE;
	}
	return r->allowed != 0 ? PROBLEM_METHOD_NOT_ALLOWED : PROBLEM_NOT_FOUND;
}

void http_add_allow(struct request *r, struct MHD_Response *response)
{
	char text[32] = "";

	for (size_t i = 0; i < METHODS; i++) {
		if (!(r->allowed & methods[i].method))
			continue;
		for (size_t k = 0; k < 2 && methods[i].names[k]; k++) {
			(void)strcat(text, text[0] != '\0' ? ", " : "");
			(void)strcat(text, methods[i].names[k]);
		}
	}
	http_add_header(r, response, MHD_HTTP_HEADER_ALLOW, text);
}
