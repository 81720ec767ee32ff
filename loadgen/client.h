/* SPDX-License-Identifier: MIT */
/*
 * Client: sends requests over keep-alive connections.
 *
 *	requests -> [ connection 1 .. N ] ==HTTP/1.1 POST==> server
 *	                     '-> done(result)
 *
 * Closed loop: each connection sends the next of the requests as soon as its
 * last reply is complete.
 * Open loop: the times to send at are drawn beforehand (arrivals.h), and each
 * request is sent at its time if a connection is free, else as soon as one is,
 * first intended first.  No reply and no delay moves a later request's time.
 *
 * All in one thread.  What is measured, all by one clock, for each request:
 *  - in an open loop, the time it was intended for: whatever makes it wait
 *    counts as response time (no coordinated omission);
 *  - its start, just before its first byte is sent on a connection that stands
 *    already: connecting is not counted;
 *  - its last byte sent, just after the kernel took it into the socket's
 *    buffer, which is also when a blocking send() would have returned.  A
 *    refusal that is complete even before that has the response time 0;
 *  - its reply's last byte received.
 * No request is sent twice: a kept connection that is closed after the request
 * was begun, and without a reply, is a transport error.  One that was closed
 * before is replaced.
 *
 * Ownership  The client borrows everything in its configuration.
 * Threads    One.
 * Limits     A reply's body has REPLY_BYTES_MAX (reply.h) at most, and the time
 *            is limited for connecting (10 s) and for the whole request; what
 *            goes beyond is a transport error, noticed 0.1 s late at most.
 */
#ifndef LOADGEN_CLIENT_H
#define LOADGEN_CLIENT_H

#include "loadgen/arrivals.h"
#include "loadgen/error.h"
#include "loadgen/requests.h"
#include "loadgen/result.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct client;

/* Called once for each request.  False: end the run. */
typedef bool client_done_fn(const struct result *result, void *arg);

/* Called ten times a second at least. */
typedef void client_tick_fn(void *arg);

struct client_config {
	const char *url;
	struct requests *requests; /* begun */
	uint32_t connections;
	struct arrivals *arrivals; /* NULL: a closed loop */
	/* Begin or, in an open loop, intend no request later; 0: no limit. */
	uint64_t duration_ns;
	uint64_t timeout_ns; /* for one request, connecting included */
	bool keep_replies;   /* results have the reply's body */
	const volatile sig_atomic_t *stop; /* end the run when not 0 */
	client_done_fn *done;
	client_tick_fn *tick; /* NULL: none */
	void *arg;            /* given to every call of `done` and `tick` */
};

enum client_end {
	CLIENT_FINISHED, /* the requests or the time are over */
	CLIENT_STOPPED,  /* by `stop` or `done` */
	CLIENT_GAVE_UP,  /* see client_run() */
	CLIENT_BROKEN,   /* epoll failed */
};

/*
 * Find the server's addresses, and connect nothing yet.  NULL: `error` says why
 * not.
 */
struct client *client_new(const struct client_config *config,
			  struct error *error);
void client_free(struct client *c);

/*
 * Send, once.  CLIENT_FINISHED lets all requests in flight end; the other ends
 * break them off, uncounted.  Gives up when as many requests in a row as there
 * are connections (8 at least) could not even connect.
 */
enum client_end client_run(struct client *c);

uint32_t client_in_flight_count(const struct client *c);

/* From the beginning of client_run() to the end of the last request. */
uint64_t client_makespan_ns(const struct client *c);

/* Why the client gave up; a static text. */
const char *client_error(const struct client *c);

#endif
