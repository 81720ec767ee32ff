/* SPDX-License-Identifier: MIT */
/*
 * For the tests of colour: ICC profiles, made by lcms2, and what it says they
 * mean, the slow and exact way.
 */
#ifndef IMGOPS_TEST_PROFILES_H
#define IMGOPS_TEST_PROFILES_H

#include "imgops/test/support.h"

#include <lcms2.h>

/* Red, green and blue, all at D65 but for ProPhoto's D50. */
struct gamut {
	const char *name;
	double white[2];
	double primaries[3][2];
};

enum { SRGB, DISPLAY_P3, ADOBE_RGB, PROPHOTO, GAMUT_COUNT };

extern const struct gamut gamuts[GAMUT_COUNT];

/* As tone curves of profiles: see curve_make(). */
enum { CURVE_SRGB = 0 };

/* sRGB's own curve, or x^gamma; `steps` > 0: as a table. */
cmsToneCurve *curve_make(double gamma, int steps);

/* The caller frees the data of what these return. */
struct bytes profile_rgb(const struct gamut *gamut, double gamma, int steps);
struct bytes profile_grey(double gamma);

/* Ink by a table: a simple press, whose black is not quite black. */
struct bytes profile_cmyk(void);

struct bytes profile_bytes(cmsHPROFILE profile);

/* What lcms2 makes of `count` pixels, in 16 bits and without short cuts. */
void profile_to_lab(cmsCIELab *lab, struct bytes profile,
		    cmsUInt32Number pixel_type, const void *pixels,
		    uint32_t count);
void srgb_to_lab(cmsCIELab *lab, const uint8_t *rgb, uint32_t count);

#endif
