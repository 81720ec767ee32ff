/* SPDX-License-Identifier: MIT */
/*
 * Event queues: bounded, and in the order of a queue discipline.
 *
 * For the disciplines fcfs and stack a queue is a ring of Concurrency Kit
 * (ck_ring, many producers and consumers).  What ck_ring.h does not say: a ring
 * of 2^k slots, k >= 2, holds 2^k - 1 events.  A push waits until earlier
 * pushes have stored their events.  That takes a few instructions, unless a
 * sender loses its core just then; meanwhile the later senders yield their
 * cores.  A pop never waits.
 *
 * For other disciplines it is a heap with a lock, which is held for one push or
 * pop.
 *
 * Ownership  The queue owns an event from push to pop.
 * Threads    push, pop and count: any number of threads.  The rest: one.
 * Limits     A queue never grows; a full one refuses.
 */
#ifndef STAGES_QUEUE_H
#define STAGES_QUEUE_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

struct discipline; /* stage.h */
struct event;
struct queue;

enum { QUEUE_SLOTS_MAX = (1 << 30) - 1 };

/* The rank of no event; also the last of all ranks. */
#define RANK_NONE UINT64_MAX

/*
 * A queue with room for at least `slots` events, 1 .. QUEUE_SLOTS_MAX.  Events
 * of queue_return() take these, too; up to `returns` (0 or more) of them find
 * room when the queue is full.  NULL: no memory.
 */
struct queue *queue_new(uint32_t slots, uint32_t returns,
			const struct discipline *discipline);

/* Free an empty queue.  NULL is fine. */
void queue_free(struct queue *q);

/* False: full; the caller still owns `ev`. */
MUST_CHECK bool queue_push(struct queue *q, struct event *ev);

/* Take the first event; the caller now owns it.  NULL: empty. */
struct event *queue_pop(struct queue *q);

/*
 * Queue an event again that came from this queue.  Its rank is computed again;
 * among equal ranks it keeps its old place.  Only with a discipline that has
 * ranks (not fcfs or stack), and for at most `returns` events at once.
 */
void queue_return(struct queue *q, struct event *ev);

/* The rank of the first event, a moment ago.  RANK_NONE: empty, or no ranks. */
uint64_t queue_first_rank(const struct queue *q);

/*
 * The rank of the `number`th event that was queued.  The event with the lowest
 * rank is first; of equal ranks, the one with the lower number.  With `stack`,
 * events on a worker's stack are in no queue.
 */
uint64_t discipline_rank(const struct discipline *d, const struct event *ev,
			 uint64_t number);

/*
 * The number of events that wait.  Exact while no thread pushes or pops; while
 * they do, it may be any number up to that of the slots.
 */
uint32_t queue_count(const struct queue *q);

#endif
