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

enum { SHAPER_LIGHTS = 8192 };

struct shaper {
	float light[3][256];           /* of each level: its curve */
	float matrix[3][3];            /* to the light of red, green, blue */
	uint8_t levels[SHAPER_LIGHTS]; /* of sRGB, from none to all light */
};

/* False: `profile` is of another kind, or does not hold what it must. */
bool shaper_fits(cmsHPROFILE profile);

/* True: a profile that fits differs from sRGB by no more than rounding does. */
bool shaper_is_srgb(cmsHPROFILE profile);

/* Of a profile that fits. */
void shaper_init(struct shaper *s, cmsHPROFILE profile);

/* A row of RGB planes to sRGB. */
void shaper_convert(const struct shaper *s, uint8_t *const srgb[3],
		    const uint8_t *const rgb[3], uint32_t width);

#endif
