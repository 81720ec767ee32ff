/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/idct.h"

#include <assert.h>

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

static uint8_t limit(int32_t v)
{
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/*
 * Gives the same as libjpeg's jpeg_idct_1x1(), whose table of limits is indexed
 * by the lowest ten bits.
 */
static uint8_t block1(int32_t dc)
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

void idct_block(uint8_t *out, size_t stride_bytes,
		const int32_t coefficients[IDCT_COEFFICIENTS], uint32_t n)
{
	switch (n) {
	case 1:
		*out = block1(coefficients[0]);
		break;
	case 2:
		block2(out, stride_bytes, coefficients);
		break;
	case 3:
		block3(out, stride_bytes, coefficients);
		break;
	default:
		assert(n == IDCT_MAX);
		block4(out, stride_bytes, coefficients);
		break;
	}
}
