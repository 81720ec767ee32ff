/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server and its ports: the state that all requests share.  Private to
 * http/.
 *
 * Threads    Members that are not atomic are set before there are connections.
 */
#ifndef SERVICE_PORT_H
#define SERVICE_PORT_H

#include "service/http/connection/clients.h"
#include "service/http/connection/linger.h"
#include "service/http/http.h"
#include "service/http/spooler.h"
#include "service/http/watch/live.h"
#include "service/http/watch/minute.h"
#include "service/http/watch/reports.h"
#include "service/store/store.h"

#include <microhttpd.h>
#include <stdatomic.h>

enum { REFUSAL_BYTES = 1024 };

/*
 * Images that were accepted with 202 and are not stored yet, if there is no
 * spool; and the last ACCEPTED_FAILURES_MAX that could not be stored.  See
 * store_request.c.
 *
 * Ownership  The caller owns a struct accepted.  Its address must not change
 *            until the image is stored or has failed.
 * Threads    Any, also at the same time.
 */
enum { ACCEPTED_FAILURES_MAX = 1024 };

struct accepted {
	char id[STORE_ID_BYTES]; /* set it first */
	struct accepted *previous, *next;
};

struct accepted_list {
	pthread_mutex_t lock;
	struct accepted *first;
	uint64_t failed_count; /* so far; modulo: the next index */
	struct {
		char id[STORE_ID_BYTES];
		enum problem problem;
	} failed[ACCEPTED_FAILURES_MAX];
};

enum accepted_state {
	ACCEPTED_NONE,    /* never accepted, stored, or forgotten */
	ACCEPTED_PENDING, /* at least one upload of this image */
	ACCEPTED_FAILED,  /* the last one has failed */
};

void accepted_init(struct accepted_list *l);
void accepted_release(struct accepted_list *l);

/* *problem is set if the image has failed. */
enum accepted_state accepted_find(struct accepted_list *l, const char *id,
				  enum problem *problem);

/* A listening socket, and the connections that it accepts. */
struct port {
	struct http *http;
	const char *address;       /* as --listen or --admin-listen has it */
	struct clients *clients;   /* NULL: there is no such port */
	struct MHD_Daemon *daemon; /* as well; used by the main thread alone */
	bool has_threads;          /* one for each connection */
	uint64_t complain_ns; /* the next complaint; of the accepting thread */
	_Atomic uint32_t connection_count;
	_Atomic uint32_t request_count; /* begun and not yet ended */
};

struct http {
	struct http_config config;
	struct networks trusted; /* proxies */
	struct accepted_list accepted;
	struct port main, admin;
	struct viewers *viewers;
	struct reports *reports;
	struct linger_list *linger;
	struct spooler *spooler; /* NULL: no store */
	/* Recent mean of the time to write an upload into the spool. */
	_Atomic uint64_t spool_ns;
	/* Tasks of the store stage to write an upload, not yet run. */
	_Atomic uint32_t spooling_count;
	bool suspends; /* else uploads run in the connection's thread */
	uint32_t id_prefix;
	_Atomic uint64_t requests_begun;
	_Atomic bool leaving;    /* these four follow each other: */
	_Atomic bool refusing;   /* see http.h */
	_Atomic bool abandoning; /* not always */
	_Atomic bool stopping;
	int refused_fd;              /* no longer listened on, or none */
	_Atomic bool was_full;       /* as /readyz last saw it */
	_Atomic uint64_t refused_ns; /* time of the last refusal; 0: none */
	/* Whole replies; see clients_config. */
	char refusals[CLIENT_REFUSALS][REFUSAL_BYTES];
	struct http_counts counts;
	struct minute minute;
};

#endif
