/* SPDX-License-Identifier: MIT */
#include "stages/eventcount.h"

#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All operations are sequentially consistent; the header says why. */

uint32_t eventcount_prepare(struct eventcount *ec)
{
	atomic_fetch_add(&ec->sleepers, 1);
	return atomic_load(&ec->epoch);
}

uint32_t eventcount_epoch(const struct eventcount *ec)
{
	return atomic_load(&ec->epoch);
}

void eventcount_cancel(struct eventcount *ec)
{
	atomic_fetch_sub(&ec->sleepers, 1);
}

bool eventcount_wait(struct eventcount *ec, uint32_t ticket, uint32_t mask,
		     uint64_t patience_ns)
{
	struct timespec end = clock_timespec(clock_now_ns() + patience_ns);

	/*
	 * Woken, interrupted, or the epoch has changed: in all cases the caller
	 * looks for work again.
	 */
	bool is_late = syscall(SYS_futex, &ec->epoch, FUTEX_WAIT_BITSET_PRIVATE,
			       ticket, patience_ns > 0 ? &end : NULL, NULL,
			       mask) == -1 &&
		       errno == ETIMEDOUT;

	atomic_fetch_sub(&ec->sleepers, 1);
	return !is_late;
}

/* Returns how many threads were asleep. */
static long wake(struct eventcount *ec, int count, uint32_t mask)
{
	atomic_fetch_add(&ec->epoch, 1);
	if (atomic_load(&ec->sleepers) == 0)
		return 0;
	return syscall(SYS_futex, &ec->epoch, FUTEX_WAKE_BITSET_PRIVATE, count,
		       NULL, NULL, mask);
}

bool eventcount_wake_one(struct eventcount *ec, uint32_t mask)
{
	return wake(ec, 1, mask) > 0;
}

void eventcount_wake_all(struct eventcount *ec, uint32_t mask)
{
	(void)wake(ec, INT_MAX, mask);
}
