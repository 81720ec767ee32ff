/* SPDX-License-Identifier: MIT */
/*
 * Clients: the open connections of a port, and the time limits for each.
 *
 *	HEAD > BODY > WORK > REPLY (or STREAM) > IDLE > HEAD ...
 *	    \ WAIT /    \ HELD /
 *
 * Every connection is in a phase.  In WAIT, WORK and HELD the client waits for
 * us, so these have no limit.  WORK comes again after a REPLY of 202, if the
 * connection's thread makes the image.  A connection may stay in the other
 * phases:
 *
 *	HEAD, IDLE   for head_ms, idle_ms
 *	BODY         as long as rate_min bytes per s arrive; after body_ms, as
 *	             long as any bytes arrive (the upload's memory is freed by
 *	             then, or with the next bytes)
 *	REPLY        as long as rate_min bytes per s are acknowledged
 *	STREAM       a reply without an end: as long as the client reads some of
 *	             it in idle_ms
 *
 * A connection over its limit has its socket shut down; the connection's thread
 * then sees the end of the socket.  A client is not late while bytes that it
 * has sent wait to be read, unless it reads nothing, or while it waits for us
 * to write.  So no client is shut down because the process was stopped or had
 * no CPU.
 *
 * If there are more than `open_max` connections, one is closed for the new one.
 * It is taken from the first of these groups that is not empty:
 *
 *	1. connections that sent no byte within fresh_ms, oldest first;
 *	2. connections without progress, except those of 3 and 4;
 *	3. connections in HEAD, BODY, REPLY or STREAM for less than fresh_ms,
 *	   and without progress; only if half of the slots beyond open_max are
 *	   in use, otherwise none is closed yet;
 *	4. connections in WAIT; unless half of these slots are in use, not while
 *	   the new connection is as those of 3.
 *
 * In 2 to 4, those of the site (addresses.h) with the most connections are
 * first; within a site, in 2 and 3 the longest in its phase, in 4 the last that
 * began to wait.
 *
 * What a connection of 3 has sent or asked for makes no difference, and should
 * not: nobody knows which of them go on.  A flood could send what is spared
 * most, and become older than those who come later.  In this order, it ends its
 * own connections, if its sites have more than others, and else each has the
 * same time for its next packet, whatever the flood sends.
 *
 * A connection in WORK always makes progress.  In BODY, it makes progress if
 * its mean rate is at least rate_min, or 1 KiB per s if there is no rate_min.
 * In REPLY and STREAM, it makes none in the first fresh_ms; then it does if its
 * mean rate since the first time that somebody was to be closed is as high, and
 * in fresh_ms after that time.  In HEAD, WAIT, HELD and IDLE it makes none.  A
 * connection that makes progress is never closed for another.
 *
 * While there are more than `open_max`, the watch closes one of groups 1, 2 and
 * 4 at a time.
 *
 * A site may have per_address_max connections.  Connections of trusted proxies
 * are not counted.
 *
 * Ownership  A socket belongs to its connection.  It must be open from
 *            client_add() to client_remove().
 * Threads    Any number at the same time, unless a function says otherwise.
 *            One thread of this module sleeps until the next time limit.
 * Limits     `slots` clients, of which some may be closing.
 */
#ifndef SERVICE_CLIENTS_H
#define SERVICE_CLIENTS_H

#include "service/http/connection/addresses.h"

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

struct connection;

enum client_phase {
	CLIENT_HEAD,   /* a new connection, or a request line was read */
	CLIENT_BODY,   /* the head was read */
	CLIENT_WAIT,   /* instead of BODY: its body is not read yet */
	CLIENT_WORK,   /* the body was read */
	CLIENT_HELD,   /* as WORK, but waits for its turn: client_hold() */
	CLIENT_REPLY,  /* a reply is being sent */
	CLIENT_STREAM, /* a reply without an end is being sent */
	CLIENT_IDLE,   /* between two requests */
	CLIENT_PHASES,
};

/* Why a client is refused before its request is complete. */
enum client_refusal {
	CLIENT_WELCOME, /* the client is not refused */
	CLIENT_TOO_SLOW,
	CLIENT_STOPPING, /* its body would not be complete when a drain ends */
	CLIENT_REFUSALS
};

/* Kinds of requests whose rate is limited; each kind has its own turns. */
enum client_turn {
	CLIENT_TURN_PROBE,
	CLIENT_TURN_PREFLIGHT, /* OPTIONS */
	CLIENT_TURN_OTHER,     /* reports, the page, paths that do not exist */
	CLIENT_TURNS
};

struct clients_config {
	uint32_t open_max;
	uint32_t slots; /* clients_slots(open_max) */
	/*
	 * Time in which a new connection should send a byte, and in which a
	 * client in a new phase is not slow yet.
	 */
	uint32_t fresh_ms;
	uint32_t per_address_max;           /* 0: any number */
	struct networks trusted;            /* proxies */
	uint32_t head_ms, body_ms, idle_ms; /* 0: no limit */
	uint64_t rate_min;  /* limit of BODY and REPLY, bytes per s; 0: none */
	uint32_t window_ms; /* the rate is checked once in this time */
	/* The most bytes that client_gather() gathers; 0: none. */
	uint32_t low_water_bytes;
	/*
	 * One request of a kind gets a turn every turn_ms.  Unused turns are
	 * kept, up to turns_at_once of them; that many requests may then go on
	 * at once.  turn_ms 0: no request waits.
	 */
	uint32_t turn_ms[CLIENT_TURNS], turns_at_once;
	/*
	 * Complete replies, for clients that are refused before their request
	 * is complete.  A reply is sent only if the request line was read.  The
	 * texts must outlive the clients.
	 */
	const char *refusals[CLIENT_REFUSALS];
};

/* Since the start. */
struct clients_counts {
	/* Refused because their site had per_address_max connections. */
	uint64_t refused_count;
	uint64_t evicted_count; /* closed for a new connection */
	uint64_t held_count;    /* requests that waited for their turn */
};

struct client;
struct clients;

/*
 * The slots for open_max connections: a few more, because a connection that is
 * being closed keeps its slot for a moment.
 */
static inline uint32_t clients_slots(uint32_t open_max)
{
	return open_max + open_max / 16 + 16;
}

/* NULL: no memory, or no thread. */
struct clients *clients_start(const struct clients_config *config);

/* Call it when all clients have been removed.  NULL is fine. */
void clients_stop(struct clients *t);

/*
 * May one more connection come from this address?  False: the connection was
 * counted as refused.  If several connections come at once, client_add() checks
 * again.
 */
bool clients_admit(struct clients *t, const struct sockaddr *from);

/*
 * A new client, in CLIENT_HEAD.  `is_plain`: it has no TLS, so we may write to
 * the socket.  If its site now has more than per_address_max connections, the
 * client is counted as refused and shut down: see client_is_shut().
 */
struct client *client_add(struct clients *t, int fd,
			  const struct sockaddr *from, bool is_plain);

/*
 * Remove the client before its socket is closed.  True: the client may still be
 * sending, and a reset would destroy its reply; see linger.h.
 */
bool client_remove(struct client *c);

/* Is it a trusted proxy? */
bool client_is_trusted(const struct client *c);

/* A phase begins.  With CLIENT_HEAD, a request is counted. */
void client_enter(struct client *c, enum client_phase phase);

/*
 * In CLIENT_BODY: the body has `body_bytes`.  If this is 0, the length is not
 * known, and the drain cannot estimate when the body ends.
 */
void client_expect(struct client *c, uint64_t body_bytes);

/*
 * In CLIENT_BODY: the time of the body of this request ends at `end_ns`, or
 * before it, if body_ms is over.
 */
void client_expect_until(struct client *c, uint64_t end_ns);

/*
 * After CLIENT_WAIT: the body is read now; what was received since CLIENT_WAIT
 * began belongs to it.  As client_enter(CLIENT_BODY) and client_expect().
 * False: client_is_shut(), and the phase does not change.
 */
MUST_CHECK bool client_end_wait(struct client *c, uint64_t body_bytes);

/*
 * More of the body was read.  If the result is not CLIENT_WELCOME, the caller
 * must refuse the request now.  Called by the connection's thread.
 */
enum client_refusal client_receive(struct client *c, uint64_t bytes);

/*
 * Called by the connection's thread after a piece: let it sleep until this
 * number of bytes of the body have arrived, or the rest of it (SO_RCVLOWAT),
 * and not only until the next packet.  A refusal still wakes it at the next
 * byte.  Without effect if the length is not known, and with TLS.
 */
void client_gather(struct client *c, uint64_t wanted_bytes);

/*
 * In CLIENT_WORK: wait for a turn.  True: the request may go on, or
 * client_is_shut() is true.  False: `connection` was suspended; it is in
 * CLIENT_HELD and is resumed when its turn comes.  If `connection` is NULL, the
 * connection has a thread of its own, which waits here.
 */
bool client_hold(struct client *c, enum client_turn kind,
		 struct connection *connection);

/*
 * Another request wants what this one has: refuse the client as too slow, if
 * its body is still arriving.  Any thread, while there is the client.
 */
void client_give_way(struct client *c);

/* Was the client shut down, because of a time limit or for a new connection? */
bool client_is_shut(const struct client *c);

/*
 * The refusal that was sent to the client when it was shut down;
 * CLIENT_WELCOME: none.
 */
enum client_refusal client_told(const struct client *c);

/*
 * In CLIENT_IDLE or CLIENT_HEAD, called by the connection's thread; it has an
 * effect only in CLIENT_IDLE.  True: it waits for its socket, and has received
 * nothing of the next request.  False: it may receive some from now on, as it
 * may if this is not called.
 */
void client_be_silent(struct client *c, bool is_silent);

/*
 * Has the other side of this socket closed the connection, or only its sending
 * side, or is the connection lost?  False also if clients.c has shut it down,
 * but a request arrived at that moment and is being answered.
 */
bool client_has_closed(int fd);

/* The client's last request was answered before all of it was read. */
void client_cut(struct client *c);

/*
 * The number of requests, this one included.  Called by the connection's
 * thread.
 */
uint64_t client_request_count(const struct client *c);

/*
 * Are there more than open_max?  Then a client that becomes idle may be closed
 * at once.  It never waits for a call for another client.
 */
bool clients_are_too_many(struct clients *t);

/* Slots in use beyond open_max. */
uint32_t clients_excess(struct clients *t);

void clients_read_counts(struct clients *t, struct clients_counts *out);

/* From now on no request waits for its turn.  `t` may be NULL. */
void clients_end_holding(struct clients *t);

/*
 * The server drains: bodies must be complete within `limit_ms`.  A body that
 * has been arriving for at least a second is refused at once if it would need
 * more than twice the limit at its mean rate.  After that, bodies are checked
 * four times within the limit: a body is refused if it would not be complete in
 * time at its rate since the last check.  If `limit_ms` is 0, all bodies that
 * are not complete are refused.
 */
void clients_drain(struct clients *t, uint32_t limit_ms);

#endif
