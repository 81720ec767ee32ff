/* SPDX-License-Identifier: MIT */
/*
 * Inside stages: workers, the threads that visit stations.
 */
#ifndef STAGES_WORKER_H
#define STAGES_WORKER_H

#include "stages/measure.h"
#include "stages/perf.h"
#include "stages/policy.h"
#include "stages/schedule.h"
#include "stages/station.h"
#include "stages/tally.h"
#include "stages/trace.h"

#include <pthread.h>

enum { THREAD_NAME_BYTES = 16 };

struct event;
struct group;

/* Events that one worker sent and will handle itself. */
struct stack {
	struct event *newest;
	uint32_t count;
};

struct worker {
	struct group *group;
	pthread_t thread;
	char name[THREAD_NAME_BYTES];
	uint32_t part;
	uint32_t core_first, core_count; /* of config.cores: may run there */
	uint32_t lane; /* its number among those of its part, or its pool */
	uint32_t who;  /* which wake-ups reach it; see eventcount_wait() */

	struct eventcount *sleeps;
	uint32_t station_count; /* those it visits, in pipeline order */
	struct station *stations[STAGES_MAX];
	struct stack stacks[STAGES_MAX]; /* by stage */

	void *policy_state;
	uint32_t measured_count;
	uint64_t measured_ns;
	struct measure measures[STAGES_MAX]; /* by station */
	struct stage_view views[STAGES_MAX]; /* by station */
	const struct stage *visited;         /* last; NULL: it slept since */
	uint64_t visited_ns;                 /* when that ended */

	struct tally *tallies; /* by stage */
	_Atomic uint64_t sleep_count;
	_Atomic uint64_t stolen_count;
	_Atomic uint64_t asleep_since_ns; /* 0: awake */
	_Atomic uint64_t asleep_ns;       /* asleep: less the time it began */
	_Atomic uint64_t asleep_told_ns;  /* the most that a reader was told */
	_Atomic bool counts_hardware;
	struct perf perf;
	uint64_t perf_totals[PERF_COUNTERS];
	struct trace trace;
};

/* A thread's life, from its first visit to the group's end; a worker. */
void *worker_main(void *arg);

/* Events at the worker's station `at` that it may take now. */
uint32_t worker_open_count(const struct worker *w, uint32_t at);

/* Visit the station `at`; returns the time at its end. */
uint64_t worker_visit(struct worker *w, uint32_t at);

/*
 * Visit a station of another replica, of stages that any worker may visit, for
 * at most so many events; returns how many it was.
 */
uint32_t worker_visit_elsewhere(struct worker *w, struct station *from,
				uint32_t events_max);

/* What follows is no switch from the last visit, but from sleep. */
void worker_rests(struct worker *w);

/* As eventcount_wait(), and traced. */
bool worker_sleep(struct worker *w, struct eventcount *ec, uint32_t ticket,
		  uint32_t who, uint64_t patience_ns);

/* Sleep until that may have changed.  False: the group is drained. */
bool pool_park(struct worker *w, struct pool *p);

#endif
