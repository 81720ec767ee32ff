/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_blur() is a Gaussian, chroma blurred by the same length as
 * luma; flat stays flat; edges are extended, also where the kernel is larger
 * than the picture; a profile stays with its picture.
 */
#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <math.h>
#include <string.h>

/* The kernel's reach and the level of the pyramid change between these. */
static const double sigmas[] = {
	0.001, 0.3, 0.5, 0.8,  1,  1.5,  2,  3.3,  5,
	6,     6.1, 10,  12.1, 25, 48.1, 50, 96.1, 100
};

static struct image must_blur(const struct image *src, double sigma,
			      struct heap *h)
{
	struct image dst = { 0 };
	enum img_err err = img_blur(&dst, src, sigma, &h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(dst.block, !=, src->block);
	return dst;
}

enum { SIDE_MAX = 200, REACH_SIGMAS = 7 };

static double values[SIDE_MAX * SIDE_MAX], columns[SIDE_MAX * SIDE_MAX];
static double weights[100 * REACH_SIGMAS + 1];

static void make_weights(double sigma)
{
	for (uint32_t i = 0; i <= REACH_SIGMAS * sigma; i++)
		weights[i] = exp(-(i / sigma) * (i / sigma) / 2);
}

/* The exact Gaussian over one line, with repeated edge samples. */
static double line(const double *in, uint32_t count, uint32_t stride,
		   uint32_t place, double sigma)
{
	long reach = (long)(REACH_SIGMAS * sigma), last = (long)count - 1;
	double sum = 0, total = 0;

	for (long i = -reach; i <= reach; i++) {
		double w = weights[i < 0 ? -i : i];
		long at = (long)place + i;

		at = at < 0 ? 0 : at > last ? last : at;
		sum += w * in[(uint32_t)at * stride];
		total += w;
	}
	return sum / total;
}

static void check_plane(const struct img_plane *dst,
			const struct img_plane *src, double sigma)
{
	uint32_t w = src->width, h = src->height;
	double squares = 0;

	CHECK_NUMBER(dst->width, ==, w);
	CHECK_NUMBER(dst->height, ==, h);
	make_weights(sigma);
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

			/* Rounding alone gives an error of half a level. */
			CHECK_NUMBER(fabs(error), <=, 1.75);
			squares += error * error;
		}
	}
	CHECK_NUMBER(psnr(squares, (double)w * h), >, 50);
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
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct image src = image_make(sizes[i], IMG_YCBCR, patches, &h);

		for (size_t s = 0; s < ARRAY_SIZE(sigmas); s++) {
			struct image dst = must_blur(&src, sigmas[s], &h);

			check_plane(&dst.planes[0], &src.planes[0], sigmas[s]);
			for (uint32_t k = 1; k < 3; k++)
				check_plane(&dst.planes[k], &src.planes[k],
					    sigmas[s] / 2);
			img_release(&dst);
		}
		img_release(&src);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static double edges(uint32_t component, double x, double y)
{
	(void)component;
	return ((uint32_t)x / 37 + (uint32_t)y / 29) % 2 * 255;
}

static double single_pixels(uint32_t component, double x, double y)
{
	(void)component;
	return (uint32_t)x % 37 == 11 && (uint32_t)y % 41 == 5 ? 255 : 0;
}

static double noise(uint32_t component, double x, double y)
{
	uint32_t n = (uint32_t)y * 7919 + (uint32_t)x + component;

	return scramble(n) % 2 * 255;
}

/*
 * Stripes as fine as the samples of a level; without a filter they would alias
 * to coarse stripes.
 */
static double stripe_px;

static double stripes(uint32_t component, double x, double y)
{
	(void)component;
	return 127.5 + 127.5 * cos(2 * M_PI * (x + y) / stripe_px);
}

static void check_grey(picture_fn *picture, double sigma)
{
	struct img_size size = { 200, 120 };
	struct heap h;

	heap_init(&h);
	struct image src = image_make(size, IMG_GREY, picture, &h);
	struct image dst = must_blur(&src, sigma, &h);

	check_plane(&dst.planes[0], &src.planes[0], sigma);
	img_release(&src);
	img_release(&dst);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_hard_pictures_are_blurred_right(void)
{
	static picture_fn *const pictures[] = { edges, single_pixels, noise };

	for (size_t s = 1; s < ARRAY_SIZE(sigmas); s++) {
		for (size_t i = 0; i < ARRAY_SIZE(pictures); i++)
			check_grey(pictures[i], sigmas[s]);
		stripe_px = 2;
		while (stripe_px * 6 < sigmas[s])
			stripe_px *= 2;
		stripe_px *= 1.05;
		check_grey(stripes, sigmas[s]);
		stripe_px *= sqrt(2);
		check_grey(stripes, sigmas[s]);
		stripe_px = sigmas[s] * 5 + 2;
		check_grey(stripes, sigmas[s]);
	}
}

static void test_full_chroma_is_blurred_as_luma(void)
{
	struct img_size size = { 31, 27 };
	struct heap h;

	heap_init(&h);
	struct image src = { 0 };

	image_shape(&src, size, IMG_YCBCR, true);
	bool ok = image_alloc(&src, &h.memory);

	CHECK(ok);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t y = 0; y < 27; y++)
			for (uint32_t x = 0; x < 31; x++)
				src.planes[i].samples
					[y * src.planes[i].stride_bytes + x] =
					picture_sample(patches, 0, x, y);
	struct image dst = must_blur(&src, 3, &h);

	check_plane(&dst.planes[0], &src.planes[0], 3);
	for (uint32_t i = 1; i < 3; i++)
		for (uint32_t y = 0; y < 27; y++)
			for (uint32_t x = 0; x < 31; x++)
				CHECK_NUMBER(sample(&dst.planes[i], x, y), ==,
					     sample(&dst.planes[0], x, y));
	img_release(&src);
	img_release(&dst);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_the_longest_pictures(void)
{
	static const struct img_size sizes[] = { { 65500, 1 }, { 1, 65500 } };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (double sigma = 1; sigma <= 100; sigma *= 10) {
			struct image src =
				image_make(sizes[i], IMG_YCBCR, waves, &h);
			struct image dst = must_blur(&src, sigma, &h);

			CHECK_NUMBER(dst.planes[0].width, ==,
				     sizes[i].width_px);
			CHECK_NUMBER(dst.planes[0].height, ==,
				     sizes[i].height_px);
			img_release(&src);
			img_release(&dst);
		}
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_flat_image_stays_flat(void)
{
	struct heap h;

	heap_init(&h);
	struct image src =
		image_make((struct img_size){ 19, 21 }, IMG_YCBCR, waves, &h);

	for (uint32_t n = 0; n < 256 * ARRAY_SIZE(sigmas); n++) {
		uint32_t value = n % 256;

		for (uint32_t i = 0; i < 3; i++)
			for (uint32_t y = 0; y < src.planes[i].height; y++)
				memset(src.planes[i].samples +
					       y * src.planes[i].stride_bytes,
				       (int)value, src.planes[i].width);
		struct image dst = must_blur(&src, sigmas[n / 256], &h);

		CHECK(is_same(&src, &dst));
		img_release(&dst);
	}
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_grey_stays_grey_and_the_source_is_untouched(void)
{
	struct img_size size = { 30, 20 };
	struct heap h;

	heap_init(&h);
	struct image src = image_make(size, IMG_GREY, patches, &h);
	struct image copy = image_make(size, IMG_GREY, patches, &h);
	struct image dst = must_blur(&src, 2, &h);

	CHECK_NUMBER(dst.plane_count, ==, 1);
	CHECK(is_same(&src, &copy));
	CHECK(!is_same(&src, &dst));
	img_release(&src);
	img_release(&copy);
	img_release(&dst);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void profile_add(struct image *img)
{
	static const char text[] = "a profile";

	img->profile = img->memory->alloc(img->memory->arg, sizeof(text));
	CHECK(img->profile != NULL);
	memcpy(img->profile, text, sizeof(text));
	img->profile_bytes = sizeof(text);
}

static void test_the_profile_stays(void)
{
	struct heap h;

	heap_init(&h);
	struct image src =
		image_make((struct img_size){ 9, 8 }, IMG_YCBCR, waves, &h);

	profile_add(&src);
	src.notes = IMG_NOTE_DAMAGED;
	struct image dst = must_blur(&src, 1, &h);

	CHECK_NUMBER(dst.notes, ==, IMG_NOTE_DAMAGED);
	CHECK_NUMBER(dst.profile, !=, src.profile);
	CHECK_NUMBER(dst.profile_bytes, ==, src.profile_bytes);
	CHECK(memcmp(dst.profile, src.profile, src.profile_bytes) == 0);
	img_release(&src);
	img_release(&dst);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_memory_is_an_error(void)
{
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct image src, dst;
	struct heap h, failing;

	heap_init(&h);
	src = image_make((struct img_size){ 20, 20 }, IMG_YCBCR, waves, &h);
	profile_add(&src);
	for (uint32_t at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		heap_init(&failing);
		failing.fail_at = at;
		dst = (struct image){ 0 };
		err = img_blur(&dst, &src, 20, &failing.memory);
		if (err == IMG_ERR_NO_MEMORY)
			CHECK(is_empty(&dst));
		img_release(&dst);
		CHECK_NUMBER(failing.live_count, ==, 0);
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(failing.alloc_count, >=, 2 + 3);
	img_release(&src);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	test_blur_is_gaussian_at_any_size_and_sigma();
	test_hard_pictures_are_blurred_right();
	test_full_chroma_is_blurred_as_luma();
	test_the_longest_pictures();
	test_flat_image_stays_flat();
	test_grey_stays_grey_and_the_source_is_untouched();
	test_the_profile_stays();
	test_no_memory_is_an_error();
	return 0;
}
