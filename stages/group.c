/* SPDX-License-Identifier: MIT */
/*
 * Groups: made, started, stopped and freed.
 *
 * Stopping.  `pending` counts the events that are queued or being handled.  A
 * handler sends on before it returns, so the count is 0 only when nothing is
 * left anywhere.  A sender from outside adds to it first and looks at
 * `is_stopping` second; group_stop() sets `is_stopping` first, and workers look
 * at `pending` second.  So either the sender sees the stop and takes its event
 * back, or the workers see the event and stay for it.  A sender that knows of
 * the stop does not touch `pending` at all, so that senders who try again and
 * again cannot keep it from 0.  eventcount.pml is a model of this.
 */
#include "stages/group.h"

#include "stages/cores.h"
#include "stages/queue.h"

#include <assert.h>
#include <stdlib.h>

static void wake_everyone(struct group *g)
{
	for (uint32_t w = 0; w < g->worker_count; w++) {
		struct worker *worker = &g->workers[w];

		eventcount_wake_all(worker->sleeps, EVENTCOUNT_ANY);
		eventcount_wake_all(&worker->stations[0]->pool.parked,
				    EVENTCOUNT_ANY);
	}
	eventcount_wake_all(&g->drained, EVENTCOUNT_ANY);
}

/* Orders around `pending` and `is_stopping`: all sequentially consistent. */
void group_leave(struct group *g)
{
	if (atomic_fetch_sub(&g->pending, 1) == 1 &&
	    atomic_load(&g->is_stopping))
		wake_everyone(g);
}

bool group_is_drained(struct group *g)
{
	return atomic_load(&g->is_stopping) && atomic_load(&g->pending) == 0;
}

struct group *group_new(const struct group_config *config)
{
	struct group *g = calloc(1, sizeof(*g));
	uint32_t parts = config->schedule->part_count;
	uint32_t cores = cores_count(config->cores);

	assert(parts >= 1 && parts <= cores);
	if (g == NULL)
		return NULL;
	g->schedule = *config->schedule;
	g->cores = config->cores;
	g->part_count = parts;
	g->parts = calloc(parts, sizeof(*g->parts));
	if (g->parts == NULL) {
		free(g);
		return NULL;
	}
	for (uint32_t p = 0; p < parts; p++) {
		uint32_t first = (uint32_t)((uint64_t)p * cores / parts);
		uint32_t end = (uint32_t)((uint64_t)(p + 1) * cores / parts);

		g->parts[p].core_first = first;
		g->parts[p].core_count = end - first;
		/* Thieves may do anybody's work, so all sleep in one place. */
		g->parts[p].sleeps =
			g->schedule.steal ? &g->parts[0].own : &g->parts[p].own;
	}
	return g;
}

struct stage *group_add(struct group *g, const struct stage_config *config)
{
	assert(!g->is_started && g->stage_count < STAGES_MAX);
	assert(config->handler != NULL);
	assert(config->slots >= 1 && config->slots <= QUEUE_SLOTS_MAX);
	struct stage *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->config = *config;
	s->group = g;
	s->index = g->stage_count;
	g->stages[g->stage_count++] = s;
	return s;
}

bool group_start(struct group *g)
{
	assert(g->stage_count > 0 && !g->is_started);
	g->is_started = true;
	if (!group_plan(g))
		return false;
	while (g->thread_count < g->worker_count) {
		struct worker *w = &g->workers[g->thread_count];

		if (pthread_create(&w->thread, NULL, worker_main, w) != 0) {
			group_stop(g);
			return false;
		}
		g->thread_count++;
	}
	return true;
}

uint32_t group_worker_count(const struct group *g)
{
	return g->worker_count;
}

bool group_partition(struct group *g, const uint32_t *parts)
{
	if (g->schedule.balance != BALANCE_PARTITION)
		return false;
	for (uint32_t i = 0; i < g->stage_count; i++)
		if (g->stages[i]->config.type == STAGE_PARTITIONED)
			return false;
	for (uint32_t i = 0; i < g->stage_count; i++) {
		assert(parts[i] < g->part_count);
		atomic_store_explicit(&g->stages[i]->part, parts[i],
				      memory_order_relaxed);
	}
	return true;
}

uint32_t stage_part(const struct stage *s)
{
	return atomic_load_explicit(&s->part, memory_order_relaxed);
}

void group_stop(struct group *g)
{
	atomic_store(&g->is_stopping, true);
	wake_everyone(g);
	while (g->thread_count > 0) {
		struct worker *w = &g->workers[--g->thread_count];
		int failed = pthread_join(w->thread, NULL);

		assert(!failed); /* EDEADLK: called by a handler */
	}
	/* Callers that run handlers themselves are not ours to join. */
	while (!group_is_drained(g)) {
		uint32_t ticket = eventcount_prepare(&g->drained);

		if (group_is_drained(g))
			eventcount_cancel(&g->drained);
		else
			(void)eventcount_wait(&g->drained, ticket,
					      EVENTCOUNT_ANY, 0);
	}
}

void group_free(struct group *g)
{
	if (g == NULL)
		return;
	assert(g->thread_count == 0 && atomic_load(&g->pending) == 0);
	for (uint32_t i = 0; i < g->worker_count; i++) {
		free(g->workers[i].policy_state);
		free(g->workers[i].tallies);
	}
	for (uint32_t i = 0; i < g->station_count; i++) {
		queue_free(g->stations[i].queue);
		queue_free(g->stations[i].passed);
	}
	for (uint32_t s = 0; s < g->stage_count; s++) {
		free(g->stages[s]->stations);
		free(g->stages[s]);
	}
	free(g->tallies_outside);
	free(g->stations);
	free(g->workers);
	free(g->parts);
	free(g);
}
