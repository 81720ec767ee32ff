/* SPDX-License-Identifier: MIT */
/*
 * Promises: the row loops for each kind of CPU give the sums that rows.h says,
 * bit for bit, at any width; weights sum to exactly one.
 */
#include "imgops/rows.h"
#include "imgops/test/support.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	WIDTH_MAX = 600, /* more than two strips */
	COUNT_MAX = 64,
};

static const uint32_t widths[] = { 1,  2,  3,  4,   5,   7,   8,   9,   15,
				   16, 17, 31, 100, 255, 256, 257, 511, 599 };

static uint8_t clamp(int64_t sum)
{
	int64_t v = sum >> (ROWS_WEIGHT_BITS + ROWS_EXTRA_BITS);

	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Weights as of Lanczos: both signs, sum one, and the outer ones small. */
static void make_weights(int16_t *weights, uint32_t count, uint32_t seed)
{
	double values[COUNT_MAX];

	for (uint32_t k = 0; k < count; k++)
		values[k] = scramble(seed + k) % 100 / 100.0 - 0.3;
	values[count / 2] += count;
	rows_weights(weights, values, count);
}

static int16_t make_value(uint32_t n)
{
	return (int16_t)((int)(scramble(n) % 24000) - 4000);
}

static void test_columns_are_summed(const struct rows *rows)
{
	static uint8_t in[COUNT_MAX * WIDTH_MAX];
	int16_t weights[COUNT_MAX];

	for (uint32_t i = 0; i < LENGTH(in); i++)
		in[i] = (uint8_t)scramble(i);
	for (uint32_t w = 0; w < LENGTH(widths); w++) {
		uint32_t width = widths[w], count = 1 + 7 * w % COUNT_MAX;
		int16_t *out = malloc(width * sizeof(*out));

		assert(out != NULL);
		make_weights(weights, count, w);
		rows->sum(out, in, WIDTH_MAX, weights, count, width);
		for (uint32_t x = 0; x < width; x++) {
			int64_t sum = 128;

			for (uint32_t k = 0; k < count; k++)
				sum += weights[k] * in[k * WIDTH_MAX + x];
			assert(out[x] == sum >> 8);
		}
		free(out);
	}
}

static void test_a_filter_for_each_sample_of_a_row(const struct rows *rows)
{
	for (uint32_t w = 0; w < LENGTH(widths); w++) {
		uint32_t width = widths[w];
		uint32_t count = (1 + w % 4) * ROWS_TAPS_ALIGN;
		uint32_t in_count = count + 3 * width;
		int16_t *in = malloc(in_count * sizeof(*in));
		uint32_t *first = malloc(width * sizeof(*first));
		int16_t *weights = malloc(width * count * sizeof(*weights));
		uint8_t *out = malloc(width);

		assert(in && first && weights && out);
		for (uint32_t i = 0; i < in_count; i++)
			in[i] = make_value(i);
		for (uint32_t x = 0; x < width; x++) {
			first[x] = scramble(x) % (3 * width + 1);
			make_weights(weights + x * count, count, x);
		}
		rows->resample(out, in, first, weights, count, width);
		for (uint32_t x = 0; x < width; x++) {
			int64_t sum = 1 << 19;

			for (uint32_t k = 0; k < count; k++)
				sum += weights[x * count + k] *
				       in[first[x] + k];
			assert(out[x] == clamp(sum));
		}
		free(in);
		free(first);
		free(weights);
		free(out);
	}
}

static void test_weights_sum_to_one_and_are_near(void)
{
	enum { COUNT = 601 };
	double values[COUNT];
	int16_t weights[COUNT];

	for (uint32_t round = 0; round < 300; round++) {
		uint32_t count = 1 + scramble(round) % COUNT;
		double total = 0, so_far = 0;
		int sum = 0;

		for (uint32_t k = 0; k < count; k++) {
			values[k] = scramble(round + k) % 1000 - 200.0;
			values[k] += k == count / 2 ? 5000 : 0;
			total += values[k];
		}
		rows_weights(weights, values, count);
		for (uint32_t k = 0; k < count; k++) {
			so_far += values[k];
			sum += weights[k];
			/* Within half a unit all along: spread evenly. */
			assert(fabs(sum - so_far / total * ROWS_WEIGHT_ONE) <
			       0.501);
		}
		assert(sum == ROWS_WEIGHT_ONE);
	}
}

int main(void)
{
	const struct rows *const kinds[] = { &rows_portable, rows_best() };

	for (uint32_t i = 0; i < LENGTH(kinds); i++) {
		printf("%s\n", kinds[i]->name);
		test_columns_are_summed(kinds[i]);
		test_a_filter_for_each_sample_of_a_row(kinds[i]);
	}
	test_weights_sum_to_one_and_are_near();
	return 0;
}
