/* SPDX-License-Identifier: MIT */
#include "imgops/bench/ssim.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SIGMA 1.5
#define C1 (0.01 * 255 * 0.01 * 255)
#define C2 (0.03 * 255 * 0.03 * 255)

/* Weighted means under the window, of a column or of all of it. */
struct moments {
	double a, b, aa, bb, ab;
};

static void window_make(double window[SSIM_WINDOW])
{
	double sum = 0;

	for (int i = 0; i < SSIM_WINDOW; i++) {
		double x = (i - SSIM_WINDOW / 2) / SIGMA;

		window[i] = exp(-x * x / 2);
		sum += window[i];
	}
	for (int i = 0; i < SSIM_WINDOW; i++)
		window[i] /= sum;
}

static double similarity(const struct moments *m)
{
	double var_a = m->aa - m->a * m->a;
	double var_b = m->bb - m->b * m->b;
	double covar = m->ab - m->a * m->b;

	return (2 * m->a * m->b + C1) * (2 * covar + C2) /
	       ((m->a * m->a + m->b * m->b + C1) * (var_a + var_b + C2));
}

/* `a` and `b` point at the first of SSIM_WINDOW samples, `width` apart. */
static struct moments sum_column(const double *a, const double *b,
				 uint32_t width, const double *window)
{
	struct moments m = { 0 };

	for (uint32_t i = 0; i < SSIM_WINDOW; i++) {
		double x = a[(size_t)i * width], y = b[(size_t)i * width];

		m.a += window[i] * x;
		m.b += window[i] * y;
		m.aa += window[i] * x * x;
		m.bb += window[i] * y * y;
		m.ab += window[i] * x * y;
	}
	return m;
}

static struct moments sum_columns(const struct moments *columns,
				  const double *window)
{
	struct moments m = { 0 };

	for (int i = 0; i < SSIM_WINDOW; i++) {
		m.a += window[i] * columns[i].a;
		m.b += window[i] * columns[i].b;
		m.aa += window[i] * columns[i].aa;
		m.bb += window[i] * columns[i].bb;
		m.ab += window[i] * columns[i].ab;
	}
	return m;
}

double ssim(const double *a, const double *b, uint32_t width, uint32_t height)
{
	struct moments *columns = calloc(width, sizeof(*columns));
	double window[SSIM_WINDOW], sum = 0;
	uint32_t across = width - SSIM_WINDOW + 1;
	uint32_t down = height - SSIM_WINDOW + 1;

	assert(width >= SSIM_WINDOW && height >= SSIM_WINDOW);
	assert(columns != NULL);
	window_make(window);
	for (uint32_t y = 0; y < down; y++) {
		size_t row = (size_t)y * width;

		for (uint32_t x = 0; x < width; x++)
			columns[x] = sum_column(a + row + x, b + row + x, width,
						window);
		for (uint32_t x = 0; x < across; x++) {
			struct moments m = sum_columns(columns + x, window);

			sum += similarity(&m);
		}
	}
	free(columns);
	return sum / ((double)across * down);
}
