/* SPDX-License-Identifier: MIT */
/* Inside heic/: RGB of the planes of a decoded picture. */
#ifndef IMGOPS_FORMATS_HEIC_RGB_H
#define IMGOPS_FORMATS_HEIC_RGB_H

#include "imgops/imgops.h"

struct rgb_source {
	/* Luma, chroma unless it is grey, and alpha if it has it. */
	const struct image *planes;
	uint32_t h_factor, v_factor; /* of luma */
	uint32_t left, top;          /* the first pixel that is shown */
	uint32_t matrix;             /* as ITU-T H.273 numbers them */
	bool is_grey, has_alpha;
	bool is_multiplied; /* by alpha, already */
};

/*
 * Fill `dst`, whose planes are allocated, of IMG_RGB or IMG_RGBA.  False: there
 * is no such matrix.
 */
MUST_CHECK bool rgb_make(struct image *dst, const struct rgb_source *s);

#endif
