/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a running group: counts, histograms, traces, the graph.
 *
 * Always on.  Each thread counts for itself, so none waits; a reader adds up.
 * Each number is exact, but the numbers may be of slightly different moments.
 *
 * Threads    Any, at once, from group_start() on.
 * Units      *_ns: nanoseconds.
 */
#ifndef STAGES_STATS_H
#define STAGES_STATS_H

#include "base/histogram.h"
#include "stages/graph.h"
#include "stages/stage.h"
#include "stages/tally.h"

#include <stdint.h>

/* Since start, all parts together. */
struct stage_stats {
	uint64_t arrived_count; /* accepted into a queue */
	uint64_t refused_count;
	uint64_t started_count; /* taken out of it */
	uint64_t handled_count;
	uint64_t visit_count;
	uint64_t visit_empty_count; /* no event left, or all passed over */
	/* Visits right after one to another stage, or back from one to it. */
	uint64_t switch_count;
	uint64_t switch_ns; /* between the two */
	uint64_t wait_ns;   /* in the queue, over started events */
	uint64_t wait_ns_max;
	uint64_t service_ns; /* in the handler, over handled events */
	uint64_t service_ns_max;
	uint64_t queued_count;       /* now */
	uint64_t queued_count_max;   /* in one queue, when events were sent */
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
	/* 0: awake.  Read the trace first to see no sleep twice. */
	uint64_t asleep_since_ns;
	uint64_t asleep_ns; /* since start, up to now; never goes back */
	/* CPU time of the thread since start; 0 if the system cannot say. */
	uint64_t cpu_ns; /* never goes back, also after its end */
	/* Of all stages together, as far as this worker counted them. */
	struct stage_stats work;
};

void stage_read(const struct stage *s, struct stage_stats *out);

/*
 * The same of one replica or partition, `part` < part_count of the schedule:
 * what its workers did, also with stolen events, and the events that wait in
 * its queues now.  arrived_count, refused_count and the queue lengths at sends
 * are of the events that its workers sent, not of all that came to it.
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

/* The work and the routes of events since start. */
void group_read_graph(const struct group *g, struct stage_graph *out);

/* False: a worker could not count; then hardware counts mean nothing. */
bool group_counts_hardware(const struct group *g);

#endif
