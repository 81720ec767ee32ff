/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_scale() turns pixels of any colour space and profile into the
 * colours that a colour-managed viewer shows, or keeps a profile together with
 * its own pixels; pixels that need no conversion are not converted; a bad
 * profile is ignored.
 */
#include "base/test/check.h"
#include "imgops/colour/colour.h"
#include "imgops/image.h"
#include "imgops/test/profiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct img_size size = { 61, 43 };
static const struct img_transform plain = { .chroma = IMG_CHROMA_444 };
static const struct img_transform keep = { .chroma = IMG_CHROMA_444,
					   .keep_profile = true };

/* A picture of nearly all colours. */
static double colours(uint32_t component, double x, double y)
{
	static const double turns[][2] = {
		{ 0.3, 0.1 }, { 0.1, 0.23 }, { 0.17, -0.2 }, { -0.05, 0.07 }
	};
	double at = x * turns[component][0] + y * turns[component][1];

	return 127.5 + 127.5 * sin(at);
}

/* A picture with no subsampling, and a copy of `profile` if that has data. */
static struct image make(enum img_space space, struct bytes profile,
			 struct heap *h)
{
	struct image img;
	bool ok;

	image_shape(&img, size, space, true);
	ok = image_alloc(&img, &h->memory);
	CHECK(ok);
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < size.height_px; y++)
			for (uint32_t x = 0; x < size.width_px; x++)
				img.planes[i].samples
					[y * img.planes[i].stride_bytes + x] =
					picture_sample(colours, i, x, y);
	if (profile.data != NULL) {
		img.profile = h->memory.alloc(h->memory.arg, profile.count);
		CHECK(img.profile != NULL);
		memcpy(img.profile, profile.data, profile.count);
		img.profile_bytes = profile.count;
	}
	return img;
}

static struct image scale(const struct image *src,
			  const struct img_transform *transform, struct heap *h)
{
	struct img_view view = whole_view(size);
	struct image dst = { 0 };
	enum img_err err = img_scale(&dst, src, &view, transform, &h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK(image_is_shaped(&dst));
	CHECK_NUMBER(dst.space, ==,
		     (src->space == IMG_GREY ? IMG_GREY : IMG_YCBCR));
	return dst;
}

/* Make, scale, release the source. */
static struct image scaled(enum img_space space, struct bytes profile,
			   const struct img_transform *transform,
			   struct heap *h)
{
	struct image src = make(space, profile, h);
	struct image dst = scale(&src, transform, h);

	img_release(&src);
	return dst;
}

static double clamp(double value)
{
	return fmin(255, fmax(0, value));
}

/* The inverse of the conversion under test, in double precision. */
static void rgb_of_ycc(double rgb[3], double y, double cb, double cr)
{
	rgb[0] = clamp(y + 1.402 * (cr - 128));
	rgb[1] = clamp(y - 0.344136 * (cb - 128) - 0.714136 * (cr - 128));
	rgb[2] = clamp(y + 1.772 * (cb - 128));
}

/* A pixel as a viewer reads it before it uses the profile: RGB or inks. */
static void viewed(double device[4], const struct image *img, uint32_t x,
		   uint32_t y)
{
	for (uint32_t i = 0; i < img->plane_count; i++)
		device[i] = sample(&img->planes[i], x, y);
	if (img->space == IMG_GREY)
		device[1] = device[2] = device[0];
	if (img->space == IMG_YCBCR || img->space == IMG_YCCK)
		rgb_of_ycc(device, device[0], device[1], device[2]);
	if (img->space == IMG_YCCK)
		for (int i = 0; i < 3; i++)
			device[i] = 255 - device[i];
	if (img->space == IMG_CMYK || img->space == IMG_YCCK)
		for (int i = 0; i < 4; i++)
			device[i] = 255 - device[i];
}

/*
 * The pixels in 16 bits, in the form that lcms2 takes, with `channels` for each
 * pixel.
 */
static uint16_t *viewed_all(const struct image *img, uint32_t channels)
{
	uint16_t *all = malloc(sizeof(*all) * channels * size.width_px *
			       size.height_px);
	uint16_t *next = all;

	CHECK(all != NULL);
	for (uint32_t y = 0; y < size.height_px; y++) {
		for (uint32_t x = 0; x < size.width_px; x++) {
			double device[4];

			viewed(device, img, x, y);
			for (uint32_t i = 0; i < channels; i++)
				*next++ = (uint16_t)lround(device[i] * 257);
		}
	}
	return all;
}

/* Mean delta-E 2000 between `dst`, in sRGB, and `src` seen with `profile`. */
static double difference(const struct image *dst, const struct image *src,
			 struct bytes profile, cmsUInt32Number type)
{
	enum { CAPACITY = 4096 };
	static cmsCIELab meant[CAPACITY], found[CAPACITY];
	uint32_t count = size.width_px * size.height_px;
	uint16_t *in = viewed_all(src, T_CHANNELS(type));
	uint16_t *out = viewed_all(dst, 3);
	uint8_t rgb[3 * CAPACITY];
	double total = 0;

	CHECK_NUMBER(count, <=, CAPACITY);
	for (uint32_t i = 0; i < 3 * count; i++)
		rgb[i] = (uint8_t)((out[i] + 128) / 257);
	profile_to_lab(meant, profile, type, in, count);
	srgb_to_lab(found, rgb, count);
	for (uint32_t i = 0; i < count; i++)
		total += cmsCIE2000DeltaE(&meant[i], &found[i], 1, 1, 1);
	free(in);
	free(out);
	return total / count;
}

static void check_profile(enum img_space space, struct bytes profile,
			  cmsUInt32Number type)
{
	struct heap h;

	heap_init(&h);
	struct image src = make(space, profile, &h);
	struct image dst = scale(&src, &plain, &h);

	CHECK(dst.profile == NULL);
	CHECK_NUMBER(dst.notes, ==, 0);
	CHECK_NUMBER(difference(&dst, &src, profile, type), <, 0.6);
	img_release(&dst);
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_profiles_look_as_lcms2_shows_them(void)
{
	static const double gammas[] = { [DISPLAY_P3] = CURVE_SRGB,
					 [ADOBE_RGB] = 2.19921875,
					 [PROPHOTO] = 1.8 };
	struct bytes cmyk = profile_cmyk(), grey = profile_grey(1.8);

	for (int i = DISPLAY_P3; i < GAMUT_COUNT; i++) {
		struct bytes rgb = profile_rgb(&gamuts[i], gammas[i], 0);

		check_profile(IMG_YCBCR, rgb, TYPE_RGB_16);
		check_profile(IMG_RGB, rgb, TYPE_RGB_16);
		check_profile(IMG_GREY, rgb, TYPE_RGB_16);
		free(rgb.data);
	}
	check_profile(IMG_CMYK, cmyk, TYPE_CMYK_16);
	check_profile(IMG_YCCK, cmyk, TYPE_CMYK_16);
	check_profile(IMG_GREY, grey, TYPE_GRAY_16);
	free(cmyk.data);
	free(grey.data);
}

static void check_plain(enum img_space space)
{
	struct heap h;

	heap_init(&h);
	struct image src = make(space, (struct bytes){ 0 }, &h);
	struct image dst = scale(&src, &plain, &h);

	for (uint32_t y = 0; y < size.height_px; y++) {
		for (uint32_t x = 0; x < size.width_px; x++) {
			double in[4], out[4];

			viewed(in, &src, x, y);
			viewed(out, &dst, x, y);
			for (int i = 0; i < 3; i++) {
				if (space != IMG_RGB)
					in[i] = (255 - in[i]) * (255 - in[3]) /
						255;
				/* Y'CbCr of 8 bits cannot hold all RGB. */
				CHECK_NUMBER(fabs(in[i] - out[i]), <=, 2.5);
			}
		}
	}
	img_release(&dst);
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_without_a_profile_ink_takes_light(void)
{
	check_plain(IMG_RGB);
	check_plain(IMG_CMYK);
	check_plain(IMG_YCCK);
}

/*
 * Whatever way the code finds that no conversion is needed, the result must be
 * exactly the same picture.
 */
static void test_srgb_and_bad_profiles_change_nothing(void)
{
	static uint8_t junk[3000];
	static const enum img_space spaces[] = { IMG_GREY, IMG_YCBCR, IMG_RGB };
	struct bytes srgb = profile_rgb(&gamuts[SRGB], CURVE_SRGB, 1024);
	struct bytes cmyk = profile_cmyk();
	struct bytes bad[] = { { junk, sizeof(junk) }, cmyk };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		struct image none =
			scaled(spaces[i], (struct bytes){ 0 }, &plain, &h);
		struct image dst = scaled(spaces[i], srgb, &plain, &h);

		CHECK(is_same(&none, &dst));
		CHECK_NUMBER(dst.notes, ==, 0);
		CHECK(dst.profile == NULL);
		img_release(&dst);
		for (size_t k = 0; k < ARRAY_SIZE(bad); k++) {
			dst = scaled(spaces[i], bad[k], &keep, &h);
			CHECK(is_same(&none, &dst));
			CHECK_NUMBER(dst.notes, ==, IMG_NOTE_BAD_PROFILE);
			CHECK(dst.profile == NULL);
			img_release(&dst);
		}
		img_release(&none);
	}
	free(srgb.data);
	free(cmyk.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_a_kept_profile_has_its_own_pixels(void)
{
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);
	struct bytes srgb = profile_rgb(&gamuts[SRGB], CURVE_SRGB, 0);
	struct bytes grey = profile_grey(1.8);
	const struct {
		enum img_space space;
		struct bytes profile;
	} cases[] = { { IMG_YCBCR, p3 },
		      { IMG_YCBCR, srgb },
		      { IMG_RGB, p3 },
		      { IMG_GREY, grey } };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes profile = cases[i].profile;
		struct image none =
			scaled(cases[i].space, (struct bytes){ 0 }, &plain, &h);
		struct image dst = scaled(cases[i].space, profile, &keep, &h);

		check_case("cases[%zu]", i);
		CHECK(is_same(&none, &dst));
		CHECK_NUMBER(dst.notes, ==, 0);
		CHECK_NUMBER(dst.profile_bytes, ==, profile.count);
		CHECK(memcmp(dst.profile, profile.data, profile.count) == 0);
		img_release(&none);
		img_release(&dst);
	}
	free(p3.data);
	free(srgb.data);
	free(grey.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_what_would_not_fit_is_not_kept(void)
{
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);
	struct bytes srgb = profile_rgb(&gamuts[SRGB], CURVE_SRGB, 0);
	struct bytes cmyk = profile_cmyk();
	const struct {
		enum img_space space;
		struct bytes profile;
	} cases[] = { { IMG_GREY, p3 },
		      { IMG_GREY, srgb },
		      { IMG_CMYK, cmyk },
		      { IMG_YCCK, cmyk } };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct image converted =
			scaled(cases[i].space, cases[i].profile, &plain, &h);
		struct image dst =
			scaled(cases[i].space, cases[i].profile, &keep, &h);

		check_case("cases[%zu]", i);
		CHECK(is_same(&converted, &dst));
		CHECK(dst.profile == NULL);
		CHECK_NUMBER(dst.notes, ==, 0);
		img_release(&converted);
		img_release(&dst);
	}
	free(p3.data);
	free(srgb.data);
	free(cmyk.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* `profile` with more bytes after its end. */
static struct bytes padded(struct bytes profile, size_t count)
{
	struct bytes b = { calloc(1, count), count };

	CHECK(b.data != NULL);
	CHECK_NUMBER(count, >, profile.count);
	memcpy(b.data, profile.data, profile.count);
	return b;
}

/* Of a client's bytes, only those that belong to the profile are passed on. */
static void test_what_is_kept_is_bounded(void)
{
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);
	struct bytes longer = padded(p3, p3.count + 1000);
	struct bytes longest = padded(p3, (1 << 20) + 1);
	struct heap h;

	heap_init(&h);

	struct image kept = scaled(IMG_YCBCR, longer, &keep, &h);
	struct image converted = scaled(IMG_YCBCR, p3, &plain, &h);
	struct image dst = scaled(IMG_YCBCR, longest, &keep, &h);

	CHECK_NUMBER(kept.profile_bytes, ==, p3.count);
	CHECK(memcmp(kept.profile, p3.data, p3.count) == 0);
	CHECK(is_same(&converted, &dst));
	CHECK(dst.profile == NULL);
	CHECK_NUMBER(dst.notes, ==, 0);
	img_release(&kept);
	img_release(&converted);
	img_release(&dst);
	free(p3.data);
	free(longer.data);
	free(longest.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_chroma_is_halved_in_place(void)
{
	struct heap h;

	heap_init(&h);
	struct image src = make(IMG_RGB, (struct bytes){ 0 }, &h);
	struct image full = scale(&src, &plain, &h);
	struct image half = scale(&src, &(struct img_transform){ 0 }, &h);

	CHECK_NUMBER(half.planes[1].width, ==, 31);
	CHECK_NUMBER(half.planes[1].height, ==, 22);
	for (uint32_t i = 1; i < 3; i++) {
		for (uint32_t y = 0; y < 22; y++) {
			for (uint32_t x = 0; x < 31; x++) {
				const struct img_plane *p = &full.planes[i];
				uint32_t x2 = x < 30 ? 2 * x + 1 : 2 * x;
				uint32_t y2 = y < 21 ? 2 * y + 1 : 2 * y;
				double mean = (sample(p, 2 * x, 2 * y) +
					       sample(p, x2, 2 * y) +
					       sample(p, 2 * x, y2) +
					       sample(p, x2, y2)) /
					      4.0;

				CHECK_NUMBER(
					fabs(sample(&half.planes[i], x, y) -
					     mean),
					<=, 0.5);
			}
		}
	}
	img_release(&half);
	img_release(&full);
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_notes_of_decoding_stay(void)
{
	static uint8_t junk[200];
	struct heap h;

	heap_init(&h);
	struct image src = make(IMG_RGB, (struct bytes){ junk, 200 }, &h);

	src.notes = IMG_NOTE_DAMAGED;
	struct image dst = scale(&src, &plain, &h);

	CHECK_NUMBER(dst.notes, ==, (IMG_NOTE_DAMAGED | IMG_NOTE_BAD_PROFILE));
	img_release(&dst);
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_turned_pixels_are_those_of_the_upright(void)
{
	struct img_view view =
		whole_view((struct img_size){ size.height_px, size.width_px });
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);
	struct image dst = { 0 };
	struct heap h;

	heap_init(&h);
	view.orientation = 6; /* the file's left side is the top */
	struct image src = make(IMG_YCBCR, p3, &h);
	struct image upright = scale(&src, &plain, &h);
	enum img_err err = img_scale(&dst, &src, &view, &plain, &h.memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t y = 0; y < size.height_px; y++)
			for (uint32_t x = 0; x < size.width_px; x++)
				CHECK_NUMBER(sample(&upright.planes[i], x, y),
					     ==,
					     sample(&dst.planes[i],
						    size.height_px - 1 - y, x));
	img_release(&dst);
	img_release(&upright);
	img_release(&src);
	free(p3.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void check_memory(enum img_space space, struct bytes profile,
			 const struct img_transform *transform)
{
	struct img_view view = whole_view(size);
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct heap h, failing;

	heap_init(&h);
	struct image src = make(space, profile, &h);

	for (uint32_t at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		struct image dst = { 0 };

		heap_init(&failing);
		failing.fail_at = at;
		err = img_scale(&dst, &src, &view, transform, &failing.memory);
		if (err == IMG_ERR_NO_MEMORY)
			CHECK(is_empty(&dst));
		img_release(&dst);
		CHECK_NUMBER(failing.live_count, ==, 0);
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_memory_is_an_error(void)
{
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);

	check_memory(IMG_YCBCR, p3, &plain);
	check_memory(IMG_YCBCR, p3, &keep);
	check_memory(IMG_GREY, p3, &plain);
	check_memory(IMG_CMYK, (struct bytes){ 0 }, &plain);
	free(p3.data);
}

int main(void)
{
	cmsSetLogErrorHandler(NULL);
	test_profiles_look_as_lcms2_shows_them();
	test_without_a_profile_ink_takes_light();
	test_srgb_and_bad_profiles_change_nothing();
	test_a_kept_profile_has_its_own_pixels();
	test_what_would_not_fit_is_not_kept();
	test_what_is_kept_is_bounded();
	test_chroma_is_halved_in_place();
	test_notes_of_decoding_stay();
	test_turned_pixels_are_those_of_the_upright();
	test_no_memory_is_an_error();
	return 0;
}
