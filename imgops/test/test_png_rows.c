/* SPDX-License-Identifier: MIT */
/*
 * Promises: the loops for any CPU and for AVX2 give the same bytes, and those
 * of the standard; undoing a filter gives back the row; colours are multiplied
 * by alpha and rounded.
 */
#include "imgops/formats/png/rows.h"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH_MAX = 70, ROW_MAX = PNG_BEFORE + 8 * WIDTH_MAX + PNG_AFTER };

static const struct png_rows *tables[2] = { &png_rows_portable };

/* The filters as the standard defines them. */
static uint8_t guess(enum png_filter filter, int a, int b, int c)
{
	int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);

	switch (filter) {
	case PNG_SUB:
		return (uint8_t)a;
	case PNG_UP:
		return (uint8_t)b;
	case PNG_AVERAGE:
		return (uint8_t)((a + b) / 2);
	case PNG_PAETH:
		if (pa <= pb && pa <= pc)
			return (uint8_t)a;
		return (uint8_t)(pb <= pc ? b : c);
	default:
		return 0;
	}
}

static void fill(uint8_t *row, size_t bytes, uint32_t seed)
{
	memset(row - PNG_BEFORE, 0, ROW_MAX);
	for (size_t x = 0; x < bytes; x++) {
		uint32_t noise = scramble(seed * 10007 + (uint32_t)x);

		/* Equal neighbours are common, and extremes. */
		row[x] = noise % 3 == 0 ? (uint8_t)(noise >> 8) :
			 noise % 3 == 1 ? (uint8_t) - (noise >> 8 & 1) :
					  100;
	}
}

static void check_filter(const struct png_rows *t, enum png_filter filter,
			 uint32_t step, uint32_t width)
{
	uint8_t rows[4][ROW_MAX];
	uint8_t *row = rows[0] + PNG_BEFORE, *above = rows[1] + PNG_BEFORE;
	uint8_t *out = rows[2] + PNG_BEFORE, *back = rows[3] + PNG_BEFORE;
	size_t bytes = (size_t)step * width;
	uint64_t sum = 0;

	check_case("%s, filter %d, step %u, width %u", t->name, (int)filter,
		   step, width);
	fill(row, bytes, width * 8 + step);
	fill(above, bytes, width * 9 + step);
	fill(out, 0, 0);
	fill(back, 0, 0);
	CHECK(t->filter(out, row, above, filter, step, bytes) < UINT64_MAX);
	for (size_t x = 0; x < bytes; x++) {
		uint8_t wanted =
			(uint8_t)(row[x] -
				  guess(filter, row[(int)x - (int)step],
					above[x], above[(int)x - (int)step]));

		CHECK_NUMBER(out[x], ==, wanted);
		sum += wanted < 128 ? wanted : 256u - wanted;
	}
	CHECK_NUMBER(t->filter(out, row, above, filter, step, bytes), ==, sum);
	t->undo(back, out, above, filter, step, bytes);
	CHECK(memcmp(back, row, bytes) == 0);
}

static void check_planes(const struct png_rows *t, uint32_t width,
			 bool is_opaque)
{
	uint8_t pixels[4 * WIDTH_MAX + PNG_AFTER], planes[4][WIDTH_MAX + 16];
	uint8_t *const to[] = { planes[0], planes[1], planes[2], planes[3] };

	check_case("%s, width %u", t->name, width);
	memset(pixels, 255, sizeof(pixels));
	for (uint32_t i = 0; i < 4 * width; i++)
		if (i % 4 < 3 || !is_opaque)
			pixels[i] = (uint8_t)scramble(i + width);
	t->split3(to, pixels, width);
	for (uint32_t x = 0; x < width; x++)
		for (uint32_t i = 0; i < 3; i++)
			CHECK_NUMBER(planes[i][x], ==, pixels[3 * x + i]);
	CHECK_NUMBER(t->split4(to, pixels, width), ==, is_opaque);
	for (uint32_t x = 0; x < width; x++) {
		const uint8_t *p = pixels + 4 * x;

		CHECK_NUMBER(planes[3][x], ==, p[3]);
		for (uint32_t i = 0; i < 3; i++)
			CHECK_NUMBER(planes[i][x], ==,
				     (p[i] * p[3] + 127) / 255);
	}
}

int main(void)
{
	static const uint32_t steps[] = { 1, 2, 3, 4, 6, 8 };

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		tables[1] = &png_rows_avx2;
#endif
	for (size_t t = 0; t < ARRAY_SIZE(tables) && tables[t] != NULL; t++)
		for (uint32_t width = 1; width <= WIDTH_MAX; width++) {
			for (size_t s = 0; s < ARRAY_SIZE(steps); s++)
				for (enum png_filter f = PNG_NONE;
				     f < PNG_FILTERS; f++)
					check_filter(tables[t], f, steps[s],
						     width);
			check_planes(tables[t], width, false);
			check_planes(tables[t], width, true);
		}
	return 0;
}
