/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: rows of samples from one colour space to another.
 *
 * Y'CbCr is JFIF's: ITU-R BT.601 in full range, rounded as libjpeg does.
 * Rows are planar; `width` is in samples, of a row of luma.
 */
#ifndef IMGOPS_COLOUR_ROWS_H
#define IMGOPS_COLOUR_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Of each pair of arrays of planes: they may not overlap. */
void colour_rgb_from_ycc(uint8_t *const rgb[3], const uint8_t *const ycc[3],
			 size_t width);
void colour_ycc_from_rgb(uint8_t *const ycc[3], const uint8_t *const rgb[3],
			 size_t width);

/*
 * RGB from ink without a profile: each ink takes its share of the light.
 * `flip`, for each plane, is 255 where 255 is no ink, and 0 where it is all.
 */
void colour_rgb_from_cmyk(uint8_t *const rgb[3], const uint8_t *const cmyk[4],
			  const uint8_t flip[4], size_t width);

/* Planes to pixels of 3 or 4 bytes, each flipped by XOR; and back, of 3. */
void colour_interleave(uint8_t *pixels, const uint8_t *const *planes,
		       const uint8_t *flip, uint32_t channels, size_t width);
void colour_deinterleave(uint8_t *const rgb[3], const uint8_t *pixels,
			 size_t width);

/* The mean of 2 x 2 samples; at an odd edge, of the two there are. */
void colour_halve(uint8_t *half, const uint8_t *upper, const uint8_t *lower,
		  size_t width);

#endif
