/* SPDX-License-Identifier: MIT */
/*
 * Promises: what is inside of a border is what a slow reference finds in pixels
 * of R, G and B, in every space; each orientation has the corner that is seen
 * at the upper left; `crop` and turns are those of what is inside; a picture of
 * one colour stays as it is; and in a JPEG that is decoded at a reduced size an
 * edge is found to a sample.
 */
#include "imgops/trim.h"

#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/gainmaps.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 83, HEIGHT = 61, TOLERANCE = 20 };

static const struct img_size size = { WIDTH, HEIGHT };
static const enum img_space spaces[] = { IMG_GREY, IMG_YCBCR, IMG_RGB,
					 IMG_RGBA, IMG_CMYK,  IMG_YCCK };

static struct img_header header_of(struct img_size stored, uint32_t orientation)
{
	struct img_header h = { .stored = stored,
				.upright = stored,
				.orientation = orientation };

	if (orientation >= 5)
		h.upright =
			(struct img_size){ stored.height_px, stored.width_px };
	return h;
}

/* All samples of a plane are `levels`. */
static struct image plain(enum img_space space, struct img_size s,
			  const uint8_t levels[4], struct heap *h)
{
	struct image img;

	image_shape(&img, s, space, false);
	CHECK(image_alloc(&img, &h->memory));
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < img.planes[i].height; y++)
			memset(image_row(&img, i, y), levels[i],
			       img.planes[i].width);
	return img;
}

static uint8_t level_at(const struct image *img, uint32_t i, uint32_t x,
			uint32_t y)
{
	const struct img_plane *p = &img->planes[i];

	return image_row(img, i,
			 y * p->height /
				 img->planes[0].height)[x * p->width /
							img->planes[0].width];
}

/* Channels, of which each may differ by the tolerance; returns how many. */
static int channels_at(double c[4], const struct image *img, uint32_t x,
		       uint32_t y)
{
	double v[4] = { 0 };

	for (uint32_t i = 0; i < img->plane_count; i++)
		v[i] = level_at(img, i, x, y);
	memcpy(c, v, sizeof(v));
	if (img->space == IMG_YCBCR || img->space == IMG_YCCK) {
		c[0] = v[0] + 1.402 * (v[2] - 128);
		c[1] = v[0] - 0.344136 * (v[1] - 128) - 0.714136 * (v[2] - 128);
		c[2] = v[0] + 1.772 * (v[1] - 128);
	}
	return (int)img->plane_count;
}

/* -1: near enough to the tolerance that integers may say either. */
static int differs(const struct image *img, uint32_t x, uint32_t y,
		   const double background[4])
{
	bool is_exact = img->space != IMG_YCBCR && img->space != IMG_YCCK;
	double c[4], most = 0;
	int count = channels_at(c, img, x, y);

	for (int i = 0; i < count; i++)
		most = fmax(most, fabs(c[i] - background[i]));
	if (img->space == IMG_RGBA && c[3] <= TOLERANCE)
		return 0;
	if (!is_exact && fabs(most - TOLERANCE) < 0.8)
		return -1;
	return most > TOLERANCE;
}

/* False: it depends on a pixel that is at the tolerance. */
static bool reference(struct img_rect *r, const struct image *img)
{
	static int mask[HEIGHT + 2][WIDTH + 2];
	uint32_t left = WIDTH, top = HEIGHT, right = 0, bottom = 0;
	double background[4];

	(void)channels_at(background, img, 0, 0);
	for (uint32_t y = 0; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++) {
			mask[y + 1][x + 1] = differs(img, x, y, background);
			if (mask[y + 1][x + 1] < 0)
				return false;
		}
	for (uint32_t y = 0; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++) {
			int sum = 0;

			for (int k = 0; k < 9; k++)
				sum += mask[y + k / 3][x + k % 3];
			if (mask[y + 1][x + 1] == 0 || sum < 2)
				continue;
			left = min_u32(left, x);
			top = min_u32(top, y);
			right = x + 1 > right ? x + 1 : right;
			bottom = y + 1 > bottom ? y + 1 : bottom;
		}
	*r = (struct img_rect){ left, top, right - left, bottom - top };
	if (right == 0)
		*r = (struct img_rect){ 0, 0, WIDTH, HEIGHT };
	return true;
}

static bool is_rect(const struct img_rect *a, const struct img_rect *b)
{
	return a->left_px == b->left_px && a->top_px == b->top_px &&
	       a->width_px == b->width_px && a->height_px == b->height_px;
}

static void check_rect(const struct img_rect *found,
		       const struct img_rect *wanted)
{
	CHECK_NUMBER(found->left_px, ==, wanted->left_px);
	CHECK_NUMBER(found->top_px, ==, wanted->top_px);
	CHECK_NUMBER(found->width_px, ==, wanted->width_px);
	CHECK_NUMBER(found->height_px, ==, wanted->height_px);
}

/* What img_find_border() says is inside. */
static struct img_rect find(struct img_header *header, const struct image *img,
			    const struct img_transform *t, struct heap *h)
{
	struct img_rect all = { 0, 0, header->stored.width_px,
				header->stored.height_px };
	enum img_err err = img_find_border(header, img, t, &h->memory);
	const struct img_border *b = trim_known(header, t);

	CHECK(b != NULL);
	CHECK_NUMBER(err, ==,
		     (is_rect(&all, &b->inside) ? IMG_OK : IMG_ERR_BORDER));
	/* Once it is known, it is no news. */
	CHECK_NUMBER(img_find_border(header, img, t, &h->memory), ==, IMG_OK);
	return b->inside;
}

static uint32_t at_random(uint32_t *seed, uint32_t count)
{
	return scramble((*seed)++) % count;
}

/* Change all samples of a rectangle of a plane, each by at random. */
static void draw(struct image *img, uint32_t i, struct img_rect r, int least,
		 int most, uint32_t *seed)
{
	const struct img_plane *p = &img->planes[i];
	uint32_t step_x = WIDTH / p->width, step_y = HEIGHT / p->height;

	for (uint32_t y = r.top_px; y < r.top_px + r.height_px; y++)
		for (uint32_t x = r.left_px; x < r.left_px + r.width_px; x++) {
			uint8_t *at =
				&image_row(img, i, y / step_y)[x / step_x];
			int by = least +
				 (int)at_random(seed,
						(uint32_t)(most - least + 1));

			*at = (uint8_t)(*at > 127 ? *at - by : *at + by);
		}
}

/* Something between nothing, specks, lines, and a rectangle. */
static void draw_content(struct image *img, uint32_t *seed)
{
	uint32_t kind = at_random(seed, 4);
	uint32_t plane = at_random(seed, img->plane_count);

	if (kind > 0)
		for (uint32_t i = at_random(seed, 4); i > 0; i--)
			draw(img, plane,
			     (struct img_rect){ at_random(seed, WIDTH),
						at_random(seed, HEIGHT), 1, 1 },
			     30, 90, seed);
	if (kind > 1)
		draw(img, plane,
		     (struct img_rect){ 10 + at_random(seed, 20),
					10 + at_random(seed, 40),
					2 + at_random(seed, 40), 1 },
		     30, 90, seed);
	if (kind > 2)
		draw(img, plane,
		     (struct img_rect){
			     at_random(seed, 40), at_random(seed, 30),
			     1 + at_random(seed, 43), 1 + at_random(seed, 31) },
		     0, 100, seed);
}

static void test_all_spaces_are_as_the_reference(void)
{
	static const uint8_t backgrounds[][4] = {
		{ 255, 128, 128, 255 }, { 0, 128, 128, 0 },
		{ 250, 250, 250, 250 }, { 90, 170, 60, 200 },
		{ 0, 0, 0, 5 },
	};
	uint32_t seed = 1, checked = 0, trimmed = 0;
	struct heap h;

	heap_init(&h);
	for (uint32_t i = 0; i < 6000; i++) {
		enum img_space space = spaces[i % ARRAY_SIZE(spaces)];
		const uint8_t *levels = backgrounds[i / ARRAY_SIZE(spaces) %
						    ARRAY_SIZE(backgrounds)];
		struct image img = plain(space, size, levels, &h);
		struct img_header header = header_of(size, 1);
		struct img_transform t = { .trim = TOLERANCE };
		struct img_rect wanted, all = { 0, 0, WIDTH, HEIGHT };

		for (uint32_t k = 0; k < img.plane_count; k++)
			draw(&img, k, all, 0, i % 3 == 0 ? 4 : 0, &seed);
		draw_content(&img, &seed);
		check_case("space %u, picture %u", space, i);
		if (reference(&wanted, &img)) {
			struct img_rect found = find(&header, &img, &t, &h);

			check_rect(&found, &wanted);
			checked++;
			trimmed += !is_rect(&found, &all);
		}
		img_release(&img);
	}
	CHECK_NUMBER(checked, >, 4000);
	CHECK_NUMBER(trimmed, >, 2000);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* A spot that differs in one plane, by more and more. */
static void test_luma_and_chroma_weigh_as_in_rgb(void)
{
	static const uint8_t levels[4] = { 120, 110, 140, 0 };
	uint32_t checked = 0, trimmed = 0;
	struct heap h;

	heap_init(&h);
	for (int i = -45; i <= 45; i++)
		for (uint32_t plane = 0; plane < 3; plane++) {
			struct image img = plain(IMG_YCBCR, size, levels, &h);
			struct img_header header = header_of(size, 1);
			struct img_transform t = { .trim = TOLERANCE };
			struct img_rect wanted, found;

			for (uint32_t y = 10; y < 14; y++)
				memset(image_row(&img, plane, y) + 20,
				       levels[plane] + i, 4);
			check_case("plane %u, %d levels", plane, i);
			if (reference(&wanted, &img)) {
				found = find(&header, &img, &t, &h);
				check_rect(&found, &wanted);
				checked++;
				trimmed += wanted.width_px < WIDTH;
			}
			img_release(&img);
		}
	CHECK_NUMBER(checked, >, 240);
	CHECK_NUMBER(trimmed, >, 150);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* `count` x `count` pixels of another level, in the middle of 255. */
static struct image dot(uint8_t level, uint32_t count, struct heap *h)
{
	struct image img =
		plain(IMG_GREY, size, (const uint8_t[4]){ 255, 0, 0, 0 }, h);

	for (uint32_t y = 0; y < count; y++)
		memset(image_row(&img, 0, 30 + y) + 40, level, count);
	return img;
}

static void test_the_tolerance_is_the_last_level_of_the_border(void)
{
	static const struct {
		int trim;
		uint8_t level; /* the last that is border */
	} cases[] = { { 1, 245 },  { 10, 245 }, { 2, 253 },
		      { 200, 55 }, { 254, 1 },  { 255, 0 } };
	const struct img_rect inside = { 40, 30, 2, 2 };
	const struct img_rect all = { 0, 0, WIDTH, HEIGHT };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int more = 0; more <= (cases[i].level > 0); more++) {
			uint8_t level = (uint8_t)(cases[i].level - more);
			struct img_transform t = { .trim = cases[i].trim };
			struct img_header header = header_of(size, 1);
			struct image img = dot(level, 2, &h);
			struct img_rect found = find(&header, &img, &t, &h);

			check_case("trim %d, level %u", t.trim, level);
			check_rect(&found, more != 0 ? &inside : &all);
			img_release(&img);
		}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_what_has_no_border_stays(void)
{
	static const struct img_size sizes[] = { { 1, 1 },  { 1, 9 },
						 { 9, 1 },  { 2, 2 },
						 { 64, 1 }, { WIDTH, 7 } };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(spaces); i++) {
		struct img_size s = sizes[i / ARRAY_SIZE(spaces)];
		struct image img = plain(spaces[i % ARRAY_SIZE(spaces)], s,
					 (const uint8_t[4]){ 9, 9, 9, 9 }, &h);
		struct img_transform t = { .trim = 1 };
		struct img_header header = header_of(s, 1);
		struct img_rect all = { 0, 0, s.width_px, s.height_px };
		struct img_rect found = find(&header, &img, &t, &h);

		check_rect(&found, &all);
		/* A speck in it is no picture. */
		image_row(&img, 0, s.height_px - 1)[s.width_px - 1] = 200;
		header = header_of(s, 1);
		found = find(&header, &img, &t, &h);
		check_rect(&found, &all);
		img_release(&img);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* A transparent margin at the right, white around, and a picture in it. */
static void test_what_is_transparent_is_border(void)
{
	const struct img_rect wanted = { 20, 10, 30, 40 };
	struct img_transform t = { .trim = 1 };
	struct heap h;

	heap_init(&h);
	for (int kind = 0; kind < 2; kind++) {
		struct image img =
			plain(IMG_RGBA, size,
			      (const uint8_t[4]){ 255, 255, 255, 255 }, &h);
		struct img_header header = header_of(size, 1);
		struct img_rect found;

		for (uint32_t y = 0; y < HEIGHT; y++)
			for (uint32_t i = 0; i < 4; i++) {
				uint32_t from = kind == 0 ? 60 : 0;

				memset(image_row(&img, i, y) + from, 0,
				       WIDTH - from);
			}
		for (uint32_t y = 10; y < 50; y++)
			for (uint32_t i = 0; i < 4; i++)
				memset(image_row(&img, i, y) + 20,
				       i == 3 ? 255 : 77, 30);
		found = find(&header, &img, &t, &h);
		check_rect(&found, &wanted);
		img_release(&img);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Where a pixel of the file is displayed: EXIF 2.32, 4.6.4. */
static void display(uint32_t *x, uint32_t *y, struct img_size s,
		    uint32_t orientation)
{
	uint32_t across = *x, down = *y;
	uint32_t right = s.width_px - 1 - across,
		 below = s.height_px - 1 - down;
	const uint32_t places[9][2] = {
		[1] = { across, down }, [2] = { right, down },
		[3] = { right, below }, [4] = { across, below },
		[5] = { down, across }, [6] = { below, across },
		[7] = { below, right }, [8] = { down, right },
	};

	*x = places[orientation][0];
	*y = places[orientation][1];
}

static struct img_rect displayed(struct img_rect r, struct img_size s,
				 uint32_t orientation)
{
	uint32_t x = r.left_px, y = r.top_px;
	uint32_t right = r.left_px + r.width_px - 1;
	uint32_t below = r.top_px + r.height_px - 1;

	display(&x, &y, s, orientation);
	display(&right, &below, s, orientation);
	return (struct img_rect){ min_u32(x, right), min_u32(y, below),
				  (right > x ? right - x : x - right) + 1,
				  (below > y ? below - y : y - below) + 1 };
}

/* The corner of the file that is displayed at the upper left. */
static void corner(bool *is_right, bool *is_below, uint32_t orientation)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t x = i % 2 == 0 ? 0 : WIDTH - 1;
		uint32_t y = i < 2 ? 0 : HEIGHT - 1;

		*is_right = i % 2 != 0;
		*is_below = i >= 2;
		display(&x, &y, size, orientation);
		if (x == 0 && y == 0)
			return;
	}
	CHECK(false);
}

/* Stripes in the middle, and beside them ten rows or columns of two levels. */
static struct image striped(bool is_across, struct heap *h)
{
	static const uint8_t levels[4] = { 0, 0, 0, 0 };
	struct image img = plain(IMG_GREY, size, levels, h);
	uint32_t last = is_across ? WIDTH - 10 : HEIGHT - 10;

	for (uint32_t y = 0; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++) {
			uint32_t at = is_across ? x : y;

			image_row(&img, 0, y)[x] =
				(uint8_t)(at < 10    ? 40 :
					  at >= last ? 90 :
						       150 + at % 7 * 12);
		}
	return img;
}

static void test_the_corner_is_that_of_the_upright_picture(void)
{
	struct heap h;

	heap_init(&h);
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t o = i / 2 + 1;
		struct image img = striped(i % 2 == 0, &h);
		struct img_transform t = { .trim = 1, .rotation = i % 4 };
		struct img_header header = header_of(size, o);
		struct img_rect wanted = { 0, 0, WIDTH, HEIGHT }, found;
		bool is_right, is_below;

		check_case("picture %u", i);
		corner(&is_right, &is_below, o);
		if (i % 2 == 0) {
			wanted.left_px = is_right ? 0 : 10;
			wanted.width_px -= 10;
		} else {
			wanted.top_px = is_below ? 0 : 10;
			wanted.height_px -= 10;
		}
		found = find(&header, &img, &t, &h);
		check_rect(&found, &wanted);
		/* As it is stored, it is the file's own. */
		t.as_stored = true;
		header = header_of(size, o);
		found = find(&header, &img, &t, &h);
		CHECK_NUMBER(found.left_px, ==, (i % 2 == 0 ? 10 : 0));
		CHECK_NUMBER(found.top_px, ==, (i % 2 == 0 ? 0 : 10));
		img_release(&img);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void check_view(const struct img_view *a, const struct img_view *b)
{
	CHECK_NUMBER(a->left, ==, b->left);
	CHECK_NUMBER(a->top, ==, b->top);
	CHECK_NUMBER(a->width, ==, b->width);
	CHECK_NUMBER(a->height, ==, b->height);
	CHECK_NUMBER(a->cut_left, ==, b->cut_left);
	CHECK_NUMBER(a->cut_top, ==, b->cut_top);
	CHECK_NUMBER(a->cut_right, ==, b->cut_right);
	CHECK_NUMBER(a->cut_bottom, ==, b->cut_bottom);
	CHECK_NUMBER(a->size.width_px, ==, b->size.width_px);
	CHECK_NUMBER(a->size.height_px, ==, b->size.height_px);
	CHECK_NUMBER(a->orientation, ==, b->orientation);
}

/* The header of a file of which this is inside of its border. */
static struct img_header known(uint32_t orientation, struct img_rect inside,
			       struct heap *h)
{
	static const uint8_t levels[4] = { 0, 0, 0, 0 };
	struct image img = plain(IMG_GREY, size, levels, h);
	struct img_header header = header_of(size, orientation);
	struct img_transform t = { .trim = 1 };
	struct img_rect found;

	for (uint32_t y = 0; y < inside.height_px; y++)
		memset(image_row(&img, 0, inside.top_px + y) + inside.left_px,
		       180, inside.width_px);
	found = find(&header, &img, &t, h);
	check_rect(&found, &inside);
	img_release(&img);
	return header;
}

/* The rest is that of a crop to what is inside, in which `crop` counts. */
static void check_as_crop(const struct img_header *header,
			  struct img_rect inside, struct img_transform t)
{
	struct img_header unknown = header_of(size, header->orientation);
	struct img_view view, wanted;
	struct img_rect crop = t.crop, all;
	struct img_size full;

	t.crop = (struct img_rect){ 0 };
	all = displayed(inside, size, img_fit(&unknown, &t).orientation);
	t.crop = all;
	if (crop.width_px > 0)
		t.crop = (struct img_rect){
			all.left_px + crop.left_px,
			all.top_px + crop.top_px,
			min_u32(crop.width_px, all.width_px - crop.left_px),
			min_u32(crop.height_px, all.height_px - crop.top_px),
		};
	wanted = img_fit(&unknown, &t);
	t.crop = crop;
	t.trim = 1;
	CHECK(img_crop_fits(header, &t, &full));
	CHECK_NUMBER(full.width_px, ==, all.width_px);
	CHECK_NUMBER(full.height_px, ==, all.height_px);
	view = img_fit(header, &t);
	check_view(&view, &wanted);
	/* One pixel further, there is nothing. */
	t.crop = (struct img_rect){ all.width_px, 0, 1, 1 };
	CHECK(!img_crop_fits(header, &t, NULL));
	t.crop = (struct img_rect){ all.width_px - 1, all.height_px - 1, 1, 1 };
	CHECK(img_crop_fits(header, &t, NULL));
	/* Other results have the whole picture. */
	t.trim = 0;
	t.crop = (struct img_rect){ 0 };
	view = img_fit(header, &t);
	wanted = img_fit(&unknown, &t);
	check_view(&view, &wanted);
}

static void test_turns_and_crops_are_of_what_is_inside(void)
{
	static const struct img_transform transforms[] = {
		{ .quality = 80 },
		{ .box = { 20, 30 } },
		{ .box = { 30, 20 }, .fit = IMG_FIT_COVER },
		{ .box = { 300, 20 }, .fit = IMG_FIT_FILL, .enlarge = true },
		{ .box = { 9, 9 },
		  .fit = IMG_FIT_COVER,
		  .focus = { -4000, 3000 },
		  .crop = { 3, 5, 11, 200 } },
		{ .crop = { 0, 4, 7, 8 }, .box = { 3, 0 } },
	};
	struct heap h;

	heap_init(&h);
	for (uint32_t i = 0; i < 8 * 4 * 3; i++) {
		struct img_rect inside = { 3 + i % 30, 5 + i % 17, 21 + i % 29,
					   15 + i % 21 };
		struct img_header header = known(1 + i % 8, inside, &h);

		for (size_t k = 0; k < ARRAY_SIZE(transforms); k++) {
			struct img_transform t = transforms[k];

			t.rotation = i / 8 % 4;
			t.flip = i / 32;
			check_case("turn %u, transform %zu", i, k);
			check_as_crop(&header, inside, t);
		}
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* White, and a dark picture from 203, 117 to 517, 413. */
static double framed(uint32_t component, double x, double y)
{
	bool is_inside = x >= 203 && x < 517 && y >= 117 && y < 413;

	return component > 0 ? 128 :
	       is_inside     ? 60 + 20 * sin(x / 9) + 20 * sin(y / 13) :
			       255;
}

static void check_near(uint32_t px, uint32_t wanted_px, double most)
{
	CHECK_NUMBER(fabs((double)px - wanted_px), <=, most);
}

/* Decoded in turn at all scales, with the same header. */
static void test_an_edge_is_found_to_a_sample(void)
{
	static const uint32_t boxes[] = { 70, 140, 210, 280, 0 };
	for (int kind = 0; kind < 3; kind++) {
		struct jpeg_spec spec = { .width = 640,
					  .height = 480,
					  .picture = framed,
					  .quality = 90,
					  .space = kind == 2 ? JCS_GRAYSCALE :
							       JCS_UNKNOWN,
					  .progressive = kind == 1,
					  .h = { 2 },
					  .v = { 2 } };
		struct bytes jpeg = jpeg_make(&spec);
		struct img_header header;
		double step = 0;
		struct heap h;

		heap_init(&h);
		CHECK_NUMBER(
			img_probe(&header, jpeg.data, jpeg.count, &no_limits),
			==, IMG_OK);
		for (size_t i = 0; i < ARRAY_SIZE(boxes); i++) {
			struct img_transform t = { .box = { boxes[i], 0 },
						   .trim = 30 };
			struct img_header whole = header;
			struct image img = { 0 };
			struct img_rect r;
			enum img_err err;
			struct img_view view;

			whole.border_count = 0;
			view = img_fit(&whole, &t);
			err = decode_any_here(&img, jpeg.data, jpeg.count,
					      &whole, &view, &t, &no_limits,
					      &h.memory);
			CHECK_NUMBER(err, ==, IMG_OK);
			CHECK_NUMBER(640 / img.planes[0].span_x, !=, step);
			step = 640 / img.planes[0].span_x;
			err = img_find_border(&header, &img, &t, &h.memory);
			CHECK(err == IMG_OK || err == IMG_ERR_BORDER);
			CHECK(i > 0 || err == IMG_ERR_BORDER);
			r = trim_known(&header, &t)->inside;
			check_case("kind %d, a sample is %g pixels", kind,
				   step);
			check_near(r.left_px, 203, step);
			check_near(r.top_px, 117, step);
			check_near(r.left_px + r.width_px, 517, step);
			check_near(r.top_px + r.height_px, 413, step);
			img_release(&img);
		}
		CHECK_NUMBER(h.live_count, ==, 0);
		free(jpeg.data);
	}
}

/* A result of what is inside has no border, and the scale that it needs. */
static void test_a_small_part_is_decoded_at_a_larger_scale(void)
{
	struct jpeg_spec spec = {
		.width = 640, .height = 480, .picture = framed, .quality = 90
	};
	struct img_transform t = { .box = { 60, 60 }, .trim = 30 };
	struct bytes jpeg = jpeg_make(&spec);
	struct image img = { 0 }, result = { 0 };
	struct img_header header;
	struct img_view view;
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(img_probe(&header, jpeg.data, jpeg.count, &no_limits), ==,
		     IMG_OK);
	view = img_fit(&header, &t);
	CHECK_NUMBER(img_decode_scale(&header, &view, &t), ==, 1);
	CHECK_NUMBER(decode_inside_here(&img, jpeg.data, jpeg.count, &header,
					&view, &t, &no_limits, &h.memory),
		     ==, IMG_OK);
	CHECK_NUMBER(img.planes[0].width, ==, 160); /* 2/8 */
	CHECK_NUMBER(view.size.width_px, ==, 60);
	check_near(view.size.height_px, 57, 1);
	CHECK_NUMBER(img_scale(&result, &img, &view, &t, &h.memory), ==,
		     IMG_OK);
	for (uint32_t y = 0; y < view.size.height_px; y++)
		for (uint32_t x = 0; x < 60; x++)
			CHECK_NUMBER(image_row(&result, 0, y)[x], <, 140);
	img_release(&result);
	img_release(&img);
	free(jpeg.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* The map, half as large, is white where the picture is. */
static double framed_map(uint32_t component, double x, double y)
{
	bool is_inside = x >= 101.5 && x < 258.5 && y >= 58.5 && y < 206.5;

	return component > 0 ? 128 : is_inside ? 250 : 10;
}

static void test_a_gain_map_is_cut_as_its_picture(void)
{
	struct gainmap_spec spec = {
		.base = { .width = 640, .height = 480, .picture = framed },
		.map = { .width = 320,
			 .height = 240,
			 .picture = framed_map,
			 .space = JCS_GRAYSCALE },
		.metadata = GAINMAP_ISO,
		.gain = &gainmap_usual,
	};
	struct img_transform t = { .box = { 60, 60 },
				   .trim = 30,
				   .quality = 80,
				   .keep_gainmap = true };
	struct bytes file = gainmap_make(&spec);
	struct image img = { 0 }, result = { 0 };
	const struct img_plane *map;
	struct img_header header;
	struct img_view view;
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	view = img_fit(&header, &t);
	CHECK_NUMBER(decode_inside_here(&img, file.data, file.count, &header,
					&view, &t, &no_limits, &h.memory),
		     ==, IMG_OK);
	CHECK_NUMBER(img_scale(&result, &img, &view, &t, &h.memory), ==,
		     IMG_OK);
	CHECK(result.gainmap != NULL);
	map = &result.gainmap->image.planes[0];
	CHECK_NUMBER(map->width, ==, 30);
	/* Lines at the edges are half of a sample off at most. */
	for (uint32_t y = 1; y + 1 < map->height; y++)
		for (uint32_t x = 1; x + 1 < map->width; x++)
			CHECK_NUMBER(sample(map, x, y), >, 200);
	img_release(&result);
	img_release(&img);
	free(file.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_without_memory_nothing_is_noted(void)
{
	struct img_transform t = { .trim = 1 };
	struct img_header header = header_of(size, 1);
	struct heap h;

	heap_init(&h);
	struct image img = dot(0, 9, &h);

	h.fail_at = h.alloc_count + 1;
	CHECK_NUMBER(img_find_border(&header, &img, &t, &h.memory), ==,
		     IMG_ERR_NO_MEMORY);
	CHECK_NUMBER(img_fit(&header, &t).size.width_px, ==, WIDTH);
	h.fail_at = 0;
	CHECK_NUMBER(img_find_border(&header, &img, &t, &h.memory), ==,
		     IMG_ERR_BORDER);
	CHECK_NUMBER(img_fit(&header, &t).size.width_px, ==, 9);
	t.trim = 0;
	CHECK_NUMBER(img_find_border(&header, &img, &t, &h.memory), ==, IMG_OK);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	test_all_spaces_are_as_the_reference();
	test_luma_and_chroma_weigh_as_in_rgb();
	test_the_tolerance_is_the_last_level_of_the_border();
	test_what_has_no_border_stays();
	test_what_is_transparent_is_border();
	test_the_corner_is_that_of_the_upright_picture();
	test_turns_and_crops_are_of_what_is_inside();
	test_an_edge_is_found_to_a_sample();
	test_a_small_part_is_decoded_at_a_larger_scale();
	test_a_gain_map_is_cut_as_its_picture();
	test_without_memory_nothing_is_noted();
	return 0;
}
