/* SPDX-License-Identifier: MIT */
/*
 * Picture: pixels in memory, and what is done to them.
 *
 * All arithmetic on pixels is in integers, so that the same plan gives the
 * same bytes everywhere.
 *
 * Ownership  A picture owns its pixels; `out` is filled anew and is its
 *            caller's to release.
 * Limits     No memory ends the program: it has nothing to hand back.
 */
#ifndef DATASETS_PICTURE_H
#define DATASETS_PICTURE_H

#include <stdint.h>

struct picture {
	uint32_t width;
	uint32_t height;
	uint8_t *rgb; /* rows of width * 3 bytes */
};

/* A part of a picture, in its pixels. */
struct box {
	double left;
	double top;
	double width;
	double height;
};

void picture_init(struct picture *p, uint32_t width, uint32_t height);

void picture_release(struct picture *p);

/* `in` at half its sides, each pixel the mean of four; odd edges are cut. */
void picture_halve(struct picture *out, const struct picture *in);

/*
 * The part `box` of `in` at `width` x `height`: the mean of the area below
 * each pixel where it shrinks, Catmull-Rom where it grows.
 */
void picture_scale(struct picture *out, const struct picture *in,
		   struct box box, uint32_t width, uint32_t height);

/*
 * `in` as a camera stores it that sets EXIF orientation `orientation` (1, 3,
 * 6 or 8): turned so that it looks like `in` again once that is applied.
 */
void picture_turn(struct picture *out, const struct picture *in,
		  int orientation);

/*
 * Add luminance noise like that of a sensor, of standard deviation
 * `amplitude` / 16 levels.
 */
void picture_add_noise(struct picture *p, uint32_t amplitude, uint64_t seed);

#endif
