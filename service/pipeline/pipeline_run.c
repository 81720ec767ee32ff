/* SPDX-License-Identifier: MIT */
/*
 * The way of an upload through the stages, from the event of its first variant,
 * which decodes, to the end of its last, and the store behind it.
 */
#include "service/pipeline/pipeline_run.h"

#include "service/pipeline/buffers.h"
#include "service/clock.h"
#include "service/pipeline/steps.h"

#include <assert.h>

static void add_times(struct upload *u, const struct variant *v)
{
	u->waited_ns += v->event.waited_ns;
	for (uint32_t k = 0; k < PIPELINE_STEPS; k++) {
		uint64_t begun_ns = v->begun_ns[k];

		u->service_ns[k] += v->service_ns[k];
		if (begun_ns > 0 &&
		    (u->begun_ns[k] == 0 || begun_ns < u->begun_ns[k]))
			u->begun_ns[k] = begun_ns;
	}
}

void pipeline_finish(struct pipeline *p, struct upload *u)
{
	img_release(&u->decoded);
	for (uint32_t i = 0; i < u->variant_count; i++)
		add_times(u, &u->variants[i]);
	u->waited_ns += u->errand.event.waited_ns;
	if (atomic_load(&u->is_failed))
		upload_free_results(u);
	budget_lower(&u->charge, u->jpeg_charge_bytes + upload_result_bytes(u));
	/* First: whoever sees the reply sees it counted. */
	pipeline_count_end(&p->counts, u);
	atomic_fetch_sub(&p->in_flight_count, 1);
	buffers_touch(p->buffers);
	u->done(u);
}

void pipeline_fail(struct upload *u, enum upload_end end, enum img_err err)
{
	if (atomic_exchange(&u->is_failed, true))
		return;
	u->end = end;
	u->err = err;
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

/* There is room for all uploads: none is refused. */
static void send_to_store(struct pipeline *p, struct upload *u)
{
	bool sent;

	/* First: it may have ended when it is sent. */
	pipeline_count_kept(&p->counts, u);
	sent = auxiliary_send(p->store, &u->errand);
	assert(sent);
	(void)sent;
}

/* The last of its steps is over. */
static void end(struct pipeline *p, struct upload *u)
{
	drain_count(&p->drain, clock_now_ns());
	pipeline_finish(p, u);
}

static struct upload *upload_of(struct errand *e)
{
	return (struct upload *)((char *)e - offsetof(struct upload, errand));
}

/* An errand's run(). */
static void store(struct errand *e)
{
	struct upload *u = upload_of(e);
	uint64_t start_ns = clock_now_ns();
	enum upload_end how = look(u->pipeline, u, start_ns);

	if (how == UPLOAD_ENDED) {
		how = u->store(u);
		u->begun_ns[PIPELINE_STORE] = start_ns;
		u->service_ns[PIPELINE_STORE] = clock_now_ns() - start_ns;
	}
	if (how != UPLOAD_ENDED)
		pipeline_fail(u, how, IMG_OK);
	end(u->pipeline, u);
}

/* The variant has no step left to take; behind the last one, the upload. */
static void leave(struct pipeline *p, struct variant *v)
{
	struct upload *u = v->upload;

	v->size = v->view.size;
	v->notes = v->image.notes;
	img_release(&v->image);
	if (!u->is_express)
		express_count(&p->express, u->foretold_ns, -1);
	if (atomic_fetch_sub(&u->running_count, 1) != 1)
		return;
	if (u->store == NULL || atomic_load(&u->is_failed)) {
		end(p, u);
		return;
	}
	budget_lower(&u->charge, u->jpeg_charge_bytes + upload_result_bytes(u));
	u->errand.run = store;
	send_to_store(p, u);
}

static struct variant *variant_of(struct event *ev)
{
	return (struct variant *)((char *)ev - offsetof(struct variant, event));
}

/* Take one step, and its time.  False: the upload has failed. */
static bool run_step(struct pipeline *p, enum pipeline_step step,
		     struct variant *v)
{
	struct upload *u = v->upload;
	uint64_t start_ns = clock_now_ns();
	uint64_t foretold_ns = v->foretold_ns[step];
	enum upload_end end;
	enum img_err err = IMG_OK;

	if (atomic_load(&u->is_failed))
		return false;
	end = look(p, u, start_ns);
	if (end == UPLOAD_ENDED) {
		err = steps_take(step, v, &p->config.limits, p->memory);
		if (step == PIPELINE_DECODE && err == IMG_OK &&
		    u->on_decoded != NULL)
			u->on_decoded(u);
		v->begun_ns[step] = start_ns;
		v->service_ns[step] = clock_now_ns() - start_ns;
	}
	if (end != UPLOAD_ENDED || err != IMG_OK) {
		pipeline_fail(u, end, err);
		return false;
	}
	v->event.left_ns =
		atomic_fetch_sub(&u->left_ns, foretold_ns) - foretold_ns;
	return true;
}

/* Every queue has room for all variants of all uploads: none is refused. */
static void send(const struct pipeline_place *to, struct variant *v)
{
	bool sent = stage_send(to->stage, &v->event);

	assert(sent);
	(void)sent;
}

/* It is decoded: each variant goes its own way from here. */
static void divide(struct upload *u)
{
	atomic_store(&u->unscaled_count, u->variant_count);
	atomic_store(&u->running_count, u->variant_count);
}

/* Its own event goes last: until then the upload cannot end. */
static void fan_out(const struct pipeline_place *to, struct upload *u)
{
	struct variant *first = &u->variants[0];

	divide(u);
	express_count(&to->pipeline->express, u->foretold_ns,
		      (int32_t)u->variant_count - 1);
	for (uint32_t i = 1; i < u->variant_count; i++) {
		struct variant *v = &u->variants[i];

		v->event.left_ns = first->event.left_ns;
		v->event.born_ns = first->event.born_ns;
		send(to, v);
	}
	send(to, first);
}

/* The first variant's event decodes for all. */
void pipeline_take_step(struct event *ev, void *arg)
{
	const struct pipeline_place *at = arg;
	struct variant *v = variant_of(ev);

	if (!run_step(at->pipeline, at->step, v) ||
	    at->step + 1 == PIPELINE_STEPS)
		leave(at->pipeline, v);
	else if (at->step == PIPELINE_DECODE)
		fan_out(at + 1, v->upload);
	else
		send(at + 1, v);
}

/* What is behind decode. */
static void take_rest(struct pipeline *p, struct variant *v)
{
	for (uint32_t step = PIPELINE_SCALE; step < PIPELINE_STEPS; step++)
		if (!run_step(p, step, v))
			break;
	leave(p, v);
}

/* The upload may end with its last variant, but not before. */
void pipeline_take_steps(struct errand *e)
{
	struct upload *u = upload_of(e);
	struct pipeline *p = u->pipeline;
	uint64_t upload_ns = u->foretold_ns;
	uint32_t variant_count = u->variant_count;

	u->variants[0].event.born_ns = e->event.born_ns;
	if (run_step(p, PIPELINE_DECODE, &u->variants[0])) {
		divide(u);
		for (uint32_t i = 0; i < variant_count; i++)
			take_rest(p, &u->variants[i]);
	} else
		leave(p, &u->variants[0]);
	express_leave(&p->express, upload_ns);
}
