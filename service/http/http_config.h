/* SPDX-License-Identifier: MIT */
/*
 * The configuration of the HTTP server, for http_start(), and its counts, for
 * /metrics.
 */
#ifndef SERVICE_HTTP_CONFIG_H
#define SERVICE_HTTP_CONFIG_H

#include "service/http/reply/problem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The purpose of a path.  It decides which port serves the path and, if there
 * are keys, which clients have access to it.
 */
enum role {
	ROLE_NONE,    /* no such path */
	ROLE_UPLOAD,  /* the main port; with a key or a signature */
	ROLE_TICKET,  /* the main port; everybody who knows the ticket */
	ROLE_IMAGE,   /* the main port; everybody who knows the id */
	ROLE_REMOVAL, /* removal of an image: the main port; with a key */
	ROLE_PROBE,   /* both ports; everybody */
	ROLE_PAGE,    /* both ports; everybody: the page has no secrets */
	ROLE_REPORT,  /* the admin port (if none, the main port); with a key */
	ROLE_PREFLIGHT, /* OPTIONS of a path: everybody who has its port */
	ROLES
};

extern const char *const role_names[ROLES];

enum { STATUSES = 600 };

enum { OWNER_BYTES = 64 + 1 }; /* of a key: characters [A-Za-z0-9._-] */

/* Of http_config.uthreads: those beside the threads of connections. */
enum { HTTP_OWN_UTHREADS = 1 }; /* it accepts */

/* Requests and replies since the start.  Any thread may read and add. */
struct http_counts {
	_Atomic uint64_t replies[ROLES][STATUSES];
	_Atomic uint64_t problems[PROBLEMS];
	/* Refused uploads, by problem: see problem_is_refusal(). */
	_Atomic uint64_t refusals[PROBLEMS];
	/*
	 * Bytes of bodies.  The body of a reply is counted as sent when the
	 * reply is queued, even if the client then reads only a part of it.
	 * /v1/live is counted piece by piece.
	 */
	_Atomic uint64_t received_bytes[ROLES];
	_Atomic uint64_t sent_bytes[ROLES];
};

/* Forms with fields that are no parameters, or with text around the parts. */
enum http_form { FORM_LENIENT, FORM_STRICT };

struct auth;
struct decoder;
struct hooks;
struct inbox;
struct log;
struct minute;
struct packer;
struct pipeline;
struct store;
struct uthreads;

/* The state of HTTP, for /metrics. */
struct http_report {
	const struct http_counts *counts;
	bool is_ready;
	uint32_t weight_percent; /* for a balancer */
	uint32_t connections_max;
	/* Current numbers. */
	uint32_t connection_count, admin_connection_count, viewer_count;
	/* Since the start, for both ports: see struct clients_counts. */
	uint64_t refused_count, evicted_count, held_count;
};

struct http_config {
	int listen_fd; /* owned by struct http after the start */
	int admin_fd;  /* owned in the same way; -1: no admin port */
	int agent_fd;  /* see agent_start(); -1: no agent */
	/*
	 * Another process has the socket, too, and gives it to the next
	 * server: it is closed, but not shut down.
	 */
	bool shares_listen_fd, shares_admin_fd;
	/* The addresses of the two sockets, as in the flags. */
	const char *listen_address, *admin_address;
	uint16_t listen_port, admin_port; /* in use, also if those say 0 */
	const char *host_names;           /* see auth.h; NULL: none */
	/* Pages that may use the main port: see browsers.h.  NULL: none. */
	const char *cors_origins;
	uint32_t cors_max_age_ms;
	/* How clients reach the two ports, see urls.h; NULL: not known. */
	const char *public_url, *admin_url;
	/*
	 * Serve no reports at the main port, because anybody can connect to it.
	 */
	bool hides_reports;
	struct pipeline *pipeline;
	struct log *log;
	struct store *store; /* NULL: none */
	/* Restores originals that are packed; NULL: there can be none. */
	struct decoder *repacker;
	struct packer *packer; /* of new originals; NULL: none */
	/*
	 * Memory for images that are read from a remote store, and the threads
	 * of the store stage, a part of which are kept from reads; see
	 * handlers/images/reading.h.
	 */
	uint64_t read_bytes_max;
	uint32_t read_threads;
	bool spools;         /* the upload is on the disk before a 202 */
	struct inbox *inbox; /* for /v1/uploads; NULL: none */
	uint32_t inbox_s;    /* the longest time of a ticket, in seconds */
	struct hooks *hooks; /* events of images; NULL: none */
	struct auth *auth;
	bool has_tls; /* see tls_serve() */
	/*
	 * The threads of the connections of the main port (uthread.h), which
	 * outlive struct http.  NULL: libmicrohttpd serves that port.
	 */
	struct uthreads *uthreads;
	/*
	 * I/O threads of the main port: 1 to ACCEPTOR_THREADS_MAX; not used if
	 * the pipeline has no workers.
	 */
	uint32_t io_threads;
	uint32_t connections_max;
	uint32_t per_address_max; /* connections of one address; 0: no limit */
	/* A list that networks_read() accepts. */
	const char *trusted_proxies;
	uint64_t requests_max; /* requests on one connection; 0: no limit */
	uint32_t head_ms, idle_ms;
	uint64_t rate_min; /* of bodies and replies, bytes per s; 0: no limit */
	uint64_t body_bytes_max;
	const char *presets; /* see query.h; NULL: none */
	enum http_form form;
	/*
	 * A list that formats_read() accepts; then a request without `format`
	 * has format=auto.  NULL: the usual formats.
	 */
	const char *formats;
	uint32_t deadline_ms; /* of an upload, counted from its head; 0: none */
	uint32_t agent_half_ms; /* see pipeline_weight_percent() */
	/*
	 * Each of these functions makes a text, to be freed by free(), or
	 * returns NULL: no memory.  First, the body of /stats.
	 */
	char *(*stats_json)(void *arg);
	/*
	 * The body of /trace: the visits, events and sleeps that ended after
	 * `since_ns` and began before `until_ns`.  If this member is NULL,
	 * there is no trace.
	 */
	char *(*trace_json)(void *arg, uint64_t since_ns, uint64_t until_ns);
	/* The body of /v1/blocking-graph.  NULL: the policy has no graph. */
	char *(*blocking_json)(void *arg);
	/* The body of /metrics. */
	char *(*metrics_text)(void *arg, const struct http_report *http);
	/*
	 * A complete event of /v1/live: the greeting, made by the thread of
	 * reports.h, or a frame, made by the thread of viewers.h.
	 */
	char *(*live_hello)(void *arg, struct minute *minute);
	char *(*live_frame)(void *arg, struct minute *minute, bool is_first);
	void *report_arg;
};

#endif
