/* SPDX-License-Identifier: MIT */
#include "stages/eventcount.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Orders: all default, sequentially consistent.  See the header's argument. */

uint32_t eventcount_prepare(struct eventcount *ec)
{
	atomic_fetch_add(&ec->sleepers, 1);
	return atomic_load(&ec->epoch);
}

void eventcount_cancel(struct eventcount *ec)
{
	atomic_fetch_sub(&ec->sleepers, 1);
}

void eventcount_wait(struct eventcount *ec, uint32_t ticket)
{
	/* Interrupted, woken, or the epoch has moved: all the same here. */
	(void)syscall(SYS_futex, &ec->epoch, FUTEX_WAIT_PRIVATE, ticket, NULL,
		      NULL, 0);
	atomic_fetch_sub(&ec->sleepers, 1);
}

static void wake(struct eventcount *ec, int count)
{
	atomic_fetch_add(&ec->epoch, 1);
	if (atomic_load(&ec->sleepers) > 0)
		(void)syscall(SYS_futex, &ec->epoch, FUTEX_WAKE_PRIVATE, count,
			      NULL, NULL, 0);
}

void eventcount_wake_one(struct eventcount *ec)
{
	wake(ec, 1);
}

void eventcount_wake_all(struct eventcount *ec)
{
	wake(ec, INT_MAX);
}
