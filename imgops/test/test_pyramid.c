/* SPDX-License-Identifier: MIT */
/*
 * Promises: a level is the plane, with its edges extended, filtered by
 * triangles; on the way back it is interpolated linearly; flat stays flat.
 */
#include "imgops/blur/blur.c"

#include "base/test/check.h"
#include "imgops/blur/rows.h"
#include "imgops/test/support.h"

#include <math.h>
#include <string.h>

static const struct memory plain = { 0 }; /* no pauses */

enum {
	SIDE_MAX = 70,
	STRIDE = 96,
	LINE = 160,
};

static int16_t line_room[PYRAMID_LINES][LINE];
static int16_t *lines[PYRAMID_LINES] = { line_room[0], line_room[1],
					 line_room[2], line_room[3] };
static int16_t values[2][SIDE_MAX * STRIDE];
static uint8_t samples[SIDE_MAX * STRIDE];

static double value_at(const struct level *l, int64_t x, int64_t y)
{
	int64_t right = (int64_t)l->width - 1, last = (int64_t)l->height - 1;

	x += l->origin;
	y += l->origin;
	x = x < 0 ? 0 : x > right ? right : x;
	y = y < 0 ? 0 : y > last ? last : y;

	size_t at = (size_t)y * l->stride + (size_t)x;

	return l->samples == NULL ? l->values[at] :
				    l->samples[at] * (1 << BLUR_EXTRA_BITS);
}

static struct level make_plane(struct img_size size)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(samples); i++)
		samples[i] = (uint8_t)scramble(i + size.width_px);
	return (struct level){
		.samples = samples,
		.width = size.width_px,
		.height = size.height_px,
		.stride = STRIDE,
	};
}

static struct level must_reduce(const struct level *from, int16_t *to)
{
	struct level next = pyramid_next(from);

	CHECK_NUMBER(next.width * next.stride, <=, ARRAY_SIZE(values[0]));
	next.values = to;
	pyramid_reduce(&next, from, lines, &plain);
	return next;
}

/* The sample at (x, y), from the samples around it. */
static double reduced(const struct level *from, int64_t x, int64_t y)
{
	static const double weights[] = { 0.25, 0.5, 0.25 };
	double sum = 0;

	for (int64_t i = 0; i < 9; i++)
		sum += weights[i / 3] * weights[i % 3] *
		       value_at(from, 2 * x + i % 3 - 1, 2 * y + i / 3 - 1);
	return sum;
}

static void check_reduced(const struct level *small, const struct level *large)
{
	/* Also outside of the level's own edges. */
	for (int64_t y = -4; y < (int64_t)small->height + 4; y++)
		for (int64_t x = -4; x < (int64_t)small->width + 4; x++)
			CHECK_NUMBER(fabs(value_at(small, x, y) -
					  reduced(large, x, y)),
				     <=, 1.01);
}

static double expanded(const struct level *small, int64_t x, int64_t y)
{
	int64_t left = (x + 2) / 2 - 1, top = (y + 2) / 2 - 1;
	int64_t right = left + (x & 1), below = top + (y & 1);

	return (value_at(small, left, top) + value_at(small, right, top) +
		value_at(small, left, below) + value_at(small, right, below)) /
	       4;
}

static void check_expanded(const struct level *large, const struct level *small,
			   double near)
{
	int64_t first = -(int64_t)large->origin;

	for (int64_t y = first; y < large->height + first; y++)
		for (int64_t x = first; x < large->width + first; x++)
			CHECK_NUMBER(fabs(value_at(large, x, y) -
					  expanded(small, x, y)),
				     <=, near);
}

static void test_levels_at_any_size(void)
{
	static int16_t backs[SIDE_MAX * STRIDE];

	for (uint32_t i = 0; i < SIDE_MAX * 2; i++) {
		struct img_size size = { 1 + i * 7 % SIDE_MAX,
					 1 + i * 11 % SIDE_MAX };
		struct level plane = make_plane(size);
		struct level half = must_reduce(&plane, values[0]);
		struct level quarter = must_reduce(&half, values[1]);

		check_reduced(&half, &plane);
		check_reduced(&quarter, &half);

		struct level back = half;

		back.values = backs;
		pyramid_expand(&back, &quarter, lines, &plain);
		check_expanded(&back, &quarter, 1.01);
		pyramid_expand(&plane, &half, lines, &plain);
		/* Rounded to samples. */
		check_expanded(&plane, &half, 33.01);
	}
}

static void test_flat_stays_flat(void)
{
	for (uint32_t value = 0; value < 256; value++) {
		struct level plane = make_plane(
			(struct img_size){ 5 + value % 9, 1 + value % 20 });
		struct level half, quarter;

		memset(samples, (int)value, sizeof(samples));
		half = must_reduce(&plane, values[0]);
		quarter = must_reduce(&half, values[1]);
		memset(values[0], 0, sizeof(values[0]));
		pyramid_expand(&half, &quarter, lines, &plain);
		memset(samples, (int)~value, sizeof(samples));
		pyramid_expand(&plane, &half, lines, &plain);
		for (uint32_t y = 0; y < plane.height; y++)
			for (uint32_t x = 0; x < plane.width; x++)
				CHECK_NUMBER(samples[y * STRIDE + x], ==,
					     value);
	}
}

static void test_levels_shrink_to_a_few_samples(void)
{
	struct level level = make_plane((struct img_size){ 65500, 1 });

	for (uint32_t i = 0; i < 20; i++) {
		level = pyramid_next(&level);
		CHECK_NUMBER(level.width, >=, 3);
		CHECK_NUMBER(level.height, ==, 3);
		CHECK_NUMBER(level.width, <=, level.stride);
	}
	CHECK_NUMBER(level.width, <=, 4);
}

int main(void)
{
	test_levels_at_any_size();
	test_flat_stays_flat();
	test_levels_shrink_to_a_few_samples();
	return 0;
}
