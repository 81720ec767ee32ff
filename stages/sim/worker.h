/* SPDX-License-Identifier: MIT */
/*
 * Inside the simulator: workers, what each does next, and its visits.
 */
#ifndef STAGES_SIM_WORKER_H
#define STAGES_SIM_WORKER_H

#include "stages/regime.h"

#include <stdbool.h>
#include <stdint.h>

struct list;
struct part;
struct request;
struct sim;
struct station;

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
