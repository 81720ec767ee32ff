/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_scale() is Lanczos-3 within one level, for any ratio and
 * subsampling, in each of EXIF's orientations; flat stays flat; scaling to the
 * same size changes nothing; chroma stays where it is.
 */
#include "imgops/planes.h"
#include "imgops/test/support.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct image must_scale(const struct image *src, struct img_size size,
			       uint32_t orientation, struct heap *h)
{
	struct image dst = { 0 };
	struct img_view view = whole_view(size);

	view.orientation = orientation;
	enum img_err err = img_scale(&dst, src, &view,
				     &(struct img_recipe){ 0 }, &h->memory);

	assert(err == IMG_OK);
	assert(dst.plane_count == src->plane_count);
	assert(image_is_shaped(&dst));
	assert(dst.planes[0].width == size.width_px);
	assert(dst.planes[0].height == size.height_px);
	return dst;
}

static double lanczos3(double x)
{
	if (fabs(x) < 1e-9)
		return 1;
	if (fabs(x) >= 3)
		return 0;
	return 3 * sin(M_PI * x) * sin(M_PI * x / 3) / (M_PI * M_PI * x * x);
}

/* The slow way: all weights for each sample.  (u, v): in spans, 0..1. */
static double reference(const struct img_plane *p, double u, double v,
			double wide_x, double wide_y)
{
	double x = u * p->span_x - 0.5, y = v * p->span_y - 0.5;
	double sum = 0, total = 0;

	for (long j = (long)floor(y - 3 * wide_y); j <= y + 3 * wide_y; j++) {
		double wy = lanczos3(((double)j - y) / wide_y);
		long at_y = j < 0 ? 0 : j < p->height ? j : p->height - 1;

		for (long i = (long)floor(x - 3 * wide_x); i <= x + 3 * wide_x;
		     i++) {
			double w = wy * lanczos3(((double)i - x) / wide_x);
			long at_x = i < 0 ? 0 : i < p->width ? i : p->width - 1;

			sum += w * sample(p, (uint32_t)at_x, (uint32_t)at_y);
			total += w;
		}
	}
	return fmin(255, fmax(0, sum / total));
}

/* Where in the file a place in the upright picture is: EXIF 2.32, 4.6.4. */
static void stored_place(double *u, double *v, uint32_t orientation)
{
	double x = *u, y = *v;
	double places[][2] = { { x, y },         { 1 - x, y }, { 1 - x, 1 - y },
			       { x, 1 - y },     { y, x },     { y, 1 - x },
			       { 1 - y, 1 - x }, { 1 - y, x } };

	*u = places[orientation - 1][0];
	*v = places[orientation - 1][1];
}

static void check_plane(const struct img_plane *dst,
			const struct img_plane *src, uint32_t orientation)
{
	bool aside = orientation >= 5;
	double out_x = aside ? dst->span_y : dst->span_x;
	double out_y = aside ? dst->span_x : dst->span_y;
	double wide_x = fmax(1, src->span_x / out_x);
	double wide_y = fmax(1, src->span_y / out_y);
	double squares = 0;

	for (uint32_t y = 0; y < dst->height; y++) {
		for (uint32_t x = 0; x < dst->width; x++) {
			double u = (x + 0.5) / dst->span_x;
			double v = (y + 0.5) / dst->span_y;

			stored_place(&u, &v, orientation);
			double error = sample(dst, x, y) -
				       reference(src, u, v, wide_x, wide_y);

			assert(fabs(error) <= 1);
			squares += error * error;
		}
	}
	/* Rounding alone gives 59 dB, but a line may have bad luck. */
	if (dst->width >= 6 && dst->height >= 6)
		assert(psnr(squares, dst->width * dst->height) > 57);
}

static double noise(uint32_t component, double x, double y)
{
	uint32_t n = scramble((uint32_t)(x * 2) * 7919 + (uint32_t)(y * 2));

	/* Full swings, so that Lanczos overshoots. */
	return (n + component) % 3 == 0 ? 0 : n % 3 == 1 ? 255 : n % 256;
}

static void check_scale(const struct image *src, struct img_size size,
			uint32_t orientation, struct heap *h)
{
	struct image dst = must_scale(src, size, orientation, h);

	for (uint32_t i = 0; i < src->plane_count; i++)
		check_plane(&dst.planes[i], &src->planes[i], orientation);
	img_release(&dst);
}

static void test_scaling_is_lanczos_at_any_ratio(void)
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
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct image src =
			image_make(cases[i][0], IMG_YCBCR, noise, &h);

		check_scale(&src, cases[i][1], 1, &h);
		img_release(&src);
	}
	assert(h.live_count == 0);
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
	assert(h.live_count == 0);
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

				stored_place(&u, &v, orientation);
				assert(sample(p, x, y) ==
				       sample(&src.planes[0], (uint32_t)(u * 7),
					      (uint32_t)(v * 5)));
			}
		}
		img_release(&dst);
	}
	img_release(&src);
	assert(h.live_count == 0);
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
				assert(sample(&img->planes[i], x, y) ==
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
		for (size_t i = 0; i < LENGTH(cases); i++) {
			fill(&src, (uint8_t)value);
			struct image dst = must_scale(
				&src, cases[i], 1 + (uint32_t)value % 8, &h);

			check_flat(&dst, (uint8_t)value);
			img_release(&dst);
		}
	}
	img_release(&src);
	assert(h.live_count == 0);
}

static void test_same_size_changes_nothing(void)
{
	struct heap h;

	heap_init(&h);
	for (uint32_t i = 0; i < 100; i++) {
		struct img_size size = { 1 + i % 10, 1 + i / 10 * 7 };
		struct image src = image_make(size, IMG_YCBCR, noise, &h);
		struct image dst = must_scale(&src, size, 1, &h);

		assert(is_same(&src, &dst));
		img_release(&src);
		img_release(&dst);
	}
	assert(h.live_count == 0);
}

enum { EDGE_PX = 64 };

/* Flat luma; Cb has an edge along x, Cr along y. */
static double colour_edge(uint32_t component, double x, double y)
{
	double at = component == 1 ? x : y;

	return component == 0 ? 128 : at < EDGE_PX ? 60 : 200;
}

/* Where the edge of a plane is, in its samples: from its mean. */
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
	for (size_t s = 0; s < LENGTH(samplings); s++) {
		struct jpeg_spec spec = { .width = 128,
					  .height = 128,
					  .quality = 100,
					  .picture = colour_edge,
					  .h = { samplings[s][0] },
					  .v = { samplings[s][1] } };
		struct bytes jpeg = jpeg_make(&spec);

		for (size_t i = 0; i < LENGTH(widths); i++) {
			struct img_size size = { widths[i], widths[i] };
			struct image src = must_decode(jpeg, size, &h);
			struct image dst = must_scale(&src, size, 1, &h);
			double edge = EDGE_PX / 128.0 * widths[i] / 2;

			assert(fabs(edge_place(&dst.planes[1], false) - edge) <
			       0.1);
			assert(fabs(edge_place(&dst.planes[2], true) - edge) <
			       0.1);
			img_release(&src);
			img_release(&dst);
		}
		free(jpeg.data);
	}
	assert(h.live_count == 0);
}

static void test_extreme_ratios_are_lanczos_too(void)
{
	static const struct img_size cases[][2] = {
		{ { 8000, 1 }, { 1, 1 } },  { { 1, 8000 }, { 1, 1 } },
		{ { 4000, 1 }, { 3, 1 } },  { { 65500, 1 }, { 1, 1 } },
		{ { 1, 65500 }, { 1, 1 } }, { { 1, 1 }, { 1, 1 } },
		{ { 1, 1 }, { 300, 1 } },   { { 2, 300 }, { 300, 2 } },
	};
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct image src =
			image_make(cases[i][0], IMG_YCBCR, waves, &h);

		check_scale(&src, cases[i][1], 1, &h);
		img_release(&src);
	}
	assert(h.live_count == 0);
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
		err = img_scale(&dst, &src, &view, &(struct img_recipe){ 0 },
				&failing.memory);
		if (err == IMG_ERR_NO_MEMORY)
			assert(is_empty(&dst));
		img_release(&dst);
		assert(failing.live_count == 0);
	}
	assert(err == IMG_OK);
	assert(failing.alloc_count >= 1 + 3);
	img_release(&src);
	assert(h.live_count == 0);
}

int main(void)
{
	test_scaling_is_lanczos_at_any_ratio();
	test_every_orientation_is_turned_upright();
	test_turning_alone_moves_samples_unchanged();
	test_flat_image_stays_flat();
	test_same_size_changes_nothing();
	test_chroma_stays_where_it_is();
	test_extreme_ratios_are_lanczos_too();
	test_no_memory_is_an_error();
	return 0;
}
