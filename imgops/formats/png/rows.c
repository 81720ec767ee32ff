/* SPDX-License-Identifier: MIT */
/*
 * To undo a filter, a pixel needs the one to the left, so pixels are computed
 * one by one: by AVX2 all bytes of a pixel at once.  What depends on the pixel
 * to the left is kept short.
 *
 * The other loops are written once and compiled twice, except where compilers
 * do not find the instructions.
 */
#include "imgops/formats/png/rows.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define INLINED __attribute__((always_inline))

/*
 * The one of a, b and c that is nearest to a + b - c, as stb_image computes it:
 * two comparisons, which do not depend on each other.
 */
INLINED static inline int paeth(int a, int b, int c)
{
	int middle = 3 * c - (a + b);
	int low = a < b ? a : b, high = a < b ? b : a;
	int other = high <= middle ? low : c;

	return middle <= low ? high : other;
}

INLINED static inline void undo_up(uint8_t *restrict out,
				   const uint8_t *restrict in,
				   const uint8_t *restrict above, size_t bytes)
{
	for (size_t x = 0; x < bytes; x++)
		out[x] = (uint8_t)(in[x] + above[x]);
}

INLINED static inline void undo_bytes(uint8_t *out, const uint8_t *in,
				      const uint8_t *above,
				      enum png_filter filter, size_t step,
				      size_t bytes)
{
	const uint8_t *left = out - step, *corner = above - step;

	if (filter == PNG_SUB)
		for (size_t x = 0; x < bytes; x++)
			out[x] = (uint8_t)(in[x] + left[x]);
	else if (filter == PNG_AVERAGE)
		for (size_t x = 0; x < bytes; x++)
			out[x] = (uint8_t)(in[x] + (left[x] + above[x]) / 2);
	else
		for (size_t x = 0; x < bytes; x++)
			out[x] = (uint8_t)(in[x] +
					   paeth(left[x], above[x], corner[x]));
}

static void undo(uint8_t *out, const uint8_t *in, const uint8_t *above,
		 enum png_filter filter, uint32_t step, size_t bytes)
{
	if (filter == PNG_NONE)
		memcpy(out, in, bytes);
	else if (filter == PNG_UP)
		undo_up(out, in, above, bytes);
	else
		undo_bytes(out, in, above, filter, step, bytes);
}

/* --- Filters of a result --- */

INLINED static inline void filter_row(uint8_t *restrict out,
				      const uint8_t *restrict in,
				      const uint8_t *restrict above,
				      enum png_filter filter, size_t step,
				      size_t bytes)
{
	const uint8_t *restrict left = in - step;
	const uint8_t *restrict corner = above - step;

	switch (filter) {
	case PNG_NONE:
		memcpy(out, in, bytes);
		break;
	case PNG_SUB:
		for (size_t x = 0; x < bytes; x++)
			out[x] = (uint8_t)(in[x] - left[x]);
		break;
	case PNG_UP:
		for (size_t x = 0; x < bytes; x++)
			out[x] = (uint8_t)(in[x] - above[x]);
		break;
	case PNG_AVERAGE:
		for (size_t x = 0; x < bytes; x++)
			out[x] = (uint8_t)(in[x] -
					   (uint16_t)(left[x] + above[x]) / 2);
		break;
	default:
		for (size_t x = 0; x < bytes; x++) {
			int16_t a = left[x], b = above[x], c = corner[x];
			int16_t middle = (int16_t)(3 * c - a - b);
			int16_t low = a < b ? a : b, high = a < b ? b : a;
			int16_t other = high <= middle ? low : c;

			out[x] = (uint8_t)(in[x] -
					   (middle <= low ? high : other));
		}
	}
}

INLINED static inline uint64_t sum_of(const uint8_t *in, size_t bytes)
{
	uint64_t sum = 0;

	for (size_t x = 0; x < bytes; x++)
		sum += in[x] < 128 ? in[x] : 256u - in[x];
	return sum;
}

static uint64_t filter_portable(uint8_t *out, const uint8_t *in,
				const uint8_t *above, enum png_filter filter,
				uint32_t step, size_t bytes)
{
	filter_row(out, in, above, filter, step, bytes);
	return sum_of(out, bytes);
}

/* --- Planes --- */

static void split3(uint8_t *const planes[3], const uint8_t *in, size_t width)
{
	uint8_t *restrict r = planes[0], *restrict g = planes[1],
			  *restrict b = planes[2];

	for (size_t x = 0; x < width; x++) {
		r[x] = in[3 * x];
		g[x] = in[3 * x + 1];
		b[x] = in[3 * x + 2];
	}
}

/* c * a / 255, rounded. */
INLINED static inline uint8_t multiply(uint32_t c, uint32_t a)
{
	uint32_t product = c * a + 128;

	return (uint8_t)((product + (product >> 8)) >> 8);
}

static bool split4(uint8_t *const planes[4], const uint8_t *in, size_t width)
{
	uint8_t *restrict r = planes[0], *restrict g = planes[1],
			  *restrict b = planes[2], *restrict a = planes[3];
	uint8_t all = 255;

	for (size_t x = 0; x < width; x++, in += 4) {
		a[x] = in[3];
		all &= in[3];
		r[x] = multiply(in[0], in[3]);
		g[x] = multiply(in[1], in[3]);
		b[x] = multiply(in[2], in[3]);
	}
	return all == 255;
}

const struct png_rows png_rows_portable = {
	.name = "portable",
	.undo = undo,
	.filter = filter_portable,
	.split3 = split3,
	.split4 = split4,
};

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINED __attribute__((target("avx2"), always_inline))

AVX2 static inline __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

AVX2 static inline void store(uint8_t *p, __m128i v)
{
	_mm_storeu_si128((__m128i *)(void *)p, v);
}

/* A pixel of 3 or 4 bytes, or of 6 or 8, and what follows. */
AVX2_INLINED static inline __m128i load_pixel(const uint8_t *p, size_t step)
{
	uint32_t four;

	if (step > 4)
		return _mm_loadl_epi64((const __m128i *)(const void *)p);
	memcpy(&four, p, sizeof(four));
	return _mm_cvtsi32_si128((int)four);
}

AVX2_INLINED static inline void store_pixel(uint8_t *p, __m128i v, size_t step)
{
	uint32_t four = (uint32_t)_mm_cvtsi128_si32(v);

	if (step > 4)
		_mm_storel_epi64((__m128i *)(void *)p, v);
	else
		memcpy(p, &four, sizeof(four));
}

/*
 * paeth(), and then the pixel `x`, which is added to all three; samples have 16
 * bits, of which the upper 8 are 0.
 */
AVX2_INLINED static inline __m128i add_paeth(__m128i x, __m128i a, __m128i b,
					     __m128i c)
{
	__m128i ahead = _mm_sub_epi16(_mm_add_epi16(c, _mm_add_epi16(c, c)), b);
	__m128i middle;
	__m128i low = _mm_min_epi16(a, b), high = _mm_max_epi16(a, b);
	__m128i not_high, not_low;

	/* Compilers would compute a + b first: two more steps from a. */
	__asm__("" : "+x"(ahead));
	middle = _mm_sub_epi16(ahead, a);
	not_high = _mm_cmpgt_epi16(middle, low);
	not_low = _mm_cmpgt_epi16(high, middle);
	high = _mm_andnot_si128(not_high, _mm_add_epi8(x, high));
	low = _mm_andnot_si128(not_low, _mm_add_epi8(x, low));
	c = _mm_and_si128(not_high, _mm_and_si128(not_low, _mm_add_epi8(x, c)));
	return _mm_or_si128(_mm_or_si128(high, low), c);
}

AVX2_INLINED static inline void undo_paeth(uint8_t *out, const uint8_t *in,
					   const uint8_t *above, size_t step,
					   size_t bytes)
{
	__m128i a = _mm_setzero_si128(), c = a;

	for (size_t x = 0; x < bytes; x += step) {
		__m128i b = _mm_cvtepu8_epi16(load_pixel(above + x, step));

		a = add_paeth(_mm_cvtepu8_epi16(load_pixel(in + x, step)), a, b,
			      c);
		c = b;
		store_pixel(out + x, _mm_packus_epi16(a, a), step);
	}
}

/* The instruction rounds up. */
AVX2_INLINED static inline void undo_average(uint8_t *out, const uint8_t *in,
					     const uint8_t *above, size_t step,
					     size_t bytes)
{
	const __m128i one = _mm_set1_epi8(1);
	__m128i a = _mm_setzero_si128();

	for (size_t x = 0; x < bytes; x += step) {
		__m128i b = load_pixel(above + x, step);
		__m128i odd = _mm_and_si128(_mm_xor_si128(a, b), one);

		a = _mm_add_epi8(load_pixel(in + x, step), _mm_avg_epu8(a, b));
		a = _mm_sub_epi8(a, odd);
		store_pixel(out + x, a, step);
	}
}

AVX2_INLINED static inline void undo_sub(uint8_t *out, const uint8_t *in,
					 size_t step, size_t bytes)
{
	__m128i a = _mm_setzero_si128();

	for (size_t x = 0; x < bytes; x += step) {
		a = _mm_add_epi8(a, load_pixel(in + x, step));
		store_pixel(out + x, a, step);
	}
}

AVX2_INLINED static inline void undo_pixels(uint8_t *out, const uint8_t *in,
					    const uint8_t *above,
					    enum png_filter filter, size_t step,
					    size_t bytes)
{
	if (filter == PNG_SUB)
		undo_sub(out, in, step, bytes);
	else if (filter == PNG_AVERAGE)
		undo_average(out, in, above, step, bytes);
	else
		undo_paeth(out, in, above, step, bytes);
}

AVX2 static void avx2_undo(uint8_t *out, const uint8_t *in,
			   const uint8_t *above, enum png_filter filter,
			   uint32_t step, size_t bytes)
{
	if (filter == PNG_NONE)
		memcpy(out, in, bytes);
	else if (filter == PNG_UP)
		undo_up(out, in, above, bytes);
	else if (step == 1)
		undo_bytes(out, in, above, filter, 1, bytes);
	else if (step == 2)
		undo_bytes(out, in, above, filter, 2, bytes);
	else if (step == 3)
		undo_pixels(out, in, above, filter, 3, bytes);
	else if (step == 4)
		undo_pixels(out, in, above, filter, 4, bytes);
	else
		undo_pixels(out, in, above, filter, step, bytes);
}

AVX2 static uint64_t avx2_sum_of(const uint8_t *in, size_t bytes)
{
	__m256i sum = _mm256_setzero_si256(), zero = sum;
	uint64_t sums[4];
	size_t x;

	for (x = 0; x + 32 <= bytes; x += 32) {
		__m256i v = _mm256_loadu_si256(
			(const __m256i *)(const void *)(in + x));

		sum = _mm256_add_epi64(
			sum, _mm256_sad_epu8(_mm256_abs_epi8(v), zero));
	}
	_mm256_storeu_si256((__m256i *)(void *)sums, sum);
	return sums[0] + sums[1] + sums[2] + sums[3] +
	       sum_of(in + x, bytes - x);
}

AVX2 static uint64_t avx2_filter(uint8_t *out, const uint8_t *in,
				 const uint8_t *above, enum png_filter filter,
				 uint32_t step, size_t bytes)
{
	filter_row(out, in, above, filter, step, bytes);
	return avx2_sum_of(out, bytes);
}

enum { GROUP = 16 }; /* pixels in a register */

/* Every third byte of 48, from `first` on. */
AVX2_INLINED static inline __m128i every_third(const __m128i in[3], int first)
{
	static const int8_t masks[3][3][GROUP] = {
		{ { 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1,
		    -1 },
		  { -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1,
		    -1 },
		  { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10,
		    13 } },
		{ { 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
		    -1 },
		  { -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1,
		    -1 },
		  { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11,
		    14 } },
		{ { 2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
		    -1 },
		  { -1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1,
		    -1 },
		  { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12,
		    15 } },
	};
	__m128i found = _mm_setzero_si128();

	for (int i = 0; i < 3; i++)
		found = _mm_or_si128(
			found,
			_mm_shuffle_epi8(
				in[i], load((const uint8_t *)masks[first][i])));
	return found;
}

AVX2 static void avx2_split3(uint8_t *const planes[3], const uint8_t *in,
			     size_t width)
{
	uint8_t *r = planes[0], *g = planes[1], *b = planes[2];

	for (size_t x = 0; x < width; x += GROUP, in += 3 * (size_t)GROUP) {
		const __m128i all[] = { load(in), load(in + GROUP),
					load(in + 2 * (size_t)GROUP) };

		store(r + x, every_third(all, 0));
		store(g + x, every_third(all, 1));
		store(b + x, every_third(all, 2));
	}
}

AVX2 static inline __m128i avx2_multiply(__m128i c, __m256i alpha)
{
	__m256i v = _mm256_mullo_epi16(_mm256_cvtepu8_epi16(c), alpha);

	v = _mm256_add_epi16(v, _mm256_set1_epi16(128));
	v = _mm256_srli_epi16(_mm256_add_epi16(v, _mm256_srli_epi16(v, 8)), 8);
	return _mm_packus_epi16(_mm256_castsi256_si128(v),
				_mm256_extracti128_si256(v, 1));
}

AVX2 static bool avx2_split4(uint8_t *const planes[4], const uint8_t *in,
			     size_t width)
{
	const __m128i turn = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10,
					   14, 3, 7, 11, 15);
	const __m128i full = _mm_set1_epi8(-1);
	__m128i all = full;

	for (size_t x = 0; x < width; x += GROUP, in += 4 * (size_t)GROUP) {
		__m128i v0 = _mm_shuffle_epi8(load(in), turn);
		__m128i v1 = _mm_shuffle_epi8(load(in + 16), turn);
		__m128i v2 = _mm_shuffle_epi8(load(in + 32), turn);
		__m128i v3 = _mm_shuffle_epi8(load(in + 48), turn);
		__m128i rg01 = _mm_unpacklo_epi32(v0, v1);
		__m128i rg23 = _mm_unpacklo_epi32(v2, v3);
		__m128i ba01 = _mm_unpackhi_epi32(v0, v1);
		__m128i ba23 = _mm_unpackhi_epi32(v2, v3);
		__m128i r = _mm_unpacklo_epi64(rg01, rg23);
		__m128i g = _mm_unpackhi_epi64(rg01, rg23);
		__m128i b = _mm_unpacklo_epi64(ba01, ba23);
		__m128i a = _mm_unpackhi_epi64(ba01, ba23);

		if (_mm_movemask_epi8(_mm_cmpeq_epi8(a, full)) != 0xffff) {
			__m256i alpha = _mm256_cvtepu8_epi16(a);

			r = avx2_multiply(r, alpha);
			g = avx2_multiply(g, alpha);
			b = avx2_multiply(b, alpha);
			all = _mm_and_si128(all, a);
		}
		store(planes[0] + x, r);
		store(planes[1] + x, g);
		store(planes[2] + x, b);
		store(planes[3] + x, a);
	}
	return _mm_movemask_epi8(_mm_cmpeq_epi8(all, full)) == 0xffff;
}

const struct png_rows png_rows_avx2 = {
	.name = "avx2",
	.undo = avx2_undo,
	.filter = avx2_filter,
	.split3 = avx2_split3,
	.split4 = avx2_split4,
};

#endif

const struct png_rows *png_rows_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &png_rows_avx2;
#endif
	return &png_rows_portable;
}
