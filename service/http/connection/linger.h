/* SPDX-License-Identifier: MIT */
/*
 * Linger: closes sockets late, so that the client can read its reply.
 *
 * A request may be answered before all of it has arrived, for example because
 * its body is too large.  If the socket was closed then, the kernel would reset
 * the connection at the next bytes from the client, and many clients (Node's
 * fetch, Python's urllib) would report a broken pipe instead of the reply.  So
 * such a socket is only shut down for writing.  What still arrives is read and
 * discarded.  The socket is closed when one of these happens:
 *
 *	the client closes its side
 *	nothing arrives for silent_ms
 *	total_ms have passed since linger_add()
 *	bytes_max have arrived since linger_add()
 *
 * Ownership  linger_add() duplicates the descriptor; the caller closes its own.
 * Threads    One thread calls linger_start() and linger_stop(); any thread may
 *            call the others in between.  One thread of this module serves all
 *            sockets, and sleeps while there are none.
 * Limits     count_max sockets; if one more comes, the oldest is closed.
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

/*
 * Let the socket of `fd` linger; the caller then closes `fd`.  False: there was
 * no descriptor for the duplicate, and the client may not get its reply.
 */
bool linger_add(struct linger_list *l, int fd);

/* How many sockets linger now. */
uint32_t linger_count(struct linger_list *l);

/* Close the socket that was added first, if there is any. */
void linger_end_oldest(struct linger_list *l);

/* Close all.  NULL is fine. */
void linger_stop(struct linger_list *l);

#endif
