/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/idct.h"

#include <assert.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum {
	FIX_BITS = 14,
	EXTRA_BITS = 2, /* additional precision between the two passes */
	FIRST_SHIFT = FIX_BITS - EXTRA_BITS,
	LAST_SHIFT = FIX_BITS + EXTRA_BITS,
	MIDDLE = 128,
};

const uint8_t idct_positions[IDCT_POSITIONS] = {
	0,           1,           4,           8,           5,
	2,           3,           6,           9,           12,
	IDCT_UNUSED, 13,          10,          7,           IDCT_UNUSED,
	IDCT_UNUSED, IDCT_UNUSED, 11,          14,          IDCT_UNUSED,
	IDCT_UNUSED, IDCT_UNUSED, IDCT_UNUSED, IDCT_UNUSED, 15,
};

const uint8_t idct_last[IDCT_MAX + 1] = { 0, 0, 4, 12, 24 };

const uint8_t idct_order[DCTSIZE2] = {
	0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

static bool is_needed(uint32_t k)
{
	return k < IDCT_POSITIONS && idct_positions[k] != IDCT_UNUSED;
}

bool idct_quant(uint16_t quant[DCTSIZE2],
		const struct jpeg_decompress_struct *jpeg, int number)
{
	const JQUANT_TBL *from = NULL;

	if (number >= 0 && number < NUM_QUANT_TBLS)
		from = jpeg->quant_tbl_ptrs[number];
	for (uint32_t k = 0; from != NULL && k < DCTSIZE2; k++) {
		quant[k] = from->quantval[idct_order[k]];
		if (is_needed(k) && quant[k] > INT16_MAX)
			return false;
	}
	return from != NULL;
}

/*
 * Constants of an orthonormal DCT: sqrt(1/8) for the mean, 1/2 cos(..) for the
 * rest.
 */
#define FIX(x) ((int32_t)((x) * (1 << FIX_BITS) + 0.5))
#define MEAN FIX(0.353553390593)

void idct_choose_steps(uint16_t steps[IDCT_COEFFICIENTS],
		       const uint16_t quant[DCTSIZE2])
{
	for (uint32_t k = 0; k < IDCT_POSITIONS; k++)
		if (is_needed(k))
			steps[idct_positions[k]] = quant[k];
}

static inline uint8_t limit(int32_t v)
{
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/*
 * Gives the same as libjpeg's jpeg_idct_1x1(), whose table of limits is indexed
 * by the lowest ten bits.
 */
static inline uint8_t block1(int32_t dc)
{
	int32_t v = (dc + 4) >> 3;

	return limit(((v & 1023) ^ 512) - 512 + MIDDLE);
}

static inline void points3(int32_t out[3], int32_t a, int32_t b, int32_t c)
{
	int32_t even = MEAN * a + FIX(0.25) * c, odd = FIX(0.433012701892) * b;

	out[0] = even + odd;
	out[1] = MEAN * a - FIX(0.5) * c;
	out[2] = even - odd;
}

static inline void points4(int32_t out[4], int32_t a, int32_t b, int32_t c,
			   int32_t d)
{
	int32_t even = MEAN * (a + c), even_in = MEAN * (a - c);
	int32_t odd = FIX(0.461939766256) * b + FIX(0.191341716183) * d;
	int32_t odd_in = FIX(0.191341716183) * b - FIX(0.461939766256) * d;

	out[0] = even + odd;
	out[1] = even_in + odd_in;
	out[2] = even_in - odd_in;
	out[3] = even - odd;
}

static void block2(uint8_t *out, size_t stride, const int32_t *c)
{
	int32_t left = c[0] + c[4], left_dx = c[1] + c[5];
	int32_t low = c[0] - c[4], low_dx = c[1] - c[5];

	out[0] = limit(((left + left_dx + 4) >> 3) + MIDDLE);
	out[1] = limit(((left - left_dx + 4) >> 3) + MIDDLE);
	out[stride] = limit(((low + low_dx + 4) >> 3) + MIDDLE);
	out[stride + 1] = limit(((low - low_dx + 4) >> 3) + MIDDLE);
}

static inline uint8_t rounded(int32_t sum)
{
	return limit(((sum + (1 << (LAST_SHIFT - 1))) >> LAST_SHIFT) + MIDDLE);
}

static inline int32_t kept(int32_t sum)
{
	return (sum + (1 << (FIRST_SHIFT - 1))) >> FIRST_SHIFT;
}

static void block3(uint8_t *out, size_t stride, const int32_t *c)
{
	int32_t columns[3][3], row[3];

	for (uint32_t u = 0; u < 3; u++)
		points3(columns[u], c[u], c[u + IDCT_MAX], c[u + 2 * IDCT_MAX]);
	for (uint32_t y = 0; y < 3; y++, out += stride) {
		points3(row, kept(columns[0][y]), kept(columns[1][y]),
			kept(columns[2][y]));
		for (uint32_t x = 0; x < 3; x++)
			out[x] = rounded(row[x]);
	}
}

static void block4(uint8_t *out, size_t stride, const int32_t *c)
{
	int32_t columns[4][4], row[4];

	for (uint32_t u = 0; u < 4; u++)
		points4(columns[u], c[u], c[u + IDCT_MAX], c[u + 2 * IDCT_MAX],
			c[u + 3 * IDCT_MAX]);
	for (uint32_t y = 0; y < 4; y++, out += stride) {
		points4(row, kept(columns[0][y]), kept(columns[1][y]),
			kept(columns[2][y]), kept(columns[3][y]));
		for (uint32_t x = 0; x < 4; x++)
			out[x] = rounded(row[x]);
	}
}

static inline void dequantise(int32_t low[IDCT_COEFFICIENTS],
			      const int16_t *coefficients,
			      const uint16_t *steps, uint32_t n)
{
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t u = 0; u < n; u++) {
			uint32_t at = v * IDCT_MAX + u;

			low[at] = idct_limited(coefficients[at] * steps[at]);
		}
}

void idct_block_portable(uint8_t *out, size_t stride_bytes,
			 const int16_t coefficients[IDCT_COEFFICIENTS],
			 const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n)
{
	int32_t low[IDCT_COEFFICIENTS];

	switch (n) {
	case 1:
		*out = block1(coefficients[0] * steps[0]);
		break;
	case 2:
		dequantise(low, coefficients, steps, 2);
		block2(out, stride_bytes, low);
		break;
	case 3:
		dequantise(low, coefficients, steps, 3);
		block3(out, stride_bytes, low);
		break;
	default:
		assert(n == IDCT_MAX);
		dequantise(low, coefficients, steps, IDCT_MAX);
		block4(out, stride_bytes, low);
		break;
	}
}

#ifdef __SSE2__

/*
 * Four points, or three: then the third output is of no use, and the fourth is
 * the last.  Each constant is for a pair of inputs, 0 and 2, or 1 and 3.
 */
struct points {
	__m128i even, even_in, odd, odd_in;
};

static inline __m128i pair_of(int32_t a, int32_t b)
{
	return _mm_set1_epi32((int32_t)((uint32_t)a & 0xffff) |
			      (int32_t)((uint32_t)b << 16));
}

static inline struct points points_of(uint32_t n)
{
	if (n == 3)
		return (struct points){
			.even = pair_of(MEAN, FIX(0.25)),
			.even_in = pair_of(MEAN, -FIX(0.5)),
			.odd = pair_of(FIX(0.433012701892), 0),
			.odd_in = pair_of(0, 0),
		};
	return (struct points){
		.even = pair_of(MEAN, MEAN),
		.even_in = pair_of(MEAN, -MEAN),
		.odd = pair_of(FIX(0.461939766256), FIX(0.191341716183)),
		.odd_in = pair_of(FIX(0.191341716183), -FIX(0.461939766256)),
	};
}

/*
 * One pass over four lanes of pairs.  *low has outputs 0 and 1, *high 2 and 3,
 * each of four lanes.
 */
static inline void pass(__m128i *low, __m128i *high, __m128i of_02,
			__m128i of_13, struct points p, int shift)
{
	__m128i round = _mm_set1_epi32(1 << (shift - 1));
	__m128i even = _mm_add_epi32(_mm_madd_epi16(of_02, p.even), round);
	__m128i even_in =
		_mm_add_epi32(_mm_madd_epi16(of_02, p.even_in), round);
	__m128i odd = _mm_madd_epi16(of_13, p.odd);
	__m128i odd_in = _mm_madd_epi16(of_13, p.odd_in);

	*low = _mm_packs_epi32(
		_mm_srai_epi32(_mm_add_epi32(even, odd), shift),
		_mm_srai_epi32(_mm_add_epi32(even_in, odd_in), shift));
	*high = _mm_packs_epi32(
		_mm_srai_epi32(_mm_sub_epi32(even_in, odd_in), shift),
		_mm_srai_epi32(_mm_sub_epi32(even, odd), shift));
}

/* Eight coefficients, dequantised and limited. */
static inline __m128i dequantised(__m128i c, __m128i step)
{
	__m128i low = _mm_mullo_epi16(c, step), high = _mm_mulhi_epi16(c, step);
	__m128i most = _mm_set1_epi16(IDCT_LIMIT);
	__m128i all = _mm_packs_epi32(_mm_unpacklo_epi16(low, high),
				      _mm_unpackhi_epi16(low, high));

	return _mm_max_epi16(_mm_min_epi16(all, most),
			     _mm_sub_epi16(_mm_setzero_si128(), most));
}

static inline __m128i load(const void *from)
{
	return _mm_loadu_si128((const __m128i *)from);
}

/* Of two rows of four values: 0 and 2 of both, then 1 and 3 of both. */
static inline __m128i pairs_of_rows(__m128i rows)
{
	enum { APART = _MM_SHUFFLE(3, 1, 2, 0) };

	rows = _mm_shufflehi_epi16(_mm_shufflelo_epi16(rows, APART), APART);
	return _mm_shuffle_epi32(rows, APART);
}

/* Bytes of four columns become bytes of four rows. */
static inline __m128i turned(__m128i bytes)
{
	for (int i = 0; i < 2; i++)
		bytes = _mm_unpacklo_epi8(bytes, _mm_srli_si128(bytes, 8));
	return bytes;
}

/*
 * Sums down the columns, then along the rows.  The rows of samples, of four
 * bytes each; if n is 3, the third is of no use, and so is the third of a row.
 */
static inline __m128i samples_of(__m128i rows01, __m128i rows23,
				 struct points p)
{
	__m128i middle = _mm_set1_epi16(MIDDLE), low, high;

	pass(&low, &high, _mm_unpacklo_epi16(rows01, rows23),
	     _mm_unpackhi_epi16(rows01, rows23), p, FIRST_SHIFT);
	low = pairs_of_rows(low);
	high = pairs_of_rows(high);
	pass(&low, &high, _mm_unpacklo_epi64(low, high),
	     _mm_unpackhi_epi64(low, high), p, LAST_SHIFT);
	return turned(_mm_packus_epi16(_mm_add_epi16(low, middle),
				       _mm_add_epi16(high, middle)));
}

static inline void store_rows(uint8_t *out, size_t stride, __m128i samples,
			      uint32_t n)
{
	for (uint32_t y = 0; y < IDCT_MAX; y++) {
		uint32_t row = (uint32_t)_mm_cvtsi128_si32(samples);

		samples = _mm_srli_si128(samples, IDCT_MAX);
		if (n == 3 && y == 2)
			continue;
		if (n == 3)
			row = (row & 0xffff) | row >> 24 << 16;
		memcpy(out, &row, n);
		out += stride;
	}
}

/* idct_row() for n of 3 or 4. */
static inline void vector_row(uint8_t *out, size_t stride, const int16_t *dc,
			      const int16_t *values, size_t apart,
			      const uint16_t *steps, uint32_t n, uint32_t count)
{
	__m128i steps01 = load(steps), steps23 = load(steps + 2 * IDCT_MAX);
	struct points p = points_of(n);

	for (uint32_t x = 0; x < count; x++, out += n, values += apart) {
		__m128i rows01 = _mm_insert_epi16(load(values), dc[x], 0);
		__m128i rows23 = load(values + 2 * IDCT_MAX);

		store_rows(out, stride,
			   samples_of(dequantised(rows01, steps01),
				      dequantised(rows23, steps23), p),
			   n);
	}
}

#endif

void idct_block(uint8_t *out, size_t stride_bytes,
		const int16_t coefficients[IDCT_COEFFICIENTS],
		const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n)
{
#ifdef __SSE2__
	if (n == 4) {
		vector_row(out, stride_bytes, coefficients, coefficients, 0,
			   steps, 4, 1);
		return;
	}
	if (n == 3) {
		vector_row(out, stride_bytes, coefficients, coefficients, 0,
			   steps, 3, 1);
		return;
	}
#endif
	idct_block_portable(out, stride_bytes, coefficients, steps, n);
}

void idct_row_portable(uint8_t *out, size_t stride_bytes, const int16_t *dc,
		       const int16_t *values, size_t apart,
		       const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n,
		       uint32_t count)
{
	for (uint32_t x = 0; x < count; x++, out += n, values += apart) {
		int16_t c[IDCT_COEFFICIENTS] = { 0 };

		if (n == 2)
			for (uint32_t i = 1; i < 4; i++)
				c[i / 2 * IDCT_MAX + i % 2] = values[i];
		if (n > 2)
			memcpy(c, values, sizeof(c));
		c[0] = dc[x];
		idct_block_portable(out, stride_bytes, c, steps, n);
	}
}

#ifdef __SSE2__

/* Four values of two blocks each; the first of a block is in `dc`. */
static inline __m128i two_blocks(const int16_t *values, size_t apart,
				 __m128i dc)
{
	const __m128i first = _mm_set1_epi64x(0xffff);
	__m128i a = _mm_loadl_epi64((const __m128i *)values);
	__m128i b = _mm_loadl_epi64((const __m128i *)(values + apart));

	return _mm_or_si128(_mm_andnot_si128(first, _mm_unpacklo_epi64(a, b)),
			    dc);
}

/* `v`, with the sign changed where `signs` is -1. */
static inline __m128i with_signs(__m128i v, __m128i signs)
{
	return _mm_sub_epi16(_mm_xor_si128(v, signs), signs);
}

/*
 * The samples of two blocks, before they are limited: two of the upper row, and
 * two of the lower.
 */
static inline __m128i samples_of_two(__m128i v, __m128i steps)
{
	const __m128i odd = _mm_set1_epi32((int32_t)0xffff0000);
	const __m128i lower = _mm_set_epi32(-1, 0, -1, 0);
	enum { SWAPPED = _MM_SHUFFLE(2, 3, 0, 1) };

	v = dequantised(v, steps);
	v = _mm_add_epi16(
		_mm_shufflehi_epi16(_mm_shufflelo_epi16(v, SWAPPED), SWAPPED),
		with_signs(v, odd));
	v = _mm_add_epi16(_mm_shuffle_epi32(v, SWAPPED), with_signs(v, lower));
	return _mm_add_epi16(
		_mm_srai_epi16(_mm_add_epi16(v, _mm_set1_epi16(4)), 3),
		_mm_set1_epi16(MIDDLE));
}

/* Four blocks. */
static inline void four_blocks(uint8_t *out, size_t stride_bytes,
			       const int16_t *dc, const int16_t *values,
			       size_t apart, __m128i steps)
{
	const __m128i zero = _mm_setzero_si128();
	enum { ROWS = _MM_SHUFFLE(3, 1, 2, 0) };
	__m128i firsts =
		_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)dc), zero);
	__m128i a = two_blocks(values, apart, _mm_unpacklo_epi32(firsts, zero));
	__m128i b = two_blocks(values + 2 * apart, apart,
			       _mm_unpackhi_epi32(firsts, zero));
	__m128i bytes = _mm_packus_epi16(samples_of_two(a, steps),
					 samples_of_two(b, steps));

	bytes = _mm_shufflehi_epi16(_mm_shufflelo_epi16(bytes, ROWS), ROWS);
	bytes = _mm_shuffle_epi32(bytes, ROWS);
	_mm_storel_epi64((__m128i *)out, bytes);
	_mm_storel_epi64((__m128i *)(out + stride_bytes),
			 _mm_srli_si128(bytes, 8));
}

#endif

void idct_row(uint8_t *out, size_t stride_bytes, const int16_t *dc,
	      const int16_t *values, size_t apart,
	      const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n,
	      uint32_t count)
{
#ifdef __SSE2__
	__m128i steps_2 = _mm_setr_epi16(
		(int16_t)steps[0], (int16_t)steps[1], (int16_t)steps[IDCT_MAX],
		(int16_t)steps[IDCT_MAX + 1], 0, 0, 0, 0);

	steps_2 = _mm_unpacklo_epi64(steps_2, steps_2);
	if (n == 4) {
		vector_row(out, stride_bytes, dc, values, apart, steps, 4,
			   count);
		return;
	}
	if (n == 3) {
		vector_row(out, stride_bytes, dc, values, apart, steps, 3,
			   count);
		return;
	}
	for (; n == 2 && count >= 4; count -= 4) {
		four_blocks(out, stride_bytes, dc, values, apart, steps_2);
		out += 8;
		dc += 4;
		values += 4 * apart;
	}
#endif
	if (n > 1) {
		idct_row_portable(out, stride_bytes, dc, values, apart, steps,
				  n, count);
		return;
	}
	/* Compilers make vectors of it. */
	for (uint32_t x = 0; x < count; x++)
		out[x] = block1(dc[x] * steps[0]);
}
