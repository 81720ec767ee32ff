/* SPDX-License-Identifier: MIT */
/*
 * Inside the simulator: what a simulated group is made of.  The words are those
 * of stages/: a part is a replica or a partition, a station is a stage in it.
 *
 * engine.c has the clock and the requests, plan.c the parts; the queues are
 * station.h's, and what workers do is worker.h's.
 */
#ifndef STAGES_SIM_STATE_H
#define STAGES_SIM_STATE_H

#include "stages/measure.h"
#include "stages/sim/engine.h"
#include "stages/sim/heap.h"
#include "stages/sim/processor.h"
#include "stages/sim/station.h"
#include "stages/sim/worker.h"

struct part {
	uint32_t station_count;
	struct station *stations; /* in pipeline order */
	struct station *by_stage[STAGES_MAX];
	struct stage_view views[STAGES_MAX];
	struct measure measures[STAGES_MAX];
	uint32_t measured_count;
	uint64_t measured_ns;
	uint32_t worker_count, core_count;
	struct worker *idle; /* of those that roam */
	uint64_t waiting_count;
	uint64_t under_way_count;
	struct processor processor; /* for threads that share the cores */
	uint64_t timer_ns;          /* the next one set for it */
};

/* What happened at a stage so far. */
struct tally {
	struct engine_stage counts;
	uint64_t waiting_count; /* now */
	uint64_t changed_ns;
	double waiting_ns; /* waiting_count over time */
};

struct totals {
	struct tally stages[STAGES_MAX];
	uint64_t at_ns;
	uint64_t finished_count;
	double switch_ns, queue_ns;
	uint64_t stolen_count;
};

enum timer { TIMER_ARRIVAL, TIMER_PUSH, TIMER_WORKER, TIMER_PROCESSOR };

struct sim {
	const struct engine_config *config;
	const struct schedule *schedule;
	uint64_t now_ns;
	struct heap timers;
	uint64_t timer_number;
	struct random arrivals, paths, errors;

	uint32_t part_count, next_part;
	struct part *parts;
	uint32_t worker_count;
	struct worker *workers;
	uint32_t idle_count;   /* of workers that roam */
	uint32_t next_sleeper; /* part to look for them */
	uint64_t waiting_count;

	uint64_t born_count;
	struct totals totals, begin, end;
	struct engine_request *requests;
};

/* engine.c */
void sim_set_timer(struct sim *s, uint64_t ns, enum timer timer, void *item);

/* Let `item` run for so long on the part's cores; it is a worker, or where
 * there are none, a request. */
void sim_share(struct sim *s, struct part *p, uint64_t work_ns, void *item);

/* On to the next step of `r`.  False: there is none, and `r` is gone. */
bool sim_next(struct sim *s, struct request *r);

/* It is under way in `to` from now on. */
void request_move(struct request *r, struct part *to);

/* plan.c: the workers begin as soon as the clock does. */
void plan_init(struct sim *s);
void plan_release(struct sim *s);

#endif
