/* SPDX-License-Identifier: MIT */
/*
 * Promises: a file that is not whole is an error, never part of a picture;
 * whatever the bytes are, nothing crashes, and on an error the image is empty
 * and nothing leaks; limits are errors of their own, found before any pixel is
 * allocated.  What whole files decode to is in test_planar and
 * test_interleaved.
 */
#include "imgops/test/support.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct img_size full = { 65500, 65500 };

/* Small files, one of each coding. */
static const struct jpeg_spec kinds[] = {
	{ .width = 35, .height = 19, .h = { 2 }, .v = { 2 } },
	{ .width = 35, .height = 19, .space = JCS_GRAYSCALE },
	{ .width = 35, .height = 19, .h = { 2 }, .progressive = true },
	{ .width = 35, .height = 19, .h = { 2 }, .separate_scans = true },
	{ .width = 35, .height = 19, .restart_interval = 2 },
	{ .width = 35, .height = 19, .arithmetic = true },
	{ .width = 35, .height = 19, .arithmetic = true, .progressive = true },
	{ .width = 21, .height = 19, .space = JCS_RGB },
	{ .width = 21, .height = 19, .space = JCS_YCCK, .orientation = 6 },
};

/* Probe and decode a copy on the heap, so that sanitizers see its ends. */
static enum img_err try(struct image *img, const uint8_t *data, size_t count,
			const struct img_limits *limits, struct heap *h)
{
	struct img_header header;
	uint8_t *copy = malloc(count + 1);
	enum img_err err;

	assert(copy != NULL);
	if (count > 0)
		memcpy(copy + 1, data, count);
	*img = (struct image){ 0 };
	err = img_probe(&header, copy + 1, count, limits);
	if (err == IMG_OK)
		err = img_decode(img, copy + 1, count, &header, full, limits,
				 &h->memory);
	free(copy);
	assert(err == IMG_OK || is_empty(img));
	return err;
}

static enum img_err try_limits(struct bytes jpeg,
			       const struct img_limits *limits, struct heap *h)
{
	struct image img;
	enum img_err err = try(&img, jpeg.data, jpeg.count, limits, h);

	img_release(&img);
	return err;
}

/* Where the data of the first marker `code` begins, after its length. */
static uint8_t *marker(struct bytes jpeg, uint8_t code)
{
	uint8_t *at = jpeg.data + 2;

	while (at[1] != code) {
		assert(at[0] == 0xff);
		at += 2 + (at[2] << 8 | at[3]);
		assert(at + 4 < jpeg.data + jpeg.count);
	}
	return at + 4;
}

static void check_truncations(const struct jpeg_spec *spec)
{
	struct bytes jpeg = jpeg_make(spec);
	struct image whole, img;
	struct heap h;

	heap_init(&h);
	whole = must_decode(jpeg, full, &h);
	for (size_t count = 0; count < jpeg.count; count++) {
		enum img_err err = try(&img, jpeg.data, count, &no_limits, &h);

		if (count < 2)
			assert(err == IMG_ERR_NOT_JPEG);
		else if (count < jpeg.count - 2)
			assert(err == IMG_ERR_TRUNCATED);
		else if (!spec->arithmetic)
			assert(err == IMG_OK && is_same(&img, &whole));
		else
			assert(err == IMG_ERR_TRUNCATED ||
			       is_same(&img, &whole));
		img_release(&img);
	}
	img_release(&whole);
	assert(h.live_count == 0);
	free(jpeg.data);
}

static void test_a_file_cut_anywhere_is_truncated_or_whole(void)
{
	for (size_t i = 0; i < LENGTH(kinds); i++)
		check_truncations(&kinds[i]);
}

/* A cut file with an EOI put at its end lacks pixels just the same. */
static void test_an_eoi_does_not_hide_a_cut(void)
{
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		/* Progressive data may end after any scan. */
		if (kinds[i].progressive || kinds[i].arithmetic)
			continue;
		struct bytes jpeg = jpeg_make(&kinds[i]);
		struct image img;
		struct heap h;

		heap_init(&h);
		for (size_t count = 2; count < jpeg.count - 2; count++) {
			uint8_t a = jpeg.data[count];
			uint8_t b = jpeg.data[count + 1];

			jpeg.data[count] = 0xff;
			jpeg.data[count + 1] = 0xd9;
			enum img_err err =
				try(&img, jpeg.data, count + 2, &no_limits, &h);

			assert(err == IMG_ERR_CORRUPT ||
			       err == IMG_ERR_TRUNCATED);
			jpeg.data[count] = a;
			jpeg.data[count + 1] = b;
		}
		assert(h.live_count == 0);
		free(jpeg.data);
	}
}

static void test_bytes_after_the_end_are_ignored(void)
{
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		size_t count = jpeg.count + 1000;
		uint8_t *longer = malloc(count);
		struct image whole, img;
		struct heap h;

		assert(longer != NULL);
		heap_init(&h);
		memcpy(longer, jpeg.data, jpeg.count);
		for (size_t k = jpeg.count; k < count; k++)
			longer[k] = (uint8_t)scramble((uint32_t)k);
		whole = must_decode(jpeg, full, &h);
		enum img_err err = try(&img, longer, count, &no_limits, &h);

		assert(err == IMG_OK && is_same(&img, &whole));
		img_release(&img);
		img_release(&whole);
		free(longer);
		free(jpeg.data);
	}
}

static void test_no_flipped_bit_crashes_or_leaks(void)
{
	static const struct img_limits small = { 2000, 200000, 20, 2000000 };
	uint32_t error_count = 0;

	for (size_t i = 0; i < LENGTH(kinds); i++) {
		struct jpeg_spec spec = kinds[i];

		spec.quality = 50;
		struct bytes jpeg = jpeg_make(&spec);
		struct heap h;

		heap_init(&h);
		for (size_t bit = 0; bit < jpeg.count * 8; bit++) {
			jpeg.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			error_count += try_limits(jpeg, &small, &h) != IMG_OK;
			jpeg.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert(h.live_count == 0);
		free(jpeg.data);
	}
	assert(error_count > 1000);
}

static void test_random_bytes_after_the_header_never_crash(void)
{
	static const struct img_limits small = { 2000, 200000, 20, 2000000 };

	for (size_t i = 0; i < LENGTH(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		struct heap h;

		heap_init(&h);
		for (uint32_t n = 0; n < 300; n++) {
			uint32_t r = scramble(n);

			for (uint32_t k = 0; k < 3; k++)
				jpeg.data[scramble(r + k) % jpeg.count] =
					(uint8_t)(r >> 8 * k);
			(void)try_limits(jpeg, &small, &h);
		}
		assert(h.live_count == 0);
		free(jpeg.data);
	}
}

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
		assert(try(&img, (const uint8_t *)others[i], strlen(others[i]),
			   &no_limits, &h) == IMG_ERR_NOT_JPEG);
	assert(h.alloc_count == 0);
}

static void test_other_processes_are_unsupported(void)
{
	struct jpeg_spec two = kinds[0];
	struct bytes jpeg = jpeg_make(&kinds[0]);
	struct heap h;

	heap_init(&h);
	marker(jpeg, 0xc0)[0] = 12; /* bits of a sample */
	assert(try_limits(jpeg, &no_limits, &h) == IMG_ERR_UNSUPPORTED);
	marker(jpeg, 0xc0)[0] = 8;
	marker(jpeg, 0xc0)[-3] = 0xc3; /* lossless */
	assert(try_limits(jpeg, &no_limits, &h) == IMG_ERR_UNSUPPORTED);
	free(jpeg.data);
	two.two_components = true;
	jpeg = jpeg_make(&two);
	assert(try_limits(jpeg, &no_limits, &h) == IMG_ERR_UNSUPPORTED);
	assert(h.alloc_count == 0);
	free(jpeg.data);
}

static void test_limits_hold_before_anything_is_allocated(void)
{
	struct bytes jpeg = jpeg_make(&kinds[2]); /* 35 x 19, progressive */
	struct img_limits side = no_limits, pixels = no_limits;
	struct img_limits bytes = no_limits, scans = no_limits;
	struct heap h;

	heap_init(&h);
	side.side_px_max = 34;
	assert(try_limits(jpeg, &side, &h) == IMG_ERR_TOO_LARGE);
	pixels.pixels_max = 35 * 19 - 1;
	assert(try_limits(jpeg, &pixels, &h) == IMG_ERR_TOO_LARGE);
	/* Coefficients alone: 3 planes of at least 3 x 3 blocks. */
	bytes.decode_bytes_max = 3 * 3 * 3 * 128;
	assert(try_limits(jpeg, &bytes, &h) == IMG_ERR_TOO_LARGE);
	assert(h.alloc_count == 0);
	scans.scans_max = 9; /* libjpeg's script has 10 */
	assert(try_limits(jpeg, &scans, &h) == IMG_ERR_TOO_MANY_SCANS);
	side.side_px_max = 35;
	side.pixels_max = 35 * 19;
	side.scans_max = 10;
	side.decode_bytes_max = 100000;
	assert(try_limits(jpeg, &side, &h) == IMG_OK);
	assert(h.live_count == 0);
	free(jpeg.data);
}

/* 65,500 x 65,500 pixels in a file of some hundred bytes. */
static void test_a_false_size_costs_no_memory(void)
{
	static const struct img_limits limits = { 65500, UINT64_MAX, 64,
						  512 << 20 };
	struct bytes jpeg = jpeg_make(&kinds[0]);
	struct heap h;

	heap_init(&h);
	memcpy(marker(jpeg, 0xc0) + 1, "\xff\xdc\xff\xdc", 4);
	assert(try_limits(jpeg, &limits, &h) == IMG_ERR_TOO_LARGE);
	assert(h.alloc_count == 0);
	free(jpeg.data);
}

/* Components 1 2 3 1 2 3 ...: for a sequential file against the standard. */
static void test_a_repeated_scan_is_corrupt(void)
{
	struct bytes jpeg = jpeg_make(&kinds[3]);
	uint8_t *scans = marker(jpeg, 0xda) - 4;
	size_t head = (size_t)(scans - jpeg.data);
	size_t scans_count = jpeg.count - head - 2;
	struct bytes twice = { malloc(jpeg.count + scans_count),
			       jpeg.count + scans_count };
	struct heap h;

	assert(twice.data != NULL);
	heap_init(&h);
	memcpy(twice.data, jpeg.data, head + scans_count);
	memcpy(twice.data + head + scans_count, scans, scans_count + 2);
	assert(try_limits(jpeg, &no_limits, &h) == IMG_OK);
	assert(try_limits(twice, &no_limits, &h) == IMG_ERR_CORRUPT);
	assert(h.live_count == 0);
	free(twice.data);
	free(jpeg.data);
}

static void test_a_missing_component_is_corrupt(void)
{
	struct bytes jpeg = jpeg_make(&kinds[3]);
	size_t end = jpeg.count - 2;
	struct heap h;

	heap_init(&h);
	while (jpeg.data[end] != 0xff || jpeg.data[end + 1] != 0xda)
		end--;
	jpeg.data[end + 1] = 0xd9; /* EOI in place of the third scan */
	assert(try_limits(jpeg, &no_limits, &h) == IMG_ERR_CORRUPT);
	assert(h.live_count == 0);
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

static void test_no_memory_is_an_error(void)
{
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		enum img_err err = IMG_ERR_NO_MEMORY;
		uint32_t at = 0;
		struct heap h;

		while (err == IMG_ERR_NO_MEMORY) {
			heap_init(&h);
			h.fail_at = ++at;
			err = try_limits(jpeg, &no_limits, &h);
			assert(h.live_count == 0);
		}
		assert(err == IMG_OK && at > 1);
		free(jpeg.data);
	}
}

int main(void)
{
	test_a_file_cut_anywhere_is_truncated_or_whole();
	test_an_eoi_does_not_hide_a_cut();
	test_bytes_after_the_end_are_ignored();
	test_no_flipped_bit_crashes_or_leaks();
	test_random_bytes_after_the_header_never_crash();
	test_other_files_are_not_jpeg();
	test_other_processes_are_unsupported();
	test_limits_hold_before_anything_is_allocated();
	test_a_false_size_costs_no_memory();
	test_a_repeated_scan_is_corrupt();
	test_a_missing_component_is_corrupt();
	test_orientation_turns_the_upright_size();
	test_the_target_is_upright();
	test_no_memory_is_an_error();
	return 0;
}
