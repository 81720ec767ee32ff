/* SPDX-License-Identifier: MIT */
/*
 * A pass is a DCT of eight points.  Its outputs are sums of products without
 * rounding between, so the factors of each input are added up beforehand: four
 * inputs for an odd output, two for outputs 2 and 6.
 *
 * Two blocks are computed at once, one in each half of a register.
 */
#include "imgops/formats/jpeg/fdct.h"

#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/islow.h"

#include <assert.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
	FIRST_BITS = 2, /* kept of the first pass, removed by the second */
	/* 128 of each sample, after the first pass. */
	LEVEL = DCTSIZE * 128 << FIRST_BITS,
};

/*
 * A division by d that rounds is two multiplications of 16 by 16 bits, of which
 * the upper halves are kept (as in libjpeg's jcdctmgr.c).  Before them, half of
 * d is added, so that the quotient is rounded, less the part of d by which the
 * quotient is made smaller.
 */
static void steps_divide(struct fdct_steps *s, uint32_t i, uint32_t d,
			 uint32_t shrink)
{
	uint32_t y = i / DCTSIZE, x = i % DCTSIZE;
	uint32_t shift = 31 - (uint32_t)__builtin_clz(d);
	uint32_t whole = (1U << 16 << shift) / d;
	uint32_t rest = (1U << 16 << shift) % d;
	uint32_t correction = d / 2 - d * shrink / FDCT_SHRINK_STEP;

	if (rest == 0) { /* a power of two; `whole` has a bit too much */
		whole >>= 1;
		shift--;
	} else if (rest <= d / 2) {
		correction++;
	} else {
		whole++;
	}
	for (uint32_t half = 0; half < 2; half++) {
		s->corrections[y][half][x] = (uint16_t)correction;
		s->reciprocals[y][half][x] = (uint16_t)whole;
		s->scales[y][half][x] = (uint16_t)(1U << (16 - shift));
	}
}

void fdct_steps_make(struct fdct_steps *s, const uint16_t quant[DCTSIZE2],
		     const uint8_t shrink[DCTSIZE2])
{
	memset(s->zigzag, 0x80, sizeof(s->zigzag)); /* none */
	for (uint32_t k = 0; k < DCTSIZE2; k++) {
		uint32_t i = idct_order[k], x = 2 * (i % DCTSIZE);
		uint8_t *to = s->zigzag[k / DCTSIZE][i / DCTSIZE][0] +
			      2 * (k % DCTSIZE);

		assert(quant[i] >= 1 && quant[i] <= 255);
		/* Outputs of the DCT are 8 times too large. */
		steps_divide(s, i, 8U * quant[i],
			     shrink != NULL ? shrink[i] : 0);
		to[0] = to[2 * DCTSIZE] = (uint8_t)x;
		to[1] = to[2 * DCTSIZE + 1] = (uint8_t)(x + 1);
	}
}

/*
 * Output 2i + 1, of the differences of samples 3 - 4, 2 - 5, 1 - 6 and 0 - 7.
 */
static const int16_t odd_factors[4][4] = {
	{ F_1_175 - F_0_899, F_1_175 - F_0_390, F_1_175,
	  F_1_175 + F_1_501 - F_0_899 - F_0_390 },
	{ F_1_175 - F_1_961, F_1_175 - F_2_562,
	  F_1_175 + F_3_072 - F_2_562 - F_1_961, F_1_175 },
	{ F_1_175, F_1_175 + F_2_053 - F_2_562 - F_0_390, F_1_175 - F_2_562,
	  F_1_175 - F_0_390 },
	{ F_1_175 + F_0_298 - F_0_899 - F_1_961, F_1_175, F_1_175 - F_1_961,
	  F_1_175 - F_0_899 },
};

/* Outputs 2 and 6. */
static const int16_t even_factors[2][2] = {
	{ F_0_541, F_0_541 + F_0_765 },
	{ F_0_541 - F_1_847, F_0_541 },
};

/* --- Portable --- */

static int32_t descaled_sum(int32_t sum, int bits)
{
	return (sum + (1 << (bits - 1))) >> bits;
}

/* The DCT of eight points, `step` apart. */
static void points(int32_t *v, size_t step, bool is_first)
{
	int bits =
		is_first ? FACTOR_BITS - FIRST_BITS : FACTOR_BITS + FIRST_BITS;
	int32_t s[4], d[4], first, middle;

	for (size_t i = 0; i < 4; i++) {
		s[i] = v[i * step] + v[(7 - i) * step];
		d[i] = v[i * step] - v[(7 - i) * step];
	}
	first = s[0] + s[3] + s[1] + s[2];
	middle = s[0] + s[3] - s[1] - s[2];
	if (is_first) {
		v[0] = first * (1 << FIRST_BITS) - LEVEL;
		v[4 * step] = middle * (1 << FIRST_BITS);
	} else {
		v[0] = descaled_sum(first, FIRST_BITS);
		v[4 * step] = descaled_sum(middle, FIRST_BITS);
	}
	for (size_t i = 0; i < 2; i++) {
		const int16_t *f = even_factors[i];

		v[(4 * i + 2) * step] = descaled_sum(
			(s[1] - s[2]) * f[0] + (s[0] - s[3]) * f[1], bits);
	}
	for (size_t i = 0; i < 4; i++) {
		const int16_t *f = odd_factors[i];

		v[(2 * i + 1) * step] = descaled_sum(
			d[3] * f[0] + d[2] * f[1] + d[1] * f[2] + d[0] * f[3],
			bits);
	}
}

/* As divide(), with the same numbers. */
static int16_t divided(int32_t v, const struct fdct_steps *s, size_t i)
{
	size_t y = i / DCTSIZE, x = i % DCTSIZE;
	uint32_t n = (uint32_t)(v < 0 ? -v : v) + s->corrections[y][0][x];

	n = n * s->reciprocals[y][0][x] >> 16;
	n = n * s->scales[y][0][x] >> 16;
	return (int16_t)(v < 0 ? -(int32_t)n : (int32_t)n);
}

void fdct_row_portable(struct fdct_block *out, const uint8_t *samples,
		       size_t stride_bytes, uint32_t count,
		       const struct fdct_steps *steps)
{
	for (uint32_t n = 0; n < count; n++) {
		int32_t v[DCTSIZE2];

		for (size_t i = 0; i < DCTSIZE2; i++)
			v[i] = samples[i / DCTSIZE * stride_bytes +
				       n * DCTSIZE + i % DCTSIZE];
		for (size_t y = 0; y < DCTSIZE; y++)
			points(v + y * DCTSIZE, 1, true);
		for (size_t x = 0; x < DCTSIZE; x++)
			points(v + x, DCTSIZE, false);
		out[n].nonzero = 0;
		for (size_t k = 0; k < DCTSIZE2; k++) {
			int16_t value =
				divided(v[idct_order[k]], steps, idct_order[k]);

			out[n].at[k] = value;
			out[n].nonzero |= (uint64_t)(value != 0) << k;
		}
	}
}

/* --- With AVX2 --- */

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2")))
#define INLINED __attribute__((always_inline)) static inline

bool fdct_is_supported(void)
{
	return __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

/* For multiply(pairs(a, b), ...): a x + b y. */
AVX2 INLINED __m256i factors(int16_t x, int16_t y)
{
	return _mm256_set1_epi32(
		(int32_t)((uint32_t)(uint16_t)y << 16 | (uint16_t)x));
}

/* 32-bit sums of the lower and the upper four columns of each block. */
struct sums {
	__m256i low, high;
};

AVX2 INLINED struct sums pairs(__m256i a, __m256i b)
{
	return (struct sums){ _mm256_unpacklo_epi16(a, b),
			      _mm256_unpackhi_epi16(a, b) };
}

AVX2 INLINED struct sums multiply(struct sums a, __m256i f)
{
	return (struct sums){ _mm256_madd_epi16(a.low, f),
			      _mm256_madd_epi16(a.high, f) };
}

AVX2 INLINED __m256i descaled(struct sums a, int bits)
{
	const __m256i round = _mm256_set1_epi32(1 << (bits - 1));

	return _mm256_packs_epi32(
		_mm256_srai_epi32(_mm256_add_epi32(a.low, round), bits),
		_mm256_srai_epi32(_mm256_add_epi32(a.high, round), bits));
}

AVX2 INLINED __m256i odd_output(struct sums a, struct sums b,
				const int16_t f[4], int bits)
{
	struct sums p = multiply(a, factors(f[0], f[1]));
	struct sums q = multiply(b, factors(f[2], f[3]));

	return descaled((struct sums){ _mm256_add_epi32(p.low, q.low),
				       _mm256_add_epi32(p.high, q.high) },
			bits);
}

AVX2 INLINED void pass(__m256i v[DCTSIZE], bool is_first)
{
	int bits =
		is_first ? FACTOR_BITS - FIRST_BITS : FACTOR_BITS + FIRST_BITS;
	__m256i s[4], d[4];

	for (int i = 0; i < 4; i++) {
		s[i] = _mm256_add_epi16(v[i], v[7 - i]);
		d[i] = _mm256_sub_epi16(v[i], v[7 - i]);
	}

	__m256i outer = _mm256_add_epi16(s[0], s[3]);
	__m256i inner = _mm256_add_epi16(s[1], s[2]);
	struct sums even = pairs(_mm256_sub_epi16(s[1], s[2]),
				 _mm256_sub_epi16(s[0], s[3]));
	struct sums a = pairs(d[3], d[2]), b = pairs(d[1], d[0]);

	v[0] = _mm256_add_epi16(outer, inner);
	v[4] = _mm256_sub_epi16(outer, inner);
	if (is_first) {
		v[0] = _mm256_sub_epi16(_mm256_slli_epi16(v[0], FIRST_BITS),
					_mm256_set1_epi16(LEVEL));
		v[4] = _mm256_slli_epi16(v[4], FIRST_BITS);
	} else {
		const __m256i round = _mm256_set1_epi16(1 << (FIRST_BITS - 1));

		v[0] = _mm256_srai_epi16(_mm256_add_epi16(v[0], round),
					 FIRST_BITS);
		v[4] = _mm256_srai_epi16(_mm256_add_epi16(v[4], round),
					 FIRST_BITS);
	}
	for (int i = 0; i < 2; i++)
		v[4 * i + 2] =
			descaled(multiply(even, factors(even_factors[i][0],
							even_factors[i][1])),
				 bits);
	for (int i = 0; i < 4; i++)
		v[2 * i + 1] = odd_output(a, b, odd_factors[i], bits);
}

/* Each half is transposed. */
AVX2 INLINED void transpose(__m256i v[DCTSIZE])
{
	__m256i a[DCTSIZE], b[DCTSIZE];

	for (int i = 0; i < 4; i++) {
		a[2 * i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
		a[2 * i + 1] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
	}
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++) {
			__m256i x = a[4 * i + k], y = a[4 * i + k + 2];

			b[4 * i + 2 * k] = _mm256_unpacklo_epi32(x, y);
			b[4 * i + 2 * k + 1] = _mm256_unpackhi_epi32(x, y);
		}
	for (int i = 0; i < 4; i++) {
		v[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 4]);
		v[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 4]);
	}
}

AVX2 INLINED __m256i load(const void *from)
{
	return _mm256_loadu_si256(from);
}

AVX2 INLINED __m256i divide(__m256i v, const struct fdct_steps *s, size_t y)
{
	__m256i n =
		_mm256_add_epi16(_mm256_abs_epi16(v), load(s->corrections[y]));

	n = _mm256_mulhi_epu16(n, load(s->reciprocals[y]));
	n = _mm256_mulhi_epu16(n, load(s->scales[y]));
	return _mm256_sign_epi16(n, v);
}

/* Coefficients 8 k to 8 k + 7 are in these rows. */
static const uint8_t zigzag_rows[DCTSIZE] = {
	0x07, 0x1f, 0x7e, 0x0f, 0xf0, 0x7e, 0xf8, 0xe0,
};

AVX2 INLINED __m256i zigzag(const __m256i v[DCTSIZE],
			    const struct fdct_steps *s, size_t k)
{
	__m256i out = _mm256_setzero_si256();

	for (size_t r = 0; r < DCTSIZE; r++)
		if (zigzag_rows[k] >> r & 1)
			out = _mm256_or_si256(
				out, _mm256_shuffle_epi8(
					     v[r], load(s->zigzag[k][r])));
	return out;
}

/* Bit n: byte n is 0. */
AVX2 INLINED uint32_t zero_bytes(__m256i bytes)
{
	return (uint32_t)_mm256_movemask_epi8(
		_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
}

/* The bytes of block `i`, of two vectors. */
AVX2 INLINED __m256i half(const __m256i v[2], size_t i)
{
	return i == 0 ? _mm256_permute2x128_si256(v[0], v[1], 0x20) :
			_mm256_permute2x128_si256(v[0], v[1], 0x31);
}

/* Store coefficients in zigzag order, and which of them are not 0. */
AVX2 INLINED void store(struct fdct_block out[2], const __m256i v[DCTSIZE],
			const struct fdct_steps *s)
{
	uint64_t zeros[2] = { 0, 0 };

	for (size_t k = 0; k < DCTSIZE; k += 4) {
		__m256i z[4], bytes[2];

		for (size_t n = 0; n < 4; n++) {
			z[n] = zigzag(v, s, k + n);
			_mm_storeu_si128((void *)&out[0].at[(k + n) * DCTSIZE],
					 _mm256_castsi256_si128(z[n]));
			_mm_storeu_si128((void *)&out[1].at[(k + n) * DCTSIZE],
					 _mm256_extracti128_si256(z[n], 1));
		}
		/* What is too large for a byte is limited, and not 0. */
		bytes[0] = _mm256_packs_epi16(z[0], z[1]);
		bytes[1] = _mm256_packs_epi16(z[2], z[3]);
		for (size_t i = 0; i < 2; i++)
			zeros[i] |= (uint64_t)zero_bytes(half(bytes, i))
				    << 8 * k;
	}
	out[0].nonzero = ~zeros[0];
	out[1].nonzero = ~zeros[1];
}

AVX2 void fdct_row(struct fdct_block *out, const uint8_t *samples,
		   size_t stride_bytes, uint32_t count,
		   const struct fdct_steps *steps)
{
	for (uint32_t i = 0; i < count; i += 2) {
		__m256i v[DCTSIZE];

		for (size_t y = 0; y < DCTSIZE; y++)
			v[y] = _mm256_cvtepu8_epi16(_mm_loadu_si128(
				(const void *)(samples + y * stride_bytes +
					       i * DCTSIZE)));
		transpose(v);
		pass(v, true);
		transpose(v);
		pass(v, false);
		for (size_t y = 0; y < DCTSIZE; y++)
			v[y] = divide(v[y], steps, y);
		store(&out[i], v, steps);
	}
}

#else

bool fdct_is_supported(void)
{
	return false;
}

void fdct_row(struct fdct_block *out, const uint8_t *samples,
	      size_t stride_bytes, uint32_t count,
	      const struct fdct_steps *steps)
{
	fdct_row_portable(out, samples, stride_bytes, count, steps);
}

#endif
