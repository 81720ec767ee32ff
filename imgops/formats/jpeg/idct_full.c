/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/idct_full.h"

#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
	SIDE = 8,
	FIX_BITS = 13,
	EXTRA_BITS = 2, /* additional precision between the two passes */
	FIRST_SHIFT = FIX_BITS - EXTRA_BITS,
	LAST_SHIFT = FIX_BITS + EXTRA_BITS + 3,
	MIDDLE = 128,
};

/* Multiples of 1 / (1 << FIX_BITS), as in libjpeg. */
enum {
	F_0_298 = 2446,
	F_0_390 = 3196,
	F_0_541 = 4433,
	F_0_765 = 6270,
	F_0_899 = 7373,
	F_1_175 = 9633,
	F_1_501 = 12299,
	F_1_847 = 15137,
	F_1_961 = 16069,
	F_2_053 = 16819,
	F_2_562 = 20995,
	F_3_072 = 25172,
};

/* --- Portable --- */

/* The lowest 16 bits, as vector code adds and multiplies. */
static int16_t wrapped(int32_t v)
{
	return (int16_t)(uint16_t)v;
}

static int32_t limited(int32_t v, int32_t least, int32_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* Eight points that are `step` apart; results are shifted down. */
static void points(int16_t *v, uint32_t step, int shift)
{
	int32_t in[SIDE], half = 1 << (shift - 1);

	for (uint32_t i = 0; i < SIDE; i++)
		in[i] = v[i * step];

	int32_t a = wrapped(in[0] + in[4]) * (1 << FIX_BITS) + half;
	int32_t b = wrapped(in[0] - in[4]) * (1 << FIX_BITS) + half;
	int32_t c = in[2] * F_0_541 + in[6] * (F_0_541 - F_1_847);
	int32_t d = in[2] * (F_0_541 + F_0_765) + in[6] * F_0_541;
	int32_t z3 = wrapped(in[7] + in[3]), z4 = wrapped(in[5] + in[1]);
	int32_t y3 = z3 * (F_1_175 - F_1_961) + z4 * F_1_175;
	int32_t y4 = z3 * F_1_175 + z4 * (F_1_175 - F_0_390);
	int32_t even[] = { a + d, b + c, b - c, a - d };
	int32_t odd[] = {
		in[7] * -F_0_899 + in[1] * (F_1_501 - F_0_899) + y4,
		in[5] * -F_2_562 + in[3] * (F_3_072 - F_2_562) + y3,
		in[5] * (F_2_053 - F_2_562) + in[3] * -F_2_562 + y4,
		in[7] * (F_0_298 - F_0_899) + in[1] * -F_0_899 + y3,
	};

	for (uint32_t i = 0; i < SIDE / 2; i++) {
		v[i * step] = (int16_t)limited((even[i] + odd[i]) >> shift,
					       INT16_MIN, INT16_MAX);
		v[(SIDE - 1 - i) * step] = (int16_t)limited(
			(even[i] - odd[i]) >> shift, INT16_MIN, INT16_MAX);
	}
}

void idct_full_portable(uint8_t *out, size_t stride_bytes,
			const int16_t coefficients[64], const int16_t steps[64])
{
	int16_t v[SIDE * SIDE];
	bool has_rows = false; /* after the first */

	for (uint32_t i = 0; i < SIDE * SIDE; i++) {
		v[i] = wrapped(coefficients[i] * steps[i]);
		has_rows |= i >= SIDE && coefficients[i] != 0;
	}
	for (uint32_t u = 0; u < SIDE && has_rows; u++)
		points(v + u, SIDE, FIRST_SHIFT);
	/* The first row last. */
	for (uint32_t i = SIDE * SIDE; i-- > 0 && !has_rows;)
		v[i] = wrapped(v[i % SIDE] * (1 << EXTRA_BITS));
	for (uint32_t y = 0; y < SIDE; y++) {
		points(v + y * SIDE, 1, LAST_SHIFT);
		for (uint32_t x = 0; x < SIDE; x++)
			out[y * stride_bytes + x] =
				(uint8_t)(limited(v[y * SIDE + x], INT8_MIN,
						  INT8_MAX) +
					  MIDDLE);
	}
}

/* --- AVX2 --- */

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline

/* Two constants, for a pair of inputs. */
AVX2_INLINE __m256i pair_of(int32_t a, int32_t b)
{
	return _mm256_set1_epi32((int32_t)((uint32_t)a & 0xffff) |
				 (int32_t)((uint32_t)b << 16));
}

/* Eight pairs of values. */
AVX2_INLINE __m256i pairs(__m128i a, __m128i b)
{
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_unpacklo_epi16(a, b)),
		_mm_unpackhi_epi16(a, b), 1);
}

/* A weighted sum of each pair. */
AVX2_INLINE __m256i weighted(__m256i of_pairs, int32_t a, int32_t b)
{
	return _mm256_madd_epi16(of_pairs, pair_of(a, b));
}

/* Values of 16 bits, times 1 << FIX_BITS, and half of the last bit kept. */
AVX2_INLINE __m256i widened(__m128i v, int shift)
{
	return _mm256_add_epi32(
		_mm256_slli_epi32(_mm256_cvtepi16_epi32(v), FIX_BITS),
		_mm256_set1_epi32(1 << (shift - 1)));
}

/* The sum and the difference, shifted down and limited to 16 bits. */
AVX2_INLINE void put(__m128i *sum, __m128i *difference, __m256i a, __m256i b,
		     int shift)
{
	__m256i both = _mm256_packs_epi32(
		_mm256_srai_epi32(_mm256_add_epi32(a, b), shift),
		_mm256_srai_epi32(_mm256_sub_epi32(a, b), shift));
	__m128i low = _mm256_castsi256_si128(both);
	__m128i high = _mm256_extracti128_si256(both, 1);

	*sum = _mm_unpacklo_epi64(low, high);
	*difference = _mm_unpackhi_epi64(low, high);
}

/* As points(), eight at once: v[i] has input i of each, and then output i. */
AVX2_INLINE void avx2_points(__m128i v[SIDE], int shift)
{
	__m256i of_26 = pairs(v[2], v[6]);
	__m256i of_71 = pairs(v[7], v[1]), of_53 = pairs(v[5], v[3]);
	__m256i z = pairs(_mm_add_epi16(v[7], v[3]), _mm_add_epi16(v[5], v[1]));
	__m256i a = widened(_mm_add_epi16(v[0], v[4]), shift);
	__m256i b = widened(_mm_sub_epi16(v[0], v[4]), shift);
	__m256i c = weighted(of_26, F_0_541, F_0_541 - F_1_847);
	__m256i d = weighted(of_26, F_0_541 + F_0_765, F_0_541);
	__m256i y3 = weighted(z, F_1_175 - F_1_961, F_1_175);
	__m256i y4 = weighted(z, F_1_175, F_1_175 - F_0_390);

	put(&v[0], &v[7], _mm256_add_epi32(a, d),
	    _mm256_add_epi32(weighted(of_71, -F_0_899, F_1_501 - F_0_899), y4),
	    shift);
	put(&v[1], &v[6], _mm256_add_epi32(b, c),
	    _mm256_add_epi32(weighted(of_53, -F_2_562, F_3_072 - F_2_562), y3),
	    shift);
	put(&v[2], &v[5], _mm256_sub_epi32(b, c),
	    _mm256_add_epi32(weighted(of_53, F_2_053 - F_2_562, -F_2_562), y4),
	    shift);
	put(&v[3], &v[4], _mm256_sub_epi32(a, d),
	    _mm256_add_epi32(weighted(of_71, F_0_298 - F_0_899, -F_0_899), y3),
	    shift);
}

/* Rows become columns. */
AVX2_INLINE void turn(__m128i v[SIDE])
{
	__m128i two[SIDE], four[SIDE];

	for (int i = 0; i < SIDE; i += 2) {
		two[i] = _mm_unpacklo_epi16(v[i], v[i + 1]);
		two[i + 1] = _mm_unpackhi_epi16(v[i], v[i + 1]);
	}
	for (int i = 0; i < SIDE; i += 4)
		for (int k = 0; k < 2; k++) {
			four[i + 2 * k] =
				_mm_unpacklo_epi32(two[i + k], two[i + k + 2]);
			four[i + 2 * k + 1] =
				_mm_unpackhi_epi32(two[i + k], two[i + k + 2]);
		}
	for (int i = 0; i < SIDE / 2; i++) {
		v[2 * i] = _mm_unpacklo_epi64(four[i], four[i + 4]);
		v[2 * i + 1] = _mm_unpackhi_epi64(four[i], four[i + 4]);
	}
}

/* True: all rows after the first are 0. */
AVX2_INLINE bool is_one_row(const __m128i v[SIDE])
{
	__m128i any = v[1];

	for (int i = 2; i < SIDE; i++)
		any = _mm_or_si128(any, v[i]);
	return _mm_testz_si128(any, any);
}

AVX2 void idct_full_avx2(uint8_t *out, size_t stride_bytes,
			 const int16_t coefficients[64],
			 const int16_t steps[64])
{
	const __m128i *from = (const __m128i *)coefficients;
	__m128i v[SIDE], middle = _mm_set1_epi8((char)MIDDLE);

	for (int i = 0; i < SIDE; i++)
		v[i] = _mm_loadu_si128(from + i);
	bool is_one = is_one_row(v);

	for (int i = 0; i < SIDE; i++)
		v[i] = _mm_mullo_epi16(
			v[i], _mm_loadu_si128((const __m128i *)steps + i));
	if (is_one) {
		for (int i = SIDE - 1; i >= 0; i--)
			v[i] = _mm_slli_epi16(v[0], EXTRA_BITS);
	} else {
		avx2_points(v, FIRST_SHIFT);
	}
	turn(v);
	avx2_points(v, LAST_SHIFT);
	turn(v);
	for (int i = 0; i < SIDE; i += 2) {
		__m128i rows =
			_mm_add_epi8(_mm_packs_epi16(v[i], v[i + 1]), middle);

		_mm_storel_epi64((__m128i *)(out + (size_t)i * stride_bytes),
				 rows);
		_mm_storel_epi64(
			(__m128i *)(out + (size_t)(i + 1) * stride_bytes),
			_mm_unpackhi_epi64(rows, rows));
	}
}

#endif

/* --- Both --- */

idct_full_fn *idct_full_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return idct_full_avx2;
#endif
	return idct_full_portable;
}

void idct_full_flat(uint8_t *out, size_t stride_bytes, int32_t dc)
{
	int32_t first = wrapped(wrapped(dc) * (1 << EXTRA_BITS));
	int32_t level = (first + (1 << (EXTRA_BITS + 2))) >> (EXTRA_BITS + 3);

	level = limited(level, INT8_MIN, INT8_MAX) + MIDDLE;
	for (uint32_t y = 0; y < SIDE; y++)
		memset(out + y * stride_bytes, level, SIDE);
}
