/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters of the calling thread, by perf_event_open(2): cycles,
 * instructions and cache misses, of user space.
 *
 * Many machines, and most containers, do not allow it: then there are none, and
 * whoever reports them says so.
 *
 * Threads    perf_open() in the thread that is to be counted; perf_read() and
 *            perf_close() too.
 */
#ifndef STAGES_PERF_H
#define STAGES_PERF_H

#include <stdbool.h>
#include <stdint.h>

enum { PERF_CYCLES, PERF_INSTRUCTIONS, PERF_CACHE_MISSES, PERF_COUNTERS };

struct perf {
	int fds[PERF_COUNTERS]; /* the first leads the group; -1: not open */
};

/* False: not allowed, or there are no such counters here; *p is closed. */
bool perf_open(struct perf *p);

/*
 * Totals since perf_open().  False: not open, or somebody else took the
 * counters for a while; totals are untouched.
 */
bool perf_read(const struct perf *p, uint64_t totals[PERF_COUNTERS]);

/* A closed one is fine. */
void perf_close(struct perf *p);

/* `type` and `config` as in perf_event_open(2). */
struct perf_event {
	uint32_t type;
	uint64_t config;
};

/* perf_open() with others in place of the three; tests use it. */
bool perf_open_events(struct perf *p,
		      const struct perf_event events[PERF_COUNTERS]);

#endif
