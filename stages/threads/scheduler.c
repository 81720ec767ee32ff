/* SPDX-License-Identifier: MIT */
/*
 * The inbox is a list.  Any thread adds an event at its front by compare and
 * swap; the kernel thread takes all of it at once, and reverses it.  No event
 * is ever removed alone, so the first one cannot be removed and added again
 * during a compare and swap (the ABA problem).
 *
 * With many threads each switch meets an event that has left the cache, and for
 * a thread that has waited also a fibre and a stack.  So the next ones of a
 * queue are fetched ahead.
 */
#include "stages/threads/scheduler.h"

#include "base/util.h"
#include "stages/threads/fibre.h"
#include "stages/threads/resources.h"
#include "stages/event.h"

#include <assert.h>
#include <stdlib.h>

/* What a ready thread needs before it can run. */
enum kind {
	BEGUN,   /* nothing: it has a stack */
	STARTED, /* a stack; it is part of work under way */
	POSTED,  /* a stack that is not reserved for such work */
	KINDS
};

enum { RESERVED_SHARE = 8, LINE_BYTES = 64 };

/* How many switches before its own an event is fetched into the cache. */
enum { FETCH_AHEAD = 8 };

struct fifo {
	struct event_list list;
	uint64_t pushed_count, popped_count;
	/* Those that were pushed last, by number. */
	struct event *last[FETCH_AHEAD];
};

struct run_queue {
	struct fifo fifos[KINDS];
	_Atomic uint32_t ready_count, waiting_count;
};

struct scheduler {
	struct scheduler_config config;
	void *state;
	struct fibres *stacks;
	struct fibre *idle; /* the last one used, if it is free; or NULL */
	uint32_t free_count, reserved_count; /* stacks */
	uint64_t number;                     /* of the next thread that waits */
	uint64_t ready[KINDS];               /* bit per place */

	/* The running thread.  Its event may have another owner at its end. */
	struct event *running;
	struct fibre *fibre;
	const struct blocking_site *sent_at; /* its handler's result */
	uint32_t node;
	struct usage used;
	uint64_t turn_ns; /* when it was continued */
	uint64_t now_ns;

	/* For reports. */
	_Atomic uint32_t used_count, used_count_max; /* stacks */
	_Atomic uint64_t begun_count, switch_count;
	struct run_queue queues[PLACES_MAX];
	_Alignas(64) _Atomic(struct event *) inbox;
};

/* --- Run queues, one for each place. --- */

/* One thread writes it, so no atomic addition is needed. */
static void count(_Atomic uint32_t *n, int32_t change)
{
	uint32_t old = atomic_load_explicit(n, memory_order_relaxed);

	atomic_store_explicit(n, old + (uint32_t)change, memory_order_relaxed);
}

static void count_up(_Atomic uint64_t *n)
{
	uint64_t old = atomic_load_explicit(n, memory_order_relaxed);

	atomic_store_explicit(n, old + 1, memory_order_relaxed);
}

static void push_ready(struct scheduler *s, struct event *ev, enum kind kind)
{
	struct event_inside *in = event_inside(ev);
	struct run_queue *p = &s->queues[in->node];
	struct fifo *f = &p->fifos[kind];

	in->place = s->number++;
	event_list_push(&f->list, ev);
	if (f->pushed_count - f->popped_count >= FETCH_AHEAD)
		event_inside(f->last[f->pushed_count % FETCH_AHEAD])->ahead =
			ev;
	f->last[f->pushed_count++ % FETCH_AHEAD] = ev;
	in->ahead = NULL;
	s->ready[kind] |= UINT64_C(1) << in->node;
	count(&p->ready_count, 1);
}

static bool can_run(const struct scheduler *s, enum kind kind)
{
	switch (kind) {
	case STARTED:
		return s->free_count > 0;
	case POSTED:
		return s->free_count > s->reserved_count;
	default:
		return true;
	}
}

/* Bit per place: a thread can run. */
static uint64_t find_ready(const struct scheduler *s)
{
	uint64_t ready = 0;

	for (enum kind k = 0; k < KINDS; k++)
		if (can_run(s, k))
			ready |= s->ready[k];
	return ready;
}

/*
 * `ev` leaves the queue.  Fetch what later switches will need: the event that
 * leaves FETCH_AHEAD switches after `ev`, and the fibres of the next two
 * events.  `ahead` is a shortcut, because to follow the list, each event on
 * the way would first have to arrive in the cache.
 */
static void fetch_ahead(const struct event *ev, const struct event *next)
{
	const char *ahead = (const char *)event_peek(ev)->ahead;

	/* Fetching an event that no longer exists does no harm. */
	for (size_t i = 0; i < sizeof(*ev); i += LINE_BYTES)
		__builtin_prefetch(ahead + i, 1);
	for (int i = 2; i > 0 && next != NULL;
	     i--, next = event_peek(next)->next)
		if (event_peek(next)->fibre != NULL)
			fibre_fetch(event_peek(next)->fibre, i == 2);
}

/* The first thread of the place that can run; there is one. */
static struct event *pop(struct scheduler *s, uint32_t place)
{
	struct run_queue *p = &s->queues[place];
	enum kind kind = KINDS;

	for (enum kind k = 0; k < KINDS; k++) {
		const struct event *ev = p->fifos[k].list.first;

		if (ev != NULL && can_run(s, k) &&
		    (kind == KINDS ||
		     event_peek(ev)->place <
			     event_peek(p->fifos[kind].list.first)->place))
			kind = k;
	}
	assert(kind < KINDS);
	struct fifo *f = &p->fifos[kind];
	struct event *ev = event_list_pop(&f->list);

	if (f->list.first == NULL)
		s->ready[kind] &= ~(UINT64_C(1) << place);
	count(&p->ready_count, -1);
	f->popped_count++;
	fetch_ahead(ev, f->list.first);
	return ev;
}

/* --- What policies are asked and told. --- */

static uint32_t arrive(struct scheduler *s, uint32_t from,
		       const struct blocking_site *at, const struct usage *used)
{
	uint32_t place = s->config.policy->arrive(s->state, from, at, used);

	assert(place < PLACES_MAX);
	return place;
}

static const struct usage *used_now(struct scheduler *s)
{
	s->used.cpu_ns = s->now_ns - s->turn_ns;
	return &s->used;
}

/* --- The inbox. --- */

static void put_into_inbox(struct scheduler *s, struct event *ev)
{
	struct event *first = atomic_load(&s->inbox);

	do
		event_inside(ev)->next = first;
	while (!atomic_compare_exchange_weak(&s->inbox, &first, ev));
	/* From here on the event may have ended. */
	eventcount_wake_one(s->config.sleeps, EVENTCOUNT_ANY);
}

void scheduler_post(struct scheduler *s, struct event *ev,
		    const struct blocking_site *at, bool is_new)
{
	struct event_inside *in = event_inside(ev);

	in->scheduler = s;
	in->site = at;
	in->is_new = is_new;
	in->fibre = NULL;
	in->node = PLACE_NONE;
	atomic_store(&in->wake, WAKE_RUNS);
	put_into_inbox(s, ev);
}

void scheduler_wake(struct event *ev)
{
	put_into_inbox(event_inside(ev)->scheduler, ev);
}

/* `ev` was in the inbox. */
static void receive(struct scheduler *s, struct event *ev)
{
	static const struct usage none;
	struct event_inside *in = event_inside(ev);

	if (in->fibre == NULL) {
		in->node = (uint16_t)arrive(s, PLACE_NONE, in->site, &none);
		count_up(&s->begun_count);
		push_ready(s, ev, in->is_new ? POSTED : STARTED);
		return;
	}
	wake_reset(&in->wake);
	count(&s->queues[in->node].waiting_count, -1);
	push_ready(s, ev, BEGUN);
}

static void empty_inbox(struct scheduler *s)
{
	struct event *newest, *oldest = NULL;

	if (atomic_load_explicit(&s->inbox, memory_order_relaxed) == NULL)
		return;
	newest = atomic_exchange(&s->inbox, NULL);
	while (newest != NULL) {
		struct event *next = event_inside(newest)->next;

		event_inside(newest)->next = oldest;
		oldest = newest;
		newest = next;
	}
	while (oldest != NULL) {
		struct event *next = event_inside(oldest)->next;

		receive(s, oldest);
		oldest = next;
	}
}

/* --- The kernel thread. --- */

/* See scheduler.h: not for threads that have not begun. */
static uint32_t reserved_stacks(uint32_t count)
{
	if (count == 1)
		return 0;
	return (uint32_t)max_u64(count / RESERVED_SHARE, 1);
}

struct scheduler *scheduler_new(const struct scheduler_config *config)
{
	struct scheduler *s = aligned_alloc(_Alignof(struct scheduler),
					    sizeof(struct scheduler));

	if (s == NULL)
		return NULL;
	*s = (struct scheduler){
		.config = *config,
		.state = calloc(1, config->policy->state_bytes + 1),
		.stacks = fibres_new(&config->stacks),
	};
	if (s->state == NULL || s->stacks == NULL) {
		scheduler_free(s);
		return NULL;
	}
	s->free_count = fibres_count(s->stacks);
	s->reserved_count = reserved_stacks(s->free_count);
	if (config->policy->start != NULL)
		config->policy->start(s->state, config->shared);
	return s;
}

void scheduler_free(struct scheduler *s)
{
	if (s == NULL)
		return;
	assert(atomic_load(&s->inbox) == NULL);
	if (s->idle != NULL)
		fibres_give(s->stacks, s->idle);
	fibres_free(s->stacks);
	free(s->state);
	free(s);
}

/* One more stack is in use. */
static void count_stack(struct scheduler *s)
{
	uint32_t used;

	count(&s->used_count, 1);
	used = atomic_load_explicit(&s->used_count, memory_order_relaxed);
	if (used >
	    atomic_load_explicit(&s->used_count_max, memory_order_relaxed))
		atomic_store_explicit(&s->used_count_max, used,
				      memory_order_relaxed);
}

/* On a stack: the next handler of a thread. */
static void run_handler(void *arg)
{
	struct scheduler *s = arg;

	s->sent_at = s->config.run(s->running);
}

/* True: the handler has returned. */
static bool take_stack(struct scheduler *s)
{
	s->fibre = s->idle != NULL ? s->idle : fibres_take(s->stacks);
	s->idle = NULL;
	s->free_count--;
	count_stack(s);
	s->used.taken[RESOURCE_STACKS]++;
	assert(s->fibre != NULL);
	return fibre_run(s->fibre, run_handler, s);
}

static void give_stack(struct scheduler *s)
{
	if (s->idle != NULL)
		fibres_give(s->stacks, s->idle);
	s->idle = s->fibre;
	s->free_count++;
	count(&s->used_count, -1);
	s->used.taken[RESOURCE_STACKS]--;
}

/* The running thread has reached the blocking point `at`. */
static void reach(struct scheduler *s, const struct blocking_site *at,
		  struct fibre *stack)
{
	struct event *ev = s->running;
	struct event_inside *in = event_inside(ev);

	in->node = (uint16_t)arrive(s, s->node, at, used_now(s));
	in->fibre = stack;
	/* It may have ended its event, and sent it as a new one. */
	in->scheduler = s;
}

/* `n` is 1: the thread waits, and keeps its stack; -1: its handler ended. */
static void keep_stack(struct scheduler *s, int64_t n)
{
	if (s->config.shared != NULL)
		resources_take(s->config.shared, RESOURCE_STACKS, n);
}

/* The thread has paused within a handler. */
static void leave_stack(struct scheduler *s, const struct event *ev,
			bool has_kept)
{
	if (!has_kept)
		keep_stack(s, 1);
	if (atomic_load_explicit(&event_peek(ev)->wake, memory_order_relaxed) ==
	    WAKE_WAITS)
		fibre_trim(s->fibre);
}

static void go_on(struct scheduler *s, struct event *ev)
{
	struct event_inside *in = event_inside(ev);
	bool has_kept = in->fibre != NULL;

	s->running = ev;
	s->fibre = in->fibre;
	in->fibre = NULL;
	s->node = in->node;
	s->used = (struct usage){ 0 };
	s->turn_ns = s->now_ns;
	count_up(&s->switch_count);
	if (has_kept ? !fibre_resume(s->fibre) : !take_stack(s)) {
		leave_stack(s, ev, has_kept);
		return;
	}
	give_stack(s);
	if (has_kept)
		keep_stack(s, -1);
	if (s->sent_at == NULL) {
		/* The thread has ended; its event may have another owner. */
		s->config.policy->leave(s->state, s->node, used_now(s));
		return;
	}
	reach(s, s->sent_at, NULL);
	push_ready(s, s->running, STARTED);
}

void scheduler_run(struct scheduler *s, uint64_t now_ns)
{
	s->now_ns = now_ns;
	for (;;) {
		empty_inbox(s);
		uint64_t ready = find_ready(s);

		if (ready == 0)
			return;
		uint32_t place =
			s->config.policy->pick(s->state, ready, s->now_ns);

		assert(place < PLACES_MAX && (ready >> place & 1));
		go_on(s, pop(s, place));
	}
}

bool scheduler_has_work(const struct scheduler *s)
{
	return atomic_load(&s->inbox) != NULL;
}

/* --- The running thread. --- */

void scheduler_set_now(struct scheduler *s, uint64_t now_ns)
{
	s->now_ns = now_ns;
}

uint64_t scheduler_now(const struct scheduler *s)
{
	return s->now_ns;
}

void scheduler_become(struct scheduler *s, struct event *ev)
{
	s->running = ev;
}

void scheduler_start(struct scheduler *s, struct event *ev,
		     const struct blocking_site *at)
{
	struct event_inside *in = event_inside(ev);

	in->scheduler = s;
	in->fibre = NULL;
	in->node = (uint16_t)arrive(s, s->node, at, NULL);
	atomic_store_explicit(&in->wake, WAKE_RUNS, memory_order_relaxed);
	count_up(&s->begun_count);
	push_ready(s, ev, STARTED);
}

void scheduler_wait(struct scheduler *s, const struct blocking_site *at)
{
	struct event *ev = s->running;
	struct event_inside *in = event_inside(ev);

	reach(s, at, s->fibre);
	/*
	 * It may be woken, and be in the inbox, before it has left its stack:
	 * only this kernel thread takes it from there, later.
	 */
	count(&s->queues[in->node].waiting_count, 1);
	if (!wake_wait(&in->wake)) {
		count(&s->queues[in->node].waiting_count, -1);
		wake_reset(&in->wake);
		push_ready(s, ev, BEGUN);
	}
	fibre_pause(s->fibre);
}

void scheduler_take(struct scheduler *s, enum resource r, int64_t amount)
{
	s->used.taken[r] += amount;
}

/* --- Reports. --- */

void scheduler_read(const struct scheduler *s,
		    struct scheduler_place places[PLACES_MAX],
		    struct scheduler_counts *out)
{
	for (uint32_t i = 0; i < PLACES_MAX; i++) {
		const struct run_queue *p = &s->queues[i];

		places[i] = (struct scheduler_place){
			.ready = atomic_load_explicit(&p->ready_count,
						      memory_order_relaxed),
			.waiting = atomic_load_explicit(&p->waiting_count,
							memory_order_relaxed),
		};
	}
	*out = (struct scheduler_counts){
		.begun_count = atomic_load_explicit(&s->begun_count,
						    memory_order_relaxed),
		.switch_count = atomic_load_explicit(&s->switch_count,
						     memory_order_relaxed),
		.stack_count = atomic_load_explicit(&s->used_count,
						    memory_order_relaxed),
		.stack_count_max = atomic_load_explicit(&s->used_count_max,
							memory_order_relaxed),
	};
}

const void *scheduler_state(const struct scheduler *s)
{
	return s->state;
}

uint32_t scheduler_stack_count(const struct scheduler *s)
{
	return fibres_count(s->stacks);
}
