/* SPDX-License-Identifier: MIT */
/*
 * The stage graph of an upload, from the event of its first variant, which
 * decodes, to the end of its last.
 */
#include "service/pipeline.h"

#include "service/buffers.h"
#include "service/clock.h"
#include "service/drain.h"
#include "service/forecast.h"
#include "service/pipeline_counts.h"
#include "service/steps.h"
#include "stages/cores.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	KEPT_BYTES_MAX = 256 << 20,
};

/* A stage's argument: which step of which pipeline it runs. */
struct place {
	struct pipeline *pipeline;
	enum pipeline_step step;
	struct stage *stage;
};

struct pipeline {
	struct pipeline_config config;
	struct buffers *buffers;
	const struct img_memory *memory; /* of `buffers` */
	struct budget budget;
	struct forecast forecast;
	struct group *group;
	struct place places[PIPELINE_STEPS];

	struct pipeline_counts counts;
	_Atomic uint32_t in_flight_count;
	struct drain drain; /* of what was queued */
	_Atomic bool abandoning;
};

bool pipeline_has_place(struct pipeline *p)
{
	if (atomic_load(&p->in_flight_count) < p->config.uploads_max)
		return true;
	atomic_fetch_add(&p->counts.refused, 1);
	return false;
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
	forecast_learn(&p->forecast, u->jpeg_bytes, u->foretold_bytes);
	u->charge.budget = &p->budget;
	switch (budget_charge(&u->charge,
			      u->jpeg_charge_bytes + u->foretold_bytes)) {
	case BUDGET_OK:
		return UPLOAD_ENDED;
	case BUDGET_FULL:
		return UPLOAD_MEMORY_FULL;
	case BUDGET_NEVER:
		return UPLOAD_TOO_MUCH;
	}
	abort();
}

const char *const pipeline_step_names[PIPELINE_STEPS] = {
	[PIPELINE_DECODE] = "decode",
	[PIPELINE_SCALE] = "scale",
	[PIPELINE_BLUR] = "blur",
	[PIPELINE_ENCODE] = "encode",
};

/* Counts first: whoever sees the reply sees it counted. */
static void finish(struct pipeline *p, struct upload *u)
{
	img_release(&u->decoded);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		u->waited_ns += v->event.waited_ns;
		for (uint32_t k = 0; k < PIPELINE_STEPS; k++)
			u->service_ns[k] += v->service_ns[k];
	}
	if (atomic_load(&u->is_failed))
		upload_free_results(u);
	budget_lower(&u->charge, u->jpeg_charge_bytes + upload_result_bytes(u));
	pipeline_count_end(&p->counts, u);
	atomic_fetch_sub(&p->in_flight_count, 1);
	buffers_touch(p->buffers);
	u->done(u);
}

/* The first reason stands; the other variants stop at their next step. */
static void fail(struct upload *u, enum upload_end end, enum img_err err)
{
	if (atomic_exchange(&u->is_failed, true))
		return;
	u->end = end;
	u->err = err;
}

/* The variant has no step left to take; the last one ends the upload. */
static void leave(struct pipeline *p, struct variant *v)
{
	struct upload *u = v->upload;

	v->size = v->view.size;
	v->notes = v->image.notes;
	img_release(&v->image);
	if (atomic_fetch_sub(&u->running_count, 1) != 1)
		return;
	drain_count(&p->drain, clock_now_ns());
	finish(p, u);
}

static struct variant *variant_of(struct event *ev)
{
	return (struct variant *)((char *)ev - offsetof(struct variant, event));
}

/* Is the next step worth taking?  UPLOAD_ENDED: it is. */
static enum upload_end look(const struct pipeline *p, const struct upload *u,
			    uint64_t now_ns)
{
	if (atomic_load(&p->abandoning))
		return UPLOAD_ABANDONED;
	if (u->is_gone != NULL && u->is_gone(u))
		return UPLOAD_GONE;
	if (u->deadline_ns > 0 && now_ns >= u->deadline_ns)
		return UPLOAD_LATE;
	return UPLOAD_ENDED;
}

/* Take one step, and its time.  False: the upload has failed. */
static bool run_step(const struct place *at, struct variant *v)
{
	struct pipeline *p = at->pipeline;
	struct upload *u = v->upload;
	uint64_t start_ns = clock_now_ns();
	uint64_t foretold_ns = v->foretold_ns[at->step];
	enum upload_end end;
	enum img_err err = IMG_OK;

	if (atomic_load(&u->is_failed))
		return false;
	end = look(p, u, start_ns);
	if (end == UPLOAD_ENDED) {
		err = steps_take(at->step, v, &p->config.limits, p->memory);
		v->service_ns[at->step] = clock_now_ns() - start_ns;
	}
	if (end != UPLOAD_ENDED || err != IMG_OK) {
		fail(u, end, err);
		return false;
	}
	v->event.left_ns =
		atomic_fetch_sub(&u->left_ns, foretold_ns) - foretold_ns;
	return true;
}

/* Every queue has room for all variants of all uploads: none is refused. */
static void send(const struct place *to, struct variant *v)
{
	bool sent = stage_send(to->stage, &v->event);

	assert(sent);
	(void)sent;
}

/* Its own event goes last: until then the upload cannot end. */
static void fan_out(const struct place *to, struct upload *u)
{
	struct variant *first = &u->variants[0];

	atomic_store(&u->unscaled_count, u->variant_count);
	atomic_store(&u->running_count, u->variant_count);
	for (uint32_t i = 1; i < u->variant_count; i++) {
		struct variant *v = &u->variants[i];

		v->event.left_ns = first->event.left_ns;
		v->event.born_ns = first->event.born_ns;
		send(to, v);
	}
	send(to, first);
}

/* The handler of every stage.  The first variant's event decodes for all. */
static void take_step(struct event *ev, void *arg)
{
	const struct place *at = arg;
	struct variant *v = variant_of(ev);

	if (!run_step(at, v) || at->step + 1 == PIPELINE_STEPS)
		leave(at->pipeline, v);
	else if (at->step == PIPELINE_DECODE)
		fan_out(at + 1, v->upload);
	else
		send(at + 1, v);
}

/* Returns false. */
static bool refuse(struct pipeline *p, struct upload *u, enum upload_end end)
{
	u->end = end;
	atomic_fetch_sub(&p->in_flight_count, 1);
	atomic_fetch_add(&p->counts.refused, 1);
	return false;
}

bool pipeline_submit(struct pipeline *p, struct upload *u)
{
	uint32_t inside_count = atomic_fetch_add(&p->in_flight_count, 1);

	if (inside_count == 0)
		drain_begin(&p->drain, clock_now_ns());
	if (inside_count >= p->config.uploads_max)
		return refuse(p, u, UPLOAD_NO_PLACE);

	u->err = steps_foretell(u, &p->config.limits);
	u->end = u->err == IMG_OK ? charge(p, u) : UPLOAD_ENDED;
	if (u->end != UPLOAD_ENDED)
		return refuse(p, u, u->end);
	/* Before sending: `u` may be done when that returns. */
	atomic_fetch_add(&p->counts.sent, 1);
	if (u->err != IMG_OK) {
		fail(u, UPLOAD_ENDED, u->err);
		finish(p, u);
		return true;
	}
	atomic_store(&u->running_count, 1);
	if (stage_send(p->places[0].stage, &u->variants[0].event))
		return true;
	atomic_fetch_sub(&p->counts.sent, 1);
	return refuse(p, u, UPLOAD_NO_PLACE);
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
		stage_read(p->places[i].stage, &out->stages[i]);
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
		struct place *at = &p->places[i];
		uint32_t slots = p->config.uploads_max;

		if (i > PIPELINE_DECODE)
			slots *= VARIANTS_MAX;
		at->pipeline = p;
		at->step = i;
		at->stage = group_add(p->group,
				      &(struct stage_config){
					      .name = pipeline_step_names[i],
					      .handler = take_step,
					      .arg = at,
					      .slots = slots,
				      });
		if (at->stage == NULL)
			return false;
	}
	return true;
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
	if (p->group != NULL && add_stages(p) && group_start(p->group))
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
}

void pipeline_free(struct pipeline *p)
{
	if (p == NULL)
		return;
	group_free(p->group);
	buffers_free(p->buffers);
	free(p);
}
