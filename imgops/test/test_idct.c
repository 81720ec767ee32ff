/* SPDX-License-Identifier: MIT */
/*
 * Promises: idct_block() is the inverse DCT of n x n points, within one level
 * of double precision, with vectors and without; a flat block stays flat;
 * nothing overflows.  A row of blocks is the same as each alone.  idct_full()
 * gives libjpeg's samples, with vectors and without.
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

/*
 * Rows of up to 9 blocks are blocks side by side, with vectors and without.
 */
static void test_rows_are_blocks(void)
{
	enum { BLOCKS = 9, APART = 17, STRIDE = BLOCKS * IDCT_MAX + 1 };

	for (uint32_t i = 0; i < 40000; i++) {
		uint32_t n = 1 + i % IDCT_MAX, count = i / 4 % (BLOCKS + 1);
		uint8_t out[3][IDCT_MAX * STRIDE] = { 0 };
		int16_t dc[BLOCKS], values[BLOCKS * APART];
		uint16_t steps[IDCT_COEFFICIENTS];

		for (uint32_t k = 0; k < IDCT_COEFFICIENTS; k++)
			steps[k] = (uint16_t)(scramble(i * 16 + k) % 32768 >>
					      i % 16);
		for (uint32_t k = 0; k < BLOCKS * APART; k++)
			values[k] =
				(int16_t)(scramble(i * 256 + k) >> i / 16 % 16);
		for (uint32_t x = 0; x < count; x++) {
			const int16_t *from = &values[x * APART];
			int16_t c[IDCT_COEFFICIENTS] = { 0 };

			for (uint32_t k = 0; k < n * n; k++) {
				uint32_t at = k / n * IDCT_MAX + k % n;

				c[at] = from[n == 2 ? k : at];
			}
			dc[x] = c[0] = (int16_t)scramble(i * 16 + x);
			idct_block_portable(&out[0][x * n], STRIDE, c, steps,
					    n);
		}
		idct_row(out[1], STRIDE, dc, values, APART, steps, n, count);
		idct_row_portable(out[2], STRIDE, dc, values, APART, steps, n,
				  count);
		CHECK(memcmp(out[0], out[1], sizeof(out[0])) == 0);
		CHECK(memcmp(out[0], out[2], sizeof(out[0])) == 0);
	}
}

enum { FULL_STRIDE = 9, FULL_BYTES = 8 * FULL_STRIDE };

/* A block, and what two implementations make of it. */
struct full_trial {
	int16_t coefficients[2][DCTSIZE2], steps[DCTSIZE2];
	uint8_t out[2][FULL_BYTES];
	struct full_block blocks[2];
};

/*
 * Sparse blocks and full ones, from small coefficients to the largest; kind 3
 * has only low ones, and kind 4 only the first.
 */
static void fill_trial(struct full_trial *t, uint32_t seed)
{
	uint32_t kind = seed % 5, shift = seed / 5 % 16;

	for (uint32_t k = 0; k < DCTSIZE2; k++) {
		uint32_t n = scramble(seed * DCTSIZE2 + k);
		bool is_low = k % 8 < 4 && k < 32;
		bool is_set = kind == 0 || (kind == 1 && k < 8) ||
			      (kind == 2 && n % 7 == 0) ||
			      (kind == 3 && is_low) || k == 0;
		int16_t c = (int16_t)((int32_t)(n >> 8 & 0xffff) - 32768);

		t->coefficients[0][k] = (int16_t)(is_set ? c >> shift : 0);
		t->steps[k] = (int16_t)(1 + (n >> 24));
	}
	memcpy(t->coefficients[1], t->coefficients[0],
	       sizeof(t->coefficients[0]));
	memset(t->out, 77, sizeof(t->out));
	for (int i = 0; i < 2; i++)
		t->blocks[i] =
			(struct full_block){ t->coefficients[i], t->steps,
					     t->out[i], FULL_STRIDE };
}

static void check_trial(const struct full_trial *t)
{
	static const int16_t zeros[DCTSIZE2];

	CHECK(memcmp(t->out[0], t->out[1], FULL_BYTES) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(memcmp(t->coefficients[i], zeros, sizeof(zeros)) == 0);
}

static void test_full_blocks_are_the_same(void)
{
	const struct idct_full *best = idct_full_best();
	const struct idct_full *portable = &idct_full_portable;

	for (uint32_t i = 0; i < 100000; i++) {
		struct full_trial a, b;
		bool is_low = i % 5 >= 3, fits, same;

		fill_trial(&a, i);
		fill_trial(&b, is_low ? i + 5 : i + 1);
		fits = (is_low ? best->two_low : best->two)(&a.blocks[0],
							    &b.blocks[0]);
		same = (is_low ? portable->two_low :
				 portable->two)(&a.blocks[1], &b.blocks[1]);
		CHECK_NUMBER(fits, ==, same);
		check_trial(&a);
		check_trial(&b);
		fill_trial(&a, i);
		(void)best->two(&a.blocks[0], &a.blocks[0]);
		(void)portable->two(&a.blocks[1], &a.blocks[1]);
		check_trial(&a);
	}
}

static void test_flat_blocks_are_full_ones(void)
{
	for (uint32_t i = 4; i < 100000; i += 5) {
		struct full_trial a;
		bool fits;

		fill_trial(&a, i);
		fits = idct_full_flat(&a.blocks[0]);
		CHECK_NUMBER(idct_full_portable.two(&a.blocks[1], &a.blocks[1]),
			     ==, fits);
		if (fits)
			check_trial(&a);
	}
}

int main(void)
{
	test_it_is_an_inverse_dct();
	test_flat_stays_flat();
	test_the_largest_coefficients_do_not_overflow();
	test_vectors_give_the_same();
	test_rows_are_blocks();
	test_full_blocks_are_the_same();
	test_flat_blocks_are_full_ones();
	return 0;
}
