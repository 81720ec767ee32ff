/* SPDX-License-Identifier: MIT */
/*
 * Tallies: what a thread counts of its own work: events and times by stage,
 * hardware counters, and a trace of the last spans.  stats.h adds them up.
 *
 * Threads    Tallies: any thread may add and read, at once.  Each count is a
 *            number of its own, and no order is needed among them; those of a
 *            worker are contended by none, so adding takes a few nanoseconds.
 *            Hardware counters: perf_open() in the thread that is to be
 *            counted; perf_read() and perf_close() too.
 *            Traces: trace_add() the worker alone; trace_read() any, at once.
 * Limits     A trace takes 512 KiB for each worker: some 8,000 visits of one
 *            event each, or 16,000 events in long ones.
 */
#ifndef STAGES_TALLY_H
#define STAGES_TALLY_H

#include "base/histogram.h"
#include "stages/schedule.h"

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

/*
 * Hardware counters of the calling thread, by perf_event_open(2): cycles,
 * instructions and cache misses, of user space.  Many machines, and most
 * containers, do not allow it; then there are none, and reports say so.
 */
enum { PERF_CYCLES, PERF_INSTRUCTIONS, PERF_CACHE_MISSES, PERF_COUNTERS };

struct perf {
	int fds[PERF_COUNTERS]; /* the first leads the group; -1: not open */
};

/* Not open. */
void perf_init(struct perf *p);

/* False: not allowed, or there are no such counters here; *p is closed. */
bool perf_open(struct perf *p);

/*
 * Totals since perf_open().  False: not open, or another process took the
 * counters for a while; totals are untouched.
 */
bool perf_read(const struct perf *p, uint64_t totals[PERF_COUNTERS]);

/* One that is not open is fine. */
void perf_close(struct perf *p);

/* `type` and `config` as in perf_event_open(2). */
struct perf_event {
	uint32_t type;
	uint64_t config;
};

/* perf_open() with other events; for tests. */
bool perf_open_events(struct perf *p,
		      const struct perf_event events[PERF_COUNTERS]);

/*
 * The counts of one thread, or of all threads that are not workers, at one
 * stage.
 */
struct tally {
	_Alignas(64) _Atomic uint64_t arrived_count;
	_Atomic uint64_t refused_count;
	_Atomic uint64_t queued_count_total;
	_Atomic uint64_t queued_count_max;

	_Atomic uint64_t started_count;
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

	_Atomic uint64_t sent_counts[STAGES_MAX]; /* from here to each stage */
	struct histogram waits, services, totals, cohorts;
};

static inline void tally_add(_Atomic uint64_t *count, uint64_t n)
{
	if (COUNTING_IS_ON)
		atomic_fetch_add_explicit(count, n, memory_order_relaxed);
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
 * Traces: the last spans of a worker, TRACE_SPANS less one, in a ring that it
 * alone writes: its visits, the events it handled in them, and its sleeps.
 *
 * A span is added when it ends, so the events of a visit come before it: a
 * visit of n events is that of the last n events before it which belong to no
 * other visit.  Visits that interrupt another come between its events, whole.
 *
 * No thread waits: the writer overwrites the oldest span, and a reader that was
 * too slow learns how many it missed.
 */
enum { TRACE_SPANS = 16384 };

enum span_kind { SPAN_VISIT, SPAN_EVENT, SPAN_SLEEP };

struct span {
	uint64_t start_ns, end_ns;
	uint64_t number; /* of a visit: events handled; of one: event.number */
	uint32_t stage;  /* its index in the group; not of a sleep */
	enum span_kind kind;
};

/* All zero is empty. */
struct trace {
	_Atomic uint64_t next; /* how many were added */
	struct {
		_Atomic uint64_t start_ns, end_ns;
		_Atomic uint64_t number;
		_Atomic uint64_t what; /* stage, and kind below it */
	} spans[TRACE_SPANS];
};

void trace_add(struct trace *t, const struct span *span);

/*
 * Copy up to `count` spans, oldest first, starting with span number *next, and
 * set *next to the number after the last one.  Spans that were overwritten are
 * skipped and added to *missed.  Returns how many were copied.  That may be 0
 * although there are more, if the writer overtook the reader; *next has moved
 * then.
 */
uint32_t trace_read(const struct trace *t, uint64_t *next, struct span *out,
		    uint32_t count, uint64_t *missed);

/*
 * Measured rates of a stage, for policies and reports: counts in, moving means
 * out.  Each mean forgets with a time constant of one second of the clock that
 * it is given, which in a simulation is virtual.
 */
#define MEASURE_INTERVAL_NS UINT64_C(50000000) /* between two updates */

/* Totals since start, of one stage. */
struct measure_totals {
	uint64_t arrived_count;
	uint64_t handled_count;
	uint64_t service_ns;
	uint64_t switch_count; /* visits right after another */
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
