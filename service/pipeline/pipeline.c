/* SPDX-License-Identifier: MIT */
/*
 * An upload enters by pipeline_submit(), as a closure.  It is decoded, and
 * waits for its children: each variant is a closure that goes through the other
 * steps, as far as it needs them.  When the last one has ended, the upload is
 * stored, if that is asked for, and leaves by its done().  With the stages of
 * the thesis, it is the child of another closure, which parses its body.
 *
 * In the order of this file: what a pipeline consists of, results and counts,
 * steps and stages, submitting, reading, starting and stopping.
 */
#include "service/pipeline/pipeline.h"

#include "base/clock.h"
#include "base/error.h"
#include "service/pipeline/buffers.h"
#include "service/pipeline/pace.h"
#include "service/pipeline/steps.h"
#include "stages/stage.h"
#include "stages/threads/resources.h"
#include "stages/flags.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	KEPT_BYTES_MAX = 256 << 20,
	/*
	 * Until its body is parsed, an upload is expected to need this time for
	 * each byte: 7.5 ms for 100 KB, as in stages/sim/graphs/image.json.
	 */
	UNPARSED_NS_PER_BYTE = 75,
};

/* A decode with help takes such a part of the time of one without. */
#define HELPED_TIMES 0.6

const char *const pipeline_step_names[PIPELINE_STAGES] = {
	[PIPELINE_PARSE] = "parse",   [PIPELINE_DECODE] = "decode",
	[PIPELINE_SCALE] = "scale",   [PIPELINE_BLUR] = "blur",
	[PIPELINE_ENCODE] = "encode", [PIPELINE_STATISTICS] = "statistics",
	[PIPELINE_STORE] = "store",
};

struct pipeline_steps pipeline_steps(enum stage_set set)
{
	static const enum pipeline_step ends[][2] = {
		[STAGES_IMAGE] = { PIPELINE_DECODE, PIPELINE_ENCODE },
		[STAGES_THESIS] = { PIPELINE_PARSE, PIPELINE_STATISTICS },
	};
	enum pipeline_step first = ends[set][0], last = ends[set][1];

	return (struct pipeline_steps){
		.first = first,
		.count = last - first + 1,
		.names = pipeline_step_names + first,
	};
}

/* A stage's argument: which step of which pipeline it runs. */
struct pipeline_stage {
	struct pipeline *pipeline;
	enum pipeline_step step;
	struct stage *stage;
};

/* Since start. */
struct pipeline_counts {
	_Atomic uint64_t sent;
	_Atomic uint64_t refused;
	_Atomic uint64_t abandoned;
	_Atomic uint64_t finished;
	_Atomic uint64_t failed;
	_Atomic uint64_t late, unreachable, gone; /* of the failed */
	_Atomic uint64_t unstored, stored;        /* of the finished */
	_Atomic uint64_t sent_to_store;
	_Atomic uint64_t tasks; /* by pipeline_send_task() */
	_Atomic uint64_t cleared_bytes;
	/* Of the finished uploads. */
	_Atomic uint64_t pixels_in, pixels_out;
	_Atomic uint64_t inside_ns;
	struct histogram inside;
};

/*
 * A stage that runs tasks.  It has threads of its own, besides the workers of
 * the schedule, because tasks wait: for disks, or for other processes.
 */
struct task_stage {
	struct stage_group *group; /* NULL: there is none */
	struct stage *stage;
};

struct pipeline {
	struct pipeline_config config;
	struct steps steps;
	struct buffers *buffers;
	struct memory memory;         /* of `buffers`; pauses events */
	struct memory arrival_memory; /* the same without pauses */
	bool is_taken; /* `memory` says to stages/ what is taken */
	struct budget budget;
	struct memory_estimate memory_estimate;
	struct stage_group *group;
	enum pipeline_step first, last; /* of the steps that there are */
	struct pipeline_stage stages[PIPELINE_STEPS];
	struct task_stage store;
	struct task_stage decoder; /* decodes what decoder_takes() */
	struct task_stage helper;  /* of cores that are idle */
	struct help_stage help, early_help;
	struct pipeline_counts counts;
	_Atomic uint32_t in_flight_count;
	_Atomic uint32_t waiting_count; /* queued: decode has not begun */
	_Atomic uint64_t left_ns;     /* estimated work of all queued uploads */
	struct departures departures; /* of uploads that were queued */
	struct pace pace;
	_Atomic bool abandoning;
};

uint64_t upload_result_bytes(const struct upload *u)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < u->variant_count; i++)
		bytes += memory_pool_block_charge(u->variants[i].jpeg);
	return bytes;
}

void upload_free_results(struct upload *u)
{
	if (u->pipeline != NULL && u->pipeline->is_taken)
		stage_take(RESOURCE_MEMORY, -(int64_t)upload_result_bytes(u));
	for (uint32_t i = 0; i < u->variant_count; i++) {
		memory_pool_block_free(u->variants[i].jpeg);
		u->variants[i].jpeg = NULL;
		u->variants[i].jpeg_bytes = 0;
	}
}

bool upload_is_made(const struct upload *u)
{
	return atomic_load(&u->running_count) == 0;
}

uint64_t upload_left_ns(const struct upload *u)
{
	uint64_t left_ns = atomic_load(&u->left_ns);
	uint64_t decode_ns = u->variants[0].estimated_ns[PIPELINE_DECODE];

	return left_ns > decode_ns ? left_ns - decode_ns : 0;
}

static void count_result(struct pipeline_counts *c, const struct upload *u)
{
	uint64_t inside_ns = clock_now_ns() - u->queued_ns;
	uint64_t pixels_out = 0;

	for (uint32_t i = 0; i < u->variant_count; i++)
		pixels_out += img_pixels(u->variants[i].size);
	atomic_fetch_add(&c->pixels_in, img_pixels(u->stored));
	atomic_fetch_add(&c->pixels_out, pixels_out);
	atomic_fetch_add(&c->inside_ns, inside_ns);
	histogram_add(&c->inside, inside_ns);
}

static void count_error(struct pipeline *p, const struct upload *u)
{
	uint64_t cpu_ns = 0;

	for (uint32_t i = 0; i < u->variant_count; i++)
		cpu_ns += u->variants[i].cpu_ns;
	if (!u->header.has_findings)
		pace_count_error(&p->pace, u->expected_cpu_ns, cpu_ns);
}

static void count_end(struct pipeline *p, const struct upload *u)
{
	struct pipeline_counts *c = &p->counts;

	if (atomic_load(&u->is_failed)) {
		atomic_fetch_add(&c->failed, 1);
		atomic_fetch_add(&c->late, u->end == UPLOAD_LATE);
		atomic_fetch_add(&c->unreachable, u->end == UPLOAD_UNREACHABLE);
		atomic_fetch_add(&c->gone, u->end == UPLOAD_GONE);
	} else {
		atomic_fetch_add(&c->finished, 1);
		atomic_fetch_add(u->store != NULL ? &c->stored : &c->unstored,
				 1);
		count_result(c, u);
		count_error(p, u);
	}
}

static void sum_times(struct upload *u, const struct variant *v)
{
	u->waited_ns += v->closure.event.waited_ns;
	for (uint32_t k = u->pipeline->first; k <= u->pipeline->last; k++) {
		uint64_t begun_ns = v->begun_ns[k];

		u->service_ns[k] += v->service_ns[k];
		if (begun_ns > 0 &&
		    (u->begun_ns[k] == 0 || begun_ns < u->begun_ns[k]))
			u->begun_ns[k] = begun_ns;
	}
}

/* Nothing of the upload runs any more: count it, and call done(). */
static void finish_upload(struct pipeline *p, struct upload *u)
{
	early_end(&u->early);
	img_release(&u->decoded);
	img_metadata_release(&u->metadata);
	for (uint32_t i = 0; i < u->variant_count; i++)
		sum_times(u, &u->variants[i]);
	u->waited_ns += u->parsing.event.waited_ns +
			u->closure.event.waited_ns + u->task.event.waited_ns;
	if (atomic_load(&u->is_failed))
		upload_free_results(u);
	budget_lower(&u->charge, u->jpeg_charge_bytes + upload_result_bytes(u));
	/* Before done(): a client that sees the reply sees it counted. */
	count_end(p, u);
	atomic_fetch_sub(&p->in_flight_count, 1);
	budget_give_slot(&u->charge);
	buffers_touch(p->buffers);
	u->done(u);
}

/*
 * Only the first call sets the reason.  Variants that run stop before their
 * next step.
 */
static void fail_upload(struct upload *u, enum upload_end end, enum img_err err,
			uint64_t needed_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (atomic_exchange(&u->is_failed, true))
		return;
	u->end = end;
	u->err = err;
	u->needed_ns = needed_ns;
	u->remaining_ns = u->deadline_ns > now_ns ? u->deadline_ns - now_ns : 0;
}

/* Estimated time of the variant's steps from `step` on, if nothing waits. */
static uint64_t variant_needs_ns(const struct variant *v, uint32_t step)
{
	uint64_t ns = 0;

	for (; step <= PIPELINE_ENCODE; step++)
		ns += v->estimated_ns[step];
	return ns;
}

/*
 * Estimated time from before decode until the reply has arrived, if the
 * variants run at the same time.  After decode, the time of the reply is
 * ignored: a reply that is a little late is better than CPU time lost.
 */
static uint64_t upload_needs_ns(const struct upload *u)
{
	uint64_t longest_ns = 0;

	for (uint32_t i = 0; i < u->variant_count; i++) {
		uint64_t ns = variant_needs_ns(&u->variants[i], PIPELINE_SCALE);

		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	return u->variants[0].estimated_ns[PIPELINE_DECODE] + longest_ns +
	       u->reply_ns;
}

/* UPLOAD_ENDED: steps that take `needed_ns` can end before the deadline. */
static enum upload_end check_deadline(const struct upload *u, uint64_t now_ns,
				      uint64_t needed_ns)
{
	if (u->deadline_ns == 0 || atomic_load(&u->is_accepted))
		return UPLOAD_ENDED;
	if (now_ns >= u->deadline_ns)
		return UPLOAD_LATE;
	return needed_ns > u->deadline_ns - now_ns ? UPLOAD_UNREACHABLE :
						     UPLOAD_ENDED;
}

/*
 * Why the next step must not run, if the remaining steps take `needed_ns`;
 * UPLOAD_ENDED: it may run.
 */
static enum upload_end reason_to_stop(const struct pipeline *p,
				      const struct upload *u, uint64_t now_ns,
				      uint64_t needed_ns)
{
	if (atomic_load(&p->abandoning))
		return UPLOAD_ABANDONED;
	if (atomic_load(&u->is_accepted))
		return UPLOAD_ENDED;
	if (u->is_gone != NULL && u->is_gone(u))
		return UPLOAD_GONE;
	return check_deadline(u, now_ns, needed_ns);
}

static void finish_queued_upload(struct pipeline *p, struct upload *u)
{
	departures_count(&p->departures, clock_now_ns());
	atomic_fetch_sub(&p->left_ns, atomic_load(&u->left_ns));
	finish_upload(p, u);
}

/* upload.task.run(), in the store stage: the end of an upload. */
static void store_results(struct task *t)
{
	struct upload *u = container_of(t, struct upload, task);
	uint64_t start_ns = clock_now_ns();
	enum upload_end end = reason_to_stop(u->pipeline, u, start_ns, 0);

	if (end == UPLOAD_ENDED) {
		end = u->store(u);
		u->begun_ns[PIPELINE_STORE] = start_ns;
		u->service_ns[PIPELINE_STORE] = clock_now_ns() - start_ns;
	}
	if (end != UPLOAD_ENDED)
		fail_upload(u, end, IMG_OK, 0);
	finish_queued_upload(u->pipeline, u);
}

/* The stage has room for all uploads, and ends after those who send to it. */
static void send_task(struct task_stage *to, struct upload *u,
		      void (*run)(struct task *t))
{
	u->task.run = run;
	bool sent = stage_send(to->stage, &u->task.event);

	assert(sent);
	(void)sent;
}

static void send_to_store(struct pipeline *p, struct upload *u)
{
	budget_lower(&u->charge, u->jpeg_charge_bytes + upload_result_bytes(u));
	/* Before sending: after that, the upload may have ended. */
	atomic_fetch_add(&p->counts.sent_to_store, 1);
	send_task(&p->store, u, store_results);
}

/* closure.end() of a variant: it has no step left to run. */
static void end_variant(struct closure *c, enum closure_end how)
{
	struct variant *v = container_of(c, struct variant, closure);
	struct upload *u = v->upload;

	assert(how == CLOSURE_DONE); /* queues have room for all variants */
	(void)how;
	v->size = img_result_size(&v->view);
	v->notes = v->image.notes;
	img_release(&v->image);
	if (atomic_fetch_sub(&u->running_count, 1) == u->variant_count &&
	    !atomic_load(&u->is_failed))
		atomic_fetch_add(&u->pipeline->counts.cleared_bytes,
				 u->jpeg_bytes);
}

/* All variants of the upload have ended. */
static void end_variants(struct upload *u)
{
	if (u->store == NULL || atomic_load(&u->is_failed))
		finish_queued_upload(u->pipeline, u);
	else
		send_to_store(u->pipeline, u);
}

/* closure.end() of an upload: so have all its variants. */
static void end_upload(struct closure *c, enum closure_end how)
{
	assert(how == CLOSURE_DONE);
	(void)how;
	end_variants(container_of(c, struct upload, closure));
}

/* The same with parse, which its closure waits for after that of decode. */
static void end_parsed(struct closure *c, enum closure_end how)
{
	assert(how == CLOSURE_DONE);
	(void)how;
	end_variants(container_of(c, struct upload, parsing));
}

/* closure.end() of an upload that was parsed; the decoder stage may stop. */
static void end_decoded(struct closure *c, enum closure_end how)
{
	struct upload *u = container_of(c, struct upload, closure);

	if (how == CLOSURE_DONE)
		return;
	atomic_fetch_sub(&u->pipeline->waiting_count, 1);
	fail_upload(u, UPLOAD_ABANDONED, IMG_OK, 0);
}

static void set_event(struct event *ev, const struct upload *u)
{
	ev->number = u->number;
	ev->deadline_ns = u->deadline_ns;
}

/* Is the memory not needed any more?  A stop ends all waits by itself. */
static bool is_wait_over(const struct budget_waiter *w)
{
	const struct upload *u =
		container_of(w, const struct upload, memory_wait);

	return u->is_gone != NULL && u->is_gone(u);
}

static void wake_upload(struct budget_waiter *w)
{
	struct upload *u = container_of(w, struct upload, memory_wait);

	stage_wake(&u->closure.event);
}

/*
 * Called by the thread of an upload before decode.  In the meantime others may
 * have what the upload has reserved beyond its body.
 */
static void wait_for_memory(struct upload *u)
{
	struct budget_waiter *w = &u->memory_wait;

	early_end(&u->early);
	*w = (struct budget_waiter){
		.line = BUDGET_INSIDE,
		.charge = &u->charge,
		.bytes = u->jpeg_charge_bytes + u->estimated_bytes,
		.held_bytes = u->jpeg_charge_bytes,
		.until_ns = u->deadline_ns,
		.is_over = is_wait_over,
		.done = wake_upload,
	};
	if (!budget_wait(w))
		stage_wait();
	u->lacks_memory = w->answer != BUDGET_OK;
}

/* memory.pause(), called by the image operations. */
static void pause_step(void *arg)
{
	(void)arg;
	stage_pause_point();
}

/*
 * Memory that tells the policy what each of its threads takes.  A block counts
 * for the thread that allocates it, and, negative, for the one that frees it.
 */
static void *take_block(void *arg, size_t bytes)
{
	const struct pipeline *p = arg;
	void *block = memory_alloc(buffers_memory(p->buffers), bytes);

	stage_take(RESOURCE_MEMORY, (int64_t)memory_pool_block_charge(block));
	return block;
}

static void give_block(void *arg, void *block)
{
	const struct pipeline *p = arg;

	stage_take(RESOURCE_MEMORY, -(int64_t)memory_pool_block_charge(block));
	memory_free(buffers_memory(p->buffers), block);
}

static void set_memory(struct pipeline *p)
{
	p->memory = *buffers_memory(p->buffers);
	p->is_taken = p->config.schedule.policy->threads != NULL;
	if (p->is_taken) {
		p->memory.alloc = take_block;
		p->memory.free = give_block;
		p->memory.arg = p;
		resources_set_capacity(resources_process(), RESOURCE_MEMORY,
				       p->budget.limit_bytes);
	}
	p->arrival_memory = p->memory;
	if (schedule_has_pause_points(&p->config.schedule))
		p->memory.pause = pause_step;
}

static bool is_over(uint64_t asked, uint64_t limit)
{
	return limit > 0 && asked > limit;
}

/* Does the upload exceed a limit of work?  `cpu_ns`: the estimate to use. */
static enum upload_end check_work(const struct pipeline *p,
				  const struct upload *u, uint64_t cpu_ns)
{
	if (is_over(u->output_pixels, p->config.output_pixels_max))
		return UPLOAD_TOO_MUCH_OUTPUT;
	if (is_over(cpu_ns, p->config.cpu_ns_max))
		return UPLOAD_TOO_MUCH_CPU;
	return UPLOAD_ENDED;
}

/*
 * With a policy that lets uploads wait, one whose memory is not free is taken
 * all the same, and waits for it before decode.
 */
static enum upload_end charge_estimate(struct pipeline *p, struct upload *u)
{
	uint64_t bytes = u->jpeg_charge_bytes + u->estimated_bytes;
	enum budget_answer answer = BUDGET_OK;

	u->charge.bytes += u->early.charge.bytes;
	u->early.charge.bytes = 0;
	u->lacks_memory = pipeline_waits_for_memory(p) &&
			  bytes <= p->budget.limit_bytes &&
			  !budget_try(&u->charge, bytes);
	if (!u->lacks_memory)
		answer = budget_charge(&u->charge, bytes);
	switch (answer) {
	case BUDGET_OK:
		/* Only accepted uploads take memory. */
		memory_estimate_learn(&p->memory_estimate, u->jpeg_bytes,
				      u->estimated_bytes);
		return UPLOAD_ENDED;
	case BUDGET_FULL:
		return UPLOAD_MEMORY_FULL;
	case BUDGET_NEVER:
		return UPLOAD_TOO_MUCH;
	}
	abort();
}

/* The CPU time that a step takes on this machine. */
static double cpu_ns_here(const struct pipeline *p, const struct variant *v,
			  enum pipeline_step step)
{
	uint64_t ns = v->nominal_ns[step];

	return ns > 0 ? pace_way_times(&p->pace, v->ways[step]) * (double)ns :
			0;
}

/* How much of its decode is left: see early.h. */
static double early_left(const struct upload *u)
{
	return img_early_left(u->early.decoding, u->jpeg_bytes, &u->header,
			      &u->decoded_view, &u->decoded_as);
}

/*
 * From here on, the upload's estimates are those of this machine.  The limit
 * --max-cpu is compared with the estimates before, so that the same request
 * gets the same answer on every machine.
 */
static void adopt_pace(struct pipeline *p, struct upload *u)
{
	double factor = pace_factor(&p->pace);
	double cpu_ns = 0, left = early_left(u);
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < u->variant_count; i++) {
		struct variant *v = &u->variants[i];

		for (uint32_t step = PIPELINE_DECODE; step <= PIPELINE_ENCODE;
		     step++) {
			double step_ns = cpu_ns_here(p, v, step);

			v->estimated_ns[step] =
				(uint64_t)(factor * step_ns *
					   (step == PIPELINE_DECODE ? left :
								      1));
			sum_ns += v->estimated_ns[step];
			cpu_ns += step_ns;
		}
	}
	u->estimated_ns = sum_ns;
	u->expected_cpu_ns = (uint64_t)cpu_ns;
	event_predict(&u->closure.event, sum_ns);
	atomic_store(&u->left_ns, sum_ns);
}

/* The upload is refused only because of what was learned. */
static void doubt_pace(struct pipeline *p, const struct upload *u)
{
	pace_doubt(&p->pace);
	for (uint32_t i = 0; i < u->variant_count; i++)
		for (uint32_t step = PIPELINE_DECODE; step <= PIPELINE_ENCODE;
		     step++)
			if (u->variants[i].nominal_ns[step] > 0)
				pace_doubt_way(&p->pace,
					       u->variants[i].ways[step]);
}

/* UPLOAD_ENDED: by the estimates of this machine, it can be in time. */
static enum upload_end check_reachable(struct pipeline *p, struct upload *u,
				       uint64_t now_ns)
{
	enum upload_end before = check_deadline(u, now_ns, upload_needs_ns(u));
	enum upload_end end;

	adopt_pace(p, u);
	end = check_deadline(u, now_ns, upload_needs_ns(u));
	if (before == UPLOAD_ENDED && end != UPLOAD_ENDED)
		doubt_pace(p, u);
	return end;
}

/* UPLOAD_ENDED: its work is within the limits, and it can be in time. */
static enum upload_end check_estimate(struct pipeline *p, struct upload *u,
				      uint64_t now_ns)
{
	enum upload_end end = check_work(p, u, u->estimated_ns);

	return end == UPLOAD_ENDED ? check_reachable(p, u, now_ns) : end;
}

/*
 * The file is not decoded in the way that was estimated, and the other one may
 * take much more time and memory; or the results are others, because a border
 * was found.  So the upload is estimated, checked and charged again, as if it
 * had just come.  UPLOAD_ENDED, and no error: it may go
 * on.
 */
static enum upload_end estimate_again(struct pipeline *p, struct upload *u,
				      enum img_err *err)
{
	uint64_t left_ns = atomic_load(&u->left_ns);
	enum upload_end end;

	*err = steps_estimate(u, &p->steps);
	if (*err != IMG_OK)
		return UPLOAD_ENDED;
	end = check_estimate(p, u, clock_now_ns());
	event_predict_again(&u->closure.event, atomic_load(&u->left_ns));
	atomic_fetch_add(&p->left_ns, atomic_load(&u->left_ns) - left_ns);
	if (end == UPLOAD_ENDED)
		end = charge_estimate(p, u);
	if (end != UPLOAD_ENDED || !u->lacks_memory)
		return end;
	/* Others may have the memory in the meantime. */
	img_release(&u->decoded);
	wait_for_memory(u);
	/* The wait may have ended for another reason, or taken too long. */
	end = reason_to_stop(p, u, clock_now_ns(), upload_needs_ns(u));
	return end == UPLOAD_ENDED && u->lacks_memory ? UPLOAD_MEMORY_FULL :
							end;
}

static bool is_limit(enum upload_end end)
{
	return end == UPLOAD_MEMORY_FULL || end == UPLOAD_TOO_MUCH ||
	       end == UPLOAD_TOO_MUCH_CPU || end == UPLOAD_UNREACHABLE;
}

/*
 * After img_decode_again(): the new estimate.  If a limit does not allow a
 * larger scale for fine texture, the file is decoded at the usual scale.
 */
static enum upload_end estimate_other_way(struct pipeline *p, struct upload *u,
					  enum img_err *err)
{
	enum upload_end end = estimate_again(p, u, err);

	if ((is_limit(end) || *err == IMG_ERR_TOO_LARGE) &&
	    u->header.texture == IMG_TEXTURE_FINE) {
		u->header.texture = IMG_TEXTURE_IGNORED;
		end = estimate_again(p, u, err);
	}
	return end;
}

/* Are uploads user-level threads, which wait for tasks? */
static bool has_waiting_threads(const struct pipeline *p)
{
	const struct schedule *s = &p->config.schedule;

	return s->policy->threads != NULL ||
	       (s->policy->workers == POLICY_WORKERS_ROAM &&
		s->pool_threads[PIPELINE_DECODE - p->first] > 0);
}

/* Does another process decode it? */
static bool is_decoded_elsewhere(const struct pipeline *p,
				 const struct upload *u)
{
	return decoders_find(p->steps.decoders, u->header.format) != NULL;
}

/* Does a task wait for that process? */
static bool is_decoded_by_task(const struct pipeline *p, const struct upload *u)
{
	return p->decoder.group != NULL && is_decoded_elsewhere(p, u);
}

/* upload.task.run(), in the decoder stage; the upload waits for it. */
static void decode_for_waiter(struct task *t)
{
	struct upload *u = container_of(t, struct upload, task);
	const struct pipeline *p = u->pipeline;
	uint64_t start_ns = clock_now_ns();

	/* As if it had been ended later: run_step() says why. */
	u->decode_err = IMG_ERR_LOST;
	if (reason_to_stop(p, u, start_ns, 0) == UPLOAD_ENDED)
		u->decode_err = steps_run(PIPELINE_DECODE, &u->variants[0],
					  &p->steps, &p->memory);
	u->service_ns[PIPELINE_DECODE] += clock_now_ns() - start_ns;
	stage_wake(&u->closure.event);
}

/* Is nothing else to do for a core?  The others have an upload each. */
static bool has_idle_core(const struct pipeline *p)
{
	return atomic_load(&p->in_flight_count) < cores_count(p->config.cores);
}

static bool is_idle(const struct help_stage *s)
{
	return has_idle_core(container_of(s, struct pipeline, help));
}

static bool is_idle_early(const struct help_stage *s)
{
	return has_idle_core(container_of(s, struct pipeline, early_help));
}

/*
 * May another core help, and is there memory for it?  Raises the charge.
 */
static bool has_help(struct pipeline *p, struct upload *u)
{
	return p->help.stage != NULL && has_idle_core(p) &&
	       !is_decoded_elsewhere(p, u) &&
	       img_may_be_helped(&u->header, &u->decoded_view,
				 &u->decoded_as) &&
	       budget_try(&u->charge,
			  u->charge.bytes +
				  memory_pool_charges_max(IMG_HELP_BYTES,
							  IMG_HELP_BLOCKS));
}

/* Decode, with the help of another core if one is idle. */
static enum img_err run_decode(struct pipeline *p, struct variant *v)
{
	struct upload *u = v->upload;
	uint64_t charge_bytes = u->charge.bytes;
	bool is_helped = has_help(p, u);
	enum img_err err;

	/* The rest is decoded without help. */
	if (is_helped && early_left(u) > HELPED_TIMES)
		early_end(&u->early);
	if (early_left(u) < 1)
		u->help_cpu_ns += u->early.help.cpu_ns;
	if (!is_helped)
		return steps_run(PIPELINE_DECODE, v, &p->steps, &p->memory);
	help_enter(&u->help, &p->help, &p->memory, u->number);
	err = steps_run(PIPELINE_DECODE, v, &p->steps, &u->help.memory);
	help_leave(&u->help);
	u->help_cpu_ns += u->help.cpu_ns;
	budget_lower(&u->charge, charge_bytes);
	return err;
}

/* A user-level thread waits until the task has decoded. */
static enum img_err run_operation(struct pipeline *p, enum pipeline_step step,
				  struct variant *v)
{
	struct upload *u = v->upload;

	if (step != PIPELINE_DECODE)
		return steps_run(step, v, &p->steps, &p->memory);
	if (!stage_can_wait() || !is_decoded_by_task(p, u))
		return run_decode(p, v);
	send_task(&p->decoder, u, decode_for_waiter);
	stage_wait();
	return u->decode_err;
}

static enum upload_end check_blocks(const struct pipeline *p, struct upload *u)
{
	return p->steps.blocks != NULL && u->is_hashed &&
			       block_list_has(p->steps.blocks, &u->pdq,
					      &u->block) ?
		       UPLOAD_BLOCKED :
		       UPLOAD_ENDED;
}

/* UPLOAD_ENDED: the step has run, with the result `err`. */
static enum upload_end call_step(struct pipeline *p, enum pipeline_step step,
				 struct variant *v, enum img_err *err)
{
	struct upload *u = v->upload;
	enum upload_end end = UPLOAD_ENDED;

	*err = run_operation(p, step, v);
	while (step == PIPELINE_DECODE && end == UPLOAD_ENDED &&
	       img_decode_again(&u->header, *err)) {
		end = estimate_other_way(p, u, err);
		if (end == UPLOAD_ENDED && *err == IMG_OK)
			*err = run_operation(p, step, v);
	}
	if (step == PIPELINE_DECODE && end == UPLOAD_ENDED && *err == IMG_OK)
		end = check_blocks(p, u);
	if (step == PIPELINE_DECODE && end == UPLOAD_ENDED && *err == IMG_OK &&
	    u->on_decoded != NULL)
		u->on_decoded(u);
	return end;
}

/*
 * Learn from a step that has run, with a CPU time of `cpu_ns` of this thread;
 * 0: it is not known, because the step has waited, and others have run.
 */
static void learn_pace(struct pipeline *p, enum pipeline_step step,
		       struct variant *v, uint64_t cpu_ns)
{
	uint64_t took_ns = v->service_ns[step];

	if (step == PIPELINE_DECODE && is_decoded_elsewhere(p, v->upload))
		cpu_ns = v->upload->decoder_cpu_ns;
	else if (cpu_ns == 0)
		cpu_ns = (uint64_t)((double)took_ns / pace_factor(&p->pace));
	else if (step == PIPELINE_DECODE && v->upload->help_cpu_ns > 0)
		cpu_ns += v->upload->help_cpu_ns;
	/* While threads share cores, a step takes as long as they are many. */
	else if (!schedule_shares_cores(&p->config.schedule))
		pace_learn_factor(&p->pace, cpu_ns, took_ns);
	pace_learn(&p->pace, v->ways[step], v->nominal_ns[step], cpu_ns);
	v->cpu_ns += cpu_ns;
}

/* As call_step(), and measure it.  `ev`: of the closure that runs. */
static enum upload_end time_step(struct pipeline *p, enum pipeline_step step,
				 struct variant *v, const struct event *ev,
				 enum img_err *err)
{
	uint64_t start_ns = clock_now_ns(), cpu_ns = clock_thread_cpu_ns();
	uint64_t waited_ns = ev->waited_ns;
	enum upload_end end = call_step(p, step, v, err);

	waited_ns = ev->waited_ns - waited_ns;
	cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	v->begun_ns[step] = start_ns;
	v->service_ns[step] = clock_now_ns() - start_ns - waited_ns;
	if (end == UPLOAD_ENDED && *err == IMG_OK &&
	    !v->upload->header.has_findings &&
	    step != PIPELINE_STATISTICS /* it has no estimate */)
		learn_pace(p, step, v,
			   waited_ns == 0 && cpu_ns <= v->service_ns[step] ?
				   cpu_ns :
				   0);
	return end;
}

static uint64_t step_needs_ns(enum pipeline_step step, const struct variant *v)
{
	return step == PIPELINE_DECODE ? upload_needs_ns(v->upload) :
					 variant_needs_ns(v, step);
}

/*
 * Run one step, in a method of the closure with the event `ev`.  Decode's times
 * are those of the first variant.  False: the upload has failed.
 */
static bool run_step(struct pipeline *p, enum pipeline_step step,
		     struct variant *v, struct event *ev)
{
	struct upload *u = v->upload;
	enum upload_end end;
	enum img_err err = IMG_OK;
	uint64_t estimated_ns;

	if (step == PIPELINE_DECODE)
		atomic_fetch_sub(&p->waiting_count, 1);
	if (atomic_load(&u->is_failed))
		return false;
	end = reason_to_stop(p, u, clock_now_ns(), step_needs_ns(step, v));
	if (end == UPLOAD_ENDED && u->lacks_memory)
		end = UPLOAD_MEMORY_FULL;
	if (end == UPLOAD_ENDED)
		end = time_step(p, step, v, ev, &err);
	/* It may have been ended because of that. */
	if (end == UPLOAD_ENDED && err == IMG_ERR_LOST)
		end = reason_to_stop(p, u, clock_now_ns(), 0);
	if (end != UPLOAD_ENDED || err != IMG_OK) {
		fail_upload(u, end, err, step_needs_ns(step, v));
		return false;
	}
	estimated_ns = v->estimated_ns[step];
	event_predict(ev, atomic_fetch_sub(&u->left_ns, estimated_ns) -
				  estimated_ns);
	atomic_fetch_sub(&p->left_ns, estimated_ns);
	return true;
}

/* The stage of the variant's next step, which there is. */
static struct stage *next_stage(const struct pipeline_stage *from,
				const struct variant *v)
{
	const struct pipeline_stage *stages = from->pipeline->stages;

	if (from->step == PIPELINE_SCALE &&
	    !img_is_retouched(&v->view, &v->transform))
		return stages[PIPELINE_ENCODE].stage;
	return stages[from->step + 1].stage;
}

/* The method of a variant, at every stage after decode. */
static enum closure_action run_variant(struct closure *c, void *arg)
{
	struct variant *v = container_of(c, struct variant, closure);
	const struct pipeline_stage *at = arg;

	if (!run_step(at->pipeline, at->step, v, &c->event) ||
	    at->step == at->pipeline->last)
		return CLOSURE_COMPLETE;
	return closure_go_to(c, next_stage(at, v), run_variant);
}

/* `u` is decoded, at this stage. */
static enum closure_action start_variants(struct upload *u,
					  const struct pipeline_stage *at)
{
	struct closure *c = &u->closure;

	if (u->is_held)
		stage_postpone(&u->held);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		struct variant *v = &u->variants[i];

		v->closure.end = end_variant;
		event_predict(&v->closure.event, c->event.left_ns);
		closure_invoke(c, &v->closure, at[1].stage, run_variant);
	}
	return closure_wait_for_children(c, NULL);
}

/* The method of an upload; if another process decodes, in the decoder stage. */
static enum closure_action decode_upload(struct closure *c, void *arg)
{
	struct upload *u = container_of(c, struct upload, closure);
	const struct pipeline_stage *at = arg;

	if (u->lacks_memory)
		wait_for_memory(u);
	if (!run_step(at->pipeline, at->step, &u->variants[0], &c->event))
		return CLOSURE_COMPLETE;
	atomic_store(&u->unscaled_count, u->variant_count);
	return start_variants(u, at);
}

/* Where it is decoded. */
static struct stage *decode_stage(const struct pipeline *p,
				  const struct upload *u)
{
	return is_decoded_by_task(p, u) && !has_waiting_threads(p) ?
		       p->decoder.stage :
		       p->stages[PIPELINE_DECODE].stage;
}

/* Its picture is known now: do what pipeline_submit() does with a picture. */
static enum upload_end parse_body(struct pipeline *p, struct upload *u,
				  enum img_err *err)
{
	uint64_t left_ns = atomic_load(&u->left_ns);
	enum upload_end end = u->parse(u);

	if (end != UPLOAD_ENDED)
		return end;
	u->err = IMG_OK; /* parse() may have called pipeline_peek() */
	*err = steps_estimate(u, &p->steps);
	if (*err != IMG_OK)
		return UPLOAD_ENDED;
	end = check_estimate(p, u, clock_now_ns());
	atomic_fetch_add(&p->left_ns, atomic_load(&u->left_ns) - left_ns);
	return end == UPLOAD_ENDED ? charge_estimate(p, u) : end;
}

/* False: the upload has failed. */
static bool run_parse(struct pipeline *p, struct upload *u)
{
	uint64_t start_ns = clock_now_ns();
	enum img_err err = IMG_OK;
	enum upload_end end = reason_to_stop(p, u, start_ns, 0);

	if (end == UPLOAD_ENDED && u->parse != NULL)
		end = parse_body(p, u, &err);
	u->begun_ns[PIPELINE_PARSE] = start_ns;
	u->service_ns[PIPELINE_PARSE] = clock_now_ns() - start_ns;
	if (end == UPLOAD_ENDED && err == IMG_OK)
		return true;
	fail_upload(u, end, err,
		    end == UPLOAD_UNREACHABLE ? upload_needs_ns(u) : 0);
	return false;
}

/* The method of an upload at the stage parse. */
static enum closure_action parse_upload(struct closure *c, void *arg)
{
	struct upload *u = container_of(c, struct upload, parsing);
	const struct pipeline_stage *at = arg;

	if (!run_parse(at->pipeline, u)) {
		atomic_fetch_sub(&at->pipeline->waiting_count, 1);
		return CLOSURE_COMPLETE;
	}
	atomic_store(&u->running_count, u->variant_count);
	set_event(&u->closure.event, u);
	u->closure.end = end_decoded;
	closure_invoke(c, &u->closure, decode_stage(at->pipeline, u),
		       decode_upload);
	return closure_wait_for_children(c, NULL);
}

bool pipeline_has_slot(const struct pipeline *p)
{
	return budget_has_slot(&p->budget);
}

void pipeline_count_refused(struct pipeline *p)
{
	atomic_fetch_add(&p->counts.refused, 1);
}

void pipeline_count_abandoned(struct pipeline *p)
{
	atomic_fetch_add(&p->counts.abandoned, 1);
}

/*
 * What `u` needs, except memory, and what it may have; {0}: it has not ended
 * for that.
 */
static struct excess excess_of(const struct pipeline *p, const struct upload *u)
{
	switch (u->end) {
	case UPLOAD_TOO_MUCH_OUTPUT:
		return (struct excess){ (double)u->output_pixels,
					(double)p->config.output_pixels_max,
					"pixels" };
	case UPLOAD_TOO_MUCH_CPU:
		return (struct excess){ (double)u->estimated_ns / 1e9,
					(double)p->config.cpu_ns_max / 1e9,
					"seconds" };
	case UPLOAD_UNREACHABLE:
		return (struct excess){ (double)u->needed_ns / 1e9,
					(double)u->remaining_ns / 1e9,
					"seconds" };
	default:
		return (struct excess){ .unit = NULL };
	}
}

void pipeline_explain(const struct pipeline *p, const struct upload *u,
		      char *text, size_t bytes, struct excess *excess)
{
	static const struct {
		const char *before, *between, *after;
	} sentences[] = {
		[UPLOAD_TOO_MUCH_OUTPUT] = { "The results asked for have ",
					     " together; "
					     "--max-output-megapixels allows ",
					     "." },
		[UPLOAD_TOO_MUCH_CPU] = { "The request would take an "
					  "estimated ",
					  " of CPU time; --max-cpu allows ",
					  "." },
		[UPLOAD_UNREACHABLE] = { "The steps left and the reply would "
					 "take an estimated ",
					 "; ",
					 " are left until the deadline." },
	};
	struct excess e = excess_of(p, u);

	if (u->end == UPLOAD_TOO_MUCH) {
		*excess = excess_explain_memory(
			text, bytes, u->jpeg_charge_bytes + u->estimated_bytes,
			p->budget.limit_bytes);
	} else if (e.unit != NULL) {
		excess_explain(text, bytes, &e, sentences[u->end].before,
			       sentences[u->end].between,
			       sentences[u->end].after);
		*excess = e;
	} else if (u->end == UPLOAD_ENDED &&
		   (u->err == IMG_ERR_TOO_LARGE || u->err == IMG_ERR_OUTSIDE ||
		    u->err == IMG_ERR_TOO_MANY_BYTES ||
		    u->err == IMG_ERR_TOO_MANY_SCANS)) {
		steps_explain(u, &p->config.limits, text, bytes, excess);
	}
}

bool pipeline_peek(struct pipeline *p, struct upload *u)
{
	uint64_t bytes, cpu_ns;

	u->end = UPLOAD_ENDED;
	u->err = steps_estimate(u, &p->steps);
	if (u->err == IMG_ERR_TRUNCATED)
		return false;
	if (u->err != IMG_OK || u->variant_count == 0)
		return true;
	/* The decode of a progressive file depends on scans still to come. */
	cpu_ns = u->estimated_ns;
	if (u->header.is_progressive)
		cpu_ns -= u->variants[0].estimated_ns[PIPELINE_DECODE];
	u->end = check_work(p, u, cpu_ns);
	if (u->end != UPLOAD_ENDED || u->header.is_progressive)
		return true;
	bytes = u->jpeg_charge_bytes + u->estimated_bytes;
	if (bytes > p->budget.limit_bytes &&
	    budget_charge(&u->charge, bytes) == BUDGET_NEVER)
		u->end = UPLOAD_TOO_MUCH;
	/* What it has reserved was estimated without its header. */
	if (u->end == UPLOAD_ENDED && pipeline_waits_for_memory(p))
		(void)budget_try(&u->charge, bytes);
	return true;
}

static void begin_early(struct pipeline *p, struct upload *u)
{
	if (!early_is_due(&u->early, u->jpeg_bytes, 0) || !has_idle_core(p) ||
	    steps_estimate(u, &p->steps) != IMG_OK ||
	    !early_is_due(&u->early, u->jpeg_bytes, u->estimated_bytes) ||
	    check_work(p, u, u->estimated_ns) != UPLOAD_ENDED ||
	    is_decoded_elsewhere(p, u))
		return;
	early_begin(&u->early, &(struct early_work){
				       .of = &p->early_help,
				       .budget = &p->budget,
				       .bytes = u->jpeg,
				       .count = u->jpeg_bytes,
				       .number = u->number,
				       .header = &u->header,
				       .view = &u->decoded_view,
				       .transform = &u->decoded_as,
				       .limits = &p->steps.limits,
				       .memory_bytes = u->estimated_bytes,
				       .memory = &p->arrival_memory,
			       });
}

void pipeline_arrive(struct pipeline *p, struct upload *u)
{
	if (p->early_help.stage == NULL)
		return;
	if (!u->early.is_tried)
		begin_early(p, u);
	/* After TEXTURE, the whole is decoded at another scale: why not now. */
	if (img_decode_again(&u->header,
			     early_go_on(&u->early, u->jpeg, u->jpeg_bytes)))
		early_end(&u->early);
}

void pipeline_hold(struct upload *u, uint64_t bytes)
{
	const struct charge *c = &u->charge;

	early_hold(&u->early);
	if (atomic_load(&c->budget->used_bytes) - c->bytes + bytes >
	    c->budget->limit_bytes)
		early_end(&u->early);
}

void pipeline_forget(struct upload *u)
{
	early_hold(&u->early);
	early_end(&u->early);
}

/* Returns false. */
static bool refuse_upload(struct pipeline *p, struct upload *u,
			  enum upload_end end)
{
	u->end = end;
	atomic_fetch_sub(&p->in_flight_count, 1);
	budget_give_slot(&u->charge);
	return false;
}

/* `inside_count`: other uploads.  False: stopping. */
static bool send_to_first_stage(struct pipeline *p, struct upload *u,
				uint32_t inside_count)
{
	uint64_t upload_ns = u->estimated_ns;
	uint64_t before_ns = atomic_fetch_add(&p->left_ns, upload_ns);
	bool parses = pipeline_parses(p);
	struct closure *first = parses ? &u->parsing : &u->closure;
	struct event *ev = &first->event;

	set_event(ev, u);
	event_predict(ev, upload_ns);
	ev->expected_ns = before_ns / cores_count(p->config.cores) + upload_ns;
	ev->under_way_count = inside_count;
	atomic_fetch_add(&p->waiting_count, 1);
	u->queued_ns = clock_now_ns();
	first->end = parses ? end_parsed : end_upload;
	if (parses ? closure_start(first, p->stages[PIPELINE_PARSE].stage,
				   parse_upload) :
		     closure_start(first, decode_stage(p, u), decode_upload))
		return true;
	atomic_fetch_sub(&p->waiting_count, 1);
	atomic_fetch_sub(&p->left_ns, upload_ns);
	return false;
}

static enum upload_end examine_picture(struct pipeline *p, struct upload *u)
{
	enum upload_end over = UPLOAD_ENDED;

	u->end = UPLOAD_ENDED;
	u->err = steps_estimate(u, &p->steps);
	if (u->err == IMG_OK)
		over = check_estimate(p, u, u->submitted_ns);
	if (u->err == IMG_OK && over == UPLOAD_ENDED)
		u->end = charge_estimate(p, u);
	return over;
}

/*
 * Of an upload that is to be submitted: is it within the limits, as far as its
 * picture is known?  Sets u->end, if it is not to be taken, and u->err; returns
 * why it fails at once.
 */
static enum upload_end examine_upload(struct pipeline *p, struct upload *u)
{
	enum upload_end over = UPLOAD_ENDED;

	u->end = UPLOAD_ENDED;
	u->err = IMG_OK;
	if (u->parse != NULL) {
		assert(pipeline_parses(p));
		u->estimated_ns = UNPARSED_NS_PER_BYTE * u->jpeg_bytes;
		atomic_store(&u->left_ns, u->estimated_ns);
		return UPLOAD_ENDED;
	}
	over = examine_picture(p, u);
	if (u->header.texture == IMG_TEXTURE_FINE &&
	    (is_limit(over) || is_limit(u->end) ||
	     u->err == IMG_ERR_TOO_LARGE)) {
		u->header.texture = IMG_TEXTURE_IGNORED;
		over = examine_picture(p, u);
	}
	if (u->err == IMG_OK && over == UPLOAD_ENDED &&
	    u->end == UPLOAD_ENDED && u->begin != NULL)
		u->end = u->begin(u);
	return over;
}

bool pipeline_submit(struct pipeline *p, struct upload *u)
{
	uint32_t inside_count = atomic_fetch_add(&p->in_flight_count, 1);
	enum upload_end over;

	early_hold(&u->early);
	u->submitted_ns = clock_now_ns();
	if (inside_count == 0)
		departures_begin(&p->departures, u->submitted_ns);
	u->charge.budget = &p->budget;
	if (!budget_take_slot(&u->charge))
		return refuse_upload(p, u, UPLOAD_NO_SLOT);
	over = examine_upload(p, u);
	if (u->end != UPLOAD_ENDED)
		return refuse_upload(p, u, u->end);
	u->pipeline = p;
	u->task.event.number = u->number;
	/* Before sending: when stage_send() returns, `u` may be done. */
	atomic_fetch_add(&p->counts.sent, 1);
	if (u->err != IMG_OK || over != UPLOAD_ENDED) {
		fail_upload(u, over, u->err, upload_needs_ns(u));
		finish_upload(p, u);
		return true;
	}
	atomic_store(&u->running_count, u->variant_count);
	if (send_to_first_stage(p, u, inside_count))
		return true;
	atomic_fetch_sub(&p->counts.sent, 1);
	return refuse_upload(p, u, UPLOAD_NO_SLOT);
}

bool pipeline_can_hold(const struct upload *u)
{
	const struct pipeline *p = u->pipeline;

	return pipeline_worker_count(p) == 0 && !is_decoded_by_task(p, u);
}

void pipeline_go_on(const struct upload *u)
{
	stage_run_postponed(&u->held);
}

bool pipeline_send_task(struct pipeline *p, struct task *t)
{
	if (!stage_send(p->store.stage, &t->event))
		return false;
	atomic_fetch_add(&p->counts.tasks, 1);
	return true;
}

static void read_counts(const struct pipeline_counts *c,
			struct pipeline_stats *out)
{
	out->sent_count = atomic_load(&c->sent);
	out->refused_count = atomic_load(&c->refused);
	out->abandoned_count = atomic_load(&c->abandoned);
	out->finished_count = atomic_load(&c->finished);
	out->failed_count = atomic_load(&c->failed);
	out->late_count = atomic_load(&c->late);
	out->unreachable_count = atomic_load(&c->unreachable);
	out->gone_count = atomic_load(&c->gone);
	out->cleared_bytes = atomic_load(&c->cleared_bytes);
	out->pixels_in = atomic_load(&c->pixels_in);
	out->pixels_out = atomic_load(&c->pixels_out);
	out->inside_ns = atomic_load(&c->inside_ns);
	out->unstored_count = atomic_load(&c->unstored);
	out->stored_count = atomic_load(&c->stored);
	out->sent_to_store_count = atomic_load(&c->sent_to_store);
	out->task_count = atomic_load(&c->tasks);
	histogram_read(&c->inside, &out->inside);
}

/* NULL: the pipeline has no such stage. */
static void read_stage(struct pipeline_stats *to, uint32_t number,
		       const struct stage *s)
{
	if (s == NULL)
		return;
	to->stage_names[to->stage_count] = pipeline_step_names[number];
	stage_read(s, &to->stages[to->stage_count++]);
}

void pipeline_read(const struct pipeline *p, struct pipeline_stats *out)
{
	*out = (struct pipeline_stats){
		.in_flight_count = atomic_load(&p->in_flight_count),
		.left_ns = atomic_load(&p->left_ns),
	};
	read_counts(&p->counts, out);
	out->helped_count = atomic_load(&p->help.count);
	out->early_count = atomic_load(&p->early_help.count);
	buffers_read(p->buffers, &out->buffers);
	budget_read(&p->budget, &out->memory);
	out->steps = pipeline_own_steps(p);
	for (uint32_t i = p->first; i <= p->last; i++)
		read_stage(out, i, p->stages[i].stage);
	read_stage(out, PIPELINE_STORE, p->store.stage);
}

struct pipeline_load pipeline_load(const struct pipeline *p)
{
	return (struct pipeline_load){
		.in_flight_count = atomic_load(&p->in_flight_count),
		.uploads_max = p->config.uploads_max,
		.waiting_count = atomic_load(&p->waiting_count),
		.used_bytes = atomic_load(&p->budget.used_bytes),
		.limit_bytes = p->budget.limit_bytes,
		.left_ns = atomic_load(&p->left_ns),
		.pace = pace_factor(&p->pace),
		.core_count = cores_count(p->config.cores),
	};
}

const struct pace *pipeline_pace(const struct pipeline *p)
{
	return &p->pace;
}

uint64_t pipeline_left_per_core_ns(const struct pipeline_load *load)
{
	return load->left_ns / load->core_count;
}

uint32_t pipeline_weight_percent(const struct pipeline_load *load,
				 uint64_t half_ns)
{
	double half = (double)half_ns;
	double left = (double)pipeline_left_per_core_ns(load);
	uint32_t percent = (uint32_t)(100 * half / (half + left) + 0.5);

	return percent > 0 ? percent : 1;
}

uint32_t pipeline_retry_after_s(struct pipeline *p)
{
	return departures_retry_after_s(&p->departures,
					atomic_load(&p->in_flight_count),
					clock_now_ns());
}

struct pipeline_steps pipeline_own_steps(const struct pipeline *p)
{
	return pipeline_steps(p->config.stages);
}

bool pipeline_parses(const struct pipeline *p)
{
	return p->first == PIPELINE_PARSE;
}

uint32_t pipeline_worker_count(const struct pipeline *p)
{
	return group_worker_count(p->group);
}

bool pipeline_runs_in_caller(const struct pipeline *p)
{
	return !pipeline_store_has_threads(&p->config.schedule);
}

struct budget *pipeline_budget(struct pipeline *p)
{
	return &p->budget;
}

const struct memory *pipeline_memory(const struct pipeline *p)
{
	return &p->memory;
}

bool pipeline_waits_for_memory(const struct pipeline *p)
{
	return p->config.schedule.policy->waits_for_memory;
}

uint64_t pipeline_likely_bytes(const struct pipeline *p, uint64_t body_bytes)
{
	return memory_estimate_bytes(&p->memory_estimate, body_bytes);
}

uint64_t pipeline_likely_body_bytes(const struct pipeline *p)
{
	return memory_estimate_body(&p->memory_estimate);
}

struct stage_group *pipeline_group(const struct pipeline *p)
{
	return p->group;
}

const struct stage *pipeline_stage(const struct pipeline *p,
				   enum pipeline_step step)
{
	return p->stages[step].stage;
}

/* Returns the new number of groups. */
static uint32_t add_group(struct worker_group *out, uint32_t count,
			  struct worker_group added)
{
	if (added.group == NULL)
		return count;
	out[count] = added;
	return count + 1;
}

uint32_t pipeline_worker_groups(const struct pipeline *p,
				struct worker_group out[WORKER_GROUPS_MAX])
{
	const struct worker_group schedule = {
		.group = p->group,
		.step_first = p->first,
	};
	const struct worker_group store = {
		.group = p->store.group,
		.step_first = PIPELINE_STORE,
	};
	const struct worker_group decoder = {
		.group = p->decoder.group,
		.step_first = PIPELINE_DECODE,
		.only_waits = true,
	};
	uint32_t count = add_group(out, 0, schedule);

	count = add_group(out, count, store);
	return add_group(out, count, decoder);
}

void pipeline_print_schedule(const struct pipeline_config *config, FILE *to)
{
	struct pipeline_steps steps = pipeline_steps(config->stages);

	schedule_print(&config->schedule, steps.names, steps.count, to);
}

static bool add_stages(struct pipeline *p)
{
	for (uint32_t i = p->first; i <= p->last; i++) {
		struct pipeline_stage *at = &p->stages[i];
		uint32_t slots = p->config.uploads_max;

		if (i > PIPELINE_DECODE)
			slots *= VARIANTS_MAX;
		at->pipeline = p;
		at->step = i;
		at->stage = group_add(p->group,
				      &(struct stage_config){
					      .name = pipeline_step_names[i],
					      .handler = closure_handle,
					      .arg = at,
					      .slots = slots,
				      });
		if (at->stage == NULL)
			return false;
	}
	return true;
}

/* The handler of stages that run tasks. */
static void run_task(struct event *ev, void *arg)
{
	struct task *t = container_of(ev, struct task, event);

	(void)arg;
	t->run(t);
}

bool pipeline_store_has_threads(const struct schedule *s)
{
	if (s->policy->has_thread_model)
		return s->threads.mapping != THREADS_1_TO_1;
	return s->policy->workers != POLICY_WORKERS_CALLER;
}

/*
 * Without threads of its own, its senders run it.  False: no memory, or no
 * threads.
 */
static bool start_tasks(const struct pipeline *p, struct task_stage *t,
			const struct stage_config *stage, uint32_t threads)
{
	const struct pipeline_config *c = &p->config;
	struct error error;
	struct schedule schedule;
	bool ok;

	schedule_init(&schedule);
	schedule.policy = policy_find(threads > 0 ? "pool-per-stage" :
						    "thread-per-connection");
	schedule.pool_threads[0] = threads;
	ok = schedule_complete(&schedule, 1, cores_count(c->cores), error.text);
	assert(ok);
	t->group = group_new(&(struct group_config){
		.schedule = &schedule,
		.cores = c->cores,
		.counts_hardware = c->counts_hardware,
	});
	if (t->group == NULL)
		return false;
	t->stage = group_add(t->group, stage);
	return t->stage != NULL && group_start(t->group);
}

/* True also if there is none. */
static bool start_helper(struct pipeline *p)
{
	const struct pipeline_config *c = &p->config;
	uint32_t cores = cores_count(c->cores);
	uint32_t threads = cores > 1 ? cores - 1 : 1;

	if ((!c->splits_decode && !c->decodes_early) ||
	    c->schedule.policy->workers == POLICY_WORKERS_CALLER)
		return true;
	if (!start_tasks(p, &p->helper,
			 &(struct stage_config){
				 .name = "helper",
				 .handler = help_handle,
				 .slots = c->uploads_max + c->tasks_max,
			 },
			 threads))
		return false;
	p->help.is_idle = is_idle;
	if (c->splits_decode)
		p->help.stage = p->helper.stage;
	p->early_help.is_idle = is_idle_early;
	if (c->decodes_early)
		p->early_help.stage = p->helper.stage;
	return true;
}

/*
 * True also if no store stage is configured.  False: no memory, or no threads.
 */
static bool start_store(struct pipeline *p)
{
	const struct pipeline_config *c = &p->config;
	bool has_threads = pipeline_store_has_threads(&c->schedule);

	/* An upload may send a task in addition to its own. */
	return c->store_threads == 0 ||
	       start_tasks(p, &p->store,
			   &(struct stage_config){
				   .name = pipeline_step_names[PIPELINE_STORE],
				   .handler = run_task,
				   .slots = 2 * c->uploads_max + c->tasks_max,
			   },
			   has_threads ? c->store_threads : 0);
}

/*
 * A thread for each file that the decoders can have at the same time.  Where
 * each connection has a kernel thread, that one waits.
 */
static bool start_decoder(struct pipeline *p)
{
	const struct pipeline_config *c = &p->config;
	uint32_t threads = decoders_lanes(c->decoders);

	return threads == 0 || !pipeline_store_has_threads(&c->schedule) ||
	       start_tasks(p, &p->decoder,
			   &(struct stage_config){
				   .name = "decoder",
				   .handler = has_waiting_threads(p) ?
						      run_task :
						      closure_handle,
				   .arg = &p->stages[PIPELINE_DECODE],
				   .slots = c->uploads_max,
			   },
			   threads);
}

struct pipeline *pipeline_start(const struct pipeline_config *config)
{
	struct pipeline *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->config = *config;
	p->first = pipeline_steps(config->stages).first;
	p->last = p->first + pipeline_steps(config->stages).count - 1;
	p->steps = (struct steps){ config->limits, config->decoders,
				   config->watermarks, config->blocks };
	budget_init(&p->budget,
		    memory_pool_guaranteed(config->memory_bytes_max),
		    config->uploads_max);
	memory_estimate_init(&p->memory_estimate);
	pace_init(&p->pace);
	p->buffers = buffers_new(KEPT_BYTES_MAX, config->memory_bytes_max);
	if (p->buffers == NULL || (pipeline_waits_for_memory(p) &&
				   !budget_start_waiting(&p->budget))) {
		pipeline_free(p);
		return NULL;
	}
	set_memory(p);
	p->group = group_new(&(struct group_config){
		.schedule = &config->schedule,
		.cores = config->cores,
		.counts_hardware = config->counts_hardware,
		.caller_threads = config->caller_threads,
	});
	if (p->group != NULL && add_stages(p) && start_store(p) &&
	    start_decoder(p) && start_helper(p) && group_start(p->group))
		return p;
	pipeline_free(p);
	return NULL;
}

void pipeline_abandon(struct pipeline *p)
{
	atomic_store(&p->abandoning, true);
	budget_end_waits(&p->budget, BUDGET_INSIDE);
	decoders_end_waits(p->steps.decoders);
}

bool pipeline_can_decode(const struct pipeline *p)
{
	return decoders_are_up(p->steps.decoders);
}

uint32_t pipeline_formats(const struct pipeline *p)
{
	return decoders_formats(p->steps.decoders);
}

static void stop_tasks(struct task_stage *t)
{
	if (t->group != NULL)
		group_stop(t->group);
}

void pipeline_stop(struct pipeline *p)
{
	/* A group ends after those that send to it. */
	if (!has_waiting_threads(p))
		stop_tasks(&p->decoder);
	group_stop(p->group);
	stop_tasks(&p->helper);
	stop_tasks(&p->decoder);
	stop_tasks(&p->store);
	/* All uploads have ended, so no work is left. */
	assert(atomic_load(&p->left_ns) == 0);
	assert(atomic_load(&p->waiting_count) == 0);
}

void pipeline_free(struct pipeline *p)
{
	if (p == NULL)
		return;
	/* They have threads if another group could not start. */
	stop_tasks(&p->helper);
	stop_tasks(&p->decoder);
	stop_tasks(&p->store);
	/* First, because its thread wakes events of the groups. */
	budget_release(&p->budget);
	group_free(p->helper.group);
	group_free(p->decoder.group);
	group_free(p->store.group);
	group_free(p->group);
	buffers_free(p->buffers);
	free(p);
}
