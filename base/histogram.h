/* SPDX-License-Identifier: MIT */
/*
 * Histogram: counts how many values fell into each of a fixed set of buckets,
 * without keeping the values.  A value is known with an error of up to 1/8.
 *
 * There are eight buckets for each power of two, from 0 to 2^48 (78 hours in
 * ns).  The last bucket also counts larger values.  For exact quantiles of
 * values that are kept, see quantiles.h.
 *
 * Threads    Any thread may add or read at any time.  While other threads add,
 *            each count is right at the moment when it is read, but not all
 *            counts are read at the same moment.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

/* Users of libstages, whose statistics have histograms, need these. */
#pragma GCC visibility push(default)

enum { HISTOGRAM_BUCKETS = 8 + (48 - 3) * 8 };

/* A struct of zeros is empty. */
struct histogram {
	_Atomic uint64_t counts[HISTOGRAM_BUCKETS];
};

/* A copy of one histogram, or the sum of several. */
struct histogram_copy {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t count;
};

/* In a build with DARKROOM_NO_STATISTICS, it does nothing. */
void histogram_add(struct histogram *h, uint64_t value);

/* The same, several times as fast, if only the calling thread adds to `h`. */
void histogram_add_own(struct histogram *h, uint64_t value);

/* Add the counts of `h` to those of `to`. */
void histogram_read(const struct histogram *h, struct histogram_copy *to);

/*
 * How many values are at most 2^bits - 1, for `bits` up to 48.  Exact, because
 * a bucket ends at each power of two.
 */
uint64_t histogram_count_to(const struct histogram_copy *h, uint32_t bits);

/*
 * The value that a share `q` (0 .. 1) of all values do not exceed, rounded up
 * to the end of its bucket.  0 if there are no values.
 */
uint64_t histogram_quantile(const struct histogram_copy *h, double q);

#pragma GCC visibility pop

#endif
