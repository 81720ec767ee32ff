/* SPDX-License-Identifier: MIT */
/*
 * Plain loops that gcc vectorises; sums are kept for a strip of a row at a
 * time, so that they stay in the first-level cache.
 */
#include "imgops/rows.h"

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

static inline void add_values(int32_t *restrict sum, const int16_t *restrict in,
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

ROWS_CLONES
void rows_sum(int16_t *out, const uint8_t *in, size_t stride_bytes,
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

ROWS_CLONES
void rows_convolve(uint8_t *out, const int16_t *in, const int16_t *weights,
		   uint32_t count, uint32_t width)
{
	int32_t sum[STRIP];

	for (uint32_t x = 0; x < width; x += STRIP) {
		uint32_t n = least(STRIP, width - x);

		set(sum, SAMPLE_HALF, n);
		for (uint32_t k = 0; k < count; k++)
			add_values(sum, in + x + k, weights[k], n);
		for (uint32_t i = 0; i < n; i++)
			out[x + i] = to_sample(sum[i]);
	}
}

static void resample_portable(uint8_t *out, const int16_t *in,
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

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* The products of one output sample, in eight partial sums. */
AVX2 static inline __m256i dot(const int16_t *in, const int16_t *weights,
			       uint32_t count)
{
	__m256i sum = _mm256_setzero_si256();

	for (uint32_t k = 0; k < count; k += ROWS_TAPS_ALIGN) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(in + k));
		__m256i b = _mm256_loadu_si256((const __m256i *)(weights + k));

		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
	}
	return sum;
}

/* Four samples at a time share the adding up and the rounding. */
AVX2 static void resample_avx2(uint8_t *out, const int16_t *in,
			       const uint32_t *first, const int16_t *weights,
			       uint32_t count, uint32_t width)
{
	const __m128i half = _mm_set1_epi32(SAMPLE_HALF);
	uint32_t x = 0;

	for (; x + 4 <= width; x += 4) {
		const int16_t *w = weights + (size_t)x * count;
		__m256i a = dot(in + first[x], w, count);
		__m256i b = dot(in + first[x + 1], w + count, count);
		__m256i c = dot(in + first[x + 2], w + 2 * count, count);
		__m256i d = dot(in + first[x + 3], w + 3 * count, count);
		__m256i abcd = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b),
						 _mm256_hadd_epi32(c, d));
		__m128i sum = _mm_add_epi32(_mm256_castsi256_si128(abcd),
					    _mm256_extracti128_si256(abcd, 1));

		sum = _mm_srai_epi32(_mm_add_epi32(sum, half),
				     ROWS_WEIGHT_BITS + ROWS_EXTRA_BITS);
		sum = _mm_packs_epi32(sum, sum);
		_mm_storeu_si32(out + x, _mm_packus_epi16(sum, sum));
	}
	resample_portable(out + x, in, first + x, weights + (size_t)x * count,
			  count, width - x);
}
#endif

void rows_resample(uint8_t *out, const int16_t *in, const uint32_t *first,
		   const int16_t *weights, uint32_t count, uint32_t width)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		resample_avx2(out, in, first, weights, count, width);
		return;
	}
#endif
	resample_portable(out, in, first, weights, count, width);
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
