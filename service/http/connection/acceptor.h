/* SPDX-License-Identifier: MIT */
/*
 * Acceptor: a thread that accepts the connections of a listening socket, and
 * gives each to the I/O thread that has the fewest.
 *
 *	accept4() -> give(i, fd) -> I/O thread i: acceptor_begin(i, fd)
 *	                                          acceptor_end(i)
 *
 * While there are connections_max connections, further clients wait in the
 * queue of the socket.
 *
 * Ownership  The listening socket is the acceptor's from acceptor_new() on,
 *            also if that fails.  `give` takes over the accepted socket.
 * Threads    Each I/O thread calls acceptor_begin() and acceptor_end() for its
 *            own connections, at any time.  One thread calls the other
 *            functions.  `give` is called by the acceptor's thread.
 * Limits     1 to ACCEPTOR_THREADS_MAX I/O threads; descriptors below
 *            ACCEPTOR_FDS.
 */
#ifndef SERVICE_ACCEPTOR_H
#define SERVICE_ACCEPTOR_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ACCEPTOR_THREADS_MAX = 64, ACCEPTOR_FDS = 1 << 21 };

/*
 * Give a connection to an I/O thread.  The I/O thread begins its connections in
 * the order in which they were given.  If it has no memory for one, it closes
 * that connection without beginning it: the connection is lost.  False: this
 * connection was closed, and does not begin.
 */
typedef bool acceptor_give_fn(void *arg, uint32_t thread, int fd,
			      const struct sockaddr *from, socklen_t bytes);

struct acceptor_config {
	int fd; /* listens, and does not block */
	uint32_t thread_count;
	uint32_t connections_max;
	acceptor_give_fn *give;
	void *arg;
};

struct acceptor;

/* NULL: no memory, or no descriptor. */
struct acceptor *acceptor_new(const struct acceptor_config *config);

/* Start to accept connections.  False: no thread. */
MUST_CHECK bool acceptor_start(struct acceptor *a);

/* I/O thread `thread` has begun with a connection that it was given. */
void acceptor_begin(struct acceptor *a, uint32_t thread, int fd);

/* A connection that has begun is over, and its resources are free. */
void acceptor_end(struct acceptor *a, uint32_t thread);

/*
 * Accept no more connections, and close the listening socket: clients that wait
 * in its queue are reset.  Connections that were accepted go on.  May be called
 * again, or without a start.  NULL is fine.
 */
void acceptor_stop(struct acceptor *a);

/* After acceptor_stop(); no connection is left.  NULL is fine. */
void acceptor_free(struct acceptor *a);

#endif
