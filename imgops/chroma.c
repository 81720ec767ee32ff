/* SPDX-License-Identifier: MIT */
#include "imgops/chroma.h"

#include "imgops/colour/colour.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
	PAIRS_MAX = 32,
	STRETCH_PX = 64,   /* pixels of a row that are made at a time, even */
	STRETCHES_MAX = 8, /* of a pair of rows */
	SAMPLES_MAX = 4,   /* of a pixel, along each axis */
};

/*
 * By how many levels the pixels of a block differ from their mean, on average,
 * in Cb and Cr together.
 */
enum { VARIED_LEVELS = 6, SHARP_LEVELS = 24 };

/*
 * The least share of sharp blocks, of all and of the varied ones.  What 4:4:4
 * gains is in sharp blocks, and what it costs is in all that vary.  Of the
 * varied blocks of 159 pictures, nearly all photos, at most 0.14 are sharp in
 * boxes from 640 on, and in one of 320 at most 0.28 but for one with a coloured
 * date; of those of coloured text and screens mostly more than half.
 */
#define SHARP_SHARE 0.005
#define SHARP_OF_VARIED 0.35

/* Samples of a file for each of the result: with half as many, none is lost. */
#define FINER_STEP 0.75

/*
 * The place of the `i`th pair, 0 .. 1.  Each is anywhere in its part: rows at
 * regular distances might all be between lines of text.
 */
static double place(uint32_t i)
{
	static const uint8_t moved[PAIRS_MAX] = {
		142, 35,  211, 88, 5,   180, 251, 60,  121, 229, 17,
		163, 99,  201, 48, 74,  236, 12,  155, 108, 195, 27,
		82,  247, 134, 66, 218, 1,   171, 40,  188, 115,
	};

	return (i + moved[i] / 256.0) / PAIRS_MAX;
}

uint32_t chroma_pairs(uint32_t height_px)
{
	return min_u32(height_px / 2, PAIRS_MAX);
}

uint32_t chroma_pair(uint32_t i, uint32_t height_px)
{
	uint32_t pairs = height_px / 2;

	if (pairs <= PAIRS_MAX)
		return 2 * i;
	return 2 * (uint32_t)(place(i) * pairs);
}

static uint32_t stretches(uint32_t width_px)
{
	return min_u32((width_px + STRETCH_PX - 1) / STRETCH_PX, STRETCHES_MAX);
}

/* Where stretch `i` of a row begins, at an even pixel. */
static uint32_t stretch_at(uint32_t i, uint32_t width_px)
{
	uint32_t count = stretches(width_px);
	uint32_t free_px = width_px - min_u32(width_px, STRETCH_PX);

	if (count < STRETCHES_MAX)
		return i * STRETCH_PX;
	return (uint32_t)((uint64_t)free_px * i / (count - 1)) & ~1u;
}

uint64_t chroma_pixels_max(struct img_size size)
{
	uint32_t width = min_u32(size.width_px, STRETCHES_MAX * STRETCH_PX);

	return (uint64_t)chroma_pairs(size.height_px) * 2 * width;
}

/* The sum of the differences of 2 x 2 samples to their mean, times 4. */
static int32_t differences(const uint8_t *upper, const uint8_t *lower)
{
	int32_t a = upper[0] * 4, b = upper[1] * 4;
	int32_t c = lower[0] * 4, d = lower[1] * 4;
	int32_t mean = (a + b + c + d) / 4;

	return abs(a - mean) + abs(b - mean) + abs(c - mean) + abs(d - mean);
}

void chroma_add(struct chroma_count *count, const uint8_t *const upper[2],
		const uint8_t *const lower[2], uint32_t width_px)
{
	const uint8_t *cb0 = upper[0], *cb1 = lower[0];
	const uint8_t *cr0 = upper[1], *cr1 = lower[1];
	uint32_t blocks = width_px / 2, varied = 0, sharp = 0;

	for (uint32_t x = 0; x < blocks; x++) {
		int32_t sum = differences(cb0 + 2 * x, cb1 + 2 * x) +
			      differences(cr0 + 2 * x, cr1 + 2 * x);

		varied += sum >= VARIED_LEVELS * 4 * 4;
		sharp += sum >= SHARP_LEVELS * 4 * 4;
	}
	count->blocks += blocks;
	count->varied += varied;
	count->sharp += sharp;
}

bool chroma_is_sharp(const struct chroma_count *count)
{
	return count->sharp > 0 &&
	       count->sharp >= SHARP_SHARE * count->blocks &&
	       count->sharp >= SHARP_OF_VARIED * count->varied;
}

static double step_of(const struct axis *a)
{
	return a->in_span / a->out_span;
}

bool chroma_is_finer(const struct axis *x, const struct axis *y)
{
	return fmax(step_of(x), step_of(y)) >= FINER_STEP;
}

/* The samples along an axis of which a pixel is the mean. */
struct samples {
	uint32_t each; /* samples of a pixel */
	uint32_t at[STRETCH_PX * SAMPLES_MAX];
};

/* For `count` pixels from `first` on, of an axis that is not mirrored. */
static void set_samples(struct samples *s, const struct axis *a, uint32_t begin,
			uint32_t first, uint32_t count)
{
	double step = step_of(a);

	s->each = min_u32((uint32_t)fmax(nearbyint(step), 1), SAMPLES_MAX);
	for (uint32_t i = 0; i < count * s->each; i++) {
		double at = a->start + (first + (i + 0.5) / s->each) * step;

		s->at[i] = begin + min_u32((uint32_t)fmax(at, 0), a->in - 1);
	}
}

/* A row of `count` pixels; `y` has the samples of that row alone. */
static void make_row(uint8_t *out, const struct img_plane *p,
		     const struct samples *x, const struct samples *y,
		     uint32_t count)
{
	const uint8_t *row = p->samples + y->at[0] * p->stride_bytes;
	uint32_t of_one = (1 << 16) / (x->each * y->each);

	for (uint32_t i = 0; of_one == 1 << 16 && i < count; i++)
		out[i] = row[x->at[i]];
	for (uint32_t i = 0; of_one < 1 << 16 && i < count; i++) {
		uint32_t sum = 0;

		for (uint32_t k = 0; k < y->each; k++) {
			row = p->samples + y->at[k] * p->stride_bytes;
			for (uint32_t j = 0; j < x->each; j++)
				sum += row[x->at[i * x->each + j]];
		}
		out[i] = (uint8_t)(sum * of_one >> 16);
	}
}

/* Axes of planes that begin at the sample (left, top). */
struct axes {
	const struct axis *x, *y;
	uint32_t left, top;
};

/*
 * Look at a stretch of `width` pixels from `from` on, in each second pair from
 * `first` on.
 */
static void add_stretch(struct chroma_count *count, const struct image *src,
			const struct axes *axes, uint32_t from, uint32_t width,
			uint32_t first)
{
	uint8_t made[2][2][STRETCH_PX]; /* the upper and the lower row */
	const uint8_t *const upper[] = { made[0][0], made[0][1] };
	const uint8_t *const lower[] = { made[1][0], made[1][1] };
	uint32_t height = axes->y->out;
	struct samples x, y;

	set_samples(&x, axes->x, axes->left, from, width);
	for (uint32_t i = first; i < chroma_pairs(height); i += 2) {
		for (uint32_t k = 0; k < 2; k++) {
			set_samples(&y, axes->y, axes->top,
				    chroma_pair(i, height) + k, 1);
			for (uint32_t c = 0; c < 2; c++)
				make_row(made[k][c], &src->planes[1 + c], &x,
					 &y, width);
		}
		chroma_add(count, upper, lower, width);
	}
}

bool chroma_is_sharp_scaled(const struct image *src, const struct axis *x,
			    const struct axis *y, uint32_t left, uint32_t top)
{
	struct axes axes = { x, y, left, top };
	struct chroma_count count = { 0 };

	assert(src->space == IMG_YCBCR);
	for (uint32_t i = 0; i < stretches(x->out); i++) {
		uint32_t from = stretch_at(i, x->out);
		uint32_t width = min_u32(STRETCH_PX, x->out - from);

		add_stretch(&count, src, &axes, from, width, i % 2);
		/* A narrow picture has too few to leave any out. */
		if (x->out <= STRETCH_PX * STRETCHES_MAX / 2)
			add_stretch(&count, src, &axes, from, width, 1 - i % 2);
	}
	return chroma_is_sharp(&count);
}

/*
 * Colours are multiplied by alpha, as if they were before black.  Before any
 * other grey their chroma is the same.
 */
static void add_rgba(struct chroma_count *count, const struct image *src,
		     uint32_t x, uint32_t y, uint32_t width)
{
	uint8_t made[2][2][STRETCH_PX];
	const uint8_t *const upper[] = { made[0][0], made[0][1] };
	const uint8_t *const lower[] = { made[1][0], made[1][1] };

	for (uint32_t k = 0; k < 2; k++) {
		uint8_t *const to[] = { made[k][0], made[k][1] };
		const uint8_t *const rgb[] = { image_row(src, 0, y + k) + x,
					       image_row(src, 1, y + k) + x,
					       image_row(src, 2, y + k) + x };

		colour_chroma_from_rgb(to, rgb, width);
	}
	chroma_add(count, upper, lower, width);
}

bool chroma_is_sharp_rgba(const struct image *src)
{
	uint32_t width = src->planes[0].width, height = src->planes[0].height;
	struct chroma_count count = { 0 };

	assert(src->space == IMG_RGBA);
	for (uint32_t i = 0; i < chroma_pairs(height); i++)
		for (uint32_t k = 0; k < stretches(width); k++) {
			uint32_t x = stretch_at(k, width);

			add_rgba(&count, src, x, chroma_pair(i, height),
				 min_u32(STRETCH_PX, width - x));
		}
	return chroma_is_sharp(&count);
}
