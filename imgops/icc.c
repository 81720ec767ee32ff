/* SPDX-License-Identifier: MIT */
/*
 * Each profile is opened in a context of its own, so that nothing is shared
 * between threads and lcms2 has nobody to tell about errors.
 *
 * Most profiles in photos are sRGB under many names and in many bytes, so they
 * are known by what they do: matrix and curves are tried on a few colours.
 */
#include "imgops/icc.h"

#include "imgops/profile.h"

#include <math.h>

enum {
	CHANNELS = 3,
	TRIAL_STEPS = 6,
	/*
	 * Profiles called sRGB differ from it by up to 1.4 levels, by their
	 * rounding; the nearest that mean something else, by 8.
	 */
	SRGB_LEVELS_MAX = 2,
};

static double srgb_encode(double linear)
{
	if (linear <= 0.0031308)
		return 12.92 * fmax(0, linear);
	return 1.055 * pow(fmin(1, linear), 1 / 2.4) - 0.055;
}

/* A matrix profile: linear light of each channel at each step, and its XYZ. */
struct shaper {
	double light[CHANNELS][TRIAL_STEPS];
	cmsCIEXYZ xyz[CHANNELS];
};

static bool shaper_read(struct shaper *s, cmsHPROFILE profile)
{
	static const cmsTagSignature colorants[] = {
		cmsSigRedColorantTag,
		cmsSigGreenColorantTag,
		cmsSigBlueColorantTag,
	};
	static const cmsTagSignature curves[] = {
		cmsSigRedTRCTag,
		cmsSigGreenTRCTag,
		cmsSigBlueTRCTag,
	};

	if (cmsGetColorSpace(profile) != cmsSigRgbData ||
	    cmsGetPCS(profile) != cmsSigXYZData ||
	    cmsIsTag(profile, cmsSigAToB0Tag)) /* comes before the matrix */
		return false;
	for (int c = 0; c < CHANNELS; c++) {
		const cmsCIEXYZ *xyz = cmsReadTag(profile, colorants[c]);
		const cmsToneCurve *curve = cmsReadTag(profile, curves[c]);

		if (xyz == NULL || curve == NULL)
			return false;
		s->xyz[c] = *xyz;
		for (int i = 0; i < TRIAL_STEPS; i++)
			s->light[c][i] = (double)cmsEvalToneCurveFloat(
				curve, (float)i / (TRIAL_STEPS - 1));
	}
	return true;
}

static bool shaper_keeps(const struct shaper *s, const int rgb[CHANNELS])
{
	/* IEC 61966-2-1, adapted to D50 by Bradford's matrix. */
	static const double from_xyz[CHANNELS][CHANNELS] = {
		{ 3.1338561, -1.6168667, -0.4906146 },
		{ -0.9787684, 1.9161415, 0.0334540 },
		{ 0.0719453, -0.2289914, 1.4052427 },
	};
	double x = 0, y = 0, z = 0;

	for (int c = 0; c < CHANNELS; c++) {
		x += s->light[c][rgb[c]] * s->xyz[c].X;
		y += s->light[c][rgb[c]] * s->xyz[c].Y;
		z += s->light[c][rgb[c]] * s->xyz[c].Z;
	}
	for (int c = 0; c < CHANNELS; c++) {
		const double *m = from_xyz[c];
		double level =
			255 * srgb_encode(m[0] * x + m[1] * y + m[2] * z);
		double meant = 255.0 * rgb[c] / (TRIAL_STEPS - 1);

		/* So written, a NaN is no sRGB. */
		if (!(fabs(level - meant) <= SRGB_LEVELS_MAX))
			return false;
	}
	return true;
}

static bool is_srgb(cmsHPROFILE profile)
{
	enum { COLOURS = TRIAL_STEPS * TRIAL_STEPS * TRIAL_STEPS };
	struct shaper s;

	if (!shaper_read(&s, profile))
		return false;
	for (int i = 0; i < COLOURS; i++) {
		int rgb[CHANNELS] = { i % TRIAL_STEPS,
				      i / TRIAL_STEPS % TRIAL_STEPS,
				      i / TRIAL_STEPS / TRIAL_STEPS };

		if (!shaper_keeps(&s, rgb))
			return false;
	}
	return true;
}

/* lcms2's type of the pixels that `profile` is for; 0: not of such a picture. */
static cmsUInt32Number device_type(cmsHPROFILE profile, enum img_space space)
{
	bool is_cmyk = space == IMG_CMYK || space == IMG_YCCK;

	switch (cmsGetDeviceClass(profile)) {
	case cmsSigInputClass:
	case cmsSigDisplayClass:
	case cmsSigOutputClass:
	case cmsSigColorSpaceClass:
		break;
	default:
		return 0;
	}
	switch (cmsGetColorSpace(profile)) {
	case cmsSigGrayData:
		return space == IMG_GREY ? TYPE_GRAY_8 : 0;
	case cmsSigRgbData:
		return is_cmyk ? 0 : TYPE_RGB_8;
	case cmsSigCmykData:
		return is_cmyk ? TYPE_CMYK_8 : 0;
	default:
		return 0;
	}
}

/*
 * The floating-point versions of the tables may be chains of any length, of
 * which each pixel would have to see every link.  Readers must do without.
 */
static void drop_chains(cmsHPROFILE profile)
{
	static const cmsTagSignature tags[] = {
		cmsSigDToB0Tag,
		cmsSigDToB1Tag,
		cmsSigDToB2Tag,
		cmsSigDToB3Tag,
	};

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (cmsIsTag(profile, tags[i]))
			(void)cmsWriteTag(profile, tags[i], NULL);
}

/*
 * lcms2 can work out tables before the first pixel, so that each pixel costs
 * little.  Returns with how many pixels that begins to pay: measured, about the
 * number of entries.
 */
static uint64_t table_size(cmsHPROFILE profile)
{
	if (cmsGetColorSpace(profile) == cmsSigCmykData)
		return 17 * 17 * 17 * 17;
	if (cmsIsTag(profile, cmsSigAToB0Tag))
		return 33 * 33 * 33;
	return 10000; /* of a matrix: four curves */
}

static enum icc_verdict judge(struct icc *icc, cmsHPROFILE profile,
			      enum img_space space, uint64_t pixels)
{
	cmsUInt32Number type = device_type(profile, space), flags = 0;
	cmsHPROFILE srgb;

	if (type == 0)
		return ICC_BAD;
	if (is_srgb(profile))
		return ICC_SRGB;
	drop_chains(profile);
	icc->channels = T_CHANNELS(type);
	if (pixels < table_size(profile))
		flags = cmsFLAGS_NOOPTIMIZE;
	srgb = cmsCreate_sRGBProfileTHR(icc->context);
	if (srgb == NULL)
		return ICC_BAD;
	icc->to_srgb =
		cmsCreateTransformTHR(icc->context, profile, type, srgb,
				      TYPE_RGB_8, INTENT_PERCEPTUAL, flags);
	(void)cmsCloseProfile(srgb);
	return icc->to_srgb != NULL ? ICC_OTHER : ICC_BAD;
}

enum icc_verdict icc_open(struct icc *icc, const uint8_t *profile,
			  size_t profile_bytes, enum img_space space,
			  uint64_t pixels)
{
	struct icc opened = { .context = NULL };
	enum icc_verdict verdict = ICC_BAD;
	cmsHPROFILE handle;

	if (profile_bytes > PROFILE_BYTES_MAX)
		return ICC_BAD;
	opened.context = cmsCreateContext(NULL, NULL);
	if (opened.context == NULL)
		return ICC_BAD;
	handle = cmsOpenProfileFromMemTHR(opened.context, profile,
					  (cmsUInt32Number)profile_bytes);
	if (handle != NULL) {
		verdict = judge(&opened, handle, space, pixels);
		(void)cmsCloseProfile(handle);
	}
	if (verdict == ICC_OTHER)
		*icc = opened;
	else
		icc_close(&opened);
	return verdict;
}

void icc_convert(const struct icc *icc, uint8_t *rgb, const uint8_t *device,
		 uint32_t count)
{
	cmsDoTransform(icc->to_srgb, device, rgb, count);
}

void icc_close(struct icc *icc)
{
	if (icc->to_srgb != NULL)
		cmsDeleteTransform(icc->to_srgb);
	if (icc->context != NULL)
		cmsDeleteContext(icc->context);
	*icc = (struct icc){ .context = NULL };
}
