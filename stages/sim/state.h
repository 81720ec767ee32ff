/* SPDX-License-Identifier: MIT */
/*
 * Inside the simulator: what a simulated group is made of.  The words are those
 * of stages/: a part is a replica or a partition, a station is a stage in it.
 *
 * engine.c has the clock and the requests, plan.c the parts, station.c the
 * queues, worker.c what a worker does next, turn.c its visits.
 */
#ifndef STAGES_SIM_STATE_H
#define STAGES_SIM_STATE_H

#include "stages/measure.h"
#include "stages/sim/engine.h"
#include "stages/sim/heap.h"
#include "stages/sim/processor.h"
#include "stages/stage.h"

#define STAGE_NONE UINT32_MAX /* of a central queue: the event's own */

struct part;
struct sim;

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

/* A visit under way, and where its events come from. */
struct turn {
	struct station *station; /* NULL: none */
	struct visit visit;
	/* With a cutoff: those that waited at the beginning. */
	uint32_t fresh_count;
	uint32_t passed_count;  /* over by earlier visits; they come last */
	uint32_t handled_stage; /* of its last event */
	bool is_interruption;
	bool is_theft;
};

enum doing {
	DOING_PICK,
	DOING_BEGIN, /* it has turned to the stage */
	DOING_TAKE,
	DOING_POP, /* it has the queue */
	DOING_SERVED,
	DOING_PUSH, /* it has the next queue */
	DOING_SLEEP,
};

struct worker {
	struct sim *sim;
	struct part *part;
	struct station *only; /* of a pool; else NULL */
	struct worker *next_idle;
	void *policy_state;
	enum doing doing;        /* what it will do when its time has come */
	struct turn turn, outer; /* outer: interrupted */
	uint32_t visited;        /* the last stage since it slept */
	struct request *request; /* in its hands */
	struct station *sends_to;
	struct list *stacks; /* by stage, of --discipline stack */
};

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

/* plan.c: the workers begin as soon as the clock does. */
void plan_init(struct sim *s);
void plan_release(struct sim *s);

/* It is under way in `to` from now on. */
void request_move(struct request *r, struct part *to);

/* station.c */
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

/* worker.c */

/* What only this worker may take, at a station. */
uint32_t worker_stack_count(const struct worker *w, const struct station *at);

void worker_advance(struct worker *w);
void worker_wake(struct sim *s, struct station *at);

/* turn.c: each does what `doing` was and returns how long until the next. */
uint64_t turn_to(struct worker *w, struct station *at, bool is_theft,
		 bool is_interruption);
uint64_t turn_begin(struct worker *w);
uint64_t turn_take(struct worker *w);
uint64_t turn_pop(struct worker *w);
uint64_t turn_served(struct worker *w);
uint64_t turn_push(struct worker *w);

#endif
