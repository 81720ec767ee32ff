/* SPDX-License-Identifier: MIT */
/*
 * Clients: the open connections of a port, and how long each may take.
 *
 *	HEAD > BODY > WORK > REPLY (or STREAM) > IDLE > HEAD ...
 *
 * A phase has a time by which it must be over, but WORK, where the client
 * waits for us.  BODY and REPLY may go on as long as enough bytes move, and
 * BODY behind its time as long as any do: then its memory is gone already, or
 * will be with the next of them.  STREAM, a reply without an end, goes on as
 * long as some of what waits to be written is read within idle_ms.  Who is over
 * its time has its socket shut down, and whoever reads or writes it there sees
 * it end.  Where bytes of a client wait to be read, or it waits for bytes to be
 * written, it is not the client that is late: so nobody pays for the time that
 * the process was stopped or had no CPU.
 *
 * If there are more than `open_max`, the client that has been longest in its
 * phase goes: whoever sends and reads soonest stays.
 *
 * Ownership  A socket is its connection's.  It must be open from client_add()
 *            to client_remove().
 * Threads    Any.  A thread of its own sleeps until the first time is over, and
 *            as long as no phase has one, for ever.
 * Limits     `places` clients, some of whom may be on their way out.
 */
#ifndef SERVICE_CLIENTS_H
#define SERVICE_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

enum client_phase {
	CLIENT_HEAD,   /* the connection is new, or a request line is there */
	CLIENT_BODY,   /* the head is there */
	CLIENT_WORK,   /* the body is there */
	CLIENT_REPLY,  /* a reply is being sent */
	CLIENT_STREAM, /* one that has no end */
	CLIENT_IDLE,   /* between two requests */
	CLIENT_PHASES,
};

struct clients_config {
	uint32_t open_max;
	uint32_t places;
	/* How long they may take; 0: no limit. */
	uint32_t head_ms, body_ms, idle_ms;
	uint64_t rate_min;  /* of BODY and REPLY, in bytes per s; 0: none */
	uint32_t window_ms; /* how often it is looked at */
	/*
	 * Sent to who did not get its request out in time, once the request
	 * line is there; must outlive the clients.
	 */
	const char *too_slow;
};

/* Those who go for others still have their places for a moment. */
static inline uint32_t clients_places(uint32_t open_max)
{
	return open_max + open_max / 16 + 16;
}

struct clients;
struct client;

/* NULL: no memory, or no thread. */
struct clients *clients_start(const struct clients_config *config);

/* All clients have been removed.  NULL is fine. */
void clients_stop(struct clients *t);

/*
 * A connection, in CLIENT_HEAD.  `is_plain`: what is written to the socket is
 * what the client reads.
 */
struct client *client_add(struct clients *t, int fd, bool is_plain);

/* Before its socket is closed. */
void client_remove(struct client *c);

/* Places that are taken beyond open_max. */
uint32_t clients_excess(struct clients *t);

/* A phase begins; CLIENT_HEAD counts a request. */
void client_enter(struct client *c, enum client_phase phase);

/* Was its time over, or did it go for another? */
bool client_is_shut(const struct client *c);

/* Requests so far, this one too.  By the connection's thread. */
uint64_t client_request_count(const struct client *c);

#endif
