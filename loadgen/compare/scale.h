/* SPDX-License-Identifier: MIT */
/*
 * Scale: an axis of a plot: from values to pixels, and where its ticks are.
 *
 * Nines: for shares in per cent; equal steps at 90, 99, 99.9, ...
 * Pure.
 */
#ifndef LOADGEN_COMPARE_SCALE_H
#define LOADGEN_COMPARE_SCALE_H

#include <stddef.h>

enum scale_kind { SCALE_LINEAR, SCALE_LOG, SCALE_NINES };

enum { SCALE_TICKS_MAX = 24, SCALE_LABEL_BYTES = 24 };

struct tick {
	double value;
	char label[SCALE_LABEL_BYTES];
};

struct scale {
	enum scale_kind kind;
	double low;
	double high;
	double from_px; /* where low is */
	double to_px;
	struct tick ticks[SCALE_TICKS_MAX];
	size_t tick_count;
};

/*
 * Fill `s`, with round numbers at the ends so that all from `low` to `high` is
 * on it.  Logarithmic: both above 0.  Nines: from 0 to below 100.
 */
void scale_init(struct scale *s, enum scale_kind kind, double low, double high,
		double from_px, double to_px);

double scale_px(const struct scale *s, double value);

/*
 * Move labels apart: `y` rises from label to label, and becomes such that each
 * is `gap` at least below the one before, none is above `top` or, if there is
 * room, below `bottom`.
 */
void scale_spread(double *y, size_t count, double gap, double top,
		  double bottom);

#endif
