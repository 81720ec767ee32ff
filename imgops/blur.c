/* SPDX-License-Identifier: MIT */
/*
 * Gaussian blur: by its true kernel up to a sigma of DIRECT_SIGMA_MAX, along
 * rows, then columns; above, by the same at the level of a pyramid where sigma
 * is again below that.  Cost per sample: sigma, up to there; then about
 * constant.
 *
 * A level of step n has been smoothed by two triangles when it is back at full
 * size, of a variance of (n * n - 1) / 6 each: the kernel does the rest.  What
 * is not exactly Gaussian in that is too fine to pass the kernel.
 *
 * Chroma planes are blurred by the same length in the picture, so by fewer of
 * their samples.
 */
#include "imgops/blur_rows.h"
#include "imgops/imgops.h"
#include "imgops/planes.h"
#include "imgops/pyramid.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SIGMA_MAX 100
#define DIRECT_SIGMA_MAX 6.0
#define REACH_SIGMAS 3.0

enum {
	RADIUS_MAX = 18, /* DIRECT_SIGMA_MAX * REACH_SIGMAS */
	TAPS_MAX = 2 * RADIUS_MAX + 1,
	LEVELS_MAX = 6,
};

_Static_assert(RADIUS_MAX + 1 < BLUR_WEIGHTS_MAX, "flat stays flat");

struct kernel {
	uint32_t radius;
	int16_t weights[RADIUS_MAX + 1]; /* of the middle, outwards */
};

/* What blurring one plane needs.  Levels and lines share one block. */
struct work {
	struct kernel kernel;
	struct level levels[LEVELS_MAX]; /* 0: the source */
	uint32_t top;
	int16_t *ring; /* of the kernel's rows, blurred along */
	int16_t *lines[PYRAMID_LINES];
};

/* Weights sum to one, rounded so that their sums from the ends are near. */
static void kernel_make(struct kernel *k, double sigma)
{
	double values[RADIUS_MAX + 1] = { 0 }, total = 0, so_far = 0;
	long given = 0;

	k->radius = (uint32_t)ceil(sigma * REACH_SIGMAS);
	assert(k->radius > 0 && k->radius <= RADIUS_MAX);
	for (uint32_t i = 0; i <= 2 * k->radius; i++) {
		double value = exp(-(i / sigma) * (i / sigma) / 2);

		/* What lies past the ends is added to the ends. */
		values[i < k->radius ? i : k->radius] += value;
		total += i == 0 ? value : 2 * value;
	}
	for (uint32_t i = k->radius; i > 0; i--) {
		so_far += values[i];
		long wanted = lround(ldexp(so_far / total, BLUR_WEIGHT_BITS));

		k->weights[i] = (int16_t)(wanted - given);
		given = wanted;
	}
	given = (1 << BLUR_WEIGHT_BITS) - 2 * given;
	k->weights[0] = (int16_t)(given > INT16_MAX ? INT16_MAX : given);
}

/* Blur row `y` of `level` along itself, into `out`. */
static void blur_along(const struct work *w, const struct level *level,
		       uint32_t y, int16_t *out)
{
	uint32_t radius = w->kernel.radius;
	int16_t *line = w->lines[0] + radius;
	const int16_t *in[TAPS_MAX], *row = level_read(level, y, line);

	if (row != line)
		memcpy(line, row, level->width * sizeof(*row));
	row_extend(line, level->width, radius);
	for (uint32_t i = 0; i <= 2 * radius; i++)
		in[i] = line - radius + i;
	blur_rows_best()->fold(out, in, w->kernel.weights, radius,
			       level->width);
}

/* `dst` may be `src`: rows are read ahead of those written. */
static void blur_level(const struct work *w, const struct level *dst,
		       const struct level *src)
{
	uint32_t radius = w->kernel.radius, taps = 2 * radius + 1, slot = 0;
	size_t stride = pyramid_stride(src->width);
	const int16_t *in[TAPS_MAX]; /* the rows around the one to write */
	int16_t *row = w->ring;

	blur_along(w, src, 0, row);
	for (uint32_t i = 0; i < taps; i++)
		in[i] = row;
	for (uint32_t y = 1; y < src->height + radius; y++) {
		if (y < src->height) {
			slot = slot + 1 < taps ? slot + 1 : 0;
			row = w->ring + slot * stride;
			blur_along(w, src, y, row);
		}
		memmove(in, in + 1, (taps - 1) * sizeof(*in));
		in[taps - 1] = row;
		if (y < radius)
			continue;
		blur_rows_best()->fold(w->lines[1], in, w->kernel.weights,
				       radius, src->width);
		level_write(dst, y - radius, w->lines[1]);
	}
}

/* Levels and kernel for a blur of `plane`, no memory yet. */
static void work_plan(struct work *w, const struct img_plane *plane,
		      double sigma)
{
	double step = 1;

	*w = (struct work){ 0 };
	w->levels[0] = (struct level){
		.samples = plane->samples,
		.width = plane->width,
		.height = plane->height,
		.stride = plane->stride_bytes,
	};
	for (; sigma / step > DIRECT_SIGMA_MAX; step *= 2) {
		assert(w->top + 1 < LEVELS_MAX);
		w->levels[w->top + 1] = pyramid_next(&w->levels[w->top]);
		w->top++;
	}
	kernel_make(&w->kernel,
		    sqrt(sigma * sigma - (step * step - 1) / 3) / step);
}

/*
 * What a blur needs besides its result, 2 bytes each: values of the pyramid, a
 * third of the plane's if there is one; 2 * radius + 1 rows of the level that
 * is blurred; four lines.
 */
static bool work_alloc(struct work *w, const struct img_memory *memory)
{
	const struct level *top = &w->levels[w->top];
	uint32_t widest = w->levels[0].width > top->width ? w->levels[0].width :
							    top->width;
	size_t line = pyramid_stride(widest + 2 * RADIUS_MAX);
	size_t ring = (2 * w->kernel.radius + 1) * pyramid_stride(top->width);
	size_t count = ring + PYRAMID_LINES * line;

	for (uint32_t i = 1; i <= w->top; i++)
		count += w->levels[i].height * w->levels[i].stride;
	w->ring = memory->alloc(memory->arg, count * sizeof(*w->ring));
	if (w->ring == NULL)
		return false;

	int16_t *next = w->ring + ring;

	for (uint32_t i = 0; i < PYRAMID_LINES; i++, next += line)
		w->lines[i] = next;
	for (uint32_t i = 1; i <= w->top; i++) {
		w->levels[i].values = next;
		next += w->levels[i].height * w->levels[i].stride;
	}
	return true;
}

static bool blur_plane(struct img_plane *dst, const struct img_plane *src,
		       double sigma, const struct img_memory *memory)
{
	struct work w;
	struct level *levels = w.levels;

	work_plan(&w, src, sigma);
	if (!work_alloc(&w, memory))
		return false;

	struct level result = levels[0];

	result.samples = dst->samples;
	result.stride = dst->stride_bytes;
	for (uint32_t i = 0; i < w.top; i++)
		pyramid_reduce(&levels[i + 1], &levels[i], w.lines);
	blur_level(&w, w.top == 0 ? &result : &levels[w.top], &levels[w.top]);
	for (uint32_t i = w.top; i > 0; i--)
		pyramid_expand(i == 1 ? &result : &levels[i - 1], &levels[i],
			       w.lines);
	memory->free(memory->arg, w.ring);
	return true;
}

/* All of `src` but its samples. */
static bool prepare(struct image *dst, const struct image *src,
		    const struct img_memory *memory)
{
	*dst = *src;
	dst->block = NULL;
	dst->profile = NULL;
	if (!image_alloc(dst, memory))
		return false;
	if (src->profile == NULL)
		return true;
	dst->profile = memory->alloc(memory->arg, src->profile_bytes);
	if (dst->profile != NULL)
		memcpy(dst->profile, src->profile, src->profile_bytes);
	return dst->profile != NULL;
}

enum img_err img_blur(struct image *dst, const struct image *src,
		      double sigma_px, const struct img_memory *memory)
{
	const struct img_plane *luma = &src->planes[0];
	bool ok = prepare(dst, src, memory);

	assert(image_is_shaped(src));
	assert(sigma_px > 0 && sigma_px <= SIGMA_MAX);
	for (uint32_t i = 0; ok && i < src->plane_count; i++) {
		const struct img_plane *p = &src->planes[i];
		double sigma = sigma_px * p->span_x / luma->span_x;

		ok = blur_plane(&dst->planes[i], p, sigma, memory);
	}
	if (!ok)
		img_release(dst);
	return ok ? IMG_OK : IMG_ERR_NO_MEMORY;
}
