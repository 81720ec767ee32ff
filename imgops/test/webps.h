/* SPDX-License-Identifier: MIT */
/*
 * For the tests of imgops: WebPs of many kinds, with known pixels, made by
 * libwebp and put into containers here.  Errors fail an assertion.
 */
#ifndef IMGOPS_TEST_WEBPS_H
#define IMGOPS_TEST_WEBPS_H

#include "imgops/test/support.h"

/* The size of a picture below, unless it is given. */
enum { WEBP_TEST_WIDTH = 75, WEBP_TEST_HEIGHT = 51 };

/* The pixel at (x, y): waves, and alpha from 0 to 255. */
void webp_pixel(uint8_t rgba[4], uint32_t x, uint32_t y, bool has_alpha);

struct bytes webp_make(uint32_t width, uint32_t height, bool is_lossless,
		       bool has_alpha);

/* As webp_make(), of these pixels; lossy with quality 80. */
struct bytes webp_from_pixels(const uint8_t *rgba, uint32_t width,
			      uint32_t height, bool is_lossless);

/* With a profile (Adobe RGB), and EXIF of orientation 6 at the end. */
struct bytes webp_with_all(bool is_lossless, bool has_alpha);

/* Frames at (left, top) of a canvas, which are all the same. */
struct bytes webp_animation(uint32_t width, uint32_t height, uint32_t left,
			    uint32_t top, bool is_lossless, bool has_alpha,
			    uint32_t frames);

/*
 * 1024 x 1024 pixels of one colour, with 65,536 sets of Huffman codes: as many
 * as there can be.
 */
struct bytes webp_of_sets(void);

#endif
