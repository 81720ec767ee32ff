/* SPDX-License-Identifier: MIT */
/*
 * Promises: a watermark is drawn at the place and with the size that
 * watermark.h and the transform say, each channel blended by alpha and opacity,
 * whatever the space of the result; beyond it no sample changes.  A smaller one
 * has the colours of the file.  The estimate of memory is enough.  A file that
 * is no picture, or too large, is refused.
 */
#include "imgops/watermark.h"

#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/meter.h"
#ifdef IMG_PNG
#include "imgops/test/png_make.h"
#endif
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A pixel of the file: R, G, B and alpha. */
typedef void pixel_fn(uint8_t rgba[4], uint32_t x, uint32_t y);

struct file {
	struct bytes bytes;
	struct img_size size;
	pixel_fn *pixel;
};

static void opaque(uint8_t rgba[4], uint32_t x, uint32_t y)
{
	for (uint32_t i = 0; i < 3; i++)
		rgba[i] = (uint8_t)scramble(x + 57 * y + 7919 * i);
	rgba[3] = 255;
}

static void flat(uint8_t rgba[4], uint32_t x, uint32_t y)
{
	(void)x;
	(void)y;
	memcpy(rgba, (const uint8_t[]){ 200, 30, 90, 255 }, 4);
}

static struct file make_ppm(struct img_size size, pixel_fn *pixel)
{
	struct file f = { .size = size, .pixel = pixel };
	uint8_t *to;

	f.bytes.data = malloc(40 + 3 * img_pixels(size));
	CHECK(f.bytes.data != NULL);
	f.bytes.count = (size_t)sprintf((char *)f.bytes.data, "P6 %u %u 255\n",
					size.width_px, size.height_px);
	to = f.bytes.data + f.bytes.count;
	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++, to += 3) {
			uint8_t rgba[4];

			pixel(rgba, x, y);
			memcpy(to, rgba, 3);
		}
	f.bytes.count = (size_t)(to - f.bytes.data);
	return f;
}

#ifdef IMG_PNG
static const struct png_spec clear_png = { .width = 13,
					   .height = 9,
					   .type = 6 };

static void clear(uint8_t rgba[4], uint32_t x, uint32_t y)
{
	png_pixel(rgba, &clear_png, x, y);
}
#endif

static struct img_watermark *load(const struct file *f,
				  const struct memory *memory)
{
	struct img_watermark *w = NULL;

	CHECK_NUMBER(
		img_watermark_load(&w, f->bytes.data, f->bytes.count, memory),
		==, IMG_OK);
	return w;
}

static double patches(uint32_t component, double x, double y)
{
	return scramble((uint32_t)(x * 977) + (uint32_t)(y * 31) * 7919 +
			component * 12345) %
	       256;
}

static struct image make(struct img_size size, enum img_space space,
			 bool full_chroma, struct heap *h)
{
	struct image img;

	image_shape(&img, size, space, full_chroma);
	CHECK(image_alloc(&img, &h->memory));
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < img.planes[i].height; y++)
			for (uint32_t x = 0; x < img.planes[i].width; x++)
				*(image_row(&img, i, y) + x) =
					picture_sample(patches, i, x, y);
	return img;
}

/* Channel `i` of a colour in `space`; alpha is a channel of 255. */
static double channel(const uint8_t rgba[4], enum img_space space, uint32_t i)
{
	double luma = 0.299 * rgba[0] + 0.587 * rgba[1] + 0.114 * rgba[2];

	if (space == IMG_RGB || space == IMG_RGBA)
		return i == 3 ? 255 : rgba[i];
	return i == 0 ? luma :
	       i == 1 ? 128 + (rgba[2] - luma) / 1.772 :
			128 + (rgba[0] - luma) / 1.402;
}

/* The sample that sample (x, y) of plane `i` is to become. */
static double wanted(const struct image *before, const struct file *f,
		     struct img_rect place, double opacity, uint32_t i,
		     uint32_t x, uint32_t y)
{
	const struct img_plane *p = &before->planes[i];
	uint32_t step = p->span_x < before->planes[0].span_x ? 2 : 1;
	double was = sample(p, x, y), sum = 0, count = 0;

	for (uint32_t v = y * step; v < (y + 1) * step; v++)
		for (uint32_t u = x * step; u < (x + 1) * step; u++) {
			uint32_t left = u - place.left_px;
			uint32_t top = v - place.top_px;
			uint8_t rgba[4];

			if (u >= before->planes[0].width ||
			    v >= before->planes[0].height)
				continue;
			count++;
			if (left >= place.width_px || top >= place.height_px) {
				sum += was;
				continue;
			}
			f->pixel(rgba, left, top);

			double alpha = rgba[3] / 255.0 * opacity;

			sum += was * (1 - alpha) +
			       channel(rgba, before->space, i) * alpha;
		}
	return sum / count;
}

static void check_planes(const struct image *img, const struct image *before,
			 const struct file *f, struct img_rect place,
			 double opacity)
{
	for (uint32_t i = 0; i < img->plane_count; i++)
		for (uint32_t y = 0; y < img->planes[i].height; y++)
			for (uint32_t x = 0; x < img->planes[i].width; x++) {
				double to = wanted(before, f, place, opacity, i,
						   x, y);
				double off = sample(&img->planes[i], x, y) - to;

				/* Rounded at each of up to four steps. */
				CHECK_NUMBER(fabs(off), <, 2);
			}
}

/* At its own size, in each corner of results in each space. */
static void check_file(const struct file *f, struct img_size size)
{
	static const struct {
		enum img_space space;
		bool full_chroma;
	} kinds[] = { { IMG_GREY, false },
		      { IMG_YCBCR, false },
		      { IMG_YCBCR, true },
		      { IMG_RGB, false },
		      { IMG_RGBA, false } };
	static const double opacities[] = { 1, 0.5, 0.1, 0.01 };
	struct heap h;

	heap_init(&h);
	struct img_watermark *w = load(f, &h.memory);

	for (uint32_t k = 0; k < ARRAY_SIZE(kinds) * 9 * 4; k++) {
		struct img_transform t = {
			.watermark = 1,
			.watermark_position = k / 4 % 9,
			.watermark_opacity = opacities[k % 4],
			.watermark_scale =
				(double)f->size.width_px / size.width_px,
		};
		struct img_view view = { .size = size };
		struct img_rect place = watermark_place(w, size, &t);
		struct image img = make(size, kinds[k / 36].space,
					kinds[k / 36].full_chroma, &h);
		struct image before = make(size, kinds[k / 36].space,
					   kinds[k / 36].full_chroma, &h);

		check_case("kind %u, position %u, opacity %g", k / 36,
			   k / 4 % 9, t.watermark_opacity);
		CHECK_NUMBER(place.width_px, ==, f->size.width_px);
		CHECK_NUMBER(place.height_px, ==, f->size.height_px);
		CHECK(img_is_retouched(&view, &t));
		CHECK_NUMBER(img_retouch(&img, &view, &t, w, &h.memory), ==,
			     IMG_OK);
		check_planes(&img, &before, f, place, t.watermark_opacity);
		img_release(&img);
		img_release(&before);
	}
	img_watermark_free(w);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_each_channel_is_blended(void)
{
	static const struct img_size sizes[] = {
		{ 40, 30 }, { 41, 31 }, { 13, 9 }, { 14, 10 }
	};
	struct file f = make_ppm((struct img_size){ 13, 9 }, opaque);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_file(&f, sizes[i]);
	free(f.bytes.data);
#ifdef IMG_PNG
	f = (struct file){ .bytes = png_make(&clear_png),
			   .size = { clear_png.width, clear_png.height },
			   .pixel = clear };
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_file(&f, sizes[i]);
	free(f.bytes.data);
#endif
}

static const struct {
	struct img_size own, result;
	double scale;
	enum img_gravity position;
	struct img_rect place;
} places[] = {
	{ { 100, 50 },
	  { 640, 480 },
	  0.25,
	  IMG_SOUTHEAST,
	  { 480, 400, 160, 80 } },
	{ { 100, 50 }, { 640, 480 }, 0.25, IMG_CENTRE, { 240, 200, 160, 80 } },
	{ { 100, 50 }, { 640, 480 }, 1, IMG_NORTHWEST, { 0, 0, 640, 320 } },
	/* As high as the result. */
	{ { 50, 100 }, { 640, 480 }, 1, IMG_NORTHEAST, { 400, 0, 240, 480 } },
	/* Places are even. */
	{ { 100, 50 },
	  { 640, 480 },
	  0.0171875,
	  IMG_SOUTHEAST,
	  { 628, 474, 11, 6 } },
	{ { 1000, 10 }, { 64, 64 }, 0.1, IMG_SOUTH, { 28, 62, 6, 1 } },
	{ { 10, 1000 }, { 64, 64 }, 0.1, IMG_WEST, { 0, 0, 1, 64 } },
	{ { 7, 7 }, { 1, 1 }, 0.01, IMG_EAST, { 0, 0, 1, 1 } },
};

static void test_the_place(void)
{
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct file f = make_ppm(places[i].own, flat);
		struct img_watermark *w = load(&f, &h.memory);
		struct img_transform t = {
			.watermark_scale = places[i].scale,
			.watermark_position = places[i].position,
		};
		struct img_rect p = watermark_place(w, places[i].result, &t);

		check_case("places[%zu]", i);
		CHECK_NUMBER(p.left_px, ==, places[i].place.left_px);
		CHECK_NUMBER(p.top_px, ==, places[i].place.top_px);
		CHECK_NUMBER(p.width_px, ==, places[i].place.width_px);
		CHECK_NUMBER(p.height_px, ==, places[i].place.height_px);
		img_watermark_free(w);
		free(f.bytes.data);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Draw it on black, and return the peak of memory. */
static void check_scaled(const struct img_watermark *w, const struct file *f,
			 double scale, double most_off)
{
	struct img_size size = { 300, 200 };
	struct img_transform t = { .watermark = 1,
				   .watermark_opacity = 1,
				   .watermark_scale = scale };
	struct img_view view = { .size = size };
	struct img_rect p = watermark_place(w, size, &t);
	struct heap h;

	heap_init(&h);
	struct image img = make(size, IMG_RGB, true, &h);

	CHECK_NUMBER(img_retouch(&img, &view, &t, w, &h.memory), ==, IMG_OK);
	check_case("scale %g", scale);
	for (uint32_t y = 0; y < p.height_px; y++)
		for (uint32_t x = 0; x < p.width_px; x++) {
			uint8_t rgba[4];

			f->pixel(rgba, x * f->size.width_px / p.width_px,
				 y * f->size.height_px / p.height_px);
			for (uint32_t i = 0; i < 3; i++)
				CHECK_NUMBER(abs(sample(&img.planes[i],
							p.left_px + x,
							p.top_px + y) -
						 rgba[i]),
					     <=, most_off);
		}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void smooth(uint8_t rgba[4], uint32_t x, uint32_t y)
{
	rgba[0] = (uint8_t)(x / 4);
	rgba[1] = (uint8_t)(255 - y / 3);
	rgba[2] = (uint8_t)(x / 8 + y / 8);
	rgba[3] = 255;
}

static void test_a_scaled_one_has_the_colours_of_the_file(void)
{
	static const double scales[] = { 0.02, 0.1, 0.33, 0.5, 1 };
	struct file f = make_ppm((struct img_size){ 900, 600 }, smooth);
	struct file plain = make_ppm((struct img_size){ 45, 30 }, flat);
	struct heap h;

	heap_init(&h);
	struct img_watermark *w = load(&f, &h.memory);
	struct img_watermark *small = load(&plain, &h.memory);

	for (size_t i = 0; i < ARRAY_SIZE(scales); i++) {
		/* Of a gradient, a pixel covers some levels. */
		check_scaled(w, &f, scales[i], 2 + 1 / scales[i]);
		check_scaled(small, &plain, scales[i], 0);
	}
	img_watermark_free(w);
	img_watermark_free(small);
	free(f.bytes.data);
	free(plain.bytes.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_memory_is_as_estimated(void)
{
	static const double scales[] = { 0.01, 0.1, 0.25, 0.7, 1 };
	struct jpeg_spec spec = { .width = 640, .height = 480 };
	struct bytes jpeg = jpeg_make(&spec);
	struct file f = make_ppm((struct img_size){ 500, 300 }, opaque);
	struct heap h;

	heap_init(&h);
	struct img_watermark *w = load(&f, &h.memory);

	for (size_t i = 0; i < 2 * ARRAY_SIZE(scales); i++) {
		struct img_transform t = { .quality = 80,
					   .watermark = 1,
					   .watermark_opacity = 1,
					   .watermark_scale = scales[i / 2],
					   .format = i % 2 ? IMG_FORMAT_PPM :
							     IMG_FORMAT_JPEG };
		struct img_header header;
		struct image decoded = { 0 }, img = { 0 };
		struct meter m;
		size_t most;

		CHECK_NUMBER(probe_bytes(&header, jpeg), ==, IMG_OK);

		struct img_view view = img_fit(&header, &t);
		struct img_cost_part with = { .view = &view,
					      .transform = &t,
					      .watermark = w };
		struct img_cost cost = img_cost_parts(&header, 8, &with, 1);
		struct img_cost without = img_cost(&header, &view, &t);

		meter_init(&m);
		CHECK_NUMBER(img_decode(&decoded, jpeg.data, jpeg.count,
					&header, &view, &t, &no_limits,
					&m.memory),
			     ==, IMG_OK);
		CHECK_NUMBER(img_scale(&img, &decoded, &view, &t, &m.memory),
			     ==, IMG_OK);
		img_release(&decoded);
		m.peak_bytes = m.live_bytes;
		CHECK_NUMBER(img_retouch(&img, &view, &t, w, &m.memory), ==,
			     IMG_OK);
		most = m.peak_bytes;
		img_release(&img);
		check_case("scale %g, format %zu", t.watermark_scale, i % 2);
		CHECK_NUMBER(cost.bytes, >=, most);
		CHECK_NUMBER(cost.blur_ns, >, without.blur_ns);
		CHECK_NUMBER(cost.bytes, >=, without.bytes);
	}
	img_watermark_free(w);
	free(f.bytes.data);
	free(jpeg.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_memory_is_an_error(void)
{
	struct file f = make_ppm((struct img_size){ 30, 20 }, opaque);
	struct img_transform t = { .watermark = 1,
				   .watermark_opacity = 1,
				   .watermark_scale = 0.5 };
	struct img_view view = { .size = { 40, 40 } };
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct heap h, failing;
	uint32_t at;

	for (at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		struct img_watermark *w = NULL;

		heap_init(&failing);
		failing.fail_at = at;
		err = img_watermark_load(&w, f.bytes.data, f.bytes.count,
					 &failing.memory);
		img_watermark_free(w);
		CHECK_NUMBER(failing.live_count, ==, 0);
	}
	CHECK_NUMBER(at, >, 10);
	heap_init(&h);
	struct img_watermark *w = load(&f, &h.memory);
	struct image img = make(view.size, IMG_YCBCR, false, &h);
	struct image before = make(view.size, IMG_YCBCR, false, &h);

	err = IMG_ERR_NO_MEMORY;
	for (at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		CHECK(is_same(&img, &before));
		heap_init(&failing);
		failing.fail_at = at;
		err = img_retouch(&img, &view, &t, w, &failing.memory);
		CHECK_NUMBER(failing.live_count, ==, 0);
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	img_release(&img);
	img_release(&before);
	img_watermark_free(w);
	free(f.bytes.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_what_is_no_watermark(void)
{
	struct file large = make_ppm((struct img_size){ 2049, 2048 }, flat);
	struct img_watermark *w = NULL;
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(img_watermark_load(&w, large.bytes.data, large.bytes.count,
					&h.memory),
		     ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(img_watermark_load(&w, large.bytes.data, 100, &h.memory),
		     ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(img_watermark_load(&w, (const uint8_t *)"P6 2 2 255 ", 11,
					&h.memory),
		     ==, IMG_ERR_TRUNCATED);
	CHECK_NUMBER(
		img_watermark_load(&w, (const uint8_t *)"a text", 6, &h.memory),
		==, IMG_ERR_UNKNOWN_FORMAT);
	CHECK(w == NULL);
	img_watermark_free(NULL);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(large.bytes.data);
}

static void test_a_gain_map_is_left_out(void)
{
	struct img_transform t = { .keep_gainmap = true };

	CHECK(img_keeps_gainmap(&t));
	t.watermark = 1;
	CHECK(!img_keeps_gainmap(&t));
}

int main(void)
{
	test_each_channel_is_blended();
	test_the_place();
	test_a_scaled_one_has_the_colours_of_the_file();
	test_memory_is_as_estimated();
	test_no_memory_is_an_error();
	test_what_is_no_watermark();
	test_a_gain_map_is_left_out();
	return 0;
}
