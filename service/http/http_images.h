/* SPDX-License-Identifier: MIT */
/*
 * Inside http*.c: images that are stored, and how they get there.
 */
#ifndef SERVICE_HTTP_IMAGES_H
#define SERVICE_HTTP_IMAGES_H

#include "service/http/ends.h"

#include <microhttpd.h>

struct request;

/* What POST /v1/images makes of an upload. */
struct keeping {
	bool answers_early;       /* respond=decoded */
	_Atomic bool is_promised; /* and decoded: its id is in ends.h */
	bool is_answered;         /* so; the pipeline has it all the same */
	struct promise promise;   /* with its id, once it is decoded */
	char *meta;               /* once it is stored; owned */
};

/* http_keep.c: POST /v1/images */
void http_begin_image(struct request *r);
/* `value` NULL: without "=".  False: `detail` says what it may be. */
bool http_set_respond(struct request *r, const char *value);
/* The upload has ended: is it the connection's turn? */
bool http_end_keeping(struct request *r);
/* It is not stored yet, but will be. */
enum MHD_Result http_reply_promise(struct request *r);
/* http_images.c: what is stored. */
enum MHD_Result http_answer_image(struct request *r);
enum MHD_Result http_answer_variant(struct request *r);
enum MHD_Result http_answer_delete(struct request *r);

#endif
