/* SPDX-License-Identifier: MIT */
/*
 * Random numbers: the same seed gives the same numbers on every machine.
 *
 * Two generators.  SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) is for
 * shuffles, picks and arrivals.  Its state is one word, which begins as the
 * seed. xoshiro256** (Blackman and Vigna, ACM TOMS 47, 2021) is for
 * simulations: it has independent streams for one seed, so a change of one
 * stream does not change the others.  Published data sets and simulation
 * results depend on both sequences.
 *
 * Threads    A state belongs to one thread.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* SplitMix64: all 64 bits. */
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

/* In [low, high). */
static inline double random_between(uint64_t *state, double low, double high)
{
	return low + random_fraction(state) * (high - low);
}

/* From 0 to n - 1. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(random_fraction(state) * n);
}

/* xoshiro256**. */
struct random {
	uint64_t state[4];
};

/* Streams of one seed are independent of each other. */
void random_init(struct random *r, uint64_t seed, uint64_t stream);

/* In (0, 1): neither 0 nor 1. */
double random_uniform(struct random *r);

double random_exponential(struct random *r, double mean);

/* Mean 0, variance 1. */
double random_normal(struct random *r);

#endif
