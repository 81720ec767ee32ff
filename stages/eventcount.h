/* SPDX-License-Identifier: MIT */
/*
 * Eventcount: sleep until there may be work, without a lock around the work.
 *
 *	sender                      sleeper
 *	  push                        ticket = eventcount_prepare()
 *	  eventcount_wake_one()       look at the queues once more
 *	                              work: eventcount_cancel()
 *	                              none: eventcount_wait(ticket)
 *
 * No wake-up is lost.  prepare() counts the sleeper, then reads the epoch;
 * wake() moves the epoch, then reads the count; all four are sequentially
 * consistent, so they have one order.  If the epoch moved before prepare()
 * read it, the push came earlier still and the second look finds its event.
 * If it moved after, the sender sees the sleeper counted and wakes it, and the
 * kernel lets nobody sleep on an epoch that has moved.
 *
 * Threads    All calls: any, at once.
 */
#ifndef STAGES_EVENTCOUNT_H
#define STAGES_EVENTCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero is ready for use. */
struct eventcount {
	_Atomic uint32_t epoch; /* a futex */
	_Atomic uint32_t sleepers;
};

uint32_t eventcount_prepare(struct eventcount *ec);
void eventcount_cancel(struct eventcount *ec);

#define EVENTCOUNT_ANY UINT32_MAX

/*
 * Sleep.  A wake-up reaches this sleeper if it is for one of the bits of `who`.
 * May also return without a reason, so look for work again in a loop.  False:
 * `patience_ns` have passed without a wake-up; 0: no limit.
 */
bool eventcount_wait(struct eventcount *ec, uint32_t ticket, uint32_t who,
		     uint64_t patience_ns);

/* Cheap when nobody sleeps: no system call. */
void eventcount_wake_one(struct eventcount *ec, uint32_t who);
void eventcount_wake_all(struct eventcount *ec, uint32_t who);

#endif
