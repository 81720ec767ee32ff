/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/scale.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { LINEAR_STEPS = 6, DECADES_WITH_2_AND_5 = 3 };

static void add_tick(struct scale *s, double value, int decimals)
{
	struct tick *tick = &s->ticks[s->tick_count];

	if (s->tick_count == SCALE_TICKS_MAX)
		return;
	tick->value = value;
	snprintf(tick->label, sizeof(tick->label), "%.*f", decimals, value);
	s->tick_count++;
}

static int decimals_of(double step)
{
	int decimals = (int)ceil(-log10(step) - 1e-9);

	return decimals > 0 ? decimals : 0;
}

/* The least of 1, 2, 5, 10, 20, ... (or 0.5, 0.2, ...) that is not below. */
static double round_step(double least)
{
	double decade = pow(10, floor(log10(least)));
	double share = least / decade;

	if (share <= 1 + 1e-9)
		return decade;
	if (share <= 2 + 1e-9)
		return 2 * decade;
	return share <= 5 + 1e-9 ? 5 * decade : 10 * decade;
}

static void init_linear(struct scale *s, double low, double high)
{
	double step;
	int decimals;

	if (high - low < 1e-9 * fmax(fabs(high), 1e-9)) { /* one value */
		low -= fmax(fabs(low) * 0.01, 1e-6);
		high += fmax(fabs(high) * 0.01, 1e-6);
	}
	step = round_step((high - low) / LINEAR_STEPS);
	decimals = decimals_of(step);
	s->low = floor(low / step + 1e-9) * step;
	s->high = ceil(high / step - 1e-9) * step;
	for (int i = 0; s->low + i * step < s->high + step / 2; i++)
		add_tick(s, s->low + i * step, decimals);
}

/* The ends are a 1, 2 or 5; ticks too, or 1 alone where that would be many. */
static void init_log(struct scale *s, double low, double high)
{
	static const double digits[] = { 1, 2, 5 };
	double begin = floor(log10(low) + 1e-9);
	double end = begin;
	int each;

	assert(low > 0);
	for (int i = 0; i < 3; i++)
		if (pow(10, begin) * digits[i] <= low * (1 + 1e-9))
			s->low = pow(10, begin) * digits[i];
	s->high = round_step(fmax(high, s->low * 1.1));
	end = floor(log10(s->high) + 1e-9);
	each = end - begin > DECADES_WITH_2_AND_5 ? 1 : 3;
	for (double power = begin; power <= end; power++)
		for (int i = 0; i < each; i++) {
			double value = pow(10, power) * digits[i];

			if (value >= s->low * (1 - 1e-9) &&
			    value <= s->high * (1 + 1e-9))
				add_tick(s, value, decimals_of(pow(10, power)));
		}
}

static void init_nines(struct scale *s, double high)
{
	double rest = 100; /* that is not on the scale */

	assert(high < 100);
	s->low = 0;
	add_tick(s, 0, 0);
	add_tick(s, 50, 0);
	for (int nines = 1; nines == 1 || 100 - rest < high; nines++) {
		rest /= 10;
		add_tick(s, 100 - rest, nines > 2 ? nines - 2 : 0);
	}
	s->high = 100 - rest;
}

void scale_init(struct scale *s, enum scale_kind kind, double low, double high,
		double from_px, double to_px)
{
	*s = (struct scale){
		.kind = kind,
		.from_px = from_px,
		.to_px = to_px,
	};
	assert(low <= high);
	switch (kind) {
	case SCALE_LINEAR:
		init_linear(s, low, high);
		break;
	case SCALE_LOG:
		init_log(s, low, high);
		break;
	case SCALE_NINES:
		init_nines(s, high);
		break;
	}
}

static double place(const struct scale *s, double value)
{
	switch (s->kind) {
	case SCALE_LOG:
		return log10(value);
	case SCALE_NINES:
		return -log10(1 - value / 100);
	case SCALE_LINEAR:
		break;
	}
	return value;
}

double scale_px(const struct scale *s, double value)
{
	double low = place(s, s->low);
	double share = (place(s, value) - low) / (place(s, s->high) - low);

	return s->from_px + share * (s->to_px - s->from_px);
}

void scale_spread(double *y, size_t count, double gap, double top,
		  double bottom)
{
	for (size_t i = 0; i < count; i++) {
		double least = i == 0 ? top : y[i - 1] + gap;

		y[i] = fmax(y[i], least);
	}
	for (size_t i = count; i-- > 0;) {
		double most = i + 1 == count ? bottom : y[i + 1] - gap;

		y[i] = fmax(fmin(y[i], most), top + gap * (double)i);
	}
}
