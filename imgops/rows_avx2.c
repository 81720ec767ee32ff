/* SPDX-License-Identifier: MIT */
/*
 * AVX2: two taps at a time, as vpmaddwd multiplies pairs of 16-bit values and
 * adds the two products.  What is left of a row goes the portable way.
 */
#include "imgops/rows_avx2.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

enum {
	SAMPLES = 16, /* of a row at a time */
	SUM_SHIFT = ROWS_WEIGHT_BITS - ROWS_EXTRA_BITS,
	SAMPLE_SHIFT = ROWS_WEIGHT_BITS + ROWS_EXTRA_BITS,
};

/* Sums of 16 samples: 0-3 and 8-11, 4-7 and 12-15, as unpacking leaves them. */
struct sums {
	__m256i low, high;
};

/* Two weights in each 32 bits. */
AVX2 static inline __m256i pair(int16_t first, int16_t second)
{
	return _mm256_set1_epi32((int32_t)((uint32_t)(uint16_t)first |
					   (uint32_t)(uint16_t)second << 16));
}

AVX2 static inline struct sums start(int32_t value)
{
	__m256i v = _mm256_set1_epi32(value);

	return (struct sums){ v, v };
}

/* Add first_weight * a + second_weight * b. */
AVX2 static inline struct sums add(struct sums s, __m256i a, __m256i b,
				   __m256i weights)
{
	__m256i low = _mm256_unpacklo_epi16(a, b);
	__m256i high = _mm256_unpackhi_epi16(a, b);

	s.low = _mm256_add_epi32(s.low, _mm256_madd_epi16(low, weights));
	s.high = _mm256_add_epi32(s.high, _mm256_madd_epi16(high, weights));
	return s;
}

/* 16 values in order. */
AVX2 static inline __m256i finish(struct sums s, int shift)
{
	return _mm256_packs_epi32(_mm256_srai_epi32(s.low, shift),
				  _mm256_srai_epi32(s.high, shift));
}

AVX2 static inline __m256i load_bytes(const uint8_t *from)
{
	return _mm256_cvtepu8_epi16(
		_mm_loadu_si128((const __m128i *)(const void *)from));
}

AVX2 static inline __m256i load(const int16_t *from)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

AVX2 static void avx2_sum(int16_t *out, const uint8_t *in, size_t stride_bytes,
			  const int16_t *weights, uint32_t count,
			  uint32_t width)
{
	uint32_t x = 0;

	for (; x + SAMPLES <= width; x += SAMPLES) {
		struct sums s = start(1 << (SUM_SHIFT - 1));
		const uint8_t *row = in + x;
		uint32_t k = 0;

		for (; k + 2 <= count; k += 2, row += 2 * stride_bytes)
			s = add(s, load_bytes(row),
				load_bytes(row + stride_bytes),
				pair(weights[k], weights[k + 1]));
		if (k < count)
			s = add(s, load_bytes(row), load_bytes(row),
				pair(weights[k], 0));
		_mm256_storeu_si256((__m256i *)(void *)(out + x),
				    finish(s, SUM_SHIFT));
	}
	rows_portable.sum(out + x, in + x, stride_bytes, weights, count,
			  width - x);
}

/* The products of one output sample, in eight partial sums. */
AVX2 static inline __m256i dot(const int16_t *in, const int16_t *weights,
			       uint32_t count)
{
	__m256i sum = _mm256_setzero_si256();

	for (uint32_t k = 0; k < count; k += ROWS_TAPS_ALIGN)
		sum = _mm256_add_epi32(
			sum,
			_mm256_madd_epi16(load(in + k), load(weights + k)));
	return sum;
}

/* Four samples at a time share the adding up and the rounding. */
AVX2 static void avx2_resample(uint8_t *out, const int16_t *in,
			       const uint32_t *first, const int16_t *weights,
			       uint32_t count, uint32_t width)
{
	const __m128i half = _mm_set1_epi32(1 << (SAMPLE_SHIFT - 1));
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

		sum = _mm_srai_epi32(_mm_add_epi32(sum, half), SAMPLE_SHIFT);
		sum = _mm_packs_epi32(sum, sum);
		_mm_storeu_si32(out + x, _mm_packus_epi16(sum, sum));
	}
	rows_portable.resample(out + x, in, first + x,
			       weights + (size_t)x * count, count, width - x);
}

const struct rows rows_avx2 = {
	.name = "avx2",
	.sum = avx2_sum,
	.resample = avx2_resample,
};

#else

/* An empty file is not C. */
typedef int rows_avx2_is_for_x86;

#endif
