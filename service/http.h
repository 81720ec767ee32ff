/* SPDX-License-Identifier: MIT */
/*
 * HTTP: requests in, uploads to the pipeline, replies out, by libmicrohttpd.
 *
 * One I/O thread serves all connections; a connection whose upload is in the
 * pipeline is suspended.  Where the pipeline has no workers, each connection
 * has a thread, which runs the pipeline itself.
 *
 * Threads    One thread calls all functions, in the order of this file.
 * Limits     connections_max connections; body_bytes_max per request; idle
 *            connections are closed after a while.
 */
#ifndef SERVICE_HTTP_H
#define SERVICE_HTTP_H

#include <stdbool.h>
#include <stdint.h>

struct http;
struct pipeline;

struct http_config {
	int listen_fd; /* owned by http from http_start() on */
	struct pipeline *pipeline;
	uint32_t connections_max;
	uint64_t body_bytes_max;
	uint32_t deadline_ms; /* of an upload, from its head on; 0: none */
	/* The bodies of /stats and /trace, to be free()d; NULL: no memory. */
	char *(*stats_json)(void *arg);
	char *(*trace_json)(void *arg, uint32_t ms); /* NULL: not traced */
	void *report_arg;
};

/* NULL: could not start. */
struct http *http_start(const struct http_config *config);

/* Accept no connections any more and refuse uploads that come by open ones. */
void http_refuse(struct http *h);

/*
 * Wait until every request that has begun to arrive is answered, to its last
 * byte.  False: that took longer than `limit_ms`.
 */
bool http_wait_answered(struct http *h, uint32_t limit_ms);

/* Close all connections.  The pipeline must have stopped. */
void http_stop(struct http *h);

#endif
