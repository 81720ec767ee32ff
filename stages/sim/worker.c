/* SPDX-License-Identifier: MIT */
/*
 * Workers: pick a stage, visit it, pick again; nothing to visit: sleep.  As
 * stages/worker.c, but cut into pieces between which time passes.
 */
#include "stages/sim/state.h"

#include <assert.h>

uint32_t worker_stack_count(const struct worker *w, const struct station *at)
{
	return w->stacks == NULL || at->stage == STAGE_NONE ?
		       0 :
		       w->stacks[at->stage].count;
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
			own[i].queued_count +=
				worker_stack_count(w, &p->stations[i]);
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

static uint64_t pick(struct worker *w)
{
	measure(w->sim, w->part);

	uint32_t at = ask(w);

	if (at != POLICY_IDLE)
		return turn_to(w, &w->part->stations[at], false, false);
	struct station *from =
		w->sim->schedule->steal ? longest_elsewhere(w) : NULL;

	return from != NULL ? turn_to(w, from, true, false) : sleep_for_work(w);
}

/* Do what it had in mind.  Returns how long until its next piece. */
static uint64_t act(struct worker *w)
{
	switch (w->doing) {
	case DOING_PICK:
		return pick(w);
	case DOING_BEGIN:
		return turn_begin(w);
	case DOING_TAKE:
		return turn_take(w);
	case DOING_POP:
		return turn_pop(w);
	case DOING_SERVED:
		return turn_served(w);
	case DOING_PUSH:
		return turn_push(w);
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
