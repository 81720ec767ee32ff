/* SPDX-License-Identifier: MIT */
/*
 * Scaling keeps means and gives the wanted sizes; a viewer undoes
 * picture_turn().
 */
#include "base/test/check.h"
#include "datasets/picture.h"
#include "datasets/test/support.h"

#include <string.h>

static void scale(struct picture *out, const struct picture *in, uint32_t width,
		  uint32_t height)
{
	picture_scale(out, in, (struct box){ 0, 0, in->width, in->height },
		      width, height);
}

static void test_same_size_is_the_same(void)
{
	struct picture in, out;

	draw(&in, 37, 23);
	scale(&out, &in, 37, 23);
	CHECK_NUMBER(mean_difference(&in, &out), ==, 0);
	picture_release(&in);
	picture_release(&out);
}

static void test_flat_stays_flat(void)
{
	static const uint32_t sides[] = { 1, 2, 7, 40, 41, 97, 200 };
	struct picture in, out;

	picture_init(&in, 41, 41);
	memset(in.rgb, 77, 41 * 41 * 3);
	for (int i = 0; i < 7; i++)
		for (int k = 0; k < 7; k++) {
			scale(&out, &in, sides[i], sides[k]);
			for (uint32_t b = 0; b < sides[i] * sides[k] * 3; b++)
				CHECK_NUMBER(out.rgb[b], ==, 77);
			picture_release(&out);
		}
	picture_release(&in);
}

static void test_one_pixel_is_the_mean_of_its_area(void)
{
	struct picture in, out;

	picture_init(&in, 4, 1);
	for (int x = 0; x < 4; x++)
		memset(in.rgb + x * 3, x * 40, 3);
	/* From the middle of pixel 0 to the middle of pixel 3. */
	picture_scale(&out, &in, (struct box){ 0.5, 0, 3, 1 }, 1, 1);
	CHECK_NUMBER(out.rgb[0], ==, 60);
	picture_release(&out);
	picture_scale(&out, &in, (struct box){ 2, 0, 2, 1 }, 1, 1);
	CHECK_NUMBER(out.rgb[0], ==, 100);
	picture_release(&out);
	picture_release(&in);
}

static void test_half_is_the_mean_of_four(void)
{
	struct picture in, half, scaled;

	draw(&in, 65, 33);
	picture_halve(&half, &in);
	CHECK_NUMBER(half.width, ==, 32);
	CHECK_NUMBER(half.height, ==, 16);
	picture_scale(&scaled, &in, (struct box){ 0, 0, 64, 32 }, 32, 16);
	CHECK_NUMBER(mean_difference(&half, &scaled), <, 0.6); /* rounding */
	picture_release(&in);
	picture_release(&half);
	picture_release(&scaled);
}

static void test_viewers_undo_turning(void)
{
	static const int orientations[] = { 1, 3, 6, 8 };

	for (int i = 0; i < 4; i++) {
		struct picture in, stored, seen;

		draw(&in, 31, 17);
		picture_turn(&stored, &in, orientations[i]);
		view(&seen, &stored, orientations[i]);
		CHECK_NUMBER(mean_difference(&in, &seen), ==, 0);
		picture_release(&in);
		picture_release(&stored);
		picture_release(&seen);
	}
}

static void test_noise_grows_with_its_amplitude(void)
{
	struct picture plain, little, much;

	draw(&plain, 200, 200);
	draw(&little, 200, 200);
	draw(&much, 200, 200);
	picture_add_noise(&little, 16, 1);
	picture_add_noise(&much, 64, 1);
	/* The mean distance of a normal deviate is 0.8 of its deviation. */
	CHECK_NUMBER(mean_difference(&plain, &little), >, 0.4);
	CHECK_NUMBER(mean_difference(&plain, &little), <, 1.0);
	CHECK_NUMBER(mean_difference(&plain, &much), >, 2.5);
	CHECK_NUMBER(mean_difference(&plain, &much), <, 3.5);
	picture_release(&plain);
	picture_release(&little);
	picture_release(&much);
}

int main(void)
{
	test_same_size_is_the_same();
	test_flat_stays_flat();
	test_one_pixel_is_the_mean_of_its_area();
	test_half_is_the_mean_of_four();
	test_viewers_undo_turning();
	test_noise_grows_with_its_amplitude();
	return 0;
}
