/* SPDX-License-Identifier: MIT */
/*
 * Gaussian blur by its true kernel, columns first, then rows.
 *
 * Chroma planes are blurred by the same length in the picture, so by fewer of
 * their samples.  Cost: samples x sigma.
 */
#include "imgops/imgops.h"
#include "imgops/planes.h"
#include "imgops/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	SIGMA_MAX = 100,
	REACH_SIGMAS = 3,
	RADIUS_MAX = SIGMA_MAX * REACH_SIGMAS,
	TAPS_MAX = 2 * RADIUS_MAX + 1,
};

struct kernel {
	uint32_t radius;
	int16_t weights[TAPS_MAX]; /* 2 * radius + 1 of them */
};

static void kernel_make(struct kernel *k, double sigma)
{
	double values[TAPS_MAX];

	k->radius = (uint32_t)ceil(sigma * REACH_SIGMAS);
	assert(k->radius <= RADIUS_MAX);
	for (uint32_t i = 0; i <= 2 * k->radius; i++) {
		double x = ((double)i - k->radius) / sigma;

		values[i] = exp(-x * x / 2);
	}
	rows_weights(k->weights, values, 2 * k->radius + 1);
}

/* Sum the rows around `y`; rows past an edge are the edge row again. */
static void sum_rows(int16_t *out, const struct img_plane *src,
		     const struct kernel *k, uint32_t y)
{
	int16_t weights[TAPS_MAX];
	int64_t radius = k->radius, last = src->height - 1;
	int64_t from = y < radius ? 0 : y - radius;
	int64_t to = y + radius > last ? last : y + radius;

	memset(weights, 0, (size_t)(to - from + 1) * sizeof(*weights));
	for (int64_t i = -radius; i <= radius; i++) {
		int64_t at = y + i < from ? from : y + i > to ? to : y + i;

		weights[at - from] =
			(int16_t)(weights[at - from] + k->weights[i + radius]);
	}
	rows_best()->sum(out, src->samples + (size_t)from * src->stride_bytes,
			 src->stride_bytes, weights, (uint32_t)(to - from + 1),
			 src->width);
}

/* Extend `row` by `radius` copies of its first and last value. */
static void extend(int16_t *row, uint32_t width, uint32_t radius)
{
	for (uint32_t i = 1; i <= radius; i++) {
		row[-(int64_t)i] = row[0];
		row[width - 1 + i] = row[width - 1];
	}
}

static bool blur_plane(struct img_plane *dst, const struct img_plane *src,
		       double sigma, const struct img_memory *memory)
{
	struct kernel k;

	kernel_make(&k, sigma);

	size_t sums_count = (size_t)src->width + 2 * (size_t)k.radius;
	int16_t *sums = memory->alloc(memory->arg, sums_count * sizeof(*sums));

	if (sums == NULL)
		return false;
	for (uint32_t y = 0; y < src->height; y++) {
		sum_rows(sums + k.radius, src, &k, y);
		extend(sums + k.radius, src->width, k.radius);
		rows_best()->convolve(dst->samples + y * dst->stride_bytes,
				      sums, k.weights, 2 * k.radius + 1,
				      src->width);
	}
	memory->free(memory->arg, sums);
	return true;
}

enum img_err img_blur(struct image *dst, const struct image *src,
		      double sigma_px, const struct img_memory *memory)
{
	const struct img_plane *luma = &src->planes[0];

	assert(image_is_shaped(src));
	assert(sigma_px > 0 && sigma_px <= SIGMA_MAX);
	*dst = *src;
	dst->block = NULL;
	dst->profile = NULL;
	if (!image_alloc(dst, memory))
		return IMG_ERR_NO_MEMORY;
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *p = &src->planes[i];
		double sigma = sigma_px * p->span_x / luma->span_x;

		if (!blur_plane(&dst->planes[i], p, sigma, memory)) {
			img_release(dst);
			return IMG_ERR_NO_MEMORY;
		}
	}
	return IMG_OK;
}
