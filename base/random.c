/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include <math.h>

void random_init(struct random *r, uint64_t seed, uint64_t stream)
{
	uint64_t x = stream;

	x = seed ^ random_next(&x);
	for (int i = 0; i < 4; i++)
		r->state[i] = random_next(&x);
}

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static uint64_t xoshiro_next(struct random *r)
{
	uint64_t *s = r->state;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate(s[3], 45);
	return result;
}

double random_uniform(struct random *r)
{
	return ((double)(xoshiro_next(r) >> 12) + 0.5) * 0x1p-52;
}

double random_exponential(struct random *r, double mean)
{
	return -mean * log(random_uniform(r));
}

/*
 * The method of Box and Muller (1958), which makes pairs; the second number is
 * not used.
 */
double random_normal(struct random *r)
{
	double radius = sqrt(-2 * log(random_uniform(r)));

	return radius * cos(2 * M_PI * random_uniform(r));
}
