/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that are the same for the same seed everywhere: xoshiro256**
 * (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM
 * TOMS 47, 2021).
 */
#ifndef STAGES_SIM_RANDOM_H
#define STAGES_SIM_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state[4];
};

/* Streams of one seed are independent of each other. */
void random_init(struct random *r, uint64_t seed, uint64_t stream);

/* In (0, 1), the ends excluded. */
double random_uniform(struct random *r);

double random_exponential(struct random *r, double mean);

/* Of mean 0 and variance 1. */
double random_normal(struct random *r);

#endif
