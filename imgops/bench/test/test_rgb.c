/* SPDX-License-Identifier: MIT */
/*
 * A JPEG is read as RGB of sRGB, and scaled in the light that its numbers mean,
 * or by the numbers alone.
 */
#include "imgops/bench/rgb.h"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>

static const struct img_view whole = { .orientation = 1,
				       .width = 1,
				       .height = 1 };

/* Columns of black and white. */
static void draw_stripes(struct rgb *p, uint32_t width, uint32_t height)
{
	p->samples = calloc(width, height);
	for (uint32_t i = 0; i < width * height; i++)
		p->samples[i] = i % width % 2 == 0 ? 0 : 255;
	for (int c = 0; c < 3; c++)
		p->planes[c] = (struct img_plane){ .samples = p->samples,
						   .width = width,
						   .height = height,
						   .stride_bytes = width,
						   .span_x = width,
						   .span_y = height };
}

/* The mean of half black, half white: half the light, or half the number. */
static void test_light_is_linear_or_not(void)
{
	struct rgb p, scaled;

	draw_stripes(&p, 64, 16);
	scaled = rgb_scale(&p, &whole, 8, 8, IMG_BOX, RGB_LINEAR);
	/* 188 of 255 is half of the light. */
	CHECK_NUMBER(scaled.planes[1].samples[8 * 4 + 4], ==, 188);
	rgb_release(&scaled);
	scaled = rgb_scale(&p, &whole, 8, 8, IMG_BOX, RGB_GAMMA);
	CHECK_NUMBER(scaled.planes[1].samples[8 * 4 + 4], ==, 128);
	rgb_release(&scaled);
	rgb_release(&p);
}

static void test_colours_are_read(void)
{
	struct jpeg_spec spec = { .width = 64,
				  .height = 48,
				  .picture = waves,
				  .h = { 1, 1, 1 },
				  .v = { 1, 1, 1 } };
	struct bytes jpeg = jpeg_make(&spec);
	struct rgb p, same;

	CHECK(rgb_decode(&p, jpeg.data, jpeg.count));
	CHECK_NUMBER(p.planes[2].width, ==, 64);
	CHECK_NUMBER(p.planes[2].height, ==, 48);
	/* A picture that keeps its size is not filtered. */
	same = rgb_scale(&p, &whole, 64, 48, IMG_LANCZOS3, RGB_LINEAR);
	CHECK_NUMBER(rgb_score(&p, &same), ==, 100);
	rgb_release(&same);
	rgb_release(&p);
	free(jpeg.data);
}

int main(void)
{
	test_light_is_linear_or_not();
	test_colours_are_read();
	return 0;
}
