/* SPDX-License-Identifier: MIT */
#include "imgops/test/profiles.h"

#include "base/test/check.h"
#include "imgops/colour/icc_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define D65                                                                    \
	{                                                                      \
		0.3127, 0.3290                                                 \
	}
#define D50                                                                    \
	{                                                                      \
		0.3457, 0.3585                                                 \
	}

const struct gamut gamuts[GAMUT_COUNT] = {
	[SRGB] = { "sRGB",
		   D65,
		   { { 0.64, 0.33 }, { 0.30, 0.60 }, { 0.15, 0.06 } } },
	[DISPLAY_P3] = { "Display P3",
			 D65,
			 { { 0.68, 0.32 }, { 0.265, 0.69 }, { 0.15, 0.06 } } },
	[ADOBE_RGB] = { "Adobe RGB",
			D65,
			{ { 0.64, 0.33 }, { 0.21, 0.71 }, { 0.15, 0.06 } } },
	[PROPHOTO] = { "ProPhoto",
		       D50,
		       { { 0.7347, 0.2653 },
			 { 0.1596, 0.8404 },
			 { 0.0366, 0.0001 } } },
};

cmsToneCurve *curve_make(double gamma, int steps)
{
	static const double srgb[] = { 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92,
				       0.04045 };
	cmsUInt16Number table[4096];
	cmsToneCurve *curve, *tabled;

	if (gamma == CURVE_SRGB)
		curve = cmsBuildParametricToneCurve(NULL, 4, srgb);
	else
		curve = cmsBuildGamma(NULL, gamma);
	CHECK(curve != NULL);
	CHECK_NUMBER(steps, <=, (int)ARRAY_SIZE(table));
	if (steps == 0)
		return curve;
	for (int i = 0; i < steps; i++)
		table[i] = cmsEvalToneCurve16(
			curve,
			(cmsUInt16Number)lround(i * 65535.0 / (steps - 1)));
	tabled = cmsBuildTabulatedToneCurve16(NULL, (cmsUInt32Number)steps,
					      table);
	CHECK(tabled != NULL);
	cmsFreeToneCurve(curve);
	return tabled;
}

struct bytes profile_bytes(cmsHPROFILE profile)
{
	cmsUInt32Number count = 0;
	struct bytes bytes;
	bool ok = cmsSaveProfileToMem(profile, NULL, &count);

	CHECK(ok);
	bytes = (struct bytes){ .data = malloc(count), .count = count };
	CHECK(bytes.data != NULL);
	ok = cmsSaveProfileToMem(profile, bytes.data, &count);
	CHECK(ok);
	cmsCloseProfile(profile);
	return bytes;
}

struct bytes profile_rgb(const struct gamut *gamut, double gamma, int steps)
{
	const double(*p)[2] = gamut->primaries;
	cmsCIExyY white = { gamut->white[0], gamut->white[1], 1 };
	cmsCIExyYTRIPLE primaries = {
		{ p[0][0], p[0][1], 1 },
		{ p[1][0], p[1][1], 1 },
		{ p[2][0], p[2][1], 1 },
	};
	cmsToneCurve *curve = curve_make(gamma, steps);
	cmsToneCurve *curves[] = { curve, curve, curve };
	struct bytes bytes =
		profile_bytes(cmsCreateRGBProfile(&white, &primaries, curves));

	cmsFreeToneCurve(curve);
	return bytes;
}

struct bytes profile_grey(double gamma)
{
	cmsToneCurve *curve = curve_make(gamma, 0);
	struct bytes bytes =
		profile_bytes(cmsCreateGrayProfile(cmsD50_xyY(), curve));

	cmsFreeToneCurve(curve);
	return bytes;
}

struct bytes profile_hdr(uint32_t primaries, enum hdr_curve curve)
{
	struct icc_colours colours;
	struct bytes profile = { .data = malloc(ICC_WRITTEN_BYTES_MAX) };
	bool ok = icc_colours_of(&colours, primaries, curve);

	CHECK(ok);
	CHECK(profile.data != NULL);
	profile.count = icc_write(profile.data, &colours);
	CHECK_NUMBER(profile.count, >, 0);
	return profile;
}

/* A press whose inks absorb too much light, on yellowish paper. */
static cmsInt32Number print(const cmsUInt16Number in[], cmsUInt16Number out[],
			    void *arg)
{
	static const double inks[4][3] = { { 0.10, 0.35, 0.60 },
					   { 0.60, 0.08, 0.25 },
					   { 0.85, 0.75, 0.06 },
					   { 0.03, 0.03, 0.03 } };
	double xyz[] = { cmsD50_XYZ()->X * 0.90, 0.88, cmsD50_XYZ()->Z * 0.80 };
	cmsCIELab lab;

	(void)arg;
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 3; k++)
			xyz[k] *= 1 - in[i] / 65535.0 * (1 - inks[i][k]);
	cmsXYZ2Lab(NULL, &lab, &(cmsCIEXYZ){ xyz[0], xyz[1], xyz[2] });
	cmsFloat2LabEncodedV2(out, &lab);
	return TRUE;
}

struct bytes profile_cmyk(void)
{
	cmsHPROFILE profile = cmsCreateProfilePlaceholder(NULL);
	cmsPipeline *pipeline = cmsPipelineAlloc(NULL, 4, 3);
	cmsStage *table = cmsStageAllocCLut16bit(NULL, 6, 4, 3, NULL);
	bool ok = cmsStageSampleCLut16bit(table, print, NULL, 0) &&
		  cmsPipelineInsertStage(pipeline, cmsAT_END, table);

	cmsSetProfileVersion(profile, 2.1);
	cmsSetDeviceClass(profile, cmsSigOutputClass);
	cmsSetColorSpace(profile, cmsSigCmykData);
	cmsSetPCS(profile, cmsSigLabData);
	ok = ok && cmsWriteTag(profile, cmsSigAToB0Tag, pipeline);
	CHECK(ok);
	cmsPipelineFree(pipeline);
	return profile_bytes(profile);
}

struct bytes jpeg_with_profile(struct bytes jpeg, struct bytes profile)
{
	static const char name[] = "ICC_PROFILE\0\1\1";
	size_t length = 2 + sizeof(name) - 1 + profile.count;
	uint8_t head[] = {
		0xff, 0xd8, 0xff, 0xe2, (uint8_t)(length >> 8), (uint8_t)length
	};
	struct bytes all = { .count = jpeg.count + 2 + length };
	uint8_t *next = all.data = malloc(all.count);

	CHECK(next != NULL);
	CHECK_NUMBER(length, <, 65536);
	next = mempcpy(next, head, sizeof(head));
	next = mempcpy(next, name, sizeof(name) - 1);
	next = mempcpy(next, profile.data, profile.count);
	memcpy(next, jpeg.data + 2, jpeg.count - 2);
	return all;
}

static void to_lab(cmsCIELab *lab, cmsHPROFILE from, cmsUInt32Number type,
		   const void *pixels, uint32_t count)
{
	cmsHPROFILE to = cmsCreateLab4Profile(NULL);
	cmsHTRANSFORM transform =
		cmsCreateTransform(from, type, to, TYPE_Lab_DBL,
				   INTENT_PERCEPTUAL, cmsFLAGS_NOOPTIMIZE);

	CHECK(transform != NULL);
	cmsDoTransform(transform, pixels, lab, count);
	cmsDeleteTransform(transform);
	cmsCloseProfile(to);
	cmsCloseProfile(from);
}

/*
 * Convert through 16-bit sRGB, because it clips colours as any result in sRGB
 * must.
 */
void profile_to_lab(cmsCIELab *lab, struct bytes profile,
		    cmsUInt32Number pixel_type, const void *pixels,
		    uint32_t count)
{
	cmsHPROFILE from = cmsOpenProfileFromMem(
		profile.data, (cmsUInt32Number)profile.count);
	cmsHPROFILE srgb = cmsCreate_sRGBProfile();
	cmsHTRANSFORM transform =
		cmsCreateTransform(from, pixel_type, srgb, TYPE_RGB_16,
				   INTENT_PERCEPTUAL, cmsFLAGS_NOOPTIMIZE);
	uint16_t *rgb = malloc(sizeof(*rgb) * 3 * count);

	CHECK(transform != NULL);
	CHECK(rgb != NULL);
	cmsDoTransform(transform, pixels, rgb, count);
	to_lab(lab, srgb, TYPE_RGB_16, rgb, count);
	free(rgb);
	cmsDeleteTransform(transform);
	cmsCloseProfile(from);
}

void srgb_to_lab(cmsCIELab *lab, const uint8_t *rgb, uint32_t count)
{
	to_lab(lab, cmsCreate_sRGBProfile(), TYPE_RGB_8, rgb, count);
}
