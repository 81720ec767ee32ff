/* SPDX-License-Identifier: MIT */
/*
 * Connection: one socket that sends one request at a time, receives its reply,
 * and measures both.  client.c decides when a request is sent.
 *
 *	connection_begin() -> [ connecting -> sending -> receiving ] -> describe
 *	                           ^ connection_continue(), on epoll's events
 *
 * The socket is kept for the next request if the reply allows it.  If the
 * server has closed it meanwhile, a new socket is opened before anything is
 * sent.
 *
 * A reply is whole at its last byte, which HTTP marks by a length, by chunks or
 * by the end of the connection.  Interim replies (100 Continue, 103 Early
 * Hints) are skipped.
 *
 * Sockets are watched by epoll, edge-triggered: it reports a socket only when
 * more has become possible, so a connection reads and writes until the socket
 * blocks.
 *
 * Ownership  A connection owns its socket and the reply, and borrows the rest.
 * Threads    One.
 * Limits     A reply has at most REPLY_BYTES_MAX of body and 80 KiB of headers.
 */
#ifndef LOADGEN_CLIENT_CONNECTION_H
#define LOADGEN_CLIENT_CONNECTION_H

#include "base/error.h"
#include "loadgen/client/request.h"
#include "loadgen/client/result.h"
#include "loadgen/client/tls.h"

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#define REPLY_BYTES_MAX ((size_t)64 << 20)

/* The reply to one request. */
struct reply {
	http_parser parser;
	bool has_begun;
	bool is_whole;
	bool keep_alive; /* once whole: the connection may be used again */
	/* Static text; if not NULL, the other members are not valid. */
	const char *error;

	bool keep_body;
	char *body; /* not NULL only if kept */
	size_t body_bytes;
	size_t body_capacity;
};

struct connection {
	const struct url *url;
	const struct addrinfo *addresses; /* addresses of the URL's host */
	int epoll_fd; /* watches its sockets, with the connection as data */

	/* Written by client.c. */
	struct connection *idle_next;
	TAILQ_ENTRY(connection) in_flight;
	TAILQ_ENTRY(connection) connecting;
	bool is_in_flight;
	bool is_connecting;
	uint64_t begun_ns;
	uint64_t intended_ns; /* in an open loop; 0 in a closed loop */
	/* `lag_ns` and `waited` are explained in struct result. */
	uint64_t lag_ns;
	bool waited;

	int fd; /* -1: none */
	const struct addrinfo *address;
	const struct tls *tls;       /* NULL: plain HTTP */
	struct tls_session *session; /* from the time when fd is connected */

	/* The request in flight, or the last one. */
	struct request request;
	char *head; /* owned */
	size_t head_bytes;
	size_t head_capacity;
	size_t sent_bytes;   /* of head and body together */
	uint64_t started_ns; /* 0: not connected yet */
	uint64_t sent_ns;    /* 0: not all sent yet */
	uint64_t ended_ns;
	struct reply reply;
	const char *error; /* static text; NULL: the reply is whole */
};

/* Fill `c`, whose address must not change from then on. */
void connection_init(struct connection *c, const struct url *url,
		     const struct addrinfo *addresses, const struct tls *tls,
		     int epoll_fd, bool keep_reply);

/* Also breaks off a request in flight. */
void connection_release(struct connection *c);

/*
 * Begin to send, after connecting if there is no connection yet.  False, here
 * and in the next function: the request has ended.
 */
MUST_CHECK bool connection_begin(struct connection *c,
				 const struct request *request);

/*
 * Continue the request as far as `events` (EPOLL* bits) of its socket allow.
 * The events may be out of date: the connection may have closed that socket
 * since.
 */
MUST_CHECK bool connection_continue(struct connection *c, uint32_t events);

/* End the request with the error `why`, a static text. */
void connection_break(struct connection *c, const char *why);

/* The result of the request that has ended, in a run begun at `began_ns`. */
struct result connection_describe(const struct connection *c,
				  uint64_t began_ns);

#endif
