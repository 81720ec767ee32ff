/* SPDX-License-Identifier: MIT */
/*
 * Gaps: the CPU time between two calls of memory.pause().  A schedule can take
 * the CPU from a picture only at such a call, or between two steps, so the
 * largest gap is the longest that another picture waits for it.
 *
 * Every file is run in each measured pass.  The time of a gap is the least over
 * these, so that an interrupt, or a page that the hypervisor has to find, does
 * not count.
 */
#ifndef IMGOPS_BENCH_GAPS_H
#define IMGOPS_BENCH_GAPS_H

#include "imgops/bench/report.h"

/* Where the memory of the steps comes from. */
enum gap_memory {
	GAP_MEMORY_KEPT,  /* a pool that keeps freed blocks, as under load */
	GAP_MEMORY_FRESH, /* one that does not: mapped and unmapped each time */
	GAP_MEMORY_COUNT,
};

struct gaps {
	/* In us, with the files that the largest are of. */
	struct spread steps[GAP_MEMORY_COUNT][STEP_COUNT];
};

void gaps_measure(struct gaps *g, const struct folder *folder,
		  const struct bench_options *o);

void gaps_release(struct gaps *g);

void gaps_print(FILE *out, const struct gaps *g, const struct bench_options *o);

/* Errors remain in `out`, for ferror(). */
void gaps_write_json(FILE *out, const struct gaps *g);

#endif
