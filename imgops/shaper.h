/* SPDX-License-Identifier: MIT */
/*
 * Shaper: what an ICC profile of three curves and three colours means ("matrix
 * profile": most cameras, phones and screens), as arithmetic.
 *
 * lcms2 reads and judges the profile; it could also convert, but works out
 * 50,000 powers before its first pixel.
 */
#ifndef IMGOPS_SHAPER_H
#define IMGOPS_SHAPER_H

#include "imgops/image.h"

#include <lcms2.h>

enum { SHAPER_PLACES = 8192 };

/* One value for each channel of the result, and one to fill the vector. */
typedef float shaper_light __attribute__((vector_size(16)));

struct shaper {
	/* What each level of each channel adds, as places in `levels`. */
	shaper_light parts[3][256];
	uint8_t levels[SHAPER_PLACES]; /* of sRGB, from no light to all */
};

/* False: `profile` is of another kind, or does not hold what it must. */
bool shaper_fits(cmsHPROFILE profile);

/* True: a profile that fits differs from sRGB by no more than rounding does. */
bool shaper_is_srgb(cmsHPROFILE profile);

/* Of a profile that fits. */
void shaper_init(struct shaper *s, cmsHPROFILE profile);

/* A row of RGB planes to sRGB. */
void shaper_convert(const struct shaper *s, uint8_t *const srgb[3],
		    const uint8_t *const rgb[3], size_t width);

#endif
