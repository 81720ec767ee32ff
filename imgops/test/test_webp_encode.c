/* SPDX-License-Identifier: MIT */
/*
 * Promises: results are WebPs that libwebp reads, of the size that was asked
 * for, with the colours of the planes; lossless results have exactly their
 * pixels; alpha is kept; a kept profile is in a valid container; a result that
 * is too large for the format is refused; memory stays within the estimate with
 * any parameters.
 */
#include "imgops/formats/webp/encode.c"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <webp/decode.h>

/* --- Samples --- */

static void test_range(void)
{
	uint8_t levels[256], luma[256], chroma[256];

	for (int v = 0; v < 256; v++)
		levels[v] = (uint8_t)v;
	narrow_luma(luma, levels, 256);
	narrow_chroma(chroma, levels, 256);
	for (int v = 0; v < 256; v++) {
		CHECK_NUMBER(fabs(luma[v] - (v * 219 / 255.0 + 16)), <=, 0.5);
		CHECK_NUMBER(fabs(chroma[v] - ((v - 128) * 224 / 255.0 + 128)),
			     <=, 0.5);
	}
}

static struct image image_of(struct img_size size, enum img_space space,
			     struct heap *h)
{
	struct image img;

	image_shape(&img, size, space, false);
	CHECK(image_alloc(&img, &h->memory));
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < img.planes[i].height; y++)
			for (uint32_t x = 0; x < img.planes[i].width; x++) {
				double v = 128 + 60 * sin(0.05 * x + i) *
							 cos(0.07 * y);

				if (space == IMG_YCBCR && i > 0)
					v = 128 + (v - 128) / 3;
				if (space == IMG_RGBA && i == 3)
					v = 190;
				img.planes[i].samples
					[y * img.planes[i].stride_bytes + x] =
					(uint8_t)v;
			}
	return img;
}

static struct bytes encode(struct image *img, const struct img_transform *t,
			   struct heap *h)
{
	struct bytes b = { NULL, 0 };

	CHECK_NUMBER(img_encode(&b.data, &b.count, img, t, &h->memory), ==,
		     IMG_OK);
	return b;
}

/* The pixels of a lossless result are those of the planes. */
static void check_lossless(enum img_space space, struct img_size size)
{
	struct img_transform t = { .quality = 1,
				   .format = IMG_FORMAT_WEBP,
				   .lossless = true };
	uint8_t row[4 * 400], *rgba;
	struct image img;
	struct bytes b;
	struct heap h;
	int width, height;

	heap_init(&h);
	img = image_of(size, space, &h);
	b = encode(&img, &t, &h);
	rgba = WebPDecodeRGBA(b.data, b.count, &width, &height);
	CHECK(rgba != NULL);
	CHECK_NUMBER((uint32_t)width, ==, size.width_px);
	CHECK_NUMBER((uint32_t)height, ==, size.height_px);
	for (uint32_t y = 0; y < size.height_px; y++) {
		colour_write_row(row, &img, y);
		for (uint32_t x = 0; x < size.width_px; x++) {
			const uint8_t *p = rgba + 4 * (y * size.width_px + x);
			const uint8_t *q = row + x * img.plane_count;

			for (uint32_t i = 0; i < 3; i++)
				CHECK_NUMBER(p[i], ==,
					     q[img.plane_count == 1 ? 0 : i]);
			CHECK_NUMBER(p[3], ==,
				     (img.plane_count == 4 ? q[3] : 255));
		}
	}
	WebPFree(rgba);
	img_release(&img);
	memory_free(&h.memory, b.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* A lossy result is about the picture, also by our own decoder. */
static void check_lossy(enum img_space space, struct img_size size)
{
	struct img_transform t = { .quality = 95, .format = IMG_FORMAT_WEBP };
	struct image img, back = { 0 };
	struct bytes b;
	struct heap h;

	heap_init(&h);
	img = image_of(size, space, &h);
	b = encode(&img, &t, &h);
	CHECK_NUMBER(decode_bytes(&back, b.data, b.count, &no_limits, &h), ==,
		     IMG_OK);
	CHECK_NUMBER(back.planes[0].width, ==, size.width_px);
	CHECK_NUMBER(back.planes[0].height, ==, size.height_px);
	CHECK_NUMBER(back.space, ==,
		     (space == IMG_RGBA ? IMG_RGBA : IMG_YCBCR));
	for (uint32_t i = 0; i < back.plane_count; i++) {
		double sum = 0;

		for (uint32_t y = 0; y < back.planes[i].height; y++)
			for (uint32_t x = 0; x < back.planes[i].width; x++) {
				bool is_grey = space == IMG_GREY && i > 0;
				double off = sample(&back.planes[i], x, y) -
					     (is_grey ? 128.0 :
							sample(&img.planes[i],
							       x, y));

				sum += off * off;
			}
		CHECK_NUMBER(psnr(sum, (double)back.planes[i].width *
					       back.planes[i].height),
			     >, (space == IMG_RGBA ? 28 : 38));
	}
	img_release(&img);
	img_release(&back);
	memory_free(&h.memory, b.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* --- The profile --- */

static void check_profile(enum img_space space, bool is_lossless, size_t bytes)
{
	struct img_transform t = { .quality = 80,
				   .format = IMG_FORMAT_WEBP,
				   .lossless = is_lossless };
	struct img_size size = { 61, 43 };
	struct img_header header;
	WebPBitstreamFeatures f;
	struct image img;
	struct bytes b;
	struct heap h;

	heap_init(&h);
	img = image_of(size, space, &h);
	img.profile = memory_alloc(&h.memory, bytes);
	CHECK(img.profile != NULL);
	memset(img.profile, 'p', bytes);
	img.profile_bytes = bytes;
	b = encode(&img, &t, &h);
	CHECK_NUMBER(WebPGetFeatures(b.data, b.count, &f), ==, VP8_STATUS_OK);
	CHECK_NUMBER(f.has_alpha, ==, (space == IMG_RGBA));
	CHECK_NUMBER(img_probe(&header, b.data, b.count, &no_limits), ==,
		     IMG_OK);
	CHECK_NUMBER(header.icc_bytes, ==, bytes);
	CHECK_NUMBER(read32(b.data + 4) + CHUNK_HEAD_BYTES, ==, b.count);
	CHECK(memcmp(b.data + webp_own(&header)->icc_offset, img.profile,
		     bytes) == 0);
	img_release(&img);
	memory_free(&h.memory, b.data);
	CHECK_NUMBER(decode_limits((struct bytes){ 0 }, &no_limits, &h), !=,
		     IMG_OK);
}

static void test_too_large(void)
{
	struct img_header header = { .format = img_formats[IMG_FORMAT_PPM],
				     .stored = { 20000, 2 },
				     .upright = { 20000, 2 },
				     .orientation = 1 };
	struct img_transform t = { .quality = 80, .format = IMG_FORMAT_WEBP };
	struct img_view view = img_fit(&header, &t);

	CHECK(!img_result_fits(&view, &t, &no_limits));
	t.box.width_px = WEBP_SIDE_PX_MAX;
	view = img_fit(&header, &t);
	CHECK(img_result_fits(&view, &t, &no_limits));
	t = (struct img_transform){ .quality = 80 };
	view = img_fit(&header, &t);
	CHECK(img_result_fits(&view, &t, &no_limits));
}

/* All efforts and qualities give a picture; more effort gives fewer bytes. */
static void test_efforts(void)
{
	for (int lossless = 0; lossless < 2; lossless++) {
		size_t first = 0, last = 0;

		for (int effort = 0; effort <= 9; effort++) {
			struct img_transform t = { .quality = 1 + effort * 11,
						   .format = IMG_FORMAT_WEBP,
						   .effort = effort,
						   .lossless = lossless };
			struct heap h;
			struct image img;
			struct bytes b;

			heap_init(&h);
			if (effort > 0)
				t.quality = 75;
			img = image_of((struct img_size){ 300, 200 },
				       lossless ? IMG_RGB : IMG_YCBCR, &h);
			b = encode(&img, &t, &h);
			if (effort == 1)
				first = b.count;
			last = b.count;
			img_release(&img);
			memory_free(&h.memory, b.data);
			CHECK_NUMBER(h.live_count, ==, 0);
		}
		CHECK_NUMBER(last, <, first);
	}
}

int main(void)
{
	static const enum img_space spaces[] = { IMG_GREY, IMG_YCBCR,
						 IMG_RGBA };

	test_range();
	check_lossless(IMG_GREY, (struct img_size){ 31, 7 });
	check_lossless(IMG_RGB, (struct img_size){ 400, 130 });
	check_lossless(IMG_RGBA, (struct img_size){ 77, 130 });
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		check_case("spaces[%zu]", i);
		check_lossy(spaces[i], (struct img_size){ 301, 203 });
		for (size_t bytes = 500; bytes < 502; bytes++) {
			check_profile(spaces[i], false, bytes);
			if (spaces[i] != IMG_YCBCR)
				check_profile(spaces[i], true, bytes);
		}
	}
	test_too_large();
	test_efforts();
	return 0;
}
