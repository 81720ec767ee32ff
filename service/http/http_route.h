/* SPDX-License-Identifier: MIT */
/*
 * Inside http*.c: which paths and methods there are, and who answers them.
 */
#ifndef SERVICE_HTTP_ROUTE_H
#define SERVICE_HTTP_ROUTE_H

#include "service/http/http_request.h"

enum method { METHOD_GET = 1, METHOD_POST = 2, METHOD_DELETE = 4 };

struct route {
	const char *path;
	enum method method;
	enum role role;
	/* Check what the head tells, and get ready for the body; or NULL. */
	void (*begin)(struct request *r);
	/* Answer a request whose body, if any, has been received. */
	enum MHD_Result (*answer)(struct request *r);
};

/* Sets `route` and `segments`; or `allowed`, for http_add_allow(). */
enum problem http_find_route(struct request *r, const char *path,
			     const char *method);
void http_add_allow(struct request *r, struct MHD_Response *response);

/* What its path is for. */
static inline enum role request_role(const struct request *r)
{
	return r->route != NULL ? r->route->role : ROLE_NONE;
}

/* http_page.c: the page that shows it. */
enum MHD_Result http_answer_page(struct request *r);
enum MHD_Result http_answer_page_file(struct request *r);

/* http_control.c: what the server tells of itself. */
enum MHD_Result http_answer_health(struct request *r);
enum MHD_Result http_answer_ready(struct request *r);
enum MHD_Result http_answer_metrics(struct request *r);
enum MHD_Result http_answer_stats(struct request *r);
enum MHD_Result http_answer_trace(struct request *r);

/* http_live.c: the same, as it goes on. */
enum MHD_Result http_answer_live(struct request *r);

#endif
