/* SPDX-License-Identifier: MIT */
/*
 * Gaussian blur, and sharpening by it.  Up to a sigma of DIRECT_SIGMA_MAX the
 * true kernel is applied along rows, then along columns; the cost per sample
 * grows with sigma.  For a larger sigma the plane is first halved until sigma,
 * in samples of the smaller plane, is below that limit; the kernel is applied
 * there, and the result is enlarged again.  Then the cost per sample hardly
 * grows.
 *
 * Halving and doubling are the REDUCE and EXPAND of Burt and Adelson (The
 * Laplacian pyramid as a compact image code, 1983), with linear interpolation
 * in both directions.  Halving n times has the effect of a filter with a
 * triangle of half-width s = 2^n; doubling n times has the same effect.  Each
 * of these two triangles has a variance of (s * s - 1) / 6, and the kernel has
 * the remaining variance: sigma squared less that of the triangles.  The
 * triangles differ from a Gaussian only in details so fine that the kernel
 * removes them.
 *
 * The lowest level is the plane itself.  All other levels begin one sample left
 * of the picture and one above it, and end at least one sample after it.  So
 * extending the edges of a level has the same effect as extending the edges of
 * the plane.
 *
 * All planes are blurred by the same distance in the picture; in a subsampled
 * chroma plane this is a smaller number of samples.
 *
 * To sharpen, luma is blurred, and the difference of luma and its blur is added
 * to each channel (unsharp mask), by the curve that libvips has by default:
 * fine noise stays as it is, and edges get no wide halos.  Rows of the picture
 * are changed in place, as soon as their blur is known.
 */
#include "imgops/estimate.h"

#include "imgops/blur/rows.h"
#include "imgops/gainmap.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	PYRAMID_LINES = 4,  /* scratch lines, of line_values() each */
	PYRAMID_MARGIN = 3, /* values of a line past each end */
};

/* A picture that is sharpened: where the rows of the blurred luma go. */
struct sharpened {
	struct image *img;
	const struct img_plane *luma;
	int16_t *levels; /* a scratch line: what is added to a row */
};

struct level {
	/* The samples of the lowest level; NULL in all others. */
	uint8_t *samples;
	int16_t *values; /* the values (rows.h) of all other levels */
	uint32_t width;
	uint32_t height;
	size_t stride;   /* distance of rows, in samples or values */
	uint32_t origin; /* columns and rows before the picture begins */
	/* Rows are not written: they sharpen this.  Or NULL. */
	const struct sharpened *sharpened;
};

/* `width` rounded up to the number of values that the inner loops process. */
static size_t pyramid_stride(uint32_t width)
{
	return ((size_t)width + BLUR_ALIGN - 1) / BLUR_ALIGN * BLUR_ALIGN;
}

/*
 * How many samples of the next level cover `count` samples, with one more at
 * the end.
 */
static uint32_t next_side(uint32_t count, uint32_t origin)
{
	return (count - origin + 1) / 2 + 2;
}

/* The shape of the next smaller level; the caller sets its `values`. */
static struct level pyramid_next(const struct level *level)
{
	uint32_t width = next_side(level->width, level->origin);

	return (struct level){
		.width = width,
		.height = next_side(level->height, level->origin),
		.stride = pyramid_stride(width),
		.origin = 1,
	};
}

/*
 * Row `y` as values.  Level 0 has samples; there the values are computed into
 * `line`.
 */
static const int16_t *level_read(const struct level *level, uint32_t y,
				 int16_t *line)
{
	if (level->samples == NULL)
		return level->values + y * level->stride;
	blur_rows_best()->widen(line, level->samples + y * level->stride,
				level->width);
	return line;
}

/* Sharpen row `y`; `row` is its blurred luma. */
static void sharpen_row(const struct sharpened *s, uint32_t y,
			const int16_t *row)
{
	const struct blur_rows *rows = blur_rows_best();
	const struct image *img = s->img;
	const struct img_plane *p = img->planes;
	uint32_t width = s->luma->width;

	rows->contrast(s->levels, s->luma->samples + y * s->luma->stride_bytes,
		       row, width);
	if (img->space == IMG_GREY || img->space == IMG_YCBCR) {
		rows->add(p->samples + y * p->stride_bytes, s->levels, width);
		return;
	}
	for (uint32_t i = 0; i < 3; i++) {
		uint8_t *samples = p[i].samples + y * p[i].stride_bytes;

		if (img->space == IMG_RGBA)
			rows->add_within(samples, s->levels,
					 p[3].samples + y * p[3].stride_bytes,
					 width);
		else
			rows->add(samples, s->levels, width);
	}
}

static void level_write(const struct level *level, uint32_t y,
			const int16_t *row)
{
	if (level->sharpened != NULL)
		sharpen_row(level->sharpened, y, row);
	else if (level->samples == NULL)
		memcpy(level->values + y * level->stride, row,
		       level->width * sizeof(*row));
	else
		blur_rows_best()->narrow(level->samples + y * level->stride,
					 row, level->width);
}

/* Extend `row` by `count` copies of its first and last value. */
static void row_extend(int16_t *row, uint32_t width, uint32_t count)
{
	for (uint32_t i = 1; i <= count; i++) {
		row[-(int64_t)i] = row[0];
		row[width - 1 + i] = row[width - 1];
	}
}

static uint32_t clamp(int64_t at, uint32_t count)
{
	return at < 0 ? 0 : at >= count ? count - 1 : (uint32_t)at;
}

/* Make the next smaller level.  Lines have room for a row of the larger one. */
static void pyramid_reduce(const struct level *small, const struct level *large,
			   int16_t *const *lines, const struct memory *memory)
{
	const struct blur_rows *rows = blur_rows_best();
	int16_t *sum = lines[3] + PYRAMID_MARGIN;
	/* The position, in the large level, of the small one's first sample. */
	int64_t first = (int64_t)large->origin - 2;

	for (uint32_t y = 0; y < small->height; y++) {
		const int16_t *near[3];

		for (uint32_t i = 0; i < 3; i++) {
			int64_t at = first + 2 * (int64_t)y + i - 1;

			near[i] = level_read(large, clamp(at, large->height),
					     lines[i]);
		}
		rows->smooth(sum, near[0], near[1], near[2], large->width);
		row_extend(sum, large->width, PYRAMID_MARGIN);
		rows->reduce(small->values + y * small->stride, sum + first,
			     small->width);
		memory_pause(memory);
	}
}

/* Row `y` of `small` at the width of `large`. */
static const int16_t *expand_row(const struct level *large,
				 const struct level *small, uint32_t y,
				 int16_t *line)
{
	const int16_t *from = small->values + y * small->stride;
	uint32_t origin = large->origin;

	/* Pairs begin at even columns of the picture. */
	blur_rows_best()->expand(line, from + 1 - origin,
				 (large->width + origin + 1) / 2);
	return line + origin;
}

static void pyramid_expand(const struct level *large, const struct level *small,
			   int16_t *const *lines, const struct memory *memory)
{
	const int16_t *row = NULL, *next = NULL;

	for (uint32_t y = 0; y < large->height; y++) {
		uint32_t place = y + 2 - large->origin, at = place / 2;

		if (y == 0)
			next = expand_row(large, small, at, lines[at % 2]);
		if (y == 0 || place % 2 == 0) {
			row = next;
			next = expand_row(large, small, at + 1,
					  lines[(at + 1) % 2]);
		}
		if (place % 2 == 0) {
			level_write(large, y, row);
		} else {
			blur_rows_best()->average(lines[2], row, next,
						  large->width);
			level_write(large, y, lines[2]);
		}
		memory_pause(memory);
	}
}

#define SIGMA_MAX 100
#define DIRECT_SIGMA_MAX 6.0
#define REACH_SIGMAS 3.0

enum {
	RADIUS_MAX = 18, /* DIRECT_SIGMA_MAX * REACH_SIGMAS */
	WINDOW_MAX = 2 * RADIUS_MAX + 1,
	LEVELS_MAX = 6,
};

_Static_assert(RADIUS_MAX + 1 < BLUR_WEIGHTS_MAX, "flat stays flat");

struct kernel {
	uint32_t radius;
	int16_t weights[RADIUS_MAX + 1]; /* from the middle outwards */
};

/*
 * The memory that blurring one plane needs.  Levels and lines share one block.
 */
struct work {
	struct level levels[LEVELS_MAX]; /* level 0 is the source */
	uint32_t top;
	double sigma; /* sigma at the smallest level */
	struct kernel kernel;
	int16_t *ring; /* rows under the kernel, already blurred along x */
	int16_t *lines[PYRAMID_LINES];
};

static uint32_t kernel_radius(double sigma)
{
	return (uint32_t)ceil(sigma * REACH_SIGMAS);
}

/*
 * Weights sum to one.  They are rounded so that each partial sum, from the end
 * of the kernel inwards, is as near as possible to the exact sum.
 */
static void kernel_make(struct kernel *k, double sigma)
{
	double values[RADIUS_MAX + 1] = { 0 }, total = 0, so_far = 0;
	long given = 0;

	k->radius = kernel_radius(sigma);
	assert(k->radius > 0 && k->radius <= RADIUS_MAX);
	for (uint32_t i = 0; i <= 2 * k->radius; i++) {
		double value = exp(-(i / sigma) * (i / sigma) / 2);

		/* Weights past the ends are added to the ends. */
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

/* Blur row `y` of `level` along x, into `out`. */
static void blur_along(const struct work *w, const struct level *level,
		       uint32_t y, int16_t *out)
{
	uint32_t radius = w->kernel.radius;
	int16_t *line = w->lines[0] + radius;
	const int16_t *in[WINDOW_MAX], *row = level_read(level, y, line);

	if (row != line)
		memcpy(line, row, level->width * sizeof(*row));
	row_extend(line, level->width, radius);
	for (uint32_t i = 0; i <= 2 * radius; i++)
		in[i] = line - radius + i;
	blur_rows_best()->fold(out, in, w->kernel.weights, radius,
			       level->width);
}

/* `dst` may be `src`: a row is read before it is overwritten. */
static void blur_level(const struct work *w, const struct level *dst,
		       const struct level *src, const struct memory *memory)
{
	uint32_t radius = w->kernel.radius, window = 2 * radius + 1, slot = 0;
	size_t stride = pyramid_stride(src->width);
	const int16_t *in[WINDOW_MAX]; /* the rows around the one to write */
	int16_t *row = w->ring;

	blur_along(w, src, 0, row);
	for (uint32_t i = 0; i < window; i++)
		in[i] = row;
	for (uint32_t y = 1; y < src->height + radius; y++) {
		if (y < src->height) {
			slot = slot + 1 < window ? slot + 1 : 0;
			row = w->ring + slot * stride;
			blur_along(w, src, y, row);
		}
		memory_pause(memory);
		memmove(in, in + 1, (window - 1) * sizeof(*in));
		in[window - 1] = row;
		if (y < radius)
			continue;
		blur_rows_best()->fold(w->lines[1], in, w->kernel.weights,
				       radius, src->width);
		level_write(dst, y - radius, w->lines[1]);
	}
}

/* Plan the levels for a blur of `plane`; memory is not allocated yet. */
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
	w->sigma = sqrt(sigma * sigma - (step * step - 1) / 3) / step;
}

static size_t ring_values(const struct work *w)
{
	return (2 * kernel_radius(w->sigma) + 1) *
	       pyramid_stride(w->levels[w->top].width);
}

static size_t line_values(const struct work *w)
{
	uint32_t bottom = w->levels[0].width, top = w->levels[w->top].width;

	return pyramid_stride((bottom > top ? bottom : top) + 2 * RADIUS_MAX);
}

/*
 * The memory that a blur needs in addition to its result: values of the pyramid
 * (a third of the plane's, if there is a pyramid); 2 * radius + 1 rows of the
 * level that is blurred; four lines.
 */
static size_t work_bytes(const struct work *w)
{
	size_t values = ring_values(w) + PYRAMID_LINES * line_values(w);

	for (uint32_t i = 1; i <= w->top; i++)
		values += w->levels[i].height * w->levels[i].stride;
	return values * sizeof(int16_t);
}

static bool work_alloc(struct work *w, const struct memory *memory)
{
	size_t line = line_values(w);
	int16_t *next;

	w->ring = memory_alloc(memory, work_bytes(w));
	if (w->ring == NULL)
		return false;
	next = w->ring + ring_values(w);
	for (uint32_t i = 0; i < PYRAMID_LINES; i++, next += line)
		w->lines[i] = next;
	for (uint32_t i = 1; i <= w->top; i++) {
		w->levels[i].values = next;
		next += w->levels[i].height * w->levels[i].stride;
	}
	return true;
}

/*
 * Blur `src` into `dst`, which has the same size, or sharpen `s` by it; the
 * other one is NULL.
 */
static bool blur_plane(const struct img_plane *dst, struct sharpened *s,
		       const struct img_plane *src, double sigma,
		       const struct memory *memory)
{
	struct work w;
	struct level *levels = w.levels;

	work_plan(&w, src, sigma);
	if (!work_alloc(&w, memory))
		return false;
	kernel_make(&w.kernel, w.sigma);

	struct level result = levels[0];

	if (s != NULL) {
		s->levels = w.lines[PYRAMID_LINES - 1]; /* only for reducing */
		result.sharpened = s;
	} else {
		result.samples = dst->samples;
		result.stride = dst->stride_bytes;
	}
	for (uint32_t i = 0; i < w.top; i++)
		pyramid_reduce(&levels[i + 1], &levels[i], w.lines, memory);
	blur_level(&w, w.top == 0 ? &result : &levels[w.top], &levels[w.top],
		   memory);
	for (uint32_t i = w.top; i > 0; i--)
		pyramid_expand(i == 1 ? &result : &levels[i - 1], &levels[i],
			       w.lines, memory);
	memory_free(memory, w.ring);
	return true;
}

/* Copy everything from `src` except its samples. */
static bool copy_shape(struct image *dst, const struct image *src,
		       const struct memory *memory)
{
	*dst = *src;
	dst->block = NULL;
	dst->profile = NULL;
	dst->gainmap = NULL;
	if (!image_alloc(dst, memory))
		return false;
	if (src->profile == NULL)
		return true;
	dst->profile = memory->alloc(memory->arg, src->profile_bytes);
	if (dst->profile != NULL)
		memcpy(dst->profile, src->profile, src->profile_bytes);
	return dst->profile != NULL;
}

/* Convert `sigma_px` to samples of plane `i`. */
static double plane_sigma(const struct image *img, uint32_t i, double sigma_px)
{
	return sigma_px * img->planes[i].span_x / img->planes[0].span_x;
}

enum img_err img_blur(struct image *dst, const struct image *src,
		      double sigma_px, const struct memory *memory)
{
	bool ok = copy_shape(dst, src, memory);

	assert(image_is_shaped(src));
	assert(sigma_px > 0 && sigma_px <= SIGMA_MAX);
	for (uint32_t i = 0; ok && i < src->plane_count; i++) {
		const struct img_plane *p = &src->planes[i];

		ok = blur_plane(&dst->planes[i], NULL, p,
				plane_sigma(src, i, sigma_px), memory);
	}
	if (ok && src->gainmap != NULL)
		ok = gainmap_blur(dst, src, sigma_px, memory) == IMG_OK;
	if (!ok)
		img_release(dst);
	return ok ? IMG_OK : IMG_ERR_NO_MEMORY;
}

static bool has_luma(enum img_space space)
{
	return space == IMG_GREY || space == IMG_YCBCR;
}

/* The luma of R, G and B. */
static bool make_luma(struct image *luma, const struct image *img,
		      const struct memory *memory)
{
	const struct img_plane *p = img->planes;
	struct img_size size = { p->width, p->height };

	image_shape(luma, size, IMG_GREY, true);
	if (!image_alloc(luma, memory))
		return false;
	for (uint32_t y = 0; y < p->height; y++) {
		struct img_plane *to = &luma->planes[0];

		blur_rows_best()->luma(to->samples + y * to->stride_bytes,
				       p[0].samples + y * p[0].stride_bytes,
				       p[1].samples + y * p[1].stride_bytes,
				       p[2].samples + y * p[2].stride_bytes,
				       p->width);
		memory_pause(memory);
	}
	return true;
}

enum img_err img_sharpen(struct image *img, double sigma_px,
			 const struct memory *memory)
{
	struct image luma = { 0 };
	struct sharpened s = { .img = img, .luma = &img->planes[0] };
	bool ok = true;

	assert(image_is_shaped(img));
	assert(sigma_px > 0 && sigma_px <= SIGMA_MAX);
	if (!has_luma(img->space)) {
		ok = make_luma(&luma, img, memory);
		s.luma = &luma.planes[0];
	}
	ok = ok && blur_plane(NULL, &s, s.luma, sigma_px, memory);
	img_release(&luma);
	return ok ? IMG_OK : IMG_ERR_NO_MEMORY;
}

/* --- Estimate --- */

enum blur_term {
	TERM_SUMS,
	TERM_PYRAMID,   /* samples */
	TERM_SHARPENED, /* samples, and those of luma if it is made for that */
	TERM_COUNT,
};

static const struct estimate_term blur_terms[TERM_COUNT] = {
	[TERM_SUMS] = { "product", 0.0336 },
	[TERM_PYRAMID] = { "sample of a pyramid", 0.38 },
	[TERM_SHARPENED] = { "sample sharpened", 0.15 },
};

/* The fixed cost of a row, in samples. */
enum { ROW_SAMPLES_MIN = 192 };

static double level_samples(const struct level *level)
{
	return samples_in_groups(level->width, level->height, ROW_SAMPLES_MIN,
				 1);
}

/* The shape of the luma that img_sharpen() makes; *luma is empty if none. */
static void shape_luma(struct image *luma, const struct image *img)
{
	*luma = (struct image){ 0 };
	if (!has_luma(img->space))
		image_shape(luma,
			    (struct img_size){ img->planes[0].width,
					       img->planes[0].height },
			    IMG_GREY, true);
}

static uint64_t sharpen_bytes(const struct workload *w)
{
	const struct image *img = &w->scaled;
	struct image luma;
	struct work work;

	if (w->transform->sharpen_sigma_px <= 0)
		return 0;
	shape_luma(&luma, img);
	work_plan(&work, &img->planes[0], w->transform->sharpen_sigma_px);
	return image_bytes(img) + w->profile_bytes + image_bytes(&luma) +
	       work_bytes(&work);
}

static uint64_t blur_bytes(const struct workload *w)
{
	const struct image *img = &w->scaled;
	double sigma = w->transform->blur_sigma_px;
	uint64_t most = 0;

	if (sigma <= 0)
		return sharpen_bytes(w);
	for (uint32_t i = 0; i < img->plane_count; i++) {
		struct work work;

		work_plan(&work, &img->planes[i], plane_sigma(img, i, sigma));
		most = max_u64(most, work_bytes(&work));
	}
	return max_u64(2 * (image_bytes(img) + w->profile_bytes) + most,
		       sharpen_bytes(w));
}

static void count_plane(double *counts, const struct img_plane *p, double sigma)
{
	struct work work;

	work_plan(&work, p, sigma);
	counts[TERM_SUMS] += level_samples(&work.levels[work.top]) *
			     (2 * kernel_radius(work.sigma) + 1);
	for (uint32_t j = 0; work.top > 0 && j <= work.top; j++)
		counts[TERM_PYRAMID] += level_samples(&work.levels[j]);
}

static void blur_count(double *counts, const struct workload *w)
{
	const struct image *img = &w->scaled;
	double sigma = w->transform->blur_sigma_px;
	double sharpen = w->transform->sharpen_sigma_px;
	const struct img_plane *luma = &img->planes[0];

	for (uint32_t i = 0; sigma > 0 && i < img->plane_count; i++)
		count_plane(counts, &img->planes[i],
			    plane_sigma(img, i, sigma));
	if (sharpen <= 0)
		return;
	count_plane(counts, luma, sharpen);
	counts[TERM_SHARPENED] = samples_in_groups(luma->width, luma->height,
						   ROW_SAMPLES_MIN, 1) *
				 (has_luma(img->space) ? 1 : 4);
}

const struct step_estimate blur_estimate = {
	.name = "blur",
	.terms = blur_terms,
	.term_count = TERM_COUNT,
	.count = blur_count,
	.bytes = blur_bytes,
};
