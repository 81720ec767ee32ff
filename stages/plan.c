/* SPDX-License-Identifier: MIT */
/*
 * The plan of a group: its stations, and which worker visits which.
 */
#include "stages/group.h"

#include "stages/cores.h"
#include "stages/queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_NUMBERS = 10000, /* a thread has 15 characters of name */
	NAME_PARTS = 1000,
	WHO_BITS = 32,
};

/* Wake-ups for the workers of this number in their part, hardly more. */
static uint32_t who_is(uint32_t lane)
{
	return UINT32_C(1) << lane % WHO_BITS;
}

static bool uses_central(const struct group *g, const struct stage *s)
{
	return g->schedule.policy->has_central_queue &&
	       s->config.type == STAGE_SHARED;
}

static uint32_t pool_threads(const struct group *g, const struct stage *s)
{
	const struct schedule *c = &g->schedule;

	if (!c->pool_is_auto)
		return c->pool_threads[s->index];
	/* Keys keep their workers, so such a pool does not change. */
	uint32_t cores = g->parts[0].core_count;

	return s->config.type == STAGE_PARTITIONED ? cores :
						     cores * POOL_AUTO_PER_CORE;
}

/* Workers for each of which a stage partitioned by key has a station. */
static uint32_t lane_count(const struct group *g, const struct stage *s)
{
	if (s->config.type != STAGE_PARTITIONED)
		return 1;
	switch (g->schedule.policy->workers) {
	case POLICY_WORKERS_STAY:
		return pool_threads(g, s);
	case POLICY_WORKERS_CALLER:
		return cores_count(g->cores);
	case POLICY_WORKERS_ROAM:
		break;
	}
	/* The most of all parts; see plan_stage(). */
	return (cores_count(g->cores) + g->part_count - 1) / g->part_count;
}

static void set_entry(struct station *s)
{
	const struct group *g = s->stage->group;
	bool is_partition = g->schedule.balance == BALANCE_PARTITION;

	if (s->stage->config.type == STAGE_EXCLUSIVE)
		s->entry = is_partition ? &s->stage->entry : &s->own_entry;
	/* Callers have no queues to keep the keys apart. */
	if (s->stage->config.type == STAGE_PARTITIONED &&
	    g->schedule.policy->workers == POLICY_WORKERS_CALLER)
		s->entry = &s->own_entry;
}

/* False: no memory. */
static bool add_queues(struct group *g, struct station *s, uint32_t slots)
{
	const struct discipline fcfs = { .kind = DISCIPLINE_FCFS };

	s->queue = queue_new(slots, &g->schedule.discipline);
	if (s->queue == NULL)
		return false;
	if (g->schedule.regime.kind != REGIME_CUTOFF)
		return true;
	s->passed = queue_new(slots, &fcfs);
	return s->passed != NULL;
}

/* The queue of all shared stages of a part.  False: no memory, or too long. */
static bool plan_central(struct group *g, uint32_t part)
{
	struct station *new = &g->stations[g->station_count++];
	uint64_t slots = 0;

	for (uint32_t i = 0; i < g->stage_count; i++)
		if (uses_central(g, g->stages[i]))
			slots += g->stages[i]->config.slots;
	if (slots == 0)
		return true;
	if (slots > QUEUE_SLOTS_MAX)
		return false;
	g->parts[part].central = new;
	new->part = part;
	new->wakes = g->parts[part].sleeps;
	new->wakes_who = EVENTCOUNT_ANY;
	return add_queues(g, new, (uint32_t)slots);
}

/* False: no memory. */
static bool plan_station(struct group *g, struct stage *s, uint32_t part,
			 uint32_t lane)
{
	enum policy_workers workers = g->schedule.policy->workers;
	struct station *new = &g->stations[g->station_count++];

	s->stations[part * s->lane_count + lane] = new;
	new->stage = s;
	new->part = part;
	new->wakes_who = EVENTCOUNT_ANY;
	set_entry(new);
	if (workers == POLICY_WORKERS_CALLER)
		return true;
	new->wakes = g->parts[part].sleeps;
	if (workers == POLICY_WORKERS_STAY)
		new->wakes = &new->own;
	else if (s->config.type == STAGE_PARTITIONED)
		new->wakes_who = who_is(lane);
	new->wakes_all =
		workers == POLICY_WORKERS_ROAM &&
		(s->config.type == STAGE_PARTITIONED ||
		 (s->config.type == STAGE_EXCLUSIVE && g->schedule.steal));
	return add_queues(g, new, s->config.slots);
}

/* The stations of a stage in one part.  False: no memory. */
static bool plan_stage(struct group *g, struct stage *s, uint32_t part)
{
	struct station **lanes = &s->stations[part * s->lane_count];
	uint32_t count = s->lane_count;

	if (uses_central(g, s)) {
		lanes[0] = g->parts[part].central;
		return true;
	}
	/* Where workers are fewer, some serve the keys of two lanes. */
	if (g->schedule.policy->workers == POLICY_WORKERS_ROAM &&
	    g->parts[part].core_count < count)
		count = g->parts[part].core_count;
	for (uint32_t l = 0; l < s->lane_count; l++)
		if (l >= count)
			lanes[l] = lanes[l - count];
		else if (!plan_station(g, s, part, l))
			return false;
	return true;
}

/* False: no memory. */
static bool plan_stations(struct group *g)
{
	uint32_t count = g->part_count; /* of central queues, used or not */
	bool ok = true;

	for (uint32_t i = 0; i < g->stage_count; i++) {
		struct stage *s = g->stages[i];

		s->lane_count = lane_count(g, s);
		s->part = i * g->part_count / g->stage_count;
		s->stations = calloc((size_t)g->part_count * s->lane_count,
				     sizeof(struct station *));
		if (s->stations == NULL)
			return false;
		count += g->part_count * s->lane_count;
	}
	g->stations = calloc(count, sizeof(*g->stations));
	if (g->stations == NULL)
		return false;
	for (uint32_t p = 0; ok && p < g->part_count; p++) {
		ok = !g->schedule.policy->has_central_queue ||
		     plan_central(g, p);
		for (uint32_t i = 0; ok && i < g->stage_count; i++)
			ok = plan_stage(g, g->stages[i], p);
	}
	return ok;
}

/* One worker per core, visiting every stage of its part. */
static void plan_roaming(struct group *g, uint32_t part)
{
	const struct part *p = &g->parts[part];

	for (uint32_t i = 0; i < p->core_count; i++) {
		struct worker *w = &g->workers[g->worker_count++];

		w->part = part;
		w->lane = i;
		w->who = who_is(i);
		w->core_first = p->core_first + i;
		w->core_count = 1;
		w->sleeps = p->sleeps;
		(void)snprintf(w->name, sizeof(w->name), "worker-%u",
			       w->core_first % NAME_NUMBERS);
		if (p->central != NULL)
			w->stations[w->station_count++] = p->central;
		for (uint32_t s = 0; s < g->stage_count; s++) {
			struct stage *stage = g->stages[s];
			uint32_t lane = stage->lane_count > 1 ? i : 0;

			if (!uses_central(g, stage))
				w->stations[w->station_count++] =
					stage->stations
						[part * stage->lane_count +
						 lane];
		}
	}
}

/* "blur-3"; where there are replicas, "blur-1-3". */
static void name_staying(struct worker *w, const struct group *g,
			 const char *stage)
{
	if (g->part_count > 1)
		(void)snprintf(w->name, sizeof(w->name), "%.6s-%u-%u", stage,
			       w->part % NAME_PARTS, w->lane % NAME_NUMBERS);
	else
		(void)snprintf(w->name, sizeof(w->name), "%.9s-%u", stage,
			       w->lane % NAME_NUMBERS);
}

/* A pool for a stage of a part, on all its cores. */
static void plan_staying(struct group *g, uint32_t part, struct stage *s)
{
	uint32_t threads = pool_threads(g, s);
	bool is_auto =
		g->schedule.pool_is_auto && s->config.type != STAGE_PARTITIONED;

	for (uint32_t i = 0; i < threads; i++) {
		struct worker *w = &g->workers[g->worker_count++];
		uint32_t lane = s->lane_count > 1 ? i : 0;

		w->stations[0] = s->stations[part * s->lane_count + lane];
		w->station_count = 1;
		w->part = part;
		w->lane = i;
		w->who = EVENTCOUNT_ANY;
		w->core_first = g->parts[part].core_first;
		w->core_count = g->parts[part].core_count;
		w->sleeps = w->stations[0]->wakes;
		w->stations[0]->pool.thread_count = threads;
		w->stations[0]->pool.is_auto = is_auto;
		w->stations[0]->pool.active_count = is_auto ? 1 : threads;
		name_staying(w, g, s->config.name);
	}
}

static uint32_t count_workers(const struct group *g)
{
	uint32_t count = 0;

	switch (g->schedule.policy->workers) {
	case POLICY_WORKERS_ROAM:
		return cores_count(g->cores);
	case POLICY_WORKERS_STAY:
		for (uint32_t s = 0; s < g->stage_count; s++)
			count += pool_threads(g, g->stages[s]) * g->part_count;
		break;
	case POLICY_WORKERS_CALLER:
		break;
	}
	return count;
}

uint32_t group_workers_max(const struct schedule *s, uint32_t stage_count,
			   uint32_t core_count)
{
	uint32_t count = 0;

	switch (s->policy->workers) {
	case POLICY_WORKERS_ROAM:
		return core_count;
	case POLICY_WORKERS_STAY:
		/* Some parts have one core more than others. */
		for (uint32_t i = 0; i < stage_count; i++)
			count += s->pool_is_auto ?
					 (core_count + s->part_count) *
						 POOL_AUTO_PER_CORE :
					 s->pool_threads[i] * s->part_count;
		break;
	case POLICY_WORKERS_CALLER:
		break;
	}
	return count;
}

static struct tally *new_tallies(const struct group *g)
{
	size_t bytes = g->stage_count * sizeof(struct tally);
	struct tally *t = aligned_alloc(_Alignof(struct tally), bytes);

	return t != NULL ? memset(t, 0, bytes) : NULL;
}

bool group_plan(struct group *g)
{
	const struct policy *p = g->schedule.policy;
	uint32_t count = count_workers(g);

	g->tallies_outside = new_tallies(g);
	if (g->tallies_outside == NULL || !plan_stations(g))
		return false;
	if (count == 0)
		return true;
	g->workers = calloc(count, sizeof(*g->workers));
	if (g->workers == NULL)
		return false;
	for (uint32_t part = 0; part < g->part_count; part++) {
		if (p->workers == POLICY_WORKERS_ROAM)
			plan_roaming(g, part);
		for (uint32_t s = 0;
		     p->workers == POLICY_WORKERS_STAY && s < g->stage_count;
		     s++)
			plan_staying(g, part, g->stages[s]);
	}
	assert(g->worker_count == count);
	for (uint32_t i = 0; i < count; i++) {
		struct worker *w = &g->workers[i];

		w->group = g;
		w->tallies = new_tallies(g);
		w->policy_state = calloc(1, p->state_bytes + 1);
		if (w->policy_state == NULL || w->tallies == NULL)
			return false;
	}
	return true;
}
