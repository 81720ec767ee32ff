/* SPDX-License-Identifier: MIT */
/*
 * Promises: lossy and lossless WebP, with and without alpha, a profile and
 * EXIF, and the first frame of an animation are read as libwebp reads them; a
 * header is the same however the file arrives; one that is wrong or over a
 * limit is named, also if only libwebp's memory is over it; a file without its
 * end is TRUNCATED or, if `lenient`, grey below.
 */
#include "imgops/formats/webp/decode.c"

#include "base/test/check.h"
#include "imgops/test/profiles.h"
#include "imgops/test/support.h"
#include "imgops/test/webps.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = WEBP_TEST_WIDTH, HEIGHT = WEBP_TEST_HEIGHT };

static void test_headers(void)
{
	for (int kind = 0; kind < 8; kind++) {
		bool is_lossless = kind & 1, has_alpha = kind & 2;
		bool has_all = kind & 4;
		struct bytes file =
			has_all ? webp_with_all(is_lossless, has_alpha) :
				  webp_make(WIDTH, HEIGHT, is_lossless,
					    has_alpha);
		struct img_header h;

		check_case("kind %d", kind);
		CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_OK);
		CHECK_NUMBER(h.stored.width_px, ==, WIDTH);
		CHECK_NUMBER(h.stored.height_px, ==, HEIGHT);
		CHECK_NUMBER(h.space, ==,
			     (has_alpha   ? IMG_RGBA :
			      is_lossless ? IMG_RGB :
					    IMG_YCBCR));
		CHECK_NUMBER(h.orientation, ==, (has_all ? 6 : 1));
		CHECK_NUMBER(h.upright.width_px, ==,
			     (has_all ? HEIGHT : WIDTH));
		CHECK_NUMBER(
			h.profile, ==,
			(has_all ? IMG_PROFILE_MATRIX : IMG_PROFILE_UNKNOWN));
		CHECK_NUMBER(h.frames, ==, 0);
		check_arrival(file, true);
		free(file.data);
	}
}

/* Change a byte of a good file; it is not OK then. */
static void test_wrong_headers(void)
{
	static const struct {
		size_t at;
		uint8_t byte;
		enum img_err err;
	} cases[] = {
		{ 4, 3, IMG_ERR_CORRUPT },    /* the container is too short */
		{ 12, 'v', IMG_ERR_CORRUPT }, /* no picture */
		{ 19, 1, IMG_ERR_CORRUPT },   /* a chunk past its container */
		{ 20, 1, IMG_ERR_CORRUPT },   /* not a key frame */
		{ 22, 255, IMG_ERR_CORRUPT }, /* its first part is too long */
		{ 23, 0, IMG_ERR_CORRUPT },   /* no start code */
		{ 26, 0, IMG_ERR_CORRUPT },   /* no width */
		{ 0, 'r', IMG_ERR_UNKNOWN_FORMAT },
		{ 8, 'A', IMG_ERR_UNKNOWN_FORMAT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes file = webp_make(WIDTH, HEIGHT, false, false);
		struct img_header h;

		check_case("cases[%zu]", i);
		file.data[cases[i].at] = cases[i].byte;
		if (cases[i].at == 4)
			file.data[5] = file.data[6] = 0;
		CHECK_NUMBER(probe_bytes(&h, file), ==, cases[i].err);
		free(file.data);
	}
}

/* --- Samples --- */

static void decode(struct image *img, struct bytes file, struct heap *h)
{
	heap_init(h);
	CHECK_NUMBER(decode_bytes(img, file.data, file.count, &no_limits, h),
		     ==, IMG_OK);
	CHECK_NUMBER(img->notes, ==, 0);
}

/* As JFIF's range from that of video, in double precision. */
static double wide(uint32_t plane, int v)
{
	double most = plane == 0 ? 219 : 224;
	double above = fmin(fmax(v - 16, 0), most);

	return plane == 0 ? above * 255 / most :
			    (above - 112) * 255 / most + 128;
}

static void test_range(void)
{
	for (int v = 0; v < 256; v++)
		for (uint32_t i = 0; i < 2; i++) {
			uint8_t row[33];

			memset(row, v, sizeof(row));
			(i == 0 ? widen_luma : widen_chroma)(row, 33);
			for (size_t x = 0; x < sizeof(row); x++)
				CHECK_NUMBER(fabs(row[x] - wide(i, v)), <=,
					     0.5);
		}
}

static void check_planes(uint32_t width, uint32_t height)
{
	struct bytes file = webp_make(width, height, false, false);
	struct image img = { 0 };
	struct heap h;
	int w, rows, stride, half_stride;
	uint8_t *planes[3];

	decode(&img, file, &h);
	planes[0] = WebPDecodeYUV(file.data, file.count, &w, &rows, &planes[1],
				  &planes[2], &stride, &half_stride);
	CHECK(planes[0] != NULL);
	CHECK_NUMBER(img.space, ==, IMG_YCBCR);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t y = 0; y < img.planes[i].height; y++)
			for (uint32_t x = 0; x < img.planes[i].width; x++) {
				int v = planes
					[i]
					[y * (uint32_t)(i == 0 ? stride :
								 half_stride) +
					 x];

				CHECK_NUMBER(fabs(sample(&img.planes[i], x, y) -
						  wide(i, v)),
					     <=, 0.5);
			}
	WebPFree(planes[0]);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(file.data);
}

/* Lossless pixels are exact; colours are multiplied by alpha. */
static void check_pixels(bool has_alpha)
{
	struct bytes file = webp_make(WIDTH, HEIGHT, true, has_alpha);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, (has_alpha ? IMG_RGBA : IMG_RGB));
	for (uint32_t y = 0; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++) {
			uint8_t p[4];

			webp_pixel(p, x, y, has_alpha);
			for (uint32_t i = 0; i < 3; i++)
				CHECK_NUMBER(sample(&img.planes[i], x, y), ==,
					     (p[i] * p[3] + 127) / 255);
			if (has_alpha)
				CHECK_NUMBER(sample(&img.planes[3], x, y), ==,
					     p[3]);
		}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(file.data);
}

/* Alpha of a lossy picture is exact. */
static void test_lossy_alpha(void)
{
	struct bytes file = webp_make(WIDTH, HEIGHT, false, true);
	struct image img = { 0 };
	struct heap h;
	uint8_t p[4];

	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, IMG_RGBA);
	for (uint32_t x = 0; x < WIDTH; x++) {
		webp_pixel(p, x, 30, true);
		CHECK_NUMBER(sample(&img.planes[3], x, 30), ==, p[3]);
		CHECK_NUMBER(sample(&img.planes[0], x, 30), <=, p[3]);
	}
	img_release(&img);
	free(file.data);
}

/* The header promises alpha, and all pixels are opaque. */
static void test_opaque_alpha(void)
{
	struct bytes file = webp_make(WIDTH, HEIGHT, true, false);
	struct img_header header;
	struct image img = { 0 };
	struct heap h;

	file.data[24] |= 16;
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	CHECK_NUMBER(header.space, ==, IMG_RGBA);
	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, IMG_RGB);
	img_release(&img);
	free(file.data);
}

static void test_profile(void)
{
	struct bytes file = webp_with_all(false, true);
	struct bytes profile = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.profile_bytes, ==, profile.count);
	CHECK(memcmp(img.profile, profile.data, profile.count) == 0);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(profile.data);
	free(file.data);
}

/* --- Animations --- */

static void test_animation(void)
{
	struct bytes file =
		webp_animation(WIDTH, HEIGHT, 0, 0, false, false, 3);
	struct img_header header;
	struct image img = { 0 };
	struct heap h;

	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	CHECK_NUMBER(header.frames, ==, 3);
	CHECK_NUMBER(header.space, ==, IMG_YCBCR);
	check_arrival(file, true);
	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, IMG_YCBCR);
	img_release(&img);
	free(file.data);
	/* A frame past its canvas. */
	file = webp_animation(WIDTH, HEIGHT + 1, 0, 2, false, false, 1);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_ERR_CORRUPT);
	free(file.data);
}

/* Around the frame the canvas is transparent. */
static void check_frame_in_canvas(bool is_lossless)
{
	struct bytes file =
		webp_animation(100, 90, 10, 20, is_lossless, false, 1);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, IMG_RGBA);
	for (uint32_t y = 0; y < 90; y++)
		for (uint32_t x = 0; x < 100; x++) {
			bool is_inside = x >= 10 && x < 10 + WIDTH && y >= 20 &&
					 y < 20 + HEIGHT;
			uint8_t p[4];

			CHECK_NUMBER(sample(&img.planes[3], x, y), ==,
				     (is_inside ? 255 : 0));
			if (!is_inside)
				CHECK_NUMBER(sample(&img.planes[0], x, y), ==,
					     0);
			if (!is_inside || !is_lossless)
				continue;
			webp_pixel(p, x - 10, y - 20, false);
			CHECK_NUMBER(sample(&img.planes[0], x, y), ==, p[0]);
		}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(file.data);
}

/* --- Damage and limits --- */

static void check_damage(uint32_t kind)
{
	struct img_transform lenient = { .quality = 80, .lenient = true };
	bool is_lossless = kind & 1, has_alpha = kind & 2;
	struct bytes file = webp_make(400, 400, is_lossless, has_alpha);
	size_t cut = file.count * 7 / 8;
	struct image img = { 0 };
	struct heap h;

	check_case("damage %u", kind);
	heap_init(&h);
	CHECK_NUMBER(decode_bytes(&img, file.data, cut, &no_limits, &h), ==,
		     IMG_ERR_TRUNCATED);
	CHECK_NUMBER(decode_transform(&img, file.data, cut, &lenient,
				      &no_limits, &h),
		     ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
	for (uint32_t i = 0; i < img.plane_count; i++)
		CHECK_NUMBER(
			sample(&img.planes[i], 0, img.planes[i].height - 1), ==,
			(i == 3 ? 255 : 128));
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(file.data);
}

static void test_limits(void)
{
	struct bytes file = webp_make(WIDTH, HEIGHT, false, false);
	struct img_limits l = no_limits;
	struct img_header h;
	struct heap heap;

	l.side_px_max = WIDTH - 1;
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &l), ==,
		     IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.stored.width_px, ==, WIDTH);
	l.side_px_max = WIDTH;
	l.pixels_max = WIDTH * HEIGHT - 1;
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &l), ==,
		     IMG_ERR_TOO_LARGE);
	heap_init(&heap);
	l = no_limits;
	l.decode_bytes_max = 10000;
	CHECK_NUMBER(decode_limits(file, &l, &heap), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(heap.alloc_count, ==, 0);
	free(file.data);
}

/* What libwebp takes for tables of codes counts as memory. */
static void test_code_sets(void)
{
	struct bytes file = webp_of_sets();
	struct img_limits l = no_limits;
	struct img_header h;
	struct heap heap;

	CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_OK);
	CHECK_NUMBER(webp_own(&h)->code_sets, ==, 65536);
	heap_init(&heap);
	l.decode_bytes_max = 512 << 20;
	CHECK_NUMBER(decode_limits(file, &l, &heap), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(heap.alloc_count, ==, 0);
	CHECK_NUMBER(decode_limits(file, &no_limits, &heap), ==, IMG_OK);
	free(file.data);
}

/* Nothing that libwebp can decode is refused, and no damage does harm. */
static void test_noise(void)
{
	for (int kind = 0; kind < 4; kind++) {
		struct bytes file =
			webp_make(WIDTH, HEIGHT, kind & 1, kind & 2);

		for (uint32_t i = 0; i < 300; i++) {
			struct bytes bad = { malloc(file.count), file.count };
			uint32_t r = scramble(i);
			struct image img = { 0 };
			struct heap h;
			int w, rows;
			uint8_t *rgba;

			CHECK(bad.data != NULL);
			memcpy(bad.data, file.data, file.count);
			bad.data[30 + r % (file.count - 30)] ^=
				(uint8_t)(1 << (r >> 29));
			rgba = WebPDecodeRGBA(bad.data, bad.count, &w, &rows);
			heap_init(&h);
			if (decode_bytes(&img, bad.data, bad.count, &no_limits,
					 &h) != IMG_OK)
				CHECK(rgba == NULL);
			img_release(&img);
			CHECK_NUMBER(h.live_count, ==, 0);
			WebPFree(rgba);
			free(bad.data);
		}
		free(file.data);
	}
}

/*
 * The beginning of a lossless picture is not read again until there are twice
 * as many bytes of it, so it does not matter here that they have changed.
 */
static void test_read_once(void)
{
	enum { BEGIN = 12 + 8 + 5, COUNT = 16 };
	struct bytes file = webp_make(400, 400, true, true);
	struct img_header h = { 0 };

	CHECK_NUMBER(img_probe_more(&h, file.data, BEGIN + COUNT, &no_limits),
		     ==, IMG_ERR_TRUNCATED);
	memset(file.data + BEGIN, 255, COUNT);
	for (size_t n = COUNT + 1; n < (size_t)2 * COUNT; n++)
		CHECK_NUMBER(
			img_probe_more(&h, file.data, BEGIN + n, &no_limits),
			==, IMG_ERR_TRUNCATED);
	CHECK_NUMBER(img_probe_more(&h, file.data, BEGIN + (size_t)2 * COUNT,
				    &no_limits),
		     ==, IMG_ERR_CORRUPT);
	free(file.data);
}

/*
 * A predictor for every 4 x 4 of the largest picture, each one bit: 2 MB come
 * before the codes of the pixels.
 */
static void test_long_beginning(void)
{
	static const uint8_t head[] = {
		'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P', 'V', 'P',
		'8', 'L', 0, 0, 0, 0, 0x2f,
		/* 16383 x 16383, no alpha */
		0xfe, 0xbf, 0xff, 0x0f,
		/* a predictor of 4 x 4; green is 0 or 1, the rest is 0 */
		0x81, 0x09, 0x88, 0x88, 0
	};
	size_t count = (WEBP_BEGINNING_BYTES_MAX + sizeof(head)) / 2 * 2 + 8;
	struct bytes file = { calloc(count, 1), count };
	struct img_header h;

	CHECK(file.data != NULL);
	memcpy(file.data, head, sizeof(head));
	for (int i = 0; i < 4; i++) {
		file.data[4 + i] = (uint8_t)((count - 8) >> 8 * i);
		file.data[16 + i] = (uint8_t)((count - 20) >> 8 * i);
	}
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &no_limits), ==,
		     IMG_ERR_UNSUPPORTED);
	free(file.data);
}

int main(void)
{
	test_headers();
	test_long_beginning();
	test_read_once();
	test_wrong_headers();
	test_range();
	check_planes(1, 1);
	check_planes(17, 3);
	check_planes(400, 301);
	check_pixels(false);
	check_pixels(true);
	test_lossy_alpha();
	test_opaque_alpha();
	test_profile();
	test_animation();
	check_frame_in_canvas(false);
	check_frame_in_canvas(true);
	for (uint32_t kind = 0; kind < 4; kind++)
		check_damage(kind);
	test_limits();
	test_code_sets();
	test_noise();
	return 0;
}
