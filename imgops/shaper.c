/* SPDX-License-Identifier: MIT */
#include "imgops/shaper.h"

#include <math.h>
#include <string.h>

enum {
	CHANNELS = 3,
	TRIAL_STEP = 51,
	TRIALS = 255 / TRIAL_STEP + 1,
	/*
	 * Profiles called sRGB differ from it by up to 1.4 levels, by their
	 * rounding; the nearest that mean something else, by 8.
	 */
	SRGB_LEVELS_MAX = 2,
};

typedef int32_t shaper_place __attribute__((vector_size(16)));

static double srgb_encode(double light)
{
	if (light <= 0.0031308)
		return 12.92 * fmax(0, light);
	return 1.055 * pow(fmin(1, light), 1 / 2.4) - 0.055;
}

static double srgb_decode(double level)
{
	if (level <= 0.04045)
		return level / 12.92;
	return pow((level + 0.055) / 1.055, 2.4);
}

static const cmsToneCurve *curve_of(cmsHPROFILE profile, int channel)
{
	static const cmsTagSignature tags[] = {
		cmsSigRedTRCTag,
		cmsSigGreenTRCTag,
		cmsSigBlueTRCTag,
	};

	return cmsReadTag(profile, tags[channel]);
}

static const cmsCIEXYZ *colour_of(cmsHPROFILE profile, int channel)
{
	static const cmsTagSignature tags[] = {
		cmsSigRedColorantTag,
		cmsSigGreenColorantTag,
		cmsSigBlueColorantTag,
	};

	return cmsReadTag(profile, tags[channel]);
}

static float light_of(const cmsToneCurve *curve, int level)
{
	return cmsEvalToneCurveFloat(curve, (float)level / 255);
}

bool shaper_fits(cmsHPROFILE profile)
{
	if (cmsGetColorSpace(profile) != cmsSigRgbData ||
	    cmsGetPCS(profile) != cmsSigXYZData ||
	    cmsIsTag(profile, cmsSigAToB0Tag)) /* goes before the matrix */
		return false;
	for (int c = 0; c < CHANNELS; c++) {
		const cmsToneCurve *curve = curve_of(profile, c);

		/* lcms2 may move a black that is not black. */
		if (colour_of(profile, c) == NULL || curve == NULL ||
		    !(fabsf(light_of(curve, 0)) < 1e-4f))
			return false;
	}
	return true;
}

static void matrix_of(float matrix[CHANNELS][CHANNELS], cmsHPROFILE profile)
{
	/* IEC 61966-2-1, adapted to D50 by Bradford's matrix. */
	static const double from_xyz[CHANNELS][CHANNELS] = {
		{ 3.1338561, -1.6168667, -0.4906146 },
		{ -0.9787684, 1.9161415, 0.0334540 },
		{ 0.0719453, -0.2289914, 1.4052427 },
	};

	for (int c = 0; c < CHANNELS; c++) {
		const cmsCIEXYZ *xyz = colour_of(profile, c);

		for (int i = 0; i < CHANNELS; i++)
			matrix[i][c] = (float)(from_xyz[i][0] * xyz->X +
					       from_xyz[i][1] * xyz->Y +
					       from_xyz[i][2] * xyz->Z);
	}
}

bool shaper_is_srgb(cmsHPROFILE profile)
{
	float matrix[CHANNELS][CHANNELS], light[CHANNELS][TRIALS];

	matrix_of(matrix, profile);
	for (int c = 0; c < CHANNELS; c++)
		for (int i = 0; i < TRIALS; i++)
			light[c][i] =
				light_of(curve_of(profile, c), i * TRIAL_STEP);
	for (int i = 0; i < TRIALS * TRIALS * TRIALS; i++) {
		int rgb[] = { i % TRIALS, i / TRIALS % TRIALS,
			      i / TRIALS / TRIALS };

		for (int c = 0; c < CHANNELS; c++) {
			const float *m = matrix[c];
			float sum = m[0] * light[0][rgb[0]] +
				    m[1] * light[1][rgb[1]] +
				    m[2] * light[2][rgb[2]];
			double error = 255 * srgb_encode((double)sum) -
				       rgb[c] * TRIAL_STEP;

			/* So written, a NaN is no sRGB. */
			if (!(fabs(error) <= SRGB_LEVELS_MAX))
				return false;
		}
	}
	return true;
}

/* Light is divided where the next level of sRGB is as near as the last. */
static void fill_levels(uint8_t levels[SHAPER_PLACES])
{
	int next = 0;

	for (int level = 0; level < 256; level++) {
		double end = srgb_decode((level + 0.5) / 255);
		int first = next;

		next = level == 255 ? SHAPER_PLACES :
				      (int)ceil(end * (SHAPER_PLACES - 1));
		memset(levels + first, level, (size_t)(next - first));
	}
}

void shaper_init(struct shaper *s, cmsHPROFILE profile)
{
	const float top = SHAPER_PLACES - 1;
	float matrix[CHANNELS][CHANNELS];

	matrix_of(matrix, profile);
	for (int c = 0; c < CHANNELS; c++) {
		const cmsToneCurve *curve = curve_of(profile, c);
		shaper_light whole = { top * matrix[0][c], top * matrix[1][c],
				       top * matrix[2][c] };
		float rounding = c == 0 ? 0.5f : 0;

		for (int level = 0; level < 256; level++)
			s->parts[c][level] =
				light_of(curve, level) * whole + rounding;
	}
	fill_levels(s->levels);
}

/* Within shaper.levels, and so written that a NaN is black. */
static inline shaper_place places_of(shaper_light sum)
{
	const shaper_light none = { 0 };
	const shaper_light all = none + (SHAPER_PLACES - 1);
	shaper_place is_light = sum > none, is_less = sum < all;
	shaper_place bits = (shaper_place)sum & is_light;

	bits = (bits & is_less) | ((shaper_place)all & is_light & ~is_less);
	return __builtin_convertvector((shaper_light)bits, shaper_place);
}

void shaper_convert(const struct shaper *s, uint8_t *const srgb[3],
		    const uint8_t *const rgb[3], size_t width)
{
	const uint8_t *restrict r = rgb[0], *restrict g = rgb[1],
				*restrict b = rgb[2];

	for (size_t x = 0; x < width; x++) {
		shaper_place places =
			places_of(s->parts[0][r[x]] + s->parts[1][g[x]] +
				  s->parts[2][b[x]]);

		for (int c = 0; c < CHANNELS; c++)
			srgb[c][x] = s->levels[places[c]];
	}
}
