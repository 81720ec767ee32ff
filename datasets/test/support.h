/* SPDX-License-Identifier: MIT */
/* Pictures for several tests of mkset. */
#ifndef DATASETS_TEST_SUPPORT_H
#define DATASETS_TEST_SUPPORT_H

#include "datasets/picture.h"

#include <stddef.h>
#include <stdint.h>

/* Decode to RGB.  A warning of libjpeg fails the test. */
void decode_strictly(struct picture *out, const uint8_t *bytes,
		     size_t size_bytes);

/* An asymmetrical picture: colour ramps and a pattern. */
void draw(struct picture *out, uint32_t width, uint32_t height);

/* What a viewer shows of `in` with EXIF orientation `orientation`. */
void view(struct picture *out, const struct picture *in, int orientation);

/* Mean difference of levels; the pictures have the same size. */
double mean_difference(const struct picture *a, const struct picture *b);

#endif
