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

/* What all outputs of an axis share. */
struct kernel {
	double wide;     /* the kernel is stretched so much */
	double reach;    /* how many inputs it covers to each side */
	uint32_t window; /* the most inputs under it */
	uint32_t used;   /* as many as the plane has of them */
	uint32_t period; /* outputs after which weights are the same again */
	int64_t step;    /* inputs in a period; negative if mirrored */
	double *values;  /* room for `window` */
	double *folded;  /* room for `used` */
};

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b > 0) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Spans are whole, or halves where chroma is subsampled, or cut anyhow. */
static void set_period(struct kernel *k, const struct axis *a, uint32_t align)
{
	double in = 2 * a->in_span, out = 2 * a->out_span;

	k->period = UINT32_MAX;
	if (in != floor(in) || out != floor(out))
		return;

	uint32_t divisor = common_divisor((uint32_t)in, (uint32_t)out);

	/* Times `align`, so that the step keeps alignment. */
	k->period = (uint32_t)out / divisor * align;
	k->step = (int64_t)(in / divisor) * align * (a->mirrored ? -1 : 1);
}

/* Of the places, not of the ends. */
static bool lies_on_samples(const struct axis *a)
{
	double from = a->start + (a->mirrored ? a->in_span : 0);

	return a->in_span == a->out_span && from == floor(from);
}

static struct kernel kernel_of(const struct axis *a, uint32_t align)
{
	struct kernel k = { .wide = fmax(1, a->in_span / a->out_span) };

	k.reach = lies_on_samples(a) ? 0.5 : LOBES * k.wide;
	/* So many whole numbers at most lie inside. */
	k.window = (uint32_t)ceil(2 * k.reach);
	k.used = least(k.window, a->in);
	set_period(&k, a, align);
	return k;
}

/* Set output `i` of `t`; first[i] still counts from 0. */
static void fill(struct taps *t, uint32_t i, const struct axis *a,
		 uint32_t align, const struct kernel *k)
{
	double centre = place(a, i);
	int64_t from = (int64_t)ceil(centre - k->reach);
	double x = ((double)from - centre) / k->wide, step = 1 / k->wide;
	int64_t first = from < 0 ? 0 : from;
	const double *values = k->values;

	if (first + k->used > a->in)
		first = a->in - k->used;
	for (uint32_t n = 0; n < k->window; n++)
		k->values[n] = lanczos(x + n * step);
	if (first != from || k->used != k->window) {
		fold(k->folded, k->used, values, k->window, from,
		     (uint32_t)first, a->in);
		values = k->folded;
	}

	uint32_t shift = (uint32_t)first % align;

	t->first[i] = (uint32_t)first - shift;
	to_weights(t->weights + (size_t)i * t->count + shift, values, k->used);
}

/* Output `i` has the weights of one before it. */
static void repeat(struct taps *t, uint32_t i, uint32_t before, int64_t step)
{
	t->first[i] = (uint32_t)(t->first[before] + step);
	memcpy(t->weights + (size_t)i * t->count,
	       t->weights + (size_t)before * t->count,
	       t->count * sizeof(*t->weights));
}

/* Surely nothing was folded there. */
static bool is_inside(const struct taps *t, int64_t first, uint32_t in)
{
	return first > 0 && first + t->count < in;
}

/* True: output `i` is as the one of a period before. */
static bool repeats(const struct taps *t, uint32_t i, uint32_t in,
		    const struct kernel *k)
{
	if (i < k->period)
		return false;

	int64_t first = t->first[i - k->period];

	return is_inside(t, first, in) && is_inside(t, first + k->step, in);
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

bool axis_is_copy(const struct axis *a)
{
	return lies_on_samples(a) && !a->mirrored && a->start >= 0 &&
	       a->start + a->out <= a->in;
}

bool taps_make(struct taps *t, const struct axis *a, uint32_t align,
	       const struct img_memory *memory)
{
	struct kernel k = kernel_of(a, align);
	uint32_t count = (k.used + align) / 2 * 2;
	uint32_t outputs = a->out + TAPS_GROUP - 1;
	size_t weights_bytes = (size_t)outputs * count * sizeof(*t->weights);
	size_t values_bytes = ((size_t)k.window + k.used) * sizeof(*k.values);
	size_t first_bytes = outputs * sizeof(*t->first);

	*t = (struct taps){ .count = count };
	t->block = memory->alloc(memory->arg,
				 values_bytes + first_bytes + weights_bytes);
	if (t->block == NULL)
		return false;
	k.values = t->block;
	k.folded = k.values + k.window;
	t->first = (uint32_t *)(k.folded + k.used);
	t->weights = (int16_t *)(t->first + outputs);
	memset(t->weights, 0, weights_bytes);
	for (uint32_t i = 0; i < a->out; i++) {
		if (repeats(t, i, a->in, &k))
			repeat(t, i, i - k.period, k.step);
		else
			fill(t, i, a, align, &k);
	}
	for (uint32_t i = a->out; i < outputs; i++)
		repeat(t, i, i - 1, 0);
	count_from_lowest(t, outputs);
	return true;
}

void taps_release(struct taps *t, const struct img_memory *memory)
{
	if (t->block != NULL)
		memory->free(memory->arg, t->block);
	*t = (struct taps){ 0 };
}
