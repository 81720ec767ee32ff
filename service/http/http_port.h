/* SPDX-License-Identifier: MIT */
/*
 * Inside http*.c: the server, and its ports.
 *
 * Threads    What is not atomic is set before there are connections.
 */
#ifndef SERVICE_HTTP_PORT_H
#define SERVICE_HTTP_PORT_H

#include "service/http/http.h"

#include "service/http/clients.h"
#include "service/http/ends.h"
#include "service/http/http_counts.h"

#include <microhttpd.h>
#include <stdatomic.h>

enum { TOO_SLOW_BYTES = 512 };

/* A listening socket, and whom it serves. */
struct port {
	struct http *http;
	struct clients *clients;   /* NULL: there is no such port */
	struct MHD_Daemon *daemon; /* as well; of the main thread alone */
	bool has_threads;          /* one for each connection */
	_Atomic uint32_t connection_count;
	_Atomic uint32_t request_count; /* begun and not yet ended */
};

struct http {
	struct http_config config;
	struct ends ends;
	struct port main, admin;
	struct viewers *viewers;
	bool suspends; /* else uploads run in the connection's thread */
	uint32_t id_prefix;
	_Atomic uint64_t requests_begun;
	_Atomic bool leaving;          /* first this, */
	_Atomic bool refusing;         /* then this */
	int refused_fd;                /* no longer listened on, or none */
	_Atomic bool was_full;         /* as /readyz last saw it */
	_Atomic uint64_t refused_ns;   /* when the last upload was; 0: none */
	_Atomic bool is_tracing;       /* `trace` is somebody's */
	char *trace;                   /* being sent */
	char too_slow[TOO_SLOW_BYTES]; /* a whole reply */
	struct http_counts counts;
};

/* False: some could not be started; http_stop_ports() stops the rest. */
bool http_start_ports(struct http *h);
void http_stop_ports(struct http *h);

/* http.c: a request as libmicrohttpd sees it; `port` is its struct port. */

/* The request line is there, and for once `target` as it was sent. */
void *http_on_target(void *port, const char *target,
		     struct MHD_Connection *connection);
enum MHD_Result http_on_request(void *port, struct MHD_Connection *connection,
				const char *url, const char *method,
				const char *version, const char *data,
				size_t *bytes, void **slot);
void http_on_end(void *cls, struct MHD_Connection *connection, void **slot,
		 enum MHD_RequestTerminationCode how);

#endif
