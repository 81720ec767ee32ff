/* SPDX-License-Identifier: MIT */
/*
 * Clock: times in nanoseconds.
 *
 * All waiting and measuring uses the monotonic clock, which never jumps.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* The present time of any POSIX clock. */
static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The same time, as system calls take it. */
static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
}

/* The present time of the monotonic clock. */
static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* The time of the monotonic clock in `ms` milliseconds from now. */
static inline uint64_t clock_after_ms(uint32_t ms)
{
	return clock_now_ns() + ms * NS_PER_MS;
}

/* CPU time of this process since its start; a system call. */
static inline uint64_t clock_cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* CPU time of the calling thread since its start; a system call. */
static inline uint64_t clock_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
