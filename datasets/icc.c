/* SPDX-License-Identifier: MIT */
#include "datasets/metadata.h"

#include "datasets/memory.h"

#include <stdio.h>
#include <jpeglib.h>
#include <lcms2.h>
#include <stdlib.h>
#include <string.h>

/* "ICC_PROFILE", the number of this segment and of all. */
enum { PREFIX_BYTES = 14 };

struct primaries {
	const char *name;
	cmsCIExyYTRIPLE rgb;
	double gamma; /* 0: the curve of sRGB */
};

static const struct primaries spaces[ICC_COUNT] = {
	[ICC_NONE] = { .name = "none" },
	[ICC_SRGB] = { .name = "sRGB" },
	[ICC_ADOBE_RGB] = { "AdobeRGB-like",
			    { { 0.64, 0.33, 1 },
			      { 0.21, 0.71, 1 },
			      { 0.15, 0.06, 1 } },
			    563.0 / 256 },
	[ICC_DISPLAY_P3] = { "P3-like",
			     { { 0.680, 0.320, 1 },
			       { 0.265, 0.690, 1 },
			       { 0.150, 0.060, 1 } },
			     0 },
};

const char *icc_name(enum icc icc)
{
	return spaces[icc].name;
}

static cmsToneCurve *make_curve(double gamma)
{
	/* IEC 61966-2-1 */
	static const double srgb[] = { 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92,
				       0.04045 };

	return gamma > 0 ? cmsBuildGamma(NULL, gamma) :
			   cmsBuildParametricToneCurve(NULL, 4, srgb);
}

static cmsHPROFILE make_profile(enum icc icc)
{
	static const cmsCIExyY d65 = { 0.3127, 0.3290, 1 };
	const struct primaries *space = &spaces[icc];

	if (icc == ICC_SRGB)
		return cmsCreate_sRGBProfile();

	cmsToneCurve *curve = make_curve(space->gamma);
	cmsToneCurve *curves[] = { curve, curve, curve };
	cmsHPROFILE profile = cmsCreateRGBProfile(&d65, &space->rgb, curves);

	cmsFreeToneCurve(curve);
	return profile;
}

static void set_bytes(struct icc_profiles *p, enum icc icc, cmsHPROFILE profile)
{
	cmsUInt32Number size = 0;
	uint8_t *bytes;

	cmsSaveProfileToMem(profile, NULL, &size);
	bytes = memory_new(1, PREFIX_BYTES + size);
	if (size == 0 ||
	    !cmsSaveProfileToMem(profile, bytes + PREFIX_BYTES, &size)) {
		fputs("mkset: lcms2 made no profile\n", stderr);
		exit(1);
	}
	memcpy(bytes, "ICC_PROFILE\0\1\1", PREFIX_BYTES);
	/* The date it was made: always 2024-01-01, so that runs are equal. */
	memcpy(bytes + PREFIX_BYTES + 24, "\x07\xe8\0\1\0\1\0\0\0\0\0\0", 12);
	p->of[icc].bytes = bytes;
	p->of[icc].size_bytes = PREFIX_BYTES + size;
}

void icc_profiles_init(struct icc_profiles *p)
{
	cmsHPROFILE srgb = cmsCreate_sRGBProfile();

	*p = (struct icc_profiles){ 0 };
	for (enum icc icc = ICC_SRGB; icc < ICC_COUNT; icc++) {
		cmsHPROFILE profile = make_profile(icc);

		set_bytes(p, icc, profile);
		/* No cache, so that threads may share it. */
		if (icc != ICC_SRGB)
			p->of[icc].transform = cmsCreateTransform(
				srgb, TYPE_RGB_8, profile, TYPE_RGB_8,
				INTENT_RELATIVE_COLORIMETRIC, cmsFLAGS_NOCACHE);
		cmsCloseProfile(profile);
	}
	cmsCloseProfile(srgb);
}

void icc_profiles_release(struct icc_profiles *p)
{
	for (enum icc icc = ICC_SRGB; icc < ICC_COUNT; icc++) {
		free(p->of[icc].bytes);
		if (p->of[icc].transform != NULL)
			cmsDeleteTransform(p->of[icc].transform);
	}
}

struct segment icc_profiles_segment(const struct icc_profiles *p, enum icc icc)
{
	return (struct segment){ JPEG_APP0 + 2, p->of[icc].bytes,
				 p->of[icc].size_bytes };
}

void icc_profiles_convert(const struct icc_profiles *p, enum icc icc,
			  struct picture *picture)
{
	if (p->of[icc].transform != NULL)
		cmsDoTransform(p->of[icc].transform, picture->rgb, picture->rgb,
			       picture->width * picture->height);
}
