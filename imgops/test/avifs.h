/* SPDX-License-Identifier: MIT */
/* For the tests of AVIF: files of any kind, made by libavif without loss. */
#ifndef IMGOPS_TEST_AVIFS_H
#define IMGOPS_TEST_AVIFS_H

#include "imgops/test/support.h"

/* A member that is 0 means the most usual value. */
struct avif_spec {
	uint32_t width, height; /* 0: AVIF_TEST_WIDTH and AVIF_TEST_HEIGHT */
	uint32_t depth;         /* 8, 10 or 12 */
	uint32_t format;        /* 444, 422, 420 or 400 */
	uint32_t matrix;        /* as ITU-T H.273 numbers them; 0: BT.601 */
	bool is_identity;
	bool is_limited; /* the range of video */
	bool has_alpha;
	bool is_opaque; /* with alpha of full value */
	bool is_noise;
	bool is_turned, is_mirrored;
	uint8_t angle, mirror;
	/* As in the file: width, height, offset of the centre: fractions. */
	bool is_cut;
	uint32_t aperture[8];
	struct bytes icc;
	uint32_t primaries, curve; /* 0: those of sRGB */
	uint32_t frames;           /* 2 or more: a sequence */
	uint32_t columns; /* a grid of columns x 2 pictures of this size */
};

enum { AVIF_TEST_WIDTH = 71, AVIF_TEST_HEIGHT = 45 };

struct bytes avif_make(const struct avif_spec *spec);

/* The sample of a plane at its (x, y) that avif_make() writes; 3: alpha. */
uint32_t avif_sample(const struct avif_spec *spec, uint32_t plane, uint32_t x,
		     uint32_t y);

/* Where the data of the first box of this type begin. */
uint8_t *avif_box(struct bytes file, const char *type);

#endif
