/* SPDX-License-Identifier: MIT */
/*
 * Promises: an incomplete file is an error, never part of a picture; no input
 * crashes; after an error the image is empty and nothing leaks.  Lenient
 * decoding returns the readable part of a damaged file, and reports the damage.
 * Headers are tested in test_header, limits in test_limits, the samples of
 * whole files in test_planar.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

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

static void check_truncations(const struct jpeg_spec *spec)
{
	struct bytes jpeg = jpeg_make(spec);
	struct image whole, img;
	struct heap h;

	heap_init(&h);
	whole = must_decode(jpeg, full_size, &h);
	for (size_t count = 0; count < jpeg.count; count++) {
		enum img_err err =
			decode_bytes(&img, jpeg.data, count, &no_limits, &h);

		if (count < 2)
			CHECK_NUMBER(err, ==, IMG_ERR_UNKNOWN_FORMAT);
		else if (count < jpeg.count - 2)
			CHECK_NUMBER(err, ==, IMG_ERR_TRUNCATED);
		else if (!spec->arithmetic)
			CHECK(err == IMG_OK && is_same(&img, &whole));
		else
			CHECK(err == IMG_ERR_TRUNCATED ||
			      is_same(&img, &whole));
		img_release(&img);
	}
	img_release(&whole);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

static void test_a_file_cut_anywhere_is_truncated_or_whole(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		check_truncations(&kinds[i]);
}

/* A cut file with an EOI put at its end still lacks pixels. */
static void test_an_eoi_does_not_hide_a_cut(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
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
			enum img_err err = decode_bytes(
				&img, jpeg.data, count + 2, &no_limits, &h);

			CHECK(err == IMG_ERR_CORRUPT ||
			      err == IMG_ERR_TRUNCATED);
			jpeg.data[count] = a;
			jpeg.data[count + 1] = b;
		}
		CHECK_NUMBER(h.live_count, ==, 0);
		free(jpeg.data);
	}
}

static void test_bytes_after_the_end_are_ignored(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		size_t count = jpeg.count + 1000;
		uint8_t *longer = malloc(count);
		struct image whole, img;
		struct heap h;

		CHECK(longer != NULL);
		heap_init(&h);
		memcpy(longer, jpeg.data, jpeg.count);
		for (size_t k = jpeg.count; k < count; k++)
			longer[k] = (uint8_t)scramble((uint32_t)k);
		whole = must_decode(jpeg, full_size, &h);
		enum img_err err =
			decode_bytes(&img, longer, count, &no_limits, &h);

		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK(is_same(&img, &whole));
		img_release(&img);
		img_release(&whole);
		free(longer);
		free(jpeg.data);
	}
}

static void test_no_flipped_bit_crashes_or_leaks(void)
{
	static const struct img_limits small = { 2000, 200000, 20, 2000000, 0 };
	uint32_t error_count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct jpeg_spec spec = kinds[i];

		spec.quality = 50;
		struct bytes jpeg = jpeg_make(&spec);
		struct heap h;

		heap_init(&h);
		for (size_t bit = 0; bit < jpeg.count * 8; bit++) {
			jpeg.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			error_count +=
				decode_limits(jpeg, &small, &h) != IMG_OK;
			jpeg.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		CHECK_NUMBER(h.live_count, ==, 0);
		free(jpeg.data);
	}
	CHECK_NUMBER(error_count, >, 1000);
}

static void test_random_bytes_after_the_header_never_crash(void)
{
	static const struct img_limits small = { 2000, 200000, 20, 2000000, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		struct heap h;

		heap_init(&h);
		for (uint32_t n = 0; n < 300; n++) {
			uint32_t r = scramble(n);

			for (uint32_t k = 0; k < 3; k++)
				jpeg.data[scramble(r + k) % jpeg.count] =
					(uint8_t)(r >> 8 * k);
			(void)decode_limits(jpeg, &small, &h);
		}
		CHECK_NUMBER(h.live_count, ==, 0);
		free(jpeg.data);
	}
}

/*
 * The arithmetic decoder itself would not notice: it reads zeros from the
 * marker on.
 */
static void test_a_marker_inside_arithmetic_data_is_corrupt(void)
{
	struct bytes jpeg = jpeg_make(&kinds[5]);
	struct heap h;

	heap_init(&h);
	jpeg.data[jpeg.count - 40] = 0xff;
	jpeg.data[jpeg.count - 39] = 0xc9;
	CHECK_NUMBER(decode_limits(jpeg, &no_limits, &h), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

/* If it is lenient, what comes before the repeated scan is the picture. */
static void check_first_scans_are_used(struct bytes once, struct bytes twice)
{
	struct img_transform lenient = { .quality = 80, .lenient = true };
	struct image right, damaged;
	enum img_err err;
	struct heap h;

	heap_init(&h);
	err = decode_transform(&right, once.data, once.count, &lenient,
			       &no_limits, &h);
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(right.notes, ==, 0);
	err = decode_transform(&damaged, twice.data, twice.count, &lenient,
			       &no_limits, &h);
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(damaged.notes, ==, IMG_NOTE_DAMAGED);
	CHECK(is_same(&right, &damaged));
	img_release(&right);
	img_release(&damaged);
}

/*
 * Scans of components 1 2 3 1 2 3 ..., which the standard forbids in a
 * sequential file.
 */
static void test_a_repeated_scan_is_corrupt(void)
{
	enum { SOS_BYTES = 10 };
	struct bytes jpeg = jpeg_make(&kinds[3]);
	uint8_t *scans = jpeg_marker(jpeg, 0xda) - 4;
	size_t head = (size_t)(scans - jpeg.data);
	size_t scans_count = jpeg.count - head - 2;
	struct bytes twice = { malloc(jpeg.count + scans_count),
			       jpeg.count + scans_count };
	struct heap h;

	CHECK(twice.data != NULL);
	heap_init(&h);
	memcpy(twice.data, jpeg.data, head + scans_count);
	memcpy(twice.data + head + scans_count, scans, scans_count + 2);
	/* Other samples. */
	twice.data[head + scans_count + SOS_BYTES] ^= 8;
	CHECK_NUMBER(decode_limits(jpeg, &no_limits, &h), ==, IMG_OK);
	CHECK_NUMBER(decode_limits(twice, &no_limits, &h), ==, IMG_ERR_CORRUPT);
	check_first_scans_are_used(jpeg, twice);
	CHECK_NUMBER(h.live_count, ==, 0);
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
	CHECK_NUMBER(decode_limits(jpeg, &no_limits, &h), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

static const struct img_transform lenient = { .lenient = true };

static void test_a_lenient_whole_file_is_not_damaged(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		struct image strict, img;
		struct heap h;

		heap_init(&h);
		strict = must_decode(jpeg, full_size, &h);
		enum img_err err = decode_transform(&img, jpeg.data, jpeg.count,
						    &lenient, &no_limits, &h);

		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK_NUMBER(img.notes, ==, 0);
		CHECK(is_same(&img, &strict));
		img_release(&img);
		img_release(&strict);
		CHECK_NUMBER(h.live_count, ==, 0);
		free(jpeg.data);
	}
}

/*
 * A cut sequential file gives its upper rows, a cut progressive file its first
 * scans.
 */
static void test_a_lenient_cut_file_gives_what_it_has(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		uint32_t damaged_count = 0;
		struct image whole, img;
		struct heap h;

		heap_init(&h);
		whole = must_decode(jpeg, full_size, &h);
		for (size_t count = 0; count < jpeg.count - 2; count++) {
			enum img_err err =
				decode_transform(&img, jpeg.data, count,
						 &lenient, &no_limits, &h);

			CHECK(err == IMG_OK || is_empty(&img));
			if (err == IMG_OK) {
				CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
				damaged_count++;
			}
			/* The first row of MCUs of a sequential file. */
			for (uint32_t x = 0;
			     err == IMG_OK && x < 8 &&
			     !kinds[i].separate_scans && !kinds[i].progressive;
			     x++)
				CHECK_NUMBER(sample(&img.planes[0], x, 0), ==,
					     sample(&whole.planes[0], x, 0));
			img_release(&img);
		}
		CHECK_NUMBER(damaged_count, >, 50);
		img_release(&whole);
		CHECK_NUMBER(h.live_count, ==, 0);
		free(jpeg.data);
	}
}

/*
 * libjpeg gives up at a table that it cannot read; the scans before it are
 * used.
 */
static void test_lenient_stops_at_a_broken_segment(void)
{
	struct bytes jpeg = jpeg_make(&kinds[2]);
	size_t table = jpeg.count - 2;
	struct image img;
	struct heap h;

	heap_init(&h);
	while (jpeg.data[table] != 0xff || jpeg.data[table + 1] != 0xc4)
		table--;
	jpeg.data[table + 4] = 0xee; /* table 14 */
	CHECK_NUMBER(decode_limits(jpeg, &no_limits, &h), ==, IMG_ERR_CORRUPT);
	enum img_err err = decode_transform(&img, jpeg.data, jpeg.count,
					    &lenient, &no_limits, &h);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

/* With some wrong bytes in the data, most of the picture is still readable. */
static void test_lenient_reads_on_behind_damage(void)
{
	struct jpeg_spec spec = { .width = 160,
				  .height = 160,
				  .h = { 2 },
				  .v = { 2 },
				  .restart_interval = 10 };
	struct bytes jpeg = jpeg_make(&spec);
	uint32_t damaged_count = 0;
	struct image whole, img;
	struct heap h;

	heap_init(&h);
	whole = must_decode(jpeg, full_size, &h);
	for (size_t at = jpeg.count / 2; at < jpeg.count / 2 + 200; at++) {
		uint8_t kept[8];

		memcpy(kept, jpeg.data + at, sizeof(kept));
		memset(jpeg.data + at, 0xfe, sizeof(kept));
		if (decode_limits(jpeg, &no_limits, &h) != IMG_OK) {
			enum img_err err =
				decode_transform(&img, jpeg.data, jpeg.count,
						 &lenient, &no_limits, &h);
			const struct img_plane *p = &img.planes[0];

			CHECK_NUMBER(err, ==, IMG_OK);
			CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
			for (uint32_t x = 0; x < p->width; x++)
				CHECK_NUMBER(sample(p, x, 40), ==,
					     sample(&whole.planes[0], x, 40));
			/*
			 * Skip the case in which a marker was overwritten, or
			 * one was made.
			 */
			if (memchr(kept, 0xff, sizeof(kept)) == NULL &&
			    jpeg.data[at - 1] != 0xff)
				CHECK_NUMBER(
					sample(p, 159, 159), ==,
					sample(&whole.planes[0], 159, 159));
			damaged_count++;
			img_release(&img);
		}
		memcpy(jpeg.data + at, kept, sizeof(kept));
	}
	CHECK_NUMBER(damaged_count, >, 10);
	img_release(&whole);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

static void test_no_memory_is_an_error(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		enum img_err err = IMG_ERR_NO_MEMORY;
		uint32_t at = 0;
		struct heap h;

		while (err == IMG_ERR_NO_MEMORY) {
			heap_init(&h);
			h.fail_at = ++at;
			err = decode_limits(jpeg, &no_limits, &h);
			CHECK_NUMBER(h.live_count, ==, 0);
		}
		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK_NUMBER(at, >, 1);
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
	test_a_marker_inside_arithmetic_data_is_corrupt();
	test_a_repeated_scan_is_corrupt();
	test_a_missing_component_is_corrupt();
	test_a_lenient_whole_file_is_not_damaged();
	test_a_lenient_cut_file_gives_what_it_has();
	test_lenient_stops_at_a_broken_segment();
	test_lenient_reads_on_behind_damage();
	test_no_memory_is_an_error();
	return 0;
}
