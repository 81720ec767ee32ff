/* SPDX-License-Identifier: MIT */
/*
 * Promises: a picture with alpha, scaled to a format without, shows the
 * background through its transparent parts, also if a profile converts its
 * colours; what a transparent pixel hides has no effect on its neighbours; a
 * row is written with its colours as they were before alpha was applied; a
 * placeholder shows white.
 */
#include "base/test/check.h"
#include "imgops/colour/colour.h"
#include "imgops/image.h"
#include "imgops/test/profiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct img_size size = { 40, 24 };

static uint8_t alpha_at(uint32_t x)
{
	return (uint8_t)(x < 10 ? 0 : x < 20 ? 255 : 6 * x);
}

static uint8_t colour_at(uint32_t i, uint32_t x, uint32_t y)
{
	return (uint8_t)(i == 0 ? 250 - x : i == 1 ? 40 + 5 * y : 3 * x + y);
}

static struct image make(struct heap *h)
{
	struct image img;

	image_shape(&img, size, IMG_RGBA, true);
	CHECK(image_alloc(&img, &h->memory));
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t y = 0; y < size.height_px; y++)
			for (uint32_t x = 0; x < size.width_px; x++)
				img.planes[i].samples
					[y * img.planes[i].stride_bytes + x] =
					i == 3 ?
						alpha_at(x) :
						colour_share(colour_at(i, x, y),
							     alpha_at(x));
	return img;
}

static uint8_t sample_at(const struct image *img, uint32_t i, uint32_t x,
			 uint32_t y)
{
	const struct img_plane *p = &img->planes[i];

	return p->samples[y * p->stride_bytes + x];
}

static struct image scale(const struct image *src, struct img_size to,
			  uint32_t background, struct heap *h)
{
	struct img_transform t = { .format = IMG_FORMAT_PPM,
				   .background = background };
	struct img_view view = whole_view(size);
	struct image dst = { 0 };

	view.size = to;
	CHECK_NUMBER(img_scale(&dst, src, &view, &t, &h->memory), ==, IMG_OK);
	CHECK_NUMBER(dst.space, ==, IMG_RGB);
	CHECK_NUMBER(dst.plane_count, ==, 3);
	return dst;
}

static void test_background_shows(void)
{
	static const uint32_t backgrounds[] = { 0xffffff, 0, 0x1080c0 };
	struct heap h;

	heap_init(&h);
	for (size_t k = 0; k < ARRAY_SIZE(backgrounds); k++) {
		struct image src = make(&h);
		struct image dst = scale(&src, size, backgrounds[k], &h);

		for (uint32_t n = 0; n < 3 * img_pixels(size); n++) {
			uint32_t i = n % 3, x = n / 3 % size.width_px;
			uint32_t y = n / 3 / size.width_px;
			double a = alpha_at(x) / 255.0;
			double ground = backgrounds[k] >> (16 - 8 * i) & 255;
			double want = a * colour_at(i, x, y) + (1 - a) * ground;

			check_case("plane %u at %u, %u", i, x, y);
			CHECK(fabs(sample_at(&dst, i, x, y) - want) <= 1);
		}
		img_release(&src);
		img_release(&dst);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Half of each cell is opaque red, half is transparent: pink on white. */
static void test_hidden_colours_have_no_effect(void)
{
	struct img_size to = { size.width_px / 4, size.height_px / 4 };
	struct heap h;
	struct image src, dst;

	heap_init(&h);
	src = make(&h);
	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++)
			for (uint32_t i = 0; i < 4; i++)
				src.planes[i].samples
					[y * src.planes[i].stride_bytes + x] =
					x / 2 % 2 == 0 && (i == 0 || i == 3) ?
						255 :
						0;
	dst = scale(&src, to, 0xffffff, &h);
	for (uint32_t x = 2; x < to.width_px - 2; x++) {
		CHECK(sample_at(&dst, 0, x, 2) >= 254);
		CHECK(abs(sample_at(&dst, 1, x, 2) - 127) <= 2);
		CHECK(abs(sample_at(&dst, 2, x, 2) - 127) <= 2);
	}
	img_release(&src);
	img_release(&dst);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* The colours of a profile are those of opaque pixels, then seen through. */
static void test_profile_sees_whole_colours(void)
{
	struct bytes profile = profile_rgb(&gamuts[PROPHOTO], 1.8, 0);
	struct heap h;
	struct image src, dst, opaque, want;

	heap_init(&h);
	src = make(&h);
	opaque = make(&h);
	for (struct image *img = &src; img != NULL;
	     img = img == &src ? &opaque : NULL) {
		img->profile = memory_alloc(&h.memory, profile.count);
		CHECK(img->profile != NULL);
		memcpy(img->profile, profile.data, profile.count);
		img->profile_bytes = profile.count;
	}
	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++)
			for (uint32_t i = 0; i < 4; i++)
				opaque.planes[i].samples
					[y * opaque.planes[i].stride_bytes +
					 x] = i == 3 ? 255 : colour_at(i, x, y);
	dst = scale(&src, size, 0xffffff, &h);
	want = scale(&opaque, size, 0xffffff, &h);
	for (uint32_t n = 0; n < 3 * img_pixels(size); n++) {
		uint32_t i = n % 3, x = n / 3 % size.width_px;
		uint32_t y = n / 3 / size.width_px;
		double a = alpha_at(x) / 255.0;
		double on_white = a * sample_at(&want, i, x, y) + (1 - a) * 255;

		check_case("plane %u at %u, %u", i, x, y);
		CHECK(fabs(sample_at(&dst, i, x, y) - on_white) <= 6);
	}
	img_release(&src);
	img_release(&opaque);
	img_release(&dst);
	img_release(&want);
	free(profile.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_rows_have_whole_colours(void)
{
	uint8_t row[4 * 40];
	struct heap h;
	struct image src;

	heap_init(&h);
	src = make(&h);
	colour_write_row(row, &src, 7);
	for (uint32_t x = 0; x < size.width_px; x++) {
		uint8_t alpha = alpha_at(x);

		CHECK_NUMBER(row[4 * x + 3], ==, alpha);
		for (uint32_t i = 0; i < 3; i++) {
			double want = alpha > 0 ? colour_at(i, x, 7) : 0;
			double error = alpha > 0 ? 0.5 + 127.5 / alpha : 0;

			CHECK(fabs(row[4 * x + i] - want) <= error);
		}
	}
	img_release(&src);
}

static void test_placeholder_is_on_white(void)
{
	struct img_placeholder clear;
	struct heap h;
	struct image src;

	heap_init(&h);
	src = make(&h);
	for (uint32_t i = 0; i < 4; i++)
		memset(src.planes[i].samples, 0,
		       src.planes[i].stride_bytes * size.height_px);
	img_placeholder(&clear, &src);
	for (int i = 0; i < 3; i++)
		CHECK_NUMBER(clear.dominant[i], ==, 255);
	img_release(&src);
}

int main(void)
{
	test_background_shows();
	test_hidden_colours_have_no_effect();
	test_profile_sees_whole_colours();
	test_rows_have_whole_colours();
	test_placeholder_is_on_white();
	return 0;
}
