/* SPDX-License-Identifier: MIT */
#include "datasets/picture.h"

#include "datasets/xalloc.h"
#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Weights are in units of 1 / WEIGHT_ONE; the weights of a pixel add up to 1.
 */
enum { WEIGHT_BITS = 14, WEIGHT_ONE = 1 << WEIGHT_BITS };

/* Filter weights: the input pixels of each output pixel, along one axis. */
struct filter {
	uint32_t per_pixel;
	uint32_t *first; /* of each output pixel */
	int32_t *weights;
};

void picture_init(struct picture *p, uint32_t width, uint32_t height)
{
	assert(width > 0 && height > 0);
	*p = (struct picture){ width, height,
			       xcalloc((size_t)width * height, 3) };
}

void picture_release(struct picture *p)
{
	free(p->rgb);
	*p = (struct picture){ 0 };
}

void picture_halve(struct picture *out, const struct picture *in)
{
	size_t stride = (size_t)in->width * 3;

	picture_init(out, in->width / 2, in->height / 2);
	for (uint32_t y = 0; y < out->height; y++) {
		const uint8_t *from = in->rgb + 2 * y * stride;
		uint8_t *to = out->rgb + (size_t)y * out->width * 3;

		for (uint32_t x = 0; x < out->width; x++, from += 6, to += 3)
			for (int c = 0; c < 3; c++)
				to[c] = (uint8_t)((from[c] + from[c + 3] +
						   from[stride + c] +
						   from[stride + c + 3] + 2) >>
						  2);
	}
}

static double catmull_rom(double x)
{
	x = fabs(x);
	if (x < 1)
		return (1.5 * x - 2.5) * x * x + 1;
	if (x < 2)
		return ((-0.5 * x + 2.5) * x - 4) * x + 2;
	return 0;
}

/*
 * The weight of input pixel `i` in the output pixel that covers the input from
 * `at` to `at` + `step`.
 */
static double weight(double i, double at, double step)
{
	if (step < 1)
		return catmull_rom(i + 0.5 - (at + step / 2));
	return fmax(0, fmin(i + 1, at + step) - fmax(i, at));
}

/* Round the weights of a pixel; the largest absorbs the rounding error. */
static void set_weights(int32_t *out, const double *exact, uint32_t count)
{
	double total = 0;
	int32_t rest = WEIGHT_ONE;
	uint32_t largest = 0;

	for (uint32_t k = 0; k < count; k++)
		total += exact[k];
	for (uint32_t k = 0; k < count; k++) {
		out[k] = (int32_t)lround(exact[k] / total * WEIGHT_ONE);
		rest -= out[k];
		if (out[k] > out[largest])
			largest = k;
	}
	out[largest] += rest;
}

/*
 * Weights for `pixels` output pixels.  Together they cover the input from
 * `start` to `start` + `length`; the input row has `limit` pixels.
 */
static void filter_init(struct filter *f, double start, double length,
			uint32_t pixels, uint32_t limit)
{
	double step = length / pixels;
	uint32_t wanted = step < 1 ? 4 : (uint32_t)ceil(step) + 1;

	f->per_pixel = wanted < limit ? wanted : limit;
	f->first = xcalloc(pixels, sizeof(*f->first));
	f->weights =
		xcalloc((size_t)pixels * f->per_pixel, sizeof(*f->weights));

	double *exact = xcalloc(f->per_pixel, sizeof(*exact));

	for (uint32_t i = 0; i < pixels; i++) {
		double at = start + i * step;
		double first =
			step < 1 ? floor(at + step / 2 - 0.5) - 1 : floor(at);

		first = fmax(0, fmin(first, (double)limit - f->per_pixel));
		f->first[i] = (uint32_t)first;
		for (uint32_t k = 0; k < f->per_pixel; k++)
			exact[k] = weight(first + k, at, step);
		set_weights(f->weights + (size_t)i * f->per_pixel, exact,
			    f->per_pixel);
	}
	free(exact);
}

static void filter_release(struct filter *f)
{
	free(f->first);
	free(f->weights);
}

static uint8_t to_level(int32_t sum)
{
	int32_t level = (sum + WEIGHT_ONE / 2) >> WEIGHT_BITS;

	return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

/* One row of `bytes` bytes, the weighted sum of `count` rows. */
static void mix_rows(uint8_t *out, int32_t *sums, const uint8_t *in,
		     size_t stride, size_t bytes, const int32_t *weights,
		     uint32_t count)
{
	memset(sums, 0, bytes * sizeof(*sums));
	for (uint32_t k = 0; k < count; k++, in += stride)
		for (size_t x = 0; weights[k] != 0 && x < bytes; x++)
			sums[x] += weights[k] * in[x];
	for (size_t x = 0; x < bytes; x++)
		out[x] = to_level(sums[x]);
}

static void mix_columns(uint8_t *out, const uint8_t *in, uint32_t width,
			const struct filter *f)
{
	const int32_t *weights = f->weights;

	for (uint32_t x = 0; x < width; x++, weights += f->per_pixel) {
		const uint8_t *from = in + (size_t)f->first[x] * 3;
		int32_t red = 0, green = 0, blue = 0;

		for (uint32_t k = 0; k < f->per_pixel; k++, from += 3) {
			red += weights[k] * from[0];
			green += weights[k] * from[1];
			blue += weights[k] * from[2];
		}
		*out++ = to_level(red);
		*out++ = to_level(green);
		*out++ = to_level(blue);
	}
}

void picture_scale(struct picture *out, const struct picture *in,
		   struct box box, uint32_t width, uint32_t height)
{
	size_t stride = (size_t)in->width * 3;
	struct filter across, down;

	picture_init(out, width, height);
	filter_init(&across, box.left, box.width, width, in->width);
	filter_init(&down, box.top, box.height, height, in->height);

	/* Compute only the columns that the output needs. */
	size_t begin = (size_t)across.first[0] * 3;
	size_t end = ((size_t)across.first[width - 1] + across.per_pixel) * 3;
	uint8_t *row = xcalloc(stride, 1);
	int32_t *sums = xcalloc(stride, sizeof(*sums));

	for (uint32_t y = 0; y < height; y++) {
		mix_rows(row + begin, sums,
			 in->rgb + down.first[y] * stride + begin, stride,
			 end - begin, down.weights + (size_t)y * down.per_pixel,
			 down.per_pixel);
		mix_columns(out->rgb + (size_t)y * width * 3, row, width,
			    &across);
	}
	free(sums);
	free(row);
	filter_release(&across);
	filter_release(&down);
}

void picture_turn(struct picture *out, const struct picture *in,
		  int orientation)
{
	uint32_t w = in->width, h = in->height;
	bool sideways = orientation == 6 || orientation == 8;
	uint8_t *to;

	picture_init(out, sideways ? h : w, sideways ? w : h);
	to = out->rgb;
	for (uint32_t y = 0; y < out->height; y++)
		for (uint32_t x = 0; x < out->width; x++, to += 3) {
			/* Where a viewer shows the stored pixel (x, y). */
			uint32_t seen_x = x, seen_y = y;

			if (orientation == 3) {
				seen_x = w - 1 - x;
				seen_y = h - 1 - y;
			} else if (orientation == 6) {
				seen_x = w - 1 - y;
				seen_y = x;
			} else if (orientation == 8) {
				seen_x = y;
				seen_y = h - 1 - x;
			}
			memcpy(to, in->rgb + ((size_t)seen_y * w + seen_x) * 3,
			       3);
		}
}

void picture_add_noise(struct picture *p, uint32_t amplitude, uint64_t seed)
{
	size_t pixels = (size_t)p->width * p->height;

	for (size_t i = 0; i < pixels; i++) {
		uint64_t bits = random_next(&seed);
		int32_t sum = 0;

		/*
		 * The sum of eight random bytes is nearly normal, with a
		 * standard deviation of 209; 209 * 16 * 5 is nearly 2^14.
		 */
		for (int k = 0; k < 8; k++, bits >>= 8)
			sum += (int32_t)(bits & 255);
		sum = ((sum - 1020) * (int32_t)amplitude * 5 + (1 << 13)) >> 14;
		for (int c = 0; c < 3; c++) {
			int32_t level = p->rgb[i * 3 + c] + sum;

			p->rgb[i * 3 + c] = (uint8_t)(level < 0   ? 0 :
						      level > 255 ? 255 :
								    level);
		}
	}
}
