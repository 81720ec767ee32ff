/* SPDX-License-Identifier: MIT */
/*
 * Promise: RGB, CMYK and YCCK files become the Y'CbCr planes of JFIF, within
 * the loss of JPEG; what libjpeg cannot up-sample is refused.
 */
#include "imgops/test/support.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 45, HEIGHT = 37, ERROR_MAX = 3 };

struct rgb {
	double r, g, b;
};

typedef struct rgb to_rgb_fn(double a, double b, double c, double k);

static struct rgb from_rgb(double a, double b, double c, double k)
{
	(void)k;
	return (struct rgb){ a, b, c };
}

static struct rgb from_inverted(double a, double b, double c, double k)
{
	return (struct rgb){ a * k / 255, b * k / 255, c * k / 255 };
}

static struct rgb from_plain(double a, double b, double c, double k)
{
	return from_inverted(255 - a, 255 - b, 255 - c, 255 - k);
}

static double limit(double v)
{
	return fmin(255, fmax(0, v));
}

/* Adobe's YCCK: Y'CbCr of the complement of inverted CMY. */
static struct rgb from_ycck(double y, double cb, double cr, double k)
{
	double r = limit(y + 1.402 * (cr - 128));
	double g = limit(y - 0.344136 * (cb - 128) - 0.714136 * (cr - 128));
	double b = limit(y + 1.772 * (cb - 128));

	return from_inverted(255 - r, 255 - g, 255 - b, k);
}

static void check_planes(const struct image *img, to_rgb_fn *to_rgb)
{
	assert(img->plane_count == 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert(img->planes[i].width == WIDTH);
		assert(img->planes[i].height == HEIGHT);
		assert(img->planes[i].span_x == WIDTH);
		assert(img->planes[i].span_y == HEIGHT);
	}
	for (uint32_t y = 0; y < HEIGHT; y++) {
		for (uint32_t x = 0; x < WIDTH; x++) {
			double in[4];

			for (uint32_t i = 0; i < 4; i++)
				in[i] = waves(i, x + 0.5, y + 0.5);
			struct rgb p = to_rgb(in[0], in[1], in[2], in[3]);
			double luma = 0.299 * p.r + 0.587 * p.g + 0.114 * p.b;
			double out[3] = { luma, 128 + (p.b - luma) / 1.772,
					  128 + (p.r - luma) / 1.402 };

			for (uint32_t i = 0; i < 3; i++)
				assert(fabs(sample(&img->planes[i], x, y) -
					    out[i]) <= ERROR_MAX);
		}
	}
}

static void check(struct jpeg_spec spec, to_rgb_fn *to_rgb)
{
	struct img_size full = { WIDTH, HEIGHT };
	struct heap h;

	heap_init(&h);
	spec.width = WIDTH;
	spec.height = HEIGHT;
	spec.quality = 100;
	struct bytes jpeg = jpeg_make(&spec);
	struct image img = must_decode(jpeg, full, &h);

	check_planes(&img, to_rgb);
	img_release(&img);
	assert(h.live_count == 0);
	free(jpeg.data);
}

static void test_rgb_is_converted(void)
{
	check((struct jpeg_spec){ .space = JCS_RGB }, from_rgb);
	check((struct jpeg_spec){ .space = JCS_RGB, .progressive = true },
	      from_rgb);
}

static void test_adobe_cmyk_is_read_inverted(void)
{
	check((struct jpeg_spec){ .space = JCS_CMYK }, from_inverted);
}

static void test_cmyk_without_adobe_is_read_plain(void)
{
	check((struct jpeg_spec){ .space = JCS_CMYK, .no_adobe = true },
	      from_plain);
}

static void test_ycck_is_converted(void)
{
	check((struct jpeg_spec){ .space = JCS_YCCK }, from_ycck);
	check((struct jpeg_spec){ .space = JCS_YCCK, .separate_scans = true },
	      from_ycck);
}

static double corner(uint32_t component, double x, double y)
{
	(void)x;
	(void)y;
	/* Pure blue, then pure yellow: the ends of Cb. */
	return component == 2 ? 255 : 0;
}

static double other_corner(uint32_t component, double x, double y)
{
	return 255 - corner(component, x, y);
}

static void test_the_purest_colours_do_not_wrap(void)
{
	static const struct {
		picture_fn *picture;
		int y, cb, cr;
	} cases[] = { { corner, 29, 255, 107 }, { other_corner, 226, 0, 149 } };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct jpeg_spec spec = { .width = 8,
					  .height = 8,
					  .quality = 100,
					  .space = JCS_RGB,
					  .picture = cases[i].picture };
		struct bytes jpeg = jpeg_make(&spec);
		struct heap h;

		heap_init(&h);
		struct image img =
			must_decode(jpeg, (struct img_size){ 8, 8 }, &h);

		assert(abs(sample(&img.planes[0], 3, 3) - cases[i].y) <= 1);
		assert(abs(sample(&img.planes[1], 3, 3) - cases[i].cb) <= 1);
		assert(abs(sample(&img.planes[2], 3, 3) - cases[i].cr) <= 1);
		img_release(&img);
		free(jpeg.data);
	}
}

static void test_a_reduced_picture_has_reduced_spans(void)
{
	struct jpeg_spec spec = { .width = 45, .height = 37, .space = JCS_RGB };
	struct bytes jpeg = jpeg_make(&spec);
	struct heap h;

	heap_init(&h);
	struct image img = must_decode(jpeg, (struct img_size){ 10, 9 }, &h);

	assert(img.planes[0].width == 12 && img.planes[0].height == 10);
	assert(img.planes[2].span_x == 45 / 4.0);
	assert(img.planes[2].span_y == 37 / 4.0);
	img_release(&img);
	free(jpeg.data);
}

static void test_fractional_rgb_sampling_is_refused(void)
{
	struct jpeg_spec spec = {
		.width = 40, .height = 40, .space = JCS_RGB, .h = { 3, 2, 2 }
	};
	struct bytes jpeg = jpeg_make(&spec);
	struct img_header header;
	struct image img = { 0 };
	struct heap h;
	enum img_err err;

	heap_init(&h);
	err = img_probe(&header, jpeg.data, jpeg.count, &no_limits);
	assert(err == IMG_OK);
	struct img_view view = whole_view(header.upright);

	err = img_decode(&img, jpeg.data, jpeg.count, &header, &view,
			 &(struct img_recipe){ 0 }, &no_limits, &h.memory);
	assert(err == IMG_ERR_UNSUPPORTED);
	assert(is_empty(&img) && h.live_count == 0);
	free(jpeg.data);
}

int main(void)
{
	test_rgb_is_converted();
	test_adobe_cmyk_is_read_inverted();
	test_cmyk_without_adobe_is_read_plain();
	test_ycck_is_converted();
	test_the_purest_colours_do_not_wrap();
	test_a_reduced_picture_has_reduced_spans();
	test_fractional_rgb_sampling_is_refused();
	return 0;
}
