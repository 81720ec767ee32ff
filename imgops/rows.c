/* SPDX-License-Identifier: MIT */
/*
 * Plain loops that compilers vectorise; sums are kept for a strip of a row at a
 * time, so that they stay in the first-level cache.
 */
#include "imgops/rows.h"

#include "imgops/rows_avx2.h"

#include <math.h>

enum {
	STRIP = 256,
	SAMPLE_HALF = 1 << (ROWS_WEIGHT_BITS + ROWS_EXTRA_BITS - 1),
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline void add_bytes(int32_t *restrict sum, const uint8_t *restrict in,
			     int32_t weight, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		sum[x] += weight * in[x];
}

static inline void set(int32_t *sum, int32_t value, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		sum[x] = value;
}

static inline uint8_t to_sample(int32_t sum)
{
	int32_t v = sum >> (ROWS_WEIGHT_BITS + ROWS_EXTRA_BITS);

	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void portable_sum(int16_t *out, const uint8_t *in, size_t stride_bytes,
			 const int16_t *weights, uint32_t count, uint32_t width)
{
	enum { SHIFT = ROWS_WEIGHT_BITS - ROWS_EXTRA_BITS };
	int32_t sum[STRIP];

	for (uint32_t x = 0; x < width; x += STRIP) {
		uint32_t n = least(STRIP, width - x);

		set(sum, 1 << (SHIFT - 1), n);
		for (uint32_t k = 0; k < count; k++)
			add_bytes(sum, in + k * stride_bytes + x, weights[k],
				  n);
		for (uint32_t i = 0; i < n; i++)
			out[x + i] = (int16_t)(sum[i] >> SHIFT);
	}
}

static void portable_resample(uint8_t *out, const int16_t *in,
			      const uint32_t *first, const int16_t *weights,
			      uint32_t count, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++) {
		const int16_t *from = in + first[x];
		const int16_t *w = weights + (size_t)x * count;
		int32_t sum = SAMPLE_HALF;

		for (uint32_t k = 0; k < count; k++)
			sum += from[k] * w[k];
		out[x] = to_sample(sum);
	}
}

const struct rows rows_portable = {
	.name = "portable",
	.sum = portable_sum,
	.resample = portable_resample,
};

const struct rows *rows_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &rows_avx2;
#endif
	return &rows_portable;
}

void rows_weights(int16_t *weights, const double *values, uint32_t count)
{
	double total = 0, so_far = 0;
	long given = 0;

	for (uint32_t k = 0; k < count; k++)
		total += values[k];
	for (uint32_t k = 0; k < count; k++) {
		so_far += values[k];
		long wanted = lround(so_far / total * ROWS_WEIGHT_ONE);

		weights[k] = (int16_t)(wanted - given);
		given = wanted;
	}
}
