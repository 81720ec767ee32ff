/* SPDX-License-Identifier: MIT */
/*
 * HTTP: the server that takes requests, gives uploads to the pipeline, and
 * sends replies, over a transport (transport.h).
 *
 * I/O threads serve the connections.  A connection stays with its thread; while
 * its upload is in the pipeline, it is suspended.  If there are several I/O
 * threads, acceptor.h gives each new connection to the thread with the fewest
 * connections.  If the pipeline has no workers, each connection has a thread of
 * its own, which runs the pipeline itself: a kernel thread of libmicrohttpd,
 * or, with http_config.uthreads, one of these, which is suspended where the
 * connection of an I/O thread would be.
 *
 *	1 I/O thread     listening socket -> I/O thread
 *	several          listening socket -> acceptor -> I/O thread
 *	no workers       listening socket -> I/O thread -> a thread for each
 *	                 connection
 *	uthreads         listening socket -> a thread that accepts -> a thread
 *	                 for each connection
 *
 * If there is an admin port, it has its own I/O thread and connections, so it
 * answers even while uploads keep the main port busy.  Reports are then served
 * at the admin port only.  Both ports serve probes and the page.
 *
 * An agent (handlers/watch/agent.h) answers balancers at a port of its own.  It
 * says 0 from http_leave() to http_stop().
 *
 * Threads    One thread calls all functions, in the order of this file.  It may
 *            call http_wait_answered() again after http_abandon().
 * Limits     connections_max connections at the main port,
 *            HTTP_ADMIN_CONNECTIONS_MAX at the admin port; body_bytes_max per
 *            request; clients.h has the time limits of connections.
 */
#ifndef SERVICE_HTTP_H
#define SERVICE_HTTP_H

#include "service/http/http_config.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { HTTP_ADMIN_CONNECTIONS_MAX = 16 };

struct http;

/* NULL: the server could not be started, and the program has to end. */
struct http *http_start(const struct http_config *config, struct error *why);

/*
 * The server will stop soon: /readyz answers 503, the agent says 0 %, and every
 * reply is the last one on its connection.  Uploads are still taken; but at a
 * shared socket no more connections are accepted, because the next server will.
 */
void http_leave(struct http *h);

/*
 * Accept no more connections, except at the admin port, and refuse uploads
 * whose heads arrive on open connections.  An upload whose head arrived earlier
 * is still accepted if its body arrives fast enough to be complete within
 * `limit_ms`: see clients_drain().
 */
void http_refuse(struct http *h, uint32_t limit_ms);

/*
 * Wait until every request of the main port whose head is complete is answered,
 * to the last byte, and no upload that was answered 202 is in the pipeline any
 * more.  False: this took longer than `limit_ms`.
 */
bool http_wait_answered(struct http *h, uint32_t limit_ms);

/*
 * The time limit of the drain is over: uploads without an answer are abandoned
 * from now on.  Each of them is logged, and counted by
 * pipeline_count_abandoned().
 */
void http_abandon(struct http *h);

/*
 * Close all connections, the admin port's last, and free the server.  Call it
 * after the pipeline has stopped.
 */
void http_stop(struct http *h);

#endif
