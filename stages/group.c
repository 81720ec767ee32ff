/* SPDX-License-Identifier: MIT */
/*
 * Groups: queues, workers, sleeping, waking, stopping and counting, the same
 * for every policy.
 *
 * Each stage has a station in each replica: a queue, its counters, and the
 * eventcount on which the workers that visit it sleep.  A worker asks the
 * policy for a visit among its stations, makes it, and asks again; when there
 * is nothing to visit it sleeps.  At once: looking again for a while first was
 * measured to cost CPU time and gain nothing, with handlers of 20 us to 2 ms.
 *
 * Stopping.  `pending` counts the events that are queued or being handled.  A
 * handler sends on before it returns, so the count is 0 only when nothing is
 * left anywhere.  A sender from outside adds to it first and looks at
 * `stopping` second; group_stop() sets `stopping` first, and workers look at
 * `pending` second.  So either the sender sees the stop and takes its event
 * back, or the workers see the event and stay for it.  A sender that knows of
 * the stop does not touch `pending` at all, so that senders who try again and
 * again cannot keep it from 0.  eventcount.pml is a model of this.
 */
#include "stages/group.h"

#include "stages/cores.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_NUMBERS = 10000 }; /* a thread has 15 characters of name */

static void wake_everyone(struct group *g)
{
	for (uint32_t w = 0; w < g->worker_count; w++)
		eventcount_wake_all(g->workers[w].sleeps);
	eventcount_wake_all(&g->drained);
}

/* Orders around `pending` and `stopping`: all sequentially consistent. */
void group_leave(struct group *g)
{
	if (atomic_fetch_sub(&g->pending, 1) == 1 && atomic_load(&g->stopping))
		wake_everyone(g);
}

bool group_enter(struct group *g, bool from_inside)
{
	if (!from_inside && atomic_load(&g->stopping))
		return false;
	atomic_fetch_add(&g->pending, 1);
	if (from_inside || !atomic_load(&g->stopping))
		return true;
	group_leave(g);
	return false;
}

static bool is_drained(struct group *g)
{
	return atomic_load(&g->stopping) && atomic_load(&g->pending) == 0;
}

/* Ask the policy, and hold it to the contract of policy_pick_fn. */
static struct station *pick(struct worker *w)
{
	struct group_view view = {
		.stages = w->views,
		.stage_count = w->station_count,
	};
	bool any = false;

	for (uint32_t i = 0; i < w->station_count; i++) {
		w->views[i].queued_count = station_queued_count(w->stations[i]);
		any |= w->views[i].queued_count > 0;
	}
	uint32_t at = w->group->config.policy->pick(w->policy_state, &view);

	assert(any == (at != POLICY_IDLE));
	if (!any)
		return NULL;
	assert(at < w->station_count && w->views[at].queued_count > 0);
	return w->stations[at];
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct group *g = w->group;

	(void)pthread_setname_np(pthread_self(), w->name);
	/* Refused (a container may): it runs all the same, unpinned. */
	(void)cores_bind(g->config.cores, w->core_first, w->core_count);
	stage_handle_here(g, w->replica);
	for (;;) {
		struct station *s = pick(w);

		if (s != NULL) {
			station_visit(s);
			continue;
		}
		uint32_t ticket = eventcount_prepare(w->sleeps);

		s = pick(w);
		if (s != NULL) {
			eventcount_cancel(w->sleeps);
			station_visit(s);
		} else if (is_drained(g)) {
			eventcount_cancel(w->sleeps);
			return NULL;
		} else {
			eventcount_wait(w->sleeps, ticket);
		}
	}
}

struct group *group_new(const struct group_config *config)
{
	struct group *g = calloc(1, sizeof(*g));

	assert(config->replica_count >= 1 &&
	       config->replica_count <= cores_count(config->cores));
	if (g == NULL)
		return NULL;
	g->config = *config;
	g->replicas = calloc(config->replica_count, sizeof(*g->replicas));
	if (g->replicas == NULL) {
		free(g);
		return NULL;
	}
	return g;
}

struct stage *group_add(struct group *g, const struct stage_config *config)
{
	assert(!g->is_started && g->stage_count < STAGES_MAX);
	assert(config->handler != NULL && config->slots >= 1);
	struct stage *s = stage_new(g, config);

	if (s != NULL)
		g->stages[g->stage_count++] = s;
	return s;
}

/* Visit `s` too, the stage after those it visits already. */
static void worker_visits(struct worker *w, struct stage *s)
{
	struct station *station = &s->stations[w->replica];

	station->wakes = w->sleeps;
	w->stations[w->station_count++] = station;
}

/* One worker per core, visiting every stage of its replica. */
static void plan_roaming(struct group *g)
{
	uint32_t cores = cores_count(g->config.cores);

	for (uint32_t i = 0; i < cores; i++) {
		struct worker *w = &g->workers[g->worker_count++];

		w->replica = (uint32_t)((uint64_t)i * g->config.replica_count /
					cores);
		w->core_first = i;
		w->core_count = 1;
		w->sleeps = &g->replicas[w->replica];
		(void)snprintf(w->name, sizeof(w->name), "worker-%u",
			       i % NAME_NUMBERS);
		for (uint32_t s = 0; s < g->stage_count; s++)
			worker_visits(w, g->stages[s]);
	}
}

/* A pool for each stage of each replica, on all cores of the replica. */
static void plan_staying(struct group *g, uint32_t replica, struct stage *s)
{
	uint64_t cores = cores_count(g->config.cores);
	uint32_t replicas = g->config.replica_count;
	uint32_t first = (uint32_t)(replica * cores / replicas);
	uint32_t end = (uint32_t)((replica + 1) * cores / replicas);

	assert(s->config.threads_count >= 1);
	for (uint32_t i = 0; i < s->config.threads_count; i++) {
		struct worker *w = &g->workers[g->worker_count++];

		w->replica = replica;
		w->core_first = first;
		w->core_count = end - first;
		w->sleeps = &s->stations[replica].own;
		(void)snprintf(w->name, sizeof(w->name), "%.9s-%u",
			       s->config.name, i % NAME_NUMBERS);
		worker_visits(w, s);
	}
}

/* Workers with all but their threads.  False: no memory. */
static bool plan_workers(struct group *g)
{
	const struct policy *p = g->config.policy;
	uint32_t count = 0;

	if (p->workers == POLICY_WORKERS_ROAM)
		count = cores_count(g->config.cores);
	for (uint32_t s = 0;
	     p->workers == POLICY_WORKERS_STAY && s < g->stage_count; s++)
		count += g->stages[s]->config.threads_count *
			 g->config.replica_count;
	if (count == 0)
		return true;
	g->workers = calloc(count, sizeof(*g->workers));
	if (g->workers == NULL)
		return false;
	if (p->workers == POLICY_WORKERS_ROAM)
		plan_roaming(g);
	else
		for (uint32_t r = 0; r < g->config.replica_count; r++)
			for (uint32_t s = 0; s < g->stage_count; s++)
				plan_staying(g, r, g->stages[s]);
	assert(g->worker_count == count);
	for (uint32_t i = 0; i < count; i++) {
		g->workers[i].group = g;
		g->workers[i].policy_state = calloc(1, p->state_bytes + 1);
		if (g->workers[i].policy_state == NULL)
			return false;
	}
	return true;
}

void group_stop(struct group *g)
{
	atomic_store(&g->stopping, true);
	wake_everyone(g);
	while (g->thread_count > 0) {
		struct worker *w = &g->workers[--g->thread_count];
		int failed = pthread_join(w->thread, NULL);

		assert(!failed); /* EDEADLK: called by a handler */
	}
	/* Callers that run handlers themselves are not ours to join. */
	while (!is_drained(g)) {
		uint32_t ticket = eventcount_prepare(&g->drained);

		if (is_drained(g))
			eventcount_cancel(&g->drained);
		else
			eventcount_wait(&g->drained, ticket);
	}
}

bool group_start(struct group *g)
{
	assert(g->stage_count > 0 && !g->is_started);
	g->is_started = true;
	if (!plan_workers(g))
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

void group_free(struct group *g)
{
	if (g == NULL)
		return;
	assert(g->thread_count == 0 && atomic_load(&g->pending) == 0);
	for (uint32_t i = 0; i < g->worker_count; i++)
		free(g->workers[i].policy_state);
	for (uint32_t s = 0; s < g->stage_count; s++)
		stage_free(g->stages[s]);
	free(g->workers);
	free(g->replicas);
	free(g);
}
