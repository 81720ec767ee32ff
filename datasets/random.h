/* SPDX-License-Identifier: MIT */
/*
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).  The seed is the first state;
 * any will do.
 */
#ifndef DATASETS_RANDOM_H
#define DATASETS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* From 0 up to, not including, 1. */
static inline double random_share(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* From `low` up to, not including, `high`. */
static inline double random_between(uint64_t *state, double low, double high)
{
	return low + random_share(state) * (high - low);
}

/* 0 .. n-1. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(random_share(state) * n);
}

#endif
