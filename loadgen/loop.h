/* SPDX-License-Identifier: MIT */
/*
 * Loop: says which sockets are ready.
 *
 * Work per event does not grow with the number of sockets, so thousands of
 * connections cost no more per request than one.
 *
 * Edge-triggered: a socket is told once, when more has become possible than
 * was.  So whoever is told reads and writes until the socket has no more.
 *
 * Threads    One.
 */
#ifndef LOADGEN_LOOP_H
#define LOADGEN_LOOP_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define LOOP_NEVER UINT64_MAX

struct loop {
	int epoll_fd;
};

/*
 * `source` as given to loop_watch(), and EPOLL* bits.  It may be an old event,
 * of a socket that this source has closed meanwhile.
 */
typedef void loop_ready_fn(void *source, uint32_t events, void *arg);

/* False: no file descriptor left (errno says more). */
MUST_CHECK bool loop_init(struct loop *l);
void loop_release(struct loop *l);

/* Watch `fd` until it is closed.  False: errno says why not. */
MUST_CHECK bool loop_watch(struct loop *l, int fd, void *source);

/*
 * Wait until something is ready, and tell of each.  Waits until `wake_ns` (by
 * clock_now_ns(); or LOOP_NEVER) and for a tenth of a second at most.  False:
 * the kernel failed, which leaves the loop unusable.
 */
MUST_CHECK bool loop_step(struct loop *l, uint64_t wake_ns,
			  loop_ready_fn *ready, void *arg);

#endif
