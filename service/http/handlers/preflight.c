/* SPDX-License-Identifier: MIT */
/*
 * OPTIONS: which methods a path has; and the preflights of browsers, which ask
 * whether a page of another origin may send a request (CORS).  They need no
 * key and take no slot, but their rate is limited.
 */
#include "service/http/head/browsers.h"
#include "service/http/head/tus.h"
#include "service/http/request.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_preflight(const struct request *r)
{
	return request_header(r, "Origin") != NULL &&
	       request_header(r, "Access-Control-Request-Method") != NULL;
}

static bool reply_preflight(struct request *r)
{
	char seconds[16];
	struct reply p;

	if (is_preflight(r) && r->reader_origin == NULL)
		return reply_with_problem(r, browsers_refuse(r));
	reply_begin_bytes(r, &p, "", 0);
	reply_add_header(&p, "Allow", r->allow);
	if (r->speaks_tus)
		tus_add_options(&p, r->config->body_bytes_max);
	if (is_preflight(r)) {
		reply_add_header(&p, "Access-Control-Allow-Methods", r->allow);
		/* "*" stands for all but this one. */
		reply_add_header(&p, "Access-Control-Allow-Headers",
				 "*, Authorization");
		(void)snprintf(seconds, sizeof(seconds), "%" PRIu32,
			       r->config->cors_max_age_ms / 1000);
		reply_add_header(&p, "Access-Control-Max-Age", seconds);
	}
	return reply_send(r, STATUS_NO_CONTENT, NULL, &p);
}

const struct handler preflight_handler = { .reply = reply_preflight };
