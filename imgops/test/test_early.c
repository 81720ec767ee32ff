/* SPDX-License-Identifier: MIT */
/*
 * Promises: a file that is decoded while it arrives gives the same samples as
 * one that has come, or is refused as that, in whatever pieces it comes; also a
 * damaged one, and one that is decoded in another way in the end.  Bytes that
 * were decoded are not read again, and those that have not come are not read.
 */
#include "base/random.h"
#include "base/test/check.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD_BYTES = 1000, /* more than there are before a scan */
	MCU_BYTES = 4000,  /* more than one has */
};

/* A file that arrives, and what is asked for. */
struct arrival {
	struct bytes jpeg;
	struct img_transform transform, first; /* in the end, and at first */
	struct img_header header;
	struct img_early *early;
	enum img_err err; /* of what has come */
	size_t spoiled;   /* bytes that nobody may need any more */
	struct heap heap;
};

static double noisy(uint32_t component, double x, double y)
{
	double noise = sin(x * 12.9898 + y * 78.233 + component) * 43758.5453;

	return waves(component, x, y) + 40 * (noise - floor(noise)) - 20;
}

/* At the beginning like any other, then with fine stripes. */
static double striped(uint32_t component, double x, double y)
{
	if (y < 200)
		return waves(component, x, y);
	return component == 0 && (uint32_t)x % 3 == 0 ? 230 : 40;
}

static const struct jpeg_spec specs[] = {
	{ .width = 481, .height = 363 },
	{ .width = 400, .height = 303, .h = { 1, 1, 1 }, .v = { 1, 1, 1 } },
	{ .width = 450, .height = 350, .h = { 1, 1, 1 }, .v = { 2, 1, 1 } },
	{ .width = 500, .height = 400, .space = JCS_GRAYSCALE },
	{ .width = 300, .height = 200, .space = JCS_CMYK },
	{ .width = 400, .height = 300, .restart_interval = 1 },
	{ .width = 400, .height = 300, .restart_interval = 37 },
	{ .width = 400, .height = 300, .optimize = true },
	{ .width = 400, .height = 400, .picture = striped },
	{ .width = 40, .height = 24 },
};

static struct bytes make(const struct jpeg_spec *from)
{
	struct jpeg_spec spec = *from;

	if (spec.picture == NULL)
		spec.picture = noisy;
	return jpeg_make(&spec);
}

static void arrive(struct arrival *a, struct bytes jpeg, uint32_t side)
{
	*a = (struct arrival){
		.jpeg = jpeg,
		.transform = { .quality = 80, .box = { side, side } },
	};
	a->first = a->transform;
	heap_init(&a->heap);
}

/* In a block of its own, so that sanitizers notice what is read behind. */
static uint8_t *copy_of(const struct arrival *a, size_t count)
{
	uint8_t *copy = malloc(count);

	CHECK(copy != NULL);
	memcpy(copy, a->jpeg.data, count);
	if (a->spoiled > 0)
		memset(copy + HEAD_BYTES, 0x55, a->spoiled - HEAD_BYTES);
	return copy;
}

/* `count` bytes have come. */
static void come(struct arrival *a, size_t count)
{
	static const _Atomic bool never = false;
	uint8_t *bytes = copy_of(a, count);

	if (a->early == NULL &&
	    img_probe_more(&a->header, bytes, count, &no_limits) == IMG_OK) {
		struct img_view view = img_fit(&a->header, &a->first);

		a->early =
			img_early_begin(bytes, count, &a->header, &view,
					&a->first, &no_limits, &a->heap.memory);
	}
	if (a->early != NULL)
		a->err = img_early_come(a->early, bytes, count, &never);
	free(bytes);
}

/* All has come. */
static enum img_err end(struct arrival *a, struct image *img)
{
	uint8_t *bytes = copy_of(a, a->jpeg.count);
	struct img_header h = { 0 };
	struct img_view view;
	enum img_err err;

	*img = (struct image){ 0 };
	err = img_probe_more(&h, a->jpeg.data, a->jpeg.count, &no_limits);
	if (err == IMG_OK)
		do {
			view = img_fit(&h, &a->transform);
			err = img_decode_rest(
				img, a->early, bytes, a->jpeg.count, &h, &view,
				&a->transform, &no_limits, &a->heap.memory);
		} while (img_decode_again(&h, err));
	img_early_free(a->early);
	free(bytes);
	return err;
}

static void check_end(struct arrival *a)
{
	struct arrival whole;
	struct image early, late;
	enum img_err err;

	arrive(&whole, a->jpeg, 0);
	whole.transform = a->transform;
	err = end(&whole, &late);
	CHECK_NUMBER(end(a, &early), ==, err);
	CHECK(is_same(&early, &late));
	img_release(&early);
	img_release(&late);
	CHECK_NUMBER(a->heap.live_count, ==, 0);
}

static void check_pieces(struct bytes jpeg, uint32_t side, size_t piece)
{
	struct arrival a;

	arrive(&a, jpeg, side);
	for (size_t count = piece; count < jpeg.count; count += piece)
		come(&a, count);
	check_end(&a);
}

/* So that the file is decoded at 1/8, 2/8, 4/8 and 8/8. */
static uint32_t side_at(const struct jpeg_spec *spec, uint32_t n)
{
	struct img_size size =
		target_at((struct img_size){ spec->width, spec->height }, n);

	return size.width_px > size.height_px ? size.width_px : size.height_px;
}

static void test_all_kinds_of_scans(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bytes jpeg = make(&specs[i]);

		for (uint32_t n = 1; n <= 8; n *= 2) {
			uint32_t side = side_at(&specs[i], n);

			check_case("%zu at %u/8", i, n);
			check_pieces(jpeg, side, 1 + jpeg.count / 7);
			check_pieces(jpeg, side, 9777);
			check_pieces(jpeg, side, jpeg.count - 1);
		}
		free(jpeg.data);
	}
}

static void test_byte_by_byte(void)
{
	struct jpeg_spec spec = { .width = 96, .height = 64 };
	struct bytes jpeg = make(&spec);

	for (uint32_t n = 1; n <= 8; n *= 2)
		check_pieces(jpeg, side_at(&spec, n), 1);
	free(jpeg.data);
}

static void test_damaged_files(void)
{
	uint64_t random = 7;

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bytes jpeg = make(&specs[i]);

		for (uint32_t j = 0; j < 4; j++) {
			size_t at = (size_t)random_between(
				&random, 300, (double)jpeg.count - 2);
			uint8_t was = jpeg.data[at];
			uint32_t side = side_at(&specs[i], 1u << j % 4);

			jpeg.data[at] =
				(uint8_t)random_between(&random, 0, 256);
			check_case("%zu, byte %zu", i, at);
			check_pieces(jpeg, side, 1 + jpeg.count / 3);
			jpeg.data[at] = was;
		}
		check_case("%zu, cut", i);
		jpeg.count = jpeg.count * 2 / 3;
		for (uint32_t n = 1; n <= 8; n *= 2)
			check_pieces(jpeg, side_at(&specs[i], n),
				     1 + jpeg.count / 5);
		free(jpeg.data);
	}
}

static void test_nothing_is_read_twice(void)
{
	struct bytes jpeg = make(&specs[0]);

	for (uint32_t n = 1; n <= 8; n *= 2) {
		struct arrival a;

		check_case("at %u/8", n);
		arrive(&a, jpeg, side_at(&specs[0], n));
		come(&a, jpeg.count / 2);
		CHECK(a.early != NULL);
		come(&a, jpeg.count);
		a.spoiled = jpeg.count - MCU_BYTES;
		check_end(&a);
	}
	free(jpeg.data);
}

/* What was asked for changes when all has come. */
static void test_another_result(void)
{
	struct bytes jpeg = make(&specs[0]);
	struct arrival a;

	arrive(&a, jpeg, 100);
	a.first.box = (struct img_size){ 300, 300 };
	come(&a, jpeg.count / 2);
	CHECK(a.early != NULL);
	check_end(&a);
	arrive(&a, jpeg, 200);
	a.transform.light = IMG_LIGHT_LINEAR;
	come(&a, jpeg.count / 2);
	check_end(&a);
	arrive(&a, jpeg, 200);
	a.first.light = a.transform.light = IMG_LIGHT_LINEAR;
	come(&a, jpeg.count / 2);
	check_end(&a);
	free(jpeg.data);
}

static void test_stops(void)
{
	static const _Atomic bool at_once = true;
	struct bytes jpeg = make(&specs[0]);
	struct arrival a;

	arrive(&a, jpeg, 200);
	come(&a, 2000);
	CHECK(a.early != NULL);
	CHECK_NUMBER(img_early_come(a.early, jpeg.data, jpeg.count, &at_once),
		     ==, IMG_OK);
	check_end(&a);
	free(jpeg.data);
}

static void test_files_that_are_not_decoded_early(void)
{
	struct jpeg_spec others[] = {
		{ .width = 200, .height = 200, .progressive = true },
		{ .width = 200, .height = 200, .arithmetic = true },
		{ .width = 200, .height = 200, .separate_scans = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct bytes jpeg = make(&others[i]);
		struct arrival a;

		arrive(&a, jpeg, 100);
		check_case("%zu", i);
		come(&a, jpeg.count / 2);
		CHECK(a.early == NULL);
		check_end(&a);
		free(jpeg.data);
	}
}

static void test_without_memory(void)
{
	struct bytes jpeg = make(&specs[0]);

	for (uint32_t i = 1;; i++) {
		struct arrival a;

		arrive(&a, jpeg, 200);
		a.heap.fail_at = i;
		come(&a, jpeg.count / 2);
		if (a.early != NULL) {
			CHECK_NUMBER(i, >, 3);
			check_end(&a);
			break;
		}
		CHECK_NUMBER(a.heap.live_count, ==, 0);
	}
	free(jpeg.data);
}

int main(void)
{
	test_all_kinds_of_scans();
	test_byte_by_byte();
	test_damaged_files();
	test_nothing_is_read_twice();
	test_another_result();
	test_stops();
	test_files_that_are_not_decoded_early();
	test_without_memory();
	return 0;
}
