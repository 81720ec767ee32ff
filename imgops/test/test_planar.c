/* SPDX-License-Identifier: MIT */
/*
 * Promise: at every sampling, size and DCT scale the planes are, bit for bit,
 * what libjpeg's ordinary decoding gives, and their spans say how samples of
 * one plane lie on another.  The scale is the smallest that covers the target.
 */
#include "imgops/test/support.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const struct sampling {
	int h[3], v[3];
	bool fractional; /* libjpeg cannot up-sample it: no reference */
} samplings[] = {
	{ { 1, 1, 1 }, { 1, 1, 1 }, false },
	{ { 2, 1, 1 }, { 1, 1, 1 }, false },
	{ { 2, 1, 1 }, { 2, 1, 1 }, false },
	{ { 1, 1, 1 }, { 2, 1, 1 }, false },
	{ { 4, 1, 1 }, { 1, 1, 1 }, false },
	{ { 1, 1, 1 }, { 4, 1, 1 }, false },
	{ { 4, 1, 1 }, { 2, 1, 1 }, false },
	{ { 2, 1, 1 }, { 4, 1, 1 }, false },
	{ { 3, 1, 1 }, { 1, 1, 1 }, false },
	{ { 3, 1, 1 }, { 2, 1, 1 }, false },
	{ { 4, 1, 1 }, { 4, 1, 1 }, false }, /* too large to interleave */
	{ { 4, 1, 4 }, { 4, 4, 1 }, false },
	{ { 2, 2, 2 }, { 2, 2, 2 }, false },
	{ { 2, 2, 1 }, { 2, 1, 2 }, false },
	{ { 1, 2, 2 }, { 1, 2, 2 }, false }, /* luma is the small one */
	{ { 2, 1, 4 }, { 1, 1, 1 }, false },
	{ { 3, 2, 2 }, { 1, 1, 1 }, true },
	{ { 3, 2, 1 }, { 2, 3, 1 }, true },
};

static const struct img_size sizes[] = { { 1, 1 },   { 2, 1 },   { 7, 5 },
					 { 16, 16 }, { 17, 33 }, { 65, 31 },
					 { 97, 50 } };

/* The smallest scale, in eighths, that covers the target. */
static int eighths_for(struct img_size size, struct img_size target)
{
	for (int n = 1; n < 8; n++)
		if (size.width_px * n / 8.0 >= target.width_px &&
		    size.height_px * n / 8.0 >= target.height_px)
			return n;
	return 8;
}

static void check_spans(const struct image *img, struct img_size size,
			int eighths)
{
	double full = 0;

	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];

		assert(p->span_x > p->width - 1 && p->span_x <= p->width);
		assert(p->span_y > p->height - 1 && p->span_y <= p->height);
		full = fmax(full, p->span_x);
	}
	assert(fabs(full - size.width_px * eighths / 8.0) < 1e-9);
}

/* The sample of plane `i` under (x, y) of the up-sampled picture. */
static uint8_t under(const struct image *img, uint32_t i, uint32_t x,
		     uint32_t y, struct img_size size, int eighths)
{
	const struct img_plane *p = &img->planes[i];
	double at_x = x * p->span_x / (size.width_px * eighths / 8.0);
	double at_y = y * p->span_y / (size.height_px * eighths / 8.0);

	return sample(p, (uint32_t)(at_x + 1e-6), (uint32_t)(at_y + 1e-6));
}

static void check_equal(const struct image *img, struct bytes jpeg,
			struct img_size size, int eighths)
{
	J_COLOR_SPACE space = img->plane_count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
	struct jpeg_view view = jpeg_read(jpeg, space, eighths);

	assert(view.channels == img->plane_count);
	for (uint32_t y = 0; y < view.height; y++)
		for (uint32_t x = 0; x < view.width; x++)
			for (uint32_t i = 0; i < view.channels; i++)
				assert(view.pixels[(y * view.width + x) *
							   view.channels +
						   i] ==
				       under(img, i, x, y, size, eighths));
	free(view.pixels);
}

static void check_picture(const struct image *img, struct img_size size)
{
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];
		double step_x = size.width_px / p->span_x;
		double step_y = size.height_px / p->span_y;

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++) {
				double at_x = fmin((x + 0.5) * step_x,
						   size.width_px - 0.5);
				double at_y = fmin((y + 0.5) * step_y,
						   size.height_px - 0.5);

				assert(fabs(sample(p, x, y) -
					    waves(i, at_x, at_y)) < 12);
			}
	}
}

static void check(struct jpeg_spec spec, bool fractional)
{
	struct img_size size = { spec.width, spec.height };
	struct bytes jpeg = jpeg_make(&spec);
	struct heap h;

	heap_init(&h);
	for (uint32_t n = 1; n <= 8; n++) {
		struct img_size target = { (size.width_px * n + 7) / 8,
					   size.height_px * n / 8 };
		int eighths = eighths_for(size, target);
		struct image img = must_decode(jpeg, target, &h);

		check_spans(&img, size, eighths);
		if (!fractional)
			check_equal(&img, jpeg, size, eighths);
		if (eighths == 8)
			check_picture(&img, size);
		img_release(&img);
		assert(h.live_count == 0);
	}
	free(jpeg.data);
}

static void test_planes_equal_libjpeg_at_every_sampling(void)
{
	for (size_t s = 0; s < LENGTH(samplings); s++) {
		const struct sampling *f = &samplings[s];
		int blocks = f->h[0] * f->v[0] + f->h[1] * f->v[1] +
			     f->h[2] * f->v[2];

		for (size_t i = 0; i < LENGTH(sizes); i++) {
			struct jpeg_spec spec = {
				.width = sizes[i].width_px,
				.height = sizes[i].height_px,
				.h = { f->h[0], f->h[1], f->h[2] },
				.v = { f->v[0], f->v[1], f->v[2] },
				.separate_scans = true,
			};

			check(spec, f->fractional);
			spec.separate_scans = false;
			if (blocks <= 10) /* the standard's limit */
				check(spec, f->fractional);
		}
	}
}

static void test_planes_equal_libjpeg_in_every_coding(void)
{
	for (int coding = 0; coding < 16; coding++) {
		struct jpeg_spec spec = {
			.width = 83,
			.height = 61,
			.h = { 2 },
			.v = { 2 },
			.progressive = coding & 1,
			.arithmetic = coding & 2,
			.restart_interval = coding & 4 ? 3 : 0,
			.space = coding & 8 ? JCS_GRAYSCALE : JCS_YCbCr,
		};

		check(spec, false);
	}
}

static void test_grey_stays_one_plane(void)
{
	struct jpeg_spec spec = { .width = 9,
				  .height = 11,
				  .space = JCS_GRAYSCALE };
	struct bytes jpeg = jpeg_make(&spec);
	struct heap h;

	heap_init(&h);
	struct image img = must_decode(jpeg, (struct img_size){ 9, 11 }, &h);

	assert(img.plane_count == 1);
	assert(img.planes[0].width == 9 && img.planes[0].height == 11);
	img_release(&img);
	free(jpeg.data);
}

int main(void)
{
	test_planes_equal_libjpeg_at_every_sampling();
	test_planes_equal_libjpeg_in_every_coding();
	test_grey_stays_one_plane();
	return 0;
}
