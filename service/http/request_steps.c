/* SPDX-License-Identifier: MIT */
/*
 * The state machine of a request: the table `steps` below.
 *
 * The transport calls when the request line, the head, a piece of the body or
 * the whole body has arrived, when a suspended connection was resumed, and at
 * the end.  The first call begins the request in REQUEST_HEAD, and the last
 * one ends it in any state.  Each call in between is an event, which takes the
 * request from a waiting state to the next state.  A state with a function runs
 * the function at once, and so on until a state waits again.
 *
 *	HEAD > CHECK > ROUTE > AUTHORISE > ADMIT > BODY (<> PIECE) > TURN
 *	TURN (> HELD) > START (> WORK) > REPLY > REPLIED or STREAM
 *	START (> WORK > WORKED) > START, if the work has several parts
 *	REPLY > HELD > START > REPLY, if the work has found a problem
 *
 * If there is a problem:
 *
 *	ROUTE, AUTHORISE or ADMIT > REFUSED > DISCARD or TURN
 *	PIECE > DISCARD or CUT_OFF
 *	DISCARD (<> PIECE) > TURN
 *	CUT_OFF > SHUT
 *	START, REPLY or CUT_OFF > CLOSED
 *
 * Between ADMIT and BODY a request may wait for memory: WAIT > WAITED.  Its
 * body is not read until then, and "100 Continue" is not sent.
 *
 * If a request is refused because of its head, its body is still read and
 * discarded, so that the connection can be used again.  The reply does not wait
 * for the body if the connection must be closed, or if the client waits for
 * "100 Continue".
 *
 * A second state machine is in store_request.c: for the reply of 202 to an
 * upload that goes on in the pipeline, and for the task that writes such an
 * upload to the spool.  These run at the same time as the request, in other
 * threads.
 */
#include "service/http/request.h"
#include "service/http/head/auth.h"
#include "service/http/head/browsers.h"
#include "service/http/http_state.h"

#include "base/clock.h"
#include "base/util.h"
#include "service/log/log.h"
#include "service/pipeline/pipeline.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void set_request_id(struct request *r)
{
	struct http *h = r->http;

	r->number = atomic_fetch_add(&h->requests_begun, 1) + 1;
	(void)snprintf(r->id, sizeof(r->id), "%08" PRIx32 "-" UPLOAD_NUMBER,
		       h->id_prefix, r->number);
}

/*
 * The rate of all requests is limited, except that of uploads and of requests
 * for stored images, and theirs is if they are at fault, or too many for the
 * store: a request may have to wait for its turn, see client_hold().
 */
static bool waits_for_turn(const struct request *r)
{
	switch (request_role(r)) {
	case ROLE_NONE:
	case ROLE_PROBE:
	case ROLE_PAGE:
	case ROLE_REPORT:
	case ROLE_PREFLIGHT:
		return true;
	case ROLE_UPLOAD:
	case ROLE_TICKET:
	case ROLE_IMAGE:
	case ROLE_REMOVAL:
		return r->problem != PROBLEM_NONE &&
		       (r->is_turned_away || problem_is_of_request(r->problem));
	case ROLES:
		break;
	}
	abort();
}

/* The head has arrived.  Is it valid? */
static enum request_state check_head(struct request *r)
{
	atomic_fetch_add(&r->port->request_count, 1);
	atomic_store(&r->holder_count, 1);
	client_enter(r->client, CLIENT_BODY);
	r->begin_ns = clock_now_ns();
	set_request_id(r);
	r->problem = head_check(r);
	client_expect(r->client, r->length_bytes);
	return REQUEST_ROUTE;
}

/*
 * Done even if the head is not valid, because the reply is counted for the role
 * of its route.
 */
static enum request_state find_route(struct request *r)
{
	enum problem problem = route_find(r);

	if (r->problem == PROBLEM_NONE)
		r->problem = problem;
	/* With a head like that, it may have several Origins. */
	if (r->problem != PROBLEM_BAD_REQUEST)
		r->reader_origin = browsers_reader(r);
	if (r->reader_origin == NULL && browsers_is_admin_page(r) &&
	    !auth_is_on(r->config->auth))
		r->reader_origin = request_header(r, "Origin");
	return r->problem == PROBLEM_NONE ? REQUEST_AUTHORISE : REQUEST_REFUSED;
}

static enum request_state authorise(struct request *r)
{
	r->problem = auth_check_request(r);
	return r->problem == PROBLEM_NONE ? REQUEST_ADMIT : REQUEST_REFUSED;
}

/* The head was checked and, if there was no problem, nothing is waited for. */
static enum request_state end_admission(struct request *r, enum problem problem)
{
	if (problem == PROBLEM_NONE && r->handler->prepare != NULL)
		problem = r->handler->prepare(r);
	if (problem != PROBLEM_NONE)
		request_refuse(r, problem);
	r->is_admitted = problem == PROBLEM_NONE;
	return r->is_admitted ? REQUEST_BODY : REQUEST_REFUSED;
}

/* From now on the handler's hooks are called.  False: no memory. */
static bool begin_handler(struct request *r)
{
	const struct handler *handler = r->route->handler;

	if (handler->state_bytes > 0)
		r->own = calloc(1, handler->state_bytes);
	if (handler->state_bytes > 0 && r->own == NULL)
		return false;
	r->handler = handler;
	return true;
}

static enum request_state admit(struct request *r)
{
	const struct handler *handler = r->route->handler;
	enum problem problem = PROBLEM_NONE;

	if (!begin_handler(r))
		return end_admission(r, PROBLEM_OUT_OF_MEMORY);
	if (handler->admit != NULL)
		problem = handler->admit(r);
	if (problem == PROBLEM_NONE && handler->wait != NULL &&
	    handler->wait(r))
		return REQUEST_WAIT;
	return end_admission(r, problem);
}

/* Chunks may be over before their end has come as an event. */
static bool is_body_empty(const struct request *r)
{
	const struct chunk_reader *c = &r->head->chunks;

	return r->head->is_chunked ? c->is_over && c->bytes == 0 :
				     r->length_bytes == 0;
}

/*
 * The connection was resumed.  The transport calls with the first piece of the
 * body, or at the end of an empty one; some versions of libmicrohttpd call
 * first without a piece.
 */
static enum request_state end_waiting(struct request *r)
{
	enum request_state next;

	if (!client_end_wait(r->client, r->length_bytes))
		return REQUEST_CLOSED;
	next = end_admission(r, PROBLEM_NONE);
	if (r->is_gone)
		return REQUEST_CLOSED;
	if (r->received_bytes > 0)
		return r->must_close ? REQUEST_CUT_OFF : REQUEST_PIECE;
	return is_body_empty(r) ? REQUEST_TURN : next;
}

static enum request_state refuse_head(struct request *r)
{
	if (r->must_close || r->expects)
		return REQUEST_TURN;
	return REQUEST_DISCARD;
}

/* A piece of the body, which is ignored if there is a problem. */
static enum request_state take_piece(struct request *r)
{
	enum problem problem = PROBLEM_NONE;

	if (r->refusal != CLIENT_WELCOME &&
	    r->received_bytes != r->length_bytes) {
		if (r->problem == PROBLEM_NONE)
			request_refuse(r, problem_of_client(r->refusal));
		return REQUEST_CUT_OFF;
	}
	r->wanted_bytes = UINT64_MAX;
	if (r->problem == PROBLEM_NONE && r->handler->receive != NULL)
		problem = r->handler->receive(r, r->piece, r->piece_bytes);
	if (problem != PROBLEM_NONE)
		request_refuse(r, problem);
	client_gather(r->client, r->wanted_bytes);
	return r->problem == PROBLEM_NONE ? REQUEST_BODY : REQUEST_DISCARD;
}

static enum client_turn turn_of(const struct request *r)
{
	switch (request_role(r)) {
	case ROLE_PROBE:
		return CLIENT_TURN_PROBE;
	case ROLE_PREFLIGHT:
		return CLIENT_TURN_PREFLIGHT;
	default:
		return CLIENT_TURN_OTHER;
	}
}

/* False: the request is held until its turn comes. */
static bool take_turn(struct request *r)
{
	if (r->has_turn || !waits_for_turn(r))
		return true;
	r->has_turn = true;
	return client_hold(r->client, turn_of(r), request_suspendable(r));
}

/*
 * The body is over, or its rest is not needed.  If its chunks have a fault,
 * nothing behind them can be read.
 */
static void check_chunks(struct request *r)
{
	enum problem problem;

	if (r->head->chunks.fault == CHUNKS_FINE)
		return;
	r->must_close = true;
	if (r->problem != PROBLEM_NONE)
		return;
	problem = head_check_chunks(r);
	request_refuse(r, problem);
}

static enum request_state wait_for_turn(struct request *r)
{
	check_chunks(r);
	client_enter(r->client, CLIENT_WORK);
	return take_turn(r) ? REQUEST_START : REQUEST_HELD;
}

static enum request_state start_work(struct request *r)
{
	if (r->has_turn && client_is_shut(r->client))
		return REQUEST_CLOSED;
	if ((r->problem == PROBLEM_NONE || r->starts_again) &&
	    r->handler->start != NULL && r->handler->start(r))
		return REQUEST_WORK;
	return r->starts_again ? REQUEST_START : REQUEST_REPLY;
}

static enum request_state end_work(struct request *r)
{
	return r->starts_again ? REQUEST_START : REQUEST_REPLY;
}

static enum request_state send_reply(struct request *r)
{
	bool is_queued;

	/* The work has found that the request is at fault. */
	if (!take_turn(r))
		return REQUEST_HELD;
	is_queued = r->problem != PROBLEM_NONE ? reply_problem(r) :
						 r->handler->reply(r);
	if (!is_queued)
		return REQUEST_CLOSED;
	if (!r->is_stream)
		return REQUEST_REPLIED;
	/* http_wait_answered() does not wait for a reply without an end. */
	atomic_fetch_sub(&r->port->request_count, 1);
	return REQUEST_STREAM;
}

static enum request_state cut_off(struct request *r)
{
	return reply_cut_off(r) ? REQUEST_SHUT : REQUEST_CLOSED;
}

/* What the transport has called. */
enum request_event {
	EVENT_HEAD,  /* the head is complete */
	EVENT_PIECE, /* a piece of the body has arrived */
	EVENT_NEXT,  /* the body is complete, or the connection was resumed */
	EVENTS
};

/*
 * A state either runs a function, which returns the next state, or waits for an
 * event, which leads to the next state.  An event that is not listed cannot
 * happen: request_advance() asserts it.
 */
static const struct step {
	enum request_state (*run)(struct request *r);
	enum request_state after[EVENTS];
} steps[REQUEST_STATES] = {
	/* The request line has arrived. */
	[REQUEST_HEAD] = { .after = { [EVENT_HEAD] = REQUEST_CHECK } },
	[REQUEST_CHECK] = { check_head },
	[REQUEST_ROUTE] = { find_route },
	[REQUEST_AUTHORISE] = { authorise },
	[REQUEST_ADMIT] = { admit },
	/* Suspended: there is no memory for the request now. */
	[REQUEST_WAIT] = { .after = { [EVENT_PIECE] = REQUEST_WAITED,
				      [EVENT_NEXT] = REQUEST_WAITED } },
	[REQUEST_WAITED] = { end_waiting },
	[REQUEST_REFUSED] = { refuse_head },
	/* The route's handler receives the body. */
	[REQUEST_BODY] = { .after = { [EVENT_PIECE] = REQUEST_PIECE,
				      [EVENT_NEXT] = REQUEST_TURN } },
	[REQUEST_PIECE] = { take_piece },
	/* There is a problem: the rest of the body is read and ignored. */
	[REQUEST_DISCARD] = { .after = { [EVENT_PIECE] = REQUEST_PIECE,
					 [EVENT_NEXT] = REQUEST_TURN } },
	[REQUEST_TURN] = { wait_for_turn },
	/*
	 * Suspended by clients.c.  Pieces may arrive, if the head was refused:
	 * the body has not been read yet.
	 */
	[REQUEST_HELD] = { .after = { [EVENT_PIECE] = REQUEST_HELD,
				      [EVENT_NEXT] = REQUEST_START } },
	[REQUEST_START] = { start_work },
	/*
	 * Suspended: the pipeline, the store or reports.c works for the
	 * request.
	 */
	[REQUEST_WORK] = { .after = { [EVENT_NEXT] = REQUEST_WORKED } },
	[REQUEST_WORKED] = { end_work },
	[REQUEST_REPLY] = { send_reply },
	/*
	 * The reply is queued, or it has no end.  The transport may still read
	 * the body.
	 */
	[REQUEST_REPLIED] = { .after = { [EVENT_PIECE] = REQUEST_REPLIED,
					 [EVENT_NEXT] = REQUEST_REPLIED } },
	[REQUEST_STREAM] = { .after = { [EVENT_PIECE] = REQUEST_STREAM,
					[EVENT_NEXT] = REQUEST_STREAM } },
	/* A problem is written to the socket; the connection is closed. */
	[REQUEST_CUT_OFF] = { cut_off },
	[REQUEST_SHUT] = { .after = { [EVENT_PIECE] = REQUEST_SHUT,
				      [EVENT_NEXT] = REQUEST_SHUT } },
	/* The connection is closed without a reply. */
	[REQUEST_CLOSED] = { .after = { [EVENT_PIECE] = REQUEST_CLOSED,
					[EVENT_NEXT] = REQUEST_CLOSED } },
};

/* False: the connection must be closed. */
static bool request_advance(struct request *r, enum request_event event)
{
	enum request_state next = steps[r->state].after[event];

	assert(next != REQUEST_NONE);
	r->state = next;
	while (steps[r->state].run != NULL)
		r->state = steps[r->state].run(r);
	return r->state != REQUEST_SHUT && r->state != REQUEST_CLOSED;
}

static const struct handler no_handler; /* before there is r->own */

struct request *request_new(struct connection *c)
{
	struct request *r = calloc(1, sizeof(*r));

	client_enter(c->client, CLIENT_HEAD);
	if (r == NULL)
		return NULL;
	r->state = REQUEST_HEAD;
	r->port = c->port;
	r->http = r->port->http;
	r->config = &r->http->config;
	r->connection = c;
	r->client = c->client;
	r->handler = &no_handler;
	r->begin_ns = clock_now_ns();
	return r;
}

/* Count a piece of the body, whatever the state. */
static void keep_piece(struct request *r, const char *data, size_t bytes)
{
	r->piece = data;
	r->piece_bytes = bytes;
	r->received_bytes += bytes;
	r->refusal = client_receive(r->client, bytes);
	atomic_fetch_add(&r->http->counts.received_bytes[request_role(r)],
			 bytes);
}

/* The log contains no text from the client, so the method is one of these. */
static const char *method_name(const char *method)
{
	static const char *const names[] = {
		"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], method) == 0)
			return names[i];
	return "other";
}

bool request_head(struct request *r, const struct request_head *head)
{
	r->head = head;
	r->method_name = method_name(head->method);
	return request_advance(r, EVENT_HEAD);
}

bool request_piece(struct request *r, const char *data, size_t bytes)
{
	keep_piece(r, data, bytes);
	return request_advance(r, EVENT_PIECE);
}

bool request_next(struct request *r)
{
	return request_advance(r, EVENT_NEXT);
}

/* Was the request refused before all of it had arrived? */
static bool is_cut(const struct request *r, enum request_ending how)
{
	if (r->status == 0)
		return how == ENDED_BROKEN;
	if (r->must_close || r->received_bytes < r->length_bytes)
		return true;
	/* It may have been refused before it had sent its head. */
	return r->head != NULL && r->head->is_chunked &&
	       !r->head->chunks.is_over;
}

/* If clients.c has sent the client a refusal, that was the reply. */
static void count_refusal(struct request *r)
{
	enum client_refusal sent = client_told(r->client);

	if (r->status != 0 || sent == CLIENT_WELCOME)
		return;
	if (r->state == REQUEST_HEAD)
		set_request_id(r);
	else if (r->problem == PROBLEM_NONE)
		request_refuse(r, problem_of_client(sent));
	r->problem = problem_of_client(sent);
	reply_count_sent(r);
}

/* Has a reply of 202 been sent, so that the work goes on? */
static bool request_goes_on(const struct request *r)
{
	return r->handler->goes_on != NULL && r->handler->goes_on(r);
}

/*
 * Has the drain limit ended the upload?  False if the client has ended it by
 * disconnecting.
 */
static bool is_abandoned(const struct request *r, enum request_ending how)
{
	return r->is_admitted && request_role(r) == ROLE_UPLOAD &&
	       atomic_load(&r->http->abandoning) && !request_goes_on(r) &&
	       (r->problem == PROBLEM_STOPPING || how == ENDED_STOPPED);
}

/*
 * Is the file of the reply shorter than it was when the reply began?  For
 * libmicrohttpd, a reply ends well with the file.
 */
static bool is_shortened(const struct request *r)
{
	struct stat file;

	return r->file_end > 0 && fstat(r->file_fd, &file) == 0 &&
	       (uint64_t)file.st_size < r->file_end;
}

static const char *end_name(const struct request *r, enum request_ending how)
{
	if (is_shortened(r))
		return "damaged";
	if (how == ENDED_SENT)
		return "sent";
	if (how == ENDED_STOPPED)
		return "stopped";
	return r->state == REQUEST_SHUT || client_is_shut(r->client) ? "shut" :
								       "gone";
}

/*
 * Successful requests for probes, reports and the page, and preflights, are not
 * logged, because they would fill the log.
 */
static bool is_worth_logging(const struct request *r)
{
	switch (request_role(r)) {
	case ROLE_PROBE:
	case ROLE_PAGE:
	case ROLE_REPORT:
		return r->status != STATUS_OK;
	case ROLE_PREFLIGHT:
		return r->status != STATUS_NO_CONTENT;
	default:
		return true;
	}
}

/* The time until the body was complete, or until its rest was not needed. */
static void log_add_body(struct log_request *line, const struct request *r)
{
	uint64_t end_ns = r->begin_ns + line->total_ns;

	if (r->received_bytes == 0)
		return;
	if (r->submitted_ns > 0)
		end_ns = r->submitted_ns;
	else if (r->status != 0)
		end_ns = r->replied_ns;
	log_request_add_step(line, "body", 0, end_ns - r->begin_ns);
}

/* A request that is no upload has the times of one that was not worked on. */
static void log_add_no_work(struct log_request *line, const struct request *r)
{
	struct pipeline_steps of = pipeline_own_steps(r->config->pipeline);

	log_request_add_time(line, "queue", 0);
	for (uint32_t i = 0; i < of.count; i++)
		log_request_add_time(line, of.names[i], 0);
}

static void log_add_reply(struct log_request *line, const struct request *r)
{
	if (r->status != 0)
		log_request_add_step(line, "reply", r->replied_ns - r->begin_ns,
				     r->begin_ns + line->total_ns -
					     r->replied_ns);
}

static void log_add_trace(struct log_request *line,
			  const struct trace_context *c)
{
	if (c->trace_id[0] == '\0')
		return;
	line->trace_id = c->trace_id;
	line->span_id = c->span_id;
	line->parent_span_id = c->parent_id;
}

static void log_request_end(const struct request *r, enum request_ending how)
{
	struct log_request line = {
		.id = r->id,
		.method = r->method_name,
		.path = r->route != NULL ? r->route->path : NULL,
		.end = end_name(r, how),
		.status = r->status,
		.bytes_in = r->received_bytes,
		.bytes_out = r->reply_bytes,
		.total_ns = clock_now_ns() - r->begin_ns,
		.idle_ns = r->idle_ns,
	};

	if (!is_worth_logging(r))
		return;
	log_add_trace(&line, &r->trace);
	if (r->status != 0 && r->problem != PROBLEM_NONE)
		line.code = problem_code(r->problem);
	log_add_body(&line, r);
	if (r->handler->log != NULL)
		r->handler->log(r, &line);
	else
		log_add_no_work(&line, r);
	log_add_reply(&line, r);
	log_request(r->config->log, &line);
}

void request_end(struct connection *c, struct request *r,
		 enum request_ending how)
{
	if (r == NULL) {
		client_enter(c->client, CLIENT_IDLE);
		return;
	}
	count_refusal(r);
	if (is_cut(r, how))
		client_cut(r->client);
	if (is_abandoned(r, how))
		request_count_abandoned(r);
	if (is_shortened(r))
		log_message(r->config->log, LOG_LEVEL_ERROR,
			    "a picture of the stored image %s could not be "
			    "sent to its end: its file has become shorter",
			    r->segments[0]);
	if (r->state != REQUEST_HEAD || r->status != 0)
		log_request_end(r, how);
	if (r->handler->end != NULL)
		r->handler->end(r);
	client_enter(c->client, CLIENT_IDLE);
	if (r->state != REQUEST_HEAD)
		request_release(r);
	else
		free(r);
}
