/* SPDX-License-Identifier: MIT */
/*
 * The simple loops are written once, in C, and compiled twice: for any CPU, and
 * inside the functions for AVX2.  `fold` is written twice, because compilers do
 * not find the AVX2 instruction for it.
 */
#include "imgops/blur/rows.h"

#include <stddef.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/*
 * A function with this attribute is compiled for the CPU of its caller.
 * Indices are size_t: compilers vectorise only indices that do not wrap.
 */
#define INLINED __attribute__((always_inline))

INLINED static inline void widen(int16_t *restrict out,
				 const uint8_t *restrict in, uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		out[x] = (int16_t)(in[x] << BLUR_EXTRA_BITS);
}

/*
 * With 32 added for rounding, a value is at most (255 << 6) + 32, which fits
 * into 16 bits.
 */
INLINED static inline void narrow(uint8_t *restrict out,
				  const int16_t *restrict in, uint32_t width)
{
	enum { HALF = 1 << (BLUR_EXTRA_BITS - 1) };

	for (size_t x = 0; x < width; x++)
		out[x] = (uint8_t)((uint16_t)(in[x] + HALF) >> BLUR_EXTRA_BITS);
}

INLINED static inline void smooth(int16_t *restrict out,
				  const int16_t *restrict a,
				  const int16_t *restrict b,
				  const int16_t *restrict c, uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		out[x] = (int16_t)((uint16_t)(a[x] + 2 * b[x] + c[x] + 2) >> 2);
}

INLINED static inline void reduce(int16_t *restrict out,
				  const int16_t *restrict in, uint32_t width)
{
	const int16_t *before = in - 1;

	for (size_t i = 0; i < width; i++)
		out[i] = (int16_t)((uint16_t)(before[2 * i] + 2 * in[2 * i] +
					      in[2 * i + 1] + 2) >>
				   2);
}

INLINED static inline void expand(int16_t *restrict out,
				  const int16_t *restrict in, uint32_t in_width)
{
	for (size_t i = 0; i < in_width; i++) {
		out[2 * i] = in[i];
		out[2 * i + 1] =
			(int16_t)((uint16_t)(in[i] + in[i + 1] + 1) >> 1);
	}
}

INLINED static inline void average(int16_t *restrict out,
				   const int16_t *restrict a,
				   const int16_t *restrict b, uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		out[x] = (int16_t)((uint16_t)(a[x] + b[x] + 1) >> 1);
}

/* The curve of rows.h, in parts of a level. */
enum {
	FLAT = 326, /* 5.1 levels */
	SLOPE = 3,
	BRIGHTER_MAX = 1632 / SLOPE, /* 25.5 levels */
	DARKER_MAX = 3264 / SLOPE,   /* 51 levels */
};

INLINED static inline int16_t between(int16_t value, int16_t least,
				      int16_t most)
{
	value = value < least ? least : value;
	return value > most ? most : value;
}

INLINED static inline void contrast(int16_t *restrict out,
				    const uint8_t *restrict samples,
				    const int16_t *restrict blurred,
				    uint32_t width)
{
	enum { HALF = 1 << (BLUR_EXTRA_BITS - 1) };

	for (size_t x = 0; x < width; x++) {
		int16_t value = (int16_t)(samples[x] << BLUR_EXTRA_BITS);
		int16_t off = (int16_t)(value - blurred[x]);
		int16_t cut =
			between(off, -FLAT - DARKER_MAX, FLAT + BRIGHTER_MAX);
		int16_t past = (int16_t)(cut - between(off, -FLAT, FLAT));

		out[x] = (int16_t)(((int16_t)(past * SLOPE) + HALF) >>
				   BLUR_EXTRA_BITS);
	}
}

INLINED static inline void add(uint8_t *restrict samples,
			       const int16_t *restrict levels, uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		samples[x] = (uint8_t)between((int16_t)(samples[x] + levels[x]),
					      0, 255);
}

INLINED static inline void add_within(uint8_t *restrict samples,
				      const int16_t *restrict levels,
				      const uint8_t *restrict most,
				      uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		samples[x] = (uint8_t)between((int16_t)(samples[x] + levels[x]),
					      0, most[x]);
}

/* The weights are those of libjpeg, in parts of 65536. */
INLINED static inline void luma(uint8_t *restrict out,
				const uint8_t *restrict red,
				const uint8_t *restrict green,
				const uint8_t *restrict blue, uint32_t width)
{
	for (size_t x = 0; x < width; x++) {
		uint32_t sum = 19595 * (uint32_t)red[x] +
			       38470 * (uint32_t)green[x] +
			       7471 * (uint32_t)blue[x] + 32768;

		out[x] = (uint8_t)(sum >> 16);
	}
}

enum { ROUND = 1 << (BLUR_WEIGHT_BITS - 1) };

static inline int16_t multiply(int value, int16_t weight)
{
	return (int16_t)(((int16_t)value * weight + ROUND) >> BLUR_WEIGHT_BITS);
}

static inline void add_rows(int16_t *restrict sum, const int16_t *restrict a,
			    const int16_t *restrict b, int16_t weight,
			    size_t width)
{
	for (size_t x = 0; x < width; x++)
		sum[x] = (int16_t)(sum[x] + multiply(a[x] + b[x], weight));
}

static void fold(int16_t *out, const int16_t *const *in, const int16_t *weights,
		 uint32_t radius, uint32_t width)
{
	size_t whole =
		((size_t)width + BLUR_ALIGN - 1) / BLUR_ALIGN * BLUR_ALIGN;

	for (size_t x = 0; x < whole; x++)
		out[x] = multiply(in[radius][x], weights[0]);
	for (uint32_t i = 1; i <= radius; i++)
		add_rows(out, in[radius - i], in[radius + i], weights[i],
			 whole);
}

const struct blur_rows blur_rows_portable = {
	.name = "portable",
	.widen = widen,
	.narrow = narrow,
	.fold = fold,
	.smooth = smooth,
	.reduce = reduce,
	.expand = expand,
	.average = average,
	.contrast = contrast,
	.add = add,
	.add_within = add_within,
	.luma = luma,
};

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const int16_t *from)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

AVX2 static inline void store(int16_t *to, __m256i values)
{
	_mm256_storeu_si256((__m256i *)(void *)to, values);
}

/*
 * Compute `vectors` vectors of 16 values from `x` on.  The instruction
 * vpmulhrsw does the same as multiply().
 */
AVX2 static inline void fold_at(int16_t *out, const int16_t *const *in,
				const int16_t *weights, uint32_t radius,
				uint32_t x, uint32_t vectors)
{
	__m256i sums[4], w = _mm256_set1_epi16(weights[0]);

	for (uint32_t v = 0; v < vectors; v++)
		sums[v] = _mm256_mulhrs_epi16(
			load(in[radius] + x + v * BLUR_ALIGN), w);
	for (uint32_t i = 1; i <= radius; i++) {
		const int16_t *a = in[radius - i] + x, *b = in[radius + i] + x;

		w = _mm256_set1_epi16(weights[i]);
		for (uint32_t v = 0; v < vectors; v++) {
			__m256i both =
				_mm256_add_epi16(load(a + v * BLUR_ALIGN),
						 load(b + v * BLUR_ALIGN));

			sums[v] = _mm256_add_epi16(
				sums[v], _mm256_mulhrs_epi16(both, w));
		}
	}
	for (uint32_t v = 0; v < vectors; v++)
		store(out + x + v * BLUR_ALIGN, sums[v]);
}

AVX2 static void avx2_fold(int16_t *out, const int16_t *const *in,
			   const int16_t *weights, uint32_t radius,
			   uint32_t width)
{
	uint32_t x = 0;

	for (; x + 4 * BLUR_ALIGN <= width; x += 4 * BLUR_ALIGN)
		fold_at(out, in, weights, radius, x, 4);
	for (; x < width; x += BLUR_ALIGN)
		fold_at(out, in, weights, radius, x, 1);
}

AVX2 static void avx2_widen(int16_t *out, const uint8_t *in, uint32_t width)
{
	widen(out, in, width);
}

AVX2 static void avx2_narrow(uint8_t *out, const int16_t *in, uint32_t width)
{
	narrow(out, in, width);
}

AVX2 static void avx2_smooth(int16_t *out, const int16_t *a, const int16_t *b,
			     const int16_t *c, uint32_t width)
{
	smooth(out, a, b, c, width);
}

AVX2 static void avx2_reduce(int16_t *out, const int16_t *in, uint32_t width)
{
	reduce(out, in, width);
}

AVX2 static void avx2_expand(int16_t *out, const int16_t *in, uint32_t in_width)
{
	expand(out, in, in_width);
}

AVX2 static void avx2_average(int16_t *out, const int16_t *a, const int16_t *b,
			      uint32_t width)
{
	average(out, a, b, width);
}

AVX2 static void avx2_contrast(int16_t *out, const uint8_t *samples,
			       const int16_t *blurred, uint32_t width)
{
	contrast(out, samples, blurred, width);
}

AVX2 static void avx2_add(uint8_t *samples, const int16_t *levels,
			  uint32_t width)
{
	add(samples, levels, width);
}

AVX2 static void avx2_add_within(uint8_t *samples, const int16_t *levels,
				 const uint8_t *most, uint32_t width)
{
	add_within(samples, levels, most, width);
}

AVX2 static void avx2_luma(uint8_t *out, const uint8_t *red,
			   const uint8_t *green, const uint8_t *blue,
			   uint32_t width)
{
	luma(out, red, green, blue, width);
}

const struct blur_rows blur_rows_avx2 = {
	.name = "avx2",
	.widen = avx2_widen,
	.narrow = avx2_narrow,
	.fold = avx2_fold,
	.smooth = avx2_smooth,
	.reduce = avx2_reduce,
	.expand = avx2_expand,
	.average = avx2_average,
	.contrast = avx2_contrast,
	.add = avx2_add,
	.add_within = avx2_add_within,
	.luma = avx2_luma,
};

#endif

const struct blur_rows *blur_rows_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &blur_rows_avx2;
#endif
	return &blur_rows_portable;
}
