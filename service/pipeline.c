/* SPDX-License-Identifier: MIT */
/*
 * The stage graph of an upload.  To add a step: a function here, a line in
 * `steps` and one in `pipeline_step_names`, a name in enum pipeline_step, and
 * its time in foretell().
 */
#include "service/pipeline.h"

#include "service/buffers.h"
#include "service/clock.h"
#include "service/forecast.h"
#include "imgops/cost.h"
#include "stages/cores.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	RETRY_AFTER_S_MAX = 60,
	KEPT_BYTES_MAX = 256 << 20,
	/*
	 * What blocks of the pool take more than is asked for: a quarter, and
	 * somewhat more than a page each, of which a picture has less than 24.
	 */
	ROUNDING_PART = 4,
	ROUNDING_BYTES = 128 << 10,
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

	_Atomic uint64_t sent_count;
	_Atomic uint64_t refused_count;
	_Atomic uint64_t finished_count;
	_Atomic uint64_t failed_count;
	_Atomic uint64_t late_count;
	_Atomic uint64_t gone_count;
	_Atomic uint32_t in_flight_count;
	_Atomic uint64_t begun_count; /* of those sent, not refused by header */
	_Atomic uint64_t service_ns;  /* of their steps so far */
	_Atomic bool abandoning;
};

void pipeline_reply_free(void *reply)
{
	img_pool_block_free(reply);
}

/* All that the header tells: what will come out, and how long steps take. */
static enum img_err foretell(const struct pipeline *p, struct upload *u)
{
	enum img_err err = img_probe(&u->header, u->jpeg, u->jpeg_bytes,
				     &p->config.limits);

	if (err != IMG_OK)
		return err;
	u->view = img_fit(&u->header, &u->recipe);

	struct img_cost cost = img_cost(&u->header, u->jpeg, u->jpeg_bytes,
					&u->view, &u->recipe);

	u->foretold_ns[PIPELINE_DECODE] = cost.decode_ns;
	u->foretold_ns[PIPELINE_SCALE] = cost.scale_ns;
	u->foretold_ns[PIPELINE_BLUR] = cost.blur_ns;
	u->foretold_ns[PIPELINE_ENCODE] = cost.encode_ns;
	u->event.left_ns = cost.cpu_ns;
	u->foretold_bytes =
		cost.bytes + cost.bytes / ROUNDING_PART + ROUNDING_BYTES;
	return IMG_OK;
}

bool pipeline_peek(struct pipeline *p, struct upload *u)
{
	uint64_t bytes;

	u->end = UPLOAD_ENDED;
	u->err = foretell(p, u);
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

static enum img_err decode(const struct pipeline *p, struct upload *u)
{
	return img_decode(&u->image, u->jpeg, u->jpeg_bytes, &u->header,
			  &u->view, &u->recipe, &p->config.limits, p->memory);
}

/* On success `made` takes the place of the upload's picture. */
static enum img_err replace(struct upload *u, enum img_err err,
			    const struct image *made)
{
	if (err != IMG_OK)
		return err;
	img_release(&u->image);
	u->image = *made;
	return IMG_OK;
}

static enum img_err scale(const struct pipeline *p, struct upload *u)
{
	struct image scaled = { 0 };

	return replace(
		u,
		img_scale(&scaled, &u->image, &u->view, &u->recipe, p->memory),
		&scaled);
}

static enum img_err blur(const struct pipeline *p, struct upload *u)
{
	struct image blurred = { 0 };

	if (u->recipe.blur_sigma_px <= 0)
		return IMG_OK;
	return replace(u,
		       img_blur(&blurred, &u->image, u->recipe.blur_sigma_px,
				p->memory),
		       &blurred);
}

static enum img_err encode(const struct pipeline *p, struct upload *u)
{
	return img_encode(&u->reply, &u->reply_bytes, &u->image, &u->recipe,
			  p->memory);
}

typedef enum img_err step_fn(const struct pipeline *p, struct upload *u);

static step_fn *const steps[PIPELINE_STEPS] = {
	[PIPELINE_DECODE] = decode,
	[PIPELINE_SCALE] = scale,
	[PIPELINE_BLUR] = blur,
	[PIPELINE_ENCODE] = encode,
};

const char *const pipeline_step_names[PIPELINE_STEPS] = {
	[PIPELINE_DECODE] = "decode",
	[PIPELINE_SCALE] = "scale",
	[PIPELINE_BLUR] = "blur",
	[PIPELINE_ENCODE] = "encode",
};

/* Counts first: whoever sees the reply sees it counted. */
static void finish(struct pipeline *p, struct upload *u, enum img_err err)
{
	u->notes = u->image.notes;
	img_release(&u->image);
	budget_lower(&u->charge,
		     u->jpeg_charge_bytes + img_pool_block_count(u->reply));
	u->err = err;
	u->waited_ns = u->event.waited_ns;
	atomic_fetch_add(err == IMG_OK && u->end == UPLOAD_ENDED ?
				 &p->finished_count :
				 &p->failed_count,
			 1);
	atomic_fetch_sub(&p->in_flight_count, 1);
	buffers_touch(p->buffers);
	u->done(u);
}

static struct upload *upload_of(struct event *ev)
{
	return (struct upload *)((char *)ev - offsetof(struct upload, event));
}

/* Is the next step worth taking?  UPLOAD_ENDED: it is. */
static enum upload_end look(struct pipeline *p, const struct upload *u,
			    uint64_t now_ns)
{
	if (atomic_load(&p->abandoning))
		return UPLOAD_ABANDONED;
	if (u->is_gone != NULL && u->is_gone(u)) {
		atomic_fetch_add(&p->gone_count, 1);
		return UPLOAD_GONE;
	}
	if (u->deadline_ns > 0 && now_ns >= u->deadline_ns) {
		atomic_fetch_add(&p->late_count, 1);
		return UPLOAD_LATE;
	}
	return UPLOAD_ENDED;
}

/* The handler of every stage. */
static void take_step(struct event *ev, void *arg)
{
	const struct place *at = arg;
	struct pipeline *p = at->pipeline;
	struct upload *u = upload_of(ev);

	uint64_t start_ns = clock_now_ns();

	u->end = look(p, u, start_ns);
	if (u->end != UPLOAD_ENDED) {
		finish(p, u, IMG_OK);
		return;
	}
	enum img_err err = steps[at->step](p, u);

	u->service_ns[at->step] = clock_now_ns() - start_ns;
	atomic_fetch_add(&p->begun_count, at->step == PIPELINE_DECODE);
	atomic_fetch_add(&p->service_ns, u->service_ns[at->step]);
	ev->left_ns -= u->foretold_ns[at->step];
	if (err != IMG_OK || at->step + 1 == PIPELINE_STEPS) {
		finish(p, u, err);
		return;
	}
	/* Every queue has room for all uploads, so none is refused here. */
	bool sent = stage_send(p->places[at->step + 1].stage, ev);

	assert(sent);
	(void)sent;
}

/* Returns false. */
static bool refuse(struct pipeline *p, struct upload *u, enum upload_end end)
{
	u->end = end;
	atomic_fetch_sub(&p->in_flight_count, 1);
	atomic_fetch_add(&p->refused_count, 1);
	return false;
}

bool pipeline_submit(struct pipeline *p, struct upload *u)
{
	if (atomic_fetch_add(&p->in_flight_count, 1) >= p->config.uploads_max)
		return refuse(p, u, UPLOAD_NO_PLACE);

	enum img_err err = foretell(p, u);
	enum upload_end end = err == IMG_OK ? charge(p, u) : UPLOAD_ENDED;

	if (end != UPLOAD_ENDED)
		return refuse(p, u, end);
	/* Before sending: `u` may be done when that returns. */
	atomic_fetch_add(&p->sent_count, 1);
	if (err != IMG_OK) {
		finish(p, u, err);
		return true;
	}
	if (stage_send(p->places[0].stage, &u->event))
		return true;
	atomic_fetch_sub(&p->sent_count, 1);
	return refuse(p, u, UPLOAD_NO_PLACE);
}

void pipeline_read(const struct pipeline *p, struct pipeline_stats *out)
{
	*out = (struct pipeline_stats){
		.finished_count = atomic_load(&p->finished_count),
		.failed_count = atomic_load(&p->failed_count),
		.late_count = atomic_load(&p->late_count),
		.gone_count = atomic_load(&p->gone_count),
		.refused_count = atomic_load(&p->refused_count),
		.in_flight_count = atomic_load(&p->in_flight_count),
		.sent_count = atomic_load(&p->sent_count),
	};
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

uint32_t pipeline_retry_after_s(const struct pipeline *p)
{
	uint64_t begun = atomic_load(&p->begun_count);
	uint64_t service_ns = atomic_load(&p->service_ns);
	uint64_t mean_ns = begun > 0 ? service_ns / begun : 0;
	uint64_t drain_s = mean_ns * atomic_load(&p->in_flight_count) /
			   cores_count(p->config.cores) / 1000000000;

	return drain_s < RETRY_AFTER_S_MAX ? (uint32_t)drain_s + 1 :
					     RETRY_AFTER_S_MAX;
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

		at->pipeline = p;
		at->step = i;
		at->stage = group_add(p->group,
				      &(struct stage_config){
					      .name = pipeline_step_names[i],
					      .handler = take_step,
					      .arg = at,
					      .slots = p->config.uploads_max,
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
