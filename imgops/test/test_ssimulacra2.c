/* SPDX-License-Identifier: MIT */
/*
 * SSIMULACRA2 agrees with the authors' program (libjxl 0.11.1, AVX2) on pairs
 * of pictures, within what that program's own rounding makes uncertain.
 *
 * With a folder as argument, the pictures are written there as PPM files, so
 * that another version of that program can be asked.
 */
#include "imgops/ssimulacra2.h"

#include "imgops/image.h"
#include "imgops/test/support.h"

#include "base/test/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDES_MAX = 200 * 133, CHANNELS = 3 };

struct picture {
	uint32_t width, height;
	uint8_t samples[CHANNELS][SIDES_MAX];
};

/* Waves, an edge, and grain. */
static void draw(struct picture *p, uint32_t width, uint32_t height)
{
	uint32_t grain = 1;

	p->width = width;
	p->height = height;
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			for (uint32_t c = 0; c < CHANNELS; c++) {
				uint32_t waves =
					x * x / (20 + 8 * c) + y * (4 - c);
				uint32_t up = waves & 127;

				grain = grain * 1664525 + 1013904223;
				if ((waves & 128) != 0)
					up = 127 - up;
				if (x > width / 2 && y < height / 3)
					up = 120 - up / 2;
				p->samples[c][y * width + x] =
					(uint8_t)(40 + up + (grain >> 28));
			}
}

typedef uint8_t change_fn(const struct picture *p, uint32_t c, uint32_t x,
			  uint32_t y);

static uint8_t keep(const struct picture *p, uint32_t c, uint32_t x, uint32_t y)
{
	return p->samples[c][y * p->width + x];
}

/* Fewer levels. */
static uint8_t posterise(const struct picture *p, uint32_t c, uint32_t x,
			 uint32_t y)
{
	return keep(p, c, x, y) & 0xf0;
}

/* One column to the right. */
static uint8_t move(const struct picture *p, uint32_t c, uint32_t x, uint32_t y)
{
	return keep(p, c, x > 0 ? x - 1 : 0, y);
}

/* The mean of a sample and its neighbours along the row. */
static uint8_t smooth(const struct picture *p, uint32_t c, uint32_t x,
		      uint32_t y)
{
	uint32_t left = x > 0 ? x - 1 : 0;
	uint32_t right = x + 1 < p->width ? x + 1 : x;

	return (uint8_t)((keep(p, c, left, y) + keep(p, c, x, y) +
			  keep(p, c, right, y)) /
			 3);
}

/* Less red. */
static uint8_t tint(const struct picture *p, uint32_t c, uint32_t x, uint32_t y)
{
	return (uint8_t)(keep(p, c, x, y) * (c == 0 ? 7 : 8) / 8);
}

/* The mean of each block of 8 x 8 has much of the weight. */
static uint8_t block(const struct picture *p, uint32_t c, uint32_t x,
		     uint32_t y)
{
	return (uint8_t)((keep(p, c, x, y) * 3 + keep(p, c, x & ~7u, y & ~7u)) /
			 4);
}

static struct image rgb_of(const struct picture *p, change_fn *change,
			   struct heap *h)
{
	struct image img = { .memory = &h->memory };

	image_shape(&img, (struct img_size){ p->width, p->height }, IMG_RGB,
		    true);
	CHECK(image_alloc(&img, &h->memory));
	for (uint32_t c = 0; c < CHANNELS; c++)
		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++)
				image_row(&img, c, y)[x] = change(p, c, x, y);
	return img;
}

/* The score of the second picture if `pixels` are compared. */
static double score_of(const struct image *reference, const struct image *img,
		       uint64_t pixels, struct heap *h)
{
	struct ssimulacra2 *s = ssimulacra2_new(reference, pixels, &h->memory);
	struct ssimulacra2 *portable =
		ssimulacra2_new_portable(reference, pixels, &h->memory);
	double score;

	CHECK(s != NULL && portable != NULL);
	score = ssimulacra2_score(s, img);
	CHECK_NUMBER(ssimulacra2_score(portable, img), ==, score);
	/* Nothing is left of the first time. */
	CHECK_NUMBER(ssimulacra2_score(s, img), ==, score);
	ssimulacra2_free(s);
	ssimulacra2_free(portable);
	return score;
}

static void write_ppm(const char *dir, const char *name,
		      const struct picture *p, change_fn *change)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s-%u.ppm", dir, name, p->width);
	out = fopen(path, "wb");
	CHECK(out != NULL);
	fprintf(out, "P6\n%u %u\n255\n", p->width, p->height);
	for (uint32_t y = 0; y < p->height; y++)
		for (uint32_t x = 0; x < p->width; x++)
			for (uint32_t c = 0; c < CHANNELS; c++)
				fputc(change(p, c, x, y), out);
	CHECK_NUMBER(fclose(out), ==, 0);
}

/* Sizes of six scales, and of fewer; odd ones. */
static const struct {
	uint32_t width, height;
} sizes[] = { { 200, 133 }, { 61, 64 }, { 17, 9 } };

static const struct {
	const char *name;
	change_fn *change;
	double scores[3]; /* of the authors' program, by size */
} changes[] = {
	{ "keep", keep, { 100, 100, 100 } },
	{ "posterise", posterise, { 74.8663, 58.8128, 93.2532 } },
	{ "move", move, { 27.9446, 41.9503, 84.2446 } },
	{ "smooth", smooth, { 84.1035, 69.2203, 89.8744 } },
	{ "tint", tint, { 61.4376, 86.1091, 98.5656 } },
	{ "block", block, { 15.4213, 68.6404, 85.7443 } },
};

static void test_scores_are_the_authors(const char *dir)
{
	static struct picture p;
	struct heap h;

	heap_init(&h);
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		draw(&p, sizes[s].width, sizes[s].height);
		for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
			struct image a = rgb_of(&p, keep, &h);
			struct image b = rgb_of(&p, changes[i].change, &h);
			double error = score_of(&a, &b, UINT64_MAX, &h) -
				       changes[i].scores[s];

			img_release(&a);
			img_release(&b);
			if (dir != NULL)
				write_ppm(dir, changes[i].name, &p,
					  changes[i].change);
			else
				CHECK_NUMBER(fabs(error), <, 0.06);
		}
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/*
 * Parts that differ stay out of a sample, but not those of the whole picture.
 */
static void test_a_sample_of_rows_is_near(void)
{
	static struct picture p;
	struct heap h;

	heap_init(&h);
	draw(&p, 200, 133);
	for (size_t i = 1; i < ARRAY_SIZE(changes); i++) {
		struct image a = rgb_of(&p, keep, &h);
		struct image b = rgb_of(&p, changes[i].change, &h);
		double all = score_of(&a, &b, UINT64_MAX, &h);

		check_case("%s", changes[i].name);
		CHECK_NUMBER(fabs(score_of(&a, &b, 200 * 133 / 4, &h) - all), <,
			     4);
		/* Even one row of pixels is enough for a score. */
		CHECK(isfinite(score_of(&a, &b, 1, &h)));
		img_release(&a);
		img_release(&b);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* The same picture in grey, RGB, Y'CbCr and over white. */
static void test_spaces_of_one_picture_are_alike(void)
{
	const struct img_size size = { 96, 64 };
	struct heap h;

	heap_init(&h);

	struct image grey = image_make(size, IMG_GREY, waves, &h);
	struct image rgb = { 0 }, ycc = { 0 }, rgba = { 0 };

	image_shape(&rgb, size, IMG_RGB, true);
	image_shape(&ycc, size, IMG_YCBCR, false);
	image_shape(&rgba, size, IMG_RGBA, true);
	CHECK(image_alloc(&rgb, &h.memory) && image_alloc(&ycc, &h.memory) &&
	      image_alloc(&rgba, &h.memory));
	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++) {
			uint8_t v = image_row(&grey, 0, y)[x];

			for (uint32_t c = 0; c < CHANNELS; c++) {
				image_row(&rgb, c, y)[x] = v;
				/* As if white shone through. */
				image_row(&rgba, c, y)[x] = v / 2;
			}
			image_row(&rgba, 3, y)[x] = 255 - (v - v / 2);
			image_row(&ycc, 0, y)[x] = v;
			image_row(&ycc, 1, y / 2)[x / 2] = 128;
			image_row(&ycc, 2, y / 2)[x / 2] = 128;
		}
	CHECK_NUMBER(score_of(&grey, &rgb, UINT64_MAX, &h), ==, 100);
	CHECK_NUMBER(score_of(&grey, &ycc, UINT64_MAX, &h), ==, 100);
	CHECK_NUMBER(score_of(&ycc, &rgb, UINT64_MAX, &h), ==, 100);
	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++)
			for (uint32_t c = 0; c < CHANNELS; c++)
				image_row(&rgb, c, y)[x] =
					(uint8_t)(image_row(&rgba, c, y)[x] +
						  255 -
						  image_row(&rgba, 3, y)[x]);
	CHECK_NUMBER(score_of(&rgb, &rgba, UINT64_MAX, &h), ==, 100);
	img_release(&grey);
	img_release(&rgb);
	img_release(&ycc);
	img_release(&rgba);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_memory_is_no_score(void)
{
	static struct picture p;
	struct heap h;

	heap_init(&h);
	draw(&p, 64, 64);

	struct image a = rgb_of(&p, keep, &h);

	h.fail_at = h.alloc_count + 1;
	CHECK(ssimulacra2_new(&a, UINT64_MAX, &h.memory) == NULL);
	ssimulacra2_free(NULL);
	img_release(&a);
}

int main(int argc, char **argv)
{
	test_scores_are_the_authors(argc > 1 ? argv[1] : NULL);
	test_a_sample_of_rows_is_near();
	test_spaces_of_one_picture_are_alike();
	test_no_memory_is_no_score();
	return 0;
}
