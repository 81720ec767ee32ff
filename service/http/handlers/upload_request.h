/* SPDX-License-Identifier: MIT */
/*
 * Upload request: what the handlers of uploads remember of a request, and what
 * upload_request.c and images/store_request.c need of each other.
 *
 * Threads    As struct request: after a reply of 202, it is the pipeline's.
 */
#ifndef SERVICE_UPLOAD_REQUEST_H
#define SERVICE_UPLOAD_REQUEST_H

#include "service/http/handlers/body.h"
#include "service/http/http_state.h"
#include "service/http/head/query.h"
#include "service/http/request.h"
#include "service/pipeline/pipeline.h"

/* See the table in images/store_request.c. */
enum early_state {
	EARLY_IMPOSSIBLE, /* no state: in the table, "this cannot happen" */
	EARLY_NO,         /* the reply waits until the image is stored */
	EARLY_QUEUED,     /* the task that writes it to the spool waits */
	EARLY_WRITING,    /* the task is writing, from the request's body */
	/* The task is still writing, but the image is already being stored. */
	EARLY_TOO_LATE,
	EARLY_ACCEPTED, /* the reply is 202, and the upload goes on alone */
	EARLY_DONE,     /* the upload is done, without a 202 */
	EARLY_STATES
};

/* Additional members for an upload by POST /v1/images. */
struct storing {
	bool answers_early; /* respond=decoded */
	/* State of the reply to respond=decoded. */
	_Atomic enum early_state early;
	struct task spool_task; /* writes the upload to the spool */
	/* The upload's entry in the spool; NULL: none. */
	struct spooled *spooled;
	struct accepted accepted; /* its id is set when the upload is decoded */
	char *meta;               /* set when the image is stored; owned */
};

/* The `own` of a request for an upload. */
struct upload_request {
	struct request *request; /* that it belongs to */
	int fd;                  /* socket of the connection */
	/* A wait for memory; its charge is NULL: it has not waited. */
	struct budget_waiter memory_wait;
	struct query query;
	struct body body;
	/*
	 * Fields of the body before these are already in `query`, and in
	 * upload.variants.
	 */
	size_t fields_at, made_at;
	/* Fields that are no parameters, and the name of the first. */
	uint32_t ignored_count;
	char ignored[PARAMS_SHOWN_BYTES];
	/*
	 * Check the picture's header when this many bytes have arrived; 0:
	 * never.
	 */
	size_t peek_bytes_min;
	bool has_good_header; /* as far as that check can tell */
	struct upload upload;
	struct variant variant; /* used if there is only one */
	struct storing storing;
	struct digest *digest;   /* that the body must have; NULL: none */
	struct arrival *arrival; /* of /v1/uploads; NULL: another path */
};

static inline struct request *request_of_upload(const struct upload *u)
{
	return container_of(u, struct upload_request, upload)->request;
}

/* upload_request.c, for uploads/arrival.c and images/making.c */

/*
 * Begin an upload: read its parameters and its time limit.  It is not checked
 * whether there is a body, or a slot.
 */
enum problem upload_begin(struct request *r);

/* Send the upload into the pipeline, as start() of a handler. */
bool upload_submit(struct request *r);

/*
 * The pipeline is done with it: what was wrong?  Sets `detail` and `excess`,
 * and counts a refusal, so it is called once, and not after request_refuse().
 */
enum problem upload_problem(struct request *r);

/* The body is not needed any more. */
void upload_drop_body(struct request *r);

/* images/store_request.c */

/* The upload will be stored.  PROBLEM_NO_STORE: there is no store. */
enum problem storing_begin(struct request *r);

/* If `value` is NULL, there was no "=".  False: `detail` lists the values. */
bool storing_set_respond(struct request *r, const char *value);

/* The upload is done.  True: no 202 was sent, so reply to it now. */
bool storing_end_upload(struct request *r);

/* end() of a handler: the 202 was sent, so an upload that is held goes on. */
void storing_end(struct request *r);

/* Was the upload accepted with 202?  Then the pipeline goes on with it. */
bool storing_is_accepted(const struct request *r);

/*
 * 202: the image is not stored yet, but will be; if `is_durable`, even after a
 * crash.  Also for a GET of such an image.
 */
bool storing_reply_accepted(struct request *r, const char *id, bool is_durable);

/* 201: the image is stored. */
bool storing_reply_stored(struct request *r);

#endif
