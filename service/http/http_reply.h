/* SPDX-License-Identifier: MIT */
/*
 * Inside http*.c: replies.
 *
 * Each function that returns an MHD_Result queues one.  MHD_NO: no memory, not
 * even for one of its headers, and libmicrohttpd closes the connection.
 */
#ifndef SERVICE_HTTP_REPLY_H
#define SERVICE_HTTP_REPLY_H

#include "service/http/http_request.h"

/* To a reply to `r`, which is whole or not sent: see http_reply(). */
void http_add_header(struct request *r, struct MHD_Response *response,
		     const char *name, const char *value);

/* What is wrong with the request: its `problem` and `detail`. */
enum MHD_Result http_reply_problem(struct request *r);

/* Queue `response` and drop it.  NULL: no memory. */
enum MHD_Result http_reply(struct request *r, unsigned int status,
			   const char *type, struct MHD_Response *response);

/* `text` is freed with the reply; NULL: no memory. */
enum MHD_Result http_reply_text(struct request *r, const char *type,
				char *text);

/*
 * http_result.c: what the pipeline made, which must stay until the request
 * ends; as a picture, in parts or as JSON, by what was asked for.
 */
enum MHD_Result http_reply_result(struct request *r);

#endif
