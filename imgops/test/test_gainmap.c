/* SPDX-License-Identifier: MIT */
/*
 * Promises: the gain map of a picture is cut, scaled, turned and mirrored with
 * it, and blurred as much.  It is never enlarged, and keeps all samples if
 * the picture keeps its size.  A map of one channel stays right in other
 * primaries, and one of three gets the profile of its own.  Numbers that no map
 * has are refused.  Whatever allocation fails, nothing is left.
 */
#include "imgops/gainmap.h"

#include "base/test/check.h"
#include "imgops/test/profiles.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

static const struct img_gain usual = {
	.channel_count = 1,
	.uses_base_colours = true,
	.other_headroom = 3,
	.channels = { { 0, 3, 1, 1.0 / 64, 1.0 / 64 } },
};

/* A picture of `size` with a map of `map_size` that shows the same waves. */
static struct image make(struct img_size size, struct img_size map_size,
			 enum img_space map_space, struct heap *h)
{
	struct image img = image_make(size, IMG_GREY, waves, h);
	struct img_gainmap *map = gainmap_attach(&img, &h->memory);

	CHECK(map != NULL);
	map->image = image_make(map_size, map_space, waves, h);
	for (uint32_t y = 0; y < map_size.height_px; y++)
		for (uint32_t x = 0; x < map_size.width_px; x++) {
			struct img_plane *p = &map->image.planes[0];

			p->samples[y * p->stride_bytes + x] = picture_sample(
				waves, 0,
				(x + 0.5) * size.width_px / map_size.width_px,
				(y + 0.5) * size.height_px /
					map_size.height_px);
		}
	map->gain = usual;
	map->stored = map_size;
	map->base_stored = size;
	return img;
}

/* Each sample of the map is about the mean of the 2 x 2 of the result there. */
static void check_aligned(const struct image *img)
{
	const struct img_plane *p = &img->planes[0];
	const struct img_plane *m = &img->gainmap->image.planes[0];

	for (uint32_t y = 0; y < m->height; y++)
		for (uint32_t x = 0; x < m->width; x++) {
			int sum = sample(p, 2 * x, 2 * y) +
				  sample(p, 2 * x + 1, 2 * y) +
				  sample(p, 2 * x, 2 * y + 1) +
				  sample(p, 2 * x + 1, 2 * y + 1);

			CHECK_NUMBER(abs(4 * sample(m, x, y) - sum), <=, 4 * 4);
		}
}

static void test_follows_its_picture(void)
{
	const struct img_size size = { 400, 240 }, small = { 100, 60 };
	struct heap h;

	heap_init(&h);
	for (uint32_t orientation = 1; orientation <= 8; orientation++)
		for (int part = 0; part < 2; part++) {
			bool aside = orientation >= 5;
			struct img_view view = {
				.left = part * 0.25,
				.top = part * 0.5,
				.width = part ? 0.5 : 1,
				.height = part ? 0.5 : 1,
				.size = { aside ? 60 : 100, aside ? 100 : 60 },
				.orientation = orientation,
			};
			struct img_transform t = { .quality = 80,
						   .keep_gainmap = true };
			struct image img = make(size, small, IMG_GREY, &h);
			struct image out = { 0 };

			CHECK_NUMBER(
				img_scale(&out, &img, &view, &t, &h.memory), ==,
				IMG_OK);
			CHECK(out.gainmap != NULL);
			CHECK_NUMBER(out.gainmap->image.planes[0].width, ==,
				     view.size.width_px / 2);
			check_aligned(&out);
			img_release(&out);
			img_release(&img);
		}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_keeps_its_samples(void)
{
	const struct img_size size = { 101, 63 }, small = { 26, 16 };
	struct img_view view = whole_view(size);
	struct img_transform t = { .quality = 80, .keep_gainmap = true };
	struct image out = { 0 };
	struct heap h;

	heap_init(&h);

	struct image img = make(size, small, IMG_GREY, &h);

	CHECK_NUMBER(img_scale(&out, &img, &view, &t, &h.memory), ==, IMG_OK);
	CHECK(is_same(&out.gainmap->image, &img.gainmap->image));
	img_release(&out);
	view.size = (struct img_size){ 404, 252 };
	CHECK_NUMBER(img_scale(&out, &img, &view, &t, &h.memory), ==, IMG_OK);
	CHECK(is_same(&out.gainmap->image, &img.gainmap->image));
	img_release(&out);
	img_release(&img);
}

static void test_is_blurred(void)
{
	const struct img_size size = { 200, 120 }, small = { 100, 60 };
	struct image out = { 0 }, alone = { 0 };
	struct heap h;

	heap_init(&h);

	struct image img = make(size, small, IMG_GREY, &h);

	CHECK_NUMBER(img_blur(&out, &img, 8, &h.memory), ==, IMG_OK);
	CHECK_NUMBER(img_blur(&alone, &img.gainmap->image, 4, &h.memory), ==,
		     IMG_OK);
	CHECK(is_same(&out.gainmap->image, &alone));
	img_release(&out);
	img_release(&alone);
	img_release(&img);
}

static void test_is_applied_in_its_colours(void)
{
	const struct img_size size = { 40, 24 };
	struct img_view view = whole_view(size);
	struct img_transform t = { .quality = 80, .keep_gainmap = true };

	for (int is_colour = 0; is_colour < 2; is_colour++)
		for (int keeps = 0; keeps < 2; keeps++) {
			struct bytes p = profile_rgb(&gamuts[0], 1.8, 0);
			struct image out = { 0 };
			struct heap h;

			heap_init(&h);

			struct image img =
				make(size, size,
				     is_colour ? IMG_YCBCR : IMG_GREY, &h);
			struct image base =
				image_make(size, IMG_YCBCR, waves, &h);

			base.gainmap = img.gainmap;
			img.gainmap = NULL;
			img_release(&img);
			base.profile = memory_alloc(&h.memory, p.count);
			CHECK(base.profile != NULL);
			memcpy(base.profile, p.data, p.count);
			base.profile_bytes = p.count;
			t.keep_profile = keeps;
			CHECK_NUMBER(
				img_scale(&out, &base, &view, &t, &h.memory),
				==, IMG_OK);

			bool needs = is_colour && !keeps;

			CHECK(out.gainmap->gain.uses_base_colours == !needs);
			CHECK((out.gainmap->image.profile != NULL) == needs);
			img_release(&out);
			img_release(&base);
			free(p.data);
			CHECK_NUMBER(h.live_count, ==, 0);
		}
}

/* And a padded result. */
static void test_other_formats_drop_it(void)
{
	const struct img_size size = { 40, 24 };
	struct img_view view = whole_view(size);
	struct img_transform t = { .quality = 80,
				   .format = IMG_FORMAT_PPM,
				   .keep_gainmap = true };
	struct image out = { 0 };
	struct heap h;

	heap_init(&h);

	struct image img = make(size, size, IMG_GREY, &h);

	CHECK_NUMBER(img_scale(&out, &img, &view, &t, &h.memory), ==, IMG_OK);
	CHECK(out.gainmap == NULL);
	CHECK_NUMBER(out.notes, ==, IMG_NOTE_NO_GAINMAP);
	img_release(&out);
	t.format = IMG_FORMAT_JPEG;
	t.pad.left_px = view.pad.left_px = 1;
	CHECK_NUMBER(img_scale(&out, &img, &view, &t, &h.memory), ==, IMG_OK);
	CHECK(out.gainmap == NULL);
	CHECK_NUMBER(out.notes, ==, IMG_NOTE_NO_GAINMAP);
	img_release(&out);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_colours_in_a_grey_result(void)
{
	const struct img_size size = { 40, 24 };
	struct img_view view = whole_view(size);
	struct img_transform t = { .quality = 80,
				   .keep_gainmap = true,
				   .greyscale = true };

	for (int is_colour = 0; is_colour < 2; is_colour++) {
		struct image out = { 0 };
		struct heap h;

		heap_init(&h);

		struct image img =
			make(size, size, is_colour ? IMG_YCBCR : IMG_GREY, &h);

		CHECK_NUMBER(img_scale(&out, &img, &view, &t, &h.memory), ==,
			     IMG_OK);
		CHECK((out.gainmap == NULL) == is_colour);
		CHECK_NUMBER(out.notes, ==,
			     (is_colour ? IMG_NOTE_NO_GAINMAP : 0));
		img_release(&out);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

static void test_strange_numbers_are_refused(void)
{
	const struct img_size size = { 40, 24 };
	struct image out = { 0 };
	struct heap h;

	heap_init(&h);

	struct image img = make(size, size, IMG_GREY, &h);
	struct img_gain *gain = &img.gainmap->gain;

	CHECK_NUMBER(img_copy(&out, &img, &h.memory), ==, IMG_OK);
	CHECK(is_same(&out.gainmap->image, &img.gainmap->image));
	img_release(&out);
	gain->channels[0].gamma = 0;
	CHECK_NUMBER(img_copy(&out, &img, &h.memory), ==, IMG_ERR_CORRUPT);
	*gain = usual;
	gain->channels[0].min = 4;
	CHECK_NUMBER(img_copy(&out, &img, &h.memory), ==, IMG_ERR_CORRUPT);
	*gain = usual;
	gain->other_headroom = 0;
	CHECK_NUMBER(img_copy(&out, &img, &h.memory), ==, IMG_ERR_CORRUPT);
	*gain = usual;
	gain->channel_count = 4;
	CHECK_NUMBER(img_copy(&out, &img, &h.memory), ==, IMG_ERR_CORRUPT);
	CHECK(is_empty(&out));
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_failing_memory(void)
{
	const struct img_size size = { 40, 24 };
	struct img_view view = whole_view((struct img_size){ 20, 12 });
	struct img_transform t = { .quality = 80, .keep_gainmap = true };
	enum img_err err = IMG_ERR_NO_MEMORY;

	for (uint32_t n = 1; err == IMG_ERR_NO_MEMORY; n++) {
		struct image out = { 0 }, blurred = { 0 };
		struct heap h;

		heap_init(&h);

		struct image img = make(size, size, IMG_YCBCR, &h);

		CHECK_NUMBER(n, <, 100);
		h.fail_at = h.alloc_count + n;
		err = img_scale(&out, &img, &view, &t, &h.memory);
		if (err == IMG_OK)
			err = img_blur(&blurred, &out, 2, &h.memory);
		CHECK(err == IMG_OK || err == IMG_ERR_NO_MEMORY);
		img_release(&blurred);
		img_release(&out);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

int main(void)
{
	test_follows_its_picture();
	test_keeps_its_samples();
	test_is_blurred();
	test_is_applied_in_its_colours();
	test_other_formats_drop_it();
	test_no_colours_in_a_grey_result();
	test_strange_numbers_are_refused();
	test_failing_memory();
	return 0;
}
