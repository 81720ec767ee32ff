/* SPDX-License-Identifier: MIT */
/*
 * Promise: however few rows a file has, and whatever is between its scans,
 * decode pauses at least once for each PART_BYTES that are read.  So a
 * small upload need not wait for a large file with a single row of MCUs.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

enum {
	PART_BYTES = 64 << 10,
	SEGMENT_BYTES = 0xffff, /* the longest, without its marker */
	SEGMENTS = 30,
};

static double noise(uint32_t component, double x, double y)
{
	uint32_t at = (uint32_t)(x * 3 + y * 700000) + component;

	return scramble(at) % 2 == 0 ? 0 : 255;
}

/* Decode at full size, and return how often there was a pause. */
static uint32_t count_pauses(struct image *img, struct bytes jpeg,
			     struct heap *h)
{
	uint32_t before = h->pause_count;
	enum img_err err =
		decode_bytes(img, jpeg.data, jpeg.count, &no_limits, h);

	CHECK_NUMBER(err, ==, IMG_OK);
	return h->pause_count - before;
}

static void check_row(const struct jpeg_spec *spec)
{
	struct bytes jpeg = jpeg_make(spec);
	struct image img;
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(jpeg.count, >, 10 * PART_BYTES);
	CHECK_NUMBER(count_pauses(&img, jpeg, &h), >=, jpeg.count / PART_BYTES);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

static void test_a_row_of_mcus_pauses(void)
{
	struct jpeg_spec spec = { .width = 16000,
				  .height = 32,
				  .picture = noise,
				  .h = { 1, 1, 1 },
				  .v = { 4, 4, 2 },
				  .quality = 100 };

	check_row(&spec);
	spec.arithmetic = true;
	check_row(&spec);
	spec.progressive = true;
	check_row(&spec);
	spec.arithmetic = false;
	check_row(&spec);
}

/* Long segments of `code` before the picture, filled with bytes of `fill`. */
static struct bytes with_segments(struct bytes jpeg, uint8_t code,
				  const uint8_t *fill, size_t fill_bytes,
				  size_t segment_bytes)
{
	struct bytes b = { malloc(jpeg.count + SEGMENTS * (2 + segment_bytes)),
			   2 };

	CHECK(b.data != NULL);
	memcpy(b.data, jpeg.data, 2);
	for (int i = 0; i < SEGMENTS; i++) {
		uint8_t *to = b.data + b.count;

		to[0] = 0xff;
		to[1] = code;
		to[2] = (uint8_t)(segment_bytes >> 8);
		to[3] = (uint8_t)segment_bytes;
		for (size_t k = 0; k < segment_bytes - 2; k++)
			to[4 + k] = fill[k % fill_bytes];
		b.count += 2 + segment_bytes;
	}
	memcpy(b.data + b.count, jpeg.data + 2, jpeg.count - 2);
	b.count += jpeg.count - 2;
	return b;
}

static const struct jpeg_spec small = { .width = 35, .height = 19 };

/* libjpeg reads each step of a table. */
static void test_long_headers_pause(void)
{
	uint8_t table[1 + DCTSIZE2] = { 3 };
	size_t bytes = SEGMENT_BYTES - (SEGMENT_BYTES - 2) % sizeof(table);
	struct bytes plain = jpeg_make(&small), jpeg;
	struct image img;
	struct heap h;

	heap_init(&h);
	memset(table + 1, 1, DCTSIZE2);
	jpeg = with_segments(plain, MARKER_DQT, table, sizeof(table), bytes);
	CHECK_NUMBER(count_pauses(&img, jpeg, &h), >=, jpeg.count / PART_BYTES);
	img_release(&img);
	free(jpeg.data);
	free(plain.data);
}

/* Segments that are skipped may end anywhere in a part, and at its end. */
static void test_parts_of_a_file_are_one_file(void)
{
	struct bytes plain = jpeg_make(&small);
	struct image expected, img;
	struct heap h;

	heap_init(&h);
	(void)count_pauses(&expected, plain, &h);
	for (size_t bytes = SEGMENT_BYTES - 40; bytes <= SEGMENT_BYTES;
	     bytes++) {
		struct bytes jpeg =
			with_segments(plain, MARKER_COM,
				      (const uint8_t *)"\xff\xd8", 2, bytes);

		(void)count_pauses(&img, jpeg, &h);
		CHECK(is_same(&img, &expected));
		img_release(&img);
		free(jpeg.data);
	}
	img_release(&expected);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(plain.data);
}

int main(void)
{
	test_a_row_of_mcus_pauses();
	test_long_headers_pause();
	test_parts_of_a_file_are_one_file();
	return 0;
}
