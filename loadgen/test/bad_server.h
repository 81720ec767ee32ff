/* SPDX-License-Identifier: MIT */
/*
 * A server that misbehaves at every second request, beginning with the first:
 * it does what an HTTP server should never do, or rarely does.  The other
 * requests get 200 and "ok".
 *
 * It uses plain sockets, because an HTTP library would not misbehave.
 *
 * Threads    One for each connection.  Read the counts only after
 *            bad_server_stop().
 */
#ifndef LOADGEN_TEST_BAD_SERVER_H
#define LOADGEN_TEST_BAD_SERVER_H

#include "loadgen/test/server.h"

#include <pthread.h>
#include <stdbool.h>

enum bad_end {
	BAD_END_KEEPS,  /* keep the connection for the next request */
	BAD_END_CLOSES, /* close, in the same packet as the reply */
	BAD_END_RESETS,
	BAD_END_WAITS, /* wait until the client has closed */
};

/* What to do wrong.  Members that are set are done in this order. */
struct misdeed {
	const char *early;  /* sent when the head has come */
	bool leaves_body;   /* do not read the body */
	bool reads_slowly;  /* read the body a little at a time, with pauses */
	const char *reply;  /* sent when the body has come */
	bool writes_slowly; /* write the reply one byte at a time */
	enum bad_end end;
};

enum { BAD_SERVER_CONNECTIONS_MAX = 64 };

struct bad_server {
	struct misdeed misdeed;
	int port;
	char url[SERVER_URL_BYTES];
	pthread_t thread;
	pthread_mutex_t lock; /* protects the counts */

	unsigned connection_count;
	unsigned request_count;
	struct server_body bodies[SERVER_BODIES_MAX]; /* one per request */
};

/* Start a server; only the misdeed of `s` must be set. */
void bad_server_start(struct bad_server *s);

/* Stop it, after the client has closed all connections. */
void bad_server_stop(struct bad_server *s);

/* Free the bodies. */
void bad_server_release(struct bad_server *s);

#endif
