/* SPDX-License-Identifier: MIT */
#include "imgops/taps.h"

#include "imgops/bands.h"

#include <math.h>
#include <string.h>

enum { LOBES = 3 };

/*
 * sin(pi x) sin(pi x / 3) / (pi x)^2 * 3, within 1e-6, without sines, branches
 * and divisions, so that compilers make vectors of it: its zeros at 1, 2 and
 * (twice) 3, times what is left, which is smooth: a polynomial through eight
 * Chebyshev nodes.
 */
static inline double lanczos(double x)
{
	double t = x * x < LOBES * LOBES ? x * x : LOBES * LOBES;
	double outer = 1 - t / 9;
	double zeros = (1 - t) * (1 - t / 4) * outer * outer;
	double rest = -1.30824715e-08;

	rest = rest * t + 7.66903473e-07;
	rest = rest * t - 2.24469511e-05;
	rest = rest * t + 4.36914628e-04;
	rest = rest * t - 6.08247471e-03;
	rest = rest * t + 5.89169244e-02;
	rest = rest * t - 3.55473827e-01;
	rest = rest * t + 9.99999406e-01;
	return zeros * rest;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static double widening(const struct axis *a)
{
	return fmax(1, a->in_span / a->out_span);
}

/* The input coordinate, in samples, at which output sample `i` lies. */
static double place(const struct axis *a, uint32_t i)
{
	double at = (i + 0.5) * a->in_span / a->out_span;

	return a->start + (a->mirrored ? a->in_span - at : at) - 0.5;
}

/* What falls outside the plane is given to its edge samples. */
static void fold(double *folded, uint32_t used, const double *values,
		 uint32_t count, int64_t from, uint32_t first, uint32_t in)
{
	memset(folded, 0, used * sizeof(*folded));
	for (uint32_t k = 0; k < count; k++) {
		int64_t at = from + k;

		at = (at < 0 ? 0 : at >= in ? in - 1 : at) - first;
		/* Rounding may leave one too many, of weight about 0. */
		if (at >= 0 && at < used)
			folded[at] += values[k];
	}
}

/* Half goes up.  Above -BAND_WEIGHT_ONE; lround() takes many times as long. */
static inline int32_t nearest(double value)
{
	return (int32_t)(value + BAND_WEIGHT_ONE + 0.5) - BAND_WEIGHT_ONE;
}

/*
 * Turn values into weights that sum to exactly one, their rounding errors
 * spread evenly.
 */
static void to_weights(int16_t *weights, const double *values, uint32_t count)
{
	double total = 0, so_far = 0;
	int32_t given = 0;

	for (uint32_t k = 0; k < count; k++)
		total += values[k];

	double unit = BAND_WEIGHT_ONE / total;

	for (uint32_t k = 0; k < count; k++) {
		so_far += values[k];
		int32_t wanted = nearest(so_far * unit);

		weights[k] = (int16_t)(wanted - given);
		given = wanted;
	}
}

/* Sizes of a table, and room to work on one output. */
struct work {
	double wide;
	uint32_t window; /* the most inputs under the kernel */
	uint32_t used;   /* as many as the plane has of them */
	double *values;  /* `window` */
	double *folded;  /* `used` */
};

/* Set output `i` of `t`; first[i] still counts from 0. */
static void fill(struct taps *t, uint32_t i, const struct axis *a,
		 uint32_t align, const struct work *w)
{
	double centre = place(a, i);
	int64_t from = (int64_t)ceil(centre - LOBES * w->wide);
	double x = ((double)from - centre) / w->wide, step = 1 / w->wide;
	int64_t first = from < 0 ? 0 : from;
	const double *values = w->values;

	if (first + w->used > a->in)
		first = a->in - w->used;
	for (uint32_t k = 0; k < w->window; k++)
		w->values[k] = lanczos(x + k * step);
	if (first != from || w->used != w->window) {
		fold(w->folded, w->used, w->values, w->window, from,
		     (uint32_t)first, a->in);
		values = w->folded;
	}

	uint32_t shift = (uint32_t)first % align;

	t->first[i] = (uint32_t)first - shift;
	to_weights(t->weights + (size_t)i * t->count + shift, values, w->used);
}

/* first[] rises, or falls where the axis is mirrored. */
static void count_from_lowest(struct taps *t, uint32_t outputs)
{
	uint32_t one = t->first[0], other = t->first[outputs - 1];

	t->from = least(one, other);
	t->reach = one + other - 2 * t->from + t->count;
	for (uint32_t i = 0; i < outputs; i++)
		t->first[i] -= t->from;
}

bool taps_make(struct taps *t, const struct axis *a, uint32_t align,
	       const struct img_memory *memory)
{
	struct work w = { .wide = widening(a) };

	/* So many whole numbers at most lie inside the kernel. */
	w.window = (uint32_t)ceil(2 * LOBES * w.wide);
	w.used = least(w.window, a->in);
	*t = (struct taps){ .count = (w.used + align) / 2 * 2 };

	size_t outputs = (size_t)a->out + TAPS_GROUP - 1;
	size_t weights_bytes = outputs * t->count * sizeof(*t->weights);

	t->block = memory->alloc(memory->arg,
				 (w.window + w.used) * sizeof(*w.values) +
					 outputs * sizeof(*t->first) +
					 weights_bytes);
	if (t->block == NULL)
		return false;
	w.values = t->block;
	w.folded = w.values + w.window;
	t->first = (uint32_t *)(w.folded + w.used);
	t->weights = (int16_t *)(t->first + outputs);
	memset(t->weights, 0, weights_bytes);

	for (uint32_t i = 0; i < a->out; i++)
		fill(t, i, a, align, &w);
	for (uint32_t i = a->out; i < outputs; i++) {
		t->first[i] = t->first[i - 1];
		memcpy(t->weights + i * t->count,
		       t->weights + (i - 1) * t->count,
		       t->count * sizeof(*t->weights));
	}
	count_from_lowest(t, (uint32_t)outputs);
	return true;
}

void taps_release(struct taps *t, const struct img_memory *memory)
{
	if (t->block != NULL)
		memory->free(memory->arg, t->block);
	*t = (struct taps){ 0 };
}
