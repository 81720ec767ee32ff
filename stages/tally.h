/* SPDX-License-Identifier: MIT */
/*
 * Tallies: each thread counts its own work: events and times at each stage,
 * hardware counters, and a trace of its last visits.  stats.h adds up the
 * tallies of all threads.  The rates that policies use are computed from
 * tallies here.
 *
 * Threads    Tallies: only the worker itself adds to its tallies; all threads
 *            that are not workers add to one common set.  Any thread may read
 *            at any time.  The counts are independent of each other, so no
 *            order among them is needed.  Adding takes a few nanoseconds.
 *            Hardware counters: the thread that is counted makes all calls.
 *            Traces: only the worker calls trace_add(); any thread may call
 *            trace_read() at any time.  Rates: one thread for each struct
 *            measure.
 * Limits     A trace takes 512 KiB for each worker: about 8,000 visits of one
 *            event each, or 16,000 events of long visits.
 */
#ifndef STAGES_TALLY_H
#define STAGES_TALLY_H

#include "stages/stats.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Counting can be left out, to measure what it costs: DARKROOM_STATISTICS in
 * CMakeLists.txt.
 */
#ifdef DARKROOM_NO_STATISTICS
enum { COUNTING_IS_ON = 0 };
#else
enum { COUNTING_IS_ON = 1 };
#endif

/* Hardware counters of the calling thread (stats.h). */
struct perf {
	int fds[PERF_COUNTERS]; /* the first leads the group; -1: not open */
};

/* Set `p` to be not open. */
void perf_init(struct perf *p);

/*
 * False: it is not allowed, or this machine has no such counters; *p is closed.
 */
bool perf_open(struct perf *p);

/*
 * Totals since perf_open().  False: not open, or another process took the
 * counters for a while; totals are untouched.
 */
bool perf_read(const struct perf *p, uint64_t totals[PERF_COUNTERS]);

/* Does nothing if it is not open. */
void perf_close(struct perf *p);

/*
 * The counts of one thread, or of all threads that are not workers, at one
 * stage.
 */
struct tally {
	/* The counts of all threads that are not workers. */
	_Alignas(64) bool is_shared;
	_Atomic uint64_t arrived_count;
	_Atomic uint64_t refused_count;
	_Atomic uint64_t queued_count_total;
	_Atomic uint64_t queued_count_max;

	_Atomic uint64_t started_count;
	/* Events paused by stage_pause_point(). */
	_Atomic uint64_t paused_count;
	/* Paused events taken out of the queue again. */
	_Atomic uint64_t resumed_count;
	_Atomic uint64_t handled_count;
	_Atomic uint64_t wait_ns;
	_Atomic uint64_t wait_ns_max;
	_Atomic uint64_t service_ns;
	_Atomic uint64_t service_ns_max;

	_Atomic uint64_t visit_count;
	_Atomic uint64_t visit_empty_count;
	_Atomic uint64_t switch_count;
	_Atomic uint64_t switch_ns;
	_Atomic uint64_t hardware[PERF_COUNTERS];

	/* Events sent from here to each stage. */
	_Atomic uint64_t sent_counts[STAGES_MAX];
	struct histogram waits, services, totals, cohorts;
};

/*
 * Add to a count that only the calling thread changes.  A locked instruction
 * would cost several times as much, and an event takes ten of them.
 */
static inline void count_own(_Atomic uint64_t *count, uint64_t n)
{
	if (COUNTING_IS_ON)
		atomic_store_explicit(
			count,
			atomic_load_explicit(count, memory_order_relaxed) + n,
			memory_order_relaxed);
}

static inline void count_shared(_Atomic uint64_t *count, uint64_t n)
{
	if (COUNTING_IS_ON)
		atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

/* Add to a count of `t`. */
static inline void tally_add(struct tally *t, _Atomic uint64_t *count,
			     uint64_t n)
{
	if (t->is_shared)
		count_shared(count, n);
	else
		count_own(count, n);
}

/* Add to a histogram of `t`. */
static inline void tally_sample(struct tally *t, struct histogram *h,
				uint64_t value)
{
	if (t->is_shared)
		histogram_add(h, value);
	else
		histogram_add_own(h, value);
}

static inline uint64_t tally_read(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

static inline void tally_max(_Atomic uint64_t *count, uint64_t n)
{
	uint64_t seen = tally_read(count);

	if (!COUNTING_IS_ON)
		return;
	while (seen < n && !atomic_compare_exchange_weak_explicit(
				   count, &seen, n, memory_order_relaxed,
				   memory_order_relaxed))
		;
}

/*
 * Traces (stats.h): a ring to which only the worker writes.  No thread waits:
 * the writer overwrites the oldest span, and a reader that is too slow learns
 * how many spans it missed.
 */

/* A struct of zeros is empty. */
struct trace {
	_Atomic uint64_t next; /* how many were added */
	struct {
		_Atomic uint64_t start_ns, end_ns;
		_Atomic uint64_t number;
		_Atomic uint64_t what; /* stage << 32 | kind */
	} spans[TRACE_SPANS];
};

void trace_add(struct trace *t, const struct span *span);

/* As group_read_trace(). */
uint32_t trace_read(const struct trace *t, uint64_t *next, struct span *out,
		    uint32_t count, uint64_t *missed);

/*
 * Measured rates of a stage, for policies and reports: moving means of
 * arrivals, service times and switch times, computed from totals.  The time
 * constant of the means is one second of the clock that is given; a simulation
 * gives its virtual clock.
 */
#define MEASURE_INTERVAL_NS UINT64_C(50000000) /* between two updates */

/* Totals since start, of one stage. */
struct measure_totals {
	uint64_t arrived_count;
	uint64_t handled_count;
	uint64_t service_ns;
	uint64_t service_p95_ns; /* 0: not known, or not asked for */
	uint64_t switch_count;   /* as in struct stage_stats */
	uint64_t switch_ns;
};

struct measure {
	struct measure_totals last;
	uint64_t last_ns; /* 0: no update yet */
};

/*
 * Update the means in `view` by what happened since the last update.  The first
 * call only notes the totals.  `worker_count` workers share the arrivals.
 */
void measure_update(struct measure *m, const struct measure_totals *now,
		    uint64_t now_ns, uint32_t worker_count,
		    struct stage_view *view);

#endif
