/* SPDX-License-Identifier: MIT */
/*
 * Eventcount: lets a thread sleep until there may be work, without a lock
 * around the queues.
 *
 *	sender                      sleeper
 *	  push                        ticket = eventcount_prepare()
 *	  eventcount_wake_one()       look at the queues once more
 *	                              work: eventcount_cancel()
 *	                              none: eventcount_wait(ticket)
 *
 * The epoch counts wake-ups; a ticket is the epoch when it was read.
 *
 * No wake-up is lost.  prepare() adds the sleeper to a count and then reads the
 * epoch; wake() increases the epoch and then reads the count.  All four
 * operations are sequentially consistent, so all threads see them in one order.
 * There are two cases:
 *  - The epoch was increased before prepare() read it.  The push came before
 *    that, so the sleeper's second look at the queues finds the event.
 *  - It was increased after.  Then the sender sees that there is a sleeper and
 *    wakes it; and if the sleeper is not yet asleep, the kernel does not let it
 *    sleep, because the epoch is no longer its ticket.
 * eventcount.pml is a model of this.
 *
 * Threads    All functions may be called by any number of threads at once.
 */
#ifndef STAGES_EVENTCOUNT_H
#define STAGES_EVENTCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero is ready for use. */
struct eventcount {
	_Atomic uint32_t epoch;    /* a futex */
	_Atomic uint32_t sleepers; /* threads between prepare and wake-up */
};

/*
 * Announce a sleep.  Returns a ticket.  The caller must then call
 * eventcount_wait() or eventcount_cancel().
 */
uint32_t eventcount_prepare(struct eventcount *ec);

/*
 * How many wake-ups there were.  If it is still the same after
 * eventcount_prepare(), whoever looked at all queues in between need not look
 * again: an event that it did not find was pushed after this call, and the
 * wake-up is still to come.  So blind workers, who visit and do not look, sleep
 * if nobody was to be woken since their round began.
 */
uint32_t eventcount_epoch(const struct eventcount *ec);

/* There is work: do not sleep. */
void eventcount_cancel(struct eventcount *ec);

#define EVENTCOUNT_ANY UINT32_MAX

/*
 * Sleep until a wake-up whose `mask` has a bit in common with this one.  This
 * may also return without a reason, so call it in a loop that looks for work.
 * False: `patience_ns` have passed without a wake-up; 0 is no limit.
 */
bool eventcount_wait(struct eventcount *ec, uint32_t ticket, uint32_t mask,
		     uint64_t patience_ns);

/*
 * Wake one or all of the sleepers whose `mask` has a bit in common with this
 * one.  Without sleepers this makes no system call.  wake_one returns true if a
 * thread was asleep; one that was about to sleep looks for work again in any
 * case.
 */
bool eventcount_wake_one(struct eventcount *ec, uint32_t mask);
void eventcount_wake_all(struct eventcount *ec, uint32_t mask);

#endif
