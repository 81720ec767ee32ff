/* SPDX-License-Identifier: MIT */
/*
 * Client: sends requests over keep-alive connections.
 *
 *	requests -> [ connection 1 .. N ] ==HTTP/1.1 POST==> server
 *	                     '-> done(result)
 *
 * Closed loop: each connection sends the next request as soon as its last reply
 * is complete.
 * Open loop: the times to send at are drawn beforehand (arrivals.h).  A request
 * is sent at its time if a connection is free; if not, it waits for one, in the
 * order of the intended times.  No reply and no delay changes the time of a
 * later request.
 *
 * One clock measures for each request:
 *  - in an open loop, the time at which it should have been sent: any wait
 *    counts as response time (no coordinated omission);
 *  - its start, just before its first byte is sent.  Connecting, with TLS also
 *    the handshake, was before that and does not count;
 *  - its last byte sent, just after the kernel took it into the socket's
 *    buffer: the moment at which a blocking send() would have returned.  If the
 *    server refuses the upload before that, the time from the last byte is 0;
 *  - the last byte of its reply.
 * No request is sent twice.  If the server closes a kept connection before a
 * request begins, the client opens a new one.  If the server closes it after
 * that and without a reply, the request is a transport error.
 *
 * Ownership  The client borrows everything in its configuration.
 * Threads    One.
 * Limits     A reply's body has at most REPLY_BYTES_MAX (connection.h);
 *            connecting takes at most 10 s and a request `timeout_ns`.  A
 *            request that exceeds a limit is a transport error; the client
 *            notices a limit of time up to 0.1 s late.
 */
#ifndef LOADGEN_CLIENT_CLIENT_H
#define LOADGEN_CLIENT_CLIENT_H

#include "base/error.h"
#include "loadgen/client/arrivals.h"
#include "loadgen/client/request.h"
#include "loadgen/client/result.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct client;

/* Called once for each request.  False: end the run. */
typedef bool client_done_fn(const struct result *result, void *arg);

/* Called at least ten times a second. */
typedef void client_tick_fn(uint32_t in_flight_count, void *arg);

struct client_config {
	const char *url;
	const char *ca_file; /* see tls_new() */
	bool is_insecure;
	struct requests *requests; /* after requests_begin() */
	uint32_t connections;
	struct arrivals *arrivals; /* NULL: a closed loop */
	/*
	 * In a closed loop, no request begins after this time.  In an open
	 * loop, no request is intended for a later time.  0: no limit.
	 */
	uint64_t duration_ns;
	uint64_t timeout_ns; /* for one request, connecting included */
	bool keep_replies;   /* give the body of each reply in its result */
	const volatile sig_atomic_t *stop; /* end the run when not 0 */
	client_done_fn *done;
	client_tick_fn *tick; /* NULL: none */
	void *arg;            /* given to every call of `done` and `tick` */
};

enum client_end {
	CLIENT_FINISHED, /* the requests or the time are over */
	CLIENT_STOPPED,  /* `stop` was set, or `done` returned false */
	CLIENT_GAVE_UP,  /* see client_run() */
	CLIENT_BROKEN,   /* epoll failed */
};

struct client_outcome {
	enum client_end end;
	/* From the beginning of client_run() to the end of the last request. */
	uint64_t makespan_ns;
	const char *error; /* why the client gave up; static text */
};

/*
 * Find the server's addresses, without connecting.  NULL: `error` gives the
 * reason.
 */
struct client *client_new(const struct client_config *config,
			  struct error *error);
void client_free(struct client *c);

/*
 * Send all requests.  Call it once.  A run that ends as CLIENT_FINISHED has
 * waited for all requests in flight.  At any other end, these are broken off
 * and not counted.  The client gives up when many requests in a row could not
 * connect: as many as there are connections, and at least 8.
 */
struct client_outcome client_run(struct client *c);

#endif
