/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/images/reading.h"

enum {
	PIECES = 512, /* in the memory, within these limits: */
	PIECE_BYTES_MIN = 16 << 10,
	PIECE_BYTES_MAX = 256 << 10,
	KEPT_SHARE = 4,       /* this part of the threads has no GET */
	CONNECTION_SHARE = 2, /* this part of the connections may have one */
};

/* At least one thread is kept from GETs, if there are two. */
static uint32_t turns_of(uint32_t store_threads)
{
	if (store_threads == 0)
		return UINT32_MAX;
	if (store_threads < KEPT_SHARE)
		return store_threads > 1 ? store_threads - 1 : 1;
	return store_threads - store_threads / KEPT_SHARE;
}

void reading_init(struct reading *g, uint64_t bytes_max, uint32_t store_threads,
		  uint32_t connections)
{
	budget_init(&g->budget, bytes_max, 0);
	(void)pthread_mutex_init(&g->lock, NULL);
	TAILQ_INIT(&g->waiting);
	g->admitted = 0;
	g->admitted_max = connections > 1 ? connections / CONNECTION_SHARE : 1;
	g->running = 0;
	g->running_max = turns_of(store_threads);
}

void reading_release(struct reading *g)
{
	(void)pthread_mutex_destroy(&g->lock);
	budget_release(&g->budget);
}

bool reading_admit(struct reading *g, bool has_begun)
{
	bool is_admitted;

	(void)pthread_mutex_lock(&g->lock);
	is_admitted = has_begun || g->admitted < g->admitted_max;
	g->admitted += is_admitted;
	(void)pthread_mutex_unlock(&g->lock);
	return is_admitted;
}

bool reading_enter(struct reading *g, struct read_turn *t)
{
	bool has_turn;

	(void)pthread_mutex_lock(&g->lock);
	has_turn = g->running < g->running_max;
	g->running += has_turn;
	if (!has_turn)
		TAILQ_INSERT_TAIL(&g->waiting, t, link);
	(void)pthread_mutex_unlock(&g->lock);
	return has_turn;
}

struct read_turn *reading_leave(struct reading *g)
{
	struct read_turn *next;

	(void)pthread_mutex_lock(&g->lock);
	g->admitted--;
	next = TAILQ_FIRST(&g->waiting);
	if (next != NULL)
		TAILQ_REMOVE(&g->waiting, next, link);
	else
		g->running--;
	(void)pthread_mutex_unlock(&g->lock);
	return next;
}

uint64_t reading_piece_bytes(const struct reading *g)
{
	return max_u64(
		PIECE_BYTES_MIN,
		min_u64(PIECE_BYTES_MAX, g->budget.limit_bytes / PIECES));
}

bool reading_charge_whole(struct charge *c, uint64_t bytes)
{
	const struct budget *b = c->budget;
	uint64_t half = b->limit_bytes / 2;
	uint64_t used =
		atomic_load_explicit(&b->used_bytes, memory_order_relaxed);

	return bytes <= half && used <= half - bytes && budget_try(c, bytes);
}
