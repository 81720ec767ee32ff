/* SPDX-License-Identifier: MIT */
/*
 * ThreadSanitizer cannot see the atomic operations of Concurrency Kit, which
 * are assembly.  So this file is built without ThreadSanitizer, and tells it
 * what a queue guarantees: everything that a thread did before it pushed an
 * event happened before the pop of that event.
 */
#include "stages/queue.h"

#include "stages/event.h"
#include "stages/heap.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
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

/* Events by rank. */
struct ranked {
	struct discipline discipline;
	pthread_mutex_t lock;
	uint32_t slots;
	uint64_t pushed_count;
	/* Number of events in the heap; written under the lock. */
	_Atomic uint32_t count;
	_Atomic uint64_t first_rank;
	struct heap heap;
};

struct queue {
	struct ranked *ranked; /* NULL: the ring is used */
	struct ck_ring ring;
	struct ck_ring_buffer slots[];
};

#define RANKS 0x1p64 /* a rank is less than this */

/* A rank that is too large for 64 bits becomes the last rank. */
static uint64_t srpt_rank(const struct discipline *d, const struct event *ev)
{
	double aged_ns = d->ageing * (double)ev->left_ns;

	if (d->follows_load && aged_ns > (double)ev->patience_ns)
		aged_ns = (double)ev->patience_ns;
	/* No patience with work that was not predicted. */
	if (ev->overrun_ns > ev->margin_ns)
		aged_ns += d->ageing * (double)(ev->overrun_ns - ev->margin_ns);
	if (!(aged_ns < RANKS) || (uint64_t)aged_ns > UINT64_MAX - ev->born_ns)
		return UINT64_MAX;
	return ev->born_ns + (uint64_t)aged_ns;
}

uint64_t discipline_rank(const struct discipline *d, const struct event *ev,
			 uint64_t number)
{
	switch (d->kind) {
	case DISCIPLINE_LCFS:
		return ~number;
	case DISCIPLINE_SRPT:
		assert(d->ageing >= 0); /* not a NaN */
		return srpt_rank(d, ev);
	case DISCIPLINE_EDF:
		return ev->deadline_ns > 0 ? ev->deadline_ns : RANK_NONE;
	case DISCIPLINE_FCFS:
	case DISCIPLINE_STACK:
		break;
	}
	return number;
}

static struct ranked *ranked_new(uint32_t slots, uint32_t returns,
				 const struct discipline *discipline)
{
	pthread_mutexattr_t attr;
	struct ranked *r = calloc(1, sizeof(*r));

	if (r == NULL || !heap_reserve(&r->heap, slots + returns)) {
		free(r);
		return NULL;
	}
	r->discipline = *discipline;
	r->slots = slots;
	r->first_rank = RANK_NONE;
	/*
	 * This kind of lock spins a little before it sleeps: it is held only
	 * for a short time.
	 */
	(void)pthread_mutexattr_init(&attr);
	(void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	(void)pthread_mutex_init(&r->lock, &attr);
	(void)pthread_mutexattr_destroy(&attr);
	return r;
}

static void ranked_free(struct ranked *r)
{
	if (r == NULL)
		return;
	(void)pthread_mutex_destroy(&r->lock);
	heap_release(&r->heap);
	free(r);
}

static uint32_t ranked_count(const struct ranked *r)
{
	return atomic_load_explicit(&r->count, memory_order_relaxed);
}

/* Publish the count and the first rank for readers without the lock. */
static void ranked_show(struct ranked *r)
{
	atomic_store_explicit(&r->count, r->heap.count, memory_order_relaxed);
	atomic_store_explicit(&r->first_rank,
			      r->heap.count > 0 ? r->heap.entries[0].key :
						  RANK_NONE,
			      memory_order_relaxed);
}

/*
 * Insert by rank; among equal ranks, by place.  The caller holds the lock.
 */
static void ranked_insert(struct ranked *r, struct event *ev)
{
	heap_push(&r->heap,
		  (struct heap_entry){
			  .key = discipline_rank(&r->discipline, ev,
						 event_inside(ev)->place),
			  .order = event_inside(ev)->place,
			  .item = ev,
		  });
	ranked_show(r);
}

__attribute__((noinline)) static bool ranked_push(struct ranked *r,
						  struct event *ev)
{
	(void)pthread_mutex_lock(&r->lock);
	bool has_room = r->heap.count < r->slots;

	if (has_room) {
		event_inside(ev)->place = r->pushed_count++;
		ranked_insert(r, ev);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return has_room;
}

void queue_return(struct queue *q, struct event *ev)
{
	struct ranked *r = q->ranked;

	if (r == NULL) {
		bool has_room = queue_push(q, ev);

		assert(has_room);
		(void)has_room;
		return;
	}
	(void)pthread_mutex_lock(&r->lock);
	ranked_insert(r, ev);
	(void)pthread_mutex_unlock(&r->lock);
}

__attribute__((noinline)) static struct event *ranked_pop(struct ranked *r)
{
	struct event *ev = NULL;

	if (ranked_count(r) == 0)
		return NULL;
	(void)pthread_mutex_lock(&r->lock);
	if (r->heap.count > 0) {
		ev = heap_pop(&r->heap).item;
		ranked_show(r);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return ev;
}

struct queue *queue_new(uint32_t slots, uint32_t returns,
			const struct discipline *discipline)
{
	uint32_t size = RING_MIN;
	bool is_ring = !discipline_has_ranks(discipline);

	assert(slots >= 1 && slots <= QUEUE_SLOTS_MAX);
	while (is_ring && size - 1 < slots)
		size *= 2;

	struct queue *q = aligned_alloc(
		CK_MD_CACHELINE,
		(sizeof(*q) + size * sizeof(*q->slots) + CK_MD_CACHELINE - 1) /
			CK_MD_CACHELINE * CK_MD_CACHELINE);

	if (q == NULL)
		return NULL;
	q->ranked = is_ring ? NULL : ranked_new(slots, returns, discipline);
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
	 * The commit would spin until it is this sender's turn.  If the sender
	 * whose turn it is has lost its core, let it have this core.
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

uint64_t queue_first_rank(const struct queue *q)
{
	return q->ranked != NULL ? atomic_load_explicit(&q->ranked->first_rank,
							memory_order_relaxed) :
				   RANK_NONE;
}

uint32_t queue_count(const struct queue *q)
{
	return q->ranked != NULL ? ranked_count(q->ranked) :
				   ck_ring_size(&q->ring);
}
