/* SPDX-License-Identifier: MIT */
#include "imgops/bench/reference.h"

#include "imgops/bench/measure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
	LOBES = 3,
	BLUR_SIGMAS = 7,
	GAUSSIAN = -1, /* a value in addition to enum img_filter */
};

/* A plane as displayed.  The picture covers a part of it (image.h). */
struct upright {
	double *values; /* rows without gaps */
	uint32_t width, height;
	double left, top; /* where the picture begins */
	double span_x, span_y;
};

static struct upright turn_upright(const struct img_plane *p,
				   uint32_t orientation)
{
	/* EXIF 2.32, 4.6.4: how the stored columns and rows are displayed. */
	bool aside = orientation >= 5;
	bool x_mirrored = orientation == 2 || orientation == 3 ||
			  orientation == 7 || orientation == 8;
	bool y_mirrored = orientation == 3 || orientation == 4 ||
			  orientation == 6 || orientation == 7;
	/*
	 * If an axis is mirrored, the samples outside of the span come first.
	 */
	double left = x_mirrored ? p->width - p->span_x : 0;
	double top = y_mirrored ? p->height - p->span_y : 0;
	struct upright u = {
		.width = aside ? p->height : p->width,
		.height = aside ? p->width : p->height,
		.left = aside ? top : left,
		.top = aside ? left : top,
		.span_x = aside ? p->span_y : p->span_x,
		.span_y = aside ? p->span_x : p->span_y,
	};
	double *next = must_alloc((size_t)u.height * u.width, sizeof(*next));

	assert(orientation >= 1 && orientation <= 8);
	u.values = next;
	for (uint32_t y = 0; y < u.height; y++)
		for (uint32_t x = 0; x < u.width; x++) {
			uint32_t column = aside ? y : x, row = aside ? x : y;

			if (x_mirrored)
				column = p->width - 1 - column;
			if (y_mirrored)
				row = p->height - 1 - row;
			*next++ = p->samples[row * p->stride_bytes + column];
		}
	return u;
}

double *plane_values(const struct img_plane *p)
{
	return turn_upright(p, 1).values;
}

struct likeness plane_likeness(const struct img_plane *p, const double *values)
{
	double *own = plane_values(p), count = (double)p->width * p->height;
	struct likeness l = { .psnr_db = 99 };
	double squares = 0;

	for (size_t i = 0; i < (size_t)p->width * p->height; i++) {
		double error = own[i] - values[i];

		squares += error * error;
		l.worst_levels = fmax(l.worst_levels, fabs(error));
	}
	if (squares > 0)
		l.psnr_db = fmin(l.psnr_db,
				 10 * log10(255 * 255 * count / squares));
	free(own);
	return l;
}

static double sinc(double x)
{
	return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

static double lanczos_kernel(double x)
{
	return fabs(x) < LOBES ? sinc(x) * sinc(x / LOBES) : 0;
}

/* Mitchell and Netravali, Reconstruction filters in computer graphics, 1988. */
static double cubic_kernel(double x, double b, double c)
{
	x = fabs(x);
	if (x < 1)
		return ((12 - 9 * b - 6 * c) * x * x * x +
			(-18 + 12 * b + 6 * c) * x * x + (6 - 2 * b)) /
		       6;
	if (x < 2)
		return ((-b - 6 * c) * x * x * x + (6 * b + 30 * c) * x * x +
			(-12 * b - 48 * c) * x + (8 * b + 24 * c)) /
		       6;
	return 0;
}

/* The overlap of two boxes, of which one is an input sample wide. */
static double box_kernel(double x, double sample_width)
{
	double ends = (1 + sample_width) / 2 - fabs(x);

	return fmin(fmax(ends / sample_width, 0), 1);
}

/*
 * `x` is in outputs when shrinking, in inputs when enlarging.  An input is
 * `sample_width` wide in this unit.
 */
static double kernel_value(int kernel, double x, double sample_width)
{
	switch (kernel) {
	case GAUSSIAN:
		return exp(-x * x / 2);
	case IMG_BOX:
		return box_kernel(x, sample_width);
	case IMG_TRIANGLE:
		return fmax(0, 1 - fabs(x));
	case IMG_BSPLINE:
		return cubic_kernel(x, 1, 0);
	case IMG_CATMULL_ROM:
		return cubic_kernel(x, 0, 0.5);
	case IMG_MITCHELL:
		return cubic_kernel(x, 1 / 3.0, 1 / 3.0);
	default:
		return lanczos_kernel(x);
	}
}

/* One filter for each output along an axis, over `count` inputs. */
struct filters {
	uint32_t out;
	long count;
	long *first; /* input of each output */
	double *weights;
};

/*
 * Outputs are `step` inputs apart; the part that is scaled begins at input
 * `start`.  The kernel is stretched to `wide`, and covers `reach` inputs to
 * each side.
 */
static struct filters filters_make(int kernel, double wide, double reach,
				   double start, double step, uint32_t out)
{
	long count = (long)ceil(2 * reach) + 1;
	struct filters f = {
		.out = out,
		.count = count,
		.first = must_alloc(out, sizeof(long)),
		.weights = must_alloc(out, (size_t)count * sizeof(double)),
	};

	for (uint32_t i = 0; i < out; i++) {
		double centre = start + (i + 0.5) * step - 0.5, sum = 0;
		double *weights = f.weights + (long)i * count;

		f.first[i] = (long)ceil(centre - reach);
		for (long k = 0; k < count; k++) {
			weights[k] = kernel_value(
				kernel,
				((double)(f.first[i] + k) - centre) / wide,
				step < 1 ? step : 1 / step);
			sum += weights[k];
		}
		for (long k = 0; k < count; k++)
			weights[k] /= sum;
	}
	return f;
}

/*
 * Filters that scale `in_span` inputs, from `start` on, to `out_span` outputs.
 */
static struct filters scale_filters(enum img_filter filter, double start,
				    double in_span, uint32_t out,
				    double out_span)
{
	double step = in_span / out_span, wide = fmax(1, step);

	/* At whole distances, this one is 1 in the middle and else 0. */
	if (in_span == out_span)
		filter = IMG_LANCZOS3;
	return filters_make((int)filter, wide, LOBES * wide, start, step, out);
}

static void filters_release(struct filters *f)
{
	free(f->first);
	free(f->weights);
}

/*
 * Output `i` of a line of `count` values, which are `step` apart.  Past the
 * ends, the end values are repeated.
 */
static double sum_line(const double *line, uint32_t count, size_t step,
		       const struct filters *f, uint32_t i)
{
	const double *weights = f->weights + (long)i * f->count;
	double sum = 0;

	if (f->first[i] >= 0 && f->first[i] + f->count <= (long)count) {
		line += (size_t)f->first[i] * step;
		for (long k = 0; k < f->count; k++)
			sum += weights[k] * line[(size_t)k * step];
		return sum;
	}
	for (long k = 0; k < f->count; k++) {
		long at = f->first[i] + k;

		at = at < 0 ? 0 : at >= (long)count ? (long)count - 1 : at;
		sum += weights[k] * line[(size_t)at * step];
	}
	return sum;
}

/* Apply `x` along rows, then `y` along columns. */
static double *filters_apply(const double *in, uint32_t width, uint32_t height,
			     const struct filters *x, const struct filters *y)
{
	double *rows = must_alloc(height, x->out * sizeof(double));
	double *out = must_alloc(y->out, x->out * sizeof(double));

	for (uint32_t j = 0; j < height; j++)
		for (uint32_t i = 0; i < x->out; i++)
			rows[(size_t)j * x->out + i] = sum_line(
				in + (size_t)j * width, width, 1, x, i);
	for (uint32_t j = 0; j < y->out; j++)
		for (uint32_t i = 0; i < x->out; i++)
			out[(size_t)j * x->out + i] =
				sum_line(rows + i, height, x->out, y, j);
	free(rows);
	return out;
}

double *reference_scale(const struct img_plane *plane,
			const struct img_view *view,
			const struct img_plane *shape, enum img_filter filter,
			const double *levels)
{
	struct upright u = turn_upright(plane, view->orientation);
	double in_x = view->width * u.span_x, in_y = view->height * u.span_y;
	struct filters x = scale_filters(filter, u.left + view->left * u.span_x,
					 in_x, shape->width, shape->span_x);
	struct filters y = scale_filters(filter, u.top + view->top * u.span_y,
					 in_y, shape->height, shape->span_y);
	double *out;

	for (size_t i = 0; levels != NULL && i < (size_t)u.width * u.height;
	     i++)
		u.values[i] = levels[(int)u.values[i]];
	out = filters_apply(u.values, u.width, u.height, &x, &y);
	for (size_t i = 0; i < (size_t)shape->width * shape->height; i++)
		out[i] = fmin(255, fmax(0, out[i]));
	free(u.values);
	filters_release(&x);
	filters_release(&y);
	return out;
}

static double *blur(const double *values, uint32_t width, uint32_t height,
		    double sigma, double reach)
{
	struct filters x = filters_make(GAUSSIAN, sigma, reach, 0, 1, width);
	struct filters y = filters_make(GAUSSIAN, sigma, reach, 0, 1, height);
	double *out = filters_apply(values, width, height, &x, &y);

	filters_release(&x);
	filters_release(&y);
	return out;
}

double *reference_blur(const struct img_plane *p, double sigma)
{
	double *values = plane_values(p);
	double *out =
		blur(values, p->width, p->height, sigma, BLUR_SIGMAS * sigma);

	free(values);
	return out;
}

#define SSIM_SIGMA 1.5
#define SSIM_C1 (0.01 * 255 * 0.01 * 255)
#define SSIM_C2 (0.03 * 255 * 0.03 * 255)

/*
 * For each position of the window, the mean product of the two pictures under
 * it.
 */
static double *mean_products(const double *a, const double *b, uint32_t width,
			     uint32_t height)
{
	double *products =
		must_alloc((size_t)width * height, sizeof(*products));
	double *means;

	for (size_t i = 0; i < (size_t)width * height; i++)
		products[i] = a[i] * b[i];
	means = blur(products, width, height, SSIM_SIGMA, SSIM_WINDOW / 2);
	free(products);
	return means;
}

double ssim(const double *a, const double *b, uint32_t width, uint32_t height)
{
	double *mean_a = blur(a, width, height, SSIM_SIGMA, SSIM_WINDOW / 2);
	double *mean_b = blur(b, width, height, SSIM_SIGMA, SSIM_WINDOW / 2);
	double *aa = mean_products(a, a, width, height);
	double *bb = mean_products(b, b, width, height);
	double *ab = mean_products(a, b, width, height);
	uint32_t edge = SSIM_WINDOW / 2;
	double sum = 0;

	assert(width >= SSIM_WINDOW && height >= SSIM_WINDOW);
	for (uint32_t y = edge; y < height - edge; y++)
		for (uint32_t x = edge; x < width - edge; x++) {
			size_t i = (size_t)y * width + x;
			double product = mean_a[i] * mean_b[i];
			double squares =
				mean_a[i] * mean_a[i] + mean_b[i] * mean_b[i];

			sum += (2 * product + SSIM_C1) *
			       (2 * (ab[i] - product) + SSIM_C2) /
			       ((squares + SSIM_C1) *
				(aa[i] + bb[i] - squares + SSIM_C2));
		}
	free(mean_a);
	free(mean_b);
	free(aa);
	free(bb);
	free(ab);
	return sum / ((double)(width - 2 * edge) * (height - 2 * edge));
}
