/* SPDX-License-Identifier: MIT */
/*
 * The state of the HTTP server that all its requests share, and that of its
 * ports.  http.c makes it.  Used inside http/ only.
 *
 * Threads    A member that is neither atomic nor protected by its own lock is
 *            set before there are connections.  Only `accepts` and `refused_fd`
 *            of a port are set later, and used only by the thread that calls
 *            http.h.
 */
#ifndef SERVICE_HTTP_STATE_H
#define SERVICE_HTTP_STATE_H

#include "service/http/connection/acceptor.h"
#include "service/http/connection/clients.h"
#include "service/http/http_config.h"
#include "service/http/handlers/images/making_turns.h"
#include "service/http/handlers/images/reading.h"
#include "service/http/handlers/images/spooler.h"
#include "service/http/head/formats.h"
#include "service/http/transport.h"
#include "service/http/handlers/watch/minute.h"
#include "service/store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct report_query;
struct waiting;

/*
 * Used if there is no spool: the images that were accepted with 202 and are not
 * stored yet, and the last ACCEPTED_FAILURES_MAX that could not be stored.  See
 * store_request.c.
 *
 * Ownership  The caller owns a struct accepted.  Its address must not change
 *            until the image is stored or has failed.
 * Threads    Any number, at the same time.
 */
enum { ACCEPTED_FAILURES_MAX = 1024 };

struct accepted {
	char id[STORE_ID_BYTES]; /* the caller sets it first */
	LIST_ENTRY(accepted) link;
};

struct accepted_list {
	pthread_mutex_t lock;
	LIST_HEAD(, accepted) pending;
	/*
	 * Number of failures so far.  The next failure gets this index, modulo
	 * ACCEPTED_FAILURES_MAX.
	 */
	uint64_t failed_count;
	struct {
		char id[STORE_ID_BYTES];
		enum problem problem;
	} failed[ACCEPTED_FAILURES_MAX];
};

enum accepted_state {
	/* The image was never accepted, or is stored, or was forgotten. */
	ACCEPTED_NONE,
	/* At least one upload of this image is not stored yet. */
	ACCEPTED_PENDING,
	ACCEPTED_FAILED, /* its last upload could not be stored */
};

void accepted_init(struct accepted_list *l);
void accepted_release(struct accepted_list *l);

/* *problem is set if the image has failed. */
enum accepted_state accepted_find(struct accepted_list *l, const char *id,
				  enum problem *problem);

/* A listening socket, and the connections that it accepts. */
struct port {
	struct http *http;
	const char *address;     /* the value of --listen or --admin-listen */
	struct clients *clients; /* NULL: there is no such port */
	const struct transport *transport;
	struct io_thread *io_threads[ACCEPTOR_THREADS_MAX];
	uint32_t io_thread_count;
	/* NULL: the only I/O thread accepts its connections by itself. */
	struct acceptor *acceptor;
	bool is_shared; /* its socket: http_config.shares_listen_fd */
	bool accepts;
	/* The listening socket that is no longer used; -1: none. */
	int refused_fd;
	/*
	 * Each connection has a kernel thread of its own.  Where an
	 * I/O thread would suspend the connection, this thread waits.
	 */
	bool has_threads;
	/*
	 * When the next warning may be logged.  Used by those that accept
	 * connections.
	 */
	_Atomic uint64_t complain_ns;
	_Atomic uint32_t connection_count;
	/* Requests that have begun and not ended yet. */
	_Atomic uint32_t request_count;
};

/* The server. */
struct http {
	struct http_config config;
	struct networks trusted; /* proxies */
	struct formats formats;  /* of which format=auto is one */
	struct accepted_list accepted;
	struct port main, admin;
	struct viewers *viewers;
	struct reports *reports;
	struct linger_list *linger;
	struct agent *agent; /* NULL: none */
	struct waiting *waiting;
	struct spooler *spooler; /* NULL: no store */
	struct spooler_hooks spooler_hooks;
	struct reading reading; /* of images, from a remote store */
	struct making making;   /* of pictures, from originals */
	/* Recent mean of the time to write an upload into the spool. */
	_Atomic uint64_t spool_ns;
	/*
	 * Tasks in the store stage that will write an upload to the spool and
	 * have not run yet.
	 */
	_Atomic uint32_t spooling_count;
	uint32_t id_prefix;
	_Atomic uint64_t requests_begun;
	/*
	 * The steps of a stop that have begun, in this order: http_leave(),
	 * http_refuse(), http_abandon() if the limit was reached, http_stop().
	 */
	_Atomic bool leaving, refusing, abandoning, stopping;
	_Atomic bool was_full;       /* at the last /readyz: see control.c */
	_Atomic uint64_t refused_ns; /* time of the last refusal; 0: none */
	char *refusals[CLIENT_REFUSALS]; /* see clients_config; owned */
	struct http_counts counts;
	struct minute minute;
};

/* control.c */

/*
 * The weight for balancers: pipeline_weight_percent(), or 0 while the server
 * stops.  Any thread.
 */
uint32_t control_weight_percent(const struct http *h);

/* A reports_make_fn whose argument is a struct http. */
char *control_make_report(void *http, const struct report_query *q);

#endif
