/* SPDX-License-Identifier: MIT */
/*
 * Turns: how a worker turns to a station, what it takes, where it sends that,
 * and what interrupts it.  As stages/visit.c, but cut into pieces between which
 * time passes; each returns how long until the next.
 */
#include "stages/sim/state.h"

static uint32_t waiting_count(const struct worker *w, const struct station *at)
{
	return station_waiting_count(at) + worker_stack_count(w, at);
}

uint64_t turn_to(struct worker *w, struct station *at, bool is_theft,
		 bool is_interruption)
{
	w->turn = (struct turn){
		.station = at,
		.handled_stage = at->stage,
		.is_theft = is_theft,
		.is_interruption = is_interruption,
	};
	w->doing = DOING_BEGIN;
	w->sim->totals.switch_ns += (double)w->sim->config->switch_ns;
	return w->sim->config->switch_ns;
}

uint64_t turn_begin(struct worker *w)
{
	static const struct regime until_empty = { .kind = REGIME_EXHAUSTIVE };
	struct sim *s = w->sim;
	struct turn *t = &w->turn;
	uint32_t waiting = waiting_count(w, t->station);

	t->visit = visit_begin(t->is_theft || t->is_interruption ?
				       &until_empty :
				       &s->schedule->regime,
			       waiting, s->now_ns);
	t->fresh_count = t->visit.cutoff_ns == UINT64_MAX ?
				 UINT32_MAX :
				 t->station->queue.count;
	t->passed_count = t->station->passed.count;
	t->station->last_visit_ns = s->now_ns;
	if (t->is_theft) {
		uint32_t share = waiting / s->part_count;

		t->visit.events_max = share > 0 ? share : 1;
	} else if (t->station->stage == STAGE_NONE) {
		t->visit.events_max = 1;
	}
	w->doing = DOING_TAKE;
	return 0;
}

static uint64_t end(struct worker *w)
{
	struct turn *t = &w->turn;

	if (t->handled_stage != STAGE_NONE) {
		struct tally *tally = &w->sim->totals.stages[t->handled_stage];

		tally->counts.visit_count++;
		tally->counts.visit_empty_count += t->visit.handled_count == 0;
		tally->counts.switch_count += w->visited != STAGE_NONE &&
					      w->visited != t->handled_stage;
		w->visited = t->handled_stage;
	}
	t->station->last_visit_ns = w->sim->now_ns;
	if (t->is_interruption) {
		w->turn = w->outer;
		w->doing = DOING_TAKE;
		return 0;
	}
	w->doing = DOING_PICK;
	return 0;
}

/* Wait for the queue, and use it. */
static uint64_t use(struct worker *w, struct station *at)
{
	uint64_t ns = station_use(w->sim, at);

	w->sim->totals.queue_ns += (double)ns;
	return ns;
}

uint64_t turn_take(struct worker *w)
{
	struct turn *t = &w->turn;
	bool is_stacked = worker_stack_count(w, t->station) > 0 && !t->is_theft;

	if (!visit_goes_on(&t->visit, w->sim->now_ns) ||
	    (!is_stacked &&
	     (t->fresh_count == 0 || t->station->queue.count == 0) &&
	     (t->passed_count == 0 || t->station->passed.count == 0)))
		return end(w);
	w->doing = DOING_POP;
	return is_stacked ? 0 : use(w, t->station);
}

static struct request *pop_stack(struct worker *w, uint32_t stage)
{
	struct list *l = &w->stacks[stage];
	struct request *r = l->first;

	l->first = r->next;
	l->count--;
	tally_wait(w->sim, stage, -1);
	return r;
}

/* The next event of the visit; NULL: it is over. */
static struct request *pop_next(struct worker *w)
{
	struct turn *t = &w->turn;
	struct station *from = t->station;
	struct request *r;

	if (!t->is_theft && worker_stack_count(w, from) > 0)
		return pop_stack(w, from->stage);
	while (t->fresh_count > 0 && (r = station_pop(w->sim, from)) != NULL) {
		t->fresh_count -= t->fresh_count != UINT32_MAX;
		if (r->event.left_ns <= t->visit.cutoff_ns)
			return r;
		station_pass(w->sim, from, r);
	}
	if (t->passed_count == 0)
		return NULL;
	t->passed_count--;
	return station_pop_passed(w->sim, from);
}

uint64_t turn_pop(struct worker *w)
{
	struct request *r = pop_next(w);

	if (r == NULL)
		return end(w);
	const struct model_step *step = &r->steps[r->step];

	w->turn.visit.handled_count++;
	w->turn.handled_stage = step->stage;
	w->sim->totals.stolen_count += w->turn.is_theft;
	w->request = r;
	r->started_ns = w->sim->now_ns;
	w->doing = DOING_SERVED;
	return step->service_ns;
}

/* Turn to the first other stage that is over its threshold, if there is one. */
static uint64_t go_on(struct worker *w)
{
	const struct sim *s = w->sim;

	w->doing = DOING_TAKE;
	if (!s->schedule->has_thresholds || w->turn.is_interruption)
		return 0;
	for (uint32_t i = 0; i < w->part->station_count; i++) {
		struct station *other = &w->part->stations[i];

		if (other == w->turn.station ||
		    !threshold_is_exceeded(
			    &s->schedule->thresholds[other->stage],
			    waiting_count(w, other), other->last_visit_ns,
			    s->now_ns))
			continue;
		w->outer = w->turn;
		return turn_to(w, other, false, true);
	}
	return 0;
}

static void push_stack(struct worker *w, struct request *r)
{
	struct list *l = &w->stacks[r->steps[r->step].stage];

	request_move(r, w->part);
	r->next = l->first;
	l->first = r;
	l->count++;
	tally_sent(w->sim, r);
}

uint64_t turn_served(struct worker *w)
{
	struct request *r = w->request;

	tally_handled(w->sim, r, (double)(r->started_ns - r->event.sent_ns));
	if (!sim_next(w->sim, r))
		return go_on(w);
	w->sends_to = station_find(w->sim, w->part, r->steps[r->step].stage);
	if (w->stacks != NULL && w->sends_to->part == w->part &&
	    w->sends_to->stage != STAGE_NONE) {
		push_stack(w, r);
		return go_on(w);
	}
	w->doing = DOING_PUSH;
	return use(w, w->sends_to);
}

uint64_t turn_push(struct worker *w)
{
	station_push(w->sim, w->sends_to, w->request);
	return go_on(w);
}
