/* SPDX-License-Identifier: MIT */
/*
 * Connection: one socket, one request at a time, measured.
 *
 * The inner part of the client: how a request is sent and its reply received,
 * and what is measured of it.  When it is sent is client.c's matter.
 *
 *	begin(request) -> [ connecting -> sending -> receiving ] -> describe
 *	                         ^ continue(events), from the loop
 *
 * The socket is kept for the next request if the reply allows it; one that the
 * server has closed meanwhile is replaced before anything is sent on it.
 *
 * Ownership  A connection owns its socket, and borrows the rest.
 */
#ifndef LOADGEN_CONNECTION_H
#define LOADGEN_CONNECTION_H

#include "loadgen/error.h"
#include "loadgen/loop.h"
#include "loadgen/reply.h"
#include "loadgen/request.h"
#include "loadgen/result.h"
#include "loadgen/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct connection {
	const struct url *url;
	const struct addrinfo *addresses; /* of the URL */
	struct loop *loop;

	/* Written by client.c. */
	struct connection *idle_next;
	TAILQ_ENTRY(connection) in_flight;
	TAILQ_ENTRY(connection) connecting;
	bool is_in_flight;
	bool is_connecting;
	uint64_t begun_ns;
	uint64_t intended_ns; /* of an open loop; 0: of a closed one */
	uint64_t lag_ns;      /* as in struct result, and the next too */
	bool waited;

	int fd; /* -1: none */
	const struct addrinfo *address;

	/* The request in flight, or the last one. */
	struct request request;
	char *head; /* owned */
	size_t head_bytes;
	size_t head_capacity;
	size_t sent_bytes;   /* of head and body */
	uint64_t started_ns; /* 0: not connected yet */
	uint64_t sent_ns;    /* 0: not all sent yet */
	uint64_t ended_ns;
	struct reply reply;
	const char *error; /* static text; NULL: the reply is whole */
};

/* Fill `c`, which must stay where it is. */
void connection_init(struct connection *c, const struct url *url,
		     const struct addrinfo *addresses, struct loop *loop,
		     bool keep_reply);

/* Breaks a request in flight off. */
void connection_release(struct connection *c);

/*
 * Begin to send, which may take connecting first.  False, here and below: the
 * request has ended already.
 */
MUST_CHECK bool connection_begin(struct connection *c,
				 const struct request *request);

/* Do what `events` of the socket allow. */
MUST_CHECK bool connection_continue(struct connection *c, uint32_t events);

/* End the request as an error, `why`, a static text. */
void connection_break(struct connection *c, const char *why);

/* What became of the request that has ended, in a run begun at `began_ns`. */
struct result connection_describe(const struct connection *c,
				  uint64_t began_ns);

#endif
