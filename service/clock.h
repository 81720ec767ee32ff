/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_CLOCK_H
#define SERVICE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What it will be after so long. */
static inline uint64_t clock_after_ms(uint32_t ms)
{
	return clock_now_ns() + ms * UINT64_C(1000000);
}

#endif
