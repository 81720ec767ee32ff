/* SPDX-License-Identifier: MIT */
/*
 * Event queues: bounded, in the order of a discipline, any number of threads.
 *
 * First come first served (fcfs and stack): a Concurrency Kit ring (ck_ring,
 * many producers and consumers) that no other file sees.  What ck_ring.h does
 * not say: a ring of 2^k slots, k >= 2, holds 2^k - 1 events; and a push waits
 * until earlier pushes have stored their events, which takes a few instructions
 * unless such a sender loses its core just there; then the later ones yield
 * theirs.  Pops never wait.
 * Other disciplines: a heap under a lock, which is held for a push or a pop.
 *
 * Ownership  The queue owns an event from push to pop.
 * Threads    push, pop and count: any, at once.  The rest: one.
 * Limits     Never grows.  A full queue refuses.
 */
#ifndef STAGES_QUEUE_H
#define STAGES_QUEUE_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

struct discipline; /* schedule.h */
struct event;
struct queue;

enum { QUEUE_SLOTS_MAX = (1 << 30) - 1 };

/*
 * A queue with room for at least `slots` events, 1 .. QUEUE_SLOTS_MAX.  NULL:
 * no memory.
 */
struct queue *queue_new(uint32_t slots, const struct discipline *discipline);

/* Free an empty queue.  NULL is fine. */
void queue_free(struct queue *q);

/* False: full; the caller still owns `ev`. */
MUST_CHECK bool queue_push(struct queue *q, struct event *ev);

/* The first event, now the caller's.  NULL: empty. */
struct event *queue_pop(struct queue *q);

/*
 * The rank of the `number`th event of a queue; the lowest rank is first, and of
 * equal ranks the lower number.  For `stack`: in the queue that comes after the
 * stacks.
 */
uint64_t discipline_rank(const struct discipline *d, const struct event *ev,
			 uint64_t number);

/*
 * Events waiting.  Exact when no thread pushes or pops; else a moment old, and
 * wrong by the number of events that came and went meanwhile.
 */
uint32_t queue_count(const struct queue *q);

#endif
