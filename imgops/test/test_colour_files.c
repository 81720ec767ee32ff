/* SPDX-License-Identifier: MIT */
/*
 * Promise: for a file of any colour space, with a profile, the result looks as
 * libjpeg and lcms2 show the original.
 */
#include "imgops/test/profiles.h"

#include "base/test/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct img_size size = { 61, 43 };

/* Decode, scale and encode, as the service would. */
static struct bytes pass(struct bytes jpeg, struct heap *h)
{
	static const struct img_transform transform = { .quality = 95 };
	struct image decoded = must_decode(jpeg, size, h);
	struct img_view view = whole_view(size);
	struct image dst = { 0 };
	struct bytes out;
	uint8_t *block;
	enum img_err err =
		img_scale(&dst, &decoded, &view, &transform, &h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	err = img_encode(&block, &out.count, &dst, &transform, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	out.data = malloc(out.count);
	CHECK(out.data != NULL);
	memcpy(out.data, block, out.count);
	h->memory.free(h->memory.arg, block);
	img_release(&decoded);
	img_release(&dst);
	return out;
}

/* Compare the result with libjpeg's pixels, converted by lcms2. */
static void check_file(J_COLOR_SPACE file, bool no_adobe, struct bytes profile,
		       J_COLOR_SPACE seen, cmsUInt32Number type)
{
	enum { CAPACITY = 4096 };
	static cmsCIELab meant[CAPACITY], found[CAPACITY];
	uint32_t count = size.width_px * size.height_px;
	struct jpeg_spec spec = { .width = size.width_px,
				  .height = size.height_px,
				  .picture = waves,
				  .space = file,
				  .no_adobe = no_adobe };
	struct bytes plain_jpeg = jpeg_make(&spec);
	struct bytes jpeg = jpeg_with_profile(plain_jpeg, profile);
	struct jpeg_view before = jpeg_read(jpeg, seen, 8);
	struct heap h;

	heap_init(&h);
	struct bytes out = pass(jpeg, &h);
	struct jpeg_view after = jpeg_read(out, JCS_RGB, 8);
	double total = 0;

	CHECK_NUMBER(count, <=, CAPACITY);
	CHECK_NUMBER(after.width, ==, size.width_px);
	profile_to_lab(meant, profile, type, before.pixels, count);
	srgb_to_lab(found, after.pixels, count);
	for (uint32_t i = 0; i < count; i++)
		total += cmsCIE2000DeltaE(&meant[i], &found[i], 1, 1, 1);
	CHECK_NUMBER(total / count, <, 2);
	free(before.pixels);
	free(after.pixels);
	free(plain_jpeg.data);
	free(jpeg.data);
	free(out.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_files_look_as_lcms2_shows_them(void)
{
	struct bytes cmyk = profile_cmyk(), grey = profile_grey(1.8);

	for (int i = 0; i < GAMUT_COUNT; i++) {
		struct bytes rgb = profile_rgb(&gamuts[i], 1.8, 0);

		check_file(JCS_YCbCr, false, rgb, JCS_RGB, TYPE_RGB_8);
		check_file(JCS_RGB, false, rgb, JCS_RGB, TYPE_RGB_8);
		free(rgb.data);
	}
	check_file(JCS_CMYK, false, cmyk, JCS_CMYK, TYPE_CMYK_8_REV);
	check_file(JCS_CMYK, true, cmyk, JCS_CMYK, TYPE_CMYK_8_REV);
	check_file(JCS_YCCK, false, cmyk, JCS_CMYK, TYPE_CMYK_8_REV);
	check_file(JCS_GRAYSCALE, false, grey, JCS_GRAYSCALE, TYPE_GRAY_8);
	free(cmyk.data);
	free(grey.data);
}

/*
 * The CMYK that programs store for a colour (255: no ink), with as much black
 * as possible.
 */
static void stored_inks(double ink[4], double x, double y)
{
	double light[3] = { waves(0, x, y), waves(1, x, y), waves(2, x, y) };

	ink[3] = fmax(light[0], fmax(light[1], light[2]));
	for (int i = 0; i < 3; i++)
		ink[i] = ink[3] > 0 ? light[i] / ink[3] * 255 : 255;
}

static double cmyk_of_waves(uint32_t component, double x, double y)
{
	double ink[4];

	stored_inks(ink, x, y);
	return ink[component];
}

/* YCCK: C, M and Y as JFIF's Y'CbCr of 255 - C, ...; K as it is. */
static double ycck_of_waves(uint32_t component, double x, double y)
{
	static const double rows[3][3] = { { 0.299, 0.587, 0.114 },
					   { -0.168736, -0.331264, 0.5 },
					   { 0.5, -0.418688, -0.081312 } };
	double ink[4], sum = component == 0 ? 0 : 128;

	stored_inks(ink, x, y);
	if (component == 3)
		return ink[3];
	for (int i = 0; i < 3; i++)
		sum += rows[component][i] * (255 - ink[i]);
	return sum;
}

/* Mean difference between the result and the picture that was stored. */
static double inks_difference(J_COLOR_SPACE space, bool no_adobe)
{
	struct jpeg_spec spec = {
		.width = size.width_px,
		.height = size.height_px,
		.picture = space == JCS_YCCK ? ycck_of_waves : cmyk_of_waves,
		.space = space,
		.no_adobe = no_adobe,
	};
	struct bytes jpeg = jpeg_make(&spec);
	double total = 0;
	struct heap h;

	heap_init(&h);
	struct bytes out = pass(jpeg, &h);
	struct jpeg_view after = jpeg_read(out, JCS_RGB, 8);
	const uint8_t *pixel = after.pixels;

	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++)
			for (uint32_t i = 0; i < 3; i++)
				total += fabs(*pixel++ -
					      waves(i, x + 0.5, y + 0.5));
	free(after.pixels);
	free(jpeg.data);
	free(out.data);
	CHECK_NUMBER(h.live_count, ==, 0);
	return total / (3.0 * size.width_px * size.height_px);
}

/*
 * Adobe's programs store 255 for no ink, and all readers expect this, even if
 * the Adobe marker is missing; the marker only distinguishes CMYK from YCCK.
 */
static void test_inks_are_stored_inverted(void)
{
	CHECK_NUMBER(inks_difference(JCS_CMYK, false), <, 6);
	CHECK_NUMBER(inks_difference(JCS_CMYK, true), <, 6);
	CHECK_NUMBER(inks_difference(JCS_YCCK, false), <, 6);
}

int main(void)
{
	cmsSetLogErrorHandler(NULL);
	test_files_look_as_lcms2_shows_them();
	test_inks_are_stored_inverted();
	return 0;
}
