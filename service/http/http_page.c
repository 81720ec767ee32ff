/* SPDX-License-Identifier: MIT */
/* The page that shows a running server, and its files. */
#include "service/http/http_reply.h"
#include "service/http/http_route.h"

#include "service/web/web.h"

/*
 * Nothing from elsewhere, nothing in line: whatever a file name or an error
 * says, it is no script.  Pictures may be those that the page was given.
 */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; "
	"img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; "
	"form-action 'none'; frame-ancestors 'none'";

static enum MHD_Result reply_file(struct request *r, const char *name)
{
	struct web_file file;
	struct MHD_Response *response;

	if (!web_find(name, &file)) {
		r->problem = PROBLEM_NOT_FOUND;
		return http_reply_problem(r);
	}
	response = MHD_create_response_from_buffer(
		file.count, (void *)file.bytes, MHD_RESPMEM_PERSISTENT);
	if (response == NULL)
		return MHD_NO;
	r->reply_bytes = file.count;
	http_add_header(r, response, "Content-Security-Policy", policy);
	http_add_header(r, response, "X-Content-Type-Options", "nosniff");
	http_add_header(r, response, "Referrer-Policy", "no-referrer");
	/* Another version of the server has other files. */
	http_add_header(r, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	return http_reply(r, MHD_HTTP_OK, file.type, response);
}

enum MHD_Result http_answer_page(struct request *r)
{
	return reply_file(r, "index.html");
}

enum MHD_Result http_answer_page_file(struct request *r)
{
	return reply_file(r, r->segments[0]);
}
