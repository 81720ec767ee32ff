/* SPDX-License-Identifier: MIT */
/*
 * libjpeg alone does the same work as the pipeline: it makes planes of the same
 * size, and encodes a result that it has read to the same bytes.
 */
#include "imgops/bench/floor.h"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * At a reduced size, libjpeg alone decodes subsampled planes at up to twice the
 * scale.  Between 1/8 and 8/8 it uses another filter than imgops.  At 1/8, its
 * last column and row contain samples outside of the frame.
 */
static void check_same(const struct floor *f, const struct image *img,
		       uint32_t dct_scale)
{
	uint32_t count = dct_scale == 8 ? f->plane_count : 1;
	uint32_t cut = dct_scale == 1 ? 1 : 0;

	CHECK_NUMBER(f->plane_count, ==, img->plane_count);
	for (uint32_t i = 0; i < count; i++) {
		const struct img_plane *a = &f->planes[i];
		const struct img_plane *b = &img->planes[i];

		CHECK_NUMBER(a->width, ==, b->width);
		CHECK_NUMBER(a->height, ==, b->height);
		for (uint32_t y = 0;
		     (dct_scale == 1 || dct_scale == 8) && y < a->height - cut;
		     y++)
			CHECK(memcmp(a->samples + y * a->stride_bytes,
				     b->samples + y * b->stride_bytes,
				     a->width - cut) == 0);
	}
}

static void test_decodes_as_the_pipeline_does(void)
{
	struct jpeg_spec specs[] = {
		{ .width = 333,
		  .height = 217,
		  .picture = waves,
		  .h = { 2, 1, 1 },
		  .v = { 2, 1, 1 } },
		{ .width = 160,
		  .height = 99,
		  .picture = waves,
		  .h = { 2, 1, 1 },
		  .v = { 1, 1, 1 } },
		{ .width = 41,
		  .height = 87,
		  .picture = waves,
		  .h = { 1, 1, 1 },
		  .v = { 1, 1, 1 } },
		{ .width = 70,
		  .height = 50,
		  .picture = waves,
		  .space = JCS_GRAYSCALE },
	};
	static const uint32_t scales[] = { 1, 2, 3, 4, 8 };
	struct floor f = { 0 };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bytes jpeg = jpeg_make(&specs[i]);

		for (size_t k = 0; k < ARRAY_SIZE(scales); k++) {
			uint32_t dct_scale = scales[k];
			struct img_header header = {
				.stored = { specs[i].width, specs[i].height }
			};
			struct image img = must_decode(
				jpeg, target_at(header.stored, dct_scale), &h);

			CHECK_NUMBER(lround(8 * img.planes[0].span_x /
					    header.stored.width_px),
				     ==, dct_scale);
			floor_decode(&f, jpeg.data, jpeg.count, dct_scale);
			CHECK(f.has_luma);
			check_same(&f, &img, dct_scale);
			img_release(&img);
		}
		free(jpeg.data);
	}
	floor_release(&f);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void check_encoded(struct img_size size, enum img_space space)
{
	struct img_transform transform = { .quality = 80 };
	struct floor f = { 0 };
	size_t bytes, bytes_again;
	uint8_t *jpeg, *again;
	struct image img;
	struct heap h;
	enum img_err err;

	heap_init(&h);
	img = image_make(size, space, waves, &h);
	err = img_encode(&jpeg, &bytes, &img, &transform, &h.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	floor_decode(&f, jpeg, bytes, 8);
	bytes_again = floor_encode(&f, transform.quality);
	again = f.jpeg;
	/* Decoded and encoded again, some values may be rounded differently. */
	CHECK_NUMBER(bytes_again, >, bytes * 9 / 10);
	CHECK_NUMBER(bytes_again, <, bytes * 11 / 10);
	floor_decode(&f, again, bytes_again, 8);
	CHECK_NUMBER(f.size.width_px, ==, size.width_px);
	CHECK_NUMBER(f.size.height_px, ==, size.height_px);
	h.memory.free(h.memory.arg, jpeg);
	img_release(&img);
	floor_release(&f);
}

static void test_encodes_what_the_pipeline_encoded(void)
{
	check_encoded((struct img_size){ 333, 217 }, IMG_YCBCR);
	check_encoded((struct img_size){ 17, 31 }, IMG_YCBCR);
	check_encoded((struct img_size){ 70, 50 }, IMG_GREY);
}

int main(void)
{
	test_decodes_as_the_pipeline_does();
	test_encodes_what_the_pipeline_encoded();
	return 0;
}
