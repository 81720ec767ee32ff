/* SPDX-License-Identifier: MIT */
/*
 * Promises: in linear light, img_scale() computes Lanczos-3 of the light that
 * samples mean, for luma, and for coloured edges in Y'CbCr, in every
 * orientation; a flat picture stays flat, no edge gets a dark outline, and
 * transparent parts have no colour.  A file that is decoded at a reduced size
 * for it keeps the light of its blocks.
 */
#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/exact.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct img_transform linear = { .quality = 80,
					     .light = IMG_LIGHT_LINEAR };

static const struct img_transform numbers = { .quality = 80 };

/* IEC 61966-2-1. */
static double light_of(double level)
{
	double v = fmin(fmax(level / 255, 0), 1);

	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double level_of(double light)
{
	double v = fmin(1, fmax(0, light));

	return 255 *
	       (v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055);
}

/* A picture as a function of its position: the level of a channel. */
typedef double level_fn(uint32_t channel, uint32_t x, uint32_t y);

/* The level of one pixel of a result of `w` x `h` pixels, of a picture. */
static double reference(level_fn *level, uint32_t channel, struct img_size from,
			double u, double v, double step_x, double step_y)
{
	double x = u * from.width_px - 0.5, y = v * from.height_px - 0.5;
	double wide_x = fmax(1, step_x), wide_y = fmax(1, step_y);
	double sum = 0, total = 0;

	for (long j = (long)ceil(y - 3 * wide_y); j <= y + 3 * wide_y; j++)
		for (long i = (long)ceil(x - 3 * wide_x); i <= x + 3 * wide_x;
		     i++) {
			double w = exact_weight(IMG_LANCZOS3, (double)i - x,
						step_x) *
				   exact_weight(IMG_LANCZOS3, (double)j - y,
						step_y);
			long at_x = i < 0 ? 0 : i;
			long at_y = j < 0 ? 0 : j;

			at_x = at_x < from.width_px ? at_x : from.width_px - 1;
			at_y = at_y < from.height_px ? at_y :
						       from.height_px - 1;
			sum += w * light_of(level(channel, (uint32_t)at_x,
						  (uint32_t)at_y));
			total += w;
		}
	return level_of(sum / total);
}

static struct heap heap;

/* A picture with planes of one size. */
static struct image make_image(struct img_size size, enum img_space space,
			       level_fn *level)
{
	struct image img;

	image_shape(&img, size, space, true);
	CHECK(image_alloc(&img, &heap.memory));
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < size.height_px; y++)
			for (uint32_t x = 0; x < size.width_px; x++)
				image_row(&img, i, y)[x] = (uint8_t)lround(
					fmin(255, level(i, x, y)));
	return img;
}

static struct image scale(const struct image *src, const struct img_view *view)
{
	struct image dst = { 0 };
	enum img_err err = img_scale(&dst, src, view, &linear, &heap.memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	return dst;
}

static struct img_view view_of(uint32_t width, uint32_t height,
			       uint32_t orientation)
{
	struct img_view view = whole_view((struct img_size){ width, height });

	view.orientation = orientation;
	return view;
}

/* --- Grey --- */

/*
 * So gentle that a filter undershoots by less than the limit.  The light is by
 * a curve that differs a little from that of sRGB.
 */
static double hills(uint32_t channel, uint32_t x, uint32_t y)
{
	return 140 + 60 * sin(x * 0.21 + channel) + 50 * cos(y * 0.17);
}

/* A file of `from` pixels, upright, as a result of these sides. */
static void check_exact(struct img_size from, uint32_t width, uint32_t height,
			uint32_t orientation)
{
	struct image src = make_image(from, IMG_GREY, hills);
	struct img_view view = view_of(width, height, orientation);
	struct image dst = scale(&src, &view);
	bool aside = orientation >= 5;
	double step_x = (double)from.width_px / (aside ? height : width);
	double step_y = (double)from.height_px / (aside ? width : height);

	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++) {
			double u = (x + 0.5) / width, v = (y + 0.5) / height;
			double exact;

			exact_stored_place(&u, &v, orientation);
			exact = reference(hills, 0, from, u, v, step_x, step_y);
			CHECK_NUMBER(fabs(image_row(&dst, 0, y)[x] - exact), <,
				     1.6);
		}
	img_release(&src);
	img_release(&dst);
	CHECK_NUMBER(heap.live_count, ==, 0);
}

static void test_grey_is_exact(void)
{
	static const uint32_t sides[][4] = {
		{ 90, 70, 40, 31 }, { 90, 70, 89, 69 }, { 30, 20, 75, 47 },
		{ 200, 9, 13, 9 },  { 9, 200, 9, 13 },  { 1, 1, 5, 3 },
		{ 300, 240, 7, 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		const uint32_t *s = sides[i];

		check_exact((struct img_size){ s[0], s[1] }, s[2], s[3], 1);
	}
	for (uint32_t o = 1; o <= 8; o++)
		check_exact((struct img_size){ 90, 70 }, o < 5 ? 40 : 31,
			    o < 5 ? 31 : 40, o);
}

static uint8_t flat_levels[4];

static double flat(uint32_t channel, uint32_t x, uint32_t y)
{
	(void)x;
	(void)y;
	return flat_levels[channel];
}

/* Every level has a light of its own, from which it comes back. */
static void test_flat_pictures_stay_flat(void)
{
	for (uint32_t level = 0; level < 256; level++) {
		struct img_view view = view_of(11, 7, 1 + level % 8);
		struct image src, dst;

		flat_levels[0] = (uint8_t)level;
		src = make_image((struct img_size){ 25, 33 }, IMG_GREY, flat);
		dst = scale(&src, &view);
		for (uint32_t y = 0; y < 7; y++)
			for (uint32_t x = 0; x < 11; x++)
				CHECK_NUMBER(image_row(&dst, 0, y)[x], ==,
					     level);
		img_release(&src);
		img_release(&dst);
	}
}

static double edge(uint32_t channel, uint32_t x, uint32_t y)
{
	(void)channel;
	(void)y;
	return x < 50 ? 64 : 255;
}

/* Lanczos-3 alone would make the pixels beside the edge black. */
static void test_edges_have_no_dark_outline(void)
{
	for (uint32_t width = 20; width < 200; width += 13) {
		struct image src =
			make_image((struct img_size){ 100, 8 }, IMG_GREY, edge);
		struct img_view view = view_of(width, 8, 1);
		struct image dst = scale(&src, &view);

		for (uint32_t x = 0; x < width; x++)
			CHECK_NUMBER(image_row(&dst, 0, 4)[x], >=, 54);
		img_release(&src);
		img_release(&dst);
	}
}

/* --- Colours --- */

/* Of red and blue, or of green and black. */
static const uint8_t inks[][2][3] = {
	{ { 255, 0, 0 }, { 0, 0, 255 } },
	{ { 0, 200, 0 }, { 0, 0, 0 } },
	{ { 230, 220, 0 }, { 20, 0, 90 } },
};
static const uint8_t (*ink)[3];

static double stripes(uint32_t channel, uint32_t x, uint32_t y)
{
	return ink[(x / 3 + y / 5) % 2][channel];
}

/* The same as Y'CbCr (JFIF). */
static double coloured(uint32_t channel, uint32_t x, uint32_t y)
{
	double r = stripes(0, x, y), g = stripes(1, x, y), b = stripes(2, x, y);

	return channel == 0 ? 0.299 * r + 0.587 * g + 0.114 * b :
	       channel == 1 ? 128 - 0.168736 * r - 0.331264 * g + 0.5 * b :
			      128 + 0.5 * r - 0.418688 * g - 0.081312 * b;
}

/* The mean light of the result is that of the picture, for each channel. */
static void check_colours(enum img_chroma chroma, uint32_t orientation)
{
	struct img_size from = { 600, 300 };
	struct img_transform t = linear;
	bool aside = orientation >= 5;
	struct img_view view =
		view_of(aside ? 41 : 83, aside ? 83 : 41, orientation);
	struct image src = make_image(from, IMG_YCBCR, coloured);
	struct image dst = { 0 };
	double means[3] = { 0 }, wanted[3] = { 0 };
	uint32_t width = view.size.width_px, height = view.size.height_px;

	t.chroma = chroma;
	CHECK_NUMBER(img_scale(&dst, &src, &view, &t, &heap.memory), ==,
		     IMG_OK);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++) {
			uint32_t half = chroma == IMG_CHROMA_444 ? 1 : 2;
			double l = image_row(&dst, 0, y)[x];
			double cb = image_row(&dst, 1, y / half)[x / half];
			double cr = image_row(&dst, 2, y / half)[x / half];

			means[0] += light_of(l + 1.402 * (cr - 128));
			means[1] += light_of(l - 0.344136 * (cb - 128) -
					     0.714136 * (cr - 128));
			means[2] += light_of(l + 1.772 * (cb - 128));
		}
	for (uint32_t c = 0; c < 3; c++) {
		for (uint32_t i = 0; i < 30; i++)
			wanted[c] += light_of(stripes(c, i % 6, i / 6 * 5));
		CHECK_NUMBER(fabs(level_of(means[c] / (width * height)) -
				  level_of(wanted[c] / 30)),
			     <, 4);
	}
	img_release(&src);
	img_release(&dst);
	CHECK_NUMBER(heap.live_count, ==, 0);
}

static void test_coloured_edges_keep_the_light_of_each_channel(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(inks); i++) {
		ink = inks[i];
		for (uint32_t o = 1; o <= 8; o++) {
			check_colours(IMG_CHROMA_420, o);
			check_colours(IMG_CHROMA_444, o);
		}
	}
}

/* Grey, with colours only in the right half. */
static double partly(uint32_t channel, uint32_t x, uint32_t y)
{
	return x < 400 ? hills(0, x, y) * (channel == 0) + 128 * (channel > 0) :
			 coloured(channel, x, y);
}

/* Tiles with colours change nothing in the others, nor at their edges. */
static void test_colours_stay_where_they_are(void)
{
	struct image src =
		make_image((struct img_size){ 800, 90 }, IMG_YCBCR, partly);
	struct img_view view = view_of(400, 45, 1);
	struct image dst = scale(&src, &view);

	ink = inks[0];
	for (uint32_t y = 0; y < 45; y++)
		for (uint32_t x = 0; x < 190; x++) {
			double exact = reference(
				hills, 0, (struct img_size){ 800, 90 },
				(x + 0.5) / 400, (y + 0.5) / 45, 2, 2);

			CHECK_NUMBER(fabs(image_row(&dst, 0, y)[x] - exact), <,
				     1.6);
			CHECK_NUMBER(
				abs(image_row(&dst, 1, y / 2)[x / 2] - 128), <=,
				1);
		}
	img_release(&src);
	img_release(&dst);
}

/* --- Alpha --- */

/* A bright disc before nothing: premultiplied, so nothing is black. */
static double disc(uint32_t channel, uint32_t x, uint32_t y)
{
	double a = hypot(x - 50.0, y - 50.0) < 40 ? 255 : 0;

	return channel == 3 ? a : a * flat_levels[channel] / 255;
}

static void test_transparent_parts_have_no_colour(void)
{
	struct img_transform t = linear;
	struct img_view view = view_of(33, 33, 1);
	struct image dst = { 0 }, src;

	t.format = IMG_FORMAT_PNG;
	memcpy(flat_levels, (uint8_t[]){ 200, 100, 30, 0 }, 4);
	src = make_image((struct img_size){ 100, 100 }, IMG_RGBA, disc);
	CHECK_NUMBER(img_scale(&dst, &src, &view, &t, &heap.memory), ==,
		     IMG_OK);
	CHECK_NUMBER(dst.space, ==, IMG_RGBA);
	for (uint32_t y = 0; y < 33; y++)
		for (uint32_t x = 0; x < 33; x++)
			for (uint32_t c = 0; c < 3; c++) {
				double a = image_row(&dst, 3, y)[x];

				/* The filter overshoots inside of the edge. */
				CHECK_NUMBER(fabs(image_row(&dst, c, y)[x] -
						  a * flat_levels[c] / 255),
					     <=, 9);
			}
	img_release(&src);
	img_release(&dst);
	CHECK_NUMBER(heap.live_count, ==, 0);
}

/* --- Other spaces, and parts --- */

static enum img_space space_of_columns;

/* Black and white columns, as each space has them. */
static double columns(uint32_t channel, uint32_t x, uint32_t y)
{
	double level = x / 3 % 2 == 0 ? 0 : 255;
	bool is_ink = space_of_columns == IMG_YCCK && channel == 0;
	bool is_chroma = (space_of_columns == IMG_YCCK ||
			  space_of_columns == IMG_YCBCR) &&
			 (channel == 1 || channel == 2);

	(void)y;
	if (channel == 3) /* no black ink; opaque */
		return 255;
	return is_chroma ? 128 : is_ink ? 255 - level : level;
}

/* Of YCCK, only black ink is scaled in light. */
static void test_every_space_keeps_its_light(void)
{
	static const struct {
		enum img_space space;
		double mean;
	} cases[] = {
		{ IMG_GREY, 188 }, { IMG_YCBCR, 188 }, { IMG_RGB, 188 },
		{ IMG_CMYK, 188 }, { IMG_YCCK, 128 },  { IMG_RGBA, 188 },
	};
	struct img_view view = view_of(10, 10, 1);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct image src, dst;

		space_of_columns = cases[i].space;
		src = make_image((struct img_size){ 120, 120 }, cases[i].space,
				 columns);
		dst = scale(&src, &view);
		for (uint32_t x = 4; x < 6; x++)
			CHECK_NUMBER(
				fabs(image_row(&dst, 0, 5)[x] - cases[i].mean),
				<=, 4);
		img_release(&src);
		img_release(&dst);
	}
}

/* A part of 128 x 64 pixels, and noise around it. */
static uint32_t noise_seed;

static double part(uint32_t channel, uint32_t x, uint32_t y)
{
	bool is_inside = x >= 64 && x < 192 && y >= 32 && y < 96;

	if (is_inside)
		return fmin(255, coloured(channel, x, y));
	return scramble(noise_seed + channel + 3 * x + 1000 * y) % 256;
}

static struct image make_part(uint32_t seed, bool is_halved)
{
	struct image img;

	noise_seed = seed;
	image_shape(&img, (struct img_size){ 256, 128 }, IMG_YCBCR, !is_halved);
	CHECK(image_alloc(&img, &heap.memory));
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t y = 0; y < img.planes[i].height; y++)
			for (uint32_t x = 0; x < img.planes[i].width; x++) {
				uint32_t step = is_halved && i > 0 ? 2 : 1;

				image_row(&img, i, y)[x] =
					(uint8_t)part(i, step * x, step * y);
			}
	return img;
}

static void test_a_part_sees_nothing_beyond_it(void)
{
	for (uint32_t i = 0; i < 2 * 8 * 3; i++) {
		uint32_t side = i / 16 == 0 ? 30 : i / 16 == 1 ? 79 : 150;
		struct img_view view = view_of(side, side / 2, 1 + i / 2 % 8);
		struct image a = make_part(1, i % 2), b = make_part(2, i % 2);
		struct image of_a, of_b;

		view.left = view.top = 0.25;
		view.width = view.height = 0.5;
		view.cut_left = view.cut_right = 0.25;
		view.cut_top = view.cut_bottom = 0.25;
		of_a = scale(&a, &view);
		of_b = scale(&b, &view);
		CHECK(is_same(&of_a, &of_b));
		img_release(&a);
		img_release(&b);
		img_release(&of_a);
		img_release(&of_b);
	}
}

/* --- Files that are decoded at a reduced size --- */

/* Black and white in cells of 3 pixels, which is not fine texture. */
static double cells(uint32_t component, double x, double y)
{
	bool is_white = ((int)(x / 3) + (int)(y / 3)) % 2 == 0;
	bool is_here = x < 130;

	return component > 0 ? 128 : !is_here ? 150 : is_white ? 220 : 40;
}

static double mean_light(const struct image *img, uint32_t from, uint32_t to)
{
	double sum = 0;

	for (uint32_t y = 0; y < img->planes[0].height; y++)
		for (uint32_t x = from; x < to; x++)
			sum += light_of(image_row(img, 0, y)[x]);
	return sum / ((to - from) * img->planes[0].height);
}

static struct image decode(struct bytes jpeg, uint32_t dct_scale,
			   const struct img_transform *t)
{
	struct img_header header;
	struct img_view view;
	struct image img = { 0 };
	enum img_err err = probe_bytes(&header, jpeg);

	CHECK_NUMBER(err, ==, IMG_OK);
	header.texture = IMG_TEXTURE_IGNORED;
	view = whole_view(target_at(header.stored, dct_scale));
	err = img_decode(&img, jpeg.data, jpeg.count, &header, &view, t,
			 &no_limits, &heap.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	return img;
}

static void check_file(const struct jpeg_spec *spec)
{
	double wanted = level_of((light_of(220) + light_of(40)) / 2);
	struct bytes jpeg = jpeg_make(spec);

	for (uint32_t n = 1; n <= 4; n++) {
		struct image kept = decode(jpeg, n, &linear);
		struct image plain = decode(jpeg, n, &numbers);
		uint32_t width = 120 * n / 8;

		/* The numbers have a mean of 130. */
		CHECK_NUMBER(level_of(mean_light(&plain, 0, width)), <,
			     n < 3 ? 140 : 157);
		CHECK_NUMBER(
			fabs(level_of(mean_light(&kept, 0, width)) - wanted), <,
			6);
		/* What is flat is as it was. */
		for (uint32_t x = 144 * n / 8; x < kept.planes[0].width; x++)
			CHECK_NUMBER(abs(image_row(&kept, 0, n)[x] -
					 image_row(&plain, 0, n)[x]),
				     <=, 0);
		img_release(&kept);
		img_release(&plain);
	}
	free(jpeg.data);
	CHECK_NUMBER(heap.live_count, ==, 0);
}

static void test_reduced_files_keep_their_light(void)
{
	struct jpeg_spec spec = { .width = 240,
				  .height = 160,
				  .picture = cells };

	check_file(&spec);
	spec.space = JCS_GRAYSCALE;
	check_file(&spec);
	spec.arithmetic = true;
	spec.progressive = true; /* libjpeg keeps the coefficients */
	check_file(&spec);
	spec.arithmetic = false;
	check_file(&spec);
	/* The lower edge cuts blocks. */
	spec = (struct jpeg_spec){ .width = 240,
				   .height = 157,
				   .picture = cells };
	check_file(&spec);
}

static double grey(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 128;
}

static double noise(uint32_t component, double x, double y)
{
	return component > 0 ? 128 : scramble((uint32_t)(x + 300 * y)) % 256;
}

/* What a cut block hides makes nothing brighter. */
static void test_hidden_samples_have_no_light(void)
{
	struct jpeg_spec spec = {
		.width = 237, .height = 157, .picture = grey, .hidden = noise
	};
	struct bytes jpeg = jpeg_make(&spec);

	for (uint32_t n = 1; n <= 4; n++) {
		struct image kept = decode(jpeg, n, &linear);
		struct image plain = decode(jpeg, n, &numbers);

		CHECK(is_same(&kept, &plain));
		img_release(&kept);
		img_release(&plain);
	}
	free(jpeg.data);
}

static void test_no_memory_is_an_error(void)
{
	struct img_view view = view_of(31, 40, 6);
	struct image src =
		make_image((struct img_size){ 90, 70 }, IMG_YCBCR, coloured);
	enum img_err err = IMG_ERR_NO_MEMORY;

	for (uint32_t at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		struct image dst = { 0 };

		heap.alloc_count = 0;
		heap.fail_at = at;
		err = img_scale(&dst, &src, &view, &linear, &heap.memory);
		CHECK(err == IMG_OK || is_empty(&dst));
		img_release(&dst);
		CHECK_NUMBER(heap.live_count, ==, 1);
	}
	heap.fail_at = 0;
	CHECK_NUMBER(heap.alloc_count, >, 4);
	img_release(&src);
}

int main(void)
{
	heap_init(&heap);
	ink = inks[0];
	test_grey_is_exact();
	test_flat_pictures_stay_flat();
	test_edges_have_no_dark_outline();
	test_coloured_edges_keep_the_light_of_each_channel();
	test_colours_stay_where_they_are();
	test_transparent_parts_have_no_colour();
	test_every_space_keeps_its_light();
	test_a_part_sees_nothing_beyond_it();
	test_reduced_files_keep_their_light();
	test_hidden_samples_have_no_light();
	test_no_memory_is_an_error();
	return 0;
}
