/* SPDX-License-Identifier: MIT */
/*
 * Scaling by Lanczos-3: every output sample is a weighted sum of the input
 * samples around its place, columns first, then rows.
 *
 * The places come from the spans of the two planes, so chroma stays where
 * JPEG puts it (centred between luma samples) for any pair of subsamplings.
 * Mirroring is a matter of places too.  Only turning aside costs a transposed
 * store.
 */
#include "imgops/scale.h"

#include "imgops/colour.h"
#include "imgops/planes.h"
#include "imgops/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LOBES = 3 };

/* For each output sample: its first input sample and its weights. */
struct taps {
	double *scratch; /* `count` values; leads the block of all three */
	uint32_t *first;
	int16_t *weights; /* `count` for each output sample */
	uint32_t count;   /* the last ones may be padding, of weight 0 */
};

struct axis {
	uint32_t in, out;         /* samples */
	double in_span, out_span; /* of what is shown */
	double start;             /* where that begins, in input samples */
	bool mirrored;
};

static double lanczos(double x)
{
	double a = M_PI / LOBES * fabs(x);

	if (a < 1e-9)
		return 1;
	if (a >= M_PI)
		return 0;

	double s = sin(a);

	/* sin(3a) = 3 sin(a) - 4 sin(a)^3 saves the second sine. */
	return (3 * s - 4 * s * s * s) * s / (LOBES * a * a);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static double widening(const struct axis *a)
{
	return fmax(1, a->in_span / a->out_span);
}

static uint32_t taps_needed(const struct axis *a)
{
	return least((uint32_t)ceil(2 * LOBES * widening(a)) + 1, a->in);
}

/* The input coordinate, in samples, at which output sample `i` lies. */
static double place(const struct axis *a, uint32_t i)
{
	double at = (i + 0.5) * a->in_span / a->out_span;

	return a->start + (a->mirrored ? a->in_span - at : at) - 0.5;
}

/*
 * Weights of the samples around `centre`; what falls outside the plane is
 * given to its edge sample.  Returns the first sample.
 */
static uint32_t fill_taps(double *values, uint32_t count, const struct axis *a,
			  double centre)
{
	double wide = widening(a);
	int64_t last = a->in - 1;
	int64_t from = (int64_t)ceil(centre - LOBES * wide);
	int64_t to = (int64_t)floor(centre + LOBES * wide);
	int64_t first = from < 0 ? 0 : from;

	if (first + count > a->in)
		first = a->in - count;
	memset(values, 0, count * sizeof(*values));
	for (int64_t i = from; i <= to; i++) {
		int64_t at = i < 0 ? 0 : i > last ? last : i;
		int64_t k = at - first;

		/* Rounding may leave one tap too many, of weight about 0. */
		if (k >= 0 && k < count)
			values[k] += lanczos(((double)i - centre) / wide);
	}
	return (uint32_t)first;
}

static void taps_free(struct taps *t, const struct img_memory *memory)
{
	if (t->scratch != NULL)
		memory->free(memory->arg, t->scratch);
	*t = (struct taps){ 0 };
}

/* False: no memory, and `t` is empty. */
static bool taps_make(struct taps *t, const struct axis *a,
		      const struct img_memory *memory)
{
	uint32_t used = taps_needed(a);
	size_t count = (used + ROWS_TAPS_ALIGN - 1) / ROWS_TAPS_ALIGN *
		       ROWS_TAPS_ALIGN;
	size_t per_sample = sizeof(*t->first) + count * sizeof(*t->weights);
	double *block = memory->alloc(memory->arg, count * sizeof(*t->scratch) +
							   a->out * per_sample);

	*t = (struct taps){ .scratch = block, .count = (uint32_t)count };
	if (block == NULL)
		return false;
	t->first = (uint32_t *)(t->scratch + count);
	t->weights = (int16_t *)(t->first + a->out);
	memset(t->weights, 0, a->out * count * sizeof(*t->weights));
	for (uint32_t i = 0; i < a->out; i++) {
		t->first[i] = fill_taps(t->scratch, used, a, place(a, i));
		rows_weights(t->weights + i * count, t->scratch, used);
	}
	return true;
}

/* Sum the input rows around output row `y`. */
static void sum_rows(int16_t *out, const struct img_plane *src,
		     const struct taps *t, uint32_t y)
{
	const int16_t *weights = t->weights + (size_t)y * t->count;
	uint32_t first = t->first[y], count = t->count;

	/* Padding, and all taps but one where nothing is scaled. */
	while (count > 1 && weights[count - 1] == 0)
		count--;
	while (count > 1 && weights[0] == 0) {
		weights++;
		first++;
		count--;
	}
	assert(first + count <= src->height);
	rows_best()->sum(out, src->samples + (size_t)first * src->stride_bytes,
			 src->stride_bytes, weights, count, src->width);
}

static void store_aside(struct img_plane *dst, uint32_t x, const uint8_t *row)
{
	uint8_t *to = dst->samples + x;

	for (uint32_t y = 0; y < dst->height; y++)
		to[y * dst->stride_bytes] = row[y];
}

/* `x` and `y` are axes of the source; `aside` swaps them on the way out. */
static bool scale_plane(struct img_plane *dst, const struct img_plane *src,
			const struct axis *x, const struct axis *y, bool aside,
			const struct img_memory *memory)
{
	struct taps along = { 0 }, down = { 0 };
	size_t sums_count = (size_t)src->width + ROWS_TAPS_ALIGN;
	int16_t *sums =
		memory->alloc(memory->arg, sums_count * sizeof(*sums) + x->out);
	bool ok = sums != NULL && taps_make(&along, x, memory) &&
		  taps_make(&down, y, memory);

	if (ok) {
		uint8_t *row = (uint8_t *)(sums + sums_count);

		/* Taps of weight 0 may reach past the end. */
		memset(sums, 0, sums_count * sizeof(*sums));
		for (uint32_t i = 0; i < y->out; i++) {
			uint8_t *out = dst->samples + i * dst->stride_bytes;

			sum_rows(sums, src, &down, i);
			rows_best()->resample(aside ? row : out, sums,
					      along.first, along.weights,
					      along.count, x->out);
			if (aside)
				store_aside(dst, i, row);
		}
	}
	taps_free(&along, memory);
	taps_free(&down, memory);
	if (sums != NULL)
		memory->free(memory->arg, sums);
	return ok;
}

/*
 * The part of a source axis of `span` samples that is shown, of which `from`
 * and `share` are given as displayed.
 */
static void show(struct axis *a, double span, double from, double share)
{
	a->in_span = span * share;
	a->start = span * (a->mirrored ? 1 - from - share : from);
}

/* EXIF 2.32, 4.6.4: how the file's rows and columns lie in the display. */
static bool scale_turned(struct img_plane *dst, const struct img_plane *src,
			 const struct img_view *view,
			 const struct img_memory *memory)
{
	uint32_t orientation = view->orientation;
	bool aside = orientation >= 5;
	struct axis x = {
		.in = src->width,
		.out = aside ? dst->height : dst->width,
		.out_span = aside ? dst->span_y : dst->span_x,
		.mirrored = orientation == 2 || orientation == 3 ||
			    orientation == 7 || orientation == 8,
	};
	struct axis y = {
		.in = src->height,
		.out = aside ? dst->width : dst->height,
		.out_span = aside ? dst->span_x : dst->span_y,
		.mirrored = orientation == 3 || orientation == 4 ||
			    orientation == 6 || orientation == 7,
	};
	struct axis *across = aside ? &y : &x, *down = aside ? &x : &y;

	show(across, aside ? src->span_y : src->span_x, view->left,
	     view->width);
	show(down, aside ? src->span_x : src->span_y, view->top, view->height);
	return scale_plane(dst, src, &x, &y, aside, memory);
}

bool scale_planes(struct image *dst, const struct image *src,
		  const struct img_view *view, const struct img_memory *memory)
{
	bool ok = true;

	assert(view->orientation >= 1 && view->orientation <= 8);
	assert(dst->plane_count == src->plane_count);
	for (uint32_t i = 0; ok && i < src->plane_count; i++)
		ok = scale_turned(&dst->planes[i], &src->planes[i], view,
				  memory);
	return ok;
}

static bool scale_shaped(struct image *dst, const struct image *src,
			 const struct img_view *view, bool full_chroma,
			 const struct img_memory *memory)
{
	image_shape(dst, view->size, src->space, full_chroma);
	dst->inks_inverted = src->inks_inverted;
	if (!image_alloc(dst, memory))
		return false;
	if (!scale_planes(dst, src, view, memory)) {
		img_release(dst);
		return false;
	}
	return true;
}

/* Scale to whole pixels, and only then convert: they are few. */
static bool scale_pixels(struct image *dst, const struct image *src,
			 const struct img_view *view, const struct colour *c,
			 bool full_chroma, const struct img_memory *memory)
{
	struct image pixels = { 0 };
	bool ok = scale_shaped(&pixels, src, view, true, memory) &&
		  colour_convert(dst, &pixels, c, full_chroma, memory);

	img_release(&pixels);
	return ok;
}

enum img_err img_scale(struct image *dst, const struct image *src,
		       const struct img_view *view,
		       const struct img_recipe *recipe,
		       const struct img_memory *memory)
{
	bool full_chroma = recipe->full_chroma, ok;
	struct colour c;

	colour_open(&c, src, view->size, recipe);
	if (colour_needs_pixels(&c, src)) {
		ok = scale_pixels(dst, src, view, &c, full_chroma, memory);
	} else {
		ok = scale_shaped(dst, src, view, full_chroma, memory);
		if (ok)
			colour_convert_grey(dst, &c);
	}
	ok = ok && colour_label(dst, src, &c, memory);
	colour_close(&c);
	if (!ok)
		img_release(dst);
	return ok ? IMG_OK : IMG_ERR_NO_MEMORY;
}
