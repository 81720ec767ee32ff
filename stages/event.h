/* SPDX-License-Identifier: MIT */
/*
 * Inside stages: the part of an event that its users do not see.
 *
 * It lies in the event itself, so an event costs no allocation.  Whoever has
 * the event owns this part with it (stage.h), except that any thread may change
 * `wake`.
 */
#ifndef STAGES_EVENT_H
#define STAGES_EVENT_H

#include "stages/stage.h"

struct blocking_site;
struct fibre;
struct scheduler;

/* It lies in an array of numbers, so the compiler must expect any alias. */
struct event_inside {
	struct event *next;  /* the next event in a list */
	struct stage *stage; /* whose queue owns it; NULL: not queued */
	uint64_t sent_ns;    /* when it was last sent or paused */
	/* The part of event.waited_ns at the current stage. */
	uint64_t stage_waited_ns;
	/* Time in its handler, up to the last pause. */
	uint64_t stage_ran_ns;
	uint64_t place; /* its number in its queue */
	/* The fibre on which it continues, or begins; NULL: the worker's. */
	struct fibre *fibre;

	/* With user-level threads (scheduler.h). */
	struct scheduler *scheduler;
	const struct event *ahead; /* some positions further in its queue */
	const struct blocking_site *site; /* where it was sent from */
	/*
	 * The policy's place for it, or PLACE_NONE; without such threads, the
	 * number of the station where it waits.
	 */
	uint16_t node;
	bool is_new;           /* it came from outside, and has not begun */
	_Atomic uint32_t wake; /* see stage_wake(), and below */
} __attribute__((may_alias));

_Static_assert(sizeof(struct event_inside) ==
		       sizeof(((struct event *)NULL)->opaque),
	       "EVENT_OPAQUE_WORDS");
_Static_assert(_Alignof(struct event_inside) <= _Alignof(struct event),
	       "the inside of an event is not aligned");

static inline struct event_inside *event_inside(struct event *ev)
{
	return (struct event_inside *)ev->opaque;
}

static inline const struct event_inside *event_peek(const struct event *ev)
{
	return (const struct event_inside *)ev->opaque;
}

/*
 * A wait for another thread, of an event or a closure.  Its owner changes RUNS
 * to WAITS when all is ready for somebody else to go on with it; who wakes it
 * sets WOKEN, and owns it if it was WAITS.  If the wake-up comes first, the
 * change to WAITS fails, and the owner goes on.  So exactly one of them does,
 * and no wake-up is lost.
 */
enum { WAKE_RUNS, WAKE_WAITS, WAKE_WOKEN };

/* False: it was woken already. */
static inline bool wake_wait(_Atomic uint32_t *wake)
{
	uint32_t runs = WAKE_RUNS;

	return atomic_compare_exchange_strong(wake, &runs, WAKE_WAITS);
}

/* True: it has waited, and the caller goes on with it. */
static inline bool wake_up(_Atomic uint32_t *wake)
{
	return atomic_exchange(wake, WAKE_WOKEN) == WAKE_WAITS;
}

/*
 * The wait is over.  An exchange, not a store, so that the event sees what all
 * who woke it wrote.
 */
static inline void wake_reset(_Atomic uint32_t *wake)
{
	(void)atomic_exchange(wake, WAKE_RUNS);
}

static inline void event_list_push(struct event_list *l, struct event *ev)
{
	event_inside(ev)->next = NULL;
	if (l->first == NULL)
		l->first = ev;
	else
		event_inside(l->last)->next = ev;
	l->last = ev;
}

/* NULL: it is empty. */
static inline struct event *event_list_pop(struct event_list *l)
{
	struct event *ev = l->first;

	if (ev != NULL)
		l->first = event_inside(ev)->next;
	return ev;
}

#endif
