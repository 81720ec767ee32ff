/* SPDX-License-Identifier: MIT */
/*
 * Promises: at any ratio, filter weights are those of the filter up to
 * rounding, sum to one, use only inputs within the plane, and need the memory
 * that weights.h says.
 */
#include "base/test/check.h"
#include "imgops/resample/bands.h"
#include "imgops/resample/weights.h"
#include "imgops/test/exact.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The filter of all tests here. */
static enum img_filter filter;

/* The weight that each input should have for output `i`. */
static void reference(double *weights, const struct axis *a, uint32_t i)
{
	double wide = fmax(1, a->in_span / a->out_span);
	double at = (i + 0.5) * a->in_span / a->out_span;
	double centre = a->start + (a->mirrored ? a->in_span - at : at) - 0.5;
	double total = 0;

	memset(weights, 0, a->in * sizeof(*weights));
	for (long j = (long)floor(centre - 3 * wide); j <= centre + 3 * wide;
	     j++) {
		double x = (double)j - centre;
		/* An axis that keeps its samples only moves them. */
		double w = axis_keeps_samples(a) ?
				   fabs(x) < 0.5 :
				   exact_weight(filter, x,
						a->in_span / a->out_span);

		weights[j < 0 ? 0 : j >= a->in ? a->in - 1 : j] += w;
		total += w;
	}
	for (uint32_t j = 0; j < a->in; j++)
		weights[j] *= BAND_WEIGHT_ONE / total;
}

static void check_output(const struct filter_weights *t, uint32_t i,
			 uint32_t in, const double *expected)
{
	uint32_t first = t->from + t->first[i];
	double error = 0;
	int total = 0;

	CHECK_NUMBER(t->first[i] + t->count, <=, t->reach);
	for (uint32_t j = 0; j < first; j++)
		error -= expected[j];
	for (uint32_t k = 0; k < t->count; k++) {
		int weight = t->weights[(size_t)i * t->count + k];

		CHECK(first + k < in || weight == 0);
		total += weight;
		error += weight - (first + k < in ? expected[first + k] : 0);
		/* Rounding errors never add up. */
		CHECK_NUMBER(fabs(error), <, 0.6);
	}
	CHECK_NUMBER(total, ==, BAND_WEIGHT_ONE);
}

static void check_axis(const struct axis *any, uint32_t align)
{
	struct axis of_filter = *any, *a = &of_filter;
	double *expected = malloc(a->in * sizeof(*expected));
	struct filter_weights t;
	struct heap h;

	a->filter = filter;
	heap_init(&h);
	CHECK(expected != NULL);
	CHECK(weights_make(&t, a, align, &h.memory));
	CHECK_NUMBER(t.count % 2, ==, 0);
	CHECK_NUMBER(t.from % align, ==, 0);
	CHECK_NUMBER(t.from + t.reach, <=, a->in + 2);
	CHECK_NUMBER(t.count, <=, 6 * fmax(1, a->in_span / a->out_span) + 3);
	for (uint32_t i = 0; i < a->out; i++) {
		CHECK_NUMBER(t.first[i] % align, ==, 0);
		reference(expected, a, i);
		check_output(&t, i, a->in, expected);
	}
	for (uint32_t i = a->out; i < a->out + WEIGHTS_GROUP - 1; i++) {
		CHECK_NUMBER(t.first[i], ==, t.first[a->out - 1]);
		CHECK(memcmp(t.weights + (size_t)i * t.count,
			     t.weights + (size_t)(a->out - 1) * t.count,
			     t.count * sizeof(*t.weights)) == 0);
	}
	weights_release(&t, &h.memory);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(expected);
}

static void test_weights_are_the_filter_at_any_ratio(void)
{
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t in = 1 + scramble(5 * i) % (i % 3 ? 400 : 12);
		uint32_t out = 1 + scramble(5 * i + 1) % (i % 5 ? 300 : 12);
		double shown = i % 4 ? 1 : (1 + scramble(5 * i + 2) % 99) / 1e2;
		double place = scramble(5 * i + 3) % 100 / 99.0;
		struct axis a = { .in = in, .out = out, .mirrored = i % 2 };

		a.in_span = (in - (i % 7 == 0 ? 0.5 : 0)) * shown;
		a.out_span = out - (i % 11 == 0 ? 0.5 : 0);
		a.start = (in - a.in_span) * place;
		check_axis(&a, 1 + i / 2 % 2);
	}
}

static void test_extreme_ratios(void)
{
	static const uint32_t sides[][2] = {
		{ 65500, 1 }, { 65500, 3 }, { 1, 65500 },
		{ 2, 16384 }, { 3, 16384 }, { 9000, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		struct axis a = { .in = sides[i][0],
				  .out = sides[i][1],
				  .in_span = sides[i][0],
				  .out_span = sides[i][1] };

		check_axis(&a, 1);
		check_axis(&a, 2);
		/*
		 * A very narrow part of the plane, and half a sample of chroma.
		 */
		a.start = a.in_span * 0.9;
		a.in_span *= 1e-6;
		check_axis(&a, 2);
	}
	struct axis half = {
		.in = 32750, .out = 1, .in_span = 32750, .out_span = 0.5
	};
	check_axis(&half, 2);
}

static void test_no_memory_is_an_error(void)
{
	struct axis a = { .in = 9, .out = 5, .in_span = 9, .out_span = 5 };
	struct filter_weights t;
	struct heap h;

	heap_init(&h);
	h.fail_at = 1;
	CHECK(!weights_make(&t, &a, 1, &h.memory));
	CHECK(t.block == NULL);
	weights_release(&t, &h.memory);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	for (filter = IMG_LANCZOS3; filter <= IMG_MITCHELL; filter++) {
		test_weights_are_the_filter_at_any_ratio();
		test_extreme_ratios();
	}
	test_no_memory_is_an_error();
	return 0;
}
