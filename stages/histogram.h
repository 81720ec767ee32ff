/* SPDX-License-Identifier: MIT */
/*
 * Histograms: how values are spread, within 1/8 of each value.
 *
 * Eight buckets for each power of two, from 0 to 2^48 (78 hours in ns); larger
 * values are counted in the last.
 *
 * Threads    add: any, at once.  read: any; while values are added, each count
 *            is exact and together they may be a moment apart.
 */
#ifndef STAGES_HISTOGRAM_H
#define STAGES_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 8 + (48 - 3) * 8 };

/* All zero is empty. */
struct histogram {
	_Atomic uint64_t counts[HISTOGRAM_BUCKETS];
};

/* A copy to look at, perhaps the sum of several. */
struct histogram_copy {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t count;
};

void histogram_add(struct histogram *h, uint64_t value);

/* Add what `h` holds to `to`. */
void histogram_read(const struct histogram *h, struct histogram_copy *to);

/*
 * How many do not exceed 2^bits - 1, `bits` up to 48; exact, as buckets end
 * there.
 */
uint64_t histogram_count_to(const struct histogram_copy *h, uint32_t bits);

/*
 * The value that a share of `q` (0 .. 1) of all does not exceed: the upper end
 * of its bucket.  0 if there is none.
 */
uint64_t histogram_quantile(const struct histogram_copy *h, double q);

#endif
