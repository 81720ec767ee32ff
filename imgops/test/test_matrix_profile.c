/* SPDX-License-Identifier: MIT */
/*
 * Promises: curves and matrix are applied within rounding of the formulas, to
 * rows of any length; no byte outside of a
 * damaged profile is read; other kinds of profile are not matrix profiles; only
 * profiles that look like sRGB count as sRGB.
 */
#include "base/test/check.h"
#include "imgops/colour/matrix.h"
#include "imgops/test/profiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cmsHPROFILE open_profile(struct bytes profile)
{
	cmsHPROFILE handle = cmsOpenProfileFromMem(
		profile.data, (cmsUInt32Number)profile.count);

	CHECK(handle != NULL);
	free(profile.data); /* lcms2 has a copy */
	return handle;
}

static bool fits(struct bytes profile)
{
	struct matrix_tags tags;
	bool result = matrix_read(&tags, profile.data, profile.count);

	free(profile.data);
	return result;
}

static bool is_srgb(struct bytes profile)
{
	struct matrix_tags tags;
	bool result = matrix_read(&tags, profile.data, profile.count) &&
		      matrix_is_srgb(&tags);

	free(profile.data);
	return result;
}

static struct matrix_profile *profile_new(struct bytes profile)
{
	struct matrix_profile *s = malloc(sizeof(*s));
	struct matrix_tags tags;
	bool ok = matrix_read(&tags, profile.data, profile.count);

	CHECK(s != NULL);
	CHECK(ok);
	memset(s, 0xff, sizeof(*s));
	matrix_init(s, &tags);
	free(profile.data);
	return s;
}

enum { WIDTH = 700 };

struct row {
	uint8_t samples[3][WIDTH + 1];
	uint8_t *planes[3];
};

static void row_init(struct row *row, uint32_t seed)
{
	for (uint32_t c = 0; c < 3; c++) {
		row->planes[c] = row->samples[c];
		for (uint32_t x = 0; x <= WIDTH; x++)
			row->samples[c][x] =
				(uint8_t)scramble(seed + x * 3 + c);
	}
}

static void convert(const struct matrix_profile *s, struct row *out,
		    const struct row *in, uint32_t width)
{
	matrix_convert(s, out->planes, (const uint8_t *const *)in->planes,
		       width);
}

/* The levels that lcms2 computes in 16 bits. */
static void meant(double *levels, struct bytes profile, const uint8_t *rgb)
{
	cmsHPROFILE from = open_profile(profile);
	cmsHPROFILE to = cmsCreate_sRGBProfile();
	cmsHTRANSFORM transform = cmsCreateTransform(
		from, TYPE_RGB_8, to, TYPE_RGB_16, INTENT_RELATIVE_COLORIMETRIC,
		cmsFLAGS_NOOPTIMIZE);
	uint16_t out[3 * WIDTH];

	CHECK(transform != NULL);
	cmsDoTransform(transform, rgb, out, WIDTH);
	for (uint32_t i = 0; i < 3 * WIDTH; i++)
		levels[i] = out[i] / 257.0;
	cmsDeleteTransform(transform);
	cmsCloseProfile(from);
	cmsCloseProfile(to);
}

/* `profile` is freed. */
static void check_profile(struct bytes profile, uint32_t seed)
{
	static uint8_t rgb[3 * WIDTH];
	static double levels[3 * WIDTH];
	struct bytes copy = { malloc(profile.count), profile.count };
	struct matrix_profile *s;
	struct row in, out;

	CHECK(copy.data != NULL);
	memcpy(copy.data, profile.data, profile.count);
	s = profile_new(copy);
	row_init(&in, seed);
	row_init(&out, seed);
	for (uint32_t i = 0; i < 3 * WIDTH; i++)
		rgb[i] = in.samples[i % 3][i / 3];
	meant(levels, profile, rgb);
	convert(s, &out, &in, WIDTH);
	for (uint32_t i = 0; i < 3 * WIDTH; i++)
		CHECK_NUMBER(fabs(out.samples[i % 3][i / 3] - levels[i]), <, 1);
	free(s);
}

static void test_colours_are_within_a_level(void)
{
	static const double gammas[] = { CURVE_SRGB, 1.0, 1.8, 2.2 };

	for (int i = DISPLAY_P3; i < GAMUT_COUNT; i++) {
		for (uint32_t k = 0; k < ARRAY_SIZE(gammas); k++) {
			check_profile(profile_rgb(&gamuts[i], gammas[k], 0),
				      10000 * k);
			check_profile(profile_rgb(&gamuts[i], gammas[k], 1024),
				      10000 * k);
		}
	}
}

static void test_any_width_is_converted_and_no_more(void)
{
	struct matrix_profile *s =
		profile_new(profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0));
	struct row in, all, out;

	row_init(&in, 1);
	row_init(&all, 2);
	convert(s, &all, &in, WIDTH);
	for (uint32_t width = 1; width <= WIDTH; width++) {
		row_init(&out, 3);
		uint8_t next = out.samples[1][width];

		convert(s, &out, &in, width);
		for (int c = 0; c < 3; c++)
			CHECK(memcmp(out.samples[c], all.samples[c], width) ==
			      0);
		CHECK_NUMBER(out.samples[1][width], ==, next);
	}
	free(s);
}

static void test_grey_stays_grey(void)
{
	for (int i = DISPLAY_P3; i < GAMUT_COUNT; i++) {
		struct matrix_profile *s =
			profile_new(profile_rgb(&gamuts[i], CURVE_SRGB, 0));
		struct row in, out;

		row_init(&in, 1);
		row_init(&out, 1);
		for (uint32_t x = 0; x < 256; x++)
			for (int c = 0; c < 3; c++)
				in.samples[c][x] = (uint8_t)x;
		convert(s, &out, &in, 256);
		for (uint32_t x = 0; x < 256; x++)
			for (int c = 0; c < 3; c++)
				CHECK_NUMBER(abs(out.samples[c][x] - (int)x),
					     <=, 1);
		CHECK_NUMBER(out.samples[1][0], ==, 0);
		CHECK_NUMBER(out.samples[1][255], ==, 255);
		free(s);
	}
}

static void test_srgb_is_known_in_any_form(void)
{
	static const int steps[] = { 0, 26, 256, 1024, 4096 };
	struct gamut near = gamuts[SRGB];

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		CHECK(is_srgb(
			profile_rgb(&gamuts[SRGB], CURVE_SRGB, steps[i])));
	/* A difference such as rounding causes. */
	near.primaries[0][0] += 0.0005;
	CHECK(is_srgb(profile_rgb(&near, CURVE_SRGB, 0)));
}

static void test_what_looks_different_is_not_srgb(void)
{
	struct gamut swapped = gamuts[SRGB], moved = gamuts[SRGB];

	memcpy(swapped.primaries[0], gamuts[SRGB].primaries[1],
	       sizeof(swapped.primaries[0]));
	memcpy(swapped.primaries[1], gamuts[SRGB].primaries[0],
	       sizeof(swapped.primaries[0]));
	moved.primaries[1][0] -= 0.02;
	CHECK(!is_srgb(profile_rgb(&swapped, CURVE_SRGB, 0)));
	CHECK(!is_srgb(profile_rgb(&moved, CURVE_SRGB, 0)));
	CHECK(!is_srgb(profile_rgb(&gamuts[SRGB], 2.2, 0)));
	CHECK(!is_srgb(profile_rgb(&gamuts[DISPLAY_P3], CURVE_SRGB, 0)));
}

/* sRGB's colours with another curve, which is freed. */
static struct bytes with_curve(cmsToneCurve *curve)
{
	cmsToneCurve *curves[] = { curve, curve, curve };
	cmsCIExyY white = { 0.3127, 0.3290, 1 };
	cmsCIExyYTRIPLE primaries = { { 0.64, 0.33, 1 },
				      { 0.30, 0.60, 1 },
				      { 0.15, 0.06, 1 } };
	struct bytes bytes =
		profile_bytes(cmsCreateRGBProfile(&white, &primaries, curves));

	cmsFreeToneCurve(curve);
	return bytes;
}

/* A curve of three points. */
static struct bytes bent(uint16_t black)
{
	uint16_t points[] = { black, 20000, 65535 };

	return with_curve(cmsBuildTabulatedToneCurve16(NULL, 3, points));
}

/* A curve of parametricCurveType. */
static struct bytes with_function(int function)
{
	static const double parameters[][7] = {
		{ 1.9 },
		{ 2.1, 1.1, -0.1 },
		{ 2.1, 1.1, -0.1, 0.00004 },
		{ 2.4, 0.94, 0.05, 0.08, 0.045 },
		{ 2.4, 0.9, 0.06, 0.08, 0.04, 0.02, 0.00002 },
	};

	return with_curve(cmsBuildParametricToneCurve(NULL, function + 1,
						      parameters[function]));
}

static void test_every_function_is_computed(void)
{
	for (int function = 0; function < 5; function++)
		check_profile(with_function(function), 0);
}

/* An exact copy, so that sanitizers see reads past its end. */
static bool read_copy(const uint8_t *profile, size_t count)
{
	uint8_t *copy = malloc(count > 0 ? count : 1);
	struct matrix_tags tags;
	bool result;

	CHECK(copy != NULL);
	memcpy(copy, profile, count);
	result = matrix_read(&tags, copy, count);
	if (result)
		(void)matrix_is_srgb(&tags);
	free(copy);
	return result;
}

static void test_no_byte_outside_is_read(void)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct bytes profiles[] = { with_function(4), bent(0),
				    profile_rgb(&gamuts[SRGB], 2.2, 0) };

	for (size_t k = 0; k < ARRAY_SIZE(profiles); k++) {
		struct bytes p = profiles[k];

		for (size_t i = 0; i < p.count; i++) {
			uint8_t whole = p.data[i];

			CHECK(!read_copy(p.data, i));
			for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
				p.data[i] = values[v];
				(void)read_copy(p.data, p.count);
			}
			p.data[i] = whole;
		}
		CHECK(read_copy(p.data, p.count));
		free(p.data);
	}
}

static void test_other_kinds_do_not_fit(void)
{
	CHECK(fits(bent(0)));
	CHECK(!fits(bent(3000))); /* black is not black */
	CHECK(!fits(profile_grey(2.2)));
	CHECK(!fits(profile_cmyk()));
	CHECK(!fits(profile_bytes(cmsCreateLab4Profile(NULL))));
}

static void test_nonsense_is_black_or_white(void)
{
	struct matrix_profile *s =
		profile_new(profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0));
	struct row in, out;

	row_init(&in, 1);
	for (int level = 0; level < 256; level++)
		s->parts[0][level] = (light_vector){ NAN, INFINITY, -INFINITY };
	row_init(&out, 2);
	convert(s, &out, &in, WIDTH);
	for (uint32_t x = 0; x < WIDTH; x++) {
		CHECK_NUMBER(out.samples[0][x], ==, 0);
		CHECK_NUMBER(out.samples[1][x], ==, 255);
		CHECK_NUMBER(out.samples[2][x], ==, 0);
	}
	free(s);
}

int main(void)
{
	cmsSetLogErrorHandler(NULL);
	test_colours_are_within_a_level();
	test_any_width_is_converted_and_no_more();
	test_grey_stays_grey();
	test_srgb_is_known_in_any_form();
	test_what_looks_different_is_not_srgb();
	test_every_function_is_computed();
	test_no_byte_outside_is_read();
	test_other_kinds_do_not_fit();
	test_nonsense_is_black_or_white();
	return 0;
}
