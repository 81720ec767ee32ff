/* SPDX-License-Identifier: MIT */
/*
 * Promises: with IMG_SMART, a box that cannot show all of a picture shows its
 * one plain subject, wherever that is, however the file is turned, and within
 * the crop; a picture without a subject shows its middle.  Other gravities, and
 * other fits, show what they did.
 */
#include "imgops/attention.h"

#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <math.h>
#include <string.h>

static const struct img_size size = { 400, 240 };

enum { SUBJECT_PX = 50 };

/* A subject of the file, on a plain picture. */
struct scene {
	enum img_space space;
	uint32_t left, top;
	bool is_pattern; /* in black and white, else of one colour */
};

static bool is_inside(const struct scene *s, uint32_t x, uint32_t y)
{
	return x - s->left < SUBJECT_PX && y - s->top < SUBJECT_PX;
}

/* R, G and B. */
static void colour_at(double rgb[3], const struct scene *s, uint32_t x,
		      uint32_t y)
{
	double level = 150 + y / 40.0 + scramble(x + 1000 * y) % 3;

	for (int i = 0; i < 3; i++)
		rgb[i] = level;
	if (!is_inside(s, x, y))
		return;
	if (s->is_pattern) {
		for (int i = 0; i < 3; i++)
			rgb[i] = (x / 5 + y / 7) % 2 * 230.0;
	} else {
		rgb[0] = 220;
		rgb[1] = 40;
		rgb[2] = 60;
	}
}

static double channel(const double rgb[3], enum img_space space, uint32_t i)
{
	double luma = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];

	if (space == IMG_CMYK || space == IMG_RGBA)
		return i == 3 ? 255 : rgb[i];
	if (space == IMG_RGB)
		return rgb[i];
	return i == 0 ? luma :
	       i == 1 ? 128 + (rgb[2] - luma) / 1.772 :
	       i == 2 ? 128 + (rgb[0] - luma) / 1.402 :
			255;
}

static struct image make(const struct scene *s, struct heap *h)
{
	struct image img;

	image_shape(&img, size, s->space, false);
	CHECK(image_alloc(&img, &h->memory));
	for (uint32_t i = 0; i < img.plane_count; i++) {
		struct img_plane *p = &img.planes[i];
		uint32_t step = p->width < size.width_px ? 2 : 1;

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++) {
				double rgb[3];

				colour_at(rgb, s, x * step, y * step);
				image_row(&img, i, y)[x] = (uint8_t)fmin(
					channel(rgb, s->space, i) + 0.5, 255);
			}
	}
	return img;
}

/* Where a place of the file, 0 .. 1, is displayed: EXIF 2.32, 4.6.4. */
static void display(double *x, double *y, uint32_t orientation)
{
	double across = *x, down = *y;

	switch (orientation) {
	case 2:
		across = 1 - *x;
		break;
	case 3:
		across = 1 - *x;
		down = 1 - *y;
		break;
	case 4:
		down = 1 - *y;
		break;
	case 5:
		across = *y;
		down = *x;
		break;
	case 6:
		across = 1 - *y;
		down = *x;
		break;
	case 7:
		across = 1 - *y;
		down = 1 - *x;
		break;
	case 8:
		across = *y;
		down = 1 - *x;
		break;
	default:
		break;
	}
	*x = across;
	*y = down;
}

/* Is all of the subject in the part that the view shows? */
static bool shows(const struct img_view *v, const struct scene *s)
{
	for (int corner = 0; corner < 4; corner++) {
		double x = (s->left + corner % 2 * SUBJECT_PX) /
			   (double)size.width_px;
		double y = (s->top + corner / 2 * SUBJECT_PX) /
			   (double)size.height_px;

		display(&x, &y, v->orientation);
		if (x < v->left - 1e-6 || x > v->left + v->width + 1e-6 ||
		    y < v->top - 1e-6 || y > v->top + v->height + 1e-6)
			return false;
	}
	return true;
}

static struct img_view fit(uint32_t orientation, struct img_size box,
			   struct img_rect crop)
{
	bool aside = orientation >= 5;
	struct img_header h = { .stored = size, .orientation = orientation };
	struct img_transform t = { .box = box,
				   .crop = crop,
				   .fit = IMG_FIT_COVER,
				   .gravity = IMG_SMART };

	h.upright = size;
	if (aside)
		h.upright = (struct img_size){ size.height_px, size.width_px };
	return img_fit(&h, &t);
}

static void check_found(const struct scene *s, uint32_t orientation,
			struct img_size box)
{
	struct img_view v = fit(orientation, box, (struct img_rect){ 0 });
	double width = v.width, height = v.height;
	struct heap h;

	heap_init(&h);
	struct image img = make(s, &h);

	check_case("space %u, at %u, %u, orientation %u, box %u x %u", s->space,
		   s->left, s->top, orientation, box.width_px, box.height_px);
	CHECK(attention_move(&v, &img, &h.memory));
	CHECK(v.width == width && v.height == height);
	CHECK(v.left >= 0 && v.left + v.width <= 1 + 1e-9);
	CHECK(v.top >= 0 && v.top + v.height <= 1 + 1e-9);
	CHECK(shows(&v, s));
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_a_plain_subject_is_shown(void)
{
	static const enum img_space spaces[] = {
		IMG_GREY, IMG_YCBCR, IMG_RGB, IMG_RGBA, IMG_CMYK, IMG_YCCK
	};
	static const struct img_size boxes[] = { { 60, 100 }, { 100, 35 } };
	static const uint32_t places[][2] = {
		{ 0, 0 }, { 350, 190 }, { 60, 150 }, { 280, 20 }, { 175, 95 }
	};

	for (size_t s = 0; s < ARRAY_SIZE(spaces); s++)
		for (size_t p = 0; p < ARRAY_SIZE(places); p++)
			for (uint32_t o = 1; o <= 8; o++)
				for (uint32_t k = 0; k < 4; k++) {
					struct scene scene = {
						.space = spaces[s],
						.left = places[p][0],
						.top = places[p][1],
						.is_pattern = k / 2,
					};

					check_found(&scene, o, boxes[k % 2]);
				}
}

static void test_what_is_cut_off_does_not_count(void)
{
	struct scene s = { .space = IMG_YCBCR, .left = 0, .is_pattern = true };
	struct img_view v = fit(1, (struct img_size){ 50, 50 },
				(struct img_rect){ 100, 0, 300, 100 });
	struct heap h;

	heap_init(&h);
	struct image img = make(&s, &h);

	/* The subject is beyond the crop. */
	CHECK(attention_move(&v, &img, &h.memory));
	CHECK(v.left >= 0.25 - 1e-9 && v.left + v.width <= 1 + 1e-9);
	img_release(&img);
	s.left = 330;
	img = make(&s, &h);
	v = fit(1, (struct img_size){ 50, 50 },
		(struct img_rect){ 100, 0, 300, 100 });
	CHECK(attention_move(&v, &img, &h.memory));
	CHECK(shows(&v, &s));
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_without_a_subject_the_middle_is_shown(void)
{
	struct img_view v =
		fit(1, (struct img_size){ 50, 50 }, (struct img_rect){ 0 });
	struct img_view tiny = { .width = 1,
				 .height = 0.5,
				 .top = 0.25,
				 .size = { 1, 1 },
				 .orientation = 6 };
	double left = v.left;
	struct img_size one = { 1, 2 };
	struct heap h;

	heap_init(&h);
	struct image img;

	image_shape(&img, size, IMG_GREY, false);
	CHECK(image_alloc(&img, &h.memory));
	for (uint32_t y = 0; y < size.height_px; y++)
		memset(image_row(&img, 0, y), 200, size.width_px);
	CHECK(attention_move(&v, &img, &h.memory));
	CHECK_NUMBER(fabs(v.left - left), <, 1e-9);
	img_release(&img);
	image_shape(&img, one, IMG_GREY, false);
	CHECK(image_alloc(&img, &h.memory));
	image_row(&img, 0, 0)[0] = image_row(&img, 0, 1)[0] = 7;
	CHECK(attention_move(&tiny, &img, &h.memory));
	CHECK(tiny.top >= 0 && tiny.top <= 0.5);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* The result of `t` is that of `other`. */
static void check_same_result(const struct image *img, struct img_transform t,
			      struct img_transform other, struct heap *h)
{
	struct img_header header = { .stored = size,
				     .upright = size,
				     .orientation = 1 };
	struct image a = { 0 }, b = { 0 };
	struct img_view va = img_fit(&header, &t);
	struct img_view vb = img_fit(&header, &other);

	CHECK_NUMBER(img_scale(&a, img, &va, &t, &h->memory), ==, IMG_OK);
	CHECK_NUMBER(img_scale(&b, img, &vb, &other, &h->memory), ==, IMG_OK);
	CHECK(is_same(&a, &b));
	img_release(&a);
	img_release(&b);
}

static void test_img_scale_shows_it(void)
{
	struct scene s = { .space = IMG_YCBCR, .left = 350, .top = 95 };
	struct img_transform smart = { .box = { 50, 50 },
				       .fit = IMG_FIT_COVER,
				       .gravity = IMG_SMART };
	struct img_transform other = smart;
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct heap h, failing;

	heap_init(&h);
	struct image img = make(&s, &h);

	/* At the end, as far as it goes. */
	other.gravity = IMG_EAST;
	check_same_result(&img, smart, other, &h);
	/* Another fit shows all of it. */
	smart.fit = other.fit = IMG_FIT_INSIDE;
	check_same_result(&img, smart, other, &h);
	smart.fit = IMG_FIT_COVER;
	for (uint32_t at = 1; err == IMG_ERR_NO_MEMORY; at++) {
		struct img_view v = fit(1, smart.box, (struct img_rect){ 0 });
		struct image dst = { 0 };

		heap_init(&failing);
		failing.fail_at = at;
		err = img_scale(&dst, &img, &v, &smart, &failing.memory);
		img_release(&dst);
		CHECK_NUMBER(failing.live_count, ==, 0);
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	test_a_plain_subject_is_shown();
	test_what_is_cut_off_does_not_count();
	test_without_a_subject_the_middle_is_shown();
	test_img_scale_shows_it();
	return 0;
}
