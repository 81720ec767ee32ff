/* SPDX-License-Identifier: MIT */
/*
 * Workers: pick a stage, visit it, pick again; nothing to visit: sleep.  As
 * stages/worker.c, but cut into pieces between which time passes.
 */
#include "stages/sim/state.h"

#include <assert.h>

static struct tally *tally_of(const struct worker *w, uint32_t stage)
{
	return &w->sim->totals.stages[stage];
}

static uint32_t stack_count(const struct worker *w, const struct station *at)
{
	return w->stacks == NULL || at->stage == STAGE_NONE ?
		       0 :
		       w->stacks[at->stage].count;
}

static uint32_t waiting_count(const struct worker *w, const struct station *at)
{
	return station_waiting_count(at) + stack_count(w, at);
}

/* What the policy says; POLICY_IDLE: nothing. */
static uint32_t ask(struct worker *w)
{
	const struct part *p = w->part;
	const struct policy *policy = w->sim->schedule->policy;
	struct stage_view own[STAGES_MAX];
	struct group_view view = {
		.stages = p->views,
		.stage_count = p->station_count,
		.measured_count = p->measured_count,
		.is_gated = regime_is_gated(&w->sim->schedule->regime),
	};

	if (w->only != NULL) {
		view.stages = &p->views[w->only->at];
		view.stage_count = 1;
	} else if (w->stacks != NULL) {
		for (uint32_t i = 0; i < p->station_count; i++) {
			own[i] = p->views[i];
			own[i].queued_count += stack_count(w, &p->stations[i]);
		}
		view.stages = own;
	}
	uint32_t at = policy->pick(w->policy_state, &view);

	assert(at == POLICY_IDLE || at < view.stage_count);
	return at == 0 && w->only != NULL ? w->only->at : at;
}

/* The longest queue of another replica; NULL: all are empty. */
static struct station *longest_elsewhere(const struct worker *w)
{
	const struct sim *s = w->sim;
	struct station *longest = NULL;
	uint32_t most = 0;

	if (s->waiting_count == 0)
		return NULL;
	for (uint32_t i = 0; i < s->part_count; i++) {
		struct part *p = &s->parts[i];

		if (p == w->part || p->waiting_count <= most)
			continue;
		for (uint32_t at = 0; at < p->station_count; at++) {
			uint32_t count =
				station_waiting_count(&p->stations[at]);

			if (count > most) {
				most = count;
				longest = &p->stations[at];
			}
		}
	}
	return longest;
}

static struct worker **sleepers(const struct worker *w)
{
	return w->only != NULL ? &w->only->idle : &w->part->idle;
}

static uint64_t sleep_for_work(struct worker *w)
{
	struct worker **head = sleepers(w);

	w->doing = DOING_SLEEP;
	w->visited = STAGE_NONE;
	w->next_idle = *head;
	*head = w;
	w->sim->idle_count += w->only == NULL;
	return 0;
}

/* With stealing, any that sleeps will do: it has nothing to do at home. */
static struct worker **find_sleepers(struct sim *s, struct station *at)
{
	if (at->idle != NULL)
		return &at->idle;
	if (at->part->idle != NULL)
		return &at->part->idle;
	if (!s->schedule->steal || s->idle_count == 0)
		return NULL;
	while (s->parts[s->next_sleeper % s->part_count].idle == NULL)
		s->next_sleeper++;
	return &s->parts[s->next_sleeper % s->part_count].idle;
}

void worker_wake(struct sim *s, struct station *at)
{
	struct worker **head = find_sleepers(s, at);

	if (head == NULL)
		return;
	struct worker *w = *head;

	*head = w->next_idle;
	s->idle_count -= w->only == NULL;
	w->doing = DOING_PICK;
	sim_set_timer(s, s->now_ns, TIMER_WORKER, w);
}

static uint64_t turn_to(struct worker *w, struct station *at, bool is_theft,
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

static uint64_t pick(struct worker *w)
{
	uint32_t at = ask(w);

	if (at != POLICY_IDLE)
		return turn_to(w, &w->part->stations[at], false, false);
	struct station *from =
		w->sim->schedule->steal ? longest_elsewhere(w) : NULL;

	return from != NULL ? turn_to(w, from, true, false) : sleep_for_work(w);
}

static uint64_t begin(struct worker *w)
{
	static const struct regime until_empty = { .kind = REGIME_EXHAUSTIVE };
	struct sim *s = w->sim;
	struct turn *t = &w->turn;
	uint32_t waiting = waiting_count(w, t->station);

	t->visit = visit_begin(t->is_theft || t->is_interruption ?
				       &until_empty :
				       &s->schedule->regime,
			       waiting, s->now_ns);
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

/* Every now and then, what the policies may know of each stage. */
static void measure(struct sim *s, struct part *p)
{
	if (s->now_ns - p->measured_ns < MEASURE_INTERVAL_NS)
		return;
	p->measured_ns = s->now_ns;
	p->measured_count++;
	for (uint32_t i = 0; i < p->station_count; i++) {
		if (p->stations[i].stage == STAGE_NONE)
			continue;
		const struct engine_stage *c =
			&s->totals.stages[p->stations[i].stage].counts;
		struct measure_totals totals = {
			.arrived_count = c->arrived_count,
			.handled_count = c->handled_count,
			.service_ns = (uint64_t)c->service_ns,
			.switch_count = c->switch_count,
			.switch_ns = c->switch_count * s->config->switch_ns,
		};

		measure_update(&p->measures[i], &totals, s->now_ns,
			       s->schedule->balance == BALANCE_PARTITION ?
				       p->worker_count :
				       s->worker_count,
			       &p->views[i]);
	}
}

static uint64_t end(struct worker *w)
{
	struct turn *t = &w->turn;

	if (t->handled_stage != STAGE_NONE) {
		struct tally *tally = tally_of(w, t->handled_stage);

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
	measure(w->sim, w->part);
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

static uint64_t take(struct worker *w)
{
	struct turn *t = &w->turn;
	bool is_stacked = stack_count(w, t->station) > 0 && !t->is_theft;

	if (!visit_goes_on(&t->visit, w->sim->now_ns) ||
	    (!is_stacked && t->station->queue.count == 0 &&
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

	if (!t->is_theft && stack_count(w, from) > 0)
		return pop_stack(w, from->stage);
	while ((r = station_pop(w->sim, from)) != NULL) {
		if (r->event.left_ns <= t->visit.cutoff_ns)
			return r;
		station_pass(w->sim, from, r);
		if (--t->visit.events_max <= t->visit.handled_count)
			return NULL;
	}
	if (t->passed_count == 0)
		return NULL;
	t->passed_count--;
	return station_pop_passed(w->sim, from);
}

static uint64_t pop(struct worker *w)
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

	r->next = l->first;
	l->first = r;
	l->count++;
	tally_sent(w->sim, r);
}

static uint64_t served(struct worker *w)
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

static uint64_t push(struct worker *w)
{
	station_push(w->sim, w->sends_to, w->request);
	return go_on(w);
}

/* Do what it had in mind.  Returns how long until its next piece. */
static uint64_t act(struct worker *w)
{
	switch (w->doing) {
	case DOING_PICK:
		return pick(w);
	case DOING_BEGIN:
		return begin(w);
	case DOING_TAKE:
		return take(w);
	case DOING_POP:
		return pop(w);
	case DOING_SERVED:
		return served(w);
	case DOING_PUSH:
		return push(w);
	case DOING_SLEEP:
		break;
	}
	assert(!"asleep");
	return 0;
}

void worker_advance(struct worker *w)
{
	uint64_t ns;

	do {
		ns = act(w);
	} while (ns == 0 && w->doing != DOING_SLEEP);
	if (w->doing == DOING_SLEEP)
		return;
	/* Threads of a pool wait for a queue off the core. */
	if (w->only != NULL &&
	    (w->doing == DOING_BEGIN || w->doing == DOING_SERVED))
		sim_share(w->sim, w->part, ns, w);
	else
		sim_set_timer(w->sim, w->sim->now_ns + ns, TIMER_WORKER, w);
}
