/* SPDX-License-Identifier: MIT */
/*
 * Results: what the pipeline made of an upload, as the body of a reply and as
 * members of its JSON.
 */
#ifndef SERVICE_RESULT_H
#define SERVICE_RESULT_H

#include "service/pipeline/upload.h"

struct MHD_Connection;
struct MHD_Response;
struct json;

#define RESULT_TYPE "image/jpeg"

enum { RESULT_TYPE_CHARS = 80 };

/*
 * One picture as such, several as multipart/mixed, or all as JSON if the client
 * of `connection` accepts that; with the headers that describe the results.
 * `type` is the Content-Type.  The upload must not change until the request
 * ends.  NULL: no memory.
 */
struct MHD_Response *result_response(struct MHD_Connection *connection,
				     const struct upload *u,
				     char type[RESULT_TYPE_CHARS]);

/* Add members to an open object: of the whole upload, or of a variant. */
void result_add_upload(struct json *j, const struct upload *u);
void result_add_variant(struct json *j, const struct variant *v,
			const char *name);

#endif
