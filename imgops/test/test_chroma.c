/* SPDX-License-Identifier: MIT */
/*
 * Promises: with IMG_CHROMA_AUTO, coloured text gets the result of 4:4:4 and a
 * photo that of 4:2:0, sample by sample, whatever the colour space of the file,
 * its orientation, its alpha and the size of the result.  A file that has no
 * more colours than 4:2:0 keeps stays so.  The estimate has memory for both.
 */
#include "imgops/chroma.h"

#include "base/test/check.h"
#include "imgops/formats/format.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Strokes of one to three pixels. */
static bool is_ink(double x, double y)
{
	uint32_t column = (uint32_t)x / 2, line = (uint32_t)y / 3;

	return scramble(column + line * 1000) % 3 == 0;
}

/* Red on blue. */
static double text(uint32_t component, double x, double y)
{
	static const double red[] = { 76, 85, 255 }, blue[] = { 29, 255, 107 };

	return is_ink(x, y) ? red[component] : blue[component];
}

static double text_rgb(uint32_t component, double x, double y)
{
	return component == (is_ink(x, y) ? 0u : 2u) ? 255 : 0;
}

/* As stored, inverted: no ink is 255. */
static double text_cmyk(uint32_t component, double x, double y)
{
	return component == 3 ? 255 : text_rgb(component, x, y);
}

/* Black on white has steps, but none of colours. */
static double black_text(uint32_t component, double x, double y)
{
	return component > 0 ? 128 : is_ink(x, y) ? 0 : 255;
}

/* Soft colours with much detail of light, and a little noise of colours. */
static double photo(uint32_t component, double x, double y)
{
	uint32_t noise = scramble((uint32_t)x + (uint32_t)y * 1000);

	return waves(component, x, y) * 0.8 + 10 +
	       (component > 0 ? noise % 5 : noise % 40);
}

static double photo_rgb(uint32_t component, double x, double y)
{
	return waves(0, x, y) * 0.5 + waves(component, x, y) * 0.3 + 10 +
	       scramble((uint32_t)x + (uint32_t)y * 1000) % 20;
}

static double photo_cmyk(uint32_t component, double x, double y)
{
	return component == 3 ? 255 : photo_rgb(component, x, y);
}

static struct image scaled(struct bytes jpeg, enum img_chroma chroma,
			   const struct img_transform *asked, struct heap *h)
{
	struct img_transform t = *asked;
	struct image decoded = { 0 }, out = { 0 };
	struct img_header header;
	struct img_view view;

	t.chroma = chroma;
	CHECK_NUMBER(probe_bytes(&header, jpeg), ==, IMG_OK);
	view = img_fit(&header, &t);
	CHECK_NUMBER(decode_any_here(&decoded, jpeg.data, jpeg.count, &header,
				     &view, &t, &no_limits, &h->memory),
		     ==, IMG_OK);
	CHECK_NUMBER(img_scale_last(&out, &decoded, &view, &t, &h->memory), ==,
		     IMG_OK);
	img_release(&decoded);
	return out;
}

/* AUTO gives the same as `wanted`. */
static void check(const struct jpeg_spec *spec, const struct img_transform *t,
		  enum img_chroma wanted)
{
	struct bytes jpeg = jpeg_make(spec);
	struct image found, same;
	struct heap h;

	heap_init(&h);
	found = scaled(jpeg, IMG_CHROMA_AUTO, t, &h);
	same = scaled(jpeg, wanted, t, &h);
	CHECK_NUMBER(image_has_full_chroma(&found), ==,
		     wanted == IMG_CHROMA_444);
	CHECK(is_same(&found, &same));
	img_release(&found);
	img_release(&same);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

static const struct {
	J_COLOR_SPACE space;
	picture_fn *text, *photo;
} kinds[] = {
	{ JCS_YCbCr, text, photo },
	{ JCS_RGB, text_rgb, photo_rgb },
	{ JCS_CMYK, text_cmyk, photo_cmyk },
};

static void test_text_keeps_its_colours_and_photos_do_not(void)
{
	static const struct img_size sizes[] = {
		{ 200, 150 }, { 37, 61 }, { 2, 2 }, { 900, 20 }
	};
	static const struct img_transform transforms[] = {
		{ .quality = 80 },
		{ .quality = 80, .rotation = IMG_ROTATE_90 },
		{ .quality = 80, .flip = IMG_FLIP_H },
		{ .quality = 80, .filter = IMG_MITCHELL },
	};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
			for (size_t i = 0; i < ARRAY_SIZE(transforms); i++) {
				struct jpeg_spec spec = {
					.width = sizes[s].width_px,
					.height = sizes[s].height_px,
					.space = kinds[k].space,
					.picture = kinds[k].photo,
					.h = { 1 },
					.v = { 1 },
					.orientation = i == 3 ? 6 : 1,
				};

				check_case("kind %zu, size %zu, transform %zu",
					   k, s, i);
				check(&spec, &transforms[i], IMG_CHROMA_420);
				if (s == 2)
					continue;
				spec.picture = kinds[k].text;
				check(&spec, &transforms[i], IMG_CHROMA_444);
			}
}

static void test_smaller_results(void)
{
	static const uint32_t boxes[] = { 250, 225, 150, 125 };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < ARRAY_SIZE(boxes); i++) {
			struct jpeg_spec spec = { .width = 320,
						  .height = 240,
						  .space = kinds[k].space,
						  .h = { 1 },
						  .v = { 1 },
						  .picture = kinds[k].text };
			struct img_transform t = { .box = { boxes[i], 0 } };

			check_case("kind %zu, width %u", k, boxes[i]);
			check(&spec, &t, IMG_CHROMA_444);
			spec.picture = kinds[k].photo;
			check(&spec, &t, IMG_CHROMA_420);
		}
}

/* A part of a picture is judged alone. */
static void test_only_what_is_shown_counts(void)
{
	struct jpeg_spec spec = {
		.width = 640, .height = 480, .h = { 1 }, .v = { 1 }
	};
	struct img_transform t = { .crop = { 320, 0, 320, 480 } };

	spec.picture = text;
	check(&spec, &t, IMG_CHROMA_444);
	spec.picture = black_text;
	check(&spec, &t, IMG_CHROMA_420);
}

static double half_text(uint32_t component, double x, double y)
{
	return x < 320 ? text(component, x, y) : photo(component, x, y);
}

static void test_text_that_is_cut_off_does_not_count(void)
{
	struct jpeg_spec spec = { .width = 640,
				  .height = 480,
				  .h = { 1 },
				  .v = { 1 },
				  .picture = half_text };
	struct img_transform left = { .crop = { 0, 0, 300, 480 } };
	struct img_transform right = { .crop = { 336, 0, 300, 480 } };

	check(&spec, &left, IMG_CHROMA_444);
	check(&spec, &right, IMG_CHROMA_420);
	left.flip = right.flip = IMG_FLIP_H;
	left.crop.left_px = 340;
	right.crop.left_px = 0;
	check(&spec, &left, IMG_CHROMA_444);
	check(&spec, &right, IMG_CHROMA_420);
}

/* At half its size, a file in 4:2:0 has colours for every pixel. */
static void test_a_file_with_few_colours_gains_nothing(void)
{
	struct jpeg_spec spec = { .width = 640,
				  .height = 480,
				  .picture = text,
				  .h = { 2 },
				  .v = { 2 } };
	struct img_transform t = { .quality = 80 };

	check(&spec, &t, IMG_CHROMA_420);
	t.box.width_px = 600;
	check(&spec, &t, IMG_CHROMA_420);
	t.box.width_px = 900;
	t.enlarge = true;
	check(&spec, &t, IMG_CHROMA_420);
	t.box.width_px = 320;
	check(&spec, &t, IMG_CHROMA_444);
}

static void test_formats_and_blur(void)
{
	struct jpeg_spec spec = { .width = 200,
				  .height = 200,
				  .h = { 1 },
				  .v = { 1 },
				  .picture = text };
	struct img_transform t = { .blur_sigma_px = 1 };

	check(&spec, &t, IMG_CHROMA_420);
	t.blur_sigma_px = 0.9;
	check(&spec, &t, IMG_CHROMA_444);
	t.blur_sigma_px = 0;
	t.format = IMG_FORMAT_PPM;
	check(&spec, &t, IMG_CHROMA_444);
#ifdef IMG_WEBP
	t.format = IMG_FORMAT_WEBP;
	check(&spec, &t, IMG_CHROMA_420);
#endif
#ifdef IMG_AVIF
	t.format = IMG_FORMAT_AVIF;
	check(&spec, &t, IMG_CHROMA_444);
	spec.picture = photo;
	check(&spec, &t, IMG_CHROMA_420);
#endif
}

static void test_a_pad_keeps_what_was_chosen(void)
{
	static picture_fn *const pictures[] = { photo, text };

	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++) {
		struct jpeg_spec spec = { .width = 64,
					  .height = 48,
					  .h = { 1 },
					  .v = { 1 },
					  .picture = pictures[i] };
		struct bytes jpeg = jpeg_make(&spec);
		struct img_transform t = { .chroma = IMG_CHROMA_AUTO,
					   .background = 0xff0000,
					   .pad = { 3, 5, 7, 9 } };
		struct img_view view = { .size = { 64, 48 }, .pad = t.pad };
		struct image img;
		struct heap h;

		heap_init(&h);
		img = scaled(jpeg, IMG_CHROMA_AUTO, &t, &h);
		CHECK_NUMBER(img_retouch(&img, &view, &t, NULL, &h.memory), ==,
			     IMG_OK);
		CHECK_NUMBER(img.planes[0].width, ==, 64 + 5 + 9);
		CHECK_NUMBER(image_has_full_chroma(&img), ==, i == 1);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
		free(jpeg.data);
	}
}

enum { BLOCKS = 1000 };

/* The samples of some blocks are `step` levels above and below the mean. */
static void set_blocks(uint8_t *upper, uint8_t *lower, uint32_t count, int step)
{
	memset(upper, 100 + step, 2 * count);
	memset(lower, 100 - step, 2 * count);
}

/*
 * Of 1000 blocks, `sharp` have such steps in Cr, and `soft` others steps of 8
 * levels.
 */
static bool is_sharp(uint32_t sharp, int step, uint32_t soft)
{
	uint8_t rows[2][2][2 * BLOCKS];
	const uint8_t *const upper[] = { rows[0][0], rows[0][1] };
	const uint8_t *const lower[] = { rows[1][0], rows[1][1] };
	struct chroma_count count = { 0 };

	memset(rows, 100, sizeof(rows));
	set_blocks(rows[0][1], rows[1][1], sharp, step);
	set_blocks(rows[0][1] + 2 * sharp, rows[1][1] + 2 * sharp, soft, 8);
	chroma_add(&count, upper, lower, 2 * BLOCKS);
	CHECK_NUMBER(count.blocks, ==, BLOCKS);
	return chroma_is_sharp(&count);
}

static void test_the_least_share_and_step(void)
{
	CHECK(!is_sharp(0, 100, 0));
	CHECK(!is_sharp(4, 100, 0));
	CHECK(is_sharp(5, 100, 0));
	CHECK(is_sharp(1000, 24, 0));
	CHECK(!is_sharp(1000, 23, 0));
	CHECK(is_sharp(350, 100, 650));
	CHECK(!is_sharp(349, 100, 651));
}

/* Pairs of rows are in the picture, in order, and not at even distances. */
static void test_rows_are_spread(void)
{
	for (uint32_t height = 0; height < 5000; height++) {
		uint32_t pairs = chroma_pairs(height), even = 0, last = 0;

		check_case("height %u", height);
		CHECK_NUMBER(pairs, <=, height / 2);
		CHECK(height < 2 || pairs > 0);
		for (uint32_t i = 0; i < pairs; i++) {
			uint32_t y = chroma_pair(i, height);

			CHECK_NUMBER(y % 2, ==, 0);
			CHECK_NUMBER(y + 1, <, height);
			CHECK_NUMBER(y, >=, last);
			even += y - last == height / pairs;
			last = y;
		}
		CHECK(height < 200 || even < pairs / 2);
		CHECK(pairs == 0 || last + 2 * height / pairs + 2 >= height);
	}
}

static void test_memory_is_enough_for_both(void)
{
	static const struct img_transform transforms[] = {
		{ .quality = 80 },
		{ .quality = 80, .progressive = true },
		{ .quality = 80, .box = { 8, 8 }, .optimize = true },
		{ .quality = 80, .box = { 90, 90 }, .blur_sigma_px = 0.5 },
	};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < ARRAY_SIZE(transforms); i++) {
			struct jpeg_spec spec = { .width = 200,
						  .height = 100,
						  .space = kinds[k].space,
						  .h = { 1 },
						  .v = { 1 },
						  .picture = kinds[k].text };
			struct bytes jpeg = jpeg_make(&spec);
			struct img_transform t = transforms[i];
			struct img_header header;
			struct img_view view;
			uint64_t bytes[3];

			CHECK_NUMBER(probe_bytes(&header, jpeg), ==, IMG_OK);
			view = img_fit(&header, &t);
			for (t.chroma = 0; t.chroma <= IMG_CHROMA_AUTO;
			     t.chroma++)
				bytes[t.chroma] =
					img_cost(&header, &view, &t).bytes;
			CHECK_NUMBER(bytes[IMG_CHROMA_AUTO], >=,
				     bytes[IMG_CHROMA_420]);
			CHECK_NUMBER(bytes[IMG_CHROMA_AUTO], >=,
				     bytes[IMG_CHROMA_444]);
			free(jpeg.data);
		}
}

int main(void)
{
	test_text_keeps_its_colours_and_photos_do_not();
	test_smaller_results();
	test_only_what_is_shown_counts();
	test_text_that_is_cut_off_does_not_count();
	test_a_file_with_few_colours_gains_nothing();
	test_formats_and_blur();
	test_a_pad_keeps_what_was_chosen();
	test_the_least_share_and_step();
	test_rows_are_spread();
	test_memory_is_enough_for_both();
	return 0;
}
