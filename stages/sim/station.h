/* SPDX-License-Identifier: MIT */
/*
 * Inside the simulator: requests, the stations where they wait, and what is
 * counted of both.
 */
#ifndef STAGES_SIM_STATION_H
#define STAGES_SIM_STATION_H

#include "stages/sim/heap.h"
#include "stages/sim/model.h"
#include "stages/stage.h"

#define STAGE_NONE UINT32_MAX /* of a central queue: the event's own */

struct part;
struct sim;
struct worker;

struct request {
	struct event event; /* what the discipline ranks */
	struct request *next;
	struct part *part; /* it was sent to */
	uint64_t number;
	double size;
	double error;        /* predicted work / true work */
	uint64_t started_ns; /* its step */
	uint64_t left_ns;    /* true work; event.left_ns is predicted */
	uint32_t step, step_count;
	struct model_step steps[];
};

struct list {
	struct request *first, **end; /* end: of a queue, not of a stack */
	uint32_t count;
};

struct station {
	struct part *part;
	uint32_t at;    /* its place among the part's */
	uint32_t stage; /* or STAGE_NONE */
	struct heap queue;
	uint64_t number;    /* of the next event */
	struct list passed; /* over the cutoff in a visit before */
	uint64_t free_ns;   /* when the queue can be used next */
	uint64_t last_visit_ns;
	struct worker *idle; /* of a pool */
};

void station_push(struct sim *s, struct station *to, struct request *r);

/* NULL: empty. */
struct request *station_pop(struct sim *s, struct station *from);

/* Take it back, to be served at the end of a later visit. */
void station_pass(struct sim *s, struct station *to, struct request *r);
struct request *station_pop_passed(struct sim *s, struct station *from);

static inline uint32_t station_waiting_count(const struct station *s)
{
	return s->queue.count + s->passed.count;
}

/* One more user of the queue: how long until it is done with it. */
uint64_t station_use(struct sim *s, struct station *at);

/* The station for stage `stage` as seen from `p`. */
struct station *station_find(struct sim *s, struct part *p, uint32_t stage);

void tally_sent(struct sim *s, const struct request *r);
void tally_wait(struct sim *s, uint32_t stage, int change);

/* Its step is over; it waited for so long before. */
void tally_handled(struct sim *s, const struct request *r, double wait_ns);

#endif
