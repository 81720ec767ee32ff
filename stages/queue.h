/* SPDX-License-Identifier: MIT */
/*
 * Event queues: bounded, in the order of a discipline, any number of threads.
 *
 * First come first served: a Concurrency Kit ring (ck_ring, many producers and
 * consumers) that no other file sees.  What ck_ring.h leaves unsaid: a ring of
 * 2^k slots, k >= 2, holds 2^k - 1 events; and a push waits for pushes that
 * began before it to store their event, which takes a few instructions unless
 * such a sender loses its core just there: then those behind it yield theirs.
 * Pops never wait.
 * Other disciplines: a heap under a lock (ranked.h).
 *
 * Ownership  The queue owns an event from push to pop.
 * Threads    push, pop and count: any, at once.  The rest: one.
 * Limits     Never grows.  A full queue refuses.
 */
#ifndef STAGES_QUEUE_H
#define STAGES_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct discipline;
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
__attribute__((warn_unused_result)) bool queue_push(struct queue *q,
						    struct event *ev);

/* The first event, now the caller's.  NULL: empty. */
struct event *queue_pop(struct queue *q);

/*
 * Events waiting.  Exact when nobody pushes or pops; else a moment old, and off
 * by as many as came and went while it looked.
 */
uint32_t queue_count(const struct queue *q);

#endif
