/* SPDX-License-Identifier: MIT */
/*
 * Workers: the thread that makes the visits visit.c decides on, and sleeps when
 * there are none.
 *
 * A worker that finds nothing sleeps at once, while those of the papers look
 * again for exponentially longer times: a send wakes it within some 7 us
 * (stages_bench --wake), and looking takes the core from the senders.
 *
 * Exclusive stages.  A worker that finds one taken passes by, and may go to
 * sleep while events wait there.  It leaves a note: it sets `is_missed` first
 * and looks at `is_taken` again second; the worker that leaves the stage clears
 * `is_taken` first and looks at `is_missed` second, and wakes a worker if it is
 * set.  All four are sequentially consistent, so one of the two sees the other.
 *
 * Pools of changing size: SEDA's thread pool controller, without a thread of
 * its own.  A sender that finds a long queue adds a thread; a thread that was
 * idle for long leaves, the newest first.  All threads exist from the start;
 * those not in use are parked and cost nothing.  After Welsh, Culler and
 * Brewer, SOSP 2001, section 3.4, as in Gordon, UCAM-CL-TR-781, section 2.4.1:
 * the controllers of the stages do not know each other, and may well oscillate.
 * Their queue of 100 events is shorter here, as events take milliseconds.
 */
#include "stages/group.h"

#include "base/clock.h"
#include "stages/cores.h"
#include "stages/queue.h"

enum {
	POOL_LENGTH = 4,                  /* of a queue that asks for more */
	POOL_GROW_INTERVAL_NS = 20000000, /* at most one thread in that time */
};

static uint32_t passed_count(const struct visit_station *s)
{
	const struct queue *passed = station_of(s)->passed;

	return passed != NULL ? queue_count(passed) : 0;
}

static uint32_t queued_count(const struct visit_station *s)
{
	return queue_count(station_of(s)->queue);
}

uint32_t station_waiting_count(const struct station *s)
{
	return queued_count(&s->visited) + passed_count(&s->visited);
}

static struct event *pop_queued(struct visit_station *s)
{
	return queue_pop(station_of(s)->queue);
}

static struct event *pop_passed(struct visit_station *s)
{
	return queue_pop(station_of(s)->passed);
}

static bool pass_over(struct visit_station *s, struct event *ev)
{
	return queue_push(station_of(s)->passed, ev);
}

/* See 'Exclusive stages'. */
static bool is_open(const struct visit_station *s)
{
	struct entry *e = station_of(s)->entry;

	if (e == NULL || !atomic_load(&e->is_taken))
		return true;
	atomic_store(&e->is_missed, true);
	return !atomic_load(&e->is_taken);
}

bool station_enter(struct station *s)
{
	return s->entry == NULL || !atomic_exchange(&s->entry->is_taken, true);
}

static bool enter(struct visit_station *s)
{
	return station_enter(station_of(s));
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

static void leave(struct visit_station *s)
{
	station_leave(station_of(s));
}

void pool_grow(struct pool *p, uint32_t queued, uint64_t now_ns)
{
	uint64_t grown_ns = atomic_load(&p->grown_ns);
	uint32_t active = atomic_load(&p->active_count);

	if (queued <= POOL_LENGTH || active == p->thread_count ||
	    now_ns < grown_ns + POOL_GROW_INTERVAL_NS)
		return;
	/* One sender does it, unless a thread just left. */
	if (atomic_compare_exchange_strong(&p->grown_ns, &grown_ns, now_ns) &&
	    atomic_compare_exchange_strong(&p->active_count, &active,
					   active + 1))
		eventcount_wake_all(&p->parked, EVENTCOUNT_ANY);
}

static uint32_t stage_of(const struct event *ev)
{
	return ev->stage->index;
}

static bool may_hold(const struct visitor *v, uint32_t part, uint32_t count)
{
	(void)v;
	(void)part;
	(void)count;
	return true; /* no total is kept of a part's queues */
}

/* The hardware's counts since the last call belong to stage `from`. */
static void count_hardware(struct worker *w, uint32_t from)
{
	uint64_t totals[PERF_COUNTERS];

	if (!perf_read(&w->perf, totals)) {
		atomic_store(&w->counts_hardware, false);
		return;
	}
	for (uint32_t i = 0; i < PERF_COUNTERS; i++) {
		if (from != STAGE_NONE)
			tally_add(&w->tallies[from].hardware[i],
				  totals[i] - w->perf_totals[i]);
		w->perf_totals[i] = totals[i];
	}
}

static void turn(struct visitor *v, uint32_t from, uint32_t to, uint64_t gap_ns)
{
	struct worker *w = container_of(v, struct worker, visitor);

	if (atomic_load(&w->counts_hardware))
		count_hardware(w, from);
	if (from == STAGE_NONE || to == STAGE_NONE)
		return;
	tally_add(&w->tallies[to].switch_count, 1);
	tally_add(&w->tallies[to].switch_ns, gap_ns);
}

static uint32_t read_totals(const struct visitor *v,
			    const struct visit_station *s,
			    struct measure_totals *out)
{
	const struct stage *stage = station_of(s)->stage;
	const struct group *g = stage->group;

	(void)v;
	*out = stage_totals(stage);
	return g->schedule.balance == BALANCE_PARTITION ?
		       g->parts[atomic_load(&stage->part)].core_count :
		       g->worker_count;
}

const struct visit_access worker_access = {
	.queued_count = queued_count,
	.passed_count = passed_count,
	.pop = pop_queued,
	.pop_passed = pop_passed,
	.pass_over = pass_over,
	.is_open = is_open,
	.enter = enter,
	.leave = leave,
	.stage_of = stage_of,
	.may_hold = may_hold,
	.turn = turn,
	.read_totals = read_totals,
};

/* The visit has ended at `end_ns`. */
static void count_visit(struct worker *w, uint64_t end_ns)
{
	const struct visit *v = &w->visitor.visit;

	if (v->is_theft)
		tally_add(&w->stolen_count, v->handled_count);
	if (v->stage == STAGE_NONE)
		return;
	struct tally *t = &w->tallies[v->stage];

	tally_add(&t->visit_count, 1);
	if (v->handled_count == 0)
		tally_add(&t->visit_empty_count, 1);
	else
		histogram_add(&t->cohorts, v->handled_count);
	trace_add(&w->trace, &(struct span){
				     .start_ns = v->start_ns,
				     .end_ns = end_ns,
				     .number = v->handled_count,
				     .stage = v->stage,
				     .kind = SPAN_VISIT,
			     });
}

bool worker_visit(struct worker *w)
{
	struct visitor *v = &w->visitor;
	uint64_t now_ns = 0;

	for (;;)
		switch (visitor_step(v, now_ns)) {
		case VISIT_SWITCH:
			if (!v->visit.is_interruption)
				now_ns = clock_now_ns();
			break;
		case VISIT_POP:
			break;
		case VISIT_HANDLE:
			now_ns = stage_handle(station_of(v->visit.station),
					      v->event, now_ns);
			break;
		case VISIT_OVER:
			count_visit(w, now_ns);
			if (!v->visit.is_interruption)
				return true;
			break;
		case VISIT_REST:
			return false;
		}
}

static struct pool *pool_of(const struct worker *w)
{
	return &station_of(w->visitor.stations[0])->pool;
}

/* As eventcount_wait(), and traced. */
static bool sleep_traced(struct worker *w, struct eventcount *ec,
			 uint32_t ticket, uint32_t who, uint64_t patience_ns)
{
	if (!COUNTING_IS_ON)
		return eventcount_wait(ec, ticket, who, patience_ns);

	uint64_t start_ns = clock_now_ns(), end_ns;

	atomic_store_explicit(&w->asleep_since_ns, start_ns,
			      memory_order_relaxed);
	tally_add(&w->asleep_ns, -start_ns);

	bool was_woken = eventcount_wait(ec, ticket, who, patience_ns);

	end_ns = clock_now_ns();
	tally_add(&w->asleep_ns, end_ns);
	/* Pair A of tally.c: a reader of this sleep sees its end. */
	atomic_store_explicit(&w->asleep_since_ns, 0, memory_order_relaxed);
	trace_add(&w->trace, &(struct span){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = SPAN_SLEEP,
			     });
	return was_woken;
}

/* Leave the pool, unless a newer thread has to leave first. */
static void pool_shrink(struct pool *p, uint32_t number)
{
	uint32_t last = number + 1;

	if (number > 0)
		(void)atomic_compare_exchange_strong(&p->active_count, &last,
						     number);
}

/* Until there may be work.  False: the group is drained. */
static bool sleep_for_work(struct worker *w)
{
	struct pool *p = pool_of(w);
	uint32_t ticket = eventcount_prepare(w->sleeps);

	if (visitor_has_work(&w->visitor) || group_is_drained(w->group)) {
		eventcount_cancel(w->sleeps);
		return !group_is_drained(w->group);
	}
	visitor_rest(&w->visitor);
	tally_add(&w->sleep_count, 1);
	if (!sleep_traced(w, w->sleeps, ticket, w->who,
			  p->is_auto && w->number > 0 ? POOL_PATIENCE_NS : 0))
		pool_shrink(p, w->number);
	return true;
}

static bool is_parked(const struct worker *w)
{
	const struct pool *p = pool_of(w);

	return p->thread_count > 0 &&
	       w->number >= atomic_load(&p->active_count);
}

/* Until the pool may need this thread.  False: the group is drained. */
static bool sleep_parked(struct worker *w)
{
	struct pool *p = pool_of(w);
	uint32_t ticket = eventcount_prepare(&p->parked);

	if (!is_parked(w) || group_is_drained(w->group))
		eventcount_cancel(&p->parked);
	else
		(void)sleep_traced(w, &p->parked, ticket, EVENTCOUNT_ANY, 0);
	return !group_is_drained(w->group);
}

uint64_t worker_cpu_ns(struct worker *w)
{
	struct timespec t;

	/* A thread that has just ended has no clock any more. */
	if (atomic_load(&w->has_cpu_clock) &&
	    clock_gettime(atomic_load(&w->cpu_clock), &t) == 0)
		tally_max(&w->cpu_told_ns,
			  (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec);
	return tally_read(&w->cpu_told_ns);
}

/* For readers in other threads. */
static void open_cpu_clock(struct worker *w)
{
	clockid_t clock;

	if (pthread_getcpuclockid(pthread_self(), &clock) != 0)
		return;
	atomic_store(&w->cpu_clock, clock);
	atomic_store(&w->has_cpu_clock, true);
}

/* The number of this clock may soon be that of another thread's. */
static void close_cpu_clock(struct worker *w)
{
	(void)worker_cpu_ns(w);
	atomic_store(&w->has_cpu_clock, false);
}

void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct group *g = w->group;

	(void)pthread_setname_np(pthread_self(), w->name);
	/* Refused (a container may): it runs all the same, unpinned. */
	(void)cores_bind(g->cores, w->core_first, w->core_count);
	stage_handle_here(g, w, w->visitor.part);
	perf_init(&w->perf);
	if (g->counts_hardware)
		atomic_store(&w->counts_hardware, perf_open(&w->perf));
	open_cpu_clock(w);
	for (bool goes_on = true; goes_on;) {
		if (is_parked(w))
			goes_on = sleep_parked(w);
		else if (!worker_visit(w))
			goes_on = sleep_for_work(w);
	}
	perf_close(&w->perf);
	close_cpu_clock(w);
	return NULL;
}
