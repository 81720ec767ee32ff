/* SPDX-License-Identifier: MIT */
/*
 * POST /v1/images: an upload whose results are stored.
 *
 *	decoded   the id is known; with respond=decoded, it is promised and the
 *	          connection resumed to say so
 *	store     the entry is made, by a worker of the store stage
 *	done      the connection is resumed; or the promise is settled, and the
 *	          last holder of the request frees it
 */
#include "service/http/http_reply.h"

#include "service/http/image_meta.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called by a worker. */
static void on_decoded(struct upload *u)
{
	struct request *r = http_request_of(u);
	struct keeping *k = &r->keeping;

	image_id(k->promise.id, u);
	if (!k->answers_early)
		return;
	ends_promise(&r->http->ends, &k->promise);
	atomic_store(&k->is_promised, true);
	if (r->http->suspends)
		MHD_resume_connection(r->connection);
}

static enum store_answer put(struct request *r)
{
	const struct upload *u = &r->upload;
	const struct keeping *k = &r->keeping;
	char names[VARIANTS_MAX][VARIANT_NAME_BYTES + sizeof(".jpg")];
	struct store_file files[VARIANTS_MAX + 1];
	uint32_t count = 0;

	for (; count < u->variant_count; count++) {
		const struct variant *v = &u->variants[count];

		(void)snprintf(names[count], sizeof(names[count]), "%s.jpg",
			       image_variant_name(v));
		files[count] = (struct store_file){ names[count], v->jpeg,
						    v->jpeg_bytes };
	}
	files[count++] =
		(struct store_file){ "meta.json", k->meta, strlen(k->meta) };
	return store_put(r->config->store, k->promise.id, files, count);
}

/* Called by a worker of the store stage. */
static enum upload_end keep(struct upload *u)
{
	struct request *r = http_request_of(u);
	struct keeping *k = &r->keeping;

	k->meta = image_meta(k->promise.id, u);
	switch (k->meta != NULL ? put(r) : STORE_FAILED) {
	case STORE_OK:
		return UPLOAD_ENDED;
	case STORE_FULL:
		return UPLOAD_STORE_FULL;
	default:
		(void)snprintf(r->detail, sizeof(r->detail),
			       "The image could not be written: %s.",
			       strerror(errno));
		return UPLOAD_NOT_STORED;
	}
}

bool http_end_keeping(struct request *r)
{
	struct keeping *k = &r->keeping;

	if (!atomic_load(&k->is_promised))
		return true;
	ends_settle(&r->http->ends, &k->promise,
		    http_problem_of_upload(&r->upload));
	return false;
}

static enum MHD_Result reply_json(struct request *r, unsigned int status,
				  char *text, enum MHD_ResponseMemoryMode mode)
{
	char url[sizeof(IMAGES_PATH "/") + STORE_ID_BYTES];
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), text, mode);

	if (response == NULL)
		return MHD_NO;
	r->reply_bytes = strlen(text);
	(void)snprintf(url, sizeof(url), IMAGES_PATH "/%s",
		       r->keeping.promise.id);
	http_add_header(r, response, MHD_HTTP_HEADER_LOCATION, url);
	return http_reply(r, status, "application/json", response);
}

enum MHD_Result http_reply_promise(struct request *r)
{
	char text[2 * STORE_ID_BYTES + 128];

	r->keeping.is_answered = true;
	(void)snprintf(text, sizeof(text),
		       "{\"id\":\"%s\",\"url\":\"" IMAGES_PATH
		       "/%s\",\"status\":\"processing\"}\n",
		       r->keeping.promise.id, r->keeping.promise.id);
	return reply_json(r, MHD_HTTP_ACCEPTED, text, MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result reply_stored(struct request *r)
{
	return reply_json(r, MHD_HTTP_CREATED, r->keeping.meta,
			  MHD_RESPMEM_PERSISTENT);
}

bool http_set_respond(struct request *r, const char *value)
{
	bool is_decoded = value != NULL && strcmp(value, "decoded") == 0;

	r->keeping.answers_early = is_decoded;
	if (is_decoded || (value != NULL && strcmp(value, "stored") == 0))
		return true;
	(void)snprintf(r->detail, sizeof(r->detail),
		       "respond must be stored or decoded.");
	return false;
}

void http_begin_image(struct request *r)
{
	if (r->config->store == NULL) {
		r->problem = PROBLEM_NO_STORE;
		return;
	}
	r->upload.on_decoded = on_decoded;
	r->upload.store = keep;
	http_begin_upload(r);
	r->reply_result = reply_stored;
}
