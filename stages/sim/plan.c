/* SPDX-License-Identifier: MIT */
/* Parts, stations and workers of a simulated group, as its schedule says. */
#include "stages/sim/state.h"

#include <assert.h>
#include <stdlib.h>

static void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	assert(memory != NULL);
	return memory;
}

static bool belongs_to(const struct sim *s, uint32_t stage, uint32_t part)
{
	return s->schedule->balance != BALANCE_PARTITION ||
	       s->config->parts[stage] == part;
}

static void plan_stations(struct sim *s, uint32_t part)
{
	struct part *p = &s->parts[part];
	bool is_central = s->schedule->policy->has_central_queue;

	p->stations = zeroed(STAGES_MAX, sizeof(*p->stations));
	for (uint32_t i = 0; i < s->config->model->stage_count; i++) {
		if (!belongs_to(s, i, part))
			continue;
		if (!is_central || p->station_count == 0) {
			p->stations[p->station_count] = (struct station){
				.part = p,
				.at = p->station_count,
				.stage = is_central ? STAGE_NONE : i,
			};
			p->station_count++;
		}
		p->by_stage[i] = &p->stations[p->station_count - 1];
	}
}

static void add_worker(struct sim *s, struct part *p, struct station *only)
{
	struct worker *w = &s->workers[s->worker_count++];
	bool has_stacks = s->schedule->discipline.kind == DISCIPLINE_STACK &&
			  only == NULL;

	*w = (struct worker){
		.sim = s,
		.part = p,
		.only = only,
		.visited = STAGE_NONE,
		.doing = DOING_PICK,
		.policy_state = zeroed(1, s->schedule->policy->state_bytes + 1),
		.stacks = has_stacks ? zeroed(STAGES_MAX, sizeof(*w->stacks)) :
				       NULL,
	};
	p->worker_count++;
	sim_set_timer(s, 0, TIMER_WORKER, w);
}

static void plan_workers(struct sim *s, struct part *p)
{
	enum policy_workers kind = s->schedule->policy->workers;

	if (p->station_count == 0) /* its cores are idle */
		return;
	for (uint32_t i = 0; kind == POLICY_WORKERS_ROAM && i < p->core_count;
	     i++)
		add_worker(s, p, NULL);
	for (uint32_t i = 0;
	     kind == POLICY_WORKERS_STAY && i < p->station_count; i++) {
		struct station *at = &p->stations[i];

		for (uint32_t t = 0; t < s->schedule->pool_threads[at->stage];
		     t++)
			add_worker(s, p, at);
	}
}

static uint32_t count_workers(const struct sim *s)
{
	uint32_t count = s->config->core_count;

	for (uint32_t i = 0; i < s->config->model->stage_count; i++)
		count += s->schedule->pool_threads[i] * s->part_count;
	return count;
}

void plan_init(struct sim *s)
{
	uint64_t cores = s->config->core_count;

	s->part_count = s->schedule->balance == BALANCE_SHARED ?
				1 :
				s->schedule->part_count;
	assert(s->part_count >= 1 && s->part_count <= cores);
	s->parts = zeroed(s->part_count, sizeof(*s->parts));
	s->workers = zeroed(count_workers(s), sizeof(*s->workers));
	for (uint32_t i = 0; i < s->part_count; i++) {
		struct part *p = &s->parts[i];

		p->core_count = (uint32_t)((i + 1) * cores / s->part_count -
					   i * cores / s->part_count);
		p->processor.core_count = p->core_count;
		p->timer_ns = UINT64_MAX;
		plan_stations(s, i);
		plan_workers(s, p);
	}
}

void plan_release(struct sim *s)
{
	for (uint32_t i = 0; i < s->worker_count; i++) {
		free(s->workers[i].policy_state);
		free(s->workers[i].stacks);
	}
	for (uint32_t i = 0; i < s->part_count; i++) {
		struct part *p = &s->parts[i];

		for (uint32_t at = 0; at < p->station_count; at++)
			heap_release(&p->stations[at].queue);
		heap_release(&p->processor.threads);
		free(p->stations);
	}
	free(s->workers);
	free(s->parts);
}
