/* SPDX-License-Identifier: MIT */
/*
 * Statistics: read what a group has done so far: counts, times, histograms,
 * traces, and the graph of stages.
 *
 * Each thread counts its own work, so counting makes no thread wait.
 * The functions below add up the counts of all threads.  Each number is exact,
 * but two numbers may be from slightly different moments.
 *
 * Threads    Any number of threads, from group_start() on.
 * Units      *_ns: nanoseconds.
 */
#ifndef STAGES_STATS_H
#define STAGES_STATS_H

#include "base/histogram.h"
#include "stages/stage.h"

#include <stdint.h>

#pragma GCC visibility push(default)

/*
 * Hardware counters of workers in user space, by perf_event_open(2).  Many
 * machines and most containers do not allow this; then there are no counts.
 */
enum { PERF_CYCLES, PERF_INSTRUCTIONS, PERF_CACHE_MISSES, PERF_COUNTERS };

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

/* The same as pool_threads there, but fast. */
uint64_t stage_pool_threads(const struct stage *s);

/*
 * The counts for one replica or partition, `part` < part_count of the schedule:
 * the work of its workers, including stolen events, and the events that wait in
 * its queues now; those of a queue of all replicas count in part 0.
 * arrived_count, refused_count, queued_count_max and queued_count_total count
 * only events that its own workers sent, not all events that came to it.
 */
void stage_read_part(const struct stage *s, uint32_t part,
		     struct stage_stats *out);

/* `worker` < group_worker_count(). */
void group_read_worker(const struct stage_group *g, uint32_t worker,
		       struct worker_stats *out);

/*
 * Traces: the last spans of a worker, at most TRACE_SPANS - 1: its visits, the
 * events that it handled in them, and its sleeps.
 *
 * A span is added when it ends, so the events of a visit come before the visit:
 * the events of a visit of n events are the last n events before it that belong
 * to no other visit.  If a visit interrupts another one, it and its events come
 * between two events of the other.
 */
enum { TRACE_SPANS = 16384 };

enum span_kind { SPAN_VISIT, SPAN_EVENT, SPAN_SLEEP };

struct span {
	uint64_t start_ns, end_ns;
	/* Of a visit: events handled; of an event: event.number. */
	uint64_t number;
	/* Index of the stage in the group; unused for a sleep. */
	uint32_t stage;
	enum span_kind kind;
};

/*
 * Threads with a trace: the workers or, without any, the kernel threads that
 * run the user-level threads of senders.  These have no sleeps.
 */
uint32_t group_track_count(const struct stage_group *g);

enum { TRACK_NAME_BYTES = 16 };

void group_name_track(const struct stage_group *g, uint32_t track,
		      char name[TRACK_NAME_BYTES]);

/*
 * Copy up to `count` spans of one track, oldest first, starting with span
 * number *next, and set *next to the number after the last one.  Spans that
 * were overwritten are skipped and added to *missed.  Returns how many were
 * copied.  This may be 0 although there are more, if the writer has overtaken
 * the reader; *next has then moved.
 */
uint32_t group_read_trace(const struct stage_group *g, uint32_t track,
			  uint64_t *next, struct span *out, uint32_t count,
			  uint64_t *missed);

/*
 * A measured graph: how much work each stage did, and how many events went from
 * each stage to each other one.  The weights are those of Gordon,
 * UCAM-CL-TR-781, section 3.2.2.  The weight of a stage is the time spent in
 * its handler; that of an edge is the number of events that passed it.
 */
struct stage_graph {
	uint32_t stage_count;
	const char *names[STAGES_MAX]; /* must outlive the graph */
	uint64_t service_ns[STAGES_MAX];
	uint64_t sent_counts[STAGES_MAX][STAGES_MAX]; /* [from][to] */
};

/* The work of each stage, and the events between stages, since start. */
void group_read_graph(const struct stage_group *g, struct stage_graph *out);

/* User-level threads. */
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
bool group_read_fibres(const struct stage_group *g, struct fibre_stats *out);

/*
 * What policies have learned of blocking points: where user-level threads stop,
 * and what they use from one stop to the next.
 */

enum { BLOCKING_EDGES_MAX = 256 };

struct resource_state {
	const char *name;
	uint64_t used;
	uint64_t limit;    /* learned; 0: none */
	uint64_t capacity; /* 0: not known */
};

struct blocking_node {
	const struct blocking_site *site;
	uint32_t previous;     /* PLACE_NONE: threads begin here */
	uint64_t visits;       /* how often a thread went on from here */
	uint64_t cpu_ns_total; /* of these visits */
	double cpu_ns_recent;  /* weighted mean of one visit */
	int64_t taken_total[RESOURCES];
	double taken_recent[RESOURCES];
	uint32_t ready, waiting; /* threads here now */
	double tickets;          /* its share of turns, of all schedulers */
};

/* One for each pair of nodes. */
struct blocking_edge {
	uint32_t from;  /* PLACE_NONE: threads begin */
	uint32_t to;    /* PLACE_NONE: threads end */
	uint64_t count; /* of threads that came this way */
	/* Of threads at `to` that a thread at `from` has started. */
	uint64_t begun_count;
	uint64_t cpu_ns_total;
	double cpu_ns_recent;
	int64_t taken_total[RESOURCES];
	double taken_recent[RESOURCES];
};

struct blocking_graph_copy {
	uint32_t node_count, edge_count, resource_count;
	uint64_t folded_count; /* passages that reached a folded point */
	struct blocking_node nodes[PLACES_MAX];
	struct blocking_edge edges[BLOCKING_EDGES_MAX];
	/* The last one is CPU time, in us per second, of all schedulers. */
	struct resource_state resources[RESOURCES + 1];
};

/* Does the policy learn a blocking graph?  Known from group_start() on. */
bool group_has_blocking(const struct stage_group *g);

/*
 * What the policy has learned of the group's user-level threads, the sum over
 * all schedulers; and the resources of the process.  False: it learns nothing.
 */
bool group_read_blocking(const struct stage_group *g,
			 struct blocking_graph_copy *out);

/* False: at least one worker could not count; ignore the hardware counts. */
bool group_counts_hardware(const struct stage_group *g);

#pragma GCC visibility pop

#endif
