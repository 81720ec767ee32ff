/* SPDX-License-Identifier: MIT */
/*
 * Promises: the hash equals that of the npm package `blurhash` 2.0.5 for the
 * same 32 x 32 cells, at any size of the picture; decoded, it looks like the
 * picture at any size and aspect; the dominant colour is that of the largest
 * part, not the mean of all.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "imgops/imgops.h"
#include "imgops/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Y', Cb or Cr at (x, y), each in [0, 1). */
typedef double ycc_fn(uint32_t component, double x, double y);

static struct image picture_make(struct img_size size, enum img_space space,
				 bool full_chroma, ycc_fn *ycc, struct heap *h)
{
	struct image img;
	bool ok;

	image_shape(&img, size, space, full_chroma);
	ok = image_alloc(&img, &h->memory);
	CHECK(ok);
	for (uint32_t i = 0; i < img.plane_count; i++) {
		const struct img_plane *p = &img.planes[i];

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++)
				p->samples[y * p->stride_bytes + x] =
					(uint8_t)ycc(i, (x + 0.5) / p->width,
						     (y + 0.5) / p->height);
	}
	return img;
}

static struct img_placeholder placeholder_of(struct img_size size,
					     enum img_space space,
					     bool full_chroma, ycc_fn *ycc)
{
	struct img_placeholder placeholder;
	struct heap h;

	heap_init(&h);
	struct image img = picture_make(size, space, full_chroma, ycc, &h);

	img_placeholder(&placeholder, &img);
	CHECK_NUMBER(h.alloc_count, ==, 1);
	img_release(&img);
	return placeholder;
}

/* A picture with one colour in each of 32 x 32 cells. */
static double cells_of_colour(uint32_t component, double x, double y)
{
	double column = floor(x * 32), row = floor(y * 32);

	switch (component) {
	case 0:
		return 40 + 3 * column + row;
	case 1:
		return 190 - 4 * row;
	default:
		return 150 - 2 * column;
	}
}

static double cells_of_grey(uint32_t component, double x, double y)
{
	double column = floor(x * 32), row = floor(y * 32);

	return component == 0 ? 255 - 7 * column - floor(row * row / 64) : 128;
}

static double grey_128(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 128;
}

static double white(uint32_t component, double x, double y)
{
	(void)x;
	(void)y;
	return component == 0 ? 255 : 128;
}

static double black(uint32_t component, double x, double y)
{
	(void)x;
	(void)y;
	return component == 0 ? 0 : 128;
}

static const struct {
	struct img_size size;
	enum img_space space;
	bool full_chroma;
	ycc_fn *ycc;
	const char *blurhash;
} hashes[] = {
#define WIDE "LdAUszdrg1jaRJf{fifRfofifPfR"
#define HIGH "TdAUszdrg1RJf{fifofifPj_f5fQ"
#define GREY "L+IOhG~q%Mxut7ofj[j[ayayfQfQ"
	{ { 32, 32 }, IMG_YCBCR, true, cells_of_colour, WIDE },
	{ { 64, 64 }, IMG_YCBCR, false, cells_of_colour, WIDE },
	{ { 640, 448 }, IMG_YCBCR, false, cells_of_colour, WIDE },
	{ { 640, 448 }, IMG_YCBCR, true, cells_of_colour, WIDE },
	{ { 6400, 64 }, IMG_YCBCR, false, cells_of_colour, WIDE },
	{ { 448, 640 }, IMG_YCBCR, false, cells_of_colour, HIGH },
	{ { 32, 33 }, IMG_GREY, false, white, "T9TSUA~qfQ~qoffQfQfQfQ~qoffQ" },
	{ { 1, 1 }, IMG_GREY, false, white, "L9TSUA~qfQ~q~qoffQoffQfQfQfQ" },
	{ { 1, 1 }, IMG_YCBCR, false, white, "L9TSUA~qfQ~q~qoffQoffQfQfQfQ" },
	{ { 65500, 1 },
	  IMG_YCBCR,
	  false,
	  grey_128,
	  "L1Eyb[~qfQ~q~qoffQoffQfQfQfQ" },
	{ { 1, 65500 },
	  IMG_YCBCR,
	  false,
	  grey_128,
	  "T1Eyb[~qfQ~qoffQfQfQfQ~qoffQ" },
	{ { 31, 7 }, IMG_YCBCR, false, black, "L00000fQfQfQfQfQfQfQfQfQfQfQ" },
	{ { 32, 32 }, IMG_GREY, false, cells_of_grey, GREY },
	{ { 3200, 320 }, IMG_YCBCR, false, cells_of_grey, GREY },
};

static void test_the_hash_is_that_of_others(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(hashes); i++) {
		struct img_placeholder p =
			placeholder_of(hashes[i].size, hashes[i].space,
				       hashes[i].full_chroma, hashes[i].ycc);

		check_case("hashes[%zu]", i);
		CHECK_TEXT(p.blurhash, hashes[i].blurhash);
	}
}

static uint32_t base83(const char *digits, uint32_t count)
{
	static const char alphabet[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";
	uint32_t value = 0;

	while (count-- > 0)
		value = value * 83 +
			(uint32_t)(strchr(alphabet, *digits++) - alphabet);
	return value;
}

/* What a page would show at (x, y): light, 0..1. */
static double decoded_light(const char *hash, uint32_t colour, double x,
			    double y)
{
	uint32_t across = base83(hash, 1) % 9 + 1;
	uint32_t down = base83(hash, 1) / 9 + 1;
	double most = (base83(hash + 1, 1) + 1) / 166.0;
	uint32_t mean = base83(hash + 2, 4) >> (16 - 8 * colour) & 255;
	double light = pow((mean / 255.0 + 0.055) / 1.055, 2.4);
	static const uint32_t units[] = { 19 * 19, 19, 1 };

	for (uint32_t n = 1; n < across * down; n++) {
		uint32_t code = base83(hash + 4 + 2 * n, 2);
		double root = ((double)(code / units[colour] % 19) - 9) / 9;

		light += copysign(root * root, root) * most *
			 cos(M_PI * (n % across) * x) *
			 cos(M_PI * (n / across) * y);
	}
	return fmin(fmax(light, 0), 1);
}

/* Orange at the left above, blue at the right below. */
static double sunset(uint32_t component, double x, double y)
{
	double share = (cos(M_PI * x) + cos(M_PI * y)) / 4 + 0.5;
	static const double blue[] = { 70, 170, 100 },
			    orange[] = { 150, 80, 180 };

	return blue[component] * (1 - share) + orange[component] * share;
}

static double srgb_light(double value)
{
	return pow((fmin(fmax(value, 0), 255) / 255 + 0.055) / 1.055, 2.4);
}

static void test_the_hash_looks_like_the_picture(void)
{
	static const struct img_size sizes[] = {
		{ 640, 480 },  { 480, 640 }, { 97, 55 }, { 33, 31 },
		{ 4000, 100 }, { 31, 3000 }, { 20, 20 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct img_placeholder p =
			placeholder_of(sizes[i], IMG_YCBCR, false, sunset);

		for (uint32_t n = 0; n < 100; n++) {
			double x = n % 10 / 10.0 + 0.05,
			       y = n / 10 / 10.0 + 0.05;
			double luma = sunset(0, x, y);
			double r = luma + 1.402 * (sunset(2, x, y) - 128);
			double b = luma + 1.772 * (sunset(1, x, y) - 128);

			CHECK_NUMBER(fabs(decoded_light(p.blurhash, 0, x, y) -
					  srgb_light(r)),
				     <, 0.12);
			CHECK_NUMBER(fabs(decoded_light(p.blurhash, 2, x, y) -
					  srgb_light(b)),
				     <, 0.12);
		}
	}
}

/* A picture whose largest factor, of the first wave along x, is negative. */
static double left_dark(uint32_t component, double x, double y)
{
	(void)y;
	return component != 0 ? 128 : x < 0.5 ? 0 : 255;
}

static void test_the_largest_factor_may_be_negative(void)
{
	struct img_placeholder p = placeholder_of((struct img_size){ 64, 64 },
						  IMG_GREY, false, left_dark);

	for (uint32_t colour = 0; colour < 3; colour++) {
		CHECK_NUMBER(decoded_light(p.blurhash, colour, 0.1, 0.5), <,
			     0.25);
		CHECK_NUMBER(decoded_light(p.blurhash, colour, 0.9, 0.5), >,
			     0.75);
	}
}

/* 45 % one orange, the rest two blues and a green. */
static double fruit(uint32_t component, double x, double y)
{
	static const double colours[4][3] = {
		{ 150, 70, 190 },
		{ 60, 190, 90 },
		{ 110, 170, 100 },
		{ 140, 80, 80 },
	};
	uint32_t colour = x < 0.45 ? 0 : y < 0.3 ? 1 : y < 0.6 ? 2 : 3;

	return colours[colour][component];
}

static bool is_near(int a, int b, int tolerance)
{
	return abs(a - b) <= tolerance;
}

static void test_the_dominant_colour_is_not_a_mean(void)
{
	static const struct img_size sizes[] = {
		{ 640, 480 }, { 100, 901 }, { 32, 32 }, { 2000, 20 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct img_placeholder p =
			placeholder_of(sizes[i], IMG_YCBCR, false, fruit);

		/* ITU-R BT.601: 150 + 1.402 * 62 and so on. */
		CHECK(is_near(p.dominant[0], 237, 2));
		CHECK(is_near(p.dominant[1], 126, 2));
		CHECK(is_near(p.dominant[2], 47, 2));
	}
}

static void test_a_flat_picture_is_its_own_dominant_colour(void)
{
	static ycc_fn *const pictures[] = { grey_128, white, black };
	static const uint8_t values[] = { 128, 255, 0 };

	for (uint32_t n = 0; n < 12; n++) {
		struct img_placeholder p = placeholder_of(
			(struct img_size){ 1 + n * 40, 1 + n % 3 * 50 },
			n % 2 ? IMG_GREY : IMG_YCBCR, n % 4 == 0,
			pictures[n % 3]);

		for (uint32_t colour = 0; colour < 3; colour++)
			CHECK_NUMBER(p.dominant[colour], ==, values[n % 3]);
	}
}

int main(void)
{
	test_the_hash_is_that_of_others();
	test_the_hash_looks_like_the_picture();
	test_the_largest_factor_may_be_negative();
	test_the_dominant_colour_is_not_a_mean();
	test_a_flat_picture_is_its_own_dominant_colour();
	return 0;
}
