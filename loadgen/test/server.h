/* SPDX-License-Identifier: MIT */
/*
 * A small HTTP server for tests, on a port of 127.0.0.1 that the kernel chose.
 *
 * It keeps the bodies of uploads, and replies according to its mode.
 *
 * Threads    It has one of its own.  Read the counts only after server_stop().
 */
#ifndef LOADGEN_TEST_SERVER_H
#define LOADGEN_TEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>

enum server_mode {
	SERVER_ECHO,        /* 200 and the upload itself */
	SERVER_BUSY,        /* 503 */
	SERVER_CUT,         /* 200, and close before the end of the body */
	SERVER_DROP_SECOND, /* close every second request without a reply */
	SERVER_LONG,        /* 200 and a body of reply_bytes */
	SERVER_STALL,       /* as ECHO, but pauses at the first request */
};

enum {
	SERVER_BODIES_MAX = 2000,
	SERVER_URL_BYTES = 64,
	SERVER_STALL_MS = 1000,
};

struct server_body {
	char *bytes;
	size_t size_bytes, room_bytes;
	char width[16]; /* parameter w of the query; empty: none */
};

struct server {
	enum server_mode mode;
	size_t reply_bytes;        /* of SERVER_LONG */
	bool takes_forms;          /* accept only multipart forms */
	const char *authorization; /* expected of each request; NULL: none */
	const char *counter;       /* of uploads, in /metrics; NULL: none */
	void *daemon;
	char url[SERVER_URL_BYTES];

	unsigned connection_count;
	unsigned open_count;      /* connections that are open now */
	unsigned open_count_peak; /* most connections at the same time */
	unsigned request_count;
	unsigned strange_count; /* requests with unexpected properties */
	struct server_body bodies[SERVER_BODIES_MAX]; /* one per request */
};

/* Start a server; only the mode of `s` must be set. */
void server_start(struct server *s);

/* Wait until all requests have ended, and stop.  The counts stay. */
void server_stop(struct server *s);

/* Free the bodies. */
void server_release(struct server *s);

/*
 * A port without a server: bound, and listening only if `listening`; it never
 * replies.  Returns the socket and writes the URL.
 */
int dead_port_open(int listening, char url[SERVER_URL_BYTES]);

#endif
