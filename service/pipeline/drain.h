/* SPDX-License-Identifier: MIT */
/*
 * Drain: how fast uploads leave, and so when a refused one may come again.
 *
 * Ends are counted in a ring of short slots, the last eight seconds of them.
 * Only time with work inside counts: a server that was idle is not slow.
 *
 * Threads    Any, at once, without a lock; a count or two may be lost where a
 *            slot begins.
 * Units      now_ns: of CLOCK_MONOTONIC.
 */
#ifndef SERVICE_DRAIN_H
#define SERVICE_DRAIN_H

#include <stdatomic.h>
#include <stdint.h>

enum { DRAIN_SLOTS = 64 };

/* {0} is one that nothing has entered or left. */
struct drain {
	_Atomic uint64_t busy_since_ns;
	_Atomic uint64_t slots[DRAIN_SLOTS]; /* which one, and its ends */
	_Atomic uint32_t told_count;         /* by drain_retry_after_s() */
};

/* There is work after there was none. */
void drain_begin(struct drain *d, uint64_t now_ns);

/* An upload has left. */
void drain_count(struct drain *d, uint64_t now_ns);

/*
 * For Retry-After: the time that `inside_count` uploads need to leave, at the
 * rate of late; in whole seconds, 1 .. 30.  As long as none has left, it grows.
 * Up to as many seconds are added, evenly from call to call: else who is
 * refused together would come again together, and be refused again.
 */
uint32_t drain_retry_after_s(struct drain *d, uint32_t inside_count,
			     uint64_t now_ns);

#endif
