/* SPDX-License-Identifier: MIT */
#include "imgops/resample/weights.h"

#include "imgops/resample/bands.h"

#include <math.h>
#include <string.h>

enum { LOBES = 3 };

/*
 * sin(pi x) sin(pi x / 3) / (pi x)^2 * 3, within 1e-6.  It has no sines,
 * branches or divisions, so that compilers can vectorise it: factors for the
 * zeros at 1, 2 and (twice) 3, times a polynomial through eight Chebyshev nodes
 * for the smooth rest.
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

/* A cubic filter: one polynomial up to 1, and one up to 2. */
struct cubic {
	double middle[4], beyond[4]; /* factors of x^0 .. x^3 */
};

static struct cubic cubic_of(double b, double c)
{
	return (struct cubic){
		.middle = { (6 - 2 * b) / 6, 0, (-18 + 12 * b + 6 * c) / 6,
			    (12 - 9 * b - 6 * c) / 6 },
		.beyond = { (8 * b + 24 * c) / 6, (-12 * b - 48 * c) / 6,
			    (6 * b + 30 * c) / 6, (-b - 6 * c) / 6 },
	};
}

static double cubic(const struct cubic *c, double x)
{
	const double *p = x < 1 ? c->middle : c->beyond;

	return x < 2 ? ((p[3] * x + p[2]) * x + p[1]) * x + p[0] : 0;
}

/* The input coordinate, in samples, at which output sample `i` lies. */
static double input_position(const struct axis *a, uint32_t i)
{
	double at = (i + 0.5) * a->in_span / a->out_span;

	return a->start + (a->mirrored ? a->in_span - at : at) - 0.5;
}

/*
 * Copy the values of the samples from `from` on.  The value of a sample outside
 * the plane is added to that of the nearest edge sample.
 */
static void fold_values(double *folded, uint32_t used, const double *values,
			uint32_t count, int64_t from, uint32_t first,
			uint32_t in)
{
	memset(folded, 0, used * sizeof(*folded));
	for (uint32_t k = 0; k < count; k++) {
		int64_t at = from + k;

		at = (at < 0 ? 0 : at >= in ? in - 1 : at) - first;
		/* Rounding may produce one weight too many, of about 0. */
		if (at >= 0 && at < used)
			folded[at] += values[k];
	}
}

/*
 * Round to the nearest; halves go up.  `value` is above -BAND_WEIGHT_ONE.
 * lround() would take many times as long.
 */
static inline int32_t round_weight(double value)
{
	return (int32_t)(value + BAND_WEIGHT_ONE + 0.5) - BAND_WEIGHT_ONE;
}

/*
 * Turn values into weights that sum to exactly one.  Rounding errors are spread
 * evenly.
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
		int32_t wanted = round_weight(so_far * unit);

		weights[k] = (int16_t)(wanted - given);
		given = wanted;
	}
}

/* The values that all outputs of an axis share. */
struct kernel {
	enum img_filter filter;
	double wide;     /* the factor by which the kernel is stretched */
	double reach;    /* how many inputs it covers to each side */
	uint32_t window; /* the most inputs that one output uses */
	uint32_t used;   /* `window`, or fewer if the plane has fewer */
	uint32_t period; /* after this many outputs, weights repeat */
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

/*
 * Weights repeat only if both spans are multiples of a half.  A span is a whole
 * number; with subsampled chroma it may end in a half; if the picture is cut,
 * it may be any number.
 */
static void set_period(struct kernel *k, const struct axis *a, uint32_t align)
{
	double in = 2 * a->in_span, out = 2 * a->out_span;

	k->period = UINT32_MAX;
	if (in != floor(in) || out != floor(out))
		return;

	uint32_t divisor = common_divisor((uint32_t)in, (uint32_t)out);

	/* Times `align`, so that all first[i] stay aligned. */
	k->period = (uint32_t)out / divisor * align;
	k->step = (int64_t)(in / divisor) * align * (a->mirrored ? -1 : 1);
}

bool axis_keeps_samples(const struct axis *a)
{
	double from = a->start + (a->mirrored ? a->in_span : 0);

	return a->in_span == a->out_span && from == floor(from);
}

/* How many inputs it covers to each side, if outputs are `step` apart. */
static double reach_of(enum img_filter filter, double step)
{
	static const double reaches[] = {
		[IMG_LANCZOS3] = LOBES, [IMG_TRIANGLE] = 1, [IMG_BSPLINE] = 2,
		[IMG_CATMULL_ROM] = 2,  [IMG_MITCHELL] = 2,
	};

	/* As far as the areas of an input and an output touch. */
	if (filter == IMG_BOX)
		return (step + 1) / 2;
	return reaches[filter] * fmax(1, step);
}

static struct kernel kernel_of(const struct axis *a, uint32_t align)
{
	double step = a->in_span / a->out_span;
	struct kernel k = { .filter = a->filter, .wide = fmax(1, step) };

	k.reach = reach_of(k.filter, step);
	/* Samples that are only moved must not be blurred. */
	if (axis_keeps_samples(a)) {
		k.filter = IMG_LANCZOS3;
		k.reach = 0.5;
	}
	/* At most this many input samples lie within reach. */
	k.window = (uint32_t)ceil(2 * k.reach);
	k.used = min_u32(k.window, a->in);
	set_period(&k, a, align);
	return k;
}

/* The filter at each input of an output; the first is at `x`. */
static void fill_values(const struct kernel *k, double x)
{
	double step = 1 / k->wide, *values = k->values;
	double shortest = fmin(1, 2 * k->reach - 1); /* for the box */
	struct cubic c = { { 0 }, { 0 } };

	switch (k->filter) {
	case IMG_LANCZOS3:
		for (uint32_t n = 0; n < k->window; n++)
			values[n] = lanczos(x + n * step);
		return;
	case IMG_BOX:
		for (uint32_t n = 0; n < k->window; n++) {
			/* The length that the input and the output share. */
			double share = k->reach - fabs(x + n * step) * k->wide;

			values[n] = fmin(fmax(share, 0), shortest);
		}
		return;
	case IMG_TRIANGLE:
		for (uint32_t n = 0; n < k->window; n++)
			values[n] = fmax(1 - fabs(x + n * step), 0);
		return;
	case IMG_BSPLINE:
		c = cubic_of(1, 0);
		break;
	case IMG_CATMULL_ROM:
		c = cubic_of(0, 0.5);
		break;
	case IMG_MITCHELL:
		c = cubic_of(1 / 3.0, 1 / 3.0);
		break;
	}
	for (uint32_t n = 0; n < k->window; n++)
		values[n] = cubic(&c, fabs(x + n * step));
}

/* Set output `i` of `t`.  At this point first[i] counts from input 0. */
static void fill_output(struct filter_weights *t, uint32_t i,
			const struct axis *a, uint32_t align,
			const struct kernel *k)
{
	double centre = input_position(a, i);
	int64_t from = (int64_t)ceil(centre - k->reach);
	int64_t first = from < 0 ? 0 : from;
	const double *values = k->values;

	if (first + k->used > a->in)
		first = a->in - k->used;
	fill_values(k, ((double)from - centre) / k->wide);
	if (first != from || k->used != k->window) {
		fold_values(k->folded, k->used, values, k->window, from,
			    (uint32_t)first, a->in);
		values = k->folded;
	}

	uint32_t shift = (uint32_t)first % align;

	t->first[i] = (uint32_t)first - shift;
	to_weights(t->weights + (size_t)i * t->count + shift, values, k->used);
}

/* Copy the weights of output `before` to output `i`. */
static void repeat_output(struct filter_weights *t, uint32_t i, uint32_t before,
			  int64_t step)
{
	t->first[i] = (uint32_t)(t->first[before] + step);
	memcpy(t->weights + (size_t)i * t->count,
	       t->weights + (size_t)before * t->count,
	       t->count * sizeof(*t->weights));
}

/* True: all inputs are inside the plane, so no value was moved to an edge. */
static bool is_inside(const struct filter_weights *t, int64_t first,
		      uint32_t in)
{
	return first > 0 && first + t->count < in;
}

/* True: output `i` has the same weights as the output one period before. */
static bool is_repeated(const struct filter_weights *t, uint32_t i, uint32_t in,
			const struct kernel *k)
{
	if (i < k->period)
		return false;

	int64_t first = t->first[i - k->period];

	return is_inside(t, first, in) && is_inside(t, first + k->step, in);
}

/*
 * Count first[] from the lowest input. first[] rises, or falls if the axis is
 * mirrored.
 */
static void count_from_lowest(struct filter_weights *t, uint32_t outputs)
{
	uint32_t one = t->first[0], other = t->first[outputs - 1];

	t->from = min_u32(one, other);
	t->reach = one + other - 2 * t->from + t->count;
	for (uint32_t i = 0; i < outputs; i++)
		t->first[i] -= t->from;
}

bool axis_is_copy(const struct axis *a)
{
	return axis_keeps_samples(a) && !a->mirrored && a->start >= 0 &&
	       a->start + a->out <= a->in;
}

static uint32_t count_of(const struct kernel *k, uint32_t align)
{
	return (k->used + align) / 2 * 2;
}

static uint32_t outputs_of(const struct axis *a)
{
	return a->out + WEIGHTS_GROUP - 1;
}

uint32_t weights_window(const struct axis *a)
{
	return kernel_of(a, 1).window;
}

size_t weights_bytes(const struct axis *a, uint32_t align)
{
	struct kernel k = kernel_of(a, align);
	size_t of_output = sizeof(uint32_t) + /* first[], weights[] */
			   count_of(&k, align) * sizeof(int16_t);

	return ((size_t)k.window + k.used) * sizeof(*k.values) +
	       outputs_of(a) * of_output;
}

bool weights_make(struct filter_weights *t, const struct axis *a,
		  uint32_t align, const struct memory *memory)
{
	struct kernel k = kernel_of(a, align);
	uint32_t outputs = outputs_of(a);

	*t = (struct filter_weights){ .count = count_of(&k, align) };
	t->block = memory_alloc(memory, weights_bytes(a, align));
	if (t->block == NULL)
		return false;
	k.values = t->block;
	k.folded = k.values + k.window;
	t->first = (uint32_t *)(k.folded + k.used);
	t->weights = (int16_t *)(t->first + outputs);
	memset(t->weights, 0, (size_t)outputs * t->count * sizeof(*t->weights));
	for (uint32_t i = 0; i < a->out; i++) {
		if (is_repeated(t, i, a->in, &k))
			repeat_output(t, i, i - k.period, k.step);
		else
			fill_output(t, i, a, align, &k);
	}
	for (uint32_t i = a->out; i < outputs; i++)
		repeat_output(t, i, i - 1, 0);
	count_from_lowest(t, outputs);
	return true;
}

void weights_release(struct filter_weights *t, const struct memory *memory)
{
	memory_free(memory, t->block);
	*t = (struct filter_weights){ 0 };
}
