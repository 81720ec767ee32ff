/* SPDX-License-Identifier: MIT */
/*
 * Tallies: what one thread, or all that are not workers, counted at one stage.
 *
 * Only read for statistics: no order is needed among the counts.  Each is a
 * single number that any thread may add to; a worker's own are contended by
 * nobody, and adding takes a few nanoseconds.
 */
#ifndef STAGES_TALLY_H
#define STAGES_TALLY_H

#include "stages/counting.h"
#include "stages/histogram.h"
#include "stages/perf.h"
#include "stages/schedule.h"

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

#endif
