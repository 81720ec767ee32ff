/* SPDX-License-Identifier: MIT */
/* The stage graph of uploads: who is let in, and what there is of it. */
#include "service/pipeline/pipeline_run.h"

#include "service/pipeline/buffers.h"
#include "service/clock.h"
#include "service/pipeline/steps.h"
#include "stages/cores.h"
#include "stages/schedule_words.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	KEPT_BYTES_MAX = 256 << 20,
};

void pipeline_print_schedule(const struct pipeline_config *config, FILE *to)
{
	schedule_print(&config->schedule, pipeline_step_names, PIPELINE_STEPS,
		       to);
	(void)fprintf(to, " --express %" PRIu64 "ms",
		      config->express_ns / 1000000);
}

bool pipeline_has_place(const struct pipeline *p)
{
	return atomic_load(&p->in_flight_count) < p->config.uploads_max;
}

void pipeline_count_refused(struct pipeline *p)
{
	atomic_fetch_add(&p->counts.refused, 1);
}

bool pipeline_peek(struct pipeline *p, struct upload *u)
{
	uint64_t bytes;

	u->end = UPLOAD_ENDED;
	u->err = steps_foretell(u, &p->config.limits);
	if (u->err == IMG_ERR_TRUNCATED)
		return false;
	/* What a progressive file takes depends on scans behind the header. */
	if (u->err != IMG_OK || u->header.is_progressive)
		return true;
	bytes = u->jpeg_charge_bytes + u->foretold_bytes;
	if (bytes > p->budget.limit_bytes &&
	    budget_charge(&u->charge, bytes) == BUDGET_NEVER)
		u->end = UPLOAD_TOO_MUCH;
	return true;
}

static enum upload_end charge(struct pipeline *p, struct upload *u)
{
	u->charge.budget = &p->budget;
	switch (budget_charge(&u->charge,
			      u->jpeg_charge_bytes + u->foretold_bytes)) {
	case BUDGET_OK:
		/* By what is let in alone: the others take nothing. */
		forecast_learn(&p->forecast, u->jpeg_bytes, u->foretold_bytes);
		return UPLOAD_ENDED;
	case BUDGET_FULL:
		return UPLOAD_MEMORY_FULL;
	case BUDGET_NEVER:
		return UPLOAD_TOO_MUCH;
	}
	abort();
}

/* Returns false. */
static bool refuse(struct pipeline *p, struct upload *u, enum upload_end end)
{
	u->end = end;
	atomic_fetch_sub(&p->in_flight_count, 1);
	return false;
}

/* To its first stage.  False: stopping. */
static bool send(struct pipeline *p, struct upload *u)
{
	uint64_t upload_ns = u->foretold_ns;

	u->is_express = express_enter(&p->express, upload_ns);
	if (u->is_express) {
		u->errand.run = pipeline_take_steps;
		if (express_send(&p->express, &u->errand))
			return true;
		express_leave(&p->express, upload_ns);
		return false;
	}
	express_count(&p->express, upload_ns, 1);
	if (stage_send(p->places[0].stage, &u->variants[0].event))
		return true;
	express_count(&p->express, upload_ns, -1);
	return false;
}

bool pipeline_submit(struct pipeline *p, struct upload *u)
{
	uint32_t inside_count = atomic_fetch_add(&p->in_flight_count, 1);

	u->submitted_ns = clock_now_ns();
	if (inside_count == 0)
		drain_begin(&p->drain, u->submitted_ns);
	if (inside_count >= p->config.uploads_max)
		return refuse(p, u, UPLOAD_NO_PLACE);

	u->err = steps_foretell(u, &p->config.limits);
	u->end = u->err == IMG_OK ? charge(p, u) : UPLOAD_ENDED;
	if (u->end != UPLOAD_ENDED)
		return refuse(p, u, u->end);
	u->pipeline = p;
	u->errand.event.number = u->number;
	/* Before sending: `u` may be done when that returns. */
	atomic_fetch_add(&p->counts.sent, 1);
	if (u->err != IMG_OK) {
		pipeline_fail(u, UPLOAD_ENDED, u->err);
		pipeline_finish(p, u);
		return true;
	}
	atomic_store(&u->running_count, 1);
	if (send(p, u))
		return true;
	atomic_fetch_sub(&p->counts.sent, 1);
	return refuse(p, u, UPLOAD_NO_PLACE);
}

static struct stage_stats *add_stage(struct pipeline_stats *to, uint32_t stage)
{
	to->stage_names[to->stage_count] = pipeline_step_names[stage];
	return &to->stages[to->stage_count++];
}

void pipeline_read(const struct pipeline *p, struct pipeline_stats *out)
{
	*out = (struct pipeline_stats){
		.in_flight_count = atomic_load(&p->in_flight_count),
	};
	pipeline_counts_read(&p->counts, out);
	buffers_read(p->buffers, &out->buffers);
	budget_read(&p->budget, &out->memory);
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		stage_read(p->places[i].stage, add_stage(out, i));
	if (p->store != NULL)
		auxiliary_read(p->store, add_stage(out, PIPELINE_STORE));
	if (p->express.lane != NULL)
		express_read(&p->express, add_stage(out, PIPELINE_EXPRESS));
}

struct pipeline_load pipeline_load(const struct pipeline *p)
{
	return (struct pipeline_load){
		.in_flight_count = atomic_load(&p->in_flight_count),
		.uploads_max = p->config.uploads_max,
		.used_bytes = atomic_load(&p->budget.used_bytes),
		.limit_bytes = p->budget.limit_bytes,
	};
}

uint32_t pipeline_retry_after_s(struct pipeline *p)
{
	return drain_retry_after_s(&p->drain, atomic_load(&p->in_flight_count),
				   clock_now_ns());
}

uint32_t pipeline_worker_count(const struct pipeline *p)
{
	return group_worker_count(p->group);
}

bool pipeline_send_errand(struct pipeline *p, struct errand *e)
{
	if (!auxiliary_send(p->store, e))
		return false;
	atomic_fetch_add(&p->counts.errands, 1);
	return true;
}

struct budget *pipeline_budget(struct pipeline *p)
{
	return &p->budget;
}

const struct img_memory *pipeline_memory(const struct pipeline *p)
{
	return p->memory;
}

uint64_t pipeline_likely_bytes(const struct pipeline *p, uint64_t body_bytes)
{
	return forecast_bytes(&p->forecast, body_bytes);
}

struct group *pipeline_group(const struct pipeline *p)
{
	return p->group;
}

static bool add_stages(struct pipeline *p)
{
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++) {
		struct pipeline_place *at = &p->places[i];
		uint32_t slots = p->config.uploads_max;

		if (i > PIPELINE_DECODE)
			slots *= VARIANTS_MAX;
		at->pipeline = p;
		at->step = i;
		at->stage = group_add(p->group,
				      &(struct stage_config){
					      .name = pipeline_step_names[i],
					      .handler = pipeline_take_step,
					      .arg = at,
					      .slots = slots,
				      });
		if (at->stage == NULL)
			return false;
	}
	return true;
}

/* Nothing to do where there is none.  False: no memory, or no threads. */
static bool start_store(struct pipeline *p)
{
	const struct pipeline_config *c = &p->config;
	bool has_workers = c->schedule.policy->workers != POLICY_WORKERS_CALLER;

	if (c->store_threads == 0)
		return true;
	p->store = auxiliary_start(&(struct auxiliary_config){
		.name = pipeline_step_names[PIPELINE_STORE],
		.threads = has_workers ? c->store_threads : 0,
		.slots = c->uploads_max + c->errands_max,
		.cores = c->cores,
	});
	return p->store != NULL;
}

struct pipeline *pipeline_start(const struct pipeline_config *config)
{
	struct pipeline *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->config = *config;
	budget_init(&p->budget, img_pool_promised(config->memory_bytes_max));
	forecast_init(&p->forecast);
	p->buffers = buffers_new(KEPT_BYTES_MAX, config->memory_bytes_max);
	if (p->buffers == NULL) {
		free(p);
		return NULL;
	}
	p->memory = buffers_memory(p->buffers);
	p->group = group_new(&(struct group_config){
		.schedule = &config->schedule,
		.cores = config->cores,
	});
	if (p->group != NULL && add_stages(p) && start_store(p) &&
	    express_start(&p->express, config->express_ns, config->uploads_max,
			  config->cores) &&
	    group_start(p->group))
		return p;
	pipeline_free(p);
	return NULL;
}

void pipeline_abandon(struct pipeline *p)
{
	atomic_store(&p->abandoning, true);
}

void pipeline_stop(struct pipeline *p)
{
	group_stop(p->group);
	express_stop(&p->express);
	if (p->store != NULL)
		auxiliary_stop(p->store);
}

void pipeline_free(struct pipeline *p)
{
	if (p == NULL)
		return;
	express_free(&p->express);
	auxiliary_free(p->store);
	group_free(p->group);
	buffers_free(p->buffers);
	free(p);
}
