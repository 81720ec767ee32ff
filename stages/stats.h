/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a running group: counts, histograms, traces, the graph.
 *
 * Always on.  Every thread counts for itself, so nobody waits; a reader adds
 * up.  Each number is exact, together they may be a moment apart.
 *
 * Threads    Any, at once, from group_start() on.
 * Units      *_ns: nanoseconds.
 */
#ifndef STAGES_STATS_H
#define STAGES_STATS_H

#include "stages/graph.h"
#include "stages/histogram.h"
#include "stages/perf.h"
#include "stages/stage.h"
#include "stages/trace.h"

/* Since start, all parts together. */
struct stage_stats {
	uint64_t arrived_count; /* accepted into a queue */
	uint64_t refused_count;
	uint64_t started_count; /* taken out of it */
	uint64_t handled_count;
	uint64_t visit_count;
	uint64_t visit_empty_count; /* another was faster; or all passed over */
	/* Visits right after one to another stage, or back from one to it. */
	uint64_t switch_count;
	uint64_t switch_ns; /* between the two */
	uint64_t wait_ns;   /* in the queue, over started events */
	uint64_t wait_ns_max;
	uint64_t service_ns; /* in the handler, over handled events */
	uint64_t service_ns_max;
	uint64_t queued_count;       /* now */
	uint64_t queued_count_max;   /* in one queue, as senders saw it */
	uint64_t queued_count_total; /* the same, over arrived events */
	struct histogram_copy waits, services;
	struct histogram_copy totals;     /* wait and service of one event */
	struct histogram_copy cohorts;    /* events of a visit that had some */
	uint64_t hardware[PERF_COUNTERS]; /* see group_counts_hardware() */
};

struct worker_stats {
	const char *name;
	uint32_t part;
	uint64_t sleep_count;
	uint64_t stolen_count; /* events taken from other replicas */
	/* 0: awake.  Who reads the trace first is told of no sleep twice. */
	uint64_t asleep_since_ns;
	uint64_t asleep_ns; /* since start, up to now; never goes back */
	/* Of all stages together, as far as this worker counted them. */
	struct stage_stats work;
};

void stage_read(const struct stage *s, struct stage_stats *out);

/*
 * The same of one replica or partition, `part` < part_count of the schedule:
 * what its workers did, wherever they took the events from, and those that wait
 * in its queues now.  arrived_count, refused_count and what senders saw of
 * queues are of events that its workers sent, not of all that came to it.
 */
void stage_read_part(const struct stage *s, uint32_t part,
		     struct stage_stats *out);

/* `worker` < group_worker_count(). */
void group_read_worker(const struct group *g, uint32_t worker,
		       struct worker_stats *out);

/* As trace_read(). */
uint32_t group_read_trace(const struct group *g, uint32_t worker,
			  uint64_t *next, struct span *out, uint32_t count,
			  uint64_t *missed);

/* What was measured since start. */
void group_read_graph(const struct group *g, struct stage_graph *out);

/* False: some worker may not; then hardware counts mean nothing. */
bool group_counts_hardware(const struct group *g);

#endif
