/* SPDX-License-Identifier: MIT */
#include "stages/ranked.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct place {
	uint64_t rank;
	struct event *event;
};

struct ranked {
	struct discipline discipline;
	pthread_mutex_t lock;
	uint32_t slots;
	uint64_t pushed_count;
	_Atomic uint32_t count; /* written under the lock */
	struct place heap[];    /* a parent's rank is never above its child's */
};

struct ranked *ranked_new(uint32_t slots, const struct discipline *discipline)
{
	pthread_mutexattr_t attr;
	struct ranked *r = calloc(1, sizeof(*r) + slots * sizeof(*r->heap));

	if (r == NULL)
		return NULL;
	r->discipline = *discipline;
	r->slots = slots;
	/* It spins a little first: the lock is held for less than a sleep. */
	(void)pthread_mutexattr_init(&attr);
	(void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	(void)pthread_mutex_init(&r->lock, &attr);
	(void)pthread_mutexattr_destroy(&attr);
	return r;
}

void ranked_free(struct ranked *r)
{
	if (r == NULL)
		return;
	assert(ranked_count(r) == 0);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

/* Move the hole at `at` up to where `rank` belongs. */
static uint32_t rise(struct place *heap, uint32_t at, uint64_t rank)
{
	while (at > 0 && rank < heap[(at - 1) / 2].rank) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	return at;
}

/* Move the hole at the top down to where `rank` belongs. */
static uint32_t sink(struct place *heap, uint32_t count, uint64_t rank)
{
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < count &&
		    heap[child + 1].rank < heap[child].rank)
			child++;
		if (child >= count || rank <= heap[child].rank)
			return at;
		heap[at] = heap[child];
		at = child;
	}
}

bool ranked_push(struct ranked *r, struct event *ev)
{
	(void)pthread_mutex_lock(&r->lock);
	uint32_t count = ranked_count(r);
	bool has_room = count < r->slots;

	if (has_room) {
		struct place new = { discipline_rank(&r->discipline, ev,
						     r->pushed_count++),
				     ev };

		r->heap[rise(r->heap, count, new.rank)] = new;
		atomic_store_explicit(&r->count, count + 1,
				      memory_order_relaxed);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return has_room;
}

struct event *ranked_pop(struct ranked *r)
{
	struct event *ev = NULL;

	if (ranked_count(r) == 0)
		return NULL;
	(void)pthread_mutex_lock(&r->lock);
	uint32_t count = ranked_count(r);

	if (count > 0) {
		struct place last = r->heap[--count];

		ev = r->heap[0].event;
		r->heap[sink(r->heap, count, last.rank)] = last;
		atomic_store_explicit(&r->count, count, memory_order_relaxed);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return ev;
}

uint32_t ranked_count(const struct ranked *r)
{
	return atomic_load_explicit(&r->count, memory_order_relaxed);
}
