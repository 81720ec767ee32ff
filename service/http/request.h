/* SPDX-License-Identifier: MIT */
/*
 * Request: one HTTP request: its head, its state, and its reply.  Used inside
 * http/ only.
 *
 * request_steps.c has the states that it goes through.  The steps are in:
 *
 *	head/head.c       is the head valid, and how long is the body?
 *	route.c           which handler answers this path and method?
 *	head/auth.c       may this client send the request?
 *	reply/reply.c     the reply
 *
 * A handler answers the requests of a kind.  What it must remember of a
 * request is in a struct of its own, r->own, whose size the handler states.  In
 * handlers/:
 *
 *	upload_request.c  POST / and /v1/process, and /v1/images; with body.c
 *	images/           what POST /v1/images does in addition; GET and DELETE
 *	                  of /v1/images/...
 *	uploads/          the same for /v1/uploads
 *	control.c         page, probes, reports, GET /v1/live
 *	preflight.c       OPTIONS of all paths
 *
 * The functions with names such as reply_...() queue a reply.  False: there was
 * no memory for it or the client has disconnected, and the connection is
 * closed.
 *
 * Ownership  The request owns `arguments`, `detail` and `own`.  Its holders
 *            share it, and the last request_release() frees it: the handler's
 *            release() first, then `own`.
 * Threads    A request belongs to its connection's thread: one of the I/O
 *            threads, or a thread of the connection's own.  Several of these
 *            threads run at the same time, so what requests share is atomic,
 *            has a lock, or is set before there are connections.  In
 *            REQUEST_WORK the request belongs to the thread that works for it,
 *            until that thread resumes the connection.  After a reply of 202
 *            its `own` belongs to the pipeline, and no other member does: a
 *            thread that is only a holder uses `own`, what is set before
 *            REQUEST_START, and neither `detail` nor `submitted_ns`.
 */
#ifndef SERVICE_REQUEST_H
#define SERVICE_REQUEST_H

#include "service/http/connection/clients.h"
#include "service/http/http_config.h"
#include "service/http/transport.h"

#include "base/util.h"

#include <stdatomic.h>

struct http;
struct log_request;
struct port;

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

enum method {
	METHOD_GET = 1,
	METHOD_POST = 2,
	METHOD_DELETE = 4,
	METHOD_OPTIONS = 8,
	METHOD_PUT = 16,
	METHOD_PATCH = 32,
};

/*
 * How requests of one kind are answered; each file has its handlers at its end.
 * If a hook is NULL, nothing is done.
 *
 * A request's hooks are called one at a time, by the thread of its connection;
 * release() by the last holder's.  They run in an I/O thread if
 * request_suspendable() is not NULL: then they must not wait, and leave work
 * that takes long to another thread.
 *
 * admit(), prepare() and receive() return why the request is refused, and may
 * have said more by request_explain() and in `excess`.  refuse() is called
 * then, too.
 */
struct handler {
	/*
	 * Bytes of what it remembers of a request: r->own, which is zero in
	 * REQUEST_ADMIT, and NULL before that.
	 */
	size_t state_bytes;
	/* Where in it is the struct picture_request, if there is one. */
	size_t picture_at;
	/* REQUEST_ADMIT: check the head further. */
	enum problem (*admit)(struct request *r);
	/*
	 * REQUEST_ADMIT: does the request have to wait before its body is read?
	 * True: the connection is suspended, and resumed when the wait is over.
	 */
	bool (*wait)(struct request *r);
	/*
	 * After the wait, if any: prepare for the body.  Sets r->is_gone if the
	 * client has disconnected.
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
	 * False: the work is already done, or `problem` is set.  If it sets
	 * `starts_again`, it is called again when that work is done, also if
	 * there is a problem then.
	 */
	bool (*start)(struct request *r);
	/*
	 * REQUEST_REPLY: the work is done; queue a reply.  Not called if
	 * `problem` is set.  False: as for the functions reply_...().
	 */
	bool (*reply)(struct request *r);
	/*
	 * The request is refused before its work begins, at most once.  Free
	 * what only the work needs; the rest of the body may still be read.
	 */
	void (*refuse)(struct request *r);
	/*
	 * The connection's part has ended, perhaps before the request was
	 * complete; its client and its head are about to be freed.  May keep
	 * the request for a while, by another holder.
	 */
	void (*end)(struct request *r);
	/*
	 * Does the work go on when the connection has ended?  Then its reply
	 * was 202.
	 */
	bool (*goes_on)(const struct request *r);
	/* Add headers about the work to the reply; called if r->has_timing. */
	void (*add_timing)(const struct request *r, struct reply *p);
	/*
	 * Add what was worked to the line of the log, at the end of the
	 * connection's part.  If goes_on(), the pipeline may have r->own.
	 */
	void (*log)(const struct request *r, struct log_request *line);
	/*
	 * Nobody uses the request any more: free what the hooks have left in
	 * r->own.
	 */
	void (*release)(struct request *r);
};

extern const struct handler upload_handler; /* upload_request.c */
extern const struct handler stored_upload_handler;
extern const struct handler new_ticket_handler;
extern const struct handler ticket_upload_handler;
extern const struct handler ticket_part_handler;
extern const struct handler ticket_handler; /* uploads/ticket_request.c */
extern const struct handler ticket_removal_handler;
extern const struct handler image_handler; /* images/images.c */
extern const struct handler image_removal_handler;
extern const struct handler picture_handler;
extern const struct handler original_handler;
extern const struct handler list_handler;   /* images/list_request.c */
extern const struct handler making_handler; /* upload_request.c */
extern const struct handler adding_handler;
extern const struct handler page_handler; /* control.c */
extern const struct handler health_handler;
extern const struct handler ready_handler;
extern const struct handler load_handler;
extern const struct handler estimates_handler;
extern const struct handler report_handler;
extern const struct handler trace_handler;
extern const struct handler blocking_handler;
extern const struct handler live_handler;
extern const struct handler preflight_handler;
extern const struct handler openapi_handler;

/* An entry of the table in route.c. */
struct route {
	const char *path; /* {} stands for one segment */
	enum method method;
	enum role role;
	const struct handler *handler;
	int report; /* the enum report_kind, if its handler is about one */
	bool takes_metrics_key; /* of --metrics-key-file */
	bool speaks_tus;        /* see head/tus.h */
	bool is_described;      /* in openapi.c, although it is a page's */
	bool makes; /* only if the query asks for a picture, by a parameter */
};

/* See the table in request_steps.c. */
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
	REQUEST_WORKED,
	REQUEST_REPLY,
	REQUEST_REPLIED,
	REQUEST_STREAM,
	REQUEST_CUT_OFF,
	REQUEST_SHUT,
	REQUEST_CLOSED,
	REQUEST_STATES
};

struct request {
	/* Its connection. */
	struct port *port;
	struct http *http; /* the server that `port` belongs to */
	const struct http_config *config; /* the configuration of `http` */
	struct connection *connection;
	struct client *client; /* the client of `connection` */

	/*
	 * Its head.  The transport owns the texts; they are valid from
	 * REQUEST_CHECK to the end.
	 */
	const struct request_head *head;
	const char *host; /* in its target or, without one there, in Host */
	const char *path; /* of its target, decoded */
	/* The parameters of its query, decoded; NULL: none.  Owned. */
	struct http_field *arguments;
	uint32_t argument_count;
	bool is_head; /* the method is HEAD */
	/* It has an Expect: its client may wait before it sends the body. */
	bool expects;
	bool has_length;         /* there is a Content-Length */
	bool must_close;         /* after the reply, close the connection */
	bool is_signed;          /* allowed by the signature of its query */
	bool is_admitted;        /* the head was accepted */
	const char *method_name; /* a constant text, for the log */
	/* Of the body; 0 without has_length, also if it comes in chunks. */
	uint64_t length_bytes;
	struct trace_context trace;
	const struct route *route;
	/* For PROBLEM_METHOD_NOT_ALLOWED and OPTIONS: methods of the path. */
	char allow[64];
	bool speaks_tus; /* the path does */
	/* The segments of the path that {} stands for. */
	char segments[SEGMENTS_MAX][SEGMENT_BYTES];
	/* Owner of the key; "": the server has no keys. */
	char owner[OWNER_BYTES];

	/* Its state. */
	enum request_state state;
	/*
	 * Number of holders: the connection and, with respond=decoded, also the
	 * pipeline and the task that writes the upload to the spool.
	 */
	_Atomic uint32_t holder_count;
	uint64_t number; /* of the requests that have begun */
	char id[REQUEST_ID_BYTES];
	uint64_t begin_ns; /* when the head was complete */
	/* When the work began: the body's end, for the log; 0: not known. */
	uint64_t submitted_ns;
	/* Of the route, once there is `own`; before that, one without hooks. */
	const struct handler *handler;
	void *own; /* the handler's state_bytes */
	/* The piece of the body in REQUEST_PIECE. */
	const char *piece;
	size_t piece_bytes;
	uint64_t received_bytes;     /* of the body */
	uint64_t wanted_bytes;       /* of the next piece, if possible */
	enum client_refusal refusal; /* of the client, when this piece came */
	bool is_gone;         /* the client has disconnected while it waited */
	bool has_turn;        /* it has waited for its turn, or waits */
	bool is_turned_away;  /* there were too many reads of stored images */
	bool starts_again;    /* start() is called again, after the work */
	bool is_stream;       /* the reply has no end */
	enum problem problem; /* the first problem that was found */
	char *detail; /* request_explain(); NULL: the problem's own.  Owned. */
	struct excess excess; /* the limit that `problem` is about, if any */

	/* Its reply. */
	bool has_timing;      /* it has Server-Timing */
	unsigned int status;  /* 0: no reply yet */
	uint64_t replied_ns;  /* when the reply was made */
	uint64_t idle_ns;     /* that it has waited because it asked for it */
	uint64_t reply_bytes; /* of the body; 0 if it is results of an upload */
	uint64_t result_bytes; /* of these results */
	/* REPLY_FILE: its file, and the end of what is sent of it; 0: none. */
	int file_fd;
	uint64_t file_end;
	char content_range[72]; /* "": none */
	const char *policy;     /* content policy; NULL: HTTP_NO_CONTENT */
	/* Whose pages may read the reply, "*": any; NULL: only our own. */
	const char *reader_origin;
};

_Static_assert(sizeof(struct request) <= 1024,
	       "what a handler needs is in its own struct: state_bytes");

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
 * Say what is wrong, in place of the problem's own sentence; what is over
 * REQUEST_DETAIL_BYTES is cut.  Without memory, nothing is said.
 */
__attribute__((format(printf, 2, 3))) void
request_explain(struct request *r, const char *format, ...);

/*
 * The connection to suspend while another thread works for it.  NULL: it has
 * a kernel thread of its own, which waits or does the work.
 */
struct connection *request_suspendable(const struct request *r);

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
 * Refuse the request before its work begins.  May be called once for any
 * request.
 */
void request_refuse(struct request *r, enum problem problem);

/* Statistics: a request with this problem is counted if it is a refusal. */
void request_count_refusal(const struct request *r, enum problem problem);

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

/*
 * The body is over: have its chunks, if any, a fault?  Sets `must_close`,
 * `detail` and `excess` then.
 */
enum problem head_check_chunks(struct request *r);

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

/* The routes, from 0 on; NULL: there are no more.  A method is "GET". */
const struct route *route_at(uint32_t i);
const char *route_method_name(const struct route *route);

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
