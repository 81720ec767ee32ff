/* SPDX-License-Identifier: MIT */
/*
 * Inside http_result.c: the bodies of replies with several pictures.
 *
 * Ownership  A body lends its pictures from the upload, which must outlive the
 *            response.  NULL: no memory.
 */
#ifndef SERVICE_HTTP_RESULT_H
#define SERVICE_HTTP_RESULT_H

#include "service/pipeline/upload.h"

#include <microhttpd.h>
#include <stdio.h>

#define RESULT_TYPE "image/jpeg"

enum {
	RESULT_WARNINGS = 2, /* there may be of a picture */
	RESULT_WARNING_CHARS = 128,
	RESULT_COLOUR_CHARS = 8, /* "#rrggbb" */
};

/* Of a Warning header (RFC 7234, 5.5).  False: it has not the `i`th of them. */
bool result_warning(char out[RESULT_WARNING_CHARS], const struct variant *v,
		    uint32_t i);

void result_print_colour(char out[RESULT_COLOUR_CHARS],
			 const struct img_placeholder *p);

/*
 * Members of a JSON object, with commas between them.  No string in there has a
 * character that JSON escapes.
 */
void result_print_upload(FILE *out, const struct upload *u);
void result_print_variant(FILE *out, const struct variant *v, const char *name);

/* http_parts.c: multipart/mixed; `type` becomes the Content-Type. */
enum { RESULT_PARTS_TYPE_CHARS = 80 };

struct MHD_Response *result_parts(const struct upload *u,
				  char type[RESULT_PARTS_TYPE_CHARS]);

/* http_json.c: application/json */
struct MHD_Response *result_json(const struct upload *u);

#endif
