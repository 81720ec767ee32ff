/* SPDX-License-Identifier: MIT */
/*
 * Promises: the loops of blur for each kind of CPU give what blur/rows.h says,
 * bit for bit, at any width and place.
 */
#include "base/test/check.h"
#include "imgops/blur/rows.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	WIDTH_MAX = 150, /* two of `fold`'s widest steps, and more */
	ROOM = 2 * WIDTH_MAX + 64,
	RADIUS_MAX = 18,
	WINDOW_MAX = 2 * RADIUS_MAX + 1,
	VALUE_MAX = 255 << BLUR_EXTRA_BITS,
};

static int16_t in[WINDOW_MAX][ROOM], out[ROOM];

/* Random values, among them often the largest and the smallest. */
static void fill(uint32_t seed)
{
	for (uint32_t i = 0; i < WINDOW_MAX; i++) {
		for (uint32_t x = 0; x < ROOM; x++) {
			uint32_t n = scramble(seed * 7919 + i * ROOM + x);
			int value = (int)(n % (VALUE_MAX + 1));

			value = n % 11 == 0 ? 0 :
				n % 13 == 0 ? VALUE_MAX :
					      value;
			in[i][x] = (int16_t)value;
		}
	}
	memset(out, 0x55, sizeof(out));
}

static int between_values(int value)
{
	return value < 0 ? 0 : value > VALUE_MAX ? VALUE_MAX : value;
}

static void test_samples_become_values_and_return(const struct blur_rows *rows,
						  uint32_t width)
{
	uint8_t samples[WIDTH_MAX + 2], back[WIDTH_MAX + 2];

	fill(width);
	memset(back, 0x55, sizeof(back));
	for (uint32_t x = 0; x < ARRAY_SIZE(samples); x++)
		samples[x] = (uint8_t)scramble(x + width);
	rows->widen(out, samples + 1, width);
	for (uint32_t x = 0; x < width; x++)
		CHECK_NUMBER(out[x], ==, samples[x + 1] << BLUR_EXTRA_BITS);
	CHECK_NUMBER(out[width], ==, 0x5555);
	/* Values that differ by less than half a sample are rounded to it. */
	for (uint32_t x = 0; x < width; x++)
		if (out[x] > 0)
			out[x] = (int16_t)(out[x] + (int)(x % 64) - 32);
	rows->narrow(back + 1, out, width);
	CHECK(memcmp(back + 1, samples + 1, width) == 0);
	CHECK_NUMBER(back[0], ==, 0x55);
	CHECK_NUMBER(back[width + 1], ==, 0x55);
}

static void test_rows_are_folded(const struct blur_rows *rows, uint32_t width)
{
	uint32_t radius = 1 + width % RADIUS_MAX;
	uint32_t whole = (width + BLUR_ALIGN - 1) / BLUR_ALIGN * BLUR_ALIGN;
	const int16_t *from[WINDOW_MAX];
	int16_t weights[RADIUS_MAX + 1];

	fill(width);
	for (uint32_t i = 0; i <= 2 * radius; i++)
		from[i] = in[i] + i % 5;
	weights[0] = (int16_t)((1 << BLUR_WEIGHT_BITS) / (2 * radius + 1));
	for (uint32_t i = 1; i <= radius; i++)
		weights[i] = (int16_t)(weights[0] + (int)(i % 2) - 1);
	rows->fold(out, from, weights, radius, width);
	for (uint32_t x = 0; x < width; x++) {
		int sum = (from[radius][x] * weights[0] + 16384) >> 15;

		for (uint32_t i = 1; i <= radius; i++) {
			int both = from[radius - i][x] + from[radius + i][x];

			sum += (both * weights[i] + 16384) >> 15;
		}
		CHECK_NUMBER(out[x], ==, sum);
	}
	CHECK_NUMBER(out[whole], ==, 0x5555);
}

static void test_rows_are_halved_and_doubled(const struct blur_rows *rows,
					     uint32_t width)
{
	const int16_t *a = in[0] + 1, *b = in[1] + 2, *c = in[2];

	fill(width);
	rows->smooth(out, a, b, c, width);
	for (uint32_t x = 0; x < width; x++)
		CHECK_NUMBER(out[x], ==, (a[x] + 2 * b[x] + c[x] + 2) / 4);
	CHECK_NUMBER(out[width], ==, 0x5555);
	rows->average(out, a, b, width);
	for (uint32_t x = 0; x < width; x++)
		CHECK_NUMBER(out[x], ==, (a[x] + b[x] + 1) / 2);
	rows->expand(out, a, width);
	for (uint32_t x = 0; x < width; x++) {
		CHECK_NUMBER(out[2 * x], ==, a[x]);
		CHECK_NUMBER(out[2 * x + 1], ==, (a[x] + a[x + 1] + 1) / 2);
	}
	CHECK_NUMBER(out[2 * width], ==, 0x5555);
	rows->reduce(out, a, width);
	for (uint32_t x = 0; x < width; x++) {
		const int16_t *m = a + 2 * x;

		CHECK_NUMBER(out[x], ==, (m[-1] + 2 * m[0] + m[1] + 2) / 4);
	}
}

/* As rows.h says it, in parts of a level, rounded upwards. */
static double contrast_of(double off)
{
	double past = fabs(off) - 326.0 / 64;
	double more = past <= 0 ? 0 : 3 * past;

	more = off > 0 ? fmin(more, 25.5) : -fmin(more, 51);
	return floor(more + 0.5);
}

static void test_rows_are_sharpened(const struct blur_rows *rows,
				    uint32_t width)
{
	uint8_t samples[WIDTH_MAX + 1], before[WIDTH_MAX + 1];
	uint8_t most[WIDTH_MAX + 1];

	fill(width);
	for (uint32_t x = 0; x <= WIDTH_MAX; x++) {
		samples[x] = (uint8_t)scramble(x + width);
		most[x] = (uint8_t)scramble(x + 7 * width);
		/* Near the samples, and anywhere. */
		if (x % 3 > 0)
			in[0][x] = (int16_t)between_values(samples[x] * 64 +
							   in[0][x] / 8 - 1020);
	}
	memcpy(before, samples, sizeof(before));
	rows->contrast(out, samples, in[0], width);
	for (uint32_t x = 0; x < width; x++)
		CHECK_NUMBER(out[x], ==,
			     contrast_of(samples[x] - in[0][x] / 64.0));
	CHECK_NUMBER(out[width], ==, 0x5555);
	rows->add(samples, out, width);
	for (uint32_t x = 0; x < width; x++)
		CHECK_NUMBER(samples[x], ==,
			     fmin(fmax(before[x] + out[x], 0), 255));
	CHECK_NUMBER(samples[width], ==, before[width]);
	memcpy(samples, before, sizeof(before));
	rows->add_within(samples, out, most, width);
	for (uint32_t x = 0; x < width; x++)
		CHECK_NUMBER(samples[x], ==,
			     fmin(fmax(before[x] + out[x], 0), most[x]));
	CHECK_NUMBER(samples[width], ==, before[width]);
	rows->luma(samples, before, most, before + 1, width - 1);
	for (uint32_t x = 0; x + 1 < width; x++)
		CHECK_NUMBER(fabs(samples[x] - 0.299 * before[x] -
				  0.587 * most[x] - 0.114 * before[x + 1]),
			     <, 0.501);
}

int main(void)
{
	const struct blur_rows *const kinds[] = { &blur_rows_portable,
						  blur_rows_best() };

	for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		printf("%s\n", kinds[i]->name);
		for (uint32_t width = 1; width <= WIDTH_MAX; width++) {
			test_samples_become_values_and_return(kinds[i], width);
			test_rows_are_folded(kinds[i], width);
			test_rows_are_halved_and_doubled(kinds[i], width);
			test_rows_are_sharpened(kinds[i], width);
		}
	}
	return 0;
}
