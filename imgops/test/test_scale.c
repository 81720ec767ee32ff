/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_scale() computes Lanczos-3, or the filter that is named, within
 * one level, for any ratio, subsampling and part of the picture, in each EXIF
 * orientation.  It pauses often, whatever the ratio.
 */
#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/resample/scale.h"
#include "imgops/test/exact.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most columns of which the reference makes a sample. */
enum { TAPS_MAX = 1 << 19 };

/* The filter of all tests here. */
static enum img_filter filter;

static struct image must_show(const struct image *src,
			      const struct img_view *view, struct heap *h)
{
	struct image dst = { 0 };
	enum img_err err = img_scale(
		&dst, src, view, &(struct img_transform){ .filter = filter },
		&h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(dst.plane_count, ==, src->plane_count);
	CHECK(image_is_shaped(&dst));
	CHECK_NUMBER(dst.planes[0].width, ==, view->size.width_px);
	CHECK_NUMBER(dst.planes[0].height, ==, view->size.height_px);
	return dst;
}

static struct image must_scale(const struct image *src, struct img_size size,
			       uint32_t orientation, struct heap *h)
{
	struct img_view view = whole_view(size);

	view.orientation = orientation;
	return must_show(src, &view, h);
}

/* A side that keeps its size is not filtered. */
static double weight(double x, double step)
{
	return exact_weight(step == 1 ? IMG_LANCZOS3 : filter, x, step);
}

/*
 * The slow way: all weights are computed for each sample.  (u, v): position, as
 * shares of the spans.
 */
static double reference(const struct img_plane *p, double u, double v,
			double step_x, double step_y)
{
	double x = u * p->span_x - 0.5, y = v * p->span_y - 0.5;
	double wide_x = fmax(1, step_x), wide_y = fmax(1, step_y);
	double sum = 0, total = 0;
	long first = (long)floor(x - 3 * wide_x);
	static double across[TAPS_MAX]; /* the same in each row */

	CHECK_NUMBER(6 * wide_x + 2, <=, TAPS_MAX);
	for (long i = first; i <= x + 3 * wide_x; i++)
		across[i - first] = weight((double)i - x, step_x);
	for (long j = (long)floor(y - 3 * wide_y); j <= y + 3 * wide_y; j++) {
		double wy = weight((double)j - y, step_y);
		long at_y = j < 0 ? 0 : j < p->height ? j : p->height - 1;

		for (long i = first; i <= x + 3 * wide_x; i++) {
			double w = wy * across[i - first];
			long at_x = i < 0 ? 0 : i < p->width ? i : p->width - 1;

			sum += w * sample(p, (uint32_t)at_x, (uint32_t)at_y);
			total += w;
		}
	}
	return fmin(255, fmax(0, sum / total));
}

static void check_plane(const struct img_plane *dst,
			const struct img_plane *src,
			const struct img_view *view)
{
	bool aside = view->orientation >= 5;
	double out_x = aside ? dst->span_y : dst->span_x;
	double out_y = aside ? dst->span_x : dst->span_y;
	double in_x = src->span_x * (aside ? view->height : view->width);
	double in_y = src->span_y * (aside ? view->width : view->height);
	double step_x = in_x / out_x, step_y = in_y / out_y;
	double squares = 0;

	for (uint32_t y = 0; y < dst->height; y++) {
		for (uint32_t x = 0; x < dst->width; x++) {
			double u = (x + 0.5) / dst->span_x;
			double v = (y + 0.5) / dst->span_y;

			u = view->left + u * view->width;
			v = view->top + v * view->height;
			exact_stored_place(&u, &v, view->orientation);
			double error = sample(dst, x, y) -
				       reference(src, u, v, step_x, step_y);

			CHECK_NUMBER(fabs(error), <=, 1);
			squares += error * error;
		}
	}
	/* Rounding alone gives 59 dB, but by chance less in short lines. */
	if (dst->width >= 6 && dst->height >= 6)
		CHECK_NUMBER(psnr(squares, dst->width * dst->height), >, 57);
}

static double noise(uint32_t component, double x, double y)
{
	uint32_t n = scramble((uint32_t)(x * 2) * 7919 + (uint32_t)(y * 2));

	/* Values that jump between 0 and 255, so that Lanczos overshoots. */
	return (n + component) % 3 == 0 ? 0 : n % 3 == 1 ? 255 : n % 256;
}

static void check_view(const struct image *src, const struct img_view *view,
		       struct heap *h)
{
	struct image dst = must_show(src, view, h);

	for (uint32_t i = 0; i < src->plane_count; i++)
		check_plane(&dst.planes[i], &src->planes[i], view);
	img_release(&dst);
}

static void check_scale(const struct image *src, struct img_size size,
			uint32_t orientation, struct heap *h)
{
	struct img_view view = whole_view(size);

	view.orientation = orientation;
	check_view(src, &view, h);
}

static void test_scaling_is_the_filter_at_any_ratio(void)
{
	static const struct img_size cases[][2] = {
		{ { 60, 40 }, { 20, 15 } }, { { 60, 40 }, { 59, 39 } },
		{ { 61, 43 }, { 30, 21 } }, { { 33, 65 }, { 33, 13 } },
		{ { 20, 15 }, { 47, 31 } }, { { 5, 3 }, { 17, 9 } },
		{ { 2, 2 }, { 3, 1 } },     { { 64, 64 }, { 1, 1 } },
		{ { 65, 1 }, { 3, 1 } },    { { 1, 65 }, { 1, 2 } },
		{ { 100, 7 }, { 9, 7 } },
	};
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct image src =
			image_make(cases[i][0], IMG_YCBCR, noise, &h);

		check_scale(&src, cases[i][1], 1, &h);
		img_release(&src);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_every_orientation_is_turned_upright(void)
{
	struct heap h;

	heap_init(&h);
	for (uint32_t orientation = 1; orientation <= 8; orientation++) {
		struct image src = image_make((struct img_size){ 31, 22 },
					      IMG_YCBCR, noise, &h);

		check_scale(&src, (struct img_size){ 17, 13 }, orientation, &h);
		check_scale(&src, (struct img_size){ 40, 50 }, orientation, &h);
		img_release(&src);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_any_part_is_shown_in_every_orientation(void)
{
	static const struct img_view views[] = {
		/*
		 * Parts at the ends, in the middle, and very narrow ones;
		 * stretched and enlarged.
		 */
		{ .width = 0.5, .height = 1, .size = { 9, 14 } },
		{ .left = 0.5, .width = 0.5, .height = 1, .size = { 9, 14 } },
		{ .top = 0.25, .width = 1, .height = 0.5, .size = { 31, 11 } },
		{ .left = 0.3,
		  .top = 0.7,
		  .width = 0.7,
		  .height = 0.3,
		  .size = { 60, 7 } },
		{ .left = 0.999,
		  .top = 0.4,
		  .width = 0.001,
		  .height = 0.1,
		  .size = { 10, 20 } },
		{ .left = 1 / 3.0,
		  .top = 1 / 7.0,
		  .width = 1 / 3.0,
		  .height = 6 / 7.0,
		  .size = { 1, 1 } },
		{ .width = 1, .height = 1, .size = { 200, 3 } },
		{ .width = 1, .height = 1, .size = { 3, 200 } },
	};
	struct heap h;

	heap_init(&h);
	struct image src =
		image_make((struct img_size){ 47, 38 }, IMG_YCBCR, noise, &h);

	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		for (uint32_t turn = 1; turn <= 8; turn++) {
			struct img_view view = views[i];

			view.orientation = turn;
			check_view(&src, &view, &h);
		}
	}
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* A picture of four planes, each of another size and span. */
static struct image odd_planes(struct img_size size, struct heap *h)
{
	struct image img = { .plane_count = IMG_PLANES_MAX };

	for (uint32_t i = 0; i < IMG_PLANES_MAX; i++) {
		struct img_plane *p = &img.planes[i];

		p->span_x = size.width_px / (1 + i % 3 / 2.0);
		p->span_y = size.height_px / (double)(1 + i / 2);
		p->width = (uint32_t)ceil(p->span_x);
		p->height = (uint32_t)ceil(p->span_y);
	}
	CHECK(image_alloc(&img, &h->memory));
	return img;
}

static void test_four_planes_of_any_spans(void)
{
	struct img_view view = whole_view((struct img_size){ 23, 19 });
	struct heap h;

	heap_init(&h);
	struct image src = odd_planes((struct img_size){ 41, 29 }, &h);
	struct image dst;

	image_shape(&dst, view.size, IMG_CMYK, true);
	CHECK(image_alloc(&dst, &h.memory));
	for (uint32_t i = 0; i < IMG_PLANES_MAX; i++) {
		struct img_plane *p = &src.planes[i];

		for (size_t at = 0; at < p->stride_bytes * p->height; at++)
			p->samples[at] = (uint8_t)scramble((uint32_t)at + i);
	}
	CHECK(scale_planes(&dst, &src, &view, filter, &h.memory));
	for (uint32_t i = 0; i < IMG_PLANES_MAX; i++)
		check_plane(&dst.planes[i], &src.planes[i], &view);
	img_release(&src);
	img_release(&dst);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* The result is that of img_scale(), and what is kept is moved, not copied. */
static void check_last(const struct image *like, struct img_size size,
		       uint32_t orientation, bool is_moved, struct heap *h)
{
	struct img_transform transform = { .filter = filter };
	struct img_view view = whole_view(size);
	struct image src =
		image_make((struct img_size){ 37, 21 }, like->space, noise, h);
	const uint8_t *samples = src.planes[0].samples;
	struct image dst = { 0 }, same = { 0 };
	enum img_err err;

	view.orientation = orientation;
	err = img_scale(&same, like, &view, &transform, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	err = img_scale_last(&dst, &src, &view, &transform, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK(is_same(&dst, &same));
	CHECK_NUMBER(dst.planes[0].samples == samples, ==, is_moved);
	CHECK_NUMBER(src.block == NULL, ==, is_moved);
	img_release(&src);
	img_release(&dst);
	img_release(&same);
}

static void test_the_last_result_may_take_the_planes(void)
{
	static const enum img_space spaces[] = { IMG_GREY, IMG_YCBCR };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		struct img_size size = { 37, 21 };
		struct image like = image_make(size, spaces[i], noise, &h);

		check_last(&like, size, 1, true, &h);
		check_last(&like, size, 2, false, &h);
		check_last(&like, size, 5, false, &h);
		check_last(&like, (struct img_size){ 36, 21 }, 1, false, &h);
		img_release(&like);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_turning_alone_moves_samples_unchanged(void)
{
	struct img_size size = { 7, 5 }, aside = { 5, 7 };
	struct heap h;

	heap_init(&h);
	struct image src = image_make(size, IMG_GREY, noise, &h);

	for (uint32_t orientation = 1; orientation <= 8; orientation++) {
		struct image dst = must_scale(
			&src, orientation < 5 ? size : aside, orientation, &h);
		const struct img_plane *p = &dst.planes[0];

		for (uint32_t y = 0; y < p->height; y++) {
			for (uint32_t x = 0; x < p->width; x++) {
				double u = (x + 0.5) / p->width;
				double v = (y + 0.5) / p->height;

				exact_stored_place(&u, &v, orientation);
				CHECK_NUMBER(sample(p, x, y), ==,
					     sample(&src.planes[0],
						    (uint32_t)(u * 7),
						    (uint32_t)(v * 5)));
			}
		}
		img_release(&dst);
	}
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_extreme_ratios_are_the_filter_too(void)
{
	static const struct img_size cases[][2] = {
		{ { 8000, 1 }, { 1, 1 } },      { { 1, 8000 }, { 1, 1 } },
		{ { 4000, 1 }, { 3, 1 } },      { { 65500, 1 }, { 1, 1 } },
		{ { 1, 65500 }, { 1, 1 } },     { { 1, 1 }, { 1, 1 } },
		{ { 1, 1 }, { 300, 1 } },       { { 2, 300 }, { 300, 2 } },
		{ { 1, 1 }, { 16384, 1 } },     { { 2, 1 }, { 1, 16384 } },
		{ { 65500, 2 }, { 16384, 1 } },
	};
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct image src =
			image_make(cases[i][0], IMG_YCBCR, waves, &h);

		check_scale(&src, cases[i][1], 1, &h);
		img_release(&src);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Larger than the groups of rows and columns, whose ends must not show. */
static void test_large_planes_have_no_seams(void)
{
	static const struct img_size cases[][2] = {
		{ { 340, 200 }, { 270, 260 } },
		{ { 30, 20 }, { 520, 40 } },
		{ { 1100, 9 }, { 290, 9 } },
	};
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct image src = image_make(cases[i][0], IMG_GREY, noise, &h);

		check_scale(&src, cases[i][1], 1, &h);
		check_scale(&src, cases[i][1], 7, &h);
		img_release(&src);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Waves as short as six samples: more than a photo has. */
static double fine(uint32_t component, double x, double y)
{
	return 128 + 50 * sin(x * 1.05 + component) + 40 * cos(y * 0.83) +
	       30 * sin((x + y) * 0.21);
}

/* Scale luma of `jpeg` to `view`, decoded for `decoded_for`. */
static struct image scale_file(struct bytes jpeg, const struct img_view *view,
			       enum img_filter decoded_for, struct heap *h)
{
	struct img_transform transform = { .filter = decoded_for };
	struct image decoded = { 0 }, dst = { 0 };
	struct img_header header;
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	header.texture = IMG_TEXTURE_IGNORED;
	err = img_decode(&decoded, jpeg.data, jpeg.count, &header, view,
			 &transform, &no_limits, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	transform.filter = filter;
	err = img_scale(&dst, &decoded, view, &transform, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	img_release(&decoded);
	return dst;
}

static double luma_psnr(const struct image *a, const struct image *b)
{
	const struct img_plane *p = &a->planes[0];
	double squares = 0;

	for (uint32_t y = 0; y < p->height; y++)
		for (uint32_t x = 0; x < p->width; x++) {
			double error =
				sample(p, x, y) - sample(&b->planes[0], x, y);

			squares += error * error;
		}
	return psnr(squares, p->width * p->height);
}

/*
 * A file is decoded at a reduced size only if the filter then gives nearly the
 * same result as from the full size.
 */
static void test_filters_see_the_whole_file(void)
{
	struct jpeg_spec spec = { .width = 480,
				  .height = 320,
				  .picture = fine,
				  .space = JCS_GRAYSCALE };
	struct bytes jpeg;
	struct heap h;

	if (filter == IMG_LANCZOS3)
		return;
	jpeg = jpeg_make(&spec);
	heap_init(&h);
	for (uint32_t width = 40; width <= 100; width += 15) {
		struct img_view view =
			whole_view((struct img_size){ width, width * 2 / 3 });
		struct image named = scale_file(jpeg, &view, filter, &h);
		struct image decoded = must_decode(jpeg, full_size, &h);
		struct image whole = must_show(&decoded, &view, &h);

		struct image reduced =
			scale_file(jpeg, &view, IMG_LANCZOS3, &h);

		/*
		 * Decoded at the size for Lanczos-3, the result would have 25
		 * to 42 dB.
		 */
		CHECK_NUMBER(luma_psnr(&named, &whole), >, 38);
		CHECK_NUMBER(luma_psnr(&named, &whole), >,
			     luma_psnr(&reduced, &whole));
		img_release(&reduced);
		img_release(&named);
		img_release(&decoded);
		img_release(&whole);
	}
	free(jpeg.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_memory_is_an_error(void)
{
	struct img_view view = whole_view((struct img_size){ 40, 30 });
	struct img_transform transform = { .filter = filter };
	struct heap h;

	heap_init(&h);
	struct image src =
		image_make((struct img_size){ 60, 40 }, IMG_YCBCR, waves, &h);

	enum img_err err = IMG_ERR_NO_MEMORY;

	for (uint32_t at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		struct image dst = { 0 };

		h.alloc_count = 0;
		h.fail_at = at;
		err = img_scale(&dst, &src, &view, &transform, &h.memory);
		CHECK(err == IMG_OK || is_empty(&dst));
		img_release(&dst);
		CHECK_NUMBER(h.live_count, ==, 1);
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(h.alloc_count, >, 2);
	img_release(&src);
}

static double middle_grey(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 128;
}

/* How often scaling a grey picture pauses. */
static uint32_t count_pauses(struct img_size from, struct img_size to)
{
	struct image src, dst;
	uint32_t before;
	struct heap h;

	heap_init(&h);
	src = image_make(from, IMG_GREY, middle_grey, &h);
	before = h.pause_count;
	dst = must_scale(&src, to, 1, &h);
	img_release(&dst);
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
	return h.pause_count - before;
}

/*
 * A filter that shrinks by a hundred reads millions of samples for a row of the
 * result.
 */
static void test_pauses_come_often_at_any_ratio(void)
{
	uint32_t large = count_pauses((struct img_size){ 4000, 3000 },
				      (struct img_size){ 40, 8 });

	/* Wider filters read a sample more often, and pause more often. */
	CHECK_NUMBER(large, >=, 4000 * 3000 / (1 << 22));
	CHECK_NUMBER(count_pauses((struct img_size){ 8, 80 },
				  (struct img_size){ 80, 8000 }),
		     >=, 1000);
}

static void test_all(void)
{
	test_scaling_is_the_filter_at_any_ratio();
	test_every_orientation_is_turned_upright();
	test_any_part_is_shown_in_every_orientation();
	test_four_planes_of_any_spans();
	test_the_last_result_may_take_the_planes();
	test_turning_alone_moves_samples_unchanged();
	test_extreme_ratios_are_the_filter_too();
	test_large_planes_have_no_seams();
	test_filters_see_the_whole_file();
	test_no_memory_is_an_error();
	test_pauses_come_often_at_any_ratio();
}

int main(void)
{
	for (filter = IMG_LANCZOS3; filter <= IMG_MITCHELL; filter++)
		test_all();
	return 0;
}
