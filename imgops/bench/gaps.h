/* SPDX-License-Identifier: MIT */
/*
 * Gaps: the CPU time between two calls of memory.pause().  A schedule can take
 * the CPU from a picture only at such a call, or between two steps, so the
 * largest gap is the longest time for which another picture waits.
 *
 * Every file is run in each measured pass.  The time of a gap is its least over
 * these passes, so that an interrupt, or a page for which the hypervisor must
 * find memory, does not count.
 */
#ifndef IMGOPS_BENCH_GAPS_H
#define IMGOPS_BENCH_GAPS_H

#include "imgops/bench/report.h"

/* Where the memory of the steps comes from. */
enum gap_memory {
	GAP_MEMORY_KEPT,  /* a pool that keeps freed blocks, as under load */
	GAP_MEMORY_FRESH, /* each block is mapped and unmapped */
	GAP_MEMORY_COUNT,
};

struct gaps {
	/* In us; spread.most_path is the file with the longest gap. */
	struct spread steps[GAP_MEMORY_COUNT][STEP_COUNT];
};

void gaps_measure(struct gaps *g, const struct folder *folder,
		  const struct bench_options *o);

void gaps_release(struct gaps *g);

void gaps_print(FILE *out, const struct gaps *g, const struct bench_options *o);

/* The caller checks for errors by ferror(). */
void gaps_write_json(FILE *out, const struct gaps *g);

#endif
