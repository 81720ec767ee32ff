/* SPDX-License-Identifier: MIT */
/*
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, and good for shuffles
 * and gaps.  The seed is the first state; any will do.
 */
#ifndef LOADGEN_RANDOM_H
#define LOADGEN_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* In [0, 1), of 53 bits. */
static inline double random_fraction(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

#endif
