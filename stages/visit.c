/* SPDX-License-Identifier: MIT */
/*
 * After Gordon, UCAM-CL-TR-781, sections 2.4 and 3.1 (policies, regimes, blind
 * visits and exponential idling), and Larus and Parkes, "Using Cohort
 * Scheduling to Enhance Server Performance", USENIX 2002, section 4.1
 * (thresholds, full stages), and their technical report, BalanceLoad (stealing,
 * even stages).
 */
#include "stages/visit.h"

#include "base/util.h"
#include "stages/event.h"
#include "stages/queue.h"
#include "stages/tally.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	PAUSED_PER_CORE = 8,
	LOOKS = 16, /* one look at the queue in 16 is with the clock */
};

/* For functions that do not run for every event: they are not inlined. */
#define RARE __attribute__((noinline))

static uint32_t least_loaded_part(const struct visit_group *g, uint32_t from)
{
	uint32_t best = from;

	for (uint32_t i = 1; i < g->part_count; i++) {
		uint32_t part = (from + i) % g->part_count;

		if (atomic_load(&g->parts[part].under_way_count) <
		    atomic_load(&g->parts[best].under_way_count))
			best = part;
	}
	return best;
}

/* Of struct sizes. */
enum {
	SIZE_LEAST_BITS = 10, /* 1 us */
	SIZE_PART_BITS = 3,   /* classes for each factor of 2 */
	SIZES_FIRST = 16,     /* events until sizes count */
	SIZES_INTERVAL = 256, /* events between two divisions */
	SIZES_FADE = 2048,    /* events until their work counts half */
};

/* A border of classes is near that of a part: a share of the part. */
#define SIZES_NEAR 0.25

/* The golden ratio: multiples of it are spread evenly over 2^32. */
#define GOLDEN UINT32_C(2654435769)

static uint32_t size_class(uint64_t work_ns)
{
	if (work_ns >> SIZE_LEAST_BITS == 0)
		return 0;
	uint32_t bits = 63 - (uint32_t)__builtin_clzll(work_ns);
	uint32_t part = (uint32_t)(work_ns >> (bits - SIZE_PART_BITS)) &
			((1u << SIZE_PART_BITS) - 1);
	uint32_t class = ((bits - SIZE_LEAST_BITS) << SIZE_PART_BITS) + part;

	return class < SIZE_CLASSES ? class : SIZE_CLASSES - 1;
}

/*
 * Of the classes' borders, the nearest to one of the parts becomes this one, if
 * it is near: so few sizes go to two parts.
 */
static void fit_borders(double below[SIZE_CLASSES + 1],
			const struct visit_group *g)
{
	uint32_t edge = 0;

	for (uint32_t p = 1; p < g->part_count; p++) {
		uint32_t core =
			(uint32_t)((uint64_t)p * g->core_count / g->part_count);
		double border = (double)core / g->core_count;

		while (below[edge + 1] < border)
			edge++;
		if (edge + 1 < SIZE_CLASSES &&
		    below[edge + 1] - border < border - below[edge])
			edge++;
		if (edge > 0 &&
		    fabs(below[edge] - border) < SIZES_NEAR / g->part_count)
			below[edge] = border;
	}
}

/* Find out which share of the work is below each class. */
static void divide_sizes(struct visit_group *g, bool fades)
{
	struct sizes *s = &g->sizes;
	double work_ns[SIZE_CLASSES], below[SIZE_CLASSES + 1];
	double all_ns = 0, below_ns = 0;

	for (uint32_t i = 0; i < SIZE_CLASSES; i++) {
		uint64_t ns = atomic_load(&s->work_ns[i]);

		work_ns[i] = (double)ns;
		all_ns += work_ns[i];
		if (fades)
			atomic_store(&s->work_ns[i], ns / 2);
	}
	if (all_ns <= 0)
		return;
	for (uint32_t i = 0; i < SIZE_CLASSES; i++) {
		below[i] = below_ns / all_ns;
		below_ns += work_ns[i];
	}
	below[SIZE_CLASSES] = 1;
	fit_borders(below, g);
	for (uint32_t i = 0; i <= SIZE_CLASSES; i++)
		atomic_store(&s->below[i], (uint32_t)(below[i] * UINT32_MAX));
}

/* False: too few events have come. */
static bool count_size(struct visit_group *g, uint64_t work_ns)
{
	struct sizes *s = &g->sizes;
	uint32_t count = atomic_fetch_add(&s->event_count, 1) + 1;
	bool is_power = (count & (count - 1)) == 0;

	atomic_fetch_add(&s->work_ns[size_class(work_ns)], work_ns);
	if (count >= SIZES_FIRST && (is_power || count % SIZES_INTERVAL == 0))
		divide_sizes(g, count % SIZES_FADE == 0);
	return count >= SIZES_FIRST;
}

/*
 * The replica that serves the point of all work, ordered by size, at which the
 * event is.  Events of one class are spread over the range of their class.
 */
static uint32_t part_by_size(struct visit_group *g, uint64_t work_ns,
			     uint32_t turn)
{
	uint32_t class = size_class(work_ns);
	uint32_t from = atomic_load(&g->sizes.below[class]);
	uint32_t to = atomic_load(&g->sizes.below[class + 1]);
	uint32_t range = to > from ? to - from : 0;
	uint64_t at = from + ((uint64_t)range * (turn * GOLDEN) >> 32);
	uint64_t core = at * g->core_count >> 32;

	/* Part p has the cores from p * cores / parts on. */
	return (uint32_t)(((core + 1) * g->part_count - 1) / g->core_count);
}

uint32_t visit_choose_part(struct visit_group *g, const struct event *ev)
{
	uint32_t turn = atomic_fetch_add_explicit(&g->next_part, 1,
						  memory_order_relaxed);

	switch (g->schedule->distribute) {
	case DISTRIBUTE_ROUND_ROBIN:
		break;
	case DISTRIBUTE_LEAST_LOADED:
		return least_loaded_part(g, turn % g->part_count);
	case DISTRIBUTE_SIZE:
		if (ev->left_ns > 0 && count_size(g, ev->left_ns))
			return part_by_size(g, ev->left_ns, turn);
		break;
	}
	return turn % g->part_count;
}

enum {
	LIGHT_PER_CORE = 4,       /* fewer events: the load is light */
	DISPERSION_EVENTS = 2048, /* length of its moving means */
};

/*
 * Patience is a multiple of the predicted wait: between the first two.  Under a
 * light load, where there may be no wait, it is the third one of the predicted
 * response time.  They were found by simulation, and checked by measurement:
 * docs/results/.
 */
#define PATIENCE_MIN 0.4
#define PATIENCE_MAX 1.5
#define PATIENCE_LIGHT 3.0
/* Up to this dispersion, patience is shortest; from 1 on it is longest. */
#define DISPERSION_CLOSED 0.5

/*
 * A new event found `count` others.  Returns the index of dispersion, 1 if it
 * is more.  At first the means are those of the last quarter of the events, so
 * that the beginning is soon forgotten.  If two threads update them at once,
 * one update may be lost.
 */
static double update_dispersion(struct dispersion *d, double count)
{
	uint32_t events =
		atomic_load_explicit(&d->events, memory_order_relaxed);
	double mean = atomic_load_explicit(&d->mean, memory_order_relaxed);
	double variance =
		atomic_load_explicit(&d->variance, memory_order_relaxed);
	double weight = events < 4 ? 1 : 4.0 / events;
	double difference = count - mean;

	if (events < 4 * DISPERSION_EVENTS)
		atomic_store_explicit(&d->events, events + 1,
				      memory_order_relaxed);
	mean += weight * difference;
	variance = (1 - weight) * (variance + weight * difference * difference);
	atomic_store_explicit(&d->mean, mean, memory_order_relaxed);
	atomic_store_explicit(&d->variance, variance, memory_order_relaxed);
	return variance < mean ? variance / mean : 1;
}

/* Does any discipline use an event's patience? */
static bool needs_patience(const struct schedule *s)
{
	const struct discipline *d = &s->discipline;
	uint32_t left = s->rules.own_disciplines;

	while (d->kind != DISCIPLINE_SRPT || !d->follows_load) {
		if (left == 0)
			return false;
		d = &s->rules.disciplines[__builtin_ctz(left)];
		left &= left - 1;
	}
	return true;
}

void visit_begin_event(struct visit_group *g, struct event *ev)
{
	double dispersion, patience = PATIENCE_MIN;
	double wait_ns = (double)ev->expected_ns - (double)ev->left_ns;

	if (!needs_patience(g->schedule))
		return;
	dispersion =
		update_dispersion(&g->dispersion, (double)ev->under_way_count);
	if (ev->under_way_count < (uint64_t)LIGHT_PER_CORE * g->core_count) {
		patience = PATIENCE_LIGHT;
		wait_ns = (double)ev->expected_ns;
	} else if (dispersion > DISPERSION_CLOSED) {
		patience += (PATIENCE_MAX - PATIENCE_MIN) *
			    (dispersion - DISPERSION_CLOSED) /
			    (1 - DISPERSION_CLOSED);
	}
	ev->patience_ns = ev->expected_ns == 0 ?
				  UINT64_MAX :
				  (uint64_t)(patience * fmax(wait_ns, 0));
}

/*
 * Events on the visitor's own stack.  Stacks exist only for stations of its
 * part.
 */
static uint32_t stacked_count(const struct visitor *v,
			      const struct visit_station *s)
{
	return s->stage != STAGE_NONE && s->part == v->part ?
		       v->stacks[s->stage].count :
		       0;
}

/* Waiting events, except those that a cutoff has paused. */
static uint32_t fresh_count(const struct visitor *v,
			    const struct visit_station *s)
{
	return v->access->queued_count(s) + stacked_count(v, s);
}

/* Events that a cutoff has paused. */
static uint32_t passed_count(const struct visitor *v,
			     const struct visit_station *s)
{
	return s->regime->kind == REGIME_CUTOFF ? v->access->passed_count(s) :
						  0;
}

/* Does the visitor know of queues only what visits have found? */
static bool is_blind(const struct visitor *v)
{
	return v->group->schedule->look == LOOK_BLIND;
}

static uint32_t waiting_count(const struct visitor *v,
			      const struct visit_station *s)
{
	return fresh_count(v, s) + passed_count(v, s);
}

/* The station of the same stage in another replica. */
static struct visit_station *twin(const struct visit_group *g,
				  const struct visit_station *s, uint32_t part)
{
	struct visit_station *const *twins = g->parts[part].open_stations;

	while ((*twins)->stage != s->stage)
		twins++;
	return *twins;
}

/* Events that wait in the queues of a stage. */
static uint32_t count_twins(const struct visit_access *access,
			    const struct visit_group *g,
			    const struct visit_station *s)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < g->part_count; p++)
		count += access->queued_count(twin(g, s, p));
	return count;
}

uint32_t visit_wakes_parts(const struct visit_access *access,
			   const struct visit_group *g,
			   const struct visit_station *s)
{
	return s->part == g->part_count ||
			       (s->even_below > 0 &&
				count_twins(access, g, s) >= g->core_count) ?
		       g->part_count :
		       1;
}

/* How many events a visit would take from other replicas. */
RARE static uint32_t count_uneven(const struct visitor *v,
				  const struct visit_station *s)
{
	uint32_t own = fresh_count(v, s);
	uint32_t share =
		(count_twins(v->access, v->group, s) + stacked_count(v, s)) /
		v->group->core_count;

	return own < s->even_below && own < share ? share - own : 0;
}

/*
 * The visit finds too few events: take those of its queue, then others.  They
 * wait on the visitor's stack, where there is always room.  In the simulator
 * this takes no time.
 */
RARE static void make_even(struct visitor *v, struct visit_station *s)
{
	uint32_t own_count = v->access->queued_count(s);
	uint32_t count = own_count + count_uneven(v, s);
	struct event_stack *stack = &v->stacks[s->stage];
	struct event **last = &stack->first;

	if (count == own_count)
		return;
	for (uint32_t i = 0; i < stack->count; i++)
		last = &event_inside(*last)->next;
	for (uint32_t i = 0; i < count; i++) {
		struct visit_station *from = s;

		for (uint32_t p = 0; i >= own_count && p < v->group->part_count;
		     p++) {
			struct visit_station *other = twin(v->group, s, p);

			if (v->access->queued_count(other) >
			    v->access->queued_count(from))
				from = other;
		}
		struct event *ev = v->access->pop(from);

		if (ev == NULL)
			continue; /* another worker was faster */
		if (from != s)
			v->access->move(v, from, s, ev);
		event_inside(ev)->next = NULL;
		*last = ev;
		last = &event_inside(ev)->next;
		stack->count++;
	}
}

/* How many events at its station `at` the visitor may take now. */
static uint32_t open_count(const struct visitor *v, uint32_t at)
{
	const struct visit_station *s = v->stations[at];
	uint32_t count = waiting_count(v, s);

	if (s->even_below > count)
		count += count_uneven(v, s);
	return count > 0 && (!s->is_exclusive || v->access->is_open(s)) ?
		       count :
		       0;
}

uint32_t visitor_keep_on_stack(struct visitor *v,
			       const struct visit_station *to, struct event *ev,
			       uint32_t slots)
{
	/*
	 * A worker that stays at one stage does not visit the stages to which
	 * it sends.
	 */
	if (v->group->schedule->policy->workers != POLICY_WORKERS_ROAM ||
	    to->part != v->part || to->stage == STAGE_NONE)
		return 0;
	struct event_stack *stack = &v->stacks[to->stage];

	if (stack->count >= slots)
		return 0;
	event_inside(ev)->next = stack->first;
	stack->first = ev;
	return ++stack->count;
}

/* Events that arrive during a visit wait for the next one. */
static bool regime_is_gated(const struct regime *r)
{
	return r->kind == REGIME_GATED || r->kind == REGIME_N_GATED ||
	       r->kind == REGIME_CUTOFF;
}

/* The policy has a mistake, so what the worker would do next is not known. */
RARE static _Noreturn void refuse_pick(const struct policy *p, const char *what)
{
	(void)fprintf(stderr,
		      "policy '%s' breaks the contract of stages/policy.h: "
		      "pick() returns %s\n",
		      p->name, what);
	abort();
}

/* Are `count` events enough for the visitor's station `at`? */
static bool is_full(const struct visitor *v, uint32_t at, uint32_t count)
{
	uint32_t enough = v->group->schedule->enough[v->stations[at]->stage];

	return enough > 0 && count >= enough;
}

/*
 * Is a stage after this one full?  One that the visitor may not enter now is
 * not full for it: if a stage is held, there is another one to visit, so held
 * events need no wake-ups of their own.
 */
RARE static bool is_before_full(const struct visitor *v, uint32_t stage)
{
	for (uint32_t i = v->station_count;
	     i-- > 0 && v->stations[i]->stage > stage;)
		if (is_full(v, i, open_count(v, i)))
			return true;
	return false;
}

/* Does a full stage hold visits to this station? */
static bool is_held(const struct visitor *v, const struct visit_station *s)
{
	return v->group->schedule->has_enough && is_before_full(v, s->stage);
}

/* If a full stage holds the visit, it takes no further event. */
RARE static void end_if_held(struct visitor *v)
{
	if (is_before_full(v, v->visit.station->stage))
		v->visit.events_max = 0;
}

/*
 * Ask the policy.  No worker that sees the queues may sleep while there are
 * events to take.
 */
static uint32_t ask_policy(struct visitor *v)
{
	const struct schedule *c = v->group->schedule;
	struct group_view view = {
		.stages = v->views,
		.stage_count = v->station_count,
		.measured_count = v->measured_count,
		.is_blind = is_blind(v),
		.has_found = v->has_found,
	};
	bool any = false;

	for (uint32_t i = 0; i < v->station_count; i++) {
		v->views[i].queued_count = view.is_blind ? 1 : open_count(v, i);
		any |= v->views[i].queued_count > 0;
	}
	bool holds = false;

	for (uint32_t i = v->station_count; c->has_enough && i-- > 0;)
		if (holds)
			v->views[i].queued_count = 0;
		else
			holds = is_full(v, i, v->views[i].queued_count);
	uint32_t at = c->policy->pick(v->policy_state, &view);

	if (at == POLICY_IDLE && any)
		refuse_pick(c->policy, "POLICY_IDLE, but a stage has events");
	if (at != POLICY_IDLE && at >= v->station_count)
		refuse_pick(c->policy, "a stage that there is not");
	return at;
}

/* Are events stolen by size only? */
static bool steals_by_size(const struct schedule *s)
{
	return s->steal && s->distribute == DISTRIBUTE_SIZE;
}

/*
 * The station to steal from: the one with the longest queue in another replica.
 * If several are equally long, the first stage counts, then the first replica.
 * By size: the longest queue of the replica with the smallest events.
 * NULL: no other replica has events, or there is no stealing.
 */
static struct visit_station *find_victim(const struct visitor *v)
{
	const struct visit_group *g = v->group;
	bool by_size = steals_by_size(g->schedule);
	uint32_t end = by_size ? v->part : g->part_count;
	struct visit_station *longest = NULL;
	uint32_t most = 0;

	for (uint32_t p = 0; g->schedule->steal && p < end; p++) {
		const struct visit_part *part = &g->parts[p];

		if (by_size && longest != NULL)
			break;

		if (p == v->part ||
		    (v->access->may_hold != NULL &&
		     !v->access->may_hold(v, p, most > 0 ? most : 1)))
			continue;
		for (uint32_t i = 0; i < part->open_count; i++) {
			struct visit_station *s = part->open_stations[i];
			uint32_t count =
				v->access->queued_count(s) + passed_count(v, s);

			if (count > most || (longest != NULL && count == most &&
					     s->stage < longest->stage)) {
				most = count;
				longest = s;
			}
		}
	}
	return longest;
}

/*
 * A blind worker has visited all its stations since it read `round_epoch`.  An
 * event that it has not found was queued after that, and counted there.
 */
bool visitor_has_work(const struct visitor *v)
{
	if (is_blind(v))
		return v->access->epoch(v) != v->round_epoch;
	for (uint32_t i = 0; i < v->station_count; i++)
		if (open_count(v, i) > 0)
			return true;
	return find_victim(v) != NULL;
}

/* From now on the worker spends its time on `stage`. */
static void turn_to(struct visitor *v, uint32_t stage, uint64_t now_ns)
{
	uint32_t from = v->visited;

	if (from == stage)
		return;
	v->visited = stage;
	v->access->turn(v, from, stage, now_ns - v->visited_ns);
}

void visitor_runs(struct visitor *v, uint32_t stage, uint64_t start_ns)
{
	turn_to(v, stage, start_ns);
}

void visitor_ran(struct visitor *v, uint64_t end_ns)
{
	v->visited_ns = end_ns;
}

void visitor_rest(struct visitor *v)
{
	turn_to(v, STAGE_NONE, v->visited_ns);
}

static enum visit_step switch_to(struct visitor *v, struct visit_station *s,
				 bool is_theft, bool is_interruption)
{
	v->visit = (struct visit){
		.station = s,
		.stage = s->stage,
		.is_theft = is_theft,
		.is_interruption = is_interruption,
	};
	v->state = VISITOR_BEGINS;
	return VISIT_SWITCH;
}

/* How long a worker rests after `count` other rests. */
static uint64_t backoff_ns(const struct idle *idle, uint32_t count)
{
	uint64_t ns = idle->first_ns;

	if (idle->is_linear)
		return count < idle->longest_ns / ns ? ns * (count + 1) :
						       idle->longest_ns;
	for (; count > 0 && ns < idle->longest_ns; count--)
		ns *= 2;
	return min_u64(ns, idle->longest_ns);
}

/* The next search begins. */
static void begin_search(struct visitor *v)
{
	v->miss_count = 0;
	v->rest_count = 0;
	v->in_vain = 0;
	v->is_due = false;
}

void visitor_woken(struct visitor *v)
{
	begin_search(v);
	v->was_woken = v->rest_ns > 0;
}

/* The worker was at `at` in vain: does it rest now, being blind? */
static bool rest_is_due(const struct visitor *v, uint64_t now_ns)
{
	const struct idle *idle = &v->group->schedule->idle;

	if (idle->kind == IDLE_WAKE)
		return v->in_vain ==
		       UINT32_MAX >> (STAGES_MAX - v->station_count);
	return v->miss_count > idle->patience_misses &&
	       now_ns - v->missing_since_ns >= idle->patience_ns;
}

/* A visit has ended. */
static void note_find(struct visitor *v, bool has_found, uint64_t now_ns)
{
	v->has_found = has_found;
	if (has_found) {
		begin_search(v);
		return;
	}
	if (v->miss_count++ == 0)
		v->missing_since_ns = now_ns;
	v->in_vain |= UINT32_C(1) << v->at;
	v->is_due = is_blind(v) && rest_is_due(v, now_ns);
}

/* Steal, or rest. */
static enum visit_step steal_or_rest(struct visitor *v)
{
	const struct idle *idle = &v->group->schedule->idle;
	struct visit_station *victim = find_victim(v);

	if (victim != NULL)
		return switch_to(v, victim, true, false);
	v->is_due = false;
	v->in_vain = 0;
	if (idle->kind == IDLE_WAKE)
		return VISIT_REST;
	v->rest_at =
		v->visit.station != NULL ? v->visit.station : v->stations[0];
	v->rest_ns = backoff_ns(idle, v->rest_count++);
	return VISIT_REST;
}

/* The station that a blind worker visits; POLICY_IDLE: it rests. */
static uint32_t pick_blindly(struct visitor *v)
{
	bool was_woken = v->was_woken;

	v->was_woken = false;
	if (v->is_due)
		return POLICY_IDLE;
	if (was_woken)
		return v->at;
	if (v->in_vain == 0 && v->group->schedule->idle.kind == IDLE_WAKE)
		v->round_epoch = v->access->epoch(v);
	return ask_policy(v);
}

/*
 * The visitor goes to smaller events of another part.  If it was woken for one
 * of its own part, another worker has to handle that.
 */
static void leave_to_others(const struct visitor *v)
{
	for (uint32_t i = 0; i < v->station_count; i++)
		if (open_count(v, i) > 0)
			v->access->wake(v->stations[i]);
}

RARE static enum visit_step pick(struct visitor *v)
{
	struct visit_station *smaller =
		steals_by_size(v->group->schedule) ? find_victim(v) : NULL;

	if (smaller != NULL && !is_held(v, smaller)) {
		leave_to_others(v);
		return switch_to(v, smaller, true, false);
	}
	uint32_t at = is_blind(v) ? pick_blindly(v) : ask_policy(v);

	if (at == POLICY_IDLE)
		return steal_or_rest(v);
	v->at = at;
	return switch_to(v, v->stations[at], false, false);
}

/* Set the limits of a visit that finds `waiting` events. */
static void set_regime(struct visit *visit, const struct regime *r,
		       uint32_t waiting, uint64_t now_ns)
{
	visit->start_ns = now_ns;
	visit->events_max = regime_is_gated(r) ? waiting : UINT32_MAX;
	visit->end_ns = UINT64_MAX;
	visit->cutoff_ns = UINT64_MAX;
	if (r->kind == REGIME_N_GATED && r->limit < visit->events_max)
		visit->events_max = (uint32_t)r->limit;
	if (r->kind == REGIME_TIME_GATED && r->limit < UINT64_MAX - now_ns)
		visit->end_ns = now_ns + r->limit;
	if (r->kind == REGIME_CUTOFF)
		visit->cutoff_ns = r->limit;
}

/*
 * A thief handles a share of another replica's queue: with n replicas, one nth;
 * by size, one event.  Events that the handlers send go on in the thief's
 * replica; with distribution by size, in the one they came from.  The share
 * stays in its queue until it is handled; Larus and Parkes move it to the
 * thief's queue.
 */
static uint32_t stolen_share(const struct visitor *v,
			     const struct visit_station *s)
{
	uint32_t share = waiting_count(v, s) / v->group->part_count;

	return share > 0 && !steals_by_size(v->group->schedule) ? share : 1;
}

/*
 * For thresholds of time: nobody is late where nothing waits, so after a quiet
 * hour a single event does not interrupt at once.
 */
RARE static void note_visit(const struct visitor *v, uint64_t now_ns)
{
	for (uint32_t i = 0; i < v->station_count; i++) {
		struct visit_station *s = v->stations[i];

		if (s == v->visit.station || open_count(v, i) == 0)
			atomic_store(&s->last_visit_ns, now_ns);
	}
}

/* False: the stage is exclusive, and another worker is in it. */
RARE static bool begin(struct visitor *v, uint64_t now_ns)
{
	static const struct regime until_empty = { .kind = REGIME_EXHAUSTIVE };
	const struct schedule *c = v->group->schedule;
	struct visit *visit = &v->visit;
	struct visit_station *s = visit->station;
	const struct regime *r =
		visit->is_interruption ? &until_empty : s->regime;
	uint32_t waiting = 0; /* not needed by every regime */

	if (s->is_exclusive && !v->access->enter(s))
		return false;
	if (s->even_below > 0 && !visit->is_theft)
		make_even(v, s);
	if (visit->is_theft)
		waiting = stolen_share(v, s);
	else if (regime_is_gated(r))
		waiting = waiting_count(v, s);
	set_regime(visit, r, waiting, now_ns);
	if (visit->is_theft && visit->events_max > waiting)
		visit->events_max = waiting;
	if (!visit->is_theft && s->stage == STAGE_NONE)
		visit->events_max = 1;
	if (s->stage != STAGE_NONE)
		turn_to(v, s->stage, now_ns);
	visit->passed_count = passed_count(v, s);
	visit->fresh_count =
		visit->cutoff_ns == UINT64_MAX ? UINT32_MAX : fresh_count(v, s);
	if (c->has_thresholds)
		note_visit(v, now_ns);
	return true;
}

static bool goes_on(const struct visitor *v, uint64_t now_ns)
{
	const struct visit *visit = &v->visit;

	if (visit->handled_count >= visit->events_max ||
	    now_ns >= visit->end_ns)
		return false;
	return !v->access->pops_take_time ||
	       (visit->fresh_count > 0 && fresh_count(v, visit->station) > 0) ||
	       (visit->passed_count > 0 && passed_count(v, visit->station) > 0);
}

uint32_t visit_paused_max(const struct schedule *s, uint32_t core_count)
{
	return schedule_has_pauses(s) ? core_count * PAUSED_PER_CORE : 0;
}

/* Would the visitor now prefer another event to the one that it is handling? */
static bool prefers_another(const struct visitor *v, uint64_t start_ns,
			    uint64_t now_ns)
{
	const struct visit *visit = &v->visit;
	uint64_t first = v->access->first_rank(visit->station);
	bool takes_one =
		visit->station->stage == STAGE_NONE && !visit->is_theft;
	struct event now;

	if (first == RANK_NONE)
		return false;
	if (!takes_one && (visit->fresh_count == 0 || !goes_on(v, now_ns)))
		return false;
	now = *v->event;
	event_has_run(&now, now_ns - start_ns);
	return first < discipline_rank(visit->station->discipline, &now,
				       event_peek(&now)->place);
}

/*
 * While an event runs, its rank falls, because less of its work is left, until
 * the predicted work is done.  Then it rises, which only the clock can tell.
 */
bool visitor_may_pause(struct visitor *v)
{
	uint64_t first;

	if (v->visit.cutoff_ns != UINT64_MAX)
		return true;
	if (v->group->schedule->slice_ns == 0)
		return false;
	first = v->access->first_rank(v->visit.station);
	return first < v->event_rank ||
	       (first != RANK_NONE && ++v->look_count % LOOKS == 0);
}

enum visit_pause visitor_should_pause(const struct visitor *v,
				      uint64_t start_ns, uint64_t now_ns)
{
	uint64_t slice_ns = v->group->schedule->slice_ns;
	uint64_t ran_ns = now_ns - start_ns;

	if (ran_ns >= v->visit.cutoff_ns)
		return PAUSE_AT_CUTOFF;
	return slice_ns > 0 && ran_ns >= slice_ns &&
			       prefers_another(v, start_ns, now_ns) ?
		       PAUSE_FOR_ANOTHER :
		       PAUSE_NONE;
}

/* Does the next event come from the queue, not from the visitor's stack? */
static bool needs_queue(const struct visitor *v)
{
	return v->visit.fresh_count == 0 ||
	       stacked_count(v, v->visit.station) == 0;
}

/*
 * Take an event that no cutoff has paused.  NULL: none is left, or, with a
 * cutoff, all that waited at the beginning of the visit were taken.
 */
static struct event *take_fresh(struct visitor *v)
{
	struct visit *visit = &v->visit;
	struct visit_station *s = visit->station;
	struct event *ev;

	if (visit->fresh_count == 0)
		return NULL;
	if (stacked_count(v, s) == 0) {
		ev = v->access->pop(s);
	} else {
		struct event_stack *from = &v->stacks[s->stage];

		ev = from->first;
		from->first = event_inside(ev)->next;
		from->count--;
	}
	if (ev != NULL && visit->fresh_count != UINT32_MAX)
		visit->fresh_count--;
	return ev;
}

RARE static struct event *take_passed(struct visitor *v)
{
	v->visit.passed_count--;
	return v->access->pop_passed(v->visit.station);
}

/* True: a stage with waiting events is over its threshold. */
static bool threshold_is_exceeded(const struct threshold *t,
				  uint32_t queued_count, uint64_t last_visit_ns,
				  uint64_t now_ns)
{
	bool is_long = t->queued_count > 0 && queued_count > t->queued_count;
	/* Another worker may have been there since the clock was read. */
	bool is_late = t->unvisited_ns > 0 && now_ns > last_visit_ns &&
		       now_ns - last_visit_ns > t->unvisited_ns;

	return queued_count > 0 && (is_long || is_late);
}

/* The first other station that is over its threshold.  NULL: there is none. */
RARE static struct visit_station *find_interruption(const struct visitor *v,
						    uint64_t now_ns)
{
	const struct schedule *c = v->group->schedule;

	if (v->visit.is_interruption)
		return NULL;
	for (uint32_t i = 0; i < v->station_count; i++) {
		struct visit_station *s = v->stations[i];

		if (s != v->visit.station && !is_held(v, s) &&
		    threshold_is_exceeded(
			    &c->thresholds[s->stage], open_count(v, i),
			    atomic_load(&s->last_visit_ns), now_ns))
			return s;
	}
	return NULL;
}

/* Measure the rates of each stage, at most once in MEASURE_INTERVAL_NS. */
static void measure_rates(struct visitor *v, uint64_t now_ns)
{
	if (!v->group->schedule->policy->reads_rates ||
	    now_ns - v->measured_ns < MEASURE_INTERVAL_NS)
		return;
	v->measured_ns = now_ns;
	v->measured_count++;
	for (uint32_t i = 0; i < v->station_count; i++) {
		struct measure_totals totals = { 0 };

		if (v->stations[i]->stage == STAGE_NONE)
			continue;
		uint32_t workers =
			v->access->read_totals(v, v->stations[i], &totals);

		measure_update(&v->measures[i], &totals, now_ns, workers,
			       &v->views[i]);
	}
}

RARE static enum visit_step end(struct visitor *v, uint64_t now_ns)
{
	struct visit *visit = &v->visit;

	if (v->group->schedule->has_thresholds)
		atomic_store(&visit->station->last_visit_ns, now_ns);
	v->visited_ns = now_ns;
	if (visit->station->is_exclusive)
		v->access->leave(visit->station);
	if (!visit->is_interruption) {
		note_find(v, visit->handled_count > 0, now_ns);
		measure_rates(v, now_ns);
	}
	v->state = visit->is_interruption ? VISITOR_RESUMES : VISITOR_PICKS;
	return VISIT_OVER;
}

/* NULL: the visit is over. */
static struct event *take_event(struct visitor *v)
{
	struct visit *visit = &v->visit;
	struct event *ev = take_fresh(v);

	return ev == NULL && visit->passed_count > 0 ? take_passed(v) : ev;
}

/* The event that was taken is handled next. */
static enum visit_step handle(struct visitor *v)
{
	struct visit *visit = &v->visit;

	if (visit->station->stage == STAGE_NONE) {
		uint32_t stage = v->access->stage_of(v->event);

		if (visit->handled_count > 0 && visit->stage != stage) {
			v->state = VISITOR_SPLITS;
			return VISIT_SPLIT;
		}
		visit->stage = stage;
		turn_to(v, stage, visit->start_ns);
	}
	visit->handled_count++;
	v->event_rank = discipline_rank(visit->station->discipline, v->event,
					event_peek(v->event)->place);
	v->state = VISITOR_HAS_HANDLED;
	return VISIT_HANDLE;
}

/* The rest of the visit is counted as another one, which begins now. */
RARE static void split(struct visitor *v, uint64_t now_ns)
{
	struct visit *visit = &v->visit;

	v->visited_ns = now_ns;
	visit->start_ns = now_ns;
	visit->events_max -= visit->handled_count;
	visit->handled_count = 0;
}

RARE static enum visit_step interrupt(struct visitor *v,
				      struct visit_station *by, uint64_t now_ns)
{
	v->interrupted = v->visit;
	v->visited_ns = now_ns;
	return switch_to(v, by, false, true);
}

RARE static void resume(struct visitor *v, uint64_t now_ns)
{
	v->visit = v->interrupted;
	turn_to(v, v->visit.stage, now_ns);
	if (v->group->schedule->has_enough)
		end_if_held(v);
}

/* Called between two events of a visit. */
static enum visit_step next_event(struct visitor *v, uint64_t now_ns)
{
	if (v->state == VISITOR_TAKES) {
		if (!goes_on(v, now_ns))
			return end(v, now_ns);
		if (v->access->pops_take_time && needs_queue(v)) {
			v->state = VISITOR_POPS;
			return VISIT_POP;
		}
	}
	v->state = VISITOR_TAKES;
	v->event = take_event(v);
	return v->event != NULL ? handle(v) : end(v, now_ns);
}

enum visit_step visitor_step(struct visitor *v, uint64_t now_ns)
{
	struct visit_station *by;

	for (;;)
		switch (v->state) {
		case VISITOR_HAS_HANDLED:
			if (v->group->schedule->has_enough)
				end_if_held(v);
			by = v->group->schedule->has_thresholds ?
				     find_interruption(v, now_ns) :
				     NULL;
			if (by != NULL)
				return interrupt(v, by, now_ns);
			v->state = VISITOR_TAKES;
			/* fallthrough */
		case VISITOR_TAKES:
		case VISITOR_POPS:
			return next_event(v, now_ns);
		case VISITOR_SPLITS:
			split(v, now_ns);
			return handle(v);
		case VISITOR_PICKS:
			return pick(v);
		case VISITOR_BEGINS:
			v->state = begin(v, now_ns)         ? VISITOR_TAKES :
				   v->visit.is_interruption ? VISITOR_RESUMES :
							      VISITOR_PICKS;
			if (v->state == VISITOR_PICKS)
				note_find(v, false, now_ns);
			break;
		case VISITOR_RESUMES:
			resume(v, now_ns);
			v->state = VISITOR_TAKES;
			break;
		}
}

void visit_station_init(struct visit_station *s, const struct schedule *c,
			uint32_t stage, uint32_t part)
{
	s->stage = stage;
	s->part = part;
	s->regime = &c->regime;
	s->discipline = &c->discipline;
	if (stage == STAGE_NONE)
		return;
	s->regime = schedule_regime(c, stage);
	s->discipline = schedule_discipline(c, stage);
}

void visitor_init(struct visitor *v)
{
	v->state = VISITOR_PICKS;
	v->visited = STAGE_NONE;
	v->has_found = true;
	for (uint32_t i = 0; i < v->station_count; i++)
		v->views[i].is_gated = regime_is_gated(v->stations[i]->regime);
}
