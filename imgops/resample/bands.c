/* SPDX-License-Identifier: MIT */
#include "imgops/resample/bands.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>
#endif

/* Columns of a row done at a time: sums stay in the first-level cache. */
enum { STRIP = 256 };

static inline uint8_t to_sample(int32_t sum)
{
	int32_t v = sum >> BAND_ACROSS_SHIFT;

	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static inline void add_samples(int32_t *restrict sum,
			       const uint8_t *restrict in, int16_t weight,
			       uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		sum[x] += weight * (int16_t)in[x];
}

/* A strip of one row; `band` points at its first value. */
static void down_strip(int16_t *band, const uint8_t *in, size_t stride_bytes,
		       const int16_t *weights, uint32_t count, uint32_t width)
{
	int32_t sum[STRIP];

	for (uint32_t x = 0; x < width; x++)
		sum[x] = 1 << (BAND_DOWN_SHIFT - 1);
	for (uint32_t k = 0; k < count; k++, in += stride_bytes)
		add_samples(sum, in, weights[k], width);
	for (uint32_t x = 0; x < width; x += 2, band += 2 * BAND_ROWS) {
		band[0] = (int16_t)(sum[x] >> BAND_DOWN_SHIFT);
		band[1] = (int16_t)(sum[x + 1] >> BAND_DOWN_SHIFT);
	}
}

static void portable_down(int16_t *band, const uint8_t *in, size_t stride_bytes,
			  const uint32_t *first, const int16_t *weights,
			  uint32_t count, uint32_t width)
{
	for (uint32_t x = 0; x < width; x += STRIP) {
		uint32_t n = width - x < STRIP ? width - x : STRIP;

		for (uint32_t r = 0; r < BAND_ROWS; r++)
			down_strip(band + (size_t)x * BAND_ROWS + 2 * r,
				   in + first[r] * stride_bytes + x,
				   stride_bytes, weights + (size_t)r * count,
				   count, n);
	}
}

/* The sums of a column of all rows, which begin with `half`. */
static inline void sum_column(int32_t sum[BAND_ROWS], const int16_t *in,
			      const int16_t *weights, uint32_t count,
			      int32_t half)
{
	for (uint32_t r = 0; r < BAND_ROWS; r++)
		sum[r] = half;
	for (uint32_t k = 0; k < count; k += 2, in += 2 * BAND_ROWS)
		for (uint32_t r = 0; r < BAND_ROWS; r++)
			sum[r] += weights[k] * in[2 * r] +
				  weights[k + 1] * in[2 * r + 1];
}

static void portable_across(uint8_t *out, size_t stride_bytes, bool aside,
			    const int16_t *band, const uint32_t *first,
			    const int16_t *weights, uint32_t count,
			    uint32_t width)
{
	size_t x_step = aside ? stride_bytes : 1;
	size_t row_step = aside ? 1 : stride_bytes;

	for (uint32_t x = 0; x < width; x++, weights += count) {
		const int16_t *in = band + (size_t)first[x] * BAND_ROWS;
		int32_t sum[BAND_ROWS];

		sum_column(sum, in, weights, count,
			   1 << (BAND_ACROSS_SHIFT - 1));
		for (uint32_t r = 0; r < BAND_ROWS; r++)
			out[x * x_step + r * row_step] = to_sample(sum[r]);
	}
}

/* --- Light --- */

/* Factors of x^3, x^2 and x; together 1, less than half of the last digit. */
enum { CUBE = 20009, SQUARE = 44707, LINE = 821 };

int16_t band_light(uint32_t level_256)
{
	uint32_t x = level_256 + level_256 / 256; /* 16 bits for 0 to 1 */
	uint32_t sum = (x * CUBE >> 16) + SQUARE;

	sum = (x * sum >> 16) + LINE;
	return (int16_t)((int32_t)(x * sum >> 17) + BAND_BLACK);
}

static void portable_light(int16_t *light, const uint8_t *levels,
			   uint32_t count)
{
	for (uint32_t x = 0; x < count; x++)
		light[x] = band_light((uint32_t)levels[x] << 8);
}

static inline int16_t to_light(int32_t sum)
{
	int32_t v = sum >> BAND_WEIGHT_BITS;

	return (int16_t)(v < INT16_MIN ? INT16_MIN :
			 v > INT16_MAX ? INT16_MAX :
					 v);
}

static inline uint16_t from_black(int32_t sum)
{
	int32_t v = to_light(sum);

	return (uint16_t)(v < BAND_BLACK ? 0 :
			  v > BAND_WHITE ? BAND_LIGHTS - 1 :
					   v - BAND_BLACK);
}

/* Column `x` of one row; sums of neighbours are independent. */
static void light_down_row(int16_t *band, const int16_t *in, size_t stride,
			   const int16_t *weights, uint32_t count,
			   uint32_t width)
{
	for (uint32_t x = 0; x < width; x++) {
		int32_t sum = BAND_WEIGHT_ONE / 2;

		for (uint32_t k = 0; k < count; k++)
			sum += weights[k] * in[k * stride + x];
		band[x / 2 * 2 * BAND_ROWS + x % 2] = to_light(sum);
	}
}

static void portable_light_down(int16_t *band, const int16_t *in, size_t stride,
				const uint32_t *first, const int16_t *weights,
				uint32_t count, uint32_t width)
{
	for (uint32_t r = 0; r < BAND_ROWS; r++)
		light_down_row(band + 2 * r, in + first[r] * stride, stride,
			       weights + (size_t)r * count, count, width);
}

static void portable_light_across(uint16_t *out, size_t stride,
				  const int16_t *band, const uint32_t *first,
				  const int16_t *weights, uint32_t count,
				  uint32_t width)
{
	for (uint32_t x = 0; x < width; x++, weights += count) {
		const int16_t *in = band + (size_t)first[x] * BAND_ROWS;
		int32_t sum[BAND_ROWS];

		sum_column(sum, in, weights, count, BAND_WEIGHT_ONE / 2);
		for (uint32_t r = 0; r < BAND_ROWS; r++)
			out[r * stride + x] = from_black(sum[r]);
	}
}

const struct bands bands_portable = {
	.name = "portable",
	.down = portable_down,
	.across = portable_across,
	.light = portable_light,
	.light_down = portable_light_down,
	.light_across = portable_light_across,
};

#ifdef __x86_64__

/*
 * AVX2: vpmaddwd multiplies pairs of 16-bit values by pairs of weights and adds
 * the two products.  Values in a band already stand in pairs; when summing
 * down, rows are combined to pairs first.
 */
#define AVX2 __attribute__((target("avx2")))

/* Repeat a pair of weights in each 32 bits. */
AVX2 static inline __m256i load_pair(const int16_t *weights)
{
	int32_t both;

	memcpy(&both, weights, sizeof(both));
	return _mm256_set1_epi32(both);
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

AVX2 static inline void store(int16_t *to, __m256i v)
{
	_mm256_storeu_si256((__m256i *)(void *)to, v);
}

/*
 * Sums of 16 columns, in the order that unpacking gives: 0-3 and 8-11, then 4-7
 * and 12-15.
 */
struct sums {
	__m256i low, high;
};

/* How rows that are summed down are stored. */
enum kind { LEVELS, LIGHTS };

/* `in` is in bytes, so `stride_bytes` is so for both kinds. */
AVX2 static inline __m256i load_row(const uint8_t *in, enum kind kind)
{
	return kind == LEVELS ?
		       load_bytes(in) :
		       _mm256_loadu_si256((const __m256i *)(const void *)in);
}

/* Add two rows, weighted. */
AVX2 static inline void add_rows(struct sums *s, const uint8_t *in,
				 size_t stride_bytes, const int16_t *weights,
				 enum kind kind)
{
	__m256i a = load_row(in, kind);
	__m256i b = load_row(in + stride_bytes, kind);
	__m256i low = _mm256_unpacklo_epi16(a, b);
	__m256i high = _mm256_unpackhi_epi16(a, b);
	__m256i w = load_pair(weights);

	s->low = _mm256_add_epi32(s->low, _mm256_madd_epi16(low, w));
	s->high = _mm256_add_epi32(s->high, _mm256_madd_epi16(high, w));
}

/* The sixteen values in the order of columns. */
AVX2 static inline __m256i finish(struct sums s, int shift)
{
	return _mm256_packs_epi32(_mm256_srai_epi32(s.low, shift),
				  _mm256_srai_epi32(s.high, shift));
}

/*
 * Sum sixteen columns of two rows in one loop, which costs less than two loops.
 */
AVX2 static inline __attribute__((always_inline)) void
sum_two_rows(__m256i *row, const uint8_t *in_a, const uint8_t *in_b,
	     size_t stride_bytes, const int16_t *weights, uint32_t count,
	     enum kind kind)
{
	const int shift = kind == LEVELS ? BAND_DOWN_SHIFT : BAND_WEIGHT_BITS;
	const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
	const int16_t *end = weights + count;
	struct sums a = { half, half }, b = a;

	for (; weights < end; weights += 2) {
		add_rows(&a, in_a, stride_bytes, weights, kind);
		add_rows(&b, in_b, stride_bytes, weights + count, kind);
		in_a += 2 * stride_bytes;
		in_b += 2 * stride_bytes;
	}
	row[0] = finish(a, shift);
	row[1] = finish(b, shift);
}

/* Transpose: eight rows of eight pairs become eight columns of pairs. */
AVX2 static inline void store_turned(int16_t *band, const __m256i *row)
{
	__m256i quads[BAND_ROWS], pairs[BAND_ROWS];

	for (int r = 0; r < BAND_ROWS; r += 2) {
		pairs[r] = _mm256_unpacklo_epi32(row[r], row[r + 1]);
		pairs[r + 1] = _mm256_unpackhi_epi32(row[r], row[r + 1]);
	}
	for (int r = 0; r < BAND_ROWS; r += 4) {
		quads[r] = _mm256_unpacklo_epi64(pairs[r], pairs[r + 2]);
		quads[r + 1] = _mm256_unpackhi_epi64(pairs[r], pairs[r + 2]);
		quads[r + 2] =
			_mm256_unpacklo_epi64(pairs[r + 1], pairs[r + 3]);
		quads[r + 3] =
			_mm256_unpackhi_epi64(pairs[r + 1], pairs[r + 3]);
	}
	for (int i = 0; i < 4; i++) {
		store(band + 16 * i,
		      _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x20));
		store(band + 16 * (i + 4),
		      _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x31));
	}
}

AVX2 static inline __attribute__((always_inline)) void
sum_down(int16_t *band, const uint8_t *in, size_t stride_bytes,
	 const uint32_t *first, const int16_t *weights, uint32_t count,
	 uint32_t width, enum kind kind)
{
	size_t each = kind == LEVELS ? 1 : sizeof(int16_t);

	for (uint32_t x = 0; x < width; x += BAND_COLUMNS) {
		const uint8_t *from = in + x * each;
		__m256i row[BAND_ROWS];

		for (uint32_t r = 0; r < BAND_ROWS; r += 2)
			sum_two_rows(row + r, from + first[r] * stride_bytes,
				     from + first[r + 1] * stride_bytes,
				     stride_bytes, weights + (size_t)r * count,
				     count, kind);
		store_turned(band + (size_t)x * BAND_ROWS, row);
	}
}

AVX2 static void avx2_down(int16_t *band, const uint8_t *in,
			   size_t stride_bytes, const uint32_t *first,
			   const int16_t *weights, uint32_t count,
			   uint32_t width)
{
	sum_down(band, in, stride_bytes, first, weights, count, width, LEVELS);
}

AVX2 static void avx2_light_down(int16_t *band, const int16_t *in,
				 size_t stride, const uint32_t *first,
				 const int16_t *weights, uint32_t count,
				 uint32_t width)
{
	sum_down(band, (const uint8_t *)in, stride * sizeof(*in), first,
		 weights, count, width, LIGHTS);
}

/* Add two columns, weighted, of all eight rows. */
AVX2 static inline __m256i add_columns(__m256i sum, const int16_t *band,
				       const int16_t *weights)
{
	return _mm256_add_epi32(
		sum, _mm256_madd_epi16(load(band), load_pair(weights)));
}

/* Sum eight rows of four output columns, in 32 bits each. */
AVX2 static inline __attribute__((always_inline)) void
sum_four_columns(__m256i *column, const int16_t *band, const uint32_t *first,
		 const int16_t *weights, size_t count, int shift)
{
	const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
	const int16_t *end = weights + count;
	const int16_t *in_a = band + (size_t)first[0] * BAND_ROWS;
	const int16_t *in_b = band + (size_t)first[1] * BAND_ROWS;
	const int16_t *in_c = band + (size_t)first[2] * BAND_ROWS;
	const int16_t *in_d = band + (size_t)first[3] * BAND_ROWS;
	__m256i a = half, b = half, c = half, d = half;

	for (size_t k = 0; weights < end; weights += 2) {
		a = add_columns(a, in_a + k, weights);
		b = add_columns(b, in_b + k, weights + count);
		c = add_columns(c, in_c + k, weights + 2 * count);
		d = add_columns(d, in_d + k, weights + 3 * count);
		k += 2 * BAND_ROWS;
	}
	column[0] = _mm256_srai_epi32(a, shift);
	column[1] = _mm256_srai_epi32(b, shift);
	column[2] = _mm256_srai_epi32(c, shift);
	column[3] = _mm256_srai_epi32(d, shift);
}

/*
 * Narrow four columns to bytes: rows 0-3 of each column in turn, then rows 4-7.
 */
AVX2 static inline __m256i narrow(const __m256i *column)
{
	return _mm256_packus_epi16(_mm256_packs_epi32(column[0], column[1]),
				   _mm256_packs_epi32(column[2], column[3]));
}

AVX2 static inline void store_two(uint8_t *first, uint8_t *second, __m128i v)
{
	_mm_storel_epi64((__m128i *)(void *)first, v);
	_mm_storel_epi64((__m128i *)(void *)second, _mm_unpackhi_epi64(v, v));
}

AVX2 static inline void store_columns(uint8_t *out, size_t stride_bytes,
				      __m256i four)
{
	__m128i top = _mm256_castsi256_si128(four);
	__m128i bottom = _mm256_extracti128_si256(four, 1);

	store_two(out, out + stride_bytes, _mm_unpacklo_epi32(top, bottom));
	store_two(out + 2 * stride_bytes, out + 3 * stride_bytes,
		  _mm_unpackhi_epi32(top, bottom));
}

AVX2 static inline void store_rows(uint8_t *out, size_t stride_bytes,
				   __m256i left, __m256i right)
{
	const __m256i turn = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
	__m256i a = _mm256_shuffle_epi8(left, turn);
	__m256i b = _mm256_shuffle_epi8(right, turn);
	__m256i even = _mm256_unpacklo_epi32(a, b); /* rows 0, 1 and 4, 5 */
	__m256i odd = _mm256_unpackhi_epi32(a, b);  /* rows 2, 3 and 6, 7 */

	store_two(out, out + stride_bytes, _mm256_castsi256_si128(even));
	store_two(out + 2 * stride_bytes, out + 3 * stride_bytes,
		  _mm256_castsi256_si128(odd));
	store_two(out + 4 * stride_bytes, out + 5 * stride_bytes,
		  _mm256_extracti128_si256(even, 1));
	store_two(out + 6 * stride_bytes, out + 7 * stride_bytes,
		  _mm256_extracti128_si256(odd, 1));
}

AVX2 static void avx2_across(uint8_t *out, size_t stride_bytes, bool aside,
			     const int16_t *band, const uint32_t *first,
			     const int16_t *weights, uint32_t count,
			     uint32_t width)
{
	for (uint32_t x = 0; x < width; x += BAND_ROWS) {
		__m256i column[BAND_ROWS];

		for (uint32_t i = x; i < x + 8; i += 4)
			sum_four_columns(column + (i - x), band, first + i,
					 weights + (size_t)i * count, count,
					 BAND_ACROSS_SHIFT);

		__m256i left = narrow(column), right = narrow(column + 4);

		if (aside) {
			store_columns(out + x * stride_bytes, stride_bytes,
				      left);
			store_columns(out + (x + 4) * stride_bytes,
				      stride_bytes, right);
		} else {
			store_rows(out + x, stride_bytes, left, right);
		}
	}
}

AVX2 static void avx2_light(int16_t *light, const uint8_t *levels,
			    uint32_t count)
{
	const __m256i cube = _mm256_set1_epi16(CUBE);
	const __m256i square = _mm256_set1_epi16((int16_t)SQUARE);
	const __m256i line = _mm256_set1_epi16(LINE);
	const __m256i black = _mm256_set1_epi16(BAND_BLACK);

	for (uint32_t i = 0; i < count; i += BAND_COLUMNS) {
		__m256i x = load_bytes(levels + i), sum;

		x = _mm256_or_si256(x, _mm256_slli_epi16(x, 8));
		sum = _mm256_add_epi16(_mm256_mulhi_epu16(x, cube), square);
		sum = _mm256_add_epi16(_mm256_mulhi_epu16(x, sum), line);
		sum = _mm256_srli_epi16(_mm256_mulhi_epu16(x, sum), 1);
		store(light + i, _mm256_add_epi16(sum, black));
	}
}

/* Rows 0 and 4 of two columns, then 1 and 5, 2 and 6, 3 and 7. */
AVX2 static inline __m256i pair_columns(__m256i a, __m256i b)
{
	const __m256i mix = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));

	return _mm256_shuffle_epi8(_mm256_packs_epi32(a, b), mix);
}

/* Eight columns of eight rows to rows; rows r and r + 4 are in one vector. */
AVX2 static inline void store_light(uint16_t *out, size_t stride,
				    const __m256i column[BAND_ROWS])
{
	const __m256i black = _mm256_set1_epi16(BAND_BLACK);
	const __m256i white = _mm256_set1_epi16(BAND_WHITE);
	__m256i ab = pair_columns(column[0], column[1]);
	__m256i cd = pair_columns(column[2], column[3]);
	__m256i ef = pair_columns(column[4], column[5]);
	__m256i gh = pair_columns(column[6], column[7]);
	__m256i upper[2] = { _mm256_unpacklo_epi32(ab, cd),
			     _mm256_unpackhi_epi32(ab, cd) };
	__m256i lower[2] = { _mm256_unpacklo_epi32(ef, gh),
			     _mm256_unpackhi_epi32(ef, gh) };

	for (uint32_t r = 0; r < 4; r++) {
		__m256i a = upper[r / 2], b = lower[r / 2];
		__m256i both = r % 2 == 0 ? _mm256_unpacklo_epi64(a, b) :
					    _mm256_unpackhi_epi64(a, b);

		both = _mm256_min_epi16(_mm256_max_epi16(both, black), white);
		both = _mm256_sub_epi16(both, black);
		_mm_storeu_si128((__m128i *)(void *)(out + r * stride),
				 _mm256_castsi256_si128(both));
		_mm_storeu_si128((__m128i *)(void *)(out + (r + 4) * stride),
				 _mm256_extracti128_si256(both, 1));
	}
}

AVX2 static void avx2_light_across(uint16_t *out, size_t stride,
				   const int16_t *band, const uint32_t *first,
				   const int16_t *weights, uint32_t count,
				   uint32_t width)
{
	for (uint32_t x = 0; x < width; x += BAND_ROWS) {
		__m256i column[BAND_ROWS];

		for (uint32_t i = x; i < x + 8; i += 4)
			sum_four_columns(column + (i - x), band, first + i,
					 weights + (size_t)i * count, count,
					 BAND_WEIGHT_BITS);
		store_light(out + x, stride, column);
	}
}

const struct bands bands_avx2 = {
	.name = "avx2",
	.down = avx2_down,
	.across = avx2_across,
	.light = avx2_light,
	.light_down = avx2_light_down,
	.light_across = avx2_light_across,
};

#endif

const struct bands *bands_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &bands_avx2;
#endif
	return &bands_portable;
}
