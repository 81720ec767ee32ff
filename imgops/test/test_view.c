/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_fit() shows all of the picture inside the box, or fills the box
 * with the part of it that gravity or focus names, or stretches it; the aspect
 * is kept, sides are never 0, and nothing is enlarged unless asked.  Pictures
 * are turned upright, rotated, flipped and cut, in this order.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"

#include <math.h>
#include <string.h>

static struct img_size fit_inside(struct img_size size, struct img_size box)
{
	struct img_header header = { .upright = size, .orientation = 1 };
	struct img_transform transform = { .box = box };
	struct img_view view = img_fit(&header, &transform);

	CHECK_NUMBER(view.left, ==, 0);
	CHECK_NUMBER(view.top, ==, 0);
	CHECK_NUMBER(view.width, ==, 1);
	CHECK_NUMBER(view.height, ==, 1);
	return view.size;
}

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

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct img_size fit = fit_inside(cases[i].size, cases[i].box);

		check_case("cases[%zu]", i);
		CHECK_NUMBER(fit.width_px, ==, cases[i].fit.width_px);
		CHECK_NUMBER(fit.height_px, ==, cases[i].fit.height_px);
	}
}

static void test_fit_stays_inside_and_keeps_the_aspect(void)
{
	for (uint32_t i = 0; i < 100000; i++) {
		struct img_size size = { scramble(4 * i) % 65500 + 1,
					 scramble(4 * i + 1) % 65500 + 1 };
		struct img_size box = { scramble(4 * i + 2) % 70000,
					scramble(4 * i + 3) % 70000 };
		struct img_size fit = fit_inside(size, box);
		double w =
			(double)size.width_px * fit.height_px / size.height_px;
		double h =
			(double)size.height_px * fit.width_px / size.width_px;

		CHECK_NUMBER(fit.width_px, >=, 1);
		CHECK_NUMBER(fit.height_px, >=, 1);
		CHECK_NUMBER(fit.width_px, <=, size.width_px);
		CHECK_NUMBER(fit.height_px, <=, size.height_px);
		CHECK(box.width_px == 0 || fit.width_px <= box.width_px);
		CHECK(box.height_px == 0 || fit.height_px <= box.height_px);
		/* One side decides, the other is rounded, but not to 0. */
		CHECK(fabs(fit.width_px - fmax(1, w)) <= 0.5001 ||
		      fabs(fit.height_px - fmax(1, h)) <= 0.5001);
	}
}

/* Any picture and any box; sides of a third of the boxes are small. */
struct trial {
	struct img_header header;
	struct img_transform transform;
};

static struct trial make_trial(uint32_t i)
{
	uint32_t most = i % 3 == 0 ? 50 : 65500;
	struct img_size size = { scramble(5 * i) % most + 1,
				 scramble(5 * i + 1) % 65500 + 1 };
	struct img_size box = { scramble(5 * i + 2) % (most + 4500) + 1,
				scramble(5 * i + 3) % 70000 + 1 };

	return (struct trial){
		.header = { .upright = size,
			    .stored = { size.height_px, size.width_px },
			    .orientation = 6 },
		.transform = { .box = box,
			       .gravity = scramble(5 * i + 4) % 9,
			       .enlarge = i % 2 },
	};
}

static bool is_whole(const struct img_view *v)
{
	return v->left == 0 && v->top == 0 && v->width == 1 && v->height == 1;
}

/* How many samples of the result one of the picture becomes, along x and y. */
static void scales(double *x, double *y, const struct img_view *v,
		   struct img_size full)
{
	*x = v->size.width_px / (v->width * full.width_px);
	*y = v->size.height_px / (v->height * full.height_px);
}

static void check_cover(const struct img_view *v, const struct trial *t)
{
	struct img_size full = t->header.upright, box = t->transform.box;
	double x, y;

	/* The aspect of the box: one side decides, the other is rounded. */
	double w = (double)v->size.height_px * box.width_px / box.height_px;
	double h = (double)v->size.width_px * box.height_px / box.width_px;

	CHECK(fabs(v->size.width_px - fmax(1, w)) <= 0.5001 ||
	      fabs(v->size.height_px - fmax(1, h)) <= 0.5001);
	CHECK_NUMBER(v->size.width_px, <=, box.width_px);
	CHECK_NUMBER(v->size.height_px, <=, box.height_px);
	if (t->transform.enlarge && box.width_px <= 65500 &&
	    box.height_px <= 65500) {
		CHECK_NUMBER(v->size.width_px, ==, box.width_px);
		CHECK_NUMBER(v->size.height_px, ==, box.height_px);
	}
	/* All of one side is kept, and a part of the other. */
	CHECK(v->width == 1 || v->height == 1);
	CHECK_NUMBER(v->width, >, 0);
	CHECK_NUMBER(v->left, >=, 0);
	CHECK_NUMBER(v->left + v->width, <=, 1);
	CHECK_NUMBER(v->height, >, 0);
	CHECK_NUMBER(v->top, >=, 0);
	CHECK_NUMBER(v->top + v->height, <=, 1);
	/* Not stretched, and not enlarged unless asked. */
	scales(&x, &y, v, full);
	CHECK_NUMBER(fabs(x / y - 1), <, 1e-9);
	CHECK(t->transform.enlarge || x <= 1 + 1e-9);
}

static void test_cover_has_the_aspect_of_the_box(void)
{
	for (uint32_t i = 0; i < 100000; i++) {
		struct trial t = make_trial(i);

		t.transform.fit = IMG_FIT_COVER;
		struct img_view view = img_fit(&t.header, &t.transform);

		check_cover(&view, &t);
	}
}

static void test_cover_gives_the_known_views(void)
{
	static const struct {
		struct img_size size, box, cover;
		bool enlarge;
		double width, height;
	} cases[] = {
		{ { 640, 480 }, { 100, 100 }, { 100, 100 }, false, 0.75, 1 },
		{ { 480, 640 }, { 100, 100 }, { 100, 100 }, false, 1, 0.75 },
		{ { 640, 480 }, { 64, 48 }, { 64, 48 }, false, 1, 1 },
		{ { 640, 480 }, { 640, 240 }, { 640, 240 }, false, 1, 0.5 },
		/* A picture smaller than the box gets the box's aspect only. */
		{ { 100, 100 }, { 200, 50 }, { 100, 25 }, false, 1, 0.25 },
		{ { 100, 100 }, { 800, 400 }, { 100, 50 }, false, 1, 0.5 },
		{ { 100, 100 }, { 800, 400 }, { 800, 400 }, true, 1, 0.5 },
		{ { 1, 1 }, { 3, 300 }, { 1, 1 }, false, 1, 1 },
		{ { 65500, 1 }, { 9, 9 }, { 1, 1 }, false, 1 / 65500.0, 1 },
		{ { 10, 10 },
		  { 131000, 65500 },
		  { 65500, 32750 },
		  true,
		  1,
		  0.5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct img_header header = { .upright = cases[i].size };
		struct img_transform transform = { .box = cases[i].box,
						   .fit = IMG_FIT_COVER,
						   .enlarge =
							   cases[i].enlarge };
		struct img_view view = img_fit(&header, &transform);

		check_case("cases[%zu]", i);
		CHECK_NUMBER(view.size.width_px, ==, cases[i].cover.width_px);
		CHECK_NUMBER(view.size.height_px, ==, cases[i].cover.height_px);
		CHECK_NUMBER(fabs(view.width - cases[i].width), <, 1e-12);
		CHECK_NUMBER(fabs(view.height - cases[i].height), <, 1e-12);
		CHECK_NUMBER(fabs(view.left - (1 - view.width) / 2), <, 1e-12);
		CHECK_NUMBER(fabs(view.top - (1 - view.height) / 2), <, 1e-12);
	}
}

/* Gravity means the picture as displayed, however it lies in the file. */
static void test_gravity_is_of_the_displayed_picture(void)
{
	static const double ends[9][2] = {
		[IMG_CENTRE] = { 0.5, 0.5 }, [IMG_NORTH] = { 0.5, 0 },
		[IMG_NORTHEAST] = { 1, 0 },  [IMG_EAST] = { 1, 0.5 },
		[IMG_SOUTHEAST] = { 1, 1 },  [IMG_SOUTH] = { 0.5, 1 },
		[IMG_SOUTHWEST] = { 0, 1 },  [IMG_WEST] = { 0, 0.5 },
		[IMG_NORTHWEST] = { 0, 0 },
	};
	static const struct img_size boxes[] = { { 100, 30 }, { 30, 100 } };

	for (uint32_t n = 0; n < 9 * 8 * 2 * 2; n++) {
		uint32_t gravity = n % 9, turn = n / 9 % 8 + 1;
		struct img_size upright = { 400, 300 }, aside = { 300, 400 };
		struct img_header header = {
			.upright = upright,
			.stored = turn >= 5 ? aside : upright,
			.orientation = turn,
		};
		struct img_transform transform = { .box = boxes[n / 72 % 2],
						   .fit = IMG_FIT_COVER,
						   .gravity = gravity,
						   .as_stored = n / 144 };
		struct img_view view = img_fit(&header, &transform);
		struct img_size full =
			transform.as_stored ? header.stored : upright;
		double x, y;

		CHECK_NUMBER(view.orientation, ==,
			     (transform.as_stored ? 1 : turn));
		CHECK_NUMBER(view.size.width_px, ==, transform.box.width_px);
		CHECK_NUMBER(view.size.height_px, ==, transform.box.height_px);
		scales(&x, &y, &view, full);
		CHECK_NUMBER(fabs(x - y), <, 1e-9);
		CHECK_NUMBER(
			fabs(view.left - (1 - view.width) * ends[gravity][0]),
			<, 1e-12);
		CHECK_NUMBER(
			fabs(view.top - (1 - view.height) * ends[gravity][1]),
			<, 1e-12);
	}
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void test_fill_is_the_box_as_far_as_there_are_pixels(void)
{
	for (uint32_t i = 0; i < 10000; i++) {
		struct trial t = make_trial(i);
		struct img_size full = t.header.upright, box = t.transform.box;

		if (t.transform.enlarge)
			full = (struct img_size){ 65500, 65500 };
		t.transform.fit = IMG_FIT_FILL;
		struct img_view view = img_fit(&t.header, &t.transform);

		CHECK(is_whole(&view));
		CHECK_NUMBER(view.size.width_px, ==,
			     least(box.width_px, full.width_px));
		CHECK_NUMBER(view.size.height_px, ==,
			     least(box.height_px, full.height_px));
	}
}

static void test_enlarging_goes_as_far_as_the_box(void)
{
	static const struct {
		struct img_size size, box, fit;
	} cases[] = {
		{ { 64, 48 }, { 640, 640 }, { 640, 480 } },
		{ { 64, 48 }, { 640, 0 }, { 640, 480 } },
		{ { 64, 48 }, { 0, 96 }, { 128, 96 } },
		{ { 64, 48 }, { 32, 0 }, { 32, 24 } },
		{ { 64, 48 }, { 0, 0 }, { 64, 48 } },
		{ { 1, 1 }, { UINT32_MAX, 0 }, { 65500, 65500 } },
		{ { 1, 65500 }, { 2, 0 }, { 1, 65500 } },
		{ { 1000, 1 }, { 0, 7 }, { 7000, 7 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct img_header header = { .upright = cases[i].size };
		struct img_transform transform = { .box = cases[i].box,
						   .enlarge = true };
		struct img_view view = img_fit(&header, &transform);

		check_case("cases[%zu]", i);
		CHECK(is_whole(&view));
		CHECK_NUMBER(view.size.width_px, ==, cases[i].fit.width_px);
		CHECK_NUMBER(view.size.height_px, ==, cases[i].fit.height_px);
	}
}

static void test_a_box_with_an_open_side_is_inside_for_all_fits(void)
{
	for (uint32_t i = 0; i < 10000; i++) {
		struct trial t = make_trial(i);

		if (i % 4 < 3)
			t.transform.box.width_px = 0;
		if (i % 4 > 0)
			t.transform.box.height_px = 0;
		struct img_view inside = img_fit(&t.header, &t.transform);

		t.transform.fit = i % 8 < 4 ? IMG_FIT_COVER : IMG_FIT_FILL;
		struct img_view view = img_fit(&t.header, &t.transform);

		CHECK(is_whole(&view));
		CHECK(is_whole(&inside));
		CHECK_NUMBER(view.size.width_px, ==, inside.size.width_px);
		CHECK_NUMBER(view.size.height_px, ==, inside.size.height_px);
	}
}

/* A picture of six pixels, to try what becomes of it. */
struct grid {
	int width, height;
	char pixels[6];
};

static struct grid mirror(struct grid g)
{
	struct grid to = g;

	for (int y = 0; y < g.height; y++)
		for (int x = 0; x < g.width; x++)
			to.pixels[y * g.width + x] =
				g.pixels[y * g.width + g.width - 1 - x];
	return to;
}

/* Clockwise, by 90 degrees. */
static struct grid rotate(struct grid g)
{
	struct grid to = { .width = g.height, .height = g.width };

	for (int y = 0; y < to.height; y++)
		for (int x = 0; x < to.width; x++)
			to.pixels[y * to.width + x] =
				g.pixels[(g.height - 1 - x) * g.width + y];
	return to;
}

/* As EXIF 2.32, 4.6.4 says where the rows and columns of the file are. */
static struct grid turn_upright(struct grid g, uint32_t orientation)
{
	switch (orientation) {
	case 2: /* the first column is on the right */
		return mirror(g);
	case 3: /* the first row is below, the first column right */
		return rotate(rotate(g));
	case 4: /* the first row is below */
		return mirror(rotate(rotate(g)));
	case 5: /* the first row is left, the first column above */
		return mirror(rotate(g));
	case 6: /* the first row is right, the first column above */
		return rotate(g);
	case 7: /* the first row is right, the first column below */
		return rotate(mirror(g));
	case 8: /* the first row is left, the first column below */
		return rotate(rotate(rotate(g)));
	default:
		return g;
	}
}

static struct grid asked_of(struct grid g, const struct img_transform *t)
{
	for (enum img_rotation k = IMG_ROTATE_0; k < t->rotation; k++)
		g = rotate(g);
	if (t->flip == IMG_FLIP_H)
		return mirror(g);
	return t->flip == IMG_FLIP_V ? mirror(rotate(rotate(g))) : g;
}

static void test_a_rotation_and_a_flip_follow_the_orientation(void)
{
	static const struct grid begin = { 3,
					   2,
					   { 'a', 'b', 'c', 'd', 'e', 'f' } };

	for (uint32_t i = 0; i < 8 * 4 * 3; i++) {
		struct img_transform t = { .rotation = i / 8 % 4,
					   .flip = i / 32 };
		struct img_header h = { .stored = { 3, 2 },
					.orientation = i % 8 + 1 };
		struct grid upright = turn_upright(begin, h.orientation);
		struct grid wanted = asked_of(upright, &t), got;
		struct img_view view;

		check_case("orientation %u, rotation %u, flip %u", i % 8 + 1,
			   i / 8 % 4, i / 32);
		h.upright = (struct img_size){ (uint32_t)upright.width,
					       (uint32_t)upright.height };
		view = img_fit(&h, &t);
		got = turn_upright(begin, view.orientation);
		CHECK_NUMBER(view.size.width_px, ==, (uint32_t)wanted.width);
		CHECK_NUMBER(view.size.height_px, ==, (uint32_t)wanted.height);
		CHECK_NUMBER(got.width, ==, wanted.width);
		CHECK(memcmp(got.pixels, wanted.pixels, 6) == 0);
	}
}

/* The view of a picture of 400 x 300. */
static struct img_view view_of(const struct img_transform *t)
{
	struct img_header h = { .stored = { 400, 300 },
				.upright = { 400, 300 },
				.orientation = 1 };

	CHECK(img_crop_fits(&h, t, NULL));
	return img_fit(&h, t);
}

static void check_view(const struct img_view *v, double left, double top,
		       double width, double height)
{
	CHECK_NUMBER(fabs(v->left * 400 - left), <, 1e-9);
	CHECK_NUMBER(fabs(v->top * 300 - top), <, 1e-9);
	CHECK_NUMBER(fabs(v->width * 400 - width), <, 1e-9);
	CHECK_NUMBER(fabs(v->height * 300 - height), <, 1e-9);
}

static void check_size(const struct img_view *v, uint32_t width,
		       uint32_t height)
{
	CHECK_NUMBER(v->size.width_px, ==, width);
	CHECK_NUMBER(v->size.height_px, ==, height);
}

static void test_a_crop_is_the_picture_that_is_fitted(void)
{
	struct img_transform t = { .crop = { 40, 30, 200, 100 } };
	struct img_view v = view_of(&t);

	check_view(&v, 40, 30, 200, 100);
	check_size(&v, 200, 100);
	t.box = (struct img_size){ 100, 100 };
	v = view_of(&t);
	check_view(&v, 40, 30, 200, 100);
	check_size(&v, 100, 50);
	t.fit = IMG_FIT_COVER;
	v = view_of(&t);
	check_view(&v, 90, 30, 100, 100);
	check_size(&v, 100, 100);
	t.gravity = IMG_EAST;
	v = view_of(&t);
	check_view(&v, 140, 30, 100, 100);
	t.fit = IMG_FIT_FILL;
	v = view_of(&t);
	check_view(&v, 40, 30, 200, 100);
	check_size(&v, 100, 100);
}

static void test_what_is_beyond_the_edges_is_left_out(void)
{
	struct img_transform t = { .crop = { 399, 200, 65500, 65500 } };
	struct img_header h = { .upright = { 400, 300 }, .orientation = 1 };
	struct img_view v = view_of(&t);
	struct img_size size;

	check_view(&v, 399, 200, 1, 100);
	check_size(&v, 1, 100);
	t.crop.left_px = 400;
	CHECK(!img_crop_fits(&h, &t, &size));
	CHECK_NUMBER(size.width_px, ==, 400);
	t.crop = (struct img_rect){ 0, 300, 1, 1 };
	CHECK(!img_crop_fits(&h, &t, NULL));
	t.rotation = IMG_ROTATE_90;
	CHECK(img_crop_fits(&h, &t, &size));
	CHECK_NUMBER(size.width_px, ==, 300);
	CHECK_NUMBER(size.height_px, ==, 400);
}

/* Of 400 x 300, a square has 300. */
static void test_focus_is_in_the_middle_as_far_as_possible(void)
{
	static const struct {
		int32_t x;
		double left;
	} cases[] = {
		{ -5000, 0 }, { -2000, 0 }, { -1250, 0 },  { -1000, 10 },
		{ 0, 50 },    { 1000, 90 }, { 1250, 100 }, { 5000, 100 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct img_transform t = { .box = { 100, 100 },
					   .fit = IMG_FIT_COVER,
					   .focus = { cases[i].x, 4000 } };
		struct img_view v = view_of(&t);

		check_case("cases[%zu]", i);
		check_view(&v, cases[i].left, 0, 300, 300);
		/* A gravity that is asked for counts. */
		t.gravity = IMG_EAST;
		v = view_of(&t);
		check_view(&v, 100, 0, 300, 300);
	}
}

static void test_a_pixel_ratio_makes_the_box_larger(void)
{
	struct img_transform t = { .box = { 60, 60 }, .dpr = 1.5 };
	struct img_view v = view_of(&t);

	check_size(&v, 90, 68);
	t.fit = IMG_FIT_COVER;
	v = view_of(&t);
	check_size(&v, 90, 90);
	t.box.height_px = 0;
	v = view_of(&t);
	check_size(&v, 90, 68);
	t.dpr = 8;
	v = view_of(&t);
	check_size(&v, 400, 300);
}

static void check_pad(const struct img_view *v, uint32_t top, uint32_t right,
		      uint32_t bottom, uint32_t left)
{
	CHECK_NUMBER(v->pad.top_px, ==, top);
	CHECK_NUMBER(v->pad.right_px, ==, right);
	CHECK_NUMBER(v->pad.bottom_px, ==, bottom);
	CHECK_NUMBER(v->pad.left_px, ==, left);
}

/* Of 400 x 300. */
static void test_a_pad_is_around_the_result(void)
{
	struct img_transform t = { .box = { 200, 200 }, .pad = { 1, 2, 3, 4 } };
	struct img_view v = view_of(&t);

	check_size(&v, 200, 150);
	check_pad(&v, 1, 2, 3, 4);
	CHECK_NUMBER(img_result_size(&v).width_px, ==, 206);
	CHECK_NUMBER(img_result_size(&v).height_px, ==, 154);
	t.dpr = 1.5;
	v = view_of(&t);
	check_size(&v, 300, 225);
	check_pad(&v, 2, 3, 5, 6);
	t.dpr = 8;
	t.pad.top_px = 16384;
	v = view_of(&t);
	check_pad(&v, IMG_SIDE_PX_MAX, 16, 24, 32);
}

static void test_a_box_is_filled_beside_the_picture(void)
{
	static const struct {
		enum img_gravity gravity;
		uint32_t top, bottom;
	} cases[] = {
		{ IMG_CENTRE, 25, 26 },   { IMG_NORTH, 0, 51 },
		{ IMG_SOUTH, 51, 0 },     { IMG_EAST, 25, 26 },
		{ IMG_SOUTHWEST, 51, 0 },
	};
	struct img_transform t = { .box = { 200, 201 }, .fit = IMG_FIT_PAD };
	struct img_view v;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		t.gravity = cases[i].gravity;
		v = view_of(&t);
		check_case("cases[%zu]", i);
		check_size(&v, 200, 150);
		check_view(&v, 0, 0, 400, 300);
		check_pad(&v, cases[i].top, 0, cases[i].bottom, 0);
	}
	/* A picture that is smaller is not enlarged, but has the box. */
	t = (struct img_transform){ .box = { 1000, 400 },
				    .fit = IMG_FIT_PAD,
				    .gravity = IMG_NORTHEAST,
				    .pad = { 5, 6, 7, 8 } };
	v = view_of(&t);
	check_size(&v, 400, 300);
	check_pad(&v, 5, 6, 107, 608);
	t.enlarge = true;
	v = view_of(&t);
	check_size(&v, 533, 400);
	check_pad(&v, 5, 6, 7, 475);
	/* With one side only, it is inside. */
	t.box.height_px = 0;
	t.enlarge = false;
	v = view_of(&t);
	check_size(&v, 400, 300);
	check_pad(&v, 5, 6, 7, 8);
}

static void test_a_padded_result_has_limits(void)
{
	struct img_transform t = { .pad = { 100, 0, 0, 0 } };
	struct img_limits limits = { .pixels_max = 400 * 400 };
	struct img_view v = view_of(&t);

	CHECK(img_result_fits(&v, &t, &limits));
	t.pad.right_px = 1;
	v = view_of(&t);
	CHECK(!img_result_fits(&v, &t, &limits));
	limits.pixels_max = UINT64_MAX;
	CHECK(img_result_fits(&v, &t, &limits));
	t.pad.right_px = IMG_SIDE_PX_MAX - 400;
	v = view_of(&t);
	CHECK(img_result_fits(&v, &t, &limits));
	t.pad.right_px++;
	v = view_of(&t);
	CHECK(!img_result_fits(&v, &t, &limits));
}

int main(void)
{
	test_a_pad_is_around_the_result();
	test_a_box_is_filled_beside_the_picture();
	test_a_padded_result_has_limits();
	test_a_rotation_and_a_flip_follow_the_orientation();
	test_a_crop_is_the_picture_that_is_fitted();
	test_what_is_beyond_the_edges_is_left_out();
	test_focus_is_in_the_middle_as_far_as_possible();
	test_a_pixel_ratio_makes_the_box_larger();
	test_fit_gives_the_known_sizes();
	test_fit_stays_inside_and_keeps_the_aspect();
	test_enlarging_goes_as_far_as_the_box();
	test_a_box_with_an_open_side_is_inside_for_all_fits();
	test_fill_is_the_box_as_far_as_there_are_pixels();
	test_cover_gives_the_known_views();
	test_cover_has_the_aspect_of_the_box();
	test_gravity_is_of_the_displayed_picture();
	return 0;
}
