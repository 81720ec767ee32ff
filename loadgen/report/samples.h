/* SPDX-License-Identifier: MIT */
/*
 * Samples: all measured values are kept, so their figures are exact.
 *
 * Percentiles are by nearest rank: the smallest sample that at least p per cent
 * of all samples do not exceed.  Nothing is rounded into buckets.  A percentile
 * is reported only of enough samples (base/quantiles.h).
 *
 * Pure.  The unit is that of the samples.
 *
 * Limits     8 to 16 bytes for each sample, because the array doubles when it
 *            grows.
 */
#ifndef LOADGEN_REPORT_SAMPLES_H
#define LOADGEN_REPORT_SAMPLES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* All zero: empty. */
struct samples {
	double *values;
	size_t count;
	size_t capacity;
	bool is_sorted;
};

/* The figures of samples, in the order of the report. */
enum figure {
	FIGURE_MEAN,
	FIGURE_P50,
	FIGURE_P90,
	FIGURE_P99,
	FIGURE_P999, /* p99.9 */
	FIGURE_MAX,
	FIGURE_COUNT,
};

/* "mean", "p50" .. "p99.9", "max". */
extern const char *const figure_names[FIGURE_COUNT];

/* How many samples it needs (base/quantiles.h). */
extern const size_t figure_samples[FIGURE_COUNT];

struct summary {
	double figures[FIGURE_COUNT]; /* NAN: there are too few samples */
};

/* Make room for one more.  False: out of memory, and `s` is as it was. */
MUST_CHECK bool samples_reserve(struct samples *s);

/* samples_reserve() has made room. */
void samples_add(struct samples *s, double value);

/* False: there are no samples, and `out` is untouched.  Reorders `s`. */
bool samples_summarize(struct samples *s, struct summary *out);

/*
 * One step of the ladder of percentiles that HdrHistogram prints: five steps
 * to 50 %, five more to 75 %, to 87.5 % and so on, up to the last sample.
 */
struct samples_rung {
	double value;      /* the sample at this percentile */
	double percentile; /* 0 .. 1; 1 only on the last rung */
	size_t count;      /* samples that are not greater than `value` */
};

/*
 * Rung `i`, counted from 0.  False: there are no more, and `out` is untouched.
 * Reorders `s`.
 */
bool samples_rung(struct samples *s, unsigned i, struct samples_rung *out);

/* Make `s` empty.  An empty one is fine. */
void samples_release(struct samples *s);

#endif
