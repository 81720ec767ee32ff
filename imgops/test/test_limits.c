/* SPDX-License-Identifier: MIT */
/*
 * Promises of img_probe() and img_decode() together: limits hold to the pixel
 * and to the byte, before any pixel is allocated.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

static const struct jpeg_spec plain = { .width = 35, .height = 19, .h = { 2 } };
static const struct jpeg_spec progressive = {
	.width = 35, .height = 19, .h = { 2 }, .progressive = true
};

static enum img_err probe_limits(struct bytes jpeg,
				 const struct img_limits *limits)
{
	struct img_header header = { 0 };
	enum img_err err = img_probe(&header, jpeg.data, jpeg.count, limits);

	/*
	 * The size is known, so that a message about the refusal can name it.
	 */
	CHECK_NUMBER((img_pixels(header.stored) > 0), ==,
		     (err == IMG_OK || err == IMG_ERR_TOO_LARGE));
	return err;
}

static void test_limits_hold_before_anything_is_allocated(void)
{
	struct bytes jpeg = jpeg_make(&progressive); /* 35 x 19 */
	struct img_limits side = no_limits, pixels = no_limits;
	struct img_limits bytes = no_limits, scans = no_limits;
	struct heap h;

	heap_init(&h);
	side.side_px_max = 34;
	CHECK_NUMBER(probe_limits(jpeg, &side), ==, IMG_ERR_TOO_LARGE);
	/* The side may be the other one. */
	memcpy(jpeg_marker(jpeg, 0xc2) + 1, "\0\x23\0\x13", 4);
	CHECK_NUMBER(probe_limits(jpeg, &side), ==, IMG_ERR_TOO_LARGE);
	memcpy(jpeg_marker(jpeg, 0xc2) + 1, "\0\x13\0\x23", 4);
	pixels.pixels_max = 35 * 19 - 1;
	CHECK_NUMBER(probe_limits(jpeg, &pixels), ==, IMG_ERR_TOO_LARGE);
	/* Y', and Cb and Cr of half the size. */
	bytes.decode_bytes_max = 35 * 19 * 2;
	CHECK_NUMBER(decode_limits(jpeg, &bytes, &h), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.alloc_count, ==, 0);
	scans.scans_max = 9; /* libjpeg's script has 10 */
	CHECK_NUMBER(probe_limits(jpeg, &scans), ==, IMG_ERR_TOO_MANY_SCANS);
	side.side_px_max = 35;
	side.pixels_max = 35 * 19;
	side.scans_max = 10;
	side.decode_bytes_max = 100000;
	CHECK_NUMBER(decode_limits(jpeg, &side, &h), ==, IMG_OK);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

/*
 * A file of some hundred bytes can make libjpeg visit every block in every
 * scan.
 */
static void test_a_large_picture_may_have_fewer_scans(void)
{
	struct jpeg_spec spec = { .width = 64,
				  .height = 32,
				  .space = JCS_CMYK,
				  .progressive = true };
	struct bytes jpeg = jpeg_make(&spec); /* libjpeg's script has 18 */
	struct img_limits limits = no_limits;

	limits.pixels_max = 64 * 32;
	CHECK_NUMBER(probe_limits(jpeg, &limits), ==, IMG_ERR_TOO_MANY_SCANS);
	limits.pixels_max = 64 * 32 * 18 / 16 - 1;
	CHECK_NUMBER(probe_limits(jpeg, &limits), ==, IMG_ERR_TOO_MANY_SCANS);
	limits.pixels_max++;
	CHECK_NUMBER(probe_limits(jpeg, &limits), ==, IMG_OK);
	/* As large as a result may be, not as large as a file. */
	limits.result_pixels_max = limits.pixels_max - 1;
	limits.pixels_max = UINT64_MAX;
	CHECK_NUMBER(probe_limits(jpeg, &limits), ==, IMG_ERR_TOO_MANY_SCANS);
	limits.result_pixels_max++;
	CHECK_NUMBER(probe_limits(jpeg, &limits), ==, IMG_OK);
	free(jpeg.data);
}

/* The largest file may be larger than the largest result. */
static void test_a_result_has_a_limit_of_its_own(void)
{
	struct bytes jpeg = jpeg_make(&plain); /* 35 x 19 */
	struct img_limits limits = no_limits;
	struct heap h;

	heap_init(&h);
	limits.result_pixels_max = 35 * 19;
	CHECK_NUMBER(decode_limits(jpeg, &limits, &h), ==, IMG_OK);
	limits.result_pixels_max--;
	CHECK_NUMBER(probe_limits(jpeg, &limits), ==, IMG_OK);
	CHECK_NUMBER(decode_limits(jpeg, &limits, &h), ==, IMG_ERR_TOO_LARGE);
	limits.result_pixels_max = UINT64_MAX;
	limits.pixels_max = 35 * 19 - 1;
	CHECK_NUMBER(probe_limits(jpeg, &limits), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

/* 65,500 x 65,500 pixels in a file of some hundred bytes. */
static void test_a_false_size_costs_no_memory(void)
{
	static const struct img_limits limits = { 65500, UINT64_MAX, 64,
						  512 << 20, 0 };
	struct bytes jpeg = jpeg_make(&plain);
	struct heap h;

	heap_init(&h);
	memcpy(jpeg_marker(jpeg, 0xc0) + 1, "\xff\xdc\xff\xdc", 4);
	CHECK_NUMBER(decode_limits(jpeg, &limits, &h), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.largest_bytes, <, 100000); /* memory of libjpeg itself */
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
	CHECK_NUMBER(decode_limits(jpeg, &limits, &h), ==, IMG_OK);
	CHECK_NUMBER(h.live_count, ==, 0);
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
	CHECK_NUMBER(more, >=, 2112 * 128);
	CHECK_NUMBER(more, <, 2112 * 128 + 100000);
	free(a.data);
	free(b.data);
}

/* Probe `jpeg` with the four bytes of `unit` inserted `count` times at `at`. */
static enum img_err probe_with(struct bytes jpeg, size_t at,
			       const uint8_t *unit, size_t count)
{
	struct bytes more = { malloc(jpeg.count + 4 * count),
			      jpeg.count + 4 * count };
	enum img_err err;

	CHECK(more.data != NULL);
	memcpy(more.data, jpeg.data, at);
	for (size_t i = 0; i < count; i++)
		memcpy(more.data + at + 4 * i, unit, 4);
	memcpy(more.data + at + 4 * count, jpeg.data + at, jpeg.count - at);
	err = probe_limits(more, &no_limits);
	free(more.data);
	return err;
}

/*
 * A header with far more markers or garbage than any photo is refused before
 * its end: libjpeg took 8 s for 400,000 bytes of the first case.
 */
static void test_markers_and_gaps_are_bounded(void)
{
	static const uint8_t markers[][4] = { { 0xff, 0xe1, 0, 2 },
					      { 0xff, 0xfe, 0, 2 },
					      { 0xff, 1, 0xff, 1 } };
	static const uint8_t gaps[][4] = { { 0xff, 0xff, 0xff, 0xff },
					   { 0xff, 0, 0xff, 0 },
					   { 0, 0, 0, 0 } };
	struct bytes one = jpeg_make(&plain), scans = jpeg_make(&progressive);

	for (size_t i = 0; i < ARRAY_SIZE(markers); i++) {
		const uint8_t *unit = markers[i];

		CHECK_NUMBER(probe_with(one, 2, unit, 16000), ==, IMG_OK);
		CHECK_NUMBER(probe_with(one, 2, unit, 33000), ==,
			     IMG_ERR_CORRUPT);
		CHECK_NUMBER(probe_with(one, 2, unit, 8 << 20), ==,
			     IMG_ERR_CORRUPT);
		/* Before EOI. */
		CHECK_NUMBER(probe_with(scans, scans.count - 2, unit, 16000),
			     ==, IMG_OK);
		CHECK_NUMBER(probe_with(scans, scans.count - 2, unit, 33000),
			     ==, IMG_ERR_CORRUPT);
	}
	for (size_t i = 0; i < ARRAY_SIZE(gaps); i++) {
		const uint8_t *unit = gaps[i];

		CHECK_NUMBER(probe_with(one, 2, unit, 16000), ==, IMG_OK);
		CHECK_NUMBER(probe_with(one, 2, unit, 17000), ==,
			     IMG_ERR_TRUNCATED);
		CHECK_NUMBER(probe_with(one, 2, unit, 8 << 20), ==,
			     IMG_ERR_TRUNCATED);
	}
	free(one.data);
	free(scans.data);
}

int main(void)
{
	test_limits_hold_before_anything_is_allocated();
	test_a_large_picture_may_have_fewer_scans();
	test_a_result_has_a_limit_of_its_own();
	test_a_false_size_costs_no_memory();
	test_coefficients_count_as_memory();
	test_markers_and_gaps_are_bounded();
	return 0;
}
