/* SPDX-License-Identifier: MIT */
/*
 * Inside http*.c: one request, from its head to its end.
 *
 * Threads    A request belongs to its connection's thread; while its upload is
 *            in the pipeline, to that.
 */
#ifndef SERVICE_HTTP_REQUEST_H
#define SERVICE_HTTP_REQUEST_H

#include "service/http/http_body.h"
#include "service/http/http_images.h"
#include "service/http/http_port.h"
#include "service/http/query.h"
#include "service/http/trace_context.h"
#include "service/pipeline/pipeline.h"

#define HTTP_HEADER_TRACEPARENT "traceparent"

enum { REQUEST_ID_BYTES = 40, SEGMENTS_MAX = 2, SEGMENT_BYTES = 65 };

struct request {
	struct port *port;
	struct http *http;                /* of `port` */
	const struct http_config *config; /* of `http` */
	struct MHD_Connection *connection;
	struct client *client; /* of `connection` */
	const char *target;    /* of the request line, later decoded */
	size_t target_bytes;   /* 0: it is no good */
	int fd;                /* its socket; of uploads alone */
	const struct route *route;
	unsigned int allowed;                       /* methods of its path */
	char segments[SEGMENTS_MAX][SEGMENT_BYTES]; /* of its path, for {} */
	/* The connection, and the pipeline if that outlives it. */
	_Atomic uint32_t holder_count;
	char id[REQUEST_ID_BYTES];
	struct trace_context trace; /* of who calls, if it tells */
	const char *method;
	uint64_t begin_ns; /* 0: its head is not yet there */
	bool has_length;
	uint64_t length_bytes; /* as announced; 0 without a body */
	uint64_t received_bytes;
	enum problem problem; /* found so far */
	bool closes;          /* nothing behind its head can be trusted */
	char detail[PARAMS_DETAIL_BYTES];
	struct query query;
	struct body body;
	size_t peek_bytes_min; /* look for a header at so many; 0: never */
	unsigned int status;   /* of the reply; 0: none so far */
	uint64_t replied_ns;   /* when it was made */
	uint64_t reply_bytes;  /* of its body, but for results */
	bool lacks_header;     /* of the reply: no memory for it */
	bool submitted;
	struct upload upload;
	struct variant variant; /* where there is but one */
	enum MHD_Result (*reply_result)(struct request *r);
	struct keeping keeping;
	struct errand errand; /* of a DELETE */
	bool is_sent;         /* to do that */
	bool is_head;
	struct viewer *viewer;  /* NULL: none */
	bool is_endless;        /* nobody waits until it is answered */
	char content_range[72]; /* of the reply; "": none */
};

/* http.c: one of its holders has no use for it any more. */
void http_release(struct request *r);

/* http_head.c */

/* Of the request line as it was sent: a path, with a query or without. */
bool http_target_is_good(const char *target);

/*
 * Is it a request of which nobody can think anything else, with a body that is
 * not too long?  Sets `has_length`, `length_bytes`, `trace`, and `closes` and
 * `detail` if need be.
 */
enum problem http_check_head(struct request *r, const char *method,
			     const char *version);

/* http_auth.c */

/* May it be done for who asks?  Its head is there, and its route found. */
enum problem http_check_auth(const struct request *r, const char *path,
			     const char *method);

/* To a 401: how to do better. */
void http_add_challenge(struct request *r, struct MHD_Response *response);

/* http_charge.c */

/* Before a byte of the body is read: charge it, and get ready for it. */
enum problem http_admit_body(struct request *r);

/* Before a piece is put into it: have room for all that was received. */
enum problem http_make_room(struct request *r);

/* http_upload.c */

/* Check all that the head of an upload tells, and get ready for its body. */
void http_begin_upload(struct request *r);

/* A piece of the body of any request. */
void http_receive(struct request *r, const char *data, size_t bytes);

/* Called once to submit and, if that suspended, once more when done. */
enum MHD_Result http_answer_upload(struct request *r);

/* The reply is sent, or there will be none. */
void http_end_upload(struct request *r);

struct request *http_request_of(const struct upload *u);
enum problem http_problem_of_upload(const struct upload *u);

/* How many of its times there are to tell. */
static inline uint32_t http_stage_count(const struct upload *u)
{
	return u->store != NULL ? PIPELINE_TIMES : PIPELINE_STEPS;
}

/* http_live.c: as well; `viewer` is gone. */
void http_end_live(struct request *r);

/* http_log.c */

/* One of a few constants. */
const char *http_method_name(const char *method);

/* At the end of a request, whatever became of it. */
void http_log(const struct request *r, enum MHD_RequestTerminationCode how);

#endif
