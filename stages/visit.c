/* SPDX-License-Identifier: MIT */
/*
 * Visits: enter a station, handle events as long as the regime says, leave;
 * interrupted by other stages' thresholds.
 *
 * Exclusive stages.  A worker that finds one taken passes by, and may go to
 * sleep while events wait there.  It leaves a note: it sets `is_missed` first
 * and looks at `is_taken` again second; who leaves the stage clears `is_taken`
 * first and looks at `is_missed` second, and wakes a worker if it is set.  All
 * four are sequentially consistent, so one of the two sees the other.
 */
#include "stages/group.h"

#include "stages/queue.h"

uint32_t station_waiting_count(const struct station *s)
{
	return queue_count(s->queue) +
	       (s->passed != NULL ? queue_count(s->passed) : 0);
}

bool station_enter(struct station *s)
{
	return s->entry == NULL || !atomic_exchange(&s->entry->is_taken, true);
}

void station_wake(struct station *s)
{
	if (s->wakes == NULL)
		return;
	if (s->wakes_all)
		eventcount_wake_all(s->wakes, s->wakes_who);
	else
		eventcount_wake_one(s->wakes, s->wakes_who);
}

void station_leave(struct station *s)
{
	if (s->entry == NULL)
		return;
	atomic_store(&s->entry->is_taken, false);
	bool is_missed = atomic_exchange(&s->entry->is_missed, false);

	eventcount_wake_one(&s->entry->left, EVENTCOUNT_ANY);
	/* In a partitioned graph the stage may wait in several parts. */
	for (uint32_t i = 0; i < s->stage->group->part_count; i++) {
		struct station *other =
			s->stage->stations[i * s->stage->lane_count];

		if (other->entry == s->entry && other->queue != NULL &&
		    (is_missed || station_waiting_count(other) > 0))
			station_wake(other);
	}
}

/* On the worker's own stack; a thief's is of its own part. */
static uint32_t stacked_count(const struct worker *w, const struct station *s)
{
	return s->stage != NULL && s->part == w->part ?
		       w->stacks[s->stage->index].count :
		       0;
}

static uint32_t waiting_count(const struct worker *w, uint32_t at)
{
	const struct station *s = w->stations[at];

	return station_waiting_count(s) + stacked_count(w, s);
}

uint32_t worker_open_count(const struct worker *w, uint32_t at)
{
	struct entry *e = w->stations[at]->entry;
	uint32_t count = waiting_count(w, at);

	if (e == NULL || count == 0 || !atomic_load(&e->is_taken))
		return count;
	atomic_store(&e->is_missed, true);
	return atomic_load(&e->is_taken) ? 0 : count;
}

/* A visit under way, and where its events come from. */
struct turn {
	struct visit visit;
	struct station *station;
	uint32_t at; /* the station's place among the worker's */
	/* With a cutoff: those that waited at the beginning. */
	uint32_t fresh_count;
	uint32_t passed_count; /* over by earlier visits; they come last */
};

static struct turn turn_begin(const struct worker *w, struct station *s,
			      struct visit v)
{
	struct turn t = { .visit = v, .station = s, .fresh_count = UINT32_MAX };

	if (s->passed == NULL)
		return t;
	t.passed_count = queue_count(s->passed);
	if (v.cutoff_ns < UINT64_MAX)
		t.fresh_count = queue_count(s->queue) + stacked_count(w, s);
	return t;
}

static struct event *take_fresh(struct worker *w, struct station *s)
{
	if (stacked_count(w, s) == 0)
		return queue_pop(s->queue);
	struct stack *from = &w->stacks[s->stage->index];
	struct event *ev = from->newest;

	from->newest = ev->next;
	from->count--;
	return ev;
}

/* The next event of the visit; NULL: it is over. */
static struct event *take(struct worker *w, struct turn *t)
{
	struct station *s = t->station;
	struct event *ev;

	while (t->fresh_count > 0 && (ev = take_fresh(w, s)) != NULL) {
		t->fresh_count -= t->fresh_count != UINT32_MAX;
		if (ev->left_ns <= t->visit.cutoff_ns ||
		    !queue_push(s->passed, ev))
			return ev;
	}
	if (t->passed_count == 0)
		return NULL;
	t->passed_count--;
	return queue_pop(s->passed);
}

/* The hardware's counts since the last call are of the stage visited. */
static void count_hardware(struct worker *w)
{
	uint64_t totals[PERF_COUNTERS];

	if (!perf_read(&w->perf, totals)) {
		atomic_store(&w->counts_hardware, false);
		return;
	}
	for (uint32_t i = 0; i < PERF_COUNTERS; i++) {
		if (w->visited != NULL)
			tally_add(&w->tallies[w->visited->index].hardware[i],
				  totals[i] - w->perf_totals[i]);
		w->perf_totals[i] = totals[i];
	}
}

/* From now on the worker's time is for stage `next`; NULL: for none. */
static void turn_to(struct worker *w, const struct stage *next, uint64_t now_ns)
{
	if (w->visited == next)
		return;
	if (atomic_load(&w->counts_hardware))
		count_hardware(w);
	if (w->visited != NULL && next != NULL) {
		tally_add(&w->tallies[next->index].switch_count, 1);
		tally_add(&w->tallies[next->index].switch_ns,
			  now_ns - w->visited_ns);
	}
	w->visited = next;
}

/* What began at `start_ns` is over; `s` is the stage of its events. */
static void count_visit(struct worker *w, const struct stage *s,
			uint32_t handled_count, uint64_t start_ns,
			uint64_t end_ns)
{
	struct tally *t = &w->tallies[s->index];

	w->visited_ns = end_ns;
	tally_add(&t->visit_count, 1);
	if (handled_count == 0)
		tally_add(&t->visit_empty_count, 1);
	else
		histogram_add(&t->cohorts, handled_count);
	trace_add(&w->trace, &(struct span){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .number = handled_count,
				     .stage = s->index,
				     .kind = SPAN_VISIT,
			     });
}

static uint64_t visit(struct worker *w, uint32_t at, const struct regime *r,
		      uint64_t start_ns, bool is_interruption);

/* Serve the first other stage that is over its threshold, if there is one. */
static uint64_t interrupt(struct worker *w, uint32_t at, uint64_t now_ns)
{
	static const struct regime until_empty = { .kind = REGIME_EXHAUSTIVE };
	const struct stage *from = w->visited;

	for (uint32_t i = 0; i < w->station_count; i++) {
		struct station *s = w->stations[i];

		if (i == at ||
		    !threshold_is_exceeded(
			    &w->group->schedule.thresholds[s->stage->index],
			    worker_open_count(w, i),
			    atomic_load(&s->last_visit_ns), now_ns))
			continue;
		w->visited_ns = now_ns;
		now_ns = visit(w, i, &until_empty, now_ns, true);
		turn_to(w, from, now_ns);
		return now_ns;
	}
	return now_ns;
}

/* Handle the events of one turn; returns the time at its end. */
static uint64_t serve(struct worker *w, struct turn *t, uint64_t start_ns,
		      bool may_be_interrupted)
{
	const struct stage *stage =
		t->station->stage; /* central: the event's */
	uint64_t now_ns = start_ns;
	struct event *ev;

	if (stage != NULL)
		turn_to(w, stage, start_ns);
	while (visit_goes_on(&t->visit, now_ns) && (ev = take(w, t)) != NULL) {
		stage = ev->stage;
		turn_to(w, stage, start_ns);
		now_ns = stage_handle(t->station, ev, now_ns);
		t->visit.handled_count++;
		if (may_be_interrupted)
			now_ns = interrupt(w, t->at, now_ns);
	}
	if (stage != NULL)
		count_visit(w, stage, t->visit.handled_count, start_ns, now_ns);
	return now_ns;
}

static uint64_t visit(struct worker *w, uint32_t at, const struct regime *r,
		      uint64_t start_ns, bool is_interruption)
{
	struct station *s = w->stations[at];
	bool has_thresholds = w->group->schedule.has_thresholds;

	if (!station_enter(s))
		return start_ns;
	struct turn turn = turn_begin(
		w, s, visit_begin(r, waiting_count(w, at), start_ns));

	turn.at = at;
	if (s->stage == NULL)
		turn.visit.events_max = 1;
	if (has_thresholds)
		atomic_store(&s->last_visit_ns, start_ns);
	uint64_t end_ns =
		serve(w, &turn, start_ns, has_thresholds && !is_interruption);

	if (has_thresholds)
		atomic_store(&s->last_visit_ns, end_ns);
	station_leave(s);
	return end_ns;
}

uint64_t worker_visit(struct worker *w, uint32_t at)
{
	return visit(w, at, &w->group->schedule.regime, group_now_ns(), false);
}

uint32_t worker_visit_elsewhere(struct worker *w, struct station *from,
				uint32_t events_max)
{
	uint64_t start_ns = group_now_ns();
	struct visit v =
		visit_begin(&w->group->schedule.regime, events_max, start_ns);

	if (v.events_max > events_max)
		v.events_max = events_max;
	struct turn turn = turn_begin(w, from, v);

	(void)serve(w, &turn, start_ns, false);
	return turn.visit.handled_count;
}

void worker_rests(struct worker *w)
{
	turn_to(w, NULL, 0);
}
