/* SPDX-License-Identifier: MIT */
/*
 * Groups: which worker visits which stations, starting, stopping.
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

#include "base/util.h"
#include "stages/stage.h"
#include "stages/queue.h"
#include "stages/threads/resources.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stage_group *group_new(const struct group_config *config)
{
	struct stage_group *g = calloc(1, sizeof(*g));
	uint32_t parts = config->schedule->part_count;
	uint32_t cores = cores_count(config->cores);

	assert(parts >= 1 && parts <= cores);
	if (g == NULL)
		return NULL;
	g->schedule = *config->schedule;
	g->cores = config->cores;
	g->counts_hardware = config->counts_hardware;
	g->stacks = (struct fibre_stacks){
		.count = config->stacks_max,
		.stack_bytes = config->stack_bytes,
		.may_lack_guards = config->stacks_may_lack_guards,
	};
	g->caller_threads = config->caller_threads;
	g->part_count = parts;
	g->parts = calloc(parts + 1, sizeof(*g->parts));
	g->visits = (struct visit_group){
		.schedule = &g->schedule,
		.core_count = cores,
		.part_count = parts,
		.parts = calloc(parts + 1, sizeof(*g->visits.parts)),
	};
	if (g->parts == NULL || g->visits.parts == NULL) {
		group_free(g);
		return NULL;
	}
	for (uint32_t p = 0; p < parts; p++) {
		uint32_t first = (uint32_t)((uint64_t)p * cores / parts);
		uint32_t end = (uint32_t)((uint64_t)(p + 1) * cores / parts);

		g->parts[p].core_first = first;
		g->parts[p].core_count = end - first;
		g->parts[p].sleeps = &g->parts[p].own;
	}
	g->parts[parts].core_count = cores;
	/*
	 * A thief may take any event, so all workers sleep at one eventcount.
	 */
	for (uint32_t p = 0; g->schedule.steal && p <= parts; p++)
		g->parts[p].sleeps = &g->parts[0].own;
	return g;
}

struct stage *group_add(struct stage_group *g,
			const struct stage_config *config)
{
	assert(!g->is_started && g->stage_count < STAGES_MAX);
	assert(config->handler != NULL);
	assert(config->slots >= 1 && config->slots <= QUEUE_SLOTS_MAX);
	struct stage *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->config = *config;
	s->site = (struct blocking_site){ __FILE__, config->name, __LINE__ };
	s->group = g;
	s->index = g->stage_count;
	g->stages[g->stage_count++] = s;
	return s;
}

enum {
	NAME_NUMBERS = 10000, /* a thread's name has 15 characters */
	NAME_PARTS = 1000,
	WHO_BITS = 32,
};

/*
 * The bit by which worker `number` is woken; few other workers have the same
 * bit.
 */
static uint32_t worker_mask(uint32_t number)
{
	return UINT32_C(1) << number % WHO_BITS;
}

/*
 * Workers steal by size, and may take only the events of some parts.  With more
 * parts than bits, all workers are woken.
 */
static bool wakes_by_part(const struct stage_group *g)
{
	return g->schedule.steal && g->schedule.distribute == DISTRIBUTE_SIZE;
}

/* Whom a new event at station `s` wakes, if workers steal by size. */
static void set_wakes_by_part(const struct stage_group *g, struct station *s)
{
	if (!wakes_by_part(g))
		return;
	s->wake_mask =
		s->wakes_all ? EVENTCOUNT_ANY : worker_mask(s->visited.part);
	if (g->part_count > WHO_BITS) {
		s->wakes_all = true;
		s->wake_mask = EVENTCOUNT_ANY;
	} else if (!s->wakes_all && s->visited.part + 1 < WHO_BITS) {
		/* Those of all replicas of larger sizes. */
		s->wakes_else = EVENTCOUNT_ANY << (s->visited.part + 1);
	}
}

/* Do the stations of the stage belong to all parts? */
static bool is_common(const struct stage *s)
{
	return s->config.type != STAGE_PASS_THROUGH &&
	       schedule_sharing(&s->group->schedule, s->index)->kind ==
		       SHARING_ALL;
}

static bool uses_central(const struct stage_group *g, const struct stage *s)
{
	return g->schedule.policy->has_central_queue &&
	       s->config.type == STAGE_SHARED && !is_common(s);
}

static uint32_t pool_threads(const struct stage_group *g, const struct stage *s)
{
	const struct schedule *c = &g->schedule;

	if (s->config.type == STAGE_PASS_THROUGH)
		return 0;
	if (!c->pool_is_auto)
		return c->pool_threads[s->index] > 0 ?
			       c->pool_threads[s->index] :
			       1;
	/* A key stays with its worker, so the size of such a pool is fixed. */
	uint32_t cores = g->parts[0].core_count;

	return s->config.type == STAGE_PARTITIONED ? cores :
						     cores * POOL_AUTO_PER_CORE;
}

/* Has the stage user-level threads, which workers that roam run? */
static bool has_thread_pool(const struct stage_group *g, const struct stage *s)
{
	return g->schedule.policy->workers == POLICY_WORKERS_ROAM &&
	       s != NULL && s->config.type == STAGE_SHARED &&
	       g->schedule.pool_threads[s->index] > 0;
}

/* Stations of a stage in one part: one per worker if keys divide it. */
static uint32_t station_count(const struct stage_group *g,
			      const struct stage *s)
{
	if (s->config.type != STAGE_PARTITIONED)
		return 1;
	switch (g->schedule.policy->workers) {
	case POLICY_WORKERS_STAY:
		return pool_threads(g, s);
	case POLICY_WORKERS_CALLER:
		return cores_count(g->cores);
	case POLICY_WORKERS_FIBRES:
		return 1; /* a part has one worker */
	case POLICY_WORKERS_ROAM:
		break;
	}
	/* The largest number of cores of any part; see plan_stage(). */
	return (cores_count(g->cores) + s->part_count - 1) / s->part_count;
}

static void set_entry(struct station *s)
{
	const struct stage_group *g = s->stage->group;
	bool is_partition = g->schedule.balance == BALANCE_PARTITION;

	/* The worker of a part is in one handler at a time. */
	if (g->schedule.policy->workers == POLICY_WORKERS_FIBRES)
		return;
	if (s->stage->config.type == STAGE_EXCLUSIVE)
		s->entry = is_partition ? &s->stage->entry : &s->own_entry;
	/*
	 * Without workers no queues separate the keys, so one at a time enters.
	 */
	if (s->stage->config.type == STAGE_PARTITIONED &&
	    g->schedule.policy->workers == POLICY_WORKERS_CALLER)
		s->entry = &s->own_entry;
	s->visited.is_exclusive = s->entry != NULL;
}

static uint32_t paused_max(const struct stage_group *g)
{
	return visit_paused_max(&g->schedule, cores_count(g->cores));
}

/* False: no memory. */
static bool add_queues(struct stage_group *g, struct station *s, uint32_t slots)
{
	const struct discipline fcfs = { .kind = DISCIPLINE_FCFS };
	bool has_cutoff = s->visited.regime->kind == REGIME_CUTOFF;
	uint32_t begun_max = paused_max(g);

	s->queue = queue_new(slots, paused_max(g), s->visited.discipline);
	if (s->queue == NULL)
		return false;
	if (has_thread_pool(g, s->stage)) {
		struct fibre_stacks stacks = g->stacks;

		stacks.count = begun_max = pool_threads(g, s->stage);
		s->threads = fibres_new(&stacks);
		if (s->threads == NULL ||
		    fibres_count(s->threads) < stacks.count)
			return false;
	} else if (!has_cutoff) {
		return true;
	}
	s->passed = queue_new(begun_max, 0,
			      has_cutoff ? &fcfs : s->visited.discipline);
	return s->passed != NULL;
}

/* The queue of all shared stages of a part.  False: no memory, or too long. */
static bool plan_central(struct stage_group *g, uint32_t part)
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
	visit_station_init(&new->visited, &g->schedule, STAGE_NONE, part);
	new->wakes = g->parts[part].sleeps;
	new->wake_mask = EVENTCOUNT_ANY;
	set_wakes_by_part(g, new);
	return add_queues(g, new, (uint32_t)slots);
}

/* The part whose worker serves this station of a stage with keys. */
static uint32_t home_part(const struct stage_group *g, uint32_t part,
			  uint32_t *number)
{
	if (part < g->part_count)
		return part;
	for (part = 0; *number >= g->parts[part].core_count; part++)
		*number -= g->parts[part].core_count;
	return part;
}

/* False: no memory. */
static bool plan_station(struct stage_group *g, struct stage *s, uint32_t part,
			 uint32_t number)
{
	enum policy_workers workers = g->schedule.policy->workers;
	const struct sharing *sharing =
		schedule_sharing(&g->schedule, s->index);
	struct station *new = &g->stations[g->station_count++];

	new->number = part % s->part_count * s->stations_per_part + number;
	s->stations[new->number] = new;
	new->stage = s;
	visit_station_init(&new->visited, &g->schedule, s->index, part);
	new->wake_mask = EVENTCOUNT_ANY;
	set_entry(new);
	if (workers == POLICY_WORKERS_CALLER ||
	    workers == POLICY_WORKERS_FIBRES ||
	    s->config.type == STAGE_PASS_THROUGH)
		return true;
	if (s->config.type == STAGE_PARTITIONED)
		part = home_part(g, part, &number);
	new->wakes = g->parts[part].sleeps;
	if (workers == POLICY_WORKERS_STAY ||
	    g->schedule.idle.kind == IDLE_BACKOFF)
		new->wakes = &new->own;
	else if (s->config.type == STAGE_PARTITIONED)
		new->wake_mask = worker_mask(number);
	new->wakes_all = workers == POLICY_WORKERS_ROAM &&
			 (s->config.type == STAGE_PARTITIONED ||
			  (s->config.type == STAGE_EXCLUSIVE &&
			   g->schedule.steal && !is_common(s)));
	if (s->config.type == STAGE_SHARED)
		new->visited.even_below = sharing->even_below;
	/* Then workers of all parts may come. */
	if (new->visited.even_below > 0 && new->wakes != &new->own &&
	    !g->schedule.steal)
		new->wakes = NULL;
	set_wakes_by_part(g, new);
	return add_queues(g, new, s->config.slots);
}

/* The stations of a stage in one part.  False: no memory. */
static bool plan_stage(struct stage_group *g, struct stage *s, uint32_t part)
{
	struct station **stations =
		&s->stations[part % s->part_count * s->stations_per_part];
	uint32_t count = s->stations_per_part;

	if (is_common(s) != (part == g->part_count))
		return true;
	if (uses_central(g, s)) {
		stations[0] = g->parts[part].central;
		return true;
	}
	/*
	 * With fewer workers than stations, some workers serve the keys of two
	 * stations.
	 */
	if (g->schedule.policy->workers == POLICY_WORKERS_ROAM &&
	    g->parts[part].core_count < count)
		count = g->parts[part].core_count;
	for (uint32_t l = 0; l < s->stations_per_part; l++)
		if (l >= count)
			stations[l] = stations[l - count];
		else if (!plan_station(g, s, part, l))
			return false;
	return true;
}

/* False: no memory. */
static bool plan_stations(struct stage_group *g)
{
	/* One for each central queue, used or not. */
	uint32_t count = g->part_count;
	bool ok = true;

	for (uint32_t i = 0; i < g->stage_count; i++) {
		struct stage *s = g->stages[i];

		s->part_count = is_common(s) ? 1 : g->part_count;
		s->stations_per_part = station_count(g, s);
		s->part = i * g->part_count / g->stage_count;
		s->passes =
			s->config.type == STAGE_PASS_THROUGH &&
			g->schedule.policy->workers != POLICY_WORKERS_CALLER;
		s->stations =
			calloc((size_t)s->part_count * s->stations_per_part,
			       sizeof(struct station *));
		if (s->stations == NULL)
			return false;
		count += s->part_count * s->stations_per_part;
	}
	g->stations = calloc(count, sizeof(*g->stations));
	if (g->stations == NULL)
		return false;
	for (uint32_t p = 0; ok && p <= g->part_count; p++) {
		ok = p == g->part_count ||
		     !g->schedule.policy->has_central_queue ||
		     plan_central(g, p);
		for (uint32_t i = 0; ok && i < g->stage_count; i++)
			ok = plan_stage(g, g->stages[i], p);
	}
	return ok;
}

/* List the stations from which workers of other parts may steal. */
static void plan_victims(struct stage_group *g, uint32_t part)
{
	struct visit_part *p = &g->visits.parts[part];

	if (g->parts[part].central != NULL)
		p->open_stations[p->open_count++] =
			&g->parts[part].central->visited;
	for (uint32_t i = 0; i < g->stage_count; i++) {
		struct stage *s = g->stages[i];

		if (s->config.type == STAGE_SHARED && !uses_central(g, s) &&
		    !is_common(s))
			p->open_stations[p->open_count++] =
				&s->stations[part]->visited;
	}
}

static void add_station(struct worker *w, struct station *s)
{
	struct visitor *v = &w->visitor;

	v->stations[v->station_count++] = &s->visited;
}

/* One worker per core, visiting every stage of its part. */
static void plan_roaming(struct stage_group *g, uint32_t part)
{
	const struct part *p = &g->parts[part];

	for (uint32_t i = 0; i < p->core_count; i++) {
		struct worker *w = &g->workers[g->worker_count++];

		w->visitor.part = part;
		w->number = i;
		w->wake_mask = worker_mask(wakes_by_part(g) ? part : i);
		w->core_first = p->core_first + i;
		w->core_count = 1;
		w->sleeps = p->sleeps;
		(void)snprintf(w->name, sizeof(w->name), "worker-%u",
			       w->core_first % NAME_NUMBERS);
		if (p->central != NULL)
			add_station(w, p->central);
		for (uint32_t s = 0; s < g->stage_count; s++) {
			struct stage *stage = g->stages[s];
			uint32_t per_part = stage->stations_per_part;
			uint32_t at = is_common(stage) ? p->core_first + i :
							 part * per_part + i;

			if (per_part == 1)
				at = part % stage->part_count;
			if (!uses_central(g, stage) &&
			    stage->config.type != STAGE_PASS_THROUGH)
				add_station(w, stage->stations[at]);
		}
	}
}

/* A name such as "blur-3"; with replicas, "blur-1-3". */
static void name_staying(struct worker *w, const struct stage_group *g,
			 const char *stage)
{
	if (g->part_count > 1)
		(void)snprintf(w->name, sizeof(w->name), "%.6s-%u-%u", stage,
			       w->visitor.part % NAME_PARTS,
			       w->number % NAME_NUMBERS);
	else
		(void)snprintf(w->name, sizeof(w->name), "%.9s-%u", stage,
			       w->number % NAME_NUMBERS);
}

/* A pool for a stage of a part, on all its cores. */
static void plan_staying(struct stage_group *g, uint32_t part, struct stage *s)
{
	uint32_t threads = pool_threads(g, s);
	bool is_auto =
		g->schedule.pool_is_auto && s->config.type != STAGE_PARTITIONED;

	for (uint32_t i = 0; i < threads; i++) {
		struct worker *w = &g->workers[g->worker_count++];
		uint32_t number = s->stations_per_part > 1 ? i : 0;

		struct station *only =
			s->stations[part * s->stations_per_part + number];

		add_station(w, only);
		w->visitor.part = part;
		w->number = i;
		w->wake_mask = EVENTCOUNT_ANY;
		w->core_first = g->parts[part].core_first;
		w->core_count = g->parts[part].core_count;
		w->sleeps = only->wakes;
		only->pool.thread_count = threads;
		only->pool.is_auto = is_auto;
		only->pool.active_count = is_auto ? 1 : threads;
		name_staying(w, g, s->config.name);
	}
}

enum { STACKS_MAX = 131072 };

/* See group_config.stacks_max.  The parts from `part` on share the guards. */
static struct fibre_stacks plan_stacks(const struct stage_group *g,
				       uint32_t part)
{
	struct fibre_stacks stacks = g->stacks;
	uint32_t guards = fibres_guards_left() / (g->part_count - part);
	uint64_t slots = 0;

	for (uint32_t s = 0; s < g->stage_count; s++)
		slots += g->stages[s]->config.slots;
	if (stacks.count == 0)
		stacks.count = (uint32_t)min_u64(slots + 1, STACKS_MAX);
	if (!stacks.may_lack_guards && guards > 0)
		stacks.count = min_u32(stacks.count, guards);
	return stacks;
}

/* One worker, which runs user-level threads.  False: no memory. */
static bool plan_scheduler(struct stage_group *g, uint32_t part)
{
	struct part *p = &g->parts[part];
	struct worker *w = &g->workers[g->worker_count++];

	p->scheduler = scheduler_new(&(struct scheduler_config){
		.policy = g->schedule.policy->threads,
		.shared = schedule_resources(&g->schedule, resources_process()),
		.stacks = plan_stacks(g, part),
		.run = worker_run_thread,
		.sleeps = p->sleeps,
	});
	w->scheduler = p->scheduler;
	w->visitor.part = part;
	w->wake_mask = EVENTCOUNT_ANY;
	w->core_first = p->core_first;
	w->core_count = p->core_count;
	w->sleeps = p->sleeps;
	(void)snprintf(w->name, sizeof(w->name), "worker-%u",
		       w->core_first % NAME_NUMBERS);
	for (uint32_t s = 0; s < g->stage_count; s++)
		add_station(w, g->stages[s]->stations[part]);
	if (p->scheduler == NULL)
		return false;
	resources_add_capacity(resources_process(), RESOURCE_STACKS,
			       scheduler_stack_count(p->scheduler));
	return true;
}

static void free_scheduler(struct part *p)
{
	if (p->scheduler == NULL)
		return;
	resources_add_capacity(resources_process(), RESOURCE_STACKS,
			       -(int64_t)scheduler_stack_count(p->scheduler));
	scheduler_free(p->scheduler);
}

static uint32_t count_workers(const struct stage_group *g)
{
	uint32_t count = 0;

	switch (g->schedule.policy->workers) {
	case POLICY_WORKERS_ROAM:
		return cores_count(g->cores);
	case POLICY_WORKERS_STAY:
		for (uint32_t s = 0; s < g->stage_count; s++)
			count += pool_threads(g, g->stages[s]) * g->part_count;
		break;
	case POLICY_WORKERS_FIBRES:
		return g->part_count;
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
	case POLICY_WORKERS_FIBRES:
		return s->part_count;
	case POLICY_WORKERS_CALLER:
		break;
	}
	return count;
}

static struct tally *new_tallies(const struct stage_group *g, bool is_shared)
{
	size_t bytes = g->stage_count * sizeof(struct tally);
	struct tally *t = aligned_alloc(_Alignof(struct tally), bytes);

	if (t == NULL)
		return NULL;
	(void)memset(t, 0, bytes);
	for (uint32_t i = 0; i < g->stage_count; i++)
		t[i].is_shared = is_shared;
	return t;
}

/*
 * One fibre for each worker, and one for each paused event.  False: no memory.
 */
static bool plan_fibres(struct stage_group *g)
{
	struct fibre_stacks stacks = g->stacks;
	uint32_t paused = paused_max(g);

	if (paused == 0)
		return true;
	stacks.count = g->worker_count + paused;
	g->fibres = fibres_new(&stacks);
	if (g->fibres == NULL || fibres_count(g->fibres) < stacks.count)
		return false;
	for (uint32_t i = 0; i < g->worker_count; i++)
		g->workers[i].fibre = fibres_take(g->fibres);
	return true;
}

/*
 * A trace for each kernel thread that runs senders, if it is known how many
 * there are.  False: no memory.
 */
static bool plan_tracks(struct stage_group *g)
{
	const struct thread_model *m = &g->schedule.threads;

	if (!g->schedule.policy->has_thread_model ||
	    !schedule_has_tracks(&g->schedule) || g->caller_threads == NULL)
		return true;
	g->track_count =
		m->mapping == THREADS_N_TO_1 ? 1 : cores_count(g->cores);
	g->tracks = calloc(g->track_count, sizeof(*g->tracks));
	return g->tracks != NULL;
}

/* Make the stations, and the workers without threads.  False: no memory. */
static bool group_plan(struct stage_group *g)
{
	const struct policy *p = g->schedule.policy;
	uint32_t count = count_workers(g);

	g->tallies_outside = new_tallies(g, true);
	if (g->tallies_outside == NULL || !plan_stations(g) || !plan_tracks(g))
		return false;
	if (count == 0)
		return true;
	g->workers = calloc(count, sizeof(*g->workers));
	if (g->workers == NULL)
		return false;
	for (uint32_t part = 0; part < g->part_count; part++) {
		plan_victims(g, part);
		if (p->workers == POLICY_WORKERS_ROAM)
			plan_roaming(g, part);
		if (p->workers == POLICY_WORKERS_FIBRES &&
		    !plan_scheduler(g, part))
			return false;
		for (uint32_t s = 0;
		     p->workers == POLICY_WORKERS_STAY && s < g->stage_count;
		     s++)
			plan_staying(g, part, g->stages[s]);
	}
	assert(g->worker_count == count);
	for (uint32_t i = 0; i < count; i++) {
		struct worker *w = &g->workers[i];

		w->group = g;
		w->tallies = new_tallies(g, false);
		w->visitor.access = &worker_access;
		w->visitor.group = &g->visits;
		w->visitor.policy_state = calloc(1, p->state_bytes + 1);
		visitor_init(&w->visitor);
		if (w->visitor.policy_state == NULL || w->tallies == NULL)
			return false;
	}
	return plan_fibres(g);
}

bool group_start(struct stage_group *g)
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

uint32_t group_worker_count(const struct stage_group *g)
{
	return g->worker_count;
}

bool group_partition(struct stage_group *g, const uint32_t *parts)
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

uint32_t stage_private_count(const struct stage *s)
{
	return s->part_count * s->stations_per_part;
}

void group_stop(struct stage_group *g)
{
	atomic_store(&g->is_stopping, true);
	group_wake_all(g);
	while (g->thread_count > 0) {
		struct worker *w = &g->workers[--g->thread_count];
		int failed = pthread_join(w->thread, NULL);

		assert(!failed); /* EDEADLK: called by a handler */
	}
	/*
	 * Senders that run handlers themselves may still do so: wait for them.
	 */
	while (!group_is_drained(g)) {
		uint32_t ticket = eventcount_prepare(&g->drained);

		if (group_is_drained(g))
			eventcount_cancel(&g->drained);
		else
			(void)eventcount_wait(&g->drained, ticket,
					      EVENTCOUNT_ANY, 0);
	}
}

static void free_fibre(struct stage_group *g, struct fibre *f)
{
	if (f != NULL)
		fibres_give(g->fibres, f);
}

void group_free(struct stage_group *g)
{
	if (g == NULL)
		return;
	assert(g->thread_count == 0 && atomic_load(&g->pending) == 0);
	for (uint32_t i = 0; i < g->worker_count; i++) {
		free(g->workers[i].visitor.policy_state);
		free(g->workers[i].tallies);
		free_fibre(g, g->workers[i].fibre);
		free_fibre(g, g->workers[i].next_fibre);
	}
	fibres_free(g->fibres);
	for (uint32_t p = 0; g->parts != NULL && p < g->part_count; p++)
		free_scheduler(&g->parts[p]);
	for (uint32_t i = 0; i < g->station_count; i++) {
		queue_free(g->stations[i].queue);
		queue_free(g->stations[i].passed);
		fibres_free(g->stations[i].threads);
	}
	for (uint32_t s = 0; s < g->stage_count; s++) {
		free(g->stages[s]->stations);
		free(g->stages[s]);
	}
	free(g->tallies_outside);
	free(g->tracks);
	free(g->stations);
	free(g->workers);
	free(g->visits.parts);
	free(g->parts);
	free(g);
}
