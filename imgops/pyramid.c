/* SPDX-License-Identifier: MIT */
#include "imgops/pyramid.h"

#include "imgops/blur_rows.h"

#include <string.h>

size_t pyramid_stride(uint32_t width)
{
	return ((size_t)width + BLUR_ALIGN - 1) / BLUR_ALIGN * BLUR_ALIGN;
}

/* Up to the first sample that reaches no further than the last of `count`. */
static uint32_t next_side(uint32_t count, uint32_t origin)
{
	return (count - origin + 1) / 2 + 2;
}

struct level pyramid_next(const struct level *level)
{
	uint32_t width = next_side(level->width, level->origin);

	return (struct level){
		.width = width,
		.height = next_side(level->height, level->origin),
		.stride = pyramid_stride(width),
		.origin = 1,
	};
}

const int16_t *level_read(const struct level *level, uint32_t y, int16_t *line)
{
	if (level->samples == NULL)
		return level->values + y * level->stride;
	blur_rows_best()->widen(line, level->samples + y * level->stride,
				level->width);
	return line;
}

void level_write(const struct level *level, uint32_t y, const int16_t *row)
{
	if (level->samples == NULL)
		memcpy(level->values + y * level->stride, row,
		       level->width * sizeof(*row));
	else
		blur_rows_best()->narrow(level->samples + y * level->stride,
					 row, level->width);
}

void row_extend(int16_t *row, uint32_t width, uint32_t count)
{
	for (uint32_t i = 1; i <= count; i++) {
		row[-(int64_t)i] = row[0];
		row[width - 1 + i] = row[width - 1];
	}
}

static uint32_t clamp(int64_t at, uint32_t count)
{
	return at < 0 ? 0 : at >= count ? count - 1 : (uint32_t)at;
}

void pyramid_reduce(const struct level *small, const struct level *large,
		    int16_t *const *lines)
{
	const struct blur_rows *rows = blur_rows_best();
	int16_t *sum = lines[3] + PYRAMID_MARGIN;
	/* Of the large level: the place of the small one's first sample. */
	int64_t first = (int64_t)large->origin - 2;

	for (uint32_t y = 0; y < small->height; y++) {
		const int16_t *near[3];

		for (uint32_t i = 0; i < 3; i++) {
			int64_t at = first + 2 * (int64_t)y + i - 1;

			near[i] = level_read(large, clamp(at, large->height),
					     lines[i]);
		}
		rows->smooth(sum, near[0], near[1], near[2], large->width);
		row_extend(sum, large->width, PYRAMID_MARGIN);
		rows->reduce(small->values + y * small->stride, sum + first,
			     small->width);
	}
}

/* Row `y` of `small` at the width of `large`. */
static const int16_t *expand_row(const struct level *large,
				 const struct level *small, uint32_t y,
				 int16_t *line)
{
	const int16_t *from = small->values + y * small->stride;
	uint32_t origin = large->origin;

	/* Pairs begin at even places of the picture. */
	blur_rows_best()->expand(line, from + 1 - origin,
				 (large->width + origin + 1) / 2);
	return line + origin;
}

void pyramid_expand(const struct level *large, const struct level *small,
		    int16_t *const *lines)
{
	const int16_t *row = NULL, *next = NULL;

	for (uint32_t y = 0; y < large->height; y++) {
		uint32_t place = y + 2 - large->origin, at = place / 2;

		if (y == 0)
			next = expand_row(large, small, at, lines[at % 2]);
		if (y == 0 || place % 2 == 0) {
			row = next;
			next = expand_row(large, small, at + 1,
					  lines[(at + 1) % 2]);
		}
		if (place % 2 == 0) {
			level_write(large, y, row);
		} else {
			blur_rows_best()->average(lines[2], row, next,
						  large->width);
			level_write(large, y, lines[2]);
		}
	}
}
