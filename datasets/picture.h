/* SPDX-License-Identifier: MIT */
/*
 * Picture: pixels in memory, and operations on them.
 *
 * All arithmetic on pixels is in integers, so that the same plan gives the
 * same bytes on every machine.
 *
 * Ownership  A picture owns its pixels.  `out` gets new pixels, which the
 *            caller releases.
 * Limits     If there is no memory, the program ends.
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

/*
 * Halve both sides: a pixel is the mean of four; an odd last row or column is
 * left out.
 */
void picture_halve(struct picture *out, const struct picture *in);

/*
 * Scale the part `box` of `in` to `width` x `height`.  A pixel is the mean of
 * its area if the size shrinks; if it grows, Catmull-Rom interpolates.
 */
void picture_scale(struct picture *out, const struct picture *in,
		   struct box box, uint32_t width, uint32_t height);

/*
 * Turn `in` the way that a camera stores a picture with EXIF orientation
 * `orientation` (1, 3, 6 or 8): a viewer that applies the orientation shows
 * `in` again.
 */
void picture_turn(struct picture *out, const struct picture *in,
		  int orientation);

/*
 * Add luminance noise like that of a sensor, of standard deviation
 * `amplitude` / 16 levels.
 */
void picture_add_noise(struct picture *p, uint32_t amplitude, uint64_t seed);

#endif
