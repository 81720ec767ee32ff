/* SPDX-License-Identifier: MIT */
/*
 * Inside stages: what a group is made of.
 *
 *	group -- parts ----own----> cores, a place to sleep
 *	group -- stages ---own----> stations: queues, by part
 *	group -- workers --visit--> stations of their part
 *
 * plan.c lays out who visits what, group.c starts and stops it.  worker.c has a
 * worker's choices, visit.c its visits, stage.c the events of these.  stats.c
 * adds up what tally.h counted.
 */
#ifndef STAGES_GROUP_H
#define STAGES_GROUP_H

#include "stages/stage.h"

#include "stages/station.h"
#include "stages/worker.h"

#include <time.h>

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
	struct station *central;                    /* NULL: none */
	_Atomic uint64_t under_way_count;           /* kept if somebody asks */
	_Atomic uint64_t queued_counts[STAGES_MAX]; /* kept if it has others */
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
