/* SPDX-License-Identifier: MIT */
/*
 * Workers: how an event is sent and handled, and the threads that visit
 * stations and sleep when there is nothing to do.
 *
 * visit.c decides what a worker does next; this file does it.  A sender counts
 * the event as pending, queues it, and wakes a worker.  Without workers (thread
 * per connection, servlib) the sender runs the handlers itself.  A worker with
 * a scheduler makes no visits: each event of its part is a user-level thread,
 * which calls the handlers of its stages, one after the other.
 *
 * Sleeping.  A worker that finds nothing sleeps until a send wakes it: in the
 * median 28 to 49 us pass until the handler starts (docs/results/stages).  In
 * the papers it looks again and again, each time after a longer pause: --idle
 * backoff.  A worker that sees the queues looks at them once more before it
 * sleeps; a blind one has visited them all since it read the eventcount
 * (eventcount_epoch()).
 *
 * Exclusive stages.  A worker that finds such a stage taken goes on to others,
 * and may go to sleep while events wait there.  So it leaves a note: it sets
 * `is_missed` first and looks at `is_taken` again second.  The worker that
 * leaves the stage clears `is_taken` first and looks at `is_missed` second, and
 * wakes a worker if it is set.  All four operations are sequentially
 * consistent, so at least one of the two workers sees what the other did.
 *
 * A blind worker tries to enter, knows of no event, and leaves no note.  The
 * worker that leaves wakes one if events wait.  Each of them exchanges
 * `is_taken`: if the first one failed, then what it could see, the second one
 * sees, too, when it looks at the queues after that.
 * visit.pml is a model of this.
 *
 * Pools of user-level threads, of workers that roam (--pool).  A thread of such
 * a pool is a fibre of the station: an event takes it when it begins, keeps it
 * when it is paused or waits, and gives it back at its end.  If there is none,
 * events that have not begun cannot be taken, and the station is as if empty of
 * them.  A worker that finds it so leaves the note of exclusive stages, between
 * two looks for a thread, and whoever gives one back looks at the note after
 * that.  The events that have begun wait in `passed`.
 *
 * An event that waits (stage_wait()) stays pending, so a stop waits for it; and
 * as it keeps its thread, its place in `passed` is free.  Its worker sets WAITS
 * (event.h) when it has left the fibre and counted the turn, because from then
 * on the event may run elsewhere.  Whoever owns it after that, the worker or
 * stage_wake(), puts it into `passed` and wakes a worker, as a sender does.
 * pool.pml is a model of this.
 *
 * Pools of changing size work as SEDA's thread pool controller, but without a
 * thread of their own.  A sender that finds a long queue adds a thread; a
 * thread that was idle for long leaves, the newest first.  All threads exist
 * from the start; those not in use are parked and cost nothing.  After Welsh,
 * Culler and Brewer, SOSP 2001, section 3.4, as in Gordon, UCAM-CL-TR-781,
 * section 2.4.1: the pools of the stages do not know each other, so their sizes
 * may oscillate.  In SEDA a queue of 100 events adds a thread; here a shorter
 * queue does, because an event takes milliseconds.
 */
#include "base/util.h"
#include "stages/group.h"

#include "base/clock.h"
#include "stages/stage.h"
#include "stages/event.h"
#include "stages/queue.h"
#include "stages/threads/resources.h"

#include <assert.h>

enum {
	/* A pool grows if its queue is longer than this. */
	POOL_LENGTH = 4,
	/* A pool grows by at most one thread in this time. */
	POOL_GROW_INTERVAL_NS = 20000000,
};

#define NOINLINE __attribute__((noinline))
#define INLINE __attribute__((always_inline)) static inline

/* --- Stations: their queues, entering, waking. --- */

static uint32_t passed_count(const struct visit_station *s)
{
	const struct queue *passed = station_of(s)->passed;

	return passed != NULL ? queue_count(passed) : 0;
}

/* Events in the station's queues; others wait on the stacks of workers. */
static uint32_t station_waiting_count(const struct station *s)
{
	return queue_count(s->queue) + passed_count(&s->visited);
}

/* Without a cutoff, a pool's events wait in one order, begun or not. */
static bool has_one_order(const struct station *s)
{
	return s->threads != NULL && s->visited.regime->kind != REGIME_CUTOFF;
}

/* See 'Pools of user-level threads'. */
static bool has_thread(struct station *s)
{
	if (fibres_has_free(s->threads))
		return true;
	atomic_store(&s->own_entry.is_missed, true);
	return fibres_has_free(s->threads);
}

static struct fibre *take_thread(struct station *s)
{
	struct fibre *f = fibres_take(s->threads);

	if (f != NULL)
		return f;
	atomic_store(&s->own_entry.is_missed, true);
	return fibres_take(s->threads);
}

static NOINLINE uint32_t count_with_threads(struct station *s)
{
	uint32_t count = queue_count(s->queue);

	if (count > 0 && !has_thread(s))
		count = 0;
	return count + (has_one_order(s) ? queue_count(s->passed) : 0);
}

static uint32_t queued_count(const struct visit_station *visited)
{
	struct station *s = station_of(visited);

	return s->threads == NULL ? queue_count(s->queue) :
				    count_with_threads(s);
}

/* Of those that the visitor may take. */
static uint64_t first_rank(const struct visit_station *visited)
{
	const struct station *s = station_of(visited);
	uint64_t rank = queue_first_rank(s->queue);

	if (s->threads == NULL)
		return rank;
	if (!fibres_has_free(s->threads))
		rank = RANK_NONE;
	return has_one_order(s) ? min_u64(rank, queue_first_rank(s->passed)) :
				  rank;
}

static struct event *pop_passed(struct visit_station *s)
{
	return queue_pop(station_of(s)->passed);
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

/* False: another worker is in the stage.  After true, call station_leave(). */
static bool station_enter(struct station *s)
{
	return s->entry == NULL || !atomic_exchange(&s->entry->is_taken, true);
}

static bool enter(struct visit_station *s)
{
	return station_enter(station_of(s));
}

static void wake_in_any_part(const struct station *s);

/* Wake a worker for a new event. */
static void station_wake(struct station *s)
{
	if (s->wakes == NULL)
		wake_in_any_part(s);
	else if (s->wakes_all)
		eventcount_wake_all(s->wakes, s->wake_mask);
	else if (!eventcount_wake_one(s->wakes, s->wake_mask) &&
		 s->wakes_else != 0)
		(void)eventcount_wake_one(s->wakes, s->wakes_else);
}

static void wake(struct visit_station *s)
{
	station_wake(station_of(s));
}

/* A thread of its pool is free again. */
static void give_thread(struct station *s, struct fibre *f)
{
	fibres_give(s->threads, f);
	/* Several workers may have missed one, and left one note. */
	if ((atomic_load(&s->own_entry.is_missed) &&
	     atomic_exchange(&s->own_entry.is_missed, false)) ||
	    queue_count(s->queue) > 0)
		station_wake(s);
}

/* Take an event that has not begun, with a thread for it. */
static struct event *pop_new(struct station *s)
{
	struct fibre *f = queue_count(s->queue) > 0 ? take_thread(s) : NULL;
	struct event *ev = f != NULL ? queue_pop(s->queue) : NULL;

	if (ev != NULL)
		event_inside(ev)->fibre = f;
	else if (f != NULL)
		give_thread(s, f);
	return ev;
}

static NOINLINE struct event *pop_with_thread(struct station *s)
{
	struct event *ev = NULL;

	if (!has_one_order(s))
		return pop_new(s);
	if (queue_first_rank(s->passed) <= queue_first_rank(s->queue))
		ev = queue_pop(s->passed);
	if (ev == NULL)
		ev = pop_new(s);
	return ev != NULL ? ev : queue_pop(s->passed);
}

static struct event *pop_queued(struct visit_station *visited)
{
	struct station *s = station_of(visited);

	return s->threads == NULL ? queue_pop(s->queue) : pop_with_thread(s);
}

static void station_leave(struct station *s)
{
	if (s->entry == NULL)
		return;
	(void)atomic_exchange(&s->entry->is_taken, false);
	bool is_missed = atomic_exchange(&s->entry->is_missed, false);

	(void)eventcount_wake_one(&s->entry->left, EVENTCOUNT_ANY);
	/*
	 * In a partitioned graph, events of the stage may wait in several
	 * parts.
	 */
	for (uint32_t i = 0; i < s->stage->part_count; i++) {
		struct station *other =
			s->stage->stations[i * s->stage->stations_per_part];

		if (other->entry == s->entry && other->queue != NULL &&
		    (is_missed || station_waiting_count(other) > 0))
			station_wake(other);
	}
}

static void leave(struct visit_station *s)
{
	station_leave(station_of(s));
}

/*
 * A sender saw `queued` events wait: perhaps a pool of changing size needs one
 * more thread.
 */
static void pool_grow(struct pool *p, uint32_t queued, uint64_t now_ns)
{
	uint64_t grown_ns = atomic_load(&p->grown_ns);
	uint32_t active = atomic_load(&p->active_count);

	if (queued <= POOL_LENGTH || active == p->thread_count ||
	    now_ns < grown_ns + POOL_GROW_INTERVAL_NS)
		return;
	/*
	 * At most one of several senders adds a thread, and none if a thread
	 * has just left.
	 */
	if (atomic_compare_exchange_strong(&p->grown_ns, &grown_ns, now_ns) &&
	    atomic_compare_exchange_strong(&p->active_count, &active,
					   active + 1))
		eventcount_wake_all(&p->parked, EVENTCOUNT_ANY);
}

/* --- Events under way, and the stop: see group.c. --- */

void group_wake_all(struct stage_group *g)
{
	for (uint32_t w = 0; w < g->worker_count; w++) {
		struct worker *worker = &g->workers[w];

		eventcount_wake_all(worker->sleeps, EVENTCOUNT_ANY);
		eventcount_wake_all(
			&station_of(worker->visitor.stations[0])->pool.parked,
			EVENTCOUNT_ANY);
	}
	for (uint32_t s = 0; s < g->station_count; s++)
		eventcount_wake_all(&g->stations[s].own, EVENTCOUNT_ANY);
	eventcount_wake_all(&g->drained, EVENTCOUNT_ANY);
}

/* All operations on `pending` and `is_stopping` are sequentially consistent. */
static void group_leave(struct stage_group *g)
{
	if (atomic_fetch_sub(&g->pending, 1) == 1 &&
	    atomic_load(&g->is_stopping))
		group_wake_all(g);
}

bool group_is_drained(struct stage_group *g)
{
	return atomic_load(&g->is_stopping) && atomic_load(&g->pending) == 0;
}

static bool group_enter(struct stage_group *g, bool from_inside)
{
	if (!from_inside && atomic_load(&g->is_stopping))
		return false;
	atomic_fetch_add(&g->pending, 1);
	if (from_inside || !atomic_load(&g->is_stopping))
		return true;
	group_leave(g);
	return false;
}

/* --- Handling and sending an event. --- */

/*
 * What the calling thread is handling now; stage_send() reads it.
 *
 * A sender that calls handlers may be a user-level thread, and go on on another
 * kernel thread after a pause.  The compiler may keep the address of a
 * thread-local variable while a function runs.  So a function whose callee may
 * pause does not use `handling` after that, but calls functions that are not
 * inlined.
 */
struct handling {
	struct stage_group *group; /* NULL: nothing */
	struct worker *worker;     /* NULL: not a worker */
	const struct stage *stage; /* whose handler runs */
	/* At a pass-through stage, for an event from outside. */
	bool is_admitting;
	uint32_t part;
	uint32_t station;       /* the number of the event's station */
	struct fibre *fibre;    /* the handler's; NULL: it cannot pause */
	enum visit_pause pause; /* why the event is paused */
	uint64_t start_ns;      /* start of the event's turn */
	/* Of its event at this stage: waiting, and earlier turns. */
	uint64_t wait_ns, ran_ns;
	/* With user-level threads: the handler's event, until it is sent on. */
	struct event *event;
	const struct blocking_site *sent_at; /* NULL: it was not sent on */
	struct event *sent_on;
	/* Without workers: what handlers send. */
	struct event_list *sent;
	/* And the handler's event, until it is sent on, if it may pause. */
	struct event *called;
	uint64_t number; /* of the handler's event */
};

static _Thread_local struct handling handling;

/*
 * From now on stage_send() treats the calling thread as worker `w`; NULL: not a
 * worker.
 */
static void worker_set_current(struct worker *w)
{
	handling = (struct handling){
		.group = w != NULL ? w->group : NULL,
		.worker = w,
		.part = w != NULL ? w->visitor.part : 0,
		/* With user-level threads, each part has one station. */
		.station = w != NULL ? w->visitor.part : 0,
	};
}

/*
 * Wake a worker that sleeps, in the station's part or the sender's if there is
 * one.  Each worker that falls asleep meanwhile sees the event, or is woken,
 * until one was.
 */
static NOINLINE void wake_in_any_part(const struct station *s)
{
	const struct stage_group *g = s->stage->group;
	uint32_t count =
		visit_wakes_parts(&worker_access, &g->visits, &s->visited);
	uint32_t first = s->visited.part < g->part_count ? s->visited.part :
			 handling.group == g             ? handling.part :
							   0;

	for (uint32_t i = 0; i < count; i++)
		if (eventcount_wake_one(
			    g->parts[(first + i) % g->part_count].sleeps,
			    s->wake_mask))
			return;
}

static struct tally *tally_of(const struct stage *s)
{
	return handling.group == s->group && handling.worker != NULL ?
		       &handling.worker->tallies[s->index] :
		       &s->group->tallies_outside[s->index];
}

/*
 * Add `n` to the number of waiting events, which may be below 0 for a moment:
 * the start of an event may be counted before its arrival.  See
 * stage_read_part().
 */
static void count_queued(const struct stage *s, uint32_t part, int64_t n)
{
	struct stage_group *g = s->group;

	if (g->part_count > 1)
		count_shared(&g->parts[part].queued_counts[s->index],
			     (uint64_t)n);
}

static void count_under_way(struct stage_group *g, uint32_t part, int64_t n)
{
	(void)atomic_fetch_add(&g->visits.parts[part].under_way_count,
			       (uint64_t)n);
}

struct call {
	const struct stage *stage;
	struct event *event;
};

/*
 * What a fibre runs.  After a pause another worker may continue it, so first
 * copy `arg`, which is on the stack of this worker.
 */
static void call_handler(void *arg)
{
	struct call call = *(struct call *)arg;

	call.stage->config.handler(call.event, call.stage->config.arg);
}

/* Does an event go on on `f`?  NULL, and a thread of a pool: it begins. */
static bool is_resumed(const struct fibre *f)
{
	return f != NULL && !fibre_is_new(f);
}

/* Begin `ev`, or go on with it.  False: it has paused. */
static NOINLINE bool run_on_fibre(struct station *from, struct event *ev)
{
	struct worker *w = handling.worker;
	struct call call = { handling.stage, ev };
	struct event_inside *in = event_inside(ev);
	struct fibre *f = in->fibre;
	bool is_over;

	/*
	 * Clear this first: the handler may send the event on, which then
	 * belongs to somebody else.
	 */
	in->fibre = NULL;
	handling.fibre = f != NULL ? f : w->fibre;
	is_over = is_resumed(f) ?
			  fibre_resume(f) :
			  fibre_run(handling.fibre, call_handler, &call);
	if (!is_over) {
		in->fibre = handling.fibre;
		if (f == NULL) {
			w->fibre = w->next_fibre;
			w->next_fibre = NULL;
		}
	} else if (from->threads != NULL) {
		give_thread(from, f);
	} else if (f != NULL) {
		fibres_give(w->group->fibres, f);
	}
	handling.fibre = NULL;
	return is_over;
}

/* The same, on the worker's own stack if it cannot pause. */
static bool run_handler(struct station *from, const struct stage *s,
			struct event *ev)
{
	if (event_inside(ev)->fibre != NULL ||
	    (handling.worker->fibre != NULL && s->config.type == STAGE_SHARED))
		return run_on_fibre(from, ev);
	s->config.handler(ev, s->config.arg);
	return true;
}

/* If the current event is paused, is there a stack for the next one? */
static bool has_next_fibre(struct worker *w)
{
	if (handling.fibre != w->fibre)
		return true;
	if (w->next_fibre == NULL)
		w->next_fibre = fibres_take(w->group->fibres);
	return w->next_fibre != NULL;
}

/* The handler begins, or goes on where it paused. */
static void begin_turn(const struct stage *s, uint32_t part, struct event *ev,
		       uint64_t ns, bool is_resumed)
{
	struct tally *t = tally_of(s);
	struct event_inside *in = event_inside(ev);
	uint64_t start_ns = ns > in->sent_ns ? ns : in->sent_ns;
	uint64_t wait_ns = start_ns - in->sent_ns;

	handling.stage = s;
	handling.start_ns = start_ns;
	in->stage = NULL;
	if (!is_resumed) {
		in->stage_waited_ns = 0;
		in->stage_ran_ns = 0;
		tally_add(t, &t->started_count, 1);
	} else {
		tally_add(t, &t->resumed_count, 1);
	}
	ev->waited_ns += wait_ns;
	in->stage_waited_ns += wait_ns;
	handling.wait_ns = in->stage_waited_ns;
	handling.ran_ns = in->stage_ran_ns;
	count_queued(s, part, -1);
	tally_add(t, &t->wait_ns, wait_ns);
	tally_max(&t->wait_ns_max, wait_ns);
	tally_sample(t, &t->waits, wait_ns);
}

/* The event waits again, at the stage whose handler it has begun. */
static void count_pause(const struct stage *s, uint32_t part, struct event *ev,
			uint64_t now_ns)
{
	struct tally *t = tally_of(s);
	struct event_inside *in = event_inside(ev);

	in->stage = s->group->stages[s->index];
	in->stage_ran_ns += now_ns - handling.start_ns;
	in->sent_ns = now_ns;
	tally_add(t, &t->paused_count, 1);
	count_queued(s, part, 1);
}

/* A turn of a handler that its sender has called is over. */
static void trace_call(const struct stage *s, uint64_t end_ns)
{
	const struct stage_group *g = s->group;
	uint32_t track =
		g->track_count == 0 ? 0 : g->caller_threads->kernel_thread();
	struct span span = {
		.start_ns = handling.start_ns,
		.end_ns = end_ns,
		.number = handling.number,
		.stage = s->index,
		.kind = SPAN_EVENT,
	};

	if (track >= g->track_count)
		return;
	trace_add(&g->tracks[track], &span);
	span.number = 1;
	span.kind = SPAN_VISIT;
	trace_add(&g->tracks[track], &span);
}

/* Each turn of a handler counts as a visit with one event. */
static void count_call(const struct stage *s)
{
	struct tally *t = tally_of(s);

	tally_add(t, &t->visit_count, 1);
	tally_sample(t, &t->cohorts, 1);
}

/* The handler goes on, perhaps on another kernel thread. */
static NOINLINE void resume_in_caller(const struct handling *mine)
{
	handling = *mine;
	count_call(mine->stage);
	begin_turn(mine->stage, mine->part, mine->called, clock_now_ns(), true);
}

/*
 * The sender, a user-level thread, lets others run on its kernel thread; these
 * use `handling`.
 */
static NOINLINE void pause_in_caller(void)
{
	struct handling mine = handling;
	uint64_t now_ns = clock_now_ns();

	trace_call(mine.stage, now_ns);
	count_pause(mine.stage, mine.part, mine.called, now_ns);
	handling = (struct handling){ 0 };
	mine.group->caller_threads->pause();
	resume_in_caller(&mine);
}

void stage_pause_point(void)
{
	struct worker *w = handling.worker;

	if (handling.fibre == NULL) {
		if (handling.called != NULL &&
		    handling.group->caller_threads->is_due())
			pause_in_caller();
		return;
	}
	if (!visitor_may_pause(&w->visitor))
		return;
	handling.pause = visitor_should_pause(&w->visitor, handling.start_ns,
					      clock_now_ns());
	if (handling.pause != PAUSE_NONE && has_next_fibre(handling.worker))
		fibre_pause(handling.fibre);
	/* From here on this may be another thread, with another `handling`. */
}

static void put_back(struct station *to, struct queue *q, struct event *ev)
{
	queue_return(q, ev);
	station_wake(to);
}

/*
 * Put a paused event back into its station, where enum visit_pause says; one
 * that waits, when it is woken.
 */
static void pause_event(struct station *from, const struct stage *s,
			struct event *ev, uint64_t now_ns)
{
	event_has_run(ev, now_ns - handling.start_ns);
	count_pause(s, from->visited.part, ev, now_ns);
	if (handling.pause == PAUSE_UNTIL_WOKEN) {
		event_inside(ev)->node = from->number;
		if (wake_wait(&event_inside(ev)->wake))
			return; /* from here on it may run elsewhere */
		wake_reset(&event_inside(ev)->wake);
	}
	put_back(from,
		 handling.pause == PAUSE_FOR_ANOTHER && from->threads == NULL ?
			 from->queue :
			 from->passed,
		 ev);
}

/* The turn of event `number` at stage `s` is over. */
static void trace_turn(const struct stage *s, uint64_t number, uint64_t end_ns)
{
	trace_add(&handling.worker->trace,
		  &(struct span){
			  .start_ns = handling.start_ns,
			  .end_ns = end_ns,
			  .number = number,
			  .stage = s->index,
			  .kind = SPAN_EVENT,
		  });
}

/* The handler has returned. */
static void count_handled(const struct stage *s, uint32_t part, uint64_t end_ns)
{
	struct tally *t = tally_of(s);
	uint64_t ran_ns = handling.ran_ns + end_ns - handling.start_ns;

	tally_add(t, &t->handled_count, 1);
	tally_add(t, &t->service_ns, ran_ns);
	tally_max(&t->service_ns_max, ran_ns);
	tally_sample(t, &t->services, ran_ns);
	tally_sample(t, &t->totals, handling.wait_ns + ran_ns);
	if (s->group->schedule.distribute == DISTRIBUTE_LEAST_LOADED)
		count_under_way(s->group, part, -1);
}

/*
 * Run the handler of `ev`, which came from `from`; returns the time at its end.
 * `ns` is the clock as read before the event was taken, perhaps even before it
 * was sent.
 */
static uint64_t handle_event(struct station *from, struct event *ev,
			     uint64_t ns)
{
	const struct stage *s = event_inside(ev)->stage;
	uint64_t number = ev->number;

	handling.part = visitor_sends_to(&handling.worker->visitor);
	handling.station = from->number;
	begin_turn(s, from->visited.part, ev, ns,
		   is_resumed(event_inside(ev)->fibre));

	/* If true, `ev` may belong to somebody else. */
	bool is_over = run_handler(from, s, ev);
	uint64_t end_ns = clock_now_ns();

	handling.stage = NULL;
	trace_turn(s, number, end_ns);
	if (!is_over) {
		pause_event(from, s, ev, end_ns);
		return end_ns;
	}
	count_handled(s, from->visited.part, end_ns);
	group_leave(s->group);
	return end_ns;
}

/*
 * The station of an event, among those of a stage that is partitioned by key.
 */
static uint32_t station_number(const struct stage *s, const struct event *ev)
{
	return s->stations_per_part > 1 ? ev->key % s->stations_per_part : 0;
}

/*
 * No other thread could run the handler, so the caller waits until it may
 * enter.  Returns the time at which it may: `ns`, unless it had to wait.
 */
INLINE uint64_t enter_and_wait(struct station *s, uint64_t ns)
{
	if (station_enter(s))
		return ns;
	do {
		uint32_t ticket = eventcount_prepare(&s->entry->left);

		if (atomic_load(&s->entry->is_taken))
			(void)eventcount_wait(&s->entry->left, ticket,
					      EVENTCOUNT_ANY, 0);
		else
			eventcount_cancel(&s->entry->left);
	} while (!station_enter(s));
	return clock_now_ns();
}

/*
 * The caller was free for the event at `free_ns`, and entered its stage at
 * `start_ns`.
 */
static NOINLINE void begin_call(const struct stage *s, struct event *ev,
				uint64_t free_ns, uint64_t start_ns)
{
	count_call(s);
	/*
	 * Waiting for this thread does not count as waiting in a queue, but
	 * waiting for the stage does.
	 */
	event_inside(ev)->sent_ns = free_ns;
	begin_turn(s, 0, ev, start_ns, false);
	handling.number = ev->number;
	if (s->group->caller_threads != NULL &&
	    s->group->schedule.threads.quantum_ns > 0 &&
	    s->config.type == STAGE_SHARED)
		handling.called = ev;
}

/* Returns the time. */
static NOINLINE uint64_t end_call(const struct stage *s)
{
	uint64_t end_ns = clock_now_ns();

	handling.stage = NULL;
	handling.called = NULL;
	trace_call(s, end_ns);
	count_handled(s, 0, end_ns);
	group_leave(s->group);
	return end_ns;
}

/* See struct handling. */
static NOINLINE void set_handling(const struct handling *h)
{
	handling = *h;
}

/* The next handler is of this station, and what it sends goes to `sent`. */
static NOINLINE void set_station(uint32_t number, struct event_list *sent)
{
	handling.station = number;
	handling.sent = sent;
}

/* Run `ev`, then `sent` and what its handlers send, until nothing is left. */
INLINE void run_in_caller(struct stage_group *g, struct event *ev,
			  struct event_list sent)
{
	struct handling outer = handling;
	uint64_t ns = event_inside(ev)->sent_ns;

	set_handling(&(struct handling){ .group = g });
	for (; ev != NULL; ev = event_list_pop(&sent)) {
		struct call call = { event_inside(ev)->stage, ev };
		struct station *s =
			call.stage->stations[station_number(call.stage, ev)];

		uint64_t start_ns = enter_and_wait(s, ns);

		set_station(s->number, &sent);
		begin_call(call.stage, ev, ns, start_ns);
		call_handler(&call);
		ns = end_call(call.stage);
		station_leave(s);
	}
	set_handling(&outer);
}

INLINE void hand_to_caller(struct stage_group *g, struct event *ev,
			   bool is_inside)
{
	if (is_inside)
		event_list_push(handling.sent, ev);
	else
		run_in_caller(g, ev, (struct event_list){ .first = NULL });
}

void stage_postpone(struct postponed *p)
{
	assert(handling.sent != NULL);
	p->group = handling.group;
	handling.sent = &p->events;
}

void stage_run_postponed(const struct postponed *p)
{
	struct event_list events = p->events;
	struct event *ev = event_list_pop(&events);

	assert(handling.group == NULL);
	/* It has waited for this thread: see begin_call(). */
	event_inside(ev)->sent_ns = clock_now_ns();
	run_in_caller(p->group, ev, events);
}

/*
 * The part that an event for `s` goes to, among those that have stations of the
 * stage; `wish` counts for replicas.
 */
static uint32_t choose_part(struct stage *s, const struct event *ev,
			    bool is_inside, uint32_t wish)
{
	struct stage_group *g = s->group;

	if (s->part_count == 1)
		return 0;
	if (g->schedule.balance == BALANCE_PARTITION)
		return stage_part(s);
	if (wish != PART_ANY)
		return wish;
	if (is_inside)
		return handling.part;
	return visit_choose_part(&g->visits, ev);
}

static void count_refused(const struct stage *s)
{
	struct tally *t = tally_of(s);

	tally_add(t, &t->refused_count, 1);
}

/* Count an event that was queued; its queue now has `queued_count` events. */
static void count_arrived(const struct stage *s, uint32_t part,
			  uint32_t queued_count)
{
	struct tally *t = tally_of(s);

	if (handling.group == s->group && handling.stage != NULL) {
		struct tally *from = tally_of(handling.stage);

		tally_add(from, &from->sent_counts[s->index], 1);
	}
	tally_add(t, &t->arrived_count, 1);
	tally_add(t, &t->queued_count_total, queued_count);
	tally_max(&t->queued_count_max, queued_count);
	count_queued(s, part, 1);
}

/*
 * Per-core stacks: a worker keeps what it sends to a stage that it visits
 * itself, if any worker may handle the events of that stage.  The worker is
 * awake, so no other worker is woken.  False: the event goes to the queue.
 */
static bool push_on_stack(const struct station *to, struct event *ev,
			  bool is_inside)
{
	struct worker *w = handling.worker;
	const struct stage *s = event_inside(ev)->stage;

	if (!is_inside || w == NULL || s->config.type != STAGE_SHARED)
		return false;
	uint32_t count =
		visitor_keep(&w->visitor, &to->visited, ev, s->config.slots);

	if (count > 0)
		count_arrived(s, to->visited.part, count);
	return count > 0;
}

/* False: the queue is full. */
INLINE bool push_event(struct station *to, struct event *ev, bool is_inside)
{
	const struct stage *s = event_inside(ev)->stage;
	uint64_t sent_ns = event_inside(ev)->sent_ns;

	if (push_on_stack(to, ev, is_inside))
		return true;
	if (!queue_push(to->queue, ev))
		return false;
	/*
	 * From here on the event may be gone.  Its arrival is counted before a
	 * worker is woken: the woken worker may take this core, and the event
	 * would leave before it was counted.
	 */
	uint32_t queued_count = station_waiting_count(to);

	count_arrived(s, to->visited.part, queued_count);
	station_wake(to);
	if (to->pool.is_auto)
		pool_grow(&to->pool, queued_count, sent_ns);
	return true;
}

/* Does the calling handler send its own event, as a user-level thread? */
static bool is_sent_on(const struct event *ev, bool is_inside)
{
	return is_inside && handling.event == ev;
}

/*
 * The event waits for stage `s`.  Returns how many do; 0: there are as many as
 * there may be.
 */
static uint32_t take_slot(struct part *p, const struct stage *s)
{
	uint32_t count = atomic_load(&p->slots_used[s->index]);

	do
		if (count >= s->config.slots)
			return 0;
	while (!atomic_compare_exchange_weak(&p->slots_used[s->index], &count,
					     count + 1));
	return count + 1;
}

/*
 * As push_event(), with user-level threads.  False: too many wait for the
 * stage.
 */
INLINE bool push_thread(uint32_t part, struct event *ev, bool is_inside,
			bool is_new, const struct blocking_site *at)
{
	const struct stage *s = event_inside(ev)->stage;
	struct part *p = &s->group->parts[part];
	uint32_t count = take_slot(p, s);

	if (count == 0)
		return false;
	count_arrived(s, part, count);
	if (is_sent_on(ev, is_inside)) {
		handling.sent_at = at;
		handling.sent_on = ev;
		handling.event = NULL;
	} else if (is_inside && handling.worker != NULL &&
		   part == handling.worker->visitor.part) {
		scheduler_start(p->scheduler, ev, at);
	} else {
		scheduler_post(p->scheduler, ev, at,
			       is_new || handling.is_admitting);
	}
	return true;
}

static void forbid_pauses(const struct event *ev)
{
	if (handling.fibre != NULL && ev == handling.worker->visitor.event)
		handling.fibre = NULL;
	if (handling.called == ev)
		handling.called = NULL;
}

bool handling_disown(const struct event *ev)
{
	forbid_pauses(ev);
	if (handling.event != ev)
		return false;
	handling.event = NULL;
	return true;
}

void handling_become(struct event *ev)
{
	handling.event = ev;
}

/*
 * As send_event(), to a pass-through stage: handle `ev` here and now.  Its
 * handler does not pause, so this thread goes on with the one that has sent.
 */
static NOINLINE bool pass_through(struct stage *s, struct event *ev,
				  uint32_t wish, bool is_accepted)
{
	struct stage_group *g = s->group;
	struct handling outer = handling;
	bool is_inside = outer.group == g;
	uint64_t number = ev->number, end_ns;
	uint32_t part;

	if (!group_enter(g, is_inside || is_accepted)) {
		count_refused(s);
		return false;
	}
	event_inside(ev)->sent_ns = clock_now_ns();
	if (!is_inside && !is_accepted) {
		atomic_store_explicit(&event_inside(ev)->wake, WAKE_RUNS,
				      memory_order_relaxed);
		ev->born_ns = event_inside(ev)->sent_ns;
		visit_begin_event(&g->visits, ev);
	}
	part = choose_part(s, ev, is_inside, wish);
	if (!is_inside)
		handling = (struct handling){ .group = g,
					      .is_admitting = !is_accepted };
	handling.part = part;
	handling.fibre = NULL;
	handling.station = 0;
	if (g->schedule.distribute == DISTRIBUTE_LEAST_LOADED)
		count_under_way(g, part, 1);
	count_arrived(s, part, 0);
	begin_turn(s, part, ev, event_inside(ev)->sent_ns, false);
	s->config.handler(ev, s->config.arg);
	end_ns = clock_now_ns();
	if (handling.worker != NULL)
		trace_turn(s, number, end_ns);
	count_handled(s, part, end_ns);
	/* What the sender has sent on, as a user-level thread. */
	if (is_inside) {
		/* If it is still `ev`, that has ended. */
		outer.event = handling.event != ev ? handling.event : NULL;
		outer.sent_at = handling.sent_at;
		outer.sent_on = handling.sent_on;
	}
	handling = outer;
	group_leave(g);
	return true;
}

/*
 * See stage_send_at(), stage_send_to() and stage_send_accepted().  Inlined, so
 * that plain events do not pay for closures.
 */
INLINE bool send_event(const struct blocking_site *at, struct stage *s,
		       struct event *ev, uint32_t wish, bool is_accepted)
{
	struct stage_group *g = s->group;
	bool is_inside = handling.group == g;
	bool is_new = !is_inside && !is_accepted;
	bool is_thread = g->schedule.policy->workers == POLICY_WORKERS_FIBRES;
	struct event_inside *in = event_inside(ev);

	/*
	 * The handler gives its event away, so the rest of the handler cannot
	 * be paused, even if the event is refused.
	 */
	forbid_pauses(ev);
	/* Nor can it wait, if it gives the event to another group. */
	if (!is_inside && handling.event == ev)
		handling.event = NULL;

	assert(g->is_started);
	assert(in->stage == NULL); /* sent twice */
	if (s->passes)
		return pass_through(s, ev, wish, is_accepted);
	/* A thread stays pending, and waits only when its handler returns. */
	bool stays = is_sent_on(ev, is_inside);

	if (!stays && !group_enter(g, !is_new)) {
		count_refused(s);
		return false;
	}
	in->stage = s;
	if (!stays)
		in->sent_ns = clock_now_ns();
	if (is_new) {
		atomic_store_explicit(&in->wake, WAKE_RUNS,
				      memory_order_relaxed);
		ev->born_ns = in->sent_ns;
		visit_begin_event(&g->visits, ev);
	}
	if (g->schedule.policy->workers == POLICY_WORKERS_CALLER) {
		count_arrived(s, 0, 0);
		hand_to_caller(g, ev, is_inside);
		return true;
	}
	uint32_t part = choose_part(s, ev, is_inside, wish);
	struct station *to = s->stations[part * s->stations_per_part +
					 station_number(s, ev)];

	if (g->schedule.distribute == DISTRIBUTE_LEAST_LOADED)
		count_under_way(g, to->visited.part, 1);
	if (is_thread ? push_thread(part, ev, is_inside, is_new, at) :
			push_event(to, ev, is_inside))
		return true;
	if (g->schedule.distribute == DISTRIBUTE_LEAST_LOADED)
		count_under_way(g, to->visited.part, -1);
	in->stage = NULL;
	if (!stays)
		group_leave(g);
	count_refused(s);
	return false;
}

bool stage_send_at(const struct blocking_site *at, struct stage *s,
		   struct event *ev)
{
	return send_event(at, s, ev, PART_ANY, false);
}

static NOINLINE bool send_closure(struct stage *s, struct event *ev,
				  uint32_t part, bool is_accepted)
{
	return send_event(&s->site, s, ev, part, is_accepted);
}

bool stage_send_to(struct stage *s, struct event *ev, uint32_t part)
{
	return send_closure(s, ev, part, false);
}

bool stage_send_accepted(struct stage *s, struct event *ev, uint32_t part)
{
	return send_closure(s, ev, part, true);
}

uint32_t stage_private_number(void)
{
	return handling.station;
}

uint32_t group_current_part(void)
{
	return handling.part;
}

void group_hold(struct stage_group *g)
{
	(void)group_enter(g, true);
}

void group_let_go(struct stage_group *g)
{
	group_leave(g);
}

/* --- Visits: what visit.c reaches, and what it decides on. --- */

static uint32_t stage_of(const struct event *ev)
{
	return event_peek(ev)->stage->index;
}

/* Hardware counts since the last call are added to stage `from`. */
static void count_hardware(struct worker *w, uint32_t from)
{
	uint64_t totals[PERF_COUNTERS];

	if (!perf_read(&w->perf, totals)) {
		atomic_store(&w->counts_hardware, false);
		return;
	}
	for (uint32_t i = 0; i < PERF_COUNTERS; i++) {
		if (from != STAGE_NONE)
			count_own(&w->tallies[from].hardware[i],
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
	count_own(&w->tallies[to].switch_count, 1);
	count_own(&w->tallies[to].switch_ns, gap_ns);
}

static void add_totals(struct measure_totals *to, const struct tally *t)
{
	to->arrived_count += tally_read(&t->arrived_count);
	to->handled_count += tally_read(&t->handled_count);
	to->service_ns += tally_read(&t->service_ns);
	to->switch_count += tally_read(&t->switch_count);
	to->switch_ns += tally_read(&t->switch_ns);
}

/* The sum of the counts of all threads at stage `s`. */
static struct measure_totals stage_totals(const struct stage *s)
{
	const struct stage_group *g = s->group;
	struct measure_totals totals = { 0 };

	for (uint32_t i = 0; i < g->worker_count; i++)
		add_totals(&totals, &g->workers[i].tallies[s->index]);
	add_totals(&totals, &g->tallies_outside[s->index]);
	return totals;
}

/* The 95th percentile of the service times at stage `s`, of all threads. */
static uint64_t service_p95_ns(const struct stage *s)
{
	const struct stage_group *g = s->group;
	struct histogram_copy all = { .count = 0 };

	for (uint32_t i = 0; i < g->worker_count; i++)
		histogram_read(&g->workers[i].tallies[s->index].services, &all);
	return histogram_quantile(&all, 0.95);
}

static uint32_t read_totals(const struct visitor *v,
			    const struct visit_station *s,
			    struct measure_totals *out)
{
	const struct stage *stage = station_of(s)->stage;
	const struct stage_group *g = stage->group;

	(void)v;
	*out = stage_totals(stage);
	if (g->schedule.policy->reads_p95)
		out->service_p95_ns = service_p95_ns(stage);
	return g->schedule.balance == BALANCE_PARTITION ?
		       g->parts[atomic_load(&stage->part)].core_count :
		       g->worker_count;
}

static void move(struct visitor *v, const struct visit_station *from,
		 const struct visit_station *to, struct event *ev)
{
	const struct stage *s = event_peek(ev)->stage;

	count_queued(s, from->part, -1);
	count_queued(s, to->part, 1);
	if (s->group->schedule.distribute == DISTRIBUTE_LEAST_LOADED) {
		count_under_way(s->group, from->part, -1);
		count_under_way(s->group, to->part, 1);
	}
	count_own(&container_of(v, struct worker, visitor)->stolen_count, 1);
}

static uint32_t epoch(const struct visitor *v)
{
	return eventcount_epoch(
		container_of(v, struct worker, visitor)->sleeps);
}

const struct visit_access worker_access = {
	.queued_count = queued_count,
	.passed_count = passed_count,
	.wake = wake,
	.epoch = epoch,
	.pop = pop_queued,
	.pop_passed = pop_passed,
	.first_rank = first_rank,
	.is_open = is_open,
	.enter = enter,
	.leave = leave,
	.stage_of = stage_of,
	.move = move,
	.turn = turn,
	.read_totals = read_totals,
};

/* The visit has ended at `end_ns`. */
static void count_visit(struct worker *w, uint64_t end_ns)
{
	const struct visit *v = &w->visitor.visit;

	if (v->is_theft)
		count_own(&w->stolen_count, v->handled_count);
	if (v->stage == STAGE_NONE)
		return;
	struct tally *t = &w->tallies[v->stage];

	tally_add(t, &t->visit_count, 1);
	if (v->handled_count == 0)
		tally_add(t, &t->visit_empty_count, 1);
	else
		tally_sample(t, &t->cohorts, v->handled_count);
	trace_add(&w->trace, &(struct span){
				     .start_ns = v->start_ns,
				     .end_ns = end_ns,
				     .number = v->handled_count,
				     .stage = v->stage,
				     .kind = SPAN_VISIT,
			     });
}

/*
 * Make a visit, and the visits that interrupt it; or run user-level threads
 * until none can run.  False: there is no work.
 */
static bool worker_visit(struct worker *w)
{
	struct visitor *v = &w->visitor;
	uint64_t now_ns = 0;

	if (w->scheduler != NULL) {
		scheduler_run(w->scheduler, clock_now_ns());
		return false;
	}
	for (;;)
		switch (visitor_step(v, now_ns)) {
		case VISIT_SWITCH:
			if (!v->visit.is_interruption)
				now_ns = clock_now_ns();
			break;
		case VISIT_POP:
			break;
		case VISIT_HANDLE:
			now_ns = handle_event(station_of(v->visit.station),
					      v->event, now_ns);
			break;
		case VISIT_SPLIT:
			count_visit(w, now_ns);
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

/* --- User-level threads. --- */

static void begin_thread_turn(const struct stage *s, uint32_t part,
			      struct event *ev, bool is_resumed)
{
	struct worker *w = handling.worker;

	begin_turn(s, part, ev, scheduler_now(w->scheduler), is_resumed);
	visitor_runs(&w->visitor, s->index, handling.start_ns);
}

/* The event's turn is over at `end_ns`: its handler has returned, or waits. */
static void count_turn(const struct stage *s, uint64_t number, uint64_t end_ns)
{
	struct worker *w = handling.worker;
	struct tally *t = &w->tallies[s->index];

	trace_turn(s, number, end_ns);
	visitor_ran(&w->visitor, end_ns);
	tally_add(t, &t->visit_count, 1);
	tally_sample(t, &t->cohorts, 1);
	trace_add(&w->trace, &(struct span){
				     .start_ns = handling.start_ns,
				     .end_ns = end_ns,
				     .number = 1,
				     .stage = s->index,
				     .kind = SPAN_VISIT,
			     });
	scheduler_set_now(w->scheduler, end_ns);
}

const struct blocking_site *worker_run_thread(struct event *ev)
{
	const struct stage *s = event_inside(ev)->stage;
	struct part *p = &s->group->parts[handling.part];
	uint64_t number = ev->number;

	(void)atomic_fetch_sub(&p->slots_used[s->index], 1);
	begin_thread_turn(s, handling.part, ev, false);
	handling.event = ev;
	handling.sent_at = NULL;
	s->config.handler(ev, s->config.arg);

	const struct blocking_site *sent_at = handling.sent_at;
	uint64_t end_ns = clock_now_ns();

	handling.stage = NULL;
	handling.event = NULL;
	count_turn(s, number, end_ns);
	count_handled(s, handling.part, end_ns);
	if (sent_at != NULL) {
		event_inside(handling.sent_on)->sent_ns = end_ns;
		scheduler_become(handling.worker->scheduler, handling.sent_on);
	} else {
		group_leave(s->group);
	}
	return sent_at;
}

bool stage_can_wait(void)
{
	if (handling.fibre != NULL)
		return handling.stage->stations[handling.station]->threads !=
		       NULL;
	return handling.event != NULL &&
	       handling.stage->config.type == STAGE_SHARED;
}

void stage_wait_at(const struct blocking_site *at)
{
	/* Other threads use `handling` meanwhile. */
	struct handling mine = handling;
	struct event *ev = mine.event;
	const struct stage *s = mine.stage;
	uint64_t now_ns = clock_now_ns();

	assert(stage_can_wait());
	if (mine.fibre != NULL) {
		handling.pause = PAUSE_UNTIL_WOKEN;
		fibre_pause(mine.fibre);
		return; /* perhaps of another thread */
	}
	count_turn(s, ev->number, now_ns);
	count_pause(s, mine.part, ev, now_ns);
	handling.stage = NULL;
	handling.event = NULL;
	scheduler_wait(mine.worker->scheduler, at);
	handling = mine;
	begin_thread_turn(s, mine.part, ev, true);
}

void stage_wake(struct event *ev)
{
	struct event_inside *in = event_inside(ev);

	if (!wake_up(&in->wake))
		return;
	if (in->stage->group->schedule.policy->threads != NULL) {
		scheduler_wake(ev);
		return;
	}
	struct station *to = in->stage->stations[in->node];

	wake_reset(&in->wake);
	put_back(to, to->passed, ev);
}

void stage_take(enum resource r, int64_t amount)
{
	resources_take(resources_process(), r, amount);
	if (handling.event != NULL)
		scheduler_take(handling.worker->scheduler, r, amount);
}

static bool has_work(const struct worker *w)
{
	return w->scheduler != NULL ? scheduler_has_work(w->scheduler) :
				      visitor_has_work(&w->visitor);
}

/* --- The thread of a worker. --- */

static struct pool *pool_of(const struct worker *w)
{
	return &station_of(w->visitor.stations[0])->pool;
}

/* As eventcount_wait(); the sleep is added to the trace. */
static bool sleep_traced(struct worker *w, struct eventcount *ec,
			 uint32_t ticket, uint32_t mask, uint64_t patience_ns)
{
	if (!COUNTING_IS_ON)
		return eventcount_wait(ec, ticket, mask, patience_ns);

	uint64_t start_ns = clock_now_ns(), end_ns;

	atomic_store_explicit(&w->asleep_since_ns, start_ns,
			      memory_order_relaxed);
	count_own(&w->asleep_ns, -start_ns);

	bool was_woken = eventcount_wait(ec, ticket, mask, patience_ns);

	end_ns = clock_now_ns();
	count_own(&w->asleep_ns, end_ns);
	/*
	 * Pair A of tally.c: if a reader sees this sleep in the trace, it also
	 * sees that the worker is awake.
	 */
	atomic_store_explicit(&w->asleep_since_ns, 0, memory_order_relaxed);
	trace_add(&w->trace, &(struct span){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = SPAN_SLEEP,
			     });
	return was_woken;
}

/*
 * Leave the pool, unless a newer thread has to leave first.  True: it has left.
 */
static bool pool_shrink(struct pool *p, uint32_t number)
{
	uint32_t last = number + 1;

	return number > 0 &&
	       atomic_compare_exchange_strong(&p->active_count, &last, number);
}

/* Come back: an event came just before pool_shrink(), and woke nobody. */
static void pool_come_back(struct pool *p, uint32_t number)
{
	(void)atomic_compare_exchange_strong(&p->active_count, &number,
					     number + 1);
}

/*
 * Sleep for the visitor's time, or until an event arrives at the station where
 * it rests.
 */
static void sleep_at_station(struct worker *w)
{
	struct station *at = station_of(w->visitor.rest_at);
	uint32_t ticket = eventcount_prepare(&at->own);

	/* If it is not open, its worker wakes this one when it leaves. */
	if ((queued_count(&at->visited) + passed_count(&at->visited) > 0 &&
	     is_open(&at->visited)) ||
	    group_is_drained(w->group)) {
		eventcount_cancel(&at->own);
		visitor_woken(&w->visitor);
		return;
	}
	visitor_rest(&w->visitor);
	count_own(&w->sleep_count, 1);
	if (sleep_traced(w, &at->own, ticket, EVENTCOUNT_ANY,
			 w->visitor.rest_ns))
		visitor_woken(&w->visitor);
}

/* Sleep until there may be work.  False: the group is drained. */
static bool sleep_for_work(struct worker *w)
{
	struct pool *p = pool_of(w);
	uint32_t ticket = eventcount_prepare(w->sleeps);

	if (has_work(w) || group_is_drained(w->group)) {
		eventcount_cancel(w->sleeps);
		return !group_is_drained(w->group);
	}
	visitor_rest(&w->visitor);
	count_own(&w->sleep_count, 1);
	if (!sleep_traced(w, w->sleeps, ticket, w->wake_mask,
			  p->is_auto && w->number > 0 ? POOL_PATIENCE_NS : 0) &&
	    pool_shrink(p, w->number) && has_work(w))
		pool_come_back(p, w->number);
	return true;
}

/* False: the group is drained. */
static bool rest(struct worker *w)
{
	if (w->visitor.rest_ns == 0)
		return sleep_for_work(w);
	sleep_at_station(w);
	return !group_is_drained(w->group);
}

static bool is_parked(const struct worker *w)
{
	const struct pool *p = pool_of(w);

	return p->thread_count > 0 &&
	       w->number >= atomic_load(&p->active_count);
}

/* Sleep until the pool may need this thread.  False: the group is drained. */
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

	/* The clock fails if the thread has just ended. */
	if (atomic_load(&w->has_cpu_clock) &&
	    clock_gettime(atomic_load(&w->cpu_clock), &t) == 0)
		tally_max(&w->cpu_read_ns,
			  (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec);
	return tally_read(&w->cpu_read_ns);
}

/* Open the thread's CPU clock for readers in other threads. */
static void open_cpu_clock(struct worker *w)
{
	clockid_t clock;

	if (pthread_getcpuclockid(pthread_self(), &clock) != 0)
		return;
	atomic_store(&w->cpu_clock, clock);
	atomic_store(&w->has_cpu_clock, true);
}

/* After the thread's end, its clock's number may be used for another thread. */
static void close_cpu_clock(struct worker *w)
{
	(void)worker_cpu_ns(w);
	atomic_store(&w->has_cpu_clock, false);
}

void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct stage_group *g = w->group;

	(void)pthread_setname_np(pthread_self(), w->name);
	/*
	 * If this is refused, as a container may do, the worker runs without
	 * being bound to cores.
	 */
	(void)cores_bind(g->cores, w->core_first, w->core_count);
	worker_set_current(w);
	perf_init(&w->perf);
	if (g->counts_hardware)
		atomic_store(&w->counts_hardware, perf_open(&w->perf));
	open_cpu_clock(w);
	for (bool goes_on = true; goes_on;) {
		if (is_parked(w))
			goes_on = sleep_parked(w);
		else if (!worker_visit(w))
			goes_on = rest(w);
		else if (!w->visitor.has_found) /* it may not rest for long */
			goes_on = !group_is_drained(g);
	}
	/* A thread of a pool stays at its stage, and may never have rested. */
	visitor_rest(&w->visitor);
	perf_close(&w->perf);
	close_cpu_clock(w);
	return NULL;
}
