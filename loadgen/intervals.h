/* SPDX-License-Identifier: MIT */
/*
 * Intervals: processed bytes in each five seconds of a run, as in the figures
 * of Gordon's thesis (UCAM-CL-TR-781, 4.3).
 *
 * A request counts where its reply ends.  The last interval ends with the run,
 * and its rate is over the time that it has.
 *
 * Pure.
 */
#ifndef LOADGEN_INTERVALS_H
#define LOADGEN_INTERVALS_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INTERVAL_S = 5 };

/* Zero one to begin. */
struct intervals {
	uint64_t *bytes; /* of each; owned */
	size_t count;    /* up to the last that has bytes */
};

struct interval {
	double end_s;
	double bytes_per_s;
	double cumulative_bytes_per_s; /* from the run's begin to end_s */
};

/*
 * Count `bytes` at `end_ns` since the run's begin.  False: out of memory, and
 * nothing is counted.
 */
MUST_CHECK bool intervals_add(struct intervals *v, uint64_t end_ns,
			      uint64_t bytes);

/* How many intervals there are in a run of `makespan_ns`. */
size_t intervals_count(uint64_t makespan_ns);

/* Interval `i` of them, with no more bytes than were added within the run. */
struct interval intervals_get(const struct intervals *v, uint64_t makespan_ns,
			      size_t i);

/* Make `v` empty.  An empty one is fine. */
void intervals_release(struct intervals *v);

#endif
