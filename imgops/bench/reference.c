/* SPDX-License-Identifier: MIT */
#include "imgops/bench/reference.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
	LOBES = 3,
	BLUR_SIGMAS = 7,
};

/* One filter for each output sample, over `count` samples from `first`. */
struct filters {
	uint32_t out;
	long count;
	long *first;
	double *weights;
};

static void *must_alloc(size_t count, size_t bytes)
{
	void *block = calloc(count, bytes);

	assert(block != NULL);
	return block;
}

/* EXIF 2.32, 4.6.4: where the displayed sample (x, y) is in the file. */
static uint8_t displayed(const struct img_plane *p, uint32_t orientation,
			 uint32_t x, uint32_t y)
{
	uint32_t right = p->width - 1, bottom = p->height - 1;
	uint32_t column = x, row = y;

	switch (orientation) {
	case 2:
		column = right - x;
		break;
	case 3:
		column = right - x;
		row = bottom - y;
		break;
	case 4:
		row = bottom - y;
		break;
	case 5:
		column = y;
		row = x;
		break;
	case 6:
		column = y;
		row = bottom - x;
		break;
	case 7:
		column = right - y;
		row = bottom - x;
		break;
	case 8:
		column = right - y;
		row = x;
		break;
	default:
		break;
	}
	return p->samples[row * p->stride_bytes + column];
}

struct upright reference_turn(const struct img_plane *p, uint32_t orientation)
{
	bool aside = orientation >= 5;
	/* What is past the span comes first where an axis is mirrored. */
	double left = orientation == 2 || orientation == 3 ||
				      orientation == 7 || orientation == 8 ?
			      p->width - p->span_x :
			      0;
	double top = orientation == 3 || orientation == 4 || orientation == 6 ||
				     orientation == 7 ?
			     p->height - p->span_y :
			     0;
	struct upright u = {
		.width = aside ? p->height : p->width,
		.height = aside ? p->width : p->height,
		.left = aside ? top : left,
		.top = aside ? left : top,
		.span_x = aside ? p->span_y : p->span_x,
		.span_y = aside ? p->span_x : p->span_y,
	};

	assert(orientation >= 1 && orientation <= 8);
	u.samples = must_alloc(u.height, u.width);
	for (uint32_t y = 0; y < u.height; y++)
		for (uint32_t x = 0; x < u.width; x++)
			u.samples[(size_t)y * u.width + x] =
				displayed(p, orientation, x, y);
	return u;
}

void reference_release(struct upright *u)
{
	free(u->samples);
	*u = (struct upright){ 0 };
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

/* `x` in outputs; to enlarge, in inputs.  An input is `sample_width` wide. */
static double kernel_value(enum img_filter filter, double x,
			   double sample_width)
{
	switch (filter) {
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

static void normalise(double *weights, long count)
{
	double sum = 0;

	for (long k = 0; k < count; k++)
		sum += weights[k];
	for (long k = 0; k < count; k++)
		weights[k] /= sum;
}

static struct filters filters_make(uint32_t out, long count)
{
	return (struct filters){
		.out = out,
		.count = count,
		.first = must_alloc(out, sizeof(long)),
		.weights = must_alloc(out, (size_t)count * sizeof(double)),
	};
}

static void filters_release(struct filters *f)
{
	free(f->first);
	free(f->weights);
}

/* From `in_span` samples that begin at `start` to `out_span` samples. */
static struct filters scale_filters(double start, double in_span, uint32_t out,
				    double out_span, enum img_filter filter)
{
	double step = in_span / out_span;
	double wide = fmax(1, step);
	long count = (long)ceil(2 * LOBES * wide) + 1;
	struct filters f = filters_make(out, count);

	for (uint32_t i = 0; i < out; i++) {
		double centre = start + (i + 0.5) * step - 0.5;
		double *weights = f.weights + (long)i * count;

		f.first[i] = (long)ceil(centre - LOBES * wide);
		for (long k = 0; k < count; k++)
			weights[k] = kernel_value(
				filter,
				((double)(f.first[i] + k) - centre) / wide,
				step < 1 ? step : 1 / step);
		normalise(weights, count);
	}
	return f;
}

static struct filters blur_filters(uint32_t out, double sigma)
{
	long reach = (long)ceil(BLUR_SIGMAS * sigma);
	struct filters f = filters_make(out, 2 * reach + 1);

	for (uint32_t i = 0; i < out; i++) {
		double *weights = f.weights + (long)i * f.count;

		f.first[i] = (long)i - reach;
		for (long k = 0; k < f.count; k++) {
			double x = (double)(k - reach) / sigma;

			weights[k] = exp(-x * x / 2);
		}
		normalise(weights, f.count);
	}
	return f;
}

/*
 * Output `i` from a line of `count` samples, `step` apart; past the ends, the
 * end samples again.
 */
static double sum_line(const double *line, uint32_t count, size_t step,
		       const struct filters *f, uint32_t i)
{
	const double *weights = f->weights + (long)i * f->count;
	double sum = 0;

	for (long k = 0; k < f->count; k++) {
		long at = f->first[i] + k;

		at = at < 0 ? 0 : at >= (long)count ? (long)count - 1 : at;
		sum += weights[k] * line[(size_t)at * step];
	}
	return sum;
}

/* Apply `x` along rows, then `y` along columns. */
static double *apply_filters(const uint8_t *samples, size_t stride,
			     uint32_t width, uint32_t height,
			     const struct filters *x, const struct filters *y)
{
	double *line = must_alloc(width, sizeof(double));
	double *rows = must_alloc(height, x->out * sizeof(double));
	double *out = must_alloc(y->out, x->out * sizeof(double));

	for (uint32_t j = 0; j < height; j++) {
		for (uint32_t i = 0; i < width; i++)
			line[i] = samples[j * stride + i];
		for (uint32_t i = 0; i < x->out; i++)
			rows[(size_t)j * x->out + i] =
				sum_line(line, width, 1, x, i);
	}
	for (uint32_t j = 0; j < y->out; j++)
		for (uint32_t i = 0; i < x->out; i++)
			out[(size_t)j * x->out + i] =
				sum_line(rows + i, height, x->out, y, j);
	free(line);
	free(rows);
	return out;
}

double *reference_scale(const struct upright *u, const struct img_view *view,
			const struct img_plane *shape, enum img_filter filter)
{
	double in_x = view->width * u->span_x, in_y = view->height * u->span_y;
	bool is_moved = in_x == shape->span_x && in_y == shape->span_y;
	enum img_filter used = is_moved ? IMG_LANCZOS3 : filter;
	struct filters x = scale_filters(u->left + view->left * u->span_x, in_x,
					 shape->width, shape->span_x, used);
	struct filters y = scale_filters(u->top + view->top * u->span_y, in_y,
					 shape->height, shape->span_y, used);
	double *out = apply_filters(u->samples, u->width, u->width, u->height,
				    &x, &y);

	for (size_t i = 0; i < (size_t)shape->width * shape->height; i++)
		out[i] = fmin(255, fmax(0, out[i]));
	filters_release(&x);
	filters_release(&y);
	return out;
}

double *reference_blur(const struct img_plane *p, double sigma)
{
	struct filters x = blur_filters(p->width, sigma);
	struct filters y = blur_filters(p->height, sigma);
	double *out = apply_filters(p->samples, p->stride_bytes, p->width,
				    p->height, &x, &y);

	filters_release(&x);
	filters_release(&y);
	return out;
}

#define SSIM_SIGMA 1.5
#define SSIM_C1 (0.01 * 255 * 0.01 * 255)
#define SSIM_C2 (0.03 * 255 * 0.03 * 255)

/* Weighted means under the window, of a column or of all of it. */
struct moments {
	double a, b, aa, bb, ab;
};

static void window_make(double window[SSIM_WINDOW])
{
	double sum = 0;

	for (int i = 0; i < SSIM_WINDOW; i++) {
		double x = (i - SSIM_WINDOW / 2) / SSIM_SIGMA;

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

	return (2 * m->a * m->b + SSIM_C1) * (2 * covar + SSIM_C2) /
	       ((m->a * m->a + m->b * m->b + SSIM_C1) *
		(var_a + var_b + SSIM_C2));
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
