/* SPDX-License-Identifier: MIT */
/*
 * Lingering close: closing sockets whose last reply is sent while the client
 * may still be sending its request.
 *
 * To close such a socket would reset the connection, and after a reset many
 * clients (Node's fetch, Python's urllib) report a broken pipe instead of the
 * reply.  So the socket is shut down for writing, and what still arrives is
 * read and discarded until the client closes its side, sends nothing for
 * silent_ms, or has used up total_ms or bytes_max.
 *
 * Ownership  linger_add() duplicates the descriptor; the caller closes its own.
 * Threads    linger_start() and linger_stop(): one; the rest: any, in between.
 *            One thread of its own serves all sockets, and sleeps while there
 *            are none.
 * Limits     count_max sockets; for one more, the oldest is closed.
 */
#ifndef SERVICE_LINGER_H
#define SERVICE_LINGER_H

#include <stdbool.h>
#include <stdint.h>

struct linger_config {
	uint32_t count_max;
	uint32_t silent_ms;
	uint32_t total_ms;
	uint64_t bytes_max; /* of each socket */
};

struct linger_list;

/* NULL: no memory, no descriptors, or no thread. */
struct linger_list *linger_start(const struct linger_config *config);

/* False: there was no descriptor; the caller's close() may reset it. */
bool linger_add(struct linger_list *l, int fd);

uint32_t linger_count(struct linger_list *l);

/* Close the oldest one, if there is any. */
void linger_end_oldest(struct linger_list *l);

/* Close all.  NULL is fine. */
void linger_stop(struct linger_list *l);

#endif
