/* SPDX-License-Identifier: MIT */
/*
 * HTTP: requests in, uploads to the pipeline, replies out, by libmicrohttpd.
 *
 * One I/O thread serves all connections; a connection whose upload is in the
 * pipeline is suspended.  Where the pipeline has no workers, each connection
 * has a thread, which runs the pipeline itself.
 *
 * An admin port, if there is one, has its own thread and connections, so that
 * it answers whatever uploads do.  What the server tells of itself is then
 * served there alone, but for probes, which both ports answer.
 *
 * Threads    One thread calls all functions, in the order of this file.
 * Limits     connections_max connections, and those of the admin port;
 *            body_bytes_max per request; clients.h says how long a connection
 *            may take.
 */
#ifndef SERVICE_HTTP_H
#define SERVICE_HTTP_H

#include <stdbool.h>
#include <stdint.h>

struct auth;
enum { HTTP_ADMIN_CONNECTIONS_MAX = 16 };

struct http;
struct http_counts;
struct log;
struct pipeline;
struct store;

/* What there is to tell of HTTP. */
struct http_report {
	const struct http_counts *counts;
	bool is_ready;
	uint32_t connections_max;
	uint32_t connection_count, admin_connection_count; /* now */
	uint32_t viewer_count;                             /* as well */
};

struct http_config {
	int listen_fd; /* owned by http once it has started */
	int admin_fd;  /* as well; -1: no admin port */
	struct pipeline *pipeline;
	struct log *log;
	struct store *store; /* NULL: none */
	const struct auth *auth;
	const char *tls_certificate; /* PEM; NULL: plain HTTP */
	const char *tls_key;
	uint32_t connections_max;
	uint32_t per_address_max; /* connections; 0: any */
	uint64_t requests_max;    /* of a connection; 0: any */
	uint32_t head_ms, idle_ms;
	uint64_t rate_min; /* of bodies and replies, bytes per s; 0: any */
	uint64_t body_bytes_max;
	const char *presets;  /* see query.h; NULL: none */
	uint32_t deadline_ms; /* of an upload, from its head on; 0: none */
	/* The bodies of /stats and /trace, to be free()d; NULL: no memory. */
	char *(*stats_json)(void *arg);
	/* Of what ended after and started before.  NULL: not traced. */
	char *(*trace_json)(void *arg, uint64_t since_ns, uint64_t until_ns);
	/* Of /metrics. */
	char *(*metrics_text)(void *arg, const struct http_report *http);
	/*
	 * Of /v1/live: events, whole ones; see viewers.h, whose thread alone
	 * asks for frames.
	 */
	char *(*live_hello)(void *arg);
	char *(*live_frame)(void *arg, bool is_first);
	void *report_arg;
};

/* NULL: it could not be started, and the program has to end. */
struct http *http_start(const struct http_config *config);

/*
 * Say that there will soon be nobody here: /readyz is false, and every reply is
 * the last on its connection.  Uploads are taken as ever.
 */
void http_leave(struct http *h);

/*
 * Accept no connections any more, but at the admin port, and refuse uploads
 * that come by open ones.
 */
void http_refuse(struct http *h);

/*
 * Wait until every request whose whole head has arrived is answered, to its
 * last byte; those of the admin port do not count.  False: that took longer
 * than `limit_ms`.
 */
bool http_wait_answered(struct http *h, uint32_t limit_ms);

/* Close all connections, the admin port's last.  The pipeline has stopped. */
void http_stop(struct http *h);

#endif
