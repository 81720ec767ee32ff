/* SPDX-License-Identifier: MIT */
/*
 * Promises: a padded picture has each sample of the scaled one at its place,
 * and the background everywhere else, whatever the space, the format and the
 * sides.  Where chroma has half the size, its samples are means of the pixels
 * that they cover.  A grey picture gets colours only for a coloured background,
 * and a transparent background makes the pad transparent where the format can.
 */
#include "base/test/check.h"
#include "imgops/formats/format.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <math.h>
#include <string.h>

static const enum img_format_number formats[] = {
	IMG_FORMAT_JPEG,
	IMG_FORMAT_PPM,
#ifdef IMG_PNG
	IMG_FORMAT_PNG,
#endif
#ifdef IMG_WEBP
	IMG_FORMAT_WEBP,
#endif
};

static const struct img_sides all_pads[] = {
	{ 2, 4, 6, 8 }, { 1, 0, 0, 0 },    { 0, 1, 0, 0 }, { 0, 0, 1, 0 },
	{ 0, 0, 0, 1 }, { 3, 5, 7, 9 },    { 1, 2, 1, 2 }, { 2, 1, 2, 1 },
	{ 0, 0, 0, 0 }, { 40, 31, 0, 17 },
};

static const struct img_size sizes[] = { { 8, 6 }, { 7, 5 }, { 1, 1 },
					 { 1, 4 }, { 2, 3 }, { 33, 18 } };

static const uint32_t backgrounds[] = { 0xffffff, 0xff0000, 0x123456,
					IMG_TRANSPARENT };

static double patches(uint32_t component, double x, double y)
{
	return scramble((uint32_t)(x * 977) + (uint32_t)(y * 31) * 7919 +
			component * 12345) %
	       256;
}

static struct image make(struct img_size size, enum img_space space,
			 bool full_chroma, struct heap *h)
{
	struct image img;
	bool ok;

	image_shape(&img, size, space, full_chroma);
	ok = image_alloc(&img, &h->memory);
	CHECK(ok);
	for (uint32_t i = 0; i < img.plane_count; i++) {
		struct img_plane *p = &img.planes[i];

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++)
				p->samples[y * p->stride_bytes + x] =
					picture_sample(patches, i, x, y);
	}
	return img;
}

/* Channel `i` of the background in a result of `space`. */
static double background_of(uint32_t colour, enum img_space space, uint32_t i)
{
	uint32_t rgb = colour == IMG_TRANSPARENT ? 0xffffff : colour;
	double r = rgb >> 16, g = rgb >> 8 & 255, b = rgb & 255;
	double luma = 0.299 * r + 0.587 * g + 0.114 * b;

	if (space == IMG_RGBA && colour == IMG_TRANSPARENT)
		return 0;
	if (i == 3)
		return 255;
	if (space == IMG_RGB || space == IMG_RGBA)
		return i == 0 ? r : i == 1 ? g : b;
	return i == 0 ? luma :
	       i == 1 ? 128 + (b - luma) / 1.772 :
			128 + (r - luma) / 1.402;
}

/* Channel `i` of a pixel of the picture before, as it is in `space`. */
static double inside(const struct image *src, enum img_space space, uint32_t i,
		     uint32_t x, uint32_t y)
{
	const struct img_plane *p = &src->planes[i];

	if (src->space == IMG_GREY && (i == 0 || space != IMG_YCBCR) && i < 3)
		return sample(&src->planes[0], x, y);
	if (src->space == IMG_GREY && i < 3)
		return 128;
	if (i == 3 && src->space != IMG_RGBA)
		return 255;
	if (p->width < src->planes[0].width ||
	    p->height < src->planes[0].height)
		return sample(p, x / 2, y / 2);
	return sample(p, x, y);
}

static void check_sample(const struct image *dst, const struct image *src,
			 const struct img_sides *pad, uint32_t colour,
			 uint32_t i, uint32_t x, uint32_t y)
{
	const struct img_plane *p = &dst->planes[i], *whole = &dst->planes[0];
	uint32_t step = p->span_x < whole->span_x ? 2 : 1;
	double sum = 0, count = 0;

	for (uint32_t v = y * step; v < (y + 1) * step; v++)
		for (uint32_t u = x * step; u < (x + 1) * step; u++) {
			uint32_t left = u - pad->left_px, top = v - pad->top_px;
			bool is_inside = left < src->planes[0].width &&
					 top < src->planes[0].height;

			if (u >= whole->width || v >= whole->height)
				continue;
			count++;
			sum += is_inside ?
				       inside(src, dst->space, i, left, top) :
				       background_of(colour, dst->space, i);
		}
	/* The background is rounded once, and the mean once more. */
	CHECK_NUMBER(fabs(sample(p, x, y) - sum / count), <=, 1.01);
}

static enum img_space wanted_space(enum img_space from,
				   const struct img_transform *t)
{
	bool is_grey = t->background == 0xffffff || t->greyscale ||
		       t->background == IMG_TRANSPARENT;
	bool holds_alpha =
		t->format != IMG_FORMAT_JPEG && t->format != IMG_FORMAT_PPM;

	if (t->background == IMG_TRANSPARENT && holds_alpha)
		return IMG_RGBA;
	if (from != IMG_GREY || is_grey)
		return from;
	return t->format == IMG_FORMAT_PPM ||
			       img_formats[t->format]->word[0] == 'p' ?
		       IMG_RGB :
		       IMG_YCBCR;
}

/* All sizes and sides for a scaled picture of `space`. */
static void check_space(const struct img_transform *t, enum img_space space)
{
	struct heap h;

	heap_init(&h);
	for (size_t k = 0; k < ARRAY_SIZE(sizes) * ARRAY_SIZE(all_pads); k++) {
		struct img_view view = {
			.size = sizes[k / ARRAY_SIZE(all_pads)],
			.pad = all_pads[k % ARRAY_SIZE(all_pads)],
		};
		struct img_size size = img_result_size(&view);
		struct image src =
			make(view.size, space, format_full_size(t), &h);
		struct image dst =
			make(view.size, space, format_full_size(t), &h);

		check_case("format %u, space %u, %06x, size %zu, sides %zu",
			   t->format, space, t->background,
			   k / ARRAY_SIZE(all_pads), k % ARRAY_SIZE(all_pads));
		CHECK_NUMBER(img_retouch(&dst, &view, t, NULL, &h.memory), ==,
			     IMG_OK);
		CHECK_NUMBER(dst.planes[0].width, ==, size.width_px);
		CHECK_NUMBER(dst.planes[0].height, ==, size.height_px);
		if (img_is_retouched(&view, t))
			CHECK_NUMBER(dst.space, ==, wanted_space(space, t));
		else
			CHECK(is_same(&dst, &src));
		for (uint32_t i = 0; i < dst.plane_count; i++)
			for (uint32_t y = 0; y < dst.planes[i].height; y++)
				for (uint32_t x = 0; x < dst.planes[i].width;
				     x++)
					check_sample(&dst, &src, &view.pad,
						     t->background, i, x, y);
		img_release(&src);
		img_release(&dst);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_each_sample_is_at_its_place(void)
{
	static const enum img_space spaces[] = { IMG_GREY, IMG_YCBCR,
						 IMG_RGBA };

	for (size_t f = 0; f < ARRAY_SIZE(formats) * 2; f++)
		for (size_t b = 0; b < ARRAY_SIZE(backgrounds); b++)
			for (size_t s = 0; s < ARRAY_SIZE(spaces); s++) {
				struct img_transform t = {
					.format = formats[f / 2],
					.chroma = f % 2,
					.background = backgrounds[b],
					.pad = { 1, 1, 1, 1 },
				};

				/* What img_scale() makes of such a file. */
				check_space(&t,
					    format_result_space(&t, spaces[s]));
			}
}

static void test_without_colours_the_background_is_grey(void)
{
	struct img_transform t = { .greyscale = true,
				   .background = 0xff0000,
				   .pad = { 1, 1, 1, 1 } };
	struct img_view view = { .size = { 4, 4 }, .pad = t.pad };
	struct heap h;

	heap_init(&h);
	struct image img = make(view.size, IMG_GREY, false, &h);

	CHECK_NUMBER(img_retouch(&img, &view, &t, NULL, &h.memory), ==, IMG_OK);
	CHECK_NUMBER(img.space, ==, IMG_GREY);
	CHECK_NUMBER(sample(&img.planes[0], 0, 0), ==, 76);
	img_release(&img);
	t.format = IMG_FORMAT_PPM;
	img = make(view.size, IMG_RGB, false, &h);
	CHECK_NUMBER(img_retouch(&img, &view, &t, NULL, &h.memory), ==, IMG_OK);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_NUMBER(sample(&img.planes[i], 0, 0), ==, 76);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_the_profile_stays_and_no_memory_is_an_error(void)
{
	struct img_transform t = { .pad = { 1, 2, 3, 4 } };
	struct img_view view = { .size = { 9, 7 }, .pad = t.pad };
	struct heap h;

	heap_init(&h);
	struct image img = make(view.size, IMG_YCBCR, false, &h);

	img.profile = memory_alloc(&h.memory, 3);
	img.profile_bytes = 3;
	memcpy(img.profile, "ICC", 3);
	img.notes = IMG_NOTE_DAMAGED;
	h.fail_at = h.alloc_count + 1;
	CHECK_NUMBER(img_retouch(&img, &view, &t, NULL, &h.memory), ==,
		     IMG_ERR_NO_MEMORY);
	CHECK_NUMBER(img.planes[0].width, ==, 9);
	h.fail_at = 0;
	CHECK_NUMBER(img_retouch(&img, &view, &t, NULL, &h.memory), ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
	CHECK_NUMBER(img.profile_bytes, ==, 3);
	CHECK(memcmp(img.profile, "ICC", 3) == 0);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	test_each_sample_is_at_its_place();
	test_without_colours_the_background_is_grey();
	test_the_profile_stays_and_no_memory_is_an_error();
	return 0;
}
