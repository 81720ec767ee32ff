/* SPDX-License-Identifier: MIT */
/*
 * Inside the simulator: what a simulated node is made of.  The words are those
 * of stages/: a part is a replica or a partition, a station is a queue that
 * workers visit.
 *
 * Calls go one way:
 *
 *	run.c        the requests, the nodes, and what happens when
 *	  |-> dispatch.c   which node gets a request
 *	  |-> worker.c     the parts, their queues and their workers
 *	  |-> fibres.c     the schedulers of user-level threads, which replace
 *	  |     |          the queues and workers of a part
 *	  v     v
 *	engine.c     the clock, the counts, and the cores that threads share
 */
#ifndef STAGES_SIM_ENGINE_H
#define STAGES_SIM_ENGINE_H

#include "base/histogram.h"
#include "stages/heap.h"
#include "stages/tally.h"
#include "stages/threads/resources.h"
#include "stages/sim/dispatch.h"
#include "stages/sim/sim.h"
#include "stages/event.h"
#include "stages/visit.h"

struct sim;
struct sim_fleet;

/* A request, or a child of one. */
struct sim_request {
	struct event event; /* the event that the discipline ranks */
	struct sim_request *next;
	struct sim_request *parent; /* waits until it has ended; or NULL */
	uint32_t left_count;        /* children that have not ended */
	/* Without workers: what its thread calls after it. */
	struct sim_request *then;
	struct sim *home;    /* the node to which it was sent */
	uint64_t arrived_ns; /* at the dispatcher */
	uint32_t part;       /* to which it was sent; part_count: to all */
	uint32_t node; /* as a user-level thread: the policy's place for it */
	double size;
	double error;        /* predicted work / true work */
	uint64_t started_ns; /* when its current turn began */
	uint64_t left_ns;    /* true work; event.left_ns is predicted */
	/* Work left of the current step, while it is handled. */
	uint64_t step_left_ns;
	uint64_t piece_ns; /* of step_left_ns, up to the next pause point */
	bool has_paused;   /* it was paused in the current step */
	const struct model_step *step; /* in its own steps or its parent's */
	struct model_step steps[];
};

struct sim_station {
	struct visit_station visited;
	struct sim *sim;
	struct heap queue;
	uint64_t number; /* number of the next event */
	/* Paused by a cutoff, in this order. */
	struct sim_request *passed, **passed_end;
	uint32_t passed_count;
	uint64_t free_ns;         /* when the queue can be used next */
	bool is_taken, is_missed; /* of an exclusive stage: see struct entry */
	/* Of a stage with keys: the worker of its parts that visits it. */
	uint32_t worker;
	struct sim_worker *idle; /* of its pool, or resting here */
	uint32_t epoch;          /* how often one of these was to be woken */
};

enum sim_doing {
	DOING_STEP,   /* the next step of visitor_step() */
	DOING_SERVE,  /* its handler is at a pause point, or has ended */
	DOING_PUSH,   /* it has got the queue for what it sends */
	DOING_RETURN, /* it has got the queue for a paused event */
	DOING_SLEEP,
};

struct sim_worker {
	struct visitor visitor;
	struct sim *sim;
	bool stays;      /* in a pool: at one station */
	uint32_t number; /* in its part */
	struct sim_worker *next_idle;
	uint64_t timer; /* number of its latest timer; others do not count */
	enum sim_doing doing;        /* what it does when its timer is due */
	bool is_on_core;             /* it keeps its core until then */
	enum visit_pause pause;      /* with DOING_RETURN: the reason */
	struct sim_request *request; /* being handled */
	struct sim_request *sends;   /* what the handler has left to send */
	struct sim_station *sends_to;
};

/*
 * Cores that are shared evenly among any number of threads, as a kernel would
 * with a very short quantum (processor sharing).  With n threads on c cores
 * each gets min(1, c / n) of a core.  All threads progress at the same speed.
 * So it is enough to keep `got_ns`, the work that a thread would have got that
 * was there from the beginning, and for each thread the value of `got_ns` at
 * which it is done.
 */
struct sim_processor {
	struct heap threads;
	uint32_t core_count;
	double got_ns; /* see above; as it was at `at_ns` */
	uint64_t at_ns;
};

struct sim_part {
	struct sim *sim;
	uint32_t station_count;
	struct sim_station *stations; /* in pipeline order */
	/* The first station of each stage; with keys there are several. */
	struct sim_station *by_stage[STAGES_MAX];
	uint32_t key_counts[STAGES_MAX]; /* their number; otherwise 1 */
	uint32_t worker_count, core_count;
	struct sim_worker *idle; /* idle workers that roam */
	uint32_t epoch;          /* how often one was to be woken */
	uint64_t waiting_count;  /* requests that wait in all its queues */
	struct sim_processor processor;
	uint64_t timer_ns; /* time of the processor's next timer */
	struct sim_scheduler
		*scheduler; /* NULL: it has no user-level threads */
};

/* The counts of a stage since the beginning. */
struct sim_tally {
	struct sim_stage_stats counts;
	uint64_t switch_ns;
	uint64_t waiting_count; /* now */
	uint64_t changed_ns;
	double waiting_ns; /* the integral of waiting_count over time */
};

struct sim_totals {
	struct sim_tally stages[STAGES_MAX];
	uint64_t at_ns;
	uint64_t finished_count;
	double switch_ns, queue_ns;
	uint64_t stolen_count;
};

enum sim_timer {
	TIMER_ARRIVAL,
	TIMER_PUSH,
	TIMER_WORKER,
	TIMER_PROCESSOR,
	TIMER_SCHEDULER,
	TIMER_AGENT /* a balancer asks a node for its weight */
};

/* A node: a simulated group. */
struct sim {
	struct sim_fleet *fleet;
	const struct sim_config *config;
	const struct schedule *schedule;

	struct visit_group visits;
	struct sim_part *parts; /* and one more: see struct visit_group */
	uint32_t worker_count;
	struct sim_worker *workers;
	uint32_t idle_count;   /* idle workers that roam */
	uint32_t next_sleeper; /* the part in which to look first */
	uint32_t paused_count; /* requests that `has_paused` */
	uint32_t paused_max;   /* 0: there are no pauses */

	struct resources resources;
	int64_t memory, memory_max; /* what steps have taken */

	uint64_t begun_count;
	double left_ns; /* predicted work of all requests under way */
	/*
	 * True work of all requests under way, except what ended pieces have
	 * done; and for the pieces that run on a core of their own: how many
	 * there are, and the sum of the times at which they began.
	 */
	uint64_t work_ns, running_count, running_since_ns;
	struct sim_totals totals, begin, end;
	struct histogram services[STAGES_MAX]; /* of events */
};

/* What all nodes have in common. */
struct sim_fleet {
	const struct sim_config *config;
	/* Called for a request that has done its last step.  It frees it. */
	void (*end_request)(struct sim *s, struct sim_request *r);
	uint64_t now_ns;
	struct heap timers;
	uint64_t timer_number;
	struct random arrivals, paths, errors;
	struct model_path path; /* the last one that was drawn */
	uint32_t node_count;
	struct sim *nodes;
	struct dispatch *dispatch;
	struct dispatch_node views[DISPATCH_NODES_MAX];
	struct heap held; /* requests that wait in the balancer */
	uint64_t held_number;
	uint64_t born_count, finished_count;
	struct sim_response *requests;
};

/* engine.c */

/* Zeroed; aborts if there is no memory. */
void *sim_alloc(size_t count, size_t size);

/* Returns the timer's number. */
uint64_t sim_set_timer(struct sim *s, uint64_t ns, enum sim_timer timer,
		       void *item);

/*
 * Run `item` for this time on the part's cores; it is a worker or, if there are
 * none, a request.
 */
void sim_share(struct sim *s, struct sim_part *p, uint64_t work_ns, void *item);

/* `item` has got all of its time. */
typedef void sim_done_fn(struct sim *s, void *item);

/* The timer of the part's cores is due. */
void sim_run_shared(struct sim *s, struct sim_part *p, sim_done_fn *done);

/* Predict the work that is left of `r`, which is sent now. */
void sim_predict(const struct sim *s, struct sim_request *r);

/*
 * The sum of what its current turn does: the current step, and those after it
 * at pass-through stages.
 */
struct model_step sim_turn(const struct sim *s, const struct sim_request *r);

/* Is it a stage without a station?  Not where threads call all handlers. */
bool sim_passes(const struct sim *s, uint32_t stage);

/*
 * The current turn of `r` is done.  Returns a list of what is sent now, each
 * for its current step, to its part: `r` itself, its children, or, if `r` was
 * the last child, its parent.  If `r` has ended, it is freed.
 */
struct sim_request *sim_next(struct sim *s, struct sim_request *r);

/* Report `span` to the owner of the run (sim_config.watch). */
void sim_watch(const struct sim *s, const struct span *span);

void tally_sent(struct sim *s, const struct sim_request *r);
void tally_waiting(struct sim *s, uint32_t stage, int change);

/* Report a turn of `r` that is over. */
void watch_turn(const struct sim *s, const struct sim_request *r);

/* Count and report a step of `r` that is over. */
void tally_handled(struct sim *s, const struct sim_request *r);

/* A piece of this work begins, on a core of its own, or has ended. */
void sim_piece_begins(struct sim *s);
void sim_piece_ends(struct sim *s, uint64_t work_ns);

/* worker.c */

/*
 * Make parts, stations and workers.  Workers begin as soon as the clock does.
 */
void sim_plan(struct sim *s);
void sim_plan_release(struct sim *s);

/* Do what `w` does now, until it takes time or sleeps. */
void worker_advance(struct sim_worker *w);

/* The worker's timer `number` is due. */
void worker_time(struct sim_worker *w, uint64_t number);

void station_push(struct sim *s, struct sim_station *to, struct sim_request *r);

/*
 * Add a user of the queue.  Returns the time until this user is done with the
 * queue.
 */
uint64_t station_use(struct sim_station *at);

/* The station for the next step of `r` as seen from part `part`. */
struct sim_station *station_find(struct sim *s, uint32_t part,
				 const struct sim_request *r);

/*
 * Without workers: enter the stage of the next step of `r`.  False: another
 * thread is in it, and `r` waits; station_call_next() returns it.
 */
bool station_call(struct sim *s, struct sim_request *r);

/* The handler that `r` called has returned.  NULL: no other thread waits. */
struct sim_request *station_call_next(struct sim *s, struct sim_request *r);

/* fibres.c */

/* The user-level threads of part `part`, on one core. */
struct sim_scheduler *scheduler_plan(struct sim *s, uint32_t part);
void scheduler_release(struct sim_scheduler *at); /* NULL is fine */

/* `r` comes from outside: it becomes a thread of its part. */
void scheduler_begin(struct sim_scheduler *at, struct sim_request *r);

/* The running thread, if there is one, has done its step. */
void scheduler_advance(struct sim_scheduler *at);

#endif
