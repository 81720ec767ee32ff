/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_blur() is a Gaussian, chroma blurred by the same length as
 * luma; flat stays flat; edges are extended, also where the kernel is larger
 * than the picture.
 */
#include "imgops/test/support.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double sigmas[] = { 0.001, 0.3, 0.5, 0.8, 1,  1.5, 2,
				 3.3,   5,   10,  25,  50, 100 };

static struct image must_blur(const struct image *src, double sigma,
			      struct heap *h)
{
	struct image dst = { 0 };
	enum img_err err = img_blur(&dst, src, sigma, &h->memory);

	assert(err == IMG_OK);
	assert(dst.block != src->block);
	return dst;
}

/* The true Gaussian over one line, edges extended, tails to 7 sigma. */
static double line(const double *in, uint32_t count, uint32_t stride,
		   uint32_t place, double sigma)
{
	long reach = (long)ceil(7 * sigma), last = (long)count - 1;
	double sum = 0, total = 0;

	for (long i = -reach; i <= reach; i++) {
		double x = (double)i / sigma, w = exp(-x * x / 2);
		long at = (long)place + i;

		at = at < 0 ? 0 : at > last ? last : at;
		sum += w * in[(uint32_t)at * stride];
		total += w;
	}
	return sum / total;
}

enum { SIDE_MAX = 80 };

static double values[SIDE_MAX * SIDE_MAX], columns[SIDE_MAX * SIDE_MAX];

static void check_plane(const struct img_plane *dst,
			const struct img_plane *src, double sigma)
{
	uint32_t w = src->width, h = src->height;
	double squares = 0;

	assert(dst->width == w && dst->height == h);
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			values[y * w + x] = sample(src, x, y);
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			columns[y * w + x] = line(values + x, h, w, y, sigma);
	for (uint32_t y = 0; y < h; y++) {
		for (uint32_t x = 0; x < w; x++) {
			double error = sample(dst, x, y) -
				       line(columns + y * w, w, 1, x, sigma);

			/* The kernel ends at 3 sigma: 0.27 % lie outside. */
			assert(fabs(error) <= 1.5);
			squares += error * error;
		}
	}
	assert(psnr(squares, (double)w * h) > 50);
}

/* Large steps, and noise on them so that no two rows are alike. */
static double patches(uint32_t component, double x, double y)
{
	uint32_t patch = (uint32_t)x / 9 * 31 + (uint32_t)y / 7 * 17;
	uint32_t place = (uint32_t)(x * 2) * 7919 + (uint32_t)(y * 2);

	return scramble(patch + component) % 192 + scramble(place) % 64;
}

static void test_blur_is_gaussian_at_any_size_and_sigma(void)
{
	static const struct img_size sizes[] = { { 80, 60 }, { 33, 79 },
						 { 5, 3 },   { 1, 40 },
						 { 40, 1 },  { 1, 1 } };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		struct image src = image_make(sizes[i], IMG_YCBCR, patches, &h);

		for (size_t s = 0; s < LENGTH(sigmas); s++) {
			struct image dst = must_blur(&src, sigmas[s], &h);

			check_plane(&dst.planes[0], &src.planes[0], sigmas[s]);
			for (uint32_t k = 1; k < 3; k++)
				check_plane(&dst.planes[k], &src.planes[k],
					    sigmas[s] / 2);
			img_release(&dst);
		}
		img_release(&src);
	}
	assert(h.live_count == 0);
}

static void test_flat_image_stays_flat(void)
{
	struct heap h;

	heap_init(&h);
	struct image src =
		image_make((struct img_size){ 19, 21 }, IMG_YCBCR, waves, &h);

	for (uint32_t value = 0; value < 256; value++) {
		for (uint32_t i = 0; i < 3; i++)
			for (uint32_t y = 0; y < src.planes[i].height; y++)
				memset(src.planes[i].samples +
					       y * src.planes[i].stride_bytes,
				       (int)value, src.planes[i].width);
		struct image dst =
			must_blur(&src, sigmas[value % LENGTH(sigmas)], &h);

		assert(is_same(&src, &dst));
		img_release(&dst);
	}
	img_release(&src);
	assert(h.live_count == 0);
}

static void test_grey_stays_grey_and_the_source_is_untouched(void)
{
	struct img_size size = { 30, 20 };
	struct heap h;

	heap_init(&h);
	struct image src = image_make(size, IMG_GREY, patches, &h);
	struct image copy = image_make(size, IMG_GREY, patches, &h);
	struct image dst = must_blur(&src, 2, &h);

	assert(dst.plane_count == 1);
	assert(is_same(&src, &copy));
	assert(!is_same(&src, &dst));
	img_release(&src);
	img_release(&copy);
	img_release(&dst);
	assert(h.live_count == 0);
}

static void test_no_memory_is_an_error(void)
{
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct image src, dst;
	struct heap h, failing;

	heap_init(&h);
	src = image_make((struct img_size){ 20, 20 }, IMG_YCBCR, waves, &h);
	for (uint32_t at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		heap_init(&failing);
		failing.fail_at = at;
		dst = (struct image){ 0 };
		err = img_blur(&dst, &src, 2, &failing.memory);
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
	test_blur_is_gaussian_at_any_size_and_sigma();
	test_flat_image_stays_flat();
	test_grey_stays_grey_and_the_source_is_untouched();
	test_no_memory_is_an_error();
	return 0;
}
