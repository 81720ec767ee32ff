/* SPDX-License-Identifier: MIT */
/*
 * Statistics: read what a group has done so far: counts, times, histograms,
 * traces, and the graph of stages.
 *
 * Each thread counts its own work (tally.h), so counting makes no thread wait.
 * The functions below add up the counts of all threads.  Each number is exact,
 * but two numbers may be from slightly different moments.
 *
 * Threads    Any number of threads, from group_start() on.
 * Units      *_ns: nanoseconds.
 */
#ifndef STAGES_STATS_H
#define STAGES_STATS_H

#include "base/histogram.h"
#include "stages/threads/blocking_graph.h"
#include "stages/stage.h"
#include "stages/tally.h"

#include <stdint.h>

/* Counts of a stage since start, all parts together. */
struct stage_stats {
	uint64_t arrived_count; /* accepted into a queue */
	uint64_t refused_count;
	uint64_t started_count; /* taken out of a queue, for the first time */
	uint64_t paused_count;  /* put back by pauses, and by stage_wait() */
	uint64_t resumed_count; /* paused events that were taken out again */
	uint64_t handled_count;
	uint64_t visit_count;
	uint64_t visit_empty_count; /* visits that handled no event */
	/*
	 * How often a worker came to this stage directly from another one,
	 * without a sleep between, to begin a visit or to resume one.
	 */
	uint64_t switch_count;
	/*
	 * Sum of the times from the end of the visit there to the start here.
	 */
	uint64_t switch_ns;
	uint64_t wait_ns; /* sum over started events of the time in the queue */
	uint64_t wait_ns_max;
	/* Sum over handled events of the time in the handler. */
	uint64_t service_ns;
	uint64_t service_ns_max;
	uint64_t queued_count; /* now */
	/* Threads of its pools that are not parked, now; 0: it has no pool. */
	uint64_t pool_threads;
	/* The length of the queue just after an event was sent to it: */
	uint64_t queued_count_max;   /* the longest seen; about */
	uint64_t queued_count_total; /* the sum over all arrived events */
	struct histogram_copy waits, services;
	struct histogram_copy totals;     /* wait and service of one event */
	struct histogram_copy cohorts;    /* events of a visit, if not empty */
	uint64_t hardware[PERF_COUNTERS]; /* see group_counts_hardware() */
};

/*
 * How often a handler began or went on: an event that paused in one visit and
 * ended in another was in both.
 */
static inline uint64_t stage_turn_count(const struct stage_stats *s)
{
	return s->started_count + s->resumed_count;
}

struct worker_stats {
	const char *name;
	uint32_t part;
	uint64_t sleep_count;
	uint64_t stolen_count; /* events taken from other replicas */
	/*
	 * When the current sleep began; 0: it is awake.  The sleep is also in
	 * the trace once it has ended, so read the trace first: then no sleep
	 * is seen in both.
	 */
	uint64_t asleep_since_ns;
	uint64_t asleep_ns; /* since start, up to now; never decreases */
	/* CPU time of the thread since start; 0 if the system cannot tell. */
	uint64_t cpu_ns; /* never decreases, even after the thread has ended */
	/* What this worker counted, of all stages together. */
	struct stage_stats work;
};

void stage_read(const struct stage *s, struct stage_stats *out);

/*
 * The counts for one replica or partition, `part` < part_count of the schedule:
 * the work of its workers, including stolen events, and the events that wait in
 * its queues now.  arrived_count, refused_count, queued_count_max and
 * queued_count_total count only events that its own workers sent, not all
 * events that came to it.
 */
void stage_read_part(const struct stage *s, uint32_t part,
		     struct stage_stats *out);

/* `worker` < group_worker_count(). */
void group_read_worker(const struct group *g, uint32_t worker,
		       struct worker_stats *out);

/*
 * Threads with a trace: the workers or, without any, the kernel threads that
 * run the user-level threads of senders.  These have no sleeps.
 */
uint32_t group_track_count(const struct group *g);

enum { TRACK_NAME_BYTES = 16 };

void group_name_track(const struct group *g, uint32_t track,
		      char name[TRACK_NAME_BYTES]);

/* Like trace_read(), for one track. */
uint32_t group_read_trace(const struct group *g, uint32_t track, uint64_t *next,
			  struct span *out, uint32_t count, uint64_t *missed);

/*
 * A measured graph: how much work each stage did, and how many events went from
 * each stage to each other one.  The weights are those of Gordon,
 * UCAM-CL-TR-781, section 3.2.2.  The weight of a stage is the time spent in
 * its handler; that of an edge is the number of events that passed it.  graph.h
 * reads, writes and divides graphs.
 */
struct stage_graph {
	uint32_t stage_count;
	const char *names[STAGES_MAX]; /* must outlive the graph */
	uint64_t service_ns[STAGES_MAX];
	uint64_t sent_counts[STAGES_MAX][STAGES_MAX]; /* [from][to] */
};

/* The work of each stage, and the events between stages, since start. */
void group_read_graph(const struct group *g, struct stage_graph *out);

/* User-level threads (scheduler.h). */
struct fibre_stats {
	uint64_t begun_count;   /* since start: threads */
	uint64_t switch_count;  /* since start: times that one went on */
	uint32_t ready_count;   /* now */
	uint32_t waiting_count; /* now, in stage_wait() */
	uint32_t stack_count;   /* stacks in use, now */
	/* The sum of the most that each scheduler had in use. */
	uint32_t stack_count_max;
};

/* False: the policy has no user-level threads. */
bool group_read_fibres(const struct group *g, struct fibre_stats *out);

/* Does the policy learn a blocking graph?  Known from group_start() on. */
bool group_has_blocking(const struct group *g);

/*
 * What the policy has learned of the group's user-level threads, the sum over
 * all schedulers; and the resources of the process.  False: it learns nothing.
 */
bool group_read_blocking(const struct group *g,
			 struct blocking_graph_copy *out);

/* False: at least one worker could not count; ignore the hardware counts. */
bool group_counts_hardware(const struct group *g);

#endif
