/* SPDX-License-Identifier: MIT */
/*
 * Request: one HTTP request, the server that it came to, the states that it
 * goes through, and the functions that take it from one state to the next.
 * Used inside http/ only.
 *
 * http.c has the server; request.c has the table of the states.  The other
 * files have the steps:
 *
 *	head.c            is the head valid, and how long is the body?
 *	route.c           which file answers this path and method?
 *	auth.c            may this client send the request?
 *	upload_request.c  POST / and /v1/process, and /v1/images; with body.c
 *	images/           what POST /v1/images does in addition; GET and DELETE
 *	                  of /v1/images/...
 *	control.c         page, probes, reports
 *	watch/viewers.c   GET /v1/live
 *	reply.c           the reply
 *
 * The functions with names such as reply_...() queue a reply.  False: there was
 * no memory for it or the client has disconnected, and the connection is
 * closed.
 *
 * Threads    A request belongs to its connection's thread: one of the I/O
 *            threads, or a thread of the connection's own.  Several of these
 *            threads run at the same time, so what requests share is atomic,
 *            has a lock, or is set before there are connections.  In
 *            REQUEST_WORK the request belongs to the thread that works for it,
 *            until that thread resumes the connection.  After a reply of 202
 *            its upload and `storing` belong to the pipeline.
 */
#ifndef SERVICE_REQUEST_H
#define SERVICE_REQUEST_H

#include "service/http/body.h"
#include "service/http/connection/acceptor.h"
#include "service/http/connection/clients.h"
#include "service/http/http_config.h"
#include "service/http/images/image_meta.h"
#include "service/http/images/reading.h"
#include "service/http/query.h"
#include "service/http/transport.h"
#include "service/http/watch/minute.h"
#include "service/http/watch/reports.h"
#include "service/pipeline/pipeline.h"

#include "base/util.h"

#include <stdatomic.h>
#include <sys/queue.h>

#define HTTP_HEADER_TRACEPARENT "traceparent"
#define HTTP_HEADER_REQUEST_TIMEOUT "Request-Timeout"

/* For browsers: the content of a reply may load nothing and run nothing. */
#define HTTP_NO_CONTENT "default-src 'none'; sandbox"

enum {
	REQUEST_ID_BYTES = 40,
	REQUEST_DETAIL_BYTES = 512,
	SEGMENTS_MAX = 2,
	SEGMENT_BYTES = 65,
	TRACE_ID_CHARS = 32,
	SPAN_ID_CHARS = 16,
	TRACEPARENT_BYTES = 3 + TRACE_ID_CHARS + 1 + SPAN_ID_CHARS + 3 + 1,
};

/*
 * The caller's trace, which the request belongs to, and the request's own span
 * in it (W3C Trace Context, level 1).  Ids are lower-case hexadecimal digits,
 * not all 0.
 */
struct trace_context {
	char trace_id[TRACE_ID_CHARS + 1]; /* "": there is none */
	char parent_id[SPAN_ID_CHARS + 1]; /* the caller's span */
	char span_id[SPAN_ID_CHARS + 1];   /* the request's span */
	bool is_sampled; /* the caller may have recorded its part */
};

struct request;

enum method { METHOD_GET = 1, METHOD_POST = 2, METHOD_DELETE = 4 };

/*
 * How requests of one kind are answered; each file has its handlers at its end.
 * If a hook is NULL, nothing is done.
 */
struct handler {
	/* REQUEST_ADMIT: check the head further. */
	enum problem (*admit)(struct request *r);
	/*
	 * REQUEST_ADMIT: does the request have to wait before its body is read?
	 * True: the connection is suspended, and resumed when the wait is over.
	 */
	bool (*wait)(struct request *r);
	/*
	 * After the wait, if any: prepare for the body.  upload.end is
	 * UPLOAD_GONE if the client has disconnected.
	 */
	enum problem (*prepare)(struct request *r);
	/*
	 * REQUEST_PIECE: take a piece of the body.  NULL: the body is ignored.
	 */
	enum problem (*receive)(struct request *r, const char *data,
				size_t bytes);
	/*
	 * REQUEST_START: the whole request has arrived; begin to work for it.
	 * True: the connection is suspended, and resumed when the work is done.
	 * False: the work is already done, or `problem` is set.
	 */
	bool (*start)(struct request *r);
	/* REQUEST_REPLY: the work is done.  Not called if `problem` is set. */
	bool (*reply)(struct request *r);
	/* The request ends: free what the hooks have left in it. */
	void (*release)(struct request *r);
};

extern const struct handler upload_handler; /* upload_request.c */
extern const struct handler stored_upload_handler;
extern const struct handler image_handler; /* images/images.c */
extern const struct handler image_removal_handler;
extern const struct handler picture_handler;
extern const struct handler page_handler; /* control.c */
extern const struct handler health_handler;
extern const struct handler ready_handler;
extern const struct handler load_handler;
extern const struct handler report_handler;
extern const struct handler trace_handler;
extern const struct handler blocking_handler;
extern const struct handler live_handler; /* watch/viewers.c */

/* An entry of the table in route.c. */
struct route {
	const char *path; /* {} stands for one segment */
	enum method method;
	enum role role;
	const struct handler *handler;
	enum report_kind report; /* which report, for a report_handler */
};

/* See the table in request.c. */
enum request_state {
	REQUEST_NONE, /* no state: in a table, "this cannot happen" */
	REQUEST_HEAD,
	REQUEST_CHECK,
	REQUEST_ROUTE,
	REQUEST_AUTHORISE,
	REQUEST_ADMIT,
	REQUEST_WAIT,
	REQUEST_WAITED,
	REQUEST_REFUSED,
	REQUEST_BODY,
	REQUEST_PIECE,
	REQUEST_DISCARD,
	REQUEST_TURN,
	REQUEST_HELD,
	REQUEST_START,
	REQUEST_WORK,
	REQUEST_REPLY,
	REQUEST_REPLIED,
	REQUEST_STREAM,
	REQUEST_CUT_OFF,
	REQUEST_SHUT,
	REQUEST_CLOSED,
	REQUEST_STATES
};

/*
 * Used if there is no spool: the images that were accepted with 202 and are not
 * stored yet, and the last ACCEPTED_FAILURES_MAX that could not be stored.  See
 * store_request.c.
 *
 * Ownership  The caller owns a struct accepted.  Its address must not change
 *            until the image is stored or has failed.
 * Threads    Any number, at the same time.
 */
enum { ACCEPTED_FAILURES_MAX = 1024 };

struct accepted {
	char id[STORE_ID_BYTES]; /* the caller sets it first */
	LIST_ENTRY(accepted) link;
};

struct accepted_list {
	pthread_mutex_t lock;
	LIST_HEAD(, accepted) pending;
	/*
	 * Number of failures so far.  The next failure gets this index, modulo
	 * ACCEPTED_FAILURES_MAX.
	 */
	uint64_t failed_count;
	struct {
		char id[STORE_ID_BYTES];
		enum problem problem;
	} failed[ACCEPTED_FAILURES_MAX];
};

enum accepted_state {
	/* The image was never accepted, or is stored, or was forgotten. */
	ACCEPTED_NONE,
	/* At least one upload of this image is not stored yet. */
	ACCEPTED_PENDING,
	ACCEPTED_FAILED, /* its last upload could not be stored */
};

void accepted_init(struct accepted_list *l);
void accepted_release(struct accepted_list *l);

/* *problem is set if the image has failed. */
enum accepted_state accepted_find(struct accepted_list *l, const char *id,
				  enum problem *problem);

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
	/* Owner of the key; "": the server has no keys. */
	char owner[OWNER_BYTES];
	struct accepted accepted; /* its id is set when the upload is decoded */
	char *meta;               /* set when the image is stored; owned */
};

/* What is known about an image that may not be stored yet. */
struct image_state {
	enum accepted_state accepted;
	enum problem failed_by;
	bool is_durable; /* it is in the spool */
};

enum { PIECE_DIGEST_BYTES = 16 }; /* of a SHA-256 */

/* A stored image, or one of its pictures, that a client asks for. */
struct picture {
	bool is_open;
	/* Its descriptor is -1 if it is sent in pieces. */
	struct store_part file;
	char etag[ETAG_BYTES]; /* its SHA-256, in quotes; "": not known */
	bool is_known; /* the client has it already, by its If-None-Match */
	char *meta;    /* the JSON text about the image; owned; NULL: none */
	struct image_state state;
	void (*work)(struct request *r); /* what the task does */
	/* When a store beyond the network must have answered; 0: none. */
	uint64_t deadline_ns;
	char damaged[STORE_FILE_NAME_BYTES]; /* the file that is; "": unknown */
	/* A store beyond the network: a turn, and the memory that is used. */
	bool is_turned_away; /* there were too many reads */
	bool has_turn;
	struct read_turn turn;
	struct charge charge;
	/* Sent in pieces: see images/pieces.c. */
	uint64_t package_at;                    /* of the picture */
	uint8_t (*digests)[PIECE_DIGEST_BYTES]; /* of the pieces; owned */
	bool has_piece;
	struct store_part piece;
	uint64_t piece_at, sent_from; /* in the picture */
};

/* A listening socket, and the connections that it accepts. */
struct port {
	struct http *http;
	const char *address;     /* the value of --listen or --admin-listen */
	struct clients *clients; /* NULL: there is no such port */
	const struct transport *transport;
	struct io_thread *io_threads[ACCEPTOR_THREADS_MAX];
	uint32_t io_thread_count;
	/* NULL: the only I/O thread accepts its connections by itself. */
	struct acceptor *acceptor;
	bool is_shared; /* its socket: http_config.shares_listen_fd */
	bool accepts;
	/* The listening socket that is no longer used; -1: none. */
	int refused_fd;
	/*
	 * Each connection has a kernel thread of its own.  Where an
	 * I/O thread would suspend the connection, this thread waits.
	 */
	bool has_threads;
	/*
	 * When the next warning may be logged.  Used by those that accept
	 * connections.
	 */
	_Atomic uint64_t complain_ns;
	_Atomic uint32_t connection_count;
	/* Requests that have begun and not ended yet. */
	_Atomic uint32_t request_count;
};

/*
 * The server: the state that all requests share.  A member that is neither
 * atomic nor protected by its own lock is set before there are connections.
 * Only `accepts` and `refused_fd` of a port are set later, and used only by the
 * thread that calls http.h.
 */
struct http {
	struct http_config config;
	struct networks trusted; /* proxies */
	struct accepted_list accepted;
	struct port main, admin;
	struct viewers *viewers;
	struct reports *reports;
	struct linger_list *linger;
	struct agent *agent;     /* NULL: none */
	struct spooler *spooler; /* NULL: no store */
	struct reading reading;  /* of images, from a remote store */
	/* Recent mean of the time to write an upload into the spool. */
	_Atomic uint64_t spool_ns;
	/*
	 * Tasks in the store stage that will write an upload to the spool and
	 * have not run yet.
	 */
	_Atomic uint32_t spooling_count;
	uint32_t id_prefix;
	_Atomic uint64_t requests_begun;
	/*
	 * The steps of a stop that have begun, in this order: http_leave(),
	 * http_refuse(), http_abandon() if the limit was reached, http_stop().
	 */
	_Atomic bool leaving, refusing, abandoning, stopping;
	_Atomic bool was_full;       /* at the last /readyz: see control.c */
	_Atomic uint64_t refused_ns; /* time of the last refusal; 0: none */
	char *refusals[CLIENT_REFUSALS]; /* see clients_config; owned */
	struct http_counts counts;
	struct minute minute;
};

_Static_assert((int)REQUEST_DETAIL_BYTES >= (int)PARAMS_DETAIL_BYTES,
	       "details of parameters fit");

struct request {
	enum request_state state;
	struct port *port;
	/* The server that `port` belongs to. */
	struct http *http;
	const struct http_config *config; /* the configuration of `http` */
	struct connection *connection;
	struct client *client; /* the client of `connection` */
	/*
	 * Number of holders: the connection and, with respond=decoded, also the
	 * pipeline and the task that writes the upload to the spool.
	 */
	_Atomic uint32_t holder_count;
	char id[REQUEST_ID_BYTES];

	/*
	 * From the head.  The transport owns its texts; they are valid from
	 * REQUEST_CHECK to the end.
	 */
	const struct request_head *head;
	const char *host; /* in its target or, without one there, in Host */
	const char *path; /* of its target, decoded */
	/* The parameters of its query, decoded; NULL: none.  Owned. */
	struct http_field *arguments;
	uint32_t argument_count;
	const char *method_name; /* a constant text, for the log */
	bool is_head;            /* the method is HEAD */
	/* It has an Expect: its client may wait before it sends the body. */
	bool expects;
	struct trace_context trace;
	/* There is a Content-Length; if not, length_bytes is 0. */
	bool has_length;
	uint64_t length_bytes, received_bytes; /* of the body */
	bool must_close; /* after the reply, close the connection */
	const struct route *route;
	/* For PROBLEM_METHOD_NOT_ALLOWED: methods of the path. */
	char allow[32];
	/* The segments of the path that {} stands for. */
	char segments[SEGMENTS_MAX][SEGMENT_BYTES];
	bool is_signed;   /* allowed by the signature of its query */
	bool is_admitted; /* the head was accepted */

	/* The piece of the body in REQUEST_PIECE. */
	const char *piece;
	size_t piece_bytes;
	uint64_t wanted_bytes;       /* of the next piece, if possible */
	enum client_refusal refusal; /* of the client, when this piece came */

	bool has_turn;        /* it has waited for its turn, or waits */
	enum problem problem; /* the first problem that was found */
	char detail[REQUEST_DETAIL_BYTES]; /* "": the problem's own */
	struct excess excess; /* the limit that `problem` is about, if any */

	/* An upload. */
	int fd; /* socket of the connection */
	/* A wait for memory; its charge is NULL: it has not waited. */
	struct budget_waiter memory_wait;
	struct query query;
	struct body body;
	/* Fields of the body before this are already in `query`. */
	size_t fields_at;
	/*
	 * Check the picture's header when this many bytes have arrived; 0:
	 * never.
	 */
	size_t peek_bytes_min;
	struct upload upload;
	struct variant variant; /* used if there is only one */
	struct storing storing;

	/* Other requests. */
	struct picture picture; /* the picture that a GET asks for */
	/* Task of the store stage: read, check or delete. */
	struct task task;
	struct report_wait report;
	struct viewer *viewer; /* NULL: none */

	/* The reply. */
	uint64_t begin_ns;   /* when the head was complete */
	uint64_t replied_ns; /* when the reply was made */
	unsigned int status; /* 0: no reply yet */
	/* Of the reply's body; 0 if the body is the results of an upload. */
	uint64_t reply_bytes;
	/* REPLY_FILE: its file, and the end of what is sent of it; 0: none. */
	int file_fd;
	uint64_t file_end;
	bool has_timing;        /* the reply has Server-Timing */
	char content_range[72]; /* "": none */
	/* Content policy of the reply; NULL: HTTP_NO_CONTENT. */
	const char *policy;
	/* Pages of this origin may read the reply; NULL: only our own. */
	const char *reader_origin;
};

static inline struct request *request_of_upload(const struct upload *u)
{
	return container_of(u, struct request, upload);
}

static inline enum role request_role(const struct request *r)
{
	return r->route != NULL ? r->route->role : ROLE_NONE;
}

/* The value of a header of the request; NULL: there is none. */
static inline const char *request_header(const struct request *r,
					 const char *name)
{
	return http_field_find(r->head->fields, r->head->field_count, name);
}

/*
 * Has the query only parameters with these names, which end with a NULL?  NULL:
 * it must have none.  False: `detail` names another one.
 */
bool request_takes(struct request *r, const char *const *names);

/* The value of a parameter of the query; NULL: there is none, or no "=". */
static inline const char *request_argument(const struct request *r,
					   const char *name)
{
	return http_field_find(r->arguments, r->argument_count, name);
}

/*
 * The connection to suspend while another thread works for it.  NULL: it has
 * a kernel thread of its own, which waits or does the work.
 */
static inline struct connection *request_suspendable(const struct request *r)
{
	return r->port->has_threads ? NULL : r->connection;
}

/*
 * Suspend the connection, unless it has a kernel thread of its own.  True: it
 * was suspended.  Call this before another thread may resume it.
 */
bool request_suspend(struct request *r);
void request_resume(struct request *r);

/*
 * A holder does not use the request any more.  When the last holder calls this,
 * the request is freed.
 */
void request_release(struct request *r);

/*
 * Log and count an admitted upload that the drain limit has ended without a
 * result.
 */
void request_count_abandoned(const struct request *r);

/* head.c */

/*
 * Is the head unambiguous and small enough, and the body not too long?  Sets
 * `host`, `path`, `arguments`, `expects`, `has_length`, `length_bytes` and
 * `trace`.  If there is a problem, may set `must_close`, `detail` and `excess`.
 */
enum problem head_check(struct request *r);

/* The traceparent header of a reply: the same trace, and our span of it. */
void trace_context_print(char out[TRACEPARENT_BYTES],
			 const struct trace_context *c);

/* route.c */

/*
 * Find the route of the path and method.  Sets `route` and `segments`.  If the
 * path does not have this method, sets `allow` too.  If there is none, sets
 * `detail`, unless there is another problem already.
 */
enum problem route_find(struct request *r);

/* auth.c */

/* May the client send this request?  Sets the owner of what is stored. */
enum problem auth_check_request(struct request *r);

/* upload_request.c */

/*
 * Refuse the upload before it gets into the pipeline.  May be called once for
 * any request.
 */
void upload_refuse(struct request *r, enum problem problem);

/* The number of stages for which an upload has times. */
static inline uint32_t upload_stage_count(const struct upload *u)
{
	return u->store != NULL ? PIPELINE_STAGES : PIPELINE_STEPS;
}

/* images/store_request.c */

/* The upload will be stored.  PROBLEM_NO_STORE: there is no store. */
enum problem storing_begin(struct request *r);

/* If `value` is NULL, there was no "=".  False: `detail` lists the values. */
bool storing_set_respond(struct request *r, const char *value);

/* The upload is done.  True: no 202 was sent, so reply to it now. */
bool storing_end_upload(struct request *r);

/* Was the upload accepted with 202?  Then the pipeline goes on with it. */
bool storing_is_accepted(const struct request *r);

/*
 * 202: the image is not stored yet, but will be; if `is_durable`, even after a
 * crash.
 */
bool storing_reply_accepted(struct request *r, bool is_durable);

/* 201: the image is stored. */
bool storing_reply_stored(struct request *r);

/* control.c */

/* A start hook: ask for the report of the route. */
bool control_start_report(struct request *r);

/*
 * The weight for balancers: pipeline_weight_percent(), or 0 while the server
 * stops.  Any thread.
 */
uint32_t control_weight_percent(const struct http *h);

/* A reports_make_fn whose argument is a struct http. */
char *control_make_report(void *http, const struct report_query *q);

/* reply.c */

/*
 * Begin a reply whose body is `text`, which is freed with it, or `bytes`, which
 * must stay in memory until the request ends.  False: `text` is NULL.
 */
MUST_CHECK bool reply_begin_text(struct request *r, struct reply *p,
				 char *text);
void reply_begin_bytes(struct request *r, struct reply *p, const void *bytes,
		       size_t count);

/* Add the headers that all replies have, and send `p` with its body. */
bool reply_send(struct request *r, unsigned int status, const char *type,
		struct reply *p);

/*
 * Let the kernel keep only a few bytes that it cannot send at once.  Then a
 * client that reads slowly takes little memory, and misses what is old.
 */
void reply_limit_unsent(const struct request *r);

/* Reply with `problem`, `detail` and `excess`. */
bool reply_problem(struct request *r);

/* Set the problem, then reply with it. */
static inline bool reply_with_problem(struct request *r, enum problem problem)
{
	r->problem = problem;
	return reply_problem(r);
}

/*
 * Write `problem` to the socket at once.  This is for cases in which the
 * transport accepts no reply (in the middle of a body) or may have no memory
 * for one.  The connection must be closed.  False: no memory.
 */
bool reply_cut_off(struct request *r);

/* clients.c has sent `problem` to the client: count that as the reply. */
void reply_count_sent(struct request *r);

/* The problem of a client that is refused before its request is complete. */
static inline enum problem problem_of_client(enum client_refusal refusal)
{
	return refusal == CLIENT_STOPPING ? PROBLEM_STOPPING :
					    PROBLEM_REQUEST_TIMEOUT;
}

/*
 * A complete reply, with the header "Connection: close"; the caller frees it.
 * `r` NULL: a reply for any request, with nothing that belongs to one.  NULL:
 * no memory.
 */
char *reply_whole_problem(enum problem problem, const struct request *r);

#endif
