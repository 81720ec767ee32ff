/* SPDX-License-Identifier: MIT */
/* Scales have round ticks, hold all values, and labels do not overlap. */
#include "loadgen/compare/scale.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void expect_ticks(const struct scale *s, const char *expected)
{
	char labels[512] = "";

	for (size_t i = 0; i < s->tick_count; i++) {
		strcat(labels, i > 0 ? " " : "");
		strcat(labels, s->ticks[i].label);
	}
	assert(strcmp(labels, expected) == 0);
}

static void test_linear(void)
{
	struct scale s;

	scale_init(&s, SCALE_LINEAR, 3, 97, 0, 100);
	expect_ticks(&s, "0 20 40 60 80 100");
	assert(scale_px(&s, 0) == 0 && scale_px(&s, 100) == 100);
	scale_init(&s, SCALE_LINEAR, 41.21, 41.38, 0, 100);
	expect_ticks(&s, "41.20 41.25 41.30 41.35 41.40");
	scale_init(&s, SCALE_LINEAR, 1e6, 3e6, 0, 100);
	expect_ticks(&s, "1000000 1500000 2000000 2500000 3000000");
}

static void test_one_value(void)
{
	static const double values[] = { 0, 7, 1e9, 0.001 };

	for (int i = 0; i < 4; i++) {
		struct scale s;

		scale_init(&s, SCALE_LINEAR, values[i], values[i], 0, 100);
		assert(s.tick_count >= 2 && s.low < values[i]);
		assert(s.high > values[i]);
		scale_init(&s, SCALE_LOG, values[i] + 1, values[i] + 1, 0, 1);
		assert(s.tick_count >= 1 && s.low < s.high);
	}
}

static void test_log(void)
{
	struct scale s;

	scale_init(&s, SCALE_LOG, 3, 97, 0, 100);
	expect_ticks(&s, "2 5 10 20 50 100");
	scale_init(&s, SCALE_LOG, 0.5, 2, 0, 100);
	expect_ticks(&s, "0.5 1 2");
	assert(fabs(scale_px(&s, 1) - 50) < 1e-9);
	scale_init(&s, SCALE_LOG, 0.3, 15000, 0, 100);
	expect_ticks(&s, "1 10 100 1000 10000");
	assert(s.low == 0.2 && fabs(s.high - 20000) < 1e-6);
}

static void test_nines(void)
{
	struct scale s;

	scale_init(&s, SCALE_NINES, 0, 99.95, 0, 100);
	expect_ticks(&s, "0 50 90 99 99.9 99.99");
	assert(fabs(scale_px(&s, 90) - 25) < 1e-9);
	assert(fabs(scale_px(&s, 99.9) - 75) < 1e-9);
	scale_init(&s, SCALE_NINES, 0, 0, 0, 100); /* of one reply */
	expect_ticks(&s, "0 50 90");
	assert(scale_px(&s, 0) == 0 && scale_px(&s, 90) == 100);
}

/* Whatever the range, all of it is between the ends, upside down too. */
static void test_everything_is_inside(void)
{
	for (double low = 1e-4; low < 1e6; low *= 1.7)
		for (double high = low; high < low * 1e6; high *= 2.3) {
			struct scale s;

			for (int kind = SCALE_LINEAR; kind <= SCALE_LOG;
			     kind++) {
				scale_init(&s, (enum scale_kind)kind, low, high,
					   300, 20);
				assert(scale_px(&s, low) <= 300.001);
				assert(scale_px(&s, high) >= 19.999);
				assert(s.tick_count >= 1);
				assert(s.tick_count < SCALE_TICKS_MAX);
			}
		}
}

static void test_labels_spread(void)
{
	double apart[] = { 10, 50, 90 };
	double close[] = { 50, 50, 51 };
	double low[] = { 95, 96, 97 };
	double many[] = { 1, 1, 1, 1 };

	scale_spread(apart, 3, 16, 0, 100);
	assert(apart[0] == 10 && apart[1] == 50 && apart[2] == 90);
	scale_spread(close, 3, 16, 0, 100);
	assert(close[0] == 50 && close[1] == 66 && close[2] == 82);
	scale_spread(low, 3, 16, 0, 100);
	assert(low[0] == 68 && low[1] == 84 && low[2] == 100);
	scale_spread(many, 4, 16, 0, 20); /* no room: below, but apart */
	assert(many[0] == 0 && many[1] == 16 && many[3] == 48);
}

int main(void)
{
	test_linear();
	test_one_value();
	test_log();
	test_nines();
	test_everything_is_inside();
	test_labels_spread();
	return 0;
}
