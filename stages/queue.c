/* SPDX-License-Identifier: MIT */
/*
 * ck's atomics are assembly that ThreadSanitizer cannot see: this file is
 * built without it, and tells it what a queue promises: what happened before
 * a push happened before the pop of the same event.
 */
#include "stages/queue.h"

#include "stages/discipline.h"
#include "stages/ranked.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>

#include <ck_ring.h>

#ifdef DARKROOM_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#else
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#endif

enum { RING_MIN = 4, SPINS_MAX = 100 };

struct queue {
	struct ranked *ranked; /* or NULL, and the ring is used */
	struct ck_ring ring;
	struct ck_ring_buffer slots[];
};

struct queue *queue_new(uint32_t slots, const struct discipline *discipline)
{
	uint32_t size = RING_MIN;
	bool is_ring = discipline->kind == DISCIPLINE_FCFS ||
		       discipline->kind == DISCIPLINE_STACK;

	assert(slots >= 1 && slots <= QUEUE_SLOTS_MAX);
	while (is_ring && size - 1 < slots)
		size *= 2;

	struct queue *q = aligned_alloc(
		CK_MD_CACHELINE,
		(sizeof(*q) + size * sizeof(*q->slots) + CK_MD_CACHELINE - 1) /
			CK_MD_CACHELINE * CK_MD_CACHELINE);

	if (q == NULL)
		return NULL;
	q->ranked = is_ring ? NULL : ranked_new(slots, discipline);
	ck_ring_init(&q->ring, size);
	if (is_ring || q->ranked != NULL)
		return q;
	free(q);
	return NULL;
}

void queue_free(struct queue *q)
{
	if (q == NULL)
		return;
	assert(queue_count(q) == 0);
	ranked_free(q->ranked);
	free(q);
}

bool queue_push(struct queue *q, struct event *ev)
{
	unsigned int ticket;
	uint32_t spins = 0;

	if (q->ranked != NULL)
		return ranked_push(q->ranked, ev);
	__tsan_release(ev);
	void **slot = ck_ring_enqueue_reserve_mpmc(&q->ring, q->slots, &ticket);

	if (slot == NULL)
		return false;
	*slot = ev;
	/*
	 * The commit would spin for its turn.  If the sender whose turn it is
	 * has lost its core, let it have this one.
	 */
	while (ck_pr_load_uint(&q->ring.p_tail) != ticket)
		if (++spins < SPINS_MAX)
			ck_pr_stall();
		else
			(void)sched_yield();
	ck_ring_enqueue_commit_mpmc(&q->ring, ticket);
	return true;
}

struct event *queue_pop(struct queue *q)
{
	struct event *ev;

	if (q->ranked != NULL)
		return ranked_pop(q->ranked);
	if (!ck_ring_dequeue_mpmc(&q->ring, q->slots, &ev))
		return NULL;
	__tsan_acquire(ev);
	return ev;
}

uint32_t queue_count(const struct queue *q)
{
	return q->ranked != NULL ? ranked_count(q->ranked) :
				   ck_ring_size(&q->ring);
}
