/* SPDX-License-Identifier: MIT */
/* What stats.h declares: the counts of all threads together. */
#include "stages/stats.h"

#include "base/clock.h"
#include "base/util.h"
#include "stages/group.h"
#include "stages/threads/blocking_graph.h"
#include "stages/threads/resources.h"

#include <assert.h>
#include <stdio.h>

static void add_tally(struct stage_stats *out, const struct tally *t)
{
	out->arrived_count += tally_read(&t->arrived_count);
	out->refused_count += tally_read(&t->refused_count);
	out->started_count += tally_read(&t->started_count);
	out->paused_count += tally_read(&t->paused_count);
	out->resumed_count += tally_read(&t->resumed_count);
	out->handled_count += tally_read(&t->handled_count);
	out->visit_count += tally_read(&t->visit_count);
	out->visit_empty_count += tally_read(&t->visit_empty_count);
	out->switch_count += tally_read(&t->switch_count);
	out->switch_ns += tally_read(&t->switch_ns);
	out->wait_ns += tally_read(&t->wait_ns);
	out->wait_ns_max =
		max_u64(out->wait_ns_max, tally_read(&t->wait_ns_max));
	out->service_ns += tally_read(&t->service_ns);
	out->service_ns_max =
		max_u64(out->service_ns_max, tally_read(&t->service_ns_max));
	out->queued_count_max = max_u64(out->queued_count_max,
					tally_read(&t->queued_count_max));
	out->queued_count_total += tally_read(&t->queued_count_total);
	histogram_read(&t->waits, &out->waits);
	histogram_read(&t->services, &out->services);
	histogram_read(&t->totals, &out->totals);
	histogram_read(&t->cohorts, &out->cohorts);
	for (uint32_t i = 0; i < PERF_COUNTERS; i++)
		out->hardware[i] += tally_read(&t->hardware[i]);
}

/* Threads in pools of the stage that are not parked. */
uint64_t stage_pool_threads(const struct stage *s)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->group->worker_count; i++) {
		const struct worker *w = &s->group->workers[i];
		const struct station *at = station_of(w->visitor.stations[0]);

		count += at->pool.thread_count > 0 && at->stage == s &&
			 w->number < atomic_load(&at->pool.active_count);
	}
	return count;
}

void stage_read(const struct stage *s, struct stage_stats *out)
{
	const struct stage_group *g = s->group;

	*out = (struct stage_stats){ 0 };
	for (uint32_t i = 0; i < g->worker_count; i++)
		add_tally(out, &g->workers[i].tallies[s->index]);
	add_tally(out, &g->tallies_outside[s->index]);
	uint64_t in = out->arrived_count + out->paused_count;
	uint64_t taken = out->started_count + out->resumed_count;

	/* The start of an event may be counted before its arrival. */
	if (in > taken)
		out->queued_count = in - taken;
	out->pool_threads = stage_pool_threads(s);
}

void stage_read_part(const struct stage *s, uint32_t part,
		     struct stage_stats *out)
{
	const struct stage_group *g = s->group;
	int64_t queued_count;

	assert(part < g->part_count);
	if (g->part_count == 1) {
		stage_read(s, out);
		return;
	}
	*out = (struct stage_stats){ 0 };
	for (uint32_t i = 0; i < g->worker_count; i++)
		if (g->workers[i].visitor.part == part)
			add_tally(out, &g->workers[i].tallies[s->index]);
	if (part == 0 && s->part_count == 1)
		part = g->part_count;
	queued_count =
		(int64_t)tally_read(&g->parts[part].queued_counts[s->index]);
	if (queued_count > 0)
		out->queued_count = (uint64_t)queued_count;
}

/*
 * One number holds both the total and the beginning of the current sleep; two
 * numbers, read one after the other, might be of different sleeps.  The worker
 * may wake before the clock is read here, and then the result is too long.  So
 * the largest result so far is kept, and the result never decreases.
 */
static uint64_t asleep_ns(struct worker *w)
{
	int64_t ns = (int64_t)tally_read(&w->asleep_ns);

	/*
	 * While the worker sleeps, this is negative: the time at which the
	 * sleep began was subtracted.
	 */
	if (ns < 0)
		ns += (int64_t)clock_now_ns();
	tally_max(&w->asleep_read_ns, ns > 0 ? (uint64_t)ns : 0);
	return tally_read(&w->asleep_read_ns);
}

void group_read_worker(const struct stage_group *g, uint32_t worker,
		       struct worker_stats *out)
{
	assert(worker < g->worker_count);
	struct worker *w = &g->workers[worker];

	*out = (struct worker_stats){
		.name = w->name,
		.part = w->visitor.part,
		.sleep_count = tally_read(&w->sleep_count),
		.stolen_count = tally_read(&w->stolen_count),
		.asleep_since_ns = tally_read(&w->asleep_since_ns),
		.asleep_ns = asleep_ns(w),
		.cpu_ns = worker_cpu_ns(w),
	};
	for (uint32_t i = 0; i < g->stage_count; i++)
		add_tally(&out->work, &w->tallies[i]);
}

uint32_t group_track_count(const struct stage_group *g)
{
	return g->worker_count + g->track_count;
}

void group_name_track(const struct stage_group *g, uint32_t track,
		      char name[TRACK_NAME_BYTES])
{
	assert(track < group_track_count(g));
	if (track < g->worker_count)
		(void)snprintf(name, TRACK_NAME_BYTES, "%s",
			       g->workers[track].name);
	else
		(void)snprintf(name, TRACK_NAME_BYTES, "thread-%u",
			       (track - g->worker_count) % 10000);
}

uint32_t group_read_trace(const struct stage_group *g, uint32_t track,
			  uint64_t *next, struct span *out, uint32_t count,
			  uint64_t *missed)
{
	const struct trace *t;

	assert(track < group_track_count(g));
	t = track < g->worker_count ? &g->workers[track].trace :
				      &g->tracks[track - g->worker_count];
	return trace_read(t, next, out, count, missed);
}

static void add_graph(struct stage_graph *to, uint32_t stage,
		      const struct tally *t)
{
	to->service_ns[stage] += tally_read(&t->service_ns);
	for (uint32_t i = 0; i < to->stage_count; i++)
		to->sent_counts[stage][i] += tally_read(&t->sent_counts[i]);
}

void group_read_graph(const struct stage_group *g, struct stage_graph *out)
{
	*out = (struct stage_graph){ .stage_count = g->stage_count };
	for (uint32_t s = 0; s < g->stage_count; s++) {
		out->names[s] = g->stages[s]->config.name;
		for (uint32_t i = 0; i < g->worker_count; i++)
			add_graph(out, s, &g->workers[i].tallies[s]);
		add_graph(out, s, &g->tallies_outside[s]);
	}
}

bool group_counts_hardware(const struct stage_group *g)
{
	for (uint32_t i = 0; i < g->worker_count; i++)
		if (!atomic_load(&g->workers[i].counts_hardware))
			return false;
	return g->worker_count > 0;
}

bool group_read_fibres(const struct stage_group *g, struct fibre_stats *out)
{
	*out = (struct fibre_stats){ 0 };
	if (g->schedule.policy->threads == NULL)
		return false;
	for (uint32_t part = 0; part < g->part_count; part++) {
		struct scheduler_place places[PLACES_MAX];
		struct scheduler_counts c;

		scheduler_read(g->parts[part].scheduler, places, &c);
		out->begun_count += c.begun_count;
		out->switch_count += c.switch_count;
		out->stack_count += c.stack_count;
		out->stack_count_max += c.stack_count_max;
		for (uint32_t i = 0; i < PLACES_MAX; i++) {
			out->ready_count += places[i].ready;
			out->waiting_count += places[i].waiting;
		}
	}
	return true;
}

static void add_blocking(struct blocking_graph_copy *sum,
			 const struct blocking_graph *graph,
			 const struct scheduler *s)
{
	struct scheduler_place places[PLACES_MAX];
	struct scheduler_counts counts;
	uint32_t nodes[PLACES_MAX];
	uint32_t count = blocking_graph_add(sum, graph, clock_now_ns(), nodes);

	scheduler_read(s, places, &counts);
	for (uint32_t i = 0; i < count; i++) {
		sum->nodes[nodes[i]].ready += places[i].ready;
		sum->nodes[nodes[i]].waiting += places[i].waiting;
	}
}

/* NULL: the policy learns nothing. */
static const struct blocking_graph *graph_of(const struct stage_group *g,
					     uint32_t part)
{
	const struct thread_policy *p = g->schedule.policy->threads;

	return p != NULL && p->graph != NULL ?
		       p->graph(scheduler_state(g->parts[part].scheduler)) :
		       NULL;
}

bool group_has_blocking(const struct stage_group *g)
{
	return graph_of(g, 0) != NULL;
}

bool group_read_blocking(const struct stage_group *g,
			 struct blocking_graph_copy *out)
{
	*out = (struct blocking_graph_copy){ 0 };
	if (!group_has_blocking(g))
		return false;
	for (uint32_t part = 0; part < g->part_count; part++)
		add_blocking(out, graph_of(g, part), g->parts[part].scheduler);
	resources_read(resources_process(), out->resources);
	return true;
}
