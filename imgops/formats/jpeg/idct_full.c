/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/idct_full.h"

#include "imgops/formats/jpeg/islow.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
	SIDE = 8,
	LOW = 4,        /* columns and rows of two_low() */
	EXTRA_BITS = 2, /* additional precision between the two passes */
	FIRST_SHIFT = FACTOR_BITS - EXTRA_BITS,
	LAST_SHIFT = FACTOR_BITS + EXTRA_BITS + 3,
	MIDDLE = 128,
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

	int32_t a = wrapped(in[0] + in[4]) * (1 << FACTOR_BITS) + half;
	int32_t b = wrapped(in[0] - in[4]) * (1 << FACTOR_BITS) + half;
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

static bool portable_one(const struct full_block *b)
{
	int16_t v[SIDE * SIDE];
	bool fits = true;

	for (uint32_t i = 0; i < SIDE * SIDE; i++) {
		v[i] = wrapped(b->coefficients[i] * b->steps[i]);
		fits = fits && (i >= SIDE || abs(v[i]) <= FULL_LIMIT);
		b->coefficients[i] = 0;
	}
	for (uint32_t u = 0; u < SIDE; u++)
		points(v + u, SIDE, FIRST_SHIFT);
	for (uint32_t y = 0; y < SIDE; y++) {
		points(v + y * SIDE, 1, LAST_SHIFT);
		for (uint32_t x = 0; x < SIDE; x++)
			b->out[y * b->stride_bytes + x] =
				(uint8_t)(limited(v[y * SIDE + x], INT8_MIN,
						  INT8_MAX) +
					  MIDDLE);
	}
	return fits;
}

static bool portable_two(const struct full_block *a, const struct full_block *b)
{
	bool fits = portable_one(a);

	return (a == b || portable_one(b)) && fits;
}

const struct idct_full idct_full_portable = {
	.name = "portable",
	.two = portable_two,
	.two_low = portable_two,
};

/* --- AVX2: one block in each half of a vector --- */

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline

/* Eight values of each block, as pairs with eight others. */
struct pairs {
	__m256i low, high;
};

/* Eight values of each block, of 32 bits. */
struct sums {
	__m256i low, high;
};

AVX2_INLINE struct pairs pairs_of(__m256i a, __m256i b)
{
	return (struct pairs){ _mm256_unpacklo_epi16(a, b),
			       _mm256_unpackhi_epi16(a, b) };
}

/* A weighted sum of each pair. */
AVX2_INLINE struct sums weighted(struct pairs p, int32_t a, int32_t b)
{
	__m256i weights = _mm256_set1_epi32((int32_t)((uint32_t)a & 0xffff) |
					    (int32_t)((uint32_t)b << 16));

	return (struct sums){ _mm256_madd_epi16(p.low, weights),
			      _mm256_madd_epi16(p.high, weights) };
}

AVX2_INLINE struct sums added(struct sums a, struct sums b)
{
	return (struct sums){ _mm256_add_epi32(a.low, b.low),
			      _mm256_add_epi32(a.high, b.high) };
}

AVX2_INLINE struct sums subtracted(struct sums a, struct sums b)
{
	return (struct sums){ _mm256_sub_epi32(a.low, b.low),
			      _mm256_sub_epi32(a.high, b.high) };
}

/* Half of the last bit that is kept. */
AVX2_INLINE struct sums half_of(int shift)
{
	__m256i half = _mm256_set1_epi32(1 << (shift - 1));

	return (struct sums){ half, half };
}

/* Values of 16 bits, times 1 << FACTOR_BITS. */
AVX2_INLINE struct sums widened(__m256i v)
{
	return weighted(pairs_of(v, _mm256_setzero_si256()), 1 << FACTOR_BITS,
			0);
}

/* Shifted down, and limited to 16 bits. */
AVX2_INLINE __m256i narrowed(struct sums s, int shift)
{
	return _mm256_packs_epi32(_mm256_srai_epi32(s.low, shift),
				  _mm256_srai_epi32(s.high, shift));
}

/* Outputs i and 7 - i. */
AVX2_INLINE void put(__m256i v[SIDE], int i, struct sums even, struct sums odd,
		     int shift)
{
	v[i] = narrowed(added(even, odd), shift);
	v[SIDE - 1 - i] = narrowed(subtracted(even, odd), shift);
}

/* As points(), eight at once: v[i] has input i of each, and then output i. */
AVX2_INLINE void avx2_points(__m256i v[SIDE], int shift)
{
	struct pairs of_26 = pairs_of(v[2], v[6]);
	struct pairs of_71 = pairs_of(v[7], v[1]);
	struct pairs of_53 = pairs_of(v[5], v[3]);
	struct pairs z = pairs_of(_mm256_add_epi16(v[7], v[3]),
				  _mm256_add_epi16(v[5], v[1]));
	struct sums a =
		added(widened(_mm256_add_epi16(v[0], v[4])), half_of(shift));
	struct sums b =
		added(widened(_mm256_sub_epi16(v[0], v[4])), half_of(shift));
	struct sums c = weighted(of_26, F_0_541, F_0_541 - F_1_847);
	struct sums d = weighted(of_26, F_0_541 + F_0_765, F_0_541);
	struct sums y3 = weighted(z, F_1_175 - F_1_961, F_1_175);
	struct sums y4 = weighted(z, F_1_175, F_1_175 - F_0_390);

	put(v, 0, added(a, d),
	    added(weighted(of_71, -F_0_899, F_1_501 - F_0_899), y4), shift);
	put(v, 1, added(b, c),
	    added(weighted(of_53, -F_2_562, F_3_072 - F_2_562), y3), shift);
	put(v, 2, subtracted(b, c),
	    added(weighted(of_53, F_2_053 - F_2_562, -F_2_562), y4), shift);
	put(v, 3, subtracted(a, d),
	    added(weighted(of_71, F_0_298 - F_0_899, -F_0_899), y3), shift);
}

/* The same if inputs 4 to 7 are 0. */
AVX2_INLINE void avx2_points_low(__m256i v[SIDE], int shift)
{
	enum { ONE = 1 << FACTOR_BITS };
	struct pairs of_02 = pairs_of(v[0], v[2]), of_13 = pairs_of(v[1], v[3]);
	struct sums half = half_of(shift);

	put(v, 0, added(weighted(of_02, ONE, F_0_541 + F_0_765), half),
	    weighted(of_13, F_1_501 - F_0_899 + F_1_175 - F_0_390, F_1_175),
	    shift);
	put(v, 1, added(weighted(of_02, ONE, F_0_541), half),
	    weighted(of_13, F_1_175, F_3_072 - F_2_562 + F_1_175 - F_1_961),
	    shift);
	put(v, 2, added(weighted(of_02, ONE, -F_0_541), half),
	    weighted(of_13, F_1_175 - F_0_390, F_1_175 - F_2_562), shift);
	put(v, 3, added(weighted(of_02, ONE, -F_0_541 - F_0_765), half),
	    weighted(of_13, F_1_175 - F_0_899, F_1_175 - F_1_961), shift);
}

/* Rows become columns, in both blocks. */
AVX2_INLINE void turn(__m256i v[SIDE])
{
	__m256i two[SIDE], four[SIDE];

	for (int i = 0; i < SIDE; i += 2) {
		two[i] = _mm256_unpacklo_epi16(v[i], v[i + 1]);
		two[i + 1] = _mm256_unpackhi_epi16(v[i], v[i + 1]);
	}
	for (int i = 0; i < SIDE; i += 4)
		for (int k = 0; k < 2; k++) {
			__m256i a = two[i + k], b = two[i + k + 2];

			four[i + 2 * k] = _mm256_unpacklo_epi32(a, b);
			four[i + 2 * k + 1] = _mm256_unpackhi_epi32(a, b);
		}
	for (int i = 0; i < LOW; i++) {
		v[2 * i] = _mm256_unpacklo_epi64(four[i], four[i + LOW]);
		v[2 * i + 1] = _mm256_unpackhi_epi64(four[i], four[i + LOW]);
	}
}

/* Row `i` of two arrays. */
AVX2_INLINE __m256i row_of(const int16_t *a, const int16_t *b, int i)
{
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)a + i)),
		_mm_loadu_si128((const __m128i *)b + i), 1);
}

/*
 * Take `rows` rows of coefficients, dequantised, and leave zeros.  False: as
 * idct_full_fn.
 */
AVX2_INLINE bool take(__m256i v[SIDE], const struct full_block *a,
		      const struct full_block *b, int rows)
{
	__m256i most = _mm256_set1_epi16(FULL_LIMIT), over;

	for (int i = 0; i < rows; i++)
		v[i] = _mm256_mullo_epi16(
			row_of(a->coefficients, b->coefficients, i),
			row_of(a->steps, b->steps, i));
	memset(a->coefficients, 0, (size_t)rows * sizeof(__m128i));
	memset(b->coefficients, 0, (size_t)rows * sizeof(__m128i));
	/* -32768 stays negative. */
	over = _mm256_cmpgt_epi16(_mm256_abs_epi16(v[0]), most);
	over = _mm256_or_si256(
		over, _mm256_cmpeq_epi16(v[0], _mm256_set1_epi16(INT16_MIN)));
	return _mm256_testz_si256(over, over);
}

/* Rows `i` and `i` + 1 of a block. */
AVX2_INLINE void store(const struct full_block *b, int i, __m128i rows)
{
	uint8_t *out = b->out + (size_t)i * b->stride_bytes;

	_mm_storel_epi64((__m128i *)out, rows);
	_mm_storel_epi64((__m128i *)(out + b->stride_bytes),
			 _mm_unpackhi_epi64(rows, rows));
}

AVX2_INLINE void store_all(const __m256i v[SIDE], const struct full_block *a,
			   const struct full_block *b)
{
	__m256i middle = _mm256_set1_epi8((char)MIDDLE);

	for (int i = 0; i < SIDE; i += 2) {
		__m256i rows = _mm256_add_epi8(
			_mm256_packs_epi16(v[i], v[i + 1]), middle);

		store(a, i, _mm256_castsi256_si128(rows));
		store(b, i, _mm256_extracti128_si256(rows, 1));
	}
}

AVX2 static bool avx2_two(const struct full_block *a,
			  const struct full_block *b)
{
	__m256i v[SIDE];
	bool fits = take(v, a, b, SIDE);

	avx2_points(v, FIRST_SHIFT);
	turn(v);
	avx2_points(v, LAST_SHIFT);
	turn(v);
	store_all(v, a, b);
	return fits;
}

AVX2 static bool avx2_two_low(const struct full_block *a,
			      const struct full_block *b)
{
	__m256i v[SIDE];
	bool fits = take(v, a, b, LOW);

	avx2_points_low(v, FIRST_SHIFT);
	turn(v); /* compilers leave out what becomes columns 4 to 7 */
	avx2_points_low(v, LAST_SHIFT);
	turn(v);
	store_all(v, a, b);
	return fits;
}

const struct idct_full idct_full_avx2 = {
	.name = "avx2",
	.two = avx2_two,
	.two_low = avx2_two_low,
};

#endif

/* --- Both --- */

const struct idct_full *idct_full_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &idct_full_avx2;
#endif
	return &idct_full_portable;
}

bool idct_full_flat(const struct full_block *b)
{
	int32_t dc = wrapped(b->coefficients[0] * b->steps[0]);
	int32_t level = (dc + (1 << 2)) >> 3;

	b->coefficients[0] = 0;
	level = limited(level, INT8_MIN, INT8_MAX) + MIDDLE;
	for (uint32_t y = 0; y < SIDE; y++)
		memset(b->out + y * b->stride_bytes, level, SIDE);
	return abs(dc) <= FULL_LIMIT;
}
