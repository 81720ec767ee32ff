/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_fit() keeps the aspect, never enlarges and never gives 0;
 * planes of an image lie apart, with room for what libjpeg writes past them;
 * an image without memory is empty.
 */
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void test_fit_gives_the_known_sizes(void)
{
	static const struct {
		struct img_size size, box, fit;
	} cases[] = {
		{ { 640, 480 }, { 320, 320 }, { 320, 240 } },
		{ { 480, 640 }, { 320, 320 }, { 240, 320 } },
		{ { 640, 480 }, { 0, 0 }, { 640, 480 } },
		{ { 640, 480 }, { 320, 0 }, { 320, 240 } },
		{ { 640, 480 }, { 0, 240 }, { 320, 240 } },
		{ { 640, 480 }, { 640, 480 }, { 640, 480 } },
		{ { 640, 480 }, { 1000, 1000 }, { 640, 480 } },
		{ { 640, 480 }, { 1000, 240 }, { 320, 240 } },
		{ { 640, 480 }, { 1, 1 }, { 1, 1 } },
		{ { 1, 1 }, { 640, 640 }, { 1, 1 } },
		{ { 65500, 1 }, { 640, 640 }, { 640, 1 } },
		{ { 1, 65500 }, { 640, 640 }, { 1, 640 } },
		{ { 65500, 65500 }, { 65499, 0 }, { 65499, 65499 } },
		{ { 65500, 65500 }, { UINT32_MAX, 7 }, { 7, 7 } },
		{ { 65500, 3 }, { 0, 2 }, { 43667, 2 } },
		{ { 100, 15 }, { 50, 50 }, { 50, 8 } }, /* 7.5 goes up */
		{ { 100, 149 }, { 0, 1 }, { 1, 1 } },
		{ { 1000, 3 }, { 100, 100 }, { 100, 1 } }, /* 0.3 goes to 1 */
		{ { 4032, 3024 }, { 640, 640 }, { 640, 480 } },
		{ { 4000, 3000 }, { 333, 1000 }, { 333, 250 } },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct img_size fit = img_fit(cases[i].size, cases[i].box);

		assert(fit.width_px == cases[i].fit.width_px);
		assert(fit.height_px == cases[i].fit.height_px);
	}
}

static void test_fit_stays_inside_and_keeps_the_aspect(void)
{
	for (uint32_t i = 0; i < 100000; i++) {
		struct img_size size = { scramble(4 * i) % 65500 + 1,
					 scramble(4 * i + 1) % 65500 + 1 };
		struct img_size box = { scramble(4 * i + 2) % 70000,
					scramble(4 * i + 3) % 70000 };
		struct img_size fit = img_fit(size, box);
		double w =
			(double)size.width_px * fit.height_px / size.height_px;
		double h =
			(double)size.height_px * fit.width_px / size.width_px;

		assert(fit.width_px >= 1 && fit.height_px >= 1);
		assert(fit.width_px <= size.width_px);
		assert(fit.height_px <= size.height_px);
		assert(box.width_px == 0 || fit.width_px <= box.width_px);
		assert(box.height_px == 0 || fit.height_px <= box.height_px);
		/* One side decides, the other is rounded, but not to 0. */
		assert(fabs(fit.width_px - fmax(1, w)) <= 0.5001 ||
		       fabs(fit.height_px - fmax(1, h)) <= 0.5001);
	}
}

static void test_every_error_has_words(void)
{
	for (int e = IMG_OK; e <= IMG_ERR_NO_MEMORY; e++) {
		assert(strlen(img_strerror((enum img_err)e)) > 3);
		for (int f = IMG_OK; f < e; f++)
			assert(strcmp(img_strerror((enum img_err)e),
				      img_strerror((enum img_err)f)) != 0);
	}
}

static void check_layout(const struct image *img)
{
	const uint8_t *end = img->block;

	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];
		size_t rows = p->height + IMAGE_ROW_GROUP_MAX - 1;

		assert(p->stride_bytes >= p->width + IMAGE_BLOCK_PX - 1);
		assert(p->samples >= end);
		/* The sanitizers see a write past the block. */
		memset(p->samples, (int)i, rows * p->stride_bytes);
		end = p->samples + rows * p->stride_bytes;
	}
	assert(end <= (uint8_t *)img->block + image_bytes(img));
	for (uint32_t i = 0; i < img->plane_count; i++)
		assert(sample(&img->planes[i], 0, img->planes[i].height - 1) ==
		       i);
}

static void test_planes_have_room_for_whole_blocks(void)
{
	struct heap h;

	heap_init(&h);
	for (uint32_t width = 1; width < 70; width++) {
		struct image img;
		bool ok;

		image_shape(&img, (struct img_size){ width, 70 - width }, 3);
		ok = image_alloc(&img, &h.memory);
		assert(ok);
		assert(image_is_shaped(&img));
		check_layout(&img);
		img.planes[1].width++;
		assert(!image_is_shaped(&img));
		img_release(&img);
		assert(is_empty(&img));
	}
	assert(h.live_count == 0);
}

static void test_the_largest_image_is_counted_in_full(void)
{
	struct image img;

	image_shape(&img, (struct img_size){ 65500, 65500 }, 3);
	assert(image_bytes(&img) > (uint64_t)65500 * 65500 * 3 / 2);
	assert(image_bytes(&img) < (uint64_t)66000 * 66000 * 3 / 2);
}

static void test_no_memory_leaves_an_empty_image(void)
{
	struct image img;
	struct heap h;
	bool ok;

	heap_init(&h);
	h.fail_at = 1;
	image_shape(&img, (struct img_size){ 9, 9 }, 1);
	ok = image_alloc(&img, &h.memory);
	assert(!ok);
	assert(is_empty(&img));
	img_release(&img);
	assert(h.live_count == 0);
}

int main(void)
{
	test_fit_gives_the_known_sizes();
	test_fit_stays_inside_and_keeps_the_aspect();
	test_every_error_has_words();
	test_planes_have_room_for_whole_blocks();
	test_the_largest_image_is_counted_in_full();
	test_no_memory_leaves_an_empty_image();
	return 0;
}
