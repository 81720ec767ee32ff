/* SPDX-License-Identifier: MIT */
/*
 * Events: where they are sent, how they are handled, what is counted of both.
 */
#include "stages/group.h"

#include "stages/queue.h"

#include "base/clock.h"

#include <assert.h>

/* What the calling thread handles now; asked by stage_send(). */
struct handling {
	struct group *group;       /* NULL: nothing */
	struct worker *worker;     /* NULL: a caller */
	const struct stage *stage; /* whose handler runs */
	uint32_t part;
	struct event *first, **end; /* sent while a caller runs handlers */
};

static _Thread_local struct handling handling;

void stage_handle_here(struct group *g, struct worker *w, uint32_t part)
{
	handling = (struct handling){ .group = g, .worker = w, .part = part };
}

static struct tally *tally_of(const struct stage *s)
{
	return handling.group == s->group && handling.worker != NULL ?
		       &handling.worker->tallies[s->index] :
		       &s->group->tallies_outside[s->index];
}

/* Signed: a start may be counted before its arrival.  See stage_read_part(). */
static void count_queued(const struct stage *s, uint32_t part, int64_t n)
{
	struct group *g = s->group;

	if (g->part_count > 1)
		tally_add(&g->parts[part].queued_counts[s->index], (uint64_t)n);
}

static void count_under_way(struct group *g, uint32_t part, int64_t n)
{
	(void)atomic_fetch_add(&g->visits.parts[part].under_way_count,
			       (uint64_t)n);
}

uint64_t stage_handle(const struct station *from, struct event *ev, uint64_t ns)
{
	const struct stage *s = ev->stage;
	struct group *g = s->group;
	struct tally *t = tally_of(s);
	uint64_t start_ns = ns > ev->sent_ns ? ns : ev->sent_ns;
	uint64_t wait_ns = start_ns - ev->sent_ns;
	struct span span = { .number = ev->number, .kind = SPAN_EVENT };

	ev->stage = NULL;
	ev->waited_ns += wait_ns;
	count_queued(s, from->visited.part, -1);
	tally_add(&t->started_count, 1);
	tally_add(&t->wait_ns, wait_ns);
	tally_max(&t->wait_ns_max, wait_ns);
	histogram_add(&t->waits, wait_ns);
	handling.stage = s;
	s->config.handler(ev, s->config.arg);
	handling.stage = NULL;

	uint64_t end_ns = clock_now_ns();
	uint64_t service_ns = end_ns - start_ns;

	tally_add(&t->handled_count, 1);
	tally_add(&t->service_ns, service_ns);
	tally_max(&t->service_ns_max, service_ns);
	histogram_add(&t->services, service_ns);
	histogram_add(&t->totals, wait_ns + service_ns);
	if (handling.worker != NULL) {
		span.start_ns = start_ns;
		span.end_ns = end_ns;
		span.stage = s->index;
		trace_add(&handling.worker->trace, &span);
	}
	if (g->schedule.distribute == DISTRIBUTE_LEAST_LOADED)
		count_under_way(g, from->visited.part, -1);
	group_leave(g);
	return end_ns;
}

/* Orders around `pending` and `is_stopping`: all sequentially consistent. */
static bool group_enter(struct group *g, bool from_inside)
{
	if (!from_inside && atomic_load(&g->is_stopping))
		return false;
	atomic_fetch_add(&g->pending, 1);
	if (from_inside || !atomic_load(&g->is_stopping))
		return true;
	group_leave(g);
	return false;
}

/* The station among those of a stage partitioned by key. */
static uint32_t lane_of(const struct stage *s, const struct event *ev)
{
	return s->lane_count > 1 ? ev->key % s->lane_count : 0;
}

/* With nobody else to do it, the caller waits for its turn. */
static void enter_and_wait(struct station *s)
{
	while (!station_enter(s)) {
		uint32_t ticket = eventcount_prepare(&s->entry->left);

		if (atomic_load(&s->entry->is_taken))
			(void)eventcount_wait(&s->entry->left, ticket,
					      EVENTCOUNT_ANY, 0);
		else
			eventcount_cancel(&s->entry->left);
	}
}

/* Run `ev`, then what its handlers send, until nothing is left. */
static void run_in_caller(struct group *g, struct event *ev)
{
	struct handling outer = handling;
	uint64_t ns = ev->sent_ns;

	handling = (struct handling){ .group = g };
	handling.end = &handling.first;
	while (ev != NULL) {
		struct station *s = ev->stage->stations[lane_of(ev->stage, ev)];

		tally_add(&tally_of(ev->stage)->visit_count, 1);
		histogram_add(&tally_of(ev->stage)->cohorts, 1);
		/* It waited for its own thread, not in a queue. */
		ev->sent_ns = ns;
		enter_and_wait(s);
		ns = stage_handle(s, ev, ns);
		station_leave(s);
		ev = handling.first;
		if (ev != NULL)
			handling.first = ev->next;
		if (handling.first == NULL)
			handling.end = &handling.first;
	}
	handling = outer;
}

static void hand_to_caller(struct group *g, struct event *ev, bool is_inside)
{
	if (!is_inside) {
		run_in_caller(g, ev);
		return;
	}
	ev->next = NULL;
	*handling.end = ev;
	handling.end = &ev->next;
}

/* The part that an event for `s` goes to. */
static uint32_t choose_part(struct stage *s, bool is_inside)
{
	struct group *g = s->group;

	if (g->part_count == 1)
		return 0;
	if (g->schedule.balance == BALANCE_PARTITION)
		return stage_part(s);
	if (is_inside)
		return handling.part;
	return visit_choose_part(&g->visits);
}

/* The `queued_count`th of those that wait where it was sent. */
static void count_arrived(const struct stage *s, uint32_t part,
			  uint32_t queued_count)
{
	struct tally *t = tally_of(s);

	if (handling.group == s->group && handling.stage != NULL)
		tally_add(&tally_of(handling.stage)->sent_counts[s->index], 1);
	tally_add(&t->arrived_count, 1);
	tally_add(&t->queued_count_total, queued_count);
	tally_max(&t->queued_count_max, queued_count);
	count_queued(s, part, 1);
}

/*
 * Per-core stacks: a worker keeps what it sends to a stage that it visits
 * itself, if any worker may handle the events of that stage.  It is awake, so
 * no other is woken.  False: the event goes to the queue.
 */
static bool push_on_stack(const struct station *to, struct event *ev,
			  bool is_inside)
{
	struct worker *w = handling.worker;
	const struct stage *s = ev->stage;

	if (!is_inside || w == NULL || s->config.type != STAGE_SHARED)
		return false;
	uint32_t count =
		visitor_keep(&w->visitor, &to->visited, ev, s->config.slots);

	if (count > 0)
		count_arrived(s, to->visited.part, count);
	return count > 0;
}

/* False: the queue is full. */
static bool push(struct station *to, struct event *ev, bool is_inside)
{
	const struct stage *s = ev->stage;
	uint64_t sent_ns = ev->sent_ns;

	if (push_on_stack(to, ev, is_inside))
		return true;
	if (!queue_push(to->queue, ev))
		return false;
	/*
	 * From here on it may be gone.  Counted first, as whoever wakes may
	 * take this core, and would leave before it had arrived.
	 */
	uint32_t queued_count = station_waiting_count(to);

	count_arrived(s, to->visited.part, queued_count);
	station_wake(to);
	if (to->pool.is_auto)
		pool_grow(&to->pool, queued_count, sent_ns);
	return true;
}

bool stage_send(struct stage *s, struct event *ev)
{
	struct group *g = s->group;
	bool is_inside = handling.group == g;

	assert(g->is_started);
	assert(ev->stage == NULL); /* sent twice */
	if (!group_enter(g, is_inside)) {
		tally_add(&tally_of(s)->refused_count, 1);
		return false;
	}
	ev->stage = s;
	ev->sent_ns = clock_now_ns();
	if (!is_inside)
		ev->born_ns = ev->sent_ns;
	if (g->schedule.policy->workers == POLICY_WORKERS_CALLER) {
		count_arrived(s, 0, 0);
		hand_to_caller(g, ev, is_inside);
		return true;
	}
	uint32_t part = choose_part(s, is_inside);
	struct station *to = s->stations[part * s->lane_count + lane_of(s, ev)];

	if (g->schedule.distribute == DISTRIBUTE_LEAST_LOADED)
		count_under_way(g, part, 1);
	if (push(to, ev, is_inside))
		return true;
	if (g->schedule.distribute == DISTRIBUTE_LEAST_LOADED)
		count_under_way(g, part, -1);
	ev->stage = NULL;
	group_leave(g);
	tally_add(&tally_of(s)->refused_count, 1);
	return false;
}
