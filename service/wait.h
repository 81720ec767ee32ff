/* SPDX-License-Identifier: MIT */
/* Wait: condition variables that use the monotonic clock. */
#ifndef SERVICE_WAIT_H
#define SERVICE_WAIT_H

#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

static inline void wait_init(pthread_cond_t *cond)
{
	pthread_condattr_t steady;

	(void)pthread_condattr_init(&steady);
	(void)pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	(void)pthread_cond_init(cond, &steady);
	(void)pthread_condattr_destroy(&steady);
}

#define WAIT_NEVER_NS UINT64_MAX

/*
 * Caller holds the lock; it is released while this waits.  False: the time
 * `end_ns` has come.  With WAIT_NEVER_NS there is no such time.
 */
static inline bool wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
			      uint64_t end_ns)
{
	const struct timespec end = clock_timespec(end_ns);

	if (end_ns == WAIT_NEVER_NS)
		return pthread_cond_wait(cond, lock) == 0;
	return pthread_cond_timedwait(cond, lock, &end) == 0;
}

#endif
