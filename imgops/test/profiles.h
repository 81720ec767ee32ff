/* SPDX-License-Identifier: MIT */
/*
 * For the tests of colour: ICC profiles made by lcms2, and their exact meaning
 * as lcms2 computes it slowly.
 */
#ifndef IMGOPS_TEST_PROFILES_H
#define IMGOPS_TEST_PROFILES_H

#include "imgops/colour/hdr.h"
#include "imgops/test/support.h"

#include <lcms2.h>

/* Red, green and blue; the white is D65, except D50 for ProPhoto. */
struct gamut {
	const char *name;
	double white[2];
	double primaries[3][2];
};

enum { SRGB, DISPLAY_P3, ADOBE_RGB, PROPHOTO, GAMUT_COUNT };

extern const struct gamut gamuts[GAMUT_COUNT];

/* A value of `gamma` in the functions below: see curve_make(). */
enum { CURVE_SRGB = 0 };

/*
 * A tone curve: sRGB's own for CURVE_SRGB, otherwise x^gamma.  If `steps` > 0,
 * it is stored as a table of `steps` values.
 */
cmsToneCurve *curve_make(double gamma, int steps);

/* The caller frees the data of the results. */
struct bytes profile_rgb(const struct gamut *gamut, double gamma, int steps);
struct bytes profile_grey(double gamma);

/*
 * A table for inks, like those of a simple press whose black is not quite
 * black.
 */
struct bytes profile_cmyk(void);

/* As imgops writes it, with H.273's number of the primaries. */
struct bytes profile_hdr(uint32_t primaries, enum hdr_curve curve);

struct bytes profile_bytes(cmsHPROFILE profile);

/* `jpeg` with `profile`, which has less than 64 KB, inserted after the SOI. */
struct bytes jpeg_with_profile(struct bytes jpeg, struct bytes profile);

/* Convert `count` pixels by lcms2, in 16 bits and without its short cuts. */
void profile_to_lab(cmsCIELab *lab, struct bytes profile,
		    cmsUInt32Number pixel_type, const void *pixels,
		    uint32_t count);
void srgb_to_lab(cmsCIELab *lab, const uint8_t *rgb, uint32_t count);

#endif
