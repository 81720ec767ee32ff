/* SPDX-License-Identifier: MIT */
/*
 * Promises: conversions to and from Y'CbCr agree with JFIF up to rounding, and
 * converting both ways changes almost nothing; inks without a profile absorb
 * light; halved chroma is a mean.
 */
#include "base/test/check.h"
#include "imgops/colour/colour.c"
#include "imgops/colour/icc.c"
#include "imgops/test/support.h"

#include <math.h>
#include <string.h>

enum { STEP = 5, SIDE = 256 / STEP + 1, COLOURS = SIDE * SIDE * SIDE };

struct planes {
	uint8_t row[4][COLOURS];
	uint8_t *at[4];
};

static struct planes in, out, back;

static void planes_init(struct planes *p)
{
	for (int i = 0; i < 4; i++)
		p->at[i] = p->row[i];
}

static void fill(struct planes *p)
{
	planes_init(p);
	for (int i = 0; i < COLOURS; i++) {
		p->row[0][i] = (uint8_t)(i % SIDE * STEP);
		p->row[1][i] = (uint8_t)(i / SIDE % SIDE * STEP);
		p->row[2][i] = (uint8_t)(i / SIDE / SIDE * STEP);
		p->row[3][i] = (uint8_t)(scramble((uint32_t)i) % 256);
	}
}

#define ROWS(p) ((const uint8_t *const *)(p).at)

static void check(uint8_t value, double meant)
{
	double error = value - fmin(255, fmax(0, meant));

	CHECK_NUMBER(fabs(error), <, 0.51);
}

static void test_ycc_to_rgb_is_jfif(void)
{
	colour_rgb_from_ycc(out.at, ROWS(in), COLOURS);
	for (int i = 0; i < COLOURS; i++) {
		double y = in.row[0][i];
		double cb = in.row[1][i] - 128, cr = in.row[2][i] - 128;

		check(out.row[0][i], y + 1.402 * cr);
		check(out.row[1][i], y - 0.344136 * cb - 0.714136 * cr);
		check(out.row[2][i], y + 1.772 * cb);
	}
}

static void test_rgb_to_ycc_is_jfif(void)
{
	colour_ycc_from_rgb(out.at, ROWS(in), COLOURS);
	for (int i = 0; i < COLOURS; i++) {
		double r = in.row[0][i], g = in.row[1][i], b = in.row[2][i];
		double y = 0.299 * r + 0.587 * g + 0.114 * b;

		check(out.row[0][i], y);
		check(out.row[1][i], 128 + (b - y) / 1.772);
		check(out.row[2][i], 128 + (r - y) / 1.402);
	}
}

static void test_there_and_back_is_within_two_levels(void)
{
	colour_ycc_from_rgb(out.at, ROWS(in), COLOURS);
	colour_rgb_from_ycc(back.at, ROWS(out), COLOURS);
	for (int i = 0; i < COLOURS; i++) {
		int r = in.row[0][i], g = in.row[1][i], b = in.row[2][i];

		for (int k = 0; k < 3; k++) {
			int error = back.row[k][i] - in.row[k][i];

			CHECK_NUMBER(error, >=, -2);
			CHECK_NUMBER(error, <=, 2);
			if (r == g && g == b)
				CHECK_NUMBER(error, ==, 0);
		}
	}
}

static void test_ink_takes_light(void)
{
	static const uint8_t flips[][4] = { { 0, 0, 0, 0 },
					    { 255, 255, 255, 255 },
					    { 255, 255, 255, 0 } };

	for (size_t f = 0; f < ARRAY_SIZE(flips); f++) {
		rgb_from_cmyk(out.at, ROWS(in), flips[f], COLOURS);
		for (int i = 0; i < COLOURS; i++) {
			double white = 255 - (in.row[3][i] ^ flips[f][3]);

			for (int k = 0; k < 3; k++) {
				double light =
					255 - (in.row[k][i] ^ flips[f][k]);

				check(out.row[k][i], light * white / 255);
			}
		}
	}
}

static void test_pixels_are_planes_flipped(void)
{
	static const uint8_t flip[] = { 0, 255, 0, 255 };
	static uint8_t pixels[4 * COLOURS];

	for (uint32_t channels = 3; channels <= 4; channels++) {
		interleave(pixels, ROWS(in), flip, channels, COLOURS);
		for (uint32_t i = 0; i < COLOURS; i++)
			for (uint32_t k = 0; k < channels; k++)
				CHECK_NUMBER(pixels[i * channels + k], ==,
					     (in.row[k][i] ^ flip[k]));
	}
	interleave(pixels, ROWS(in), (uint8_t[3]){ 0 }, 3, COLOURS);
	deinterleave(out.at, pixels, COLOURS);
	for (int k = 0; k < 3; k++)
		CHECK(memcmp(in.row[k], out.row[k], COLOURS) == 0);
}

static void test_halves_are_means(void)
{
	for (uint32_t width = 1; width < 70; width++) {
		const uint8_t *a = in.row[3], *b = in.row[3] + 1000;
		uint8_t half[64];

		memset(half, 77, sizeof(half));
		colour_halve_row(half, a, b, width);
		for (uint32_t x = 0; x < (width + 1) / 2; x++) {
			uint32_t right = 2 * x + 1 < width ? 2 * x + 1 : 2 * x;
			double sum = a[2 * x] + b[2 * x] + a[right] + b[right];

			CHECK_NUMBER(fabs(half[x] - sum / 4), <=, 0.5);
		}
		CHECK_NUMBER(half[(width + 1) / 2], ==, 77);
	}
}

int main(void)
{
	fill(&in);
	planes_init(&out);
	planes_init(&back);
	test_ycc_to_rgb_is_jfif();
	test_rgb_to_ycc_is_jfif();
	test_there_and_back_is_within_two_levels();
	test_ink_takes_light();
	test_pixels_are_planes_flipped();
	test_halves_are_means();
	return 0;
}
