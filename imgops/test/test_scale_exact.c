/* SPDX-License-Identifier: MIT */
/*
 * Promises of exact results of img_scale(): flat stays flat; scaling to the
 * same size changes nothing, also for a part; chroma is not shifted; without
 * memory there is an error, and nothing is left.
 */
#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The filter of all tests here. */
static enum img_filter filter;

static struct image must_scale(const struct image *src, struct img_size size,
			       uint32_t orientation, struct heap *h)
{
	struct img_view view = whole_view(size);
	struct image dst = { 0 };

	view.orientation = orientation;
	enum img_err err = img_scale(
		&dst, src, &view, &(struct img_transform){ .filter = filter },
		&h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	return dst;
}

static double noise(uint32_t component, double x, double y)
{
	uint32_t n = scramble((uint32_t)(x * 2) * 7919 + (uint32_t)(y * 2));

	return (n + component) % 3 == 0 ? 0 : n % 3 == 1 ? 255 : n % 256;
}

static void fill(struct image *img, uint8_t value)
{
	for (uint32_t i = 0; i < img->plane_count; i++)
		for (uint32_t y = 0; y < img->planes[i].height; y++)
			memset(img->planes[i].samples +
				       y * img->planes[i].stride_bytes,
			       value ^ (uint8_t)i, img->planes[i].width);
}

static void check_flat(const struct image *img, uint8_t value)
{
	for (uint32_t i = 0; i < img->plane_count; i++)
		for (uint32_t y = 0; y < img->planes[i].height; y++)
			for (uint32_t x = 0; x < img->planes[i].width; x++)
				CHECK_NUMBER(sample(&img->planes[i], x, y), ==,
					     (value ^ i));
}

static void test_flat_image_stays_flat(void)
{
	static const struct img_size cases[] = { { 13, 9 },
						 { 4, 3 },
						 { 37, 50 } };
	struct heap h;

	heap_init(&h);
	struct image src =
		image_make((struct img_size){ 25, 18 }, IMG_YCBCR, waves, &h);

	for (int value = 0; value < 256; value++) {
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			fill(&src, (uint8_t)value);
			struct image dst = must_scale(
				&src, cases[i], 1 + (uint32_t)value % 8, &h);

			check_flat(&dst, (uint8_t)value);
			img_release(&dst);
		}
	}
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_same_size_changes_nothing(void)
{
	struct heap h;

	heap_init(&h);
	for (uint32_t i = 0; i < 100; i++) {
		struct img_size size = { 1 + i % 10, 1 + i / 10 * 7 };
		struct image src = image_make(size, IMG_YCBCR, noise, &h);
		struct image dst = must_scale(&src, size, 1, &h);

		CHECK(is_same(&src, &dst));
		img_release(&src);
		img_release(&dst);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* This is for luma; chroma of such a part may begin between two samples. */
static void test_a_part_of_the_same_size_is_a_copy(void)
{
	const struct img_size full = { 64, 32 };
	struct heap h;

	heap_init(&h);
	struct image src = image_make(full, IMG_YCBCR, noise, &h);

	for (uint32_t i = 0; i < 500; i++) {
		uint32_t left = scramble(4 * i) % 64;
		uint32_t top = scramble(4 * i + 1) % 32;
		uint32_t width = 1 + scramble(4 * i + 2) % (64 - left);
		uint32_t height = 1 + scramble(4 * i + 3) % (32 - top);
		struct img_view view = {
			.left = left / 64.0,
			.top = top / 32.0,
			.width = width / 64.0,
			.height = height / 32.0,
			.size = { width, height },
			.orientation = 1,
		};
		struct image dst = { 0 };

		CHECK_NUMBER(
			img_scale(&dst, &src, &view,
				  &(struct img_transform){ .filter = filter },
				  &h.memory),
			==, IMG_OK);
		for (uint32_t y = 0; y < height; y++)
			for (uint32_t x = 0; x < width; x++)
				CHECK_NUMBER(sample(&dst.planes[0], x, y), ==,
					     sample(&src.planes[0], left + x,
						    top + y));
		img_release(&dst);
	}
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

enum { EDGE_PX = 64 };

/* Flat luma; Cb has an edge along x, Cr along y. */
static double colour_edge(uint32_t component, double x, double y)
{
	double at = component == 1 ? x : y;

	return component == 0 ? 128 : at < EDGE_PX ? 60 : 200;
}

/*
 * The position of the edge in a plane, in samples, computed from the plane's
 * mean.
 */
static double edge_place(const struct img_plane *p, bool along_y)
{
	uint32_t count = along_y ? p->height : p->width;
	double low = 0;

	for (uint32_t i = 0; i < count; i++)
		low += 200 - sample(p, along_y ? 0 : i, along_y ? i : 0);
	return low / 140;
}

static void test_chroma_stays_where_it_is(void)
{
	static const int samplings[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 },
					    { 1, 2 }, { 4, 1 }, { 1, 4 } };
	static const uint32_t widths[] = { 128, 101, 60, 47, 16, 200 };
	struct heap h;

	heap_init(&h);
	for (size_t s = 0; s < ARRAY_SIZE(samplings); s++) {
		struct jpeg_spec spec = { .width = 128,
					  .height = 128,
					  .quality = 100,
					  .picture = colour_edge,
					  .h = { samplings[s][0] },
					  .v = { samplings[s][1] } };
		struct bytes jpeg = jpeg_make(&spec);

		for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
			struct img_size size = { widths[i], widths[i] };
			struct image src = must_decode(jpeg, size, &h);
			struct image dst = must_scale(&src, size, 1, &h);
			double edge = EDGE_PX / 128.0 * widths[i] / 2;

			CHECK_NUMBER(
				fabs(edge_place(&dst.planes[1], false) - edge),
				<, 0.1);
			CHECK_NUMBER(
				fabs(edge_place(&dst.planes[2], true) - edge),
				<, 0.1);
			img_release(&src);
			img_release(&dst);
		}
		free(jpeg.data);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_memory_is_an_error(void)
{
	struct img_view view = whole_view((struct img_size){ 8, 8 });
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct image src, dst;
	struct heap h, failing;

	heap_init(&h);
	view.orientation = 5;
	src = image_make((struct img_size){ 20, 20 }, IMG_YCBCR, waves, &h);
	for (uint32_t at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		heap_init(&failing);
		failing.fail_at = at;
		dst = (struct image){ 0 };
		err = img_scale(&dst, &src, &view, &(struct img_transform){ 0 },
				&failing.memory);
		if (err == IMG_ERR_NO_MEMORY)
			CHECK(is_empty(&dst));
		img_release(&dst);
		CHECK_NUMBER(failing.live_count, ==, 0);
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(failing.alloc_count, >=, 1 + 3);
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	for (filter = IMG_LANCZOS3; filter <= IMG_MITCHELL; filter++) {
		test_flat_image_stays_flat();
		test_same_size_changes_nothing();
		test_a_part_of_the_same_size_is_a_copy();
		test_chroma_stays_where_it_is();
		test_no_memory_is_an_error();
	}
	return 0;
}
