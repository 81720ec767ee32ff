/* SPDX-License-Identifier: MIT */
/*
 * Promises: idct_block() is the inverse DCT of n x n points, within one level
 * of double precision, with vectors and without; a flat block stays flat;
 * nothing overflows.  idct_full() gives libjpeg's samples, with vectors and
 * without.
 */
#include "imgops/formats/jpeg/idct_full.h"

#include "base/test/check.h"
#include "imgops/test/reduced.h"
#include "imgops/test/support.h"

#include <math.h>
#include <string.h>

/*
 * Sample (x, y) of the reduced block, which keeps the mean of the 8 x 8 block.
 */
static double reference(const int32_t *c, uint32_t n, uint32_t x, uint32_t y)
{
	double sum = 0;

	for (uint32_t v = 0; v < n; v++)
		for (uint32_t u = 0; u < n; u++)
			sum += c[v * IDCT_MAX + u] *
			       cos((2 * x + 1) * u * M_PI / (2 * n)) *
			       cos((2 * y + 1) * v * M_PI / (2 * n)) *
			       (u > 0 ? sqrt(2) : 1) * (v > 0 ? sqrt(2) : 1);
	return fmin(255, fmax(0, sum / 8 + 128));
}

static void check(const int32_t *c, uint32_t n, double error_max)
{
	uint8_t out[IDCT_MAX * 10];

	memset(out, 77, sizeof(out));
	reduced_block(out, 10, c, n);
	for (uint32_t y = 0; y < IDCT_MAX; y++)
		for (uint32_t x = 0; x < 10; x++)
			if (x < n && y < n)
				CHECK_NUMBER(fabs(out[y * 10 + x] -
						  reference(c, n, x, y)),
					     <=, error_max);
			else
				CHECK_NUMBER(out[y * 10 + x], ==, 77);
}

static void test_it_is_an_inverse_dct(void)
{
	for (uint32_t i = 0; i < 20000; i++) {
		int32_t c[IDCT_COEFFICIENTS];

		for (uint32_t k = 0; k < IDCT_COEFFICIENTS; k++)
			c[k] = (int32_t)(scramble(i * 16 + k) % 401) - 200;
		for (uint32_t n = 1; n <= IDCT_MAX; n++)
			check(c, n, 0.7);
	}
}

static void test_flat_stays_flat(void)
{
	for (int32_t level = 0; level < 256; level++) {
		int32_t c[IDCT_COEFFICIENTS] = { (level - 128) * 8 };

		for (uint32_t n = 1; n <= IDCT_MAX; n++)
			check(c, n, 0);
	}
}

/* All signs of the largest coefficients; UBSan sees an overflow. */
static void test_the_largest_coefficients_do_not_overflow(void)
{
	for (uint32_t signs = 0; signs < 1u << IDCT_COEFFICIENTS; signs++) {
		int32_t c[IDCT_COEFFICIENTS];

		for (uint32_t k = 0; k < IDCT_COEFFICIENTS; k++)
			c[k] = signs >> k & 1 ? -IDCT_LIMIT : IDCT_LIMIT;
		for (uint32_t n = 2; n <= IDCT_MAX; n++)
			check(c, n, 3);
	}
}

/* Any coefficients and steps that idct_quant() allows. */
static void test_vectors_give_the_same(void)
{
	for (uint32_t i = 0; i < 100000; i++) {
		int16_t c[IDCT_COEFFICIENTS];
		uint16_t steps[IDCT_COEFFICIENTS];
		uint8_t out[IDCT_COEFFICIENTS] = { 0 }, same[16] = { 0 };

		for (uint32_t k = 0; k < IDCT_COEFFICIENTS; k++) {
			uint32_t n = scramble(i * 16 + k);

			c[k] = (int16_t)((int32_t)(n & 0xffff) - 32768);
			c[k] = (int16_t)(c[k] >> i % 16);
			steps[k] = (uint16_t)(n >> 17 >> i / 16 % 16);
		}
		for (uint32_t n = 1; n <= IDCT_MAX; n++) {
			idct_block(out, IDCT_MAX, c, steps, n);
			idct_block_portable(same, IDCT_MAX, c, steps, n);
			CHECK(memcmp(out, same, sizeof(out)) == 0);
		}
	}
}

/* Sparse blocks and full ones, from small coefficients to the largest. */
static void fill_block(int16_t c[DCTSIZE2], int16_t steps[DCTSIZE2],
		       uint32_t seed)
{
	uint32_t kind = seed % 5, shift = seed / 5 % 16;

	for (uint32_t k = 0; k < DCTSIZE2; k++) {
		uint32_t n = scramble(seed * DCTSIZE2 + k);
		bool is_set = kind == 0 || (kind == 1 && k < 8) ||
			      (kind == 2 && n % 7 == 0) || k == 0;

		c[k] = (int16_t)((int32_t)(n >> 8 & 0xffff) - 32768);
		c[k] = (int16_t)(is_set ? c[k] >> shift : 0);
		steps[k] = (int16_t)(1 + (n >> 24));
	}
}

static void test_full_blocks_are_the_same(void)
{
	for (uint32_t i = 0; i < 100000; i++) {
		int16_t c[DCTSIZE2], steps[DCTSIZE2];
		uint8_t out[8 * 9], same[8 * 9];

		memset(out, 77, sizeof(out));
		memset(same, 77, sizeof(same));
		fill_block(c, steps, i);
		idct_full_best()(out, 9, c, steps);
		idct_full_portable(same, 9, c, steps);
		CHECK(memcmp(out, same, sizeof(out)) == 0);
		if (i % 5 < 3)
			continue;
		idct_full_flat(same, 9, c[0] * steps[0]);
		CHECK(memcmp(out, same, sizeof(out)) == 0);
	}
}

int main(void)
{
	test_it_is_an_inverse_dct();
	test_flat_stays_flat();
	test_the_largest_coefficients_do_not_overflow();
	test_vectors_give_the_same();
	test_full_blocks_are_the_same();
	return 0;
}
