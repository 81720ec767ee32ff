/* SPDX-License-Identifier: MIT */
/*
 * Inside stages: what a group is made of.
 *
 *	group -- workers ---visit---> stations
 *	group -- stages  ---own-----> stations: queue, counters, eventcount
 *
 * A station is a stage in one replica.  group.c has the workers: who visits,
 * sleeps and stops; stage.c has the events: sending, handling, counting.
 */
#ifndef STAGES_GROUP_H
#define STAGES_GROUP_H

#include "stages/stage.h"

#include "stages/eventcount.h"
#include "stages/schedule.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREAD_NAME_BYTES = 16 };

struct queue;

struct counters {
	_Atomic uint64_t arrived_count;
	_Atomic uint64_t refused_count;
	_Atomic uint64_t handled_count;
	_Atomic uint64_t visit_count;
	_Atomic uint64_t visit_empty_count;
	_Atomic uint64_t wait_ns_total;
	_Atomic uint64_t wait_ns_max;
	_Atomic uint64_t service_ns_total;
	_Atomic uint64_t service_ns_max;
	_Atomic uint64_t queued_count_max;
};

/* A stage in one replica. */
struct station {
	struct stage *stage;
	struct queue *queue;
	struct eventcount *wakes; /* the workers that visit it */
	struct eventcount own;    /* of workers that stay; else unused */
	struct counters counters;
};

struct stage {
	struct stage_config config;
	struct group *group;
	struct station *stations; /* one per replica */
};

struct worker {
	struct group *group;
	pthread_t thread;
	uint32_t replica;
	uint32_t core_first, core_count; /* of config.cores: may run there */
	char name[THREAD_NAME_BYTES];

	struct eventcount *sleeps;
	uint32_t station_count; /* those it visits, in pipeline order */
	struct station *stations[STAGES_MAX];
	struct stage_view views[STAGES_MAX]; /* of the same */
	void *policy_state;
};

struct group {
	struct group_config config;
	uint32_t stage_count;
	struct stage *stages[STAGES_MAX];

	bool is_started; /* once for all: a stopped group stays stopped */
	uint32_t worker_count;
	uint32_t thread_count; /* of workers to join */
	struct worker *workers;
	struct eventcount *replicas; /* where roaming workers sleep */
	struct eventcount drained;   /* where group_stop() sleeps */

	_Atomic uint32_t next_replica; /* round robin */
	_Atomic uint64_t pending;
	_Atomic bool stopping;
};

/*
 * Stage `config` with its stations.  NULL: no memory.  Whether their workers
 * share a place to sleep or have one for each station is the group's choice.
 */
struct stage *stage_new(struct group *g, const struct stage_config *config);

/* Free it; its queues must be empty.  NULL is fine. */
void stage_free(struct stage *s);

/* The calling thread handles events of replica `replica` from now on. */
void stage_handle_here(struct group *g, uint32_t replica);

/* Pop and handle events until there are none. */
void station_visit(struct station *s);

uint32_t station_queued_count(const struct station *s);

/* One event of `pending` is done.  Wakes all when the last one leaves. */
void group_leave(struct group *g);

/* Count one more event.  False: stopping, and it is sent from outside. */
bool group_enter(struct group *g, bool from_inside);

#endif
