/* SPDX-License-Identifier: MIT */
/*
 * Inside http*.c: one request, and the replies to it.
 *
 * Threads    A request belongs to its connection's thread; while its upload is
 *            in the pipeline, to that.
 */
#ifndef SERVICE_HTTP_REQUEST_H
#define SERVICE_HTTP_REQUEST_H

#include "service/http/http.h"

#include "service/http/auth.h"
#include "service/http/clients.h"
#include "service/http/http_body.h"
#include "service/http/http_counts.h"
#include "service/http/http_images.h"
#include "service/pipeline/pipeline.h"
#include "service/http/problem.h"
#include "service/http/query.h"

#include <microhttpd.h>
#include <stdatomic.h>

enum { REQUEST_ID_BYTES = 40, TOO_SLOW_BYTES = 512 };

/* A listening socket, and whom it serves. */
struct port {
	struct http *http;
	struct clients *clients;        /* NULL: there is no such port */
	struct MHD_Daemon *daemon;      /* as well */
	bool has_threads;               /* one for each connection */
	_Atomic uint32_t request_count; /* begun and not yet ended */
};

struct http {
	struct http_config config;
	struct ends ends;
	struct port main, admin;
	bool suspends; /* else uploads run in the connection's thread */
	uint32_t id_prefix;
	_Atomic uint64_t id_next;
	_Atomic bool leaving;          /* first this, */
	_Atomic bool refusing;         /* then this */
	int refused_fd;                /* no longer listened on, or none */
	_Atomic bool was_not_ready;    /* the last answer of /readyz */
	_Atomic uint64_t refused_ns;   /* when the last upload was; 0: none */
	char too_slow[TOO_SLOW_BYTES]; /* a whole reply */
	struct http_counts counts;
};

enum method { METHOD_GET = 1, METHOD_POST = 2, METHOD_DELETE = 4 };

enum { SEGMENTS_MAX = 2, SEGMENT_BYTES = 65 };

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
	const char *method;
	uint64_t begin_ns;     /* 0: its head is not yet there */
	uint64_t length_bytes; /* as announced; 0 without a body */
	uint64_t received_bytes;
	enum problem problem; /* found so far */
	bool closes;          /* nothing behind its head can be trusted */
	char detail[PARAMS_DETAIL_BYTES];
	struct query query;
	struct body body;
	size_t peek_bytes_min; /* look for a header at so many; 0: never */
	unsigned int status;   /* of the reply; 0: none so far */
	uint64_t reply_bytes;  /* of its body, but for results */
	bool submitted;
	struct upload upload;
	struct variant variant; /* where there is but one */
	enum MHD_Result (*reply_result)(struct request *r);
	struct keeping keeping;
	struct errand errand; /* of a DELETE */
	bool is_sent;         /* to do that */
	bool is_head;
	char content_range[72]; /* of the reply; "": none */
};

struct route {
	const char *path;
	enum method method;
	enum role role;
	/* Check what the head tells, and get ready for the body; or NULL. */
	void (*begin)(struct request *r);
	/* Answer a request whose body, if any, has been received. */
	enum MHD_Result (*answer)(struct request *r);
};

/* http_port.c */

/* False: some could not be started; http_stop_ports() stops the rest. */
bool http_start_ports(struct http *h);
void http_stop_ports(struct http *h);

/* http.c: a request as libmicrohttpd sees it; `port` is its struct port. */

/* The request line is there, and for once `target` as it was sent. */
void *http_on_target(void *port, const char *target,
		     struct MHD_Connection *connection);
enum MHD_Result http_on_request(void *port, struct MHD_Connection *connection,
				const char *url, const char *method,
				const char *version, const char *data,
				size_t *bytes, void **slot);
void http_on_end(void *cls, struct MHD_Connection *connection, void **slot,
		 enum MHD_RequestTerminationCode how);

/* http.c: one of its holders has no use for it any more. */
void http_release(struct request *r);

/* http_route.c */

/* Sets `route` and `segments`; or `allowed`, for http_add_allow(). */
enum problem http_find_route(struct request *r, const char *path,
			     const char *method);
void http_add_allow(const struct request *r, struct MHD_Response *response);

/*
 * Each queues a reply.  MHD_NO: no memory, and libmicrohttpd closes the
 * connection.
 */

/* What its path is for. */
static inline enum role request_role(const struct request *r)
{
	return r->route != NULL ? r->route->role : ROLE_NONE;
}

/* http_control.c: what the server tells of itself. */
enum MHD_Result http_answer_health(struct request *r);
enum MHD_Result http_answer_ready(struct request *r);
enum MHD_Result http_answer_metrics(struct request *r);
enum MHD_Result http_answer_stats(struct request *r);
enum MHD_Result http_answer_trace(struct request *r);

/* http_auth.c */

/* May it be done for who asks?  Its head is there, and its route found. */
enum problem http_check_auth(const struct request *r, const char *path,
			     const char *method);

/* To a 401: how to do better. */
void http_add_challenge(const struct request *r, struct MHD_Response *response);

/* http_head.c */

/* Of the request line as it was sent: a path, with a query or without. */
bool http_target_is_good(const char *target);

/*
 * Is it a request of which nobody can think anything else, with a body that is
 * not too long?  Sets `length_bytes`, and `closes` and `detail` if need be.
 */
enum problem http_check_head(struct request *r, const char *method,
			     const char *version);

/* http_upload.c */

/* Check all that the head of an upload tells, and get ready for its body. */
void http_begin_upload(struct request *r);

/* A piece of the body of any request. */
void http_receive(struct request *r, const char *data, size_t bytes);

/* Called once to submit and, if that suspended, once more when done. */
enum MHD_Result http_answer_upload(struct request *r);

/* The reply is sent, or there will be none. */
void http_end_upload(struct request *r);

/* http_log.c */

/* One of a few constants. */
const char *http_method_name(const char *method);

/* At the end of a request, whatever became of it. */
void http_log(const struct request *r, enum MHD_RequestTerminationCode how);
enum problem http_problem_of_upload(const struct upload *u);
struct request *http_request_of(const struct upload *u);

/* How many of its times there are to tell. */
static inline uint32_t http_stage_count(const struct upload *u)
{
	return u->store != NULL ? PIPELINE_STAGES : PIPELINE_STEPS;
}
/* http_reply.c */

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
