/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_sharpen() adds to each channel, in place, what the curve of
 * blur/rows.h makes of the difference of luma and its Gaussian blur; chroma,
 * alpha, flat pictures and fine noise stay as they are; no channel exceeds
 * alpha.  Nothing else of the picture changes, and without memory nothing does.
 */
#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <math.h>
#include <string.h>

static const double sigmas[] = { 0.3, 0.5, 1, 2, 3.3, 6, 7, 10 };

enum { SIDE_MAX = 80, REACH_SIGMAS = 7 };

static double lumas[SIDE_MAX * SIDE_MAX], columns[SIDE_MAX * SIDE_MAX];
static double wanted[SIDE_MAX * SIDE_MAX];

/* The exact Gaussian over one line, with repeated edge samples. */
static double line(const double *in, uint32_t count, uint32_t stride,
		   uint32_t place, double sigma)
{
	long reach = (long)ceil(REACH_SIGMAS * sigma), last = (long)count - 1;
	double sum = 0, total = 0;

	for (long i = -reach; i <= reach; i++) {
		double w = exp(-((double)i * (double)i) / (2 * sigma * sigma));
		long at = (long)place + i;

		at = at < 0 ? 0 : at > last ? last : at;
		sum += w * in[(uint32_t)at * stride];
		total += w;
	}
	return sum / total;
}

/* The curve that libvips has by default, with 2.55 levels for each L*. */
static double curve(double off)
{
	double past = fabs(off) - 2 * 2.55;

	if (past <= 0)
		return 0;
	return off > 0 ? fmin(3 * past, 10 * 2.55) : -fmin(3 * past, 20 * 2.55);
}

static double luma_at(const struct image *img, uint32_t x, uint32_t y)
{
	const struct img_plane *p = img->planes;

	if (img->space == IMG_GREY || img->space == IMG_YCBCR)
		return sample(&p[0], x, y);
	return 0.299 * sample(&p[0], x, y) + 0.587 * sample(&p[1], x, y) +
	       0.114 * sample(&p[2], x, y);
}

/* What is to be added to each pixel, into `wanted`. */
static void compute_wanted(const struct image *img, double sigma)
{
	uint32_t w = img->planes[0].width, h = img->planes[0].height;

	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			lumas[y * w + x] = luma_at(img, x, y);
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			columns[y * w + x] = line(lumas + x, h, w, y, sigma);
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			wanted[y * w + x] =
				curve(lumas[y * w + x] -
				      line(columns + y * w, w, 1, x, sigma));
}

static void check_channel(const struct image *got, const struct image *before,
			  uint32_t channel)
{
	const struct img_plane *p = &got->planes[channel];
	double squares = 0;

	for (uint32_t y = 0; y < p->height; y++) {
		for (uint32_t x = 0; x < p->width; x++) {
			double most = got->space == IMG_RGBA ?
					      sample(&got->planes[3], x, y) :
					      255;
			double sum = sample(&before->planes[channel], x, y) +
				     wanted[y * p->width + x];
			double off = sample(p, x, y) - fmin(fmax(sum, 0), most);

			/*
			 * Errors of the blur, up to a level, are tripled; luma
			 * of RGB is rounded, too.
			 */
			CHECK_NUMBER(fabs(off), <=, 5.5);
			squares += off * off;
		}
	}
	CHECK_NUMBER(psnr(squares, (double)p->width * p->height), >, 42);
}

/* Large steps, with noise, and colours; alpha has steps of its own. */
static double patches(uint32_t component, double x, double y)
{
	uint32_t patch = (uint32_t)x / 9 * 31 + (uint32_t)y / 7 * 17;
	uint32_t place = (uint32_t)(x * 2) * 7919 + (uint32_t)(y * 2);

	if (component == 3)
		return (uint32_t)x / 13 % 3 * 127.5;
	return scramble(patch + component) % 192 + scramble(place) % 64;
}

static struct image make(struct img_size size, enum img_space space,
			 bool full_chroma, picture_fn *picture, struct heap *h)
{
	struct image img;
	bool ok;

	image_shape(&img, size, space, full_chroma);
	ok = image_alloc(&img, &h->memory);
	CHECK(ok);
	for (uint32_t i = 0; i < img.plane_count; i++) {
		struct img_plane *p = &img.planes[i];
		double step = size.width_px / p->span_x;

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++)
				p->samples[y * p->stride_bytes + x] =
					picture_sample(picture, i, x * step,
						       y * step);
	}
	/* Colours are multiplied by alpha. */
	for (uint32_t i = 0; space == IMG_RGBA && i < 3; i++) {
		struct img_plane *p = &img.planes[i];

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++) {
				uint8_t *c =
					p->samples + y * p->stride_bytes + x;

				*c = (uint8_t)(*c *
					       sample(&img.planes[3], x, y) /
					       255);
			}
	}
	return img;
}

static bool is_same_plane(const struct img_plane *a, const struct img_plane *b)
{
	for (uint32_t y = 0; y < a->height; y++)
		if (memcmp(a->samples + y * a->stride_bytes,
			   b->samples + y * b->stride_bytes, a->width) != 0)
			return false;
	return true;
}

static void check_sharpened(struct img_size size, enum img_space space,
			    bool full_chroma, double sigma)
{
	struct heap h;

	heap_init(&h);
	struct image img = make(size, space, full_chroma, patches, &h);
	struct image before = make(size, space, full_chroma, patches, &h);
	bool is_rgb = space == IMG_RGB || space == IMG_RGBA;
	enum img_err err = img_sharpen(&img, sigma, &h.memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	check_case("%u x %u, space %u, sigma %g", size.width_px, size.height_px,
		   space, sigma);
	compute_wanted(&before, sigma);
	for (uint32_t i = 0; i < img.plane_count; i++) {
		if (i == 0 || (is_rgb && i < 3))
			check_channel(&img, &before, i);
		else
			CHECK(is_same_plane(&img.planes[i], &before.planes[i]));
	}
	img_release(&img);
	img_release(&before);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_each_space_is_sharpened_by_the_curve(void)
{
	static const enum img_space spaces[] = { IMG_GREY, IMG_YCBCR, IMG_RGB,
						 IMG_RGBA };
	static const struct img_size sizes[] = { { 80, 60 }, { 33, 79 },
						 { 5, 3 },   { 1, 40 },
						 { 40, 1 },  { 1, 1 } };

	for (size_t s = 0; s < ARRAY_SIZE(sigmas); s++)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			for (size_t k = 0; k < ARRAY_SIZE(spaces); k++) {
				check_sharpened(sizes[i], spaces[k], false,
						sigmas[s]);
				if (spaces[k] == IMG_YCBCR)
					check_sharpened(sizes[i], spaces[k],
							true, sigmas[s]);
			}
}

static double fine_noise(uint32_t component, double x, double y)
{
	uint32_t n = (uint32_t)y * 7919 + (uint32_t)x;

	return 60 + component * 50 + scramble(n) % 6;
}

static double flat(uint32_t component, double x, double y)
{
	(void)x;
	(void)y;
	return 255 - 70.0 * component;
}

static void test_flat_pictures_and_fine_noise_stay(void)
{
	picture_fn *const pictures[] = { flat, fine_noise };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sigmas); i++) {
		struct img_size size = { 71, 43 };
		enum img_space space = i % 3 == 0 ? IMG_RGB : IMG_YCBCR;
		struct image img =
			make(size, space, false, pictures[i % 2], &h);
		struct image before =
			make(size, space, false, pictures[i % 2], &h);

		CHECK_NUMBER(img_sharpen(&img, sigmas[i / 2], &h.memory), ==,
			     IMG_OK);
		CHECK(is_same(&img, &before));
		img_release(&img);
		img_release(&before);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_without_memory_nothing_changes(void)
{
	struct heap h, failing;
	enum img_err err = IMG_ERR_NO_MEMORY;
	uint32_t at = 1;

	heap_init(&h);
	struct image img =
		make((struct img_size){ 30, 20 }, IMG_RGB, true, patches, &h);
	struct image before =
		make((struct img_size){ 30, 20 }, IMG_RGB, true, patches, &h);

	for (; err == IMG_ERR_NO_MEMORY; at++) {
		CHECK(is_same(&img, &before));
		heap_init(&failing);
		failing.fail_at = at;
		err = img_sharpen(&img, 8, &failing.memory);
		CHECK_NUMBER(failing.live_count, ==, 0);
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(at, ==, 4); /* two blocks: luma, and the blur's */
	CHECK(!is_same(&img, &before));
	img_release(&img);
	img_release(&before);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	test_each_space_is_sharpened_by_the_curve();
	test_flat_pictures_and_fine_noise_stay();
	test_without_memory_nothing_changes();
	return 0;
}
