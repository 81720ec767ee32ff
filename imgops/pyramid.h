/* SPDX-License-Identifier: MIT */
/*
 * Inside blur: a plane at half the size, again and again, and back.
 *
 * The REDUCE and EXPAND of Burt and Adelson (The Laplacian pyramid as a compact
 * image code, 1983) with linear interpolation both ways: reducing n times is a
 * triangle of half-width 2^n, and so is expanding n times.
 *
 * A level above the lowest begins one sample left of and above the picture and
 * ends at least one after it.  These are past the reach of any sample inside,
 * so a plane with its edges extended is the same as each of its levels with
 * theirs extended.
 */
#ifndef IMGOPS_PYRAMID_H
#define IMGOPS_PYRAMID_H

#include <stddef.h>
#include <stdint.h>

enum {
	PYRAMID_LINES = 4,  /* scratch, of pyramid_line_values() each */
	PYRAMID_MARGIN = 3, /* of a line, both sides */
};

struct level {
	uint8_t *samples; /* of the lowest level; NULL of all others: */
	int16_t *values;  /* blur_rows.h */
	uint32_t width;
	uint32_t height;
	size_t stride;   /* samples or values from row to row */
	uint32_t origin; /* columns and rows before the picture's first */
};

/* The shape of the next smaller level; its `values` are to be set. */
struct level pyramid_next(const struct level *level);

/* Values of `width`, rounded up as the inner loops need it. */
size_t pyramid_stride(uint32_t width);

/* Row `y`, in `line` or where it lies. */
const int16_t *level_read(const struct level *level, uint32_t y, int16_t *line);

void level_write(const struct level *level, uint32_t y, const int16_t *row);

/* Extend `row` by `count` copies of its first and last value. */
void row_extend(int16_t *row, uint32_t width, uint32_t count);

/* Between a level and the next; lines have room for the larger one. */
void pyramid_reduce(const struct level *small, const struct level *large,
		    int16_t *const *lines);
void pyramid_expand(const struct level *large, const struct level *small,
		    int16_t *const *lines);

#endif
