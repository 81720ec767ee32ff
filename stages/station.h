/* SPDX-License-Identifier: MIT */
/*
 * Inside stages: stations, the queues that workers visit.
 *
 * Of one stage in one part; with a central queue, of all shared stages in one
 * part; of a stage partitioned by key, of one of the workers.
 */
#ifndef STAGES_STATION_H
#define STAGES_STATION_H

#include "stages/eventcount.h"

struct queue;
struct stage;

/* One at a time may be in an exclusive stage. */
struct entry {
	_Atomic bool is_taken;
	_Atomic bool is_missed; /* somebody passed by while it was taken */
	struct eventcount left; /* where callers wait, who have no queue */
};

/* Threads that stay at one station; all exist, some are parked (pool.c). */
struct pool {
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
	struct pool pool; /* no threads: its workers roam */

	/* Who is told of a new event. */
	struct eventcount own; /* where workers that stay sleep */
	struct eventcount *wakes;
	uint32_t wakes_who;
	bool wakes_all; /* one may be the wrong one */

	_Atomic uint64_t last_visit_ns; /* kept if there are thresholds */
};

/* Events in the queue; others wait on the stacks of workers. */
uint32_t station_waiting_count(const struct station *s);

/* False: another is in the stage.  True: station_leave() ends it. */
bool station_enter(struct station *s);
void station_leave(struct station *s);

/* Tell who may handle it of a new event. */
void station_wake(struct station *s);

/* A sender saw `queued_count` events wait: perhaps it needs a thread more. */
void pool_consider(struct station *s, uint32_t queued_count, uint64_t now_ns);

enum { POOL_AUTO_PER_CORE = 2 }; /* threads at most, for each stage */
#define POOL_PATIENCE_NS UINT64_C(1000000000)

/* False: the worker of number `lane` is to be parked. */
bool pool_is_active(const struct pool *p, uint32_t lane);

/* The worker found nothing to do for POOL_PATIENCE_NS. */
void pool_shrink(struct pool *p, uint32_t lane);

#endif
