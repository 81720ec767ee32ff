/* SPDX-License-Identifier: MIT */
/*
 * Promises: the loops over bands, for each kind of CPU, give the sums that
 * bands.h says, bit for bit, at any width, upright and aside.
 */
#include "base/test/check.h"
#include "imgops/resample/bands.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COLUMNS_MAX = 160,
	WIDE = 544, /* more than two strips */
	COUNT_MAX = 40,
	IN_ROWS = 100,
	OUT_SIDE = 176,
	UNTOUCHED = 0x5a,
};

static int16_t *band_at(int16_t *band, uint32_t row, uint32_t column)
{
	return &band[(column / 2 * BAND_ROWS + row) * 2 + column % 2];
}

/* Weights of both signs, one of them large; their sum is one. */
static void make_weights(int16_t *weights, uint32_t count, uint32_t seed)
{
	int total = 0;

	for (uint32_t k = 0; k < count; k++) {
		weights[k] = (int16_t)((int)(scramble(seed + k) % 400) - 150);
		total += weights[k];
	}
	weights[seed % count] += (int16_t)(BAND_WEIGHT_ONE - total);
}

static void check_down(const struct bands *bands, uint32_t width,
		       uint32_t count)
{
	static uint8_t in[IN_ROWS * WIDE];
	static int16_t band[BAND_ROWS * (WIDE + 1)];
	int16_t weights[BAND_ROWS * COUNT_MAX];
	uint32_t first[BAND_ROWS];

	for (uint32_t i = 0; i < ARRAY_SIZE(in); i++)
		in[i] = (uint8_t)scramble(i + width);
	for (uint32_t r = 0; r < BAND_ROWS; r++) {
		first[r] = scramble(r + count) % (IN_ROWS - count + 1);
		make_weights(weights + r * count, count, r);
	}
	memset(band, UNTOUCHED, sizeof(band));
	bands->down(band, in, WIDE, first, weights, count, width);
	for (uint32_t r = 0; r < BAND_ROWS; r++) {
		for (uint32_t x = 0; x < width; x++) {
			int64_t sum = 128;

			for (uint32_t k = 0; k < count; k++)
				sum += weights[r * count + k] *
				       in[(first[r] + k) * WIDE + x];
			CHECK_NUMBER(*band_at(band, r, x), ==, sum >> 8);
		}
	}
	CHECK_NUMBER(band[BAND_ROWS * width], ==, UNTOUCHED * 0x101);
}

static void test_columns_are_summed(const struct bands *bands)
{
	for (uint32_t width = BAND_COLUMNS; width <= COLUMNS_MAX;
	     width += BAND_COLUMNS)
		for (uint32_t count = 2; count <= COUNT_MAX; count += 2)
			check_down(bands, width, count);
	check_down(bands, WIDE, COUNT_MAX);
}

static uint8_t clamp(int64_t sum)
{
	int64_t v = sum >> (BAND_WEIGHT_BITS + BAND_EXTRA_BITS);

	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void check_across(const struct bands *bands, uint32_t width,
			 uint32_t count, bool aside)
{
	static int16_t band[BAND_ROWS * COLUMNS_MAX];
	static uint8_t out[OUT_SIDE * OUT_SIDE];
	int16_t weights[COLUMNS_MAX * COUNT_MAX];
	uint32_t first[COLUMNS_MAX];

	for (uint32_t i = 0; i < ARRAY_SIZE(band); i++)
		band[i] = (int16_t)((int)(scramble(i) % 24000) - 4000);
	for (uint32_t x = 0; x < width; x++) {
		first[x] = scramble(x) % (COLUMNS_MAX - count + 1) / 2 * 2;
		make_weights(weights + x * count, count, x);
	}
	memset(out, UNTOUCHED, sizeof(out));
	bands->across(out, OUT_SIDE, aside, band, first, weights, count, width);
	for (uint32_t x = 0; x < OUT_SIDE; x++) {
		for (uint32_t r = 0; r < OUT_SIDE; r++) {
			uint8_t got = out[aside ? x * OUT_SIDE + r :
						  r * OUT_SIDE + x];
			int64_t sum = 1 << 19;

			if (x >= width || r >= BAND_ROWS) {
				CHECK_NUMBER(got, ==, UNTOUCHED);
				continue;
			}
			for (uint32_t k = 0; k < count; k++)
				sum += weights[x * count + k] *
				       *band_at(band, r, first[x] + k);
			CHECK_NUMBER(got, ==, clamp(sum));
		}
	}
}

static void
test_rows_are_summed_with_a_filter_for_each_sample(const struct bands *bands)
{
	for (uint32_t width = BAND_ROWS; width <= COLUMNS_MAX;
	     width += BAND_ROWS) {
		for (uint32_t count = 2; count <= COUNT_MAX; count += 2) {
			check_across(bands, width, count, false);
			check_across(bands, width, count, true);
		}
	}
}

/* --- Light --- */

static int64_t limited(int64_t v, int64_t least, int64_t most)
{
	return v < least ? least : v > most ? most : v;
}

static void test_light_is_about_that_of_srgb(const struct bands *bands)
{
	uint8_t levels[256];
	int16_t light[256];

	for (uint32_t i = 0; i < 256; i++)
		levels[i] = (uint8_t)i;
	bands->light(light, levels, 256);
	CHECK_NUMBER(light[0], ==, BAND_BLACK);
	CHECK_NUMBER(light[255], ==, BAND_WHITE);
	for (uint32_t i = 0; i < 256; i++) {
		double v = i / 255.0, share = light[i] - BAND_BLACK;
		double srgb = v <= 0.04045 ? v / 12.92 :
					     pow((v + 0.055) / 1.055, 2.4);

		CHECK_NUMBER(light[i], ==, band_light(i << 8));
		CHECK_NUMBER(fabs(share / (BAND_LIGHTS - 1) - srgb), <, 0.002);
		CHECK(i == 0 || light[i] > light[i - 1]);
	}
}

static void check_light_down(const struct bands *bands, uint32_t width,
			     uint32_t count)
{
	static int16_t in[IN_ROWS * COLUMNS_MAX];
	static int16_t band[BAND_ROWS * COLUMNS_MAX];
	int16_t weights[BAND_ROWS * COUNT_MAX];
	uint32_t first[BAND_ROWS];

	for (uint32_t i = 0; i < ARRAY_SIZE(in); i++)
		in[i] = (int16_t)(scramble(i + width) % BAND_LIGHTS +
				  BAND_BLACK);
	for (uint32_t r = 0; r < BAND_ROWS; r++) {
		first[r] = scramble(r + count) % (IN_ROWS - count + 1);
		make_weights(weights + r * count, count, r);
	}
	bands->light_down(band, in, COLUMNS_MAX, first, weights, count, width);
	for (uint32_t r = 0; r < BAND_ROWS; r++)
		for (uint32_t x = 0; x < width; x++) {
			int64_t sum = BAND_WEIGHT_ONE / 2;

			for (uint32_t k = 0; k < count; k++)
				sum += weights[r * count + k] *
				       in[(first[r] + k) * COLUMNS_MAX + x];
			CHECK_NUMBER(*band_at(band, r, x), ==,
				     limited(sum >> BAND_WEIGHT_BITS, INT16_MIN,
					     INT16_MAX));
		}
}

static void check_light_across(const struct bands *bands, uint32_t width,
			       uint32_t count)
{
	static int16_t band[BAND_ROWS * COLUMNS_MAX];
	static uint16_t out[BAND_ROWS * OUT_SIDE];
	int16_t weights[COLUMNS_MAX * COUNT_MAX];
	uint32_t first[COLUMNS_MAX];

	for (uint32_t i = 0; i < ARRAY_SIZE(band); i++)
		band[i] = (int16_t)((int)(scramble(i) % 50000) - 25000);
	for (uint32_t x = 0; x < width; x++) {
		first[x] = scramble(x) % (COLUMNS_MAX - count + 1) / 2 * 2;
		make_weights(weights + x * count, count, x);
	}
	memset(out, UNTOUCHED, sizeof(out));
	bands->light_across(out, OUT_SIDE, band, first, weights, count, width);
	for (uint32_t r = 0; r < BAND_ROWS; r++) {
		for (uint32_t x = 0; x < width; x++) {
			int64_t sum = BAND_WEIGHT_ONE / 2;

			for (uint32_t k = 0; k < count; k++)
				sum += weights[x * count + k] *
				       *band_at(band, r, first[x] + k);
			CHECK_NUMBER(out[r * OUT_SIDE + x], ==,
				     limited(sum >> BAND_WEIGHT_BITS,
					     BAND_BLACK, BAND_WHITE) -
					     BAND_BLACK);
		}
		CHECK_NUMBER(out[r * OUT_SIDE + width], ==, UNTOUCHED * 0x101);
	}
}

static void test_light_is_summed(const struct bands *bands)
{
	for (uint32_t count = 2; count <= COUNT_MAX; count += 2) {
		for (uint32_t width = BAND_COLUMNS; width <= COLUMNS_MAX;
		     width += BAND_COLUMNS)
			check_light_down(bands, width, count);
		for (uint32_t width = BAND_ROWS; width <= COLUMNS_MAX;
		     width += BAND_ROWS)
			check_light_across(bands, width, count);
	}
}

int main(void)
{
	const struct bands *const kinds[] = { &bands_portable, bands_best() };

	for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		printf("%s\n", kinds[i]->name);
		test_columns_are_summed(kinds[i]);
		test_rows_are_summed_with_a_filter_for_each_sample(kinds[i]);
		test_light_is_about_that_of_srgb(kinds[i]);
		test_light_is_summed(kinds[i]);
	}
	return 0;
}
