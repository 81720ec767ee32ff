/* SPDX-License-Identifier: MIT */
/*
 * Results: what the pipeline made of an upload, as the body of a reply and as
 * members of its JSON.
 */
#ifndef SERVICE_RESULT_H
#define SERVICE_RESULT_H

#include "service/http/transport.h"
#include "service/pipeline/upload.h"

struct json;

enum { RESULT_TYPE_CHARS = 80 };

/*
 * Begin a reply: a single picture as it is, several as multipart/mixed, or all
 * of them as JSON if the request's Accept prefers it.  It has the headers that
 * describe the results; the caller adds the Content-Type, which is put into
 * `type`.  The upload must not change until the request ends.  False: no
 * memory, and there is no reply.
 */
MUST_CHECK bool result_begin_reply(struct reply *p,
				   const struct request_head *head,
				   const struct upload *u,
				   char type[RESULT_TYPE_CHARS]);

/* The same for the first picture alone, whatever Accept says. */
void result_begin_picture(struct reply *p, const struct upload *u,
			  char type[RESULT_TYPE_CHARS]);

/*
 * Add the members that describe the whole upload, or a variant, to the object
 * that is open in `j`.
 */
void result_add_upload(struct json *j, const struct upload *u);
void result_add_variant(struct json *j, const struct variant *v,
			const char *name);

#endif
