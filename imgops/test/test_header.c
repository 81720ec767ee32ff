/* SPDX-License-Identifier: MIT */
/*
 * Promises: what is wrong with a header is told by the error, and found before
 * any pixel is allocated; limits hold to the pixel; the orientation is known
 * before decoding.
 */
#include "imgops/test/support.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct jpeg_spec plain = { .width = 35, .height = 19, .h = { 2 } };
static const struct jpeg_spec progressive = {
	.width = 35, .height = 19, .h = { 2 }, .progressive = true
};

static void test_other_files_are_not_jpeg(void)
{
	static const char *const others[] = { "",
					      "\xff",
					      "\xd8",
					      "\xd8\xff",
					      "\x89PNG\r\n\x1a\n",
					      "GIF89a",
					      "\xff\xd9\xff\xd8" };
	struct image img;
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < LENGTH(others); i++)
		assert(decode_bytes(&img, (const uint8_t *)others[i],
				    strlen(others[i]), &no_limits,
				    &h) == IMG_ERR_NOT_JPEG);
	assert(h.alloc_count == 0);
}

static void test_other_processes_are_unsupported(void)
{
	struct jpeg_spec two = plain;
	struct bytes jpeg = jpeg_make(&plain);
	struct heap h;

	heap_init(&h);
	jpeg_marker(jpeg, 0xc0)[0] = 12; /* bits of a sample */
	assert(decode_limits(jpeg, &no_limits, &h) == IMG_ERR_UNSUPPORTED);
	jpeg_marker(jpeg, 0xc0)[0] = 8;
	jpeg_marker(jpeg, 0xc0)[-3] = 0xc3; /* lossless */
	assert(decode_limits(jpeg, &no_limits, &h) == IMG_ERR_UNSUPPORTED);
	free(jpeg.data);
	two.two_components = true;
	jpeg = jpeg_make(&two);
	assert(decode_limits(jpeg, &no_limits, &h) == IMG_ERR_UNSUPPORTED);
	assert(h.alloc_count == 0);
	free(jpeg.data);
}

static void test_limits_hold_before_anything_is_allocated(void)
{
	struct bytes jpeg = jpeg_make(&progressive); /* 35 x 19, progressive */
	struct img_limits side = no_limits, pixels = no_limits;
	struct img_limits bytes = no_limits, scans = no_limits;
	struct heap h;

	heap_init(&h);
	side.side_px_max = 34;
	assert(decode_limits(jpeg, &side, &h) == IMG_ERR_TOO_LARGE);
	pixels.pixels_max = 35 * 19 - 1;
	assert(decode_limits(jpeg, &pixels, &h) == IMG_ERR_TOO_LARGE);
	bytes.decode_bytes_max = 35 * 19 * 2; /* Y' and half of it twice */
	assert(decode_limits(jpeg, &bytes, &h) == IMG_ERR_TOO_LARGE);
	assert(h.alloc_count == 0);
	scans.scans_max = 9; /* libjpeg's script has 10 */
	assert(decode_limits(jpeg, &scans, &h) == IMG_ERR_TOO_MANY_SCANS);
	side.side_px_max = 35;
	side.pixels_max = 35 * 19;
	side.scans_max = 10;
	side.decode_bytes_max = 100000;
	assert(decode_limits(jpeg, &side, &h) == IMG_OK);
	assert(h.live_count == 0);
	free(jpeg.data);
}

/* 65,500 x 65,500 pixels in a file of some hundred bytes. */
static void test_a_false_size_costs_no_memory(void)
{
	static const struct img_limits limits = { 65500, UINT64_MAX, 64,
						  512 << 20 };
	struct bytes jpeg = jpeg_make(&plain);
	struct heap h;

	heap_init(&h);
	memcpy(jpeg_marker(jpeg, 0xc0) + 1, "\xff\xdc\xff\xdc", 4);
	assert(decode_limits(jpeg, &limits, &h) == IMG_ERR_TOO_LARGE);
	assert(h.largest_bytes < 100000); /* libjpeg's own */
	free(jpeg.data);
}

static void test_orientation_turns_the_upright_size(void)
{
	for (uint32_t i = 0; i <= 17; i++) {
		struct jpeg_spec spec = { .width = 30,
					  .height = 20,
					  .orientation = i / 2,
					  .little_endian = i % 2 };
		struct bytes jpeg = jpeg_make(&spec);
		uint32_t expected = i / 2 ? i / 2 : 1;
		struct img_header header;
		enum img_err err =
			img_probe(&header, jpeg.data, jpeg.count, &no_limits);

		assert(err == IMG_OK);
		assert(header.orientation == expected);
		assert(header.stored.width_px == 30);
		assert(header.stored.height_px == 20);
		assert(header.upright.width_px == (expected >= 5 ? 20 : 30));
		assert(header.upright.height_px == (expected >= 5 ? 30 : 20));
		free(jpeg.data);
	}
}

static void test_the_target_is_upright(void)
{
	struct jpeg_spec spec = { .width = 64, .height = 16, .orientation = 6 };
	struct bytes jpeg = jpeg_make(&spec);
	struct heap h;

	heap_init(&h);
	struct image img = must_decode(jpeg, (struct img_size){ 4, 16 }, &h);

	assert(img.planes[0].width == 16 && img.planes[0].height == 4);
	img_release(&img);
	free(jpeg.data);
}

static uint64_t least_memory(struct bytes jpeg)
{
	struct img_limits limits = no_limits;
	struct heap h;

	heap_init(&h);
	limits.decode_bytes_max = 0;
	while (decode_limits(jpeg, &limits, &h) == IMG_ERR_TOO_LARGE)
		limits.decode_bytes_max += 1024;
	assert(decode_limits(jpeg, &limits, &h) == IMG_OK);
	assert(h.live_count == 0);
	return limits.decode_bytes_max;
}

/* The planes are the same, but a progressive file's coefficients are kept. */
static void test_coefficients_count_as_memory(void)
{
	struct jpeg_spec spec = { .width = 350, .height = 190, .h = { 2 } };
	struct bytes a = jpeg_make(&spec);

	spec.progressive = true;

	struct bytes b = jpeg_make(&spec);
	uint64_t more = least_memory(b) - least_memory(a);

	/* 44 x 24 blocks of Y', 22 x 24 of Cb and Cr, of 64 16-bit values. */
	assert(more >= 2112 * 128 && more < 2112 * 128 + 100000);
	free(a.data);
	free(b.data);
}

static void test_a_cut_app1_is_an_error(void)
{
	struct jpeg_spec spec = { .width = 8, .height = 8, .orientation = 6 };
	struct bytes jpeg = jpeg_make(&spec);
	uint8_t *length = jpeg_marker(jpeg, 0xe1) - 2;
	struct heap h;

	heap_init(&h);
	memcpy(length, "\xff\xff", 2);
	assert(decode_limits(jpeg, &no_limits, &h) == IMG_ERR_TRUNCATED);
	assert(h.alloc_count == 0);
	/* An impossible length is none, as for libjpeg. */
	memcpy(length, "\0\1", 2);
	assert(decode_limits(jpeg, &no_limits, &h) == IMG_OK);
	free(jpeg.data);
}

static void test_the_first_orientation_counts(void)
{
	struct jpeg_spec spec = { .width = 8, .height = 8, .orientation = 6 };
	struct bytes a = jpeg_make(&spec);
	size_t length = 36, head = 2 + 18; /* EXIF; SOI and JFIF */
	struct bytes b = { malloc(a.count + length), a.count + length };
	struct img_header header;

	assert(b.data != NULL);
	memcpy(b.data, a.data, head + length);
	memcpy(b.data + head + length, a.data + head, a.count - head);
	assert(b.data[head + 1] == 0xe1 && b.data[head + length + 1] == 0xe1);
	*(uint8_t *)memchr(b.data + head + length + 28, 6, 8) = 3;
	enum img_err err = img_probe(&header, b.data, b.count, &no_limits);

	assert(err == IMG_OK && header.orientation == 6);
	free(a.data);
	free(b.data);
}

int main(void)
{
	test_other_files_are_not_jpeg();
	test_other_processes_are_unsupported();
	test_limits_hold_before_anything_is_allocated();
	test_a_false_size_costs_no_memory();
	test_coefficients_count_as_memory();
	test_orientation_turns_the_upright_size();
	test_the_target_is_upright();
	test_a_cut_app1_is_an_error();
	test_the_first_orientation_counts();
	return 0;
}
