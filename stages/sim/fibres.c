/* SPDX-License-Identifier: MIT */
/*
 * Simulated user-level threads: a part's core runs one of them to its next
 * blocking point, which is the end of a step, and then asks the policy whose
 * turn it is, as a scheduler does (stages/threads/scheduler.c).
 *
 * All handlers send from one site, as in a program whose steps have one
 * handler; but a graph with forks is one of closures, of which each stage has a
 * site (stages/closure.c).
 */
#include "stages/sim/engine.h"
#include "stages/tally.h"

#include <assert.h>
#include <stdlib.h>

static const struct blocking_site from_outside = { __FILE__, "outside", 1 };
static const struct blocking_site from_handler = { __FILE__, "handler", 2 };
static const struct blocking_site to_stage[STAGES_MAX];

struct sim_fifo {
	struct sim_request *first, **end;
};

struct sim_scheduler {
	struct sim *sim;
	uint32_t part;
	bool has_closures;
	const struct thread_policy *policy;
	void *state;
	struct sim_fifo inbox; /* sent from outside while a thread runs */
	struct sim_fifo places[PLACES_MAX];
	uint64_t ready;              /* bit per place */
	struct sim_request *running; /* NULL: the core is idle */
	bool is_awake;               /* it is not idle, or has a timer */
	uint32_t last_stage;         /* STAGE_NONE: it was idle since then */
};

struct sim_scheduler *scheduler_plan(struct sim *s, uint32_t part)
{
	struct sim_scheduler *at = sim_alloc(1, sizeof(*at));

	assert(s->parts[part].core_count == 1);
	at->sim = s;
	at->part = part;
	at->has_closures = model_children_max(s->config->model) > 0;
	at->policy = s->schedule->policy->threads;
	at->state = sim_alloc(1, at->policy->state_bytes + 1);
	at->last_stage = STAGE_NONE;
	at->policy->start(at->state,
			  schedule_resources(s->schedule, &s->resources));
	return at;
}

void scheduler_release(struct sim_scheduler *at)
{
	if (at == NULL)
		return;
	free(at->state);
	free(at);
}

static void fifo_push(struct sim_fifo *f, struct sim_request *r)
{
	if (f->first == NULL)
		f->end = &f->first;
	r->next = NULL;
	*f->end = r;
	f->end = &r->next;
}

/* `f` is not empty. */
static struct sim_request *fifo_pop(struct sim_fifo *f)
{
	struct sim_request *r = f->first;

	f->first = r->next;
	return r;
}

/* `r` waits at its node for its next step. */
static void push_request(struct sim_scheduler *at, struct sim_request *r)
{
	assert(r->node < PLACES_MAX);
	fifo_push(&at->places[r->node], r);
	at->ready |= UINT64_C(1) << r->node;
}

/* Where `r` is sent from, which is `site` for an event. */
static const struct blocking_site *site_of(const struct sim_scheduler *at,
					   const struct sim_request *r,
					   const struct blocking_site *site)
{
	return at->has_closures ? &to_stage[r->step->stage] : site;
}

static void empty_inbox(struct sim_scheduler *at)
{
	while (at->inbox.first != NULL) {
		struct sim_request *r = fifo_pop(&at->inbox);

		r->node =
			at->policy->arrive(at->state, PLACE_NONE,
					   site_of(at, r, &from_outside), NULL);
		push_request(at, r);
	}
}

static struct sim_request *pick(struct sim_scheduler *at)
{
	uint32_t place =
		at->policy->pick(at->state, at->ready, at->sim->fleet->now_ns);
	struct sim_request *r;

	assert(place < PLACES_MAX && (at->ready >> place & 1));
	r = fifo_pop(&at->places[place]);
	if (at->places[place].first == NULL)
		at->ready &= ~(UINT64_C(1) << place);
	return r;
}

/* The thread of `r` begins its next step. */
static void begin_step(struct sim_scheduler *at, struct sim_request *r)
{
	struct sim *s = at->sim;
	uint64_t switch_ns = s->config->switch_ns;
	const struct model_step *step = r->step;
	struct sim_stage_stats *c = &s->totals.stages[step->stage].counts;

	at->running = r;
	tally_waiting(s, step->stage, -1);
	event_inside(&r->event)->stage_waited_ns =
		s->fleet->now_ns - event_inside(&r->event)->sent_ns;
	r->started_ns = s->fleet->now_ns + switch_ns;
	s->totals.switch_ns += (double)switch_ns;
	c->visit_count++;
	c->switch_count +=
		at->last_stage != STAGE_NONE && at->last_stage != step->stage;
	at->last_stage = step->stage;
	sim_set_timer(s, r->started_ns + sim_turn(s, r).service_ns,
		      TIMER_SCHEDULER, at);
}

static void end_step(struct sim_scheduler *at, struct sim_request *r)
{
	struct sim *s = at->sim;
	struct sim_request *next;
	const struct model_step turn = sim_turn(s, r);
	uint32_t from = r->node;
	struct usage used = {
		.cpu_ns = s->fleet->now_ns - r->started_ns,
		.taken = { [RESOURCE_MEMORY] = turn.taken },
	};

	at->running = NULL;
	s->work_ns -= turn.service_ns;
	tally_handled(s, r);
	sim_watch(s, &(struct span){
			     .start_ns = r->started_ns,
			     .end_ns = s->fleet->now_ns,
			     .number = 1,
			     .stage = turn.stage,
			     .kind = SPAN_VISIT,
		     });
	/* Of all that are sent, the last is what the thread goes on as. */
	r = sim_next(s, r);
	if (r == NULL)
		at->policy->leave(at->state, from, &used);
	for (; r != NULL; r = next) {
		next = r->next;
		r->node = at->policy->arrive(at->state, from,
					     site_of(at, r, &from_handler),
					     next == NULL ? &used : NULL);
		tally_sent(s, r);
		push_request(at, r);
	}
}

void scheduler_advance(struct sim_scheduler *at)
{
	if (at->running != NULL)
		end_step(at, at->running);
	empty_inbox(at);
	at->is_awake = at->ready != 0;
	if (at->is_awake)
		begin_step(at, pick(at));
	else
		at->last_stage = STAGE_NONE;
}

void scheduler_begin(struct sim_scheduler *at, struct sim_request *r)
{
	tally_sent(at->sim, r);
	fifo_push(&at->inbox, r);
	if (at->is_awake)
		return;
	at->is_awake = true;
	sim_set_timer(at->sim, at->sim->fleet->now_ns, TIMER_SCHEDULER, at);
}
