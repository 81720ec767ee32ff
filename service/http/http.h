/* SPDX-License-Identifier: MIT */
/*
 * HTTP: the server that takes requests, gives uploads to the pipeline, and
 * sends replies, on libmicrohttpd.
 *
 * I/O threads serve the connections; a connection whose upload is in the
 * pipeline is suspended.  A connection stays with its thread.  If there are
 * several I/O threads, acceptor.h gives each connection to the one that has the
 * fewest.  If the pipeline has no workers, each connection has a thread, which
 * runs the pipeline itself.
 *
 *	1 I/O thread     listening socket -> I/O thread
 *	several          listening socket -> acceptor -> I/O thread
 *	no workers       listening socket -> I/O thread -> a thread for each
 *	                 connection
 *
 * An admin port, if there is one, has its own I/O thread and connections, so
 * that it answers even if uploads keep the main port busy.  Then only it serves
 * reports; both ports serve probes and the page.
 *
 * Threads    One thread calls all functions, in the order of this file.
 * Limits     connections_max connections, in addition to those of the admin
 *            port; body_bytes_max per request; clients.h has the time limits of
 *            connections.
 */
#ifndef SERVICE_HTTP_H
#define SERVICE_HTTP_H

#include "service/http/http_config.h"

#include <stdbool.h>
#include <stdint.h>

enum { HTTP_ADMIN_CONNECTIONS_MAX = 16 };

struct http;

/* NULL: it could not be started, and the program has to end. */
struct http *http_start(const struct http_config *config);

/*
 * The server will stop soon: /readyz is false, and every reply is the last one
 * on its connection.  Uploads are still taken.
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
 * to the last byte, and every upload that was answered 202 is stored.  False:
 * that took longer than `limit_ms`.
 */
bool http_wait_answered(struct http *h, uint32_t limit_ms);

/*
 * The limit is over: uploads without an answer are abandoned from now on.  Each
 * is logged, and counted by pipeline_count_abandoned().
 */
void http_abandon(struct http *h);

/* Close all connections, the admin port's last.  The pipeline has stopped. */
void http_stop(struct http *h);

#endif
