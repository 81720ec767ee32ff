/* SPDX-License-Identifier: MIT */
/*
 * Waiting: requests that ask by `wait=SECONDS` to be answered only when
 * something has happened, or when the time is over.  A thread looks every
 * WAITING_LOOK_MS.
 *
 * Threads    Any number may call waiting_start() at the same time.
 * Limits     A quarter of the connections; what does not fit does not wait.
 *            Nothing waits while the server stops.
 */
#ifndef SERVICE_WAITING_H
#define SERVICE_WAITING_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum { WAITING_S_MAX = 60, WAITING_LOOK_MS = 100 };

struct request;
struct waiting;

/* Embed it in what a handler remembers of a request. */
struct waiter {
	struct request *request;
	/*
	 * Has it happened?  Called by the thread of this module, so it must not
	 * change the request, or wait.
	 */
	bool (*is_over)(const struct request *r);
	uint64_t until_ns; /* 0: it need not wait, or has waited */
	uint64_t begin_ns; /* of its wait */
	TAILQ_ENTRY(waiter) link;
};

/* NULL: no memory, or no thread. */
struct waiting *waiting_new(uint32_t connections);

/* From now on, nothing waits. */
void waiting_end(struct waiting *w);

void waiting_free(struct waiting *w); /* NULL is fine */

/* Read the parameter `wait` of the query.  False: `detail` says why not. */
MUST_CHECK bool waiting_read(struct request *r, struct waiter *w);

/*
 * Wait, unless the waiter need not; returns as a start() hook does, which is
 * called again then.
 */
bool waiting_start(struct request *r, struct waiter *w,
		   bool (*is_over)(const struct request *r));

/* It has waited, perhaps: that time is not the server's. */
void waiting_count(struct request *r, struct waiter *w);

#endif
