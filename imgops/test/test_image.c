/* SPDX-License-Identifier: MIT */
/*
 * Promises: planes of an image do not overlap, and have room for the samples
 * that libjpeg writes past their edges; without memory the image is empty.
 */
#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <string.h>

static void test_every_error_has_words(void)
{
	for (int e = IMG_OK; e <= IMG_ERR_NO_MEMORY; e++) {
		CHECK_NUMBER(strlen(img_strerror((enum img_err)e)), >, 3);
		for (int f = IMG_OK; f < e; f++)
			CHECK(strcmp(img_strerror((enum img_err)e),
				     img_strerror((enum img_err)f)) != 0);
	}
}

static void check_layout(const struct image *img)
{
	const uint8_t *end = img->block;

	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];
		size_t rows = p->height + IMAGE_ROW_GROUP_MAX - 1;

		CHECK_NUMBER(p->stride_bytes, >=,
			     p->width + IMAGE_BLOCK_PX - 1);
		CHECK_NUMBER(p->samples, >=, end);
		/* The sanitizers see a write past the block. */
		memset(p->samples, (int)i, rows * p->stride_bytes);
		end = p->samples + rows * p->stride_bytes;
	}
	CHECK_NUMBER(end, <=, (uint8_t *)img->block + image_bytes(img));
	for (uint32_t i = 0; i < img->plane_count; i++)
		CHECK_NUMBER(
			sample(&img->planes[i], 0, img->planes[i].height - 1),
			==, i);
}

static void test_planes_have_room_for_whole_blocks(void)
{
	struct heap h;

	heap_init(&h);
	for (uint32_t width = 1; width < 70; width++) {
		struct image img;
		bool ok;

		image_shape(&img, (struct img_size){ width, 70 - width },
			    IMG_YCBCR, false);
		ok = image_alloc(&img, &h.memory);
		CHECK(ok);
		CHECK(image_is_shaped(&img));
		check_layout(&img);
		img.planes[1].width++;
		CHECK(!image_is_shaped(&img));
		img_release(&img);
		CHECK(is_empty(&img));
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_the_largest_image_is_counted_in_full(void)
{
	struct image img;

	image_shape(&img, (struct img_size){ 65500, 65500 }, IMG_YCBCR, false);
	CHECK_NUMBER(image_bytes(&img), >, (uint64_t)65500 * 65500 * 3 / 2);
	CHECK_NUMBER(image_bytes(&img), <, (uint64_t)66000 * 66000 * 3 / 2);
}

static void test_no_memory_leaves_an_empty_image(void)
{
	struct image img;
	struct heap h;
	bool ok;

	heap_init(&h);
	h.fail_at = 1;
	image_shape(&img, (struct img_size){ 9, 9 }, IMG_GREY, false);
	ok = image_alloc(&img, &h.memory);
	CHECK(!ok);
	CHECK(is_empty(&img));
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	test_every_error_has_words();
	test_planes_have_room_for_whole_blocks();
	test_the_largest_image_is_counted_in_full();
	test_no_memory_leaves_an_empty_image();
	return 0;
}
