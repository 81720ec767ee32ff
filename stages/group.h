/* SPDX-License-Identifier: MIT */
/*
 * Inside stages: what a group is made of.
 *
 *	group -- parts ----own----> cores, a place to sleep
 *	group -- stages ---own----> stations: queues, by part
 *	group -- workers --visit--> stations of their part
 *
 * A station is a queue that workers visit: of one stage in one part, or, with a
 * central queue, of all shared stages in one part; a stage partitioned by key
 * has one for each worker.
 *
 * stage.c has the events: sending and handling.  worker.c has the visits:
 * picking, sleeping, stealing.  group.c has the plan: who visits what, starting
 * and stopping.  stats.c adds up what tally.h counted.
 */
#ifndef STAGES_GROUP_H
#define STAGES_GROUP_H

#include "stages/stage.h"

#include "stages/eventcount.h"
#include "stages/measure.h"
#include "stages/perf.h"
#include "stages/tally.h"
#include "stages/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { THREAD_NAME_BYTES = 16 };

struct queue;

/* One at a time may be in an exclusive stage. */
struct entry {
	_Atomic bool is_taken;
	_Atomic bool is_missed; /* somebody passed by while it was taken */
	struct eventcount left; /* where callers wait, who have no queue */
};

/* Threads of one station; all are there, some are parked (pool.c). */
struct pool {                          /* of no threads: of workers that roam */
	_Atomic uint32_t active_count; /* the first so many are not parked */
	uint32_t thread_count;
	bool is_auto;
	struct eventcount parked;
	_Atomic uint64_t grown_ns; /* when it last grew */
};

struct station {
	struct stage *stage; /* NULL: the central queue */
	uint32_t part;
	struct queue *queue;
	struct queue *passed; /* over by a cutoff; NULL: there is none */
	struct entry *entry;  /* NULL: any number of workers may visit */
	struct entry own_entry;
	struct pool pool; /* its workers, if they stay */

	/* Who is told of a new event. */
	struct eventcount own; /* where workers that stay sleep */
	struct eventcount *wakes;
	uint32_t wakes_who;
	bool wakes_all; /* one may be the wrong one */

	_Atomic uint64_t last_visit_ns; /* kept if there are thresholds */
};

struct stage {
	struct stage_config config;
	struct group *group;
	uint32_t index;
	uint32_t lane_count; /* stations in a part: 1, or one per worker */
	struct station **stations; /* [part * lane_count + lane] */
	struct entry entry;        /* of a partitioned graph */
	_Atomic uint32_t part;     /* of a partitioned graph: where to send */
};

/* A replica or a partition: cores, and a station of every stage. */
struct part {
	uint32_t core_first, core_count;
	struct eventcount *sleeps; /* where its roaming workers do */
	struct eventcount own;
	struct station *central;          /* NULL: none */
	_Atomic uint64_t under_way_count; /* kept if somebody asks */
};

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
	_Atomic bool counts_hardware;
	struct perf perf;
	uint64_t perf_totals[PERF_COUNTERS];
	struct trace trace;
};

struct group {
	struct schedule schedule;
	const struct cores *cores;
	uint32_t part_count;
	struct part *parts;
	uint32_t stage_count;
	struct stage *stages[STAGES_MAX];
	uint32_t station_count;
	struct station *stations; /* all of them */

	bool is_started; /* once for all: a stopped group stays stopped */
	uint32_t worker_count;
	uint32_t thread_count; /* of workers to join */
	struct worker *workers;
	struct tally *tallies_outside; /* by stage; of all other threads */
	struct eventcount drained;     /* where group_stop() sleeps */

	_Atomic uint32_t next_part; /* round robin */
	_Atomic uint64_t pending;
	_Atomic bool is_stopping;
};

/* stage.c */

/* The calling thread handles events of part `part` from now on. */
void stage_handle_here(struct group *g, struct worker *w, uint32_t part);

/*
 * Run the handler of `ev`, which came from `from`; returns the time at its end.
 * The clock said `ns` before the event was taken, perhaps even before it was
 * sent.
 */
uint64_t stage_handle(const struct station *from, struct event *ev,
		      uint64_t ns);

/* One event of `pending` is done.  Wakes all when the last one leaves. */
void group_leave(struct group *g);

bool group_is_drained(struct group *g);

/* plan.c */

/* Stations, and workers with all but their threads.  False: no memory. */
bool group_plan(struct group *g);

/* worker.c */

/* A thread's life, from its first visit to the group's end; a worker. */
void *worker_main(void *arg);

/* visit.c */

uint32_t station_waiting_count(const struct station *s);
void station_wake(struct station *s);

/* False: another is in the stage.  True: station_leave() ends it. */
bool station_enter(struct station *s);
void station_leave(struct station *s);

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

/* pool.c */

/* A sender saw `queued_count` events wait: perhaps it needs a thread more. */
void pool_consider(struct station *s, uint32_t queued_count, uint64_t now_ns);

enum { POOL_AUTO_PER_CORE = 2 }; /* threads at most, for each stage */
#define POOL_PATIENCE_NS UINT64_C(1000000000)

/* False: the worker of number `lane` is to be parked. */
bool pool_is_active(const struct pool *p, uint32_t lane);

/* The worker found nothing to do for POOL_PATIENCE_NS. */
void pool_shrink(struct pool *p, uint32_t lane);

/* Sleep until that may have changed.  False: the group is drained. */
bool pool_park(struct worker *w, struct pool *p);

/* stats.c */

/* The sum of what all threads counted at stage `s`, for measure.h. */
struct measure_totals stage_totals(const struct stage *s);

static inline uint64_t group_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
