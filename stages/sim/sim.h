/* SPDX-License-Identifier: MIT */
/*
 * Simulation: run a model under a schedule in virtual time.
 *
 * Workers follow the same rules as the threads of a stage group
 * (stages/visit.h); cores, queues, sleeping and the clock are simulated.
 * Differences from the threads:
 *  - a handler takes the time that the model says, whatever else runs;
 *  - threads that share cores (pools, thread per connection) have equal shares
 *    of them at every moment;
 *  - a handler calls stage_pause_point() after equal pieces of its work;
 *  - queues never refuse;
 *  - of closures there are only requests that wait for their children;
 *  - a woken worker starts as soon as the worker that woke it waits;
 *  - a user-level thread takes and gives back memory, as the model says, when
 *    its step ends, and never waits for memory.
 *
 * With several nodes, each is a group of its own.  The dispatcher knows exactly
 * and at once what is under way at each; only agents report from time to time.
 * Sending a request to a node takes no time.
 *
 * Requests are numbered as they begin.  The first `warmup_count` are not
 * counted; the run ends when `request_count` requests have ended.  The counts
 * of stages cover the time in which the counted requests began.
 */
#ifndef STAGES_SIM_SIM_H
#define STAGES_SIM_SIM_H

#include "stages/sim/dispatch.h"
#include "stages/sim/model.h"
#include "stages/tally.h"

#include <stdio.h>

struct sim_config {
	const struct model *model;
	const struct schedule *schedule; /* complete */
	uint32_t core_count;             /* of each node */
	/* For --balance partition: the part of each stage. */
	uint32_t parts[STAGES_MAX];

	/* The dispatcher in front of the nodes: dispatch.h. */
	uint32_t node_count; /* 0: one */
	enum dispatch_kind dispatch;
	uint32_t node_limit; /* most requests under way at a node; 0: any */
	bool held_by_size;   /* of those that wait for a node, the smallest
			       * goes first; otherwise the oldest */
	uint64_t agent_ns;   /* from one report of an agent to the next */
	uint64_t agent_half_ns;
	double split; /* sizes below this go to the first group */

	/* Arrivals: one of these three. */
	double rate_per_s;
	/* Clients that send the next request after a reply. */
	uint32_t client_count;
	const double *gaps_s; /* gap_count gaps, used again and again */
	uint32_t gap_count;
	bool is_constant; /* arrivals with equal gaps; otherwise Poisson */

	uint64_t request_count, warmup_count;
	uint64_t seed;

	uint64_t switch_ns;    /* cost of a visit, before its first event */
	uint64_t queue_ns;     /* how long a push or a pop keeps its queue */
	uint64_t pause_gap_ns; /* work of a handler between two pause points */
	double error_sigma;    /* predicted work is true work, times a lognormal
			     * factor of each request; 0: exact */

	/* For tests, which compare with threads. */
	/* Only the workers from present_first on begin, this many; 0: all. */
	uint32_t present_first, present_count;
	/* Called for each event handled and each visit, when it ends. */
	void (*watch)(void *arg, const struct span *span);
	void *watch_arg;
};

struct sim_stage_stats {
	uint64_t arrived_count;
	uint64_t paused_count;
	uint64_t handled_count;
	uint64_t visit_count;
	uint64_t visit_empty_count;
	/* Visits that directly follow a visit to another stage. */
	uint64_t switch_count;
	double wait_ns;            /* sum over handled events */
	double service_ns;         /* sum over handled events */
	double queued_mean;        /* over time, of all queues */
	uint64_t queued_count_max; /* of one node */
};

struct sim_response {
	double size;
	uint64_t response_ns;
	bool is_late; /* ended after its deadline */
};

struct sim_result {
	uint64_t span_ns; /* in which the counted requests began */
	uint64_t finished_count;
	struct sim_stage_stats stages[STAGES_MAX];
	/* Times of all cores together, in the span. */
	double switch_ns;
	double queue_ns; /* waiting for queues and using them */
	uint64_t stolen_count;
	int64_t memory_max; /* taken at once by a node, in the whole run */
	/* The counted requests, in the order they began; owned. */
	uint64_t request_count;
	struct sim_response *requests;
};

/* Aborts if there is no memory. */
void sim_run(const struct sim_config *config, struct sim_result *out);
void sim_result_release(struct sim_result *result);

/*
 * Reports: the results of a run, as text or JSON.
 *
 * Utilisation is the share of core time that is spent in handlers.  The wait of
 * a stage is the time of its events in the queue.  Its service time is time on
 * a core; for threads that share cores, that is less than the time in the
 * handler.
 */
enum { SUMMARY_CLASSES_MAX = 16 };

struct size_classes {
	uint32_t bound_count; /* 0: the 50th, 90th and 99th percentile */
	/* ascending upper bounds, excluded */
	double bounds[SUMMARY_CLASSES_MAX - 1];
};

struct report {
	const struct sim_config *config;
	const struct sim_result *result;
	struct size_classes classes;
};

/* Both functions fill `classes` if there are none. */
void report_print(FILE *out, struct report *report);

/* One JSON object. */
void report_print_json(FILE *out, struct report *report);

#endif
