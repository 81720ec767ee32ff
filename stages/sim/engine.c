/* SPDX-License-Identifier: MIT */
/* The clock, the counts, and the cores that threads share. */
#include "stages/sim/engine.h"

#include "stages/tally.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void *sim_alloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	assert(memory != NULL);
	return memory;
}

void sim_watch(const struct sim *s, const struct span *span)
{
	if (s->config->watch != NULL)
		s->config->watch(s->config->watch_arg, span);
}

void tally_waiting(struct sim *s, uint32_t stage, int change)
{
	struct sim_tally *t = &s->totals.stages[stage];

	t->waiting_ns += (double)t->waiting_count *
			 (double)(s->fleet->now_ns - t->changed_ns);
	t->changed_ns = s->fleet->now_ns;
	t->waiting_count += (uint64_t)change;
	if (t->waiting_count > t->counts.queued_count_max)
		t->counts.queued_count_max = t->waiting_count;
}

void tally_sent(struct sim *s, const struct sim_request *r)
{
	uint32_t stage = r->step->stage;

	s->totals.stages[stage].counts.arrived_count++;
	tally_waiting(s, stage, 1);
}

bool sim_passes(const struct sim *s, uint32_t stage)
{
	return s->config->model->stages[stage].type == STAGE_PASS_THROUGH &&
	       s->schedule->policy->workers != POLICY_WORKERS_CALLER;
}

/* The next step, if it is a part of the same turn; or NULL. */
static const struct model_step *passed_next(const struct sim *s,
					    const struct model_step *step)
{
	return step->next > 0 && sim_passes(s, step[step->next].stage) ?
		       step + step->next :
		       NULL;
}

static struct model_step turn_from(const struct sim *s,
				   const struct model_step *step)
{
	struct model_step sum = *step;

	while ((step = passed_next(s, step)) != NULL) {
		sum.service_ns += step->service_ns;
		sum.taken += step->taken;
	}
	return sum;
}

struct model_step sim_turn(const struct sim *s, const struct sim_request *r)
{
	return turn_from(s, r->step);
}

static void watch_step(const struct sim *s, const struct sim_request *r,
		       const struct model_step *step, uint64_t start_ns)
{
	sim_watch(s, &(struct span){
			     .start_ns = start_ns,
			     .end_ns = s->fleet->now_ns,
			     .number = r->event.number,
			     .stage = step->stage,
			     .kind = SPAN_EVENT,
		     });
}

void watch_turn(const struct sim *s, const struct sim_request *r)
{
	watch_step(s, r, r->step, r->started_ns);
}

/* The innermost call ends first. */
static void watch_passed(const struct sim *s, const struct sim_request *r,
			 const struct model_step *from)
{
	const struct model_step *step = passed_next(s, from);

	if (step == NULL)
		return;
	watch_passed(s, r, step);
	watch_step(s, r, step,
		   s->fleet->now_ns - turn_from(s, step).service_ns);
}

/* A step of a turn; the steps that it calls are a part of its time. */
static void tally_step(struct sim *s, const struct sim_request *r)
{
	const struct model_step *step = r->step;
	struct sim_stage_stats *c = &s->totals.stages[step->stage].counts;
	uint64_t service_ns = sim_turn(s, r).service_ns;

	c->handled_count++;
	s->memory += step->taken;
	if (s->memory > s->memory_max)
		s->memory_max = s->memory;
	resources_take(&s->resources, RESOURCE_MEMORY, step->taken);
	s->left_ns -= r->error * (double)step->service_ns;
	c->wait_ns += (double)event_peek(&r->event)->stage_waited_ns;
	c->service_ns += (double)service_ns;
	histogram_add(&s->services[step->stage], service_ns);
}

void tally_handled(struct sim *s, const struct sim_request *r)
{
	tally_step(s, r);
	watch_passed(s, r, r->step);
	watch_turn(s, r);
}

uint64_t sim_set_timer(struct sim *s, uint64_t ns, enum sim_timer timer,
		       void *item)
{
	uint64_t number = s->fleet->timer_number++;

	heap_push(&s->fleet->timers, (struct heap_entry){
					     .key = ns,
					     .order = number,
					     .item = item,
					     .tag = timer,
				     });
	return number;
}

/* The keys of the heap are whole numbers, so they are in parts of a ns. */
static const double KEYS_PER_NS = 256;

static double processor_speed(const struct sim_processor *p)
{
	double share = (double)p->core_count / p->threads.count;

	return share < 1 ? share : 1;
}

static void processor_advance(struct sim_processor *p, uint64_t now_ns)
{
	if (p->threads.count > 0)
		p->got_ns += (double)(now_ns - p->at_ns) * processor_speed(p);
	else
		p->got_ns = 0; /* begin again at 0, so that sums stay exact */
	p->at_ns = now_ns;
}

/* `item` has this much work to do, from now on. */
static void processor_add(struct sim_processor *p, uint64_t now_ns,
			  uint64_t work_ns, void *item)
{
	processor_advance(p, now_ns);
	double done_at = (p->got_ns + (double)work_ns) * KEYS_PER_NS;

	heap_push(&p->threads, (struct heap_entry){
				       .key = (uint64_t)done_at,
				       .item = item,
			       });
}

/* When the next thread will be done; UINT64_MAX: there is none. */
static uint64_t processor_next_ns(const struct sim_processor *p)
{
	if (p->threads.count == 0)
		return UINT64_MAX;
	double left_ns =
		(double)p->threads.entries[0].key / KEYS_PER_NS - p->got_ns;

	return left_ns <= 0 ?
		       p->at_ns :
		       p->at_ns + (uint64_t)ceil(left_ns / processor_speed(p));
}

/* Take out the thread that is done at `now_ns`. */
static void *processor_pop(struct sim_processor *p, uint64_t now_ns)
{
	processor_advance(p, now_ns);
	return heap_pop(&p->threads).item;
}

/* Set a timer, unless one is set that is at least as early. */
static void time_processor(struct sim *s, struct sim_part *p)
{
	uint64_t next_ns = processor_next_ns(&p->processor);

	if (next_ns >= p->timer_ns)
		return;
	p->timer_ns = next_ns;
	sim_set_timer(s, next_ns, TIMER_PROCESSOR, p);
}

void sim_share(struct sim *s, struct sim_part *p, uint64_t work_ns, void *item)
{
	processor_add(&p->processor, s->fleet->now_ns, work_ns, item);
	time_processor(s, p);
}

void sim_run_shared(struct sim *s, struct sim_part *p, sim_done_fn *done)
{
	p->timer_ns = UINT64_MAX;
	while (processor_next_ns(&p->processor) <= s->fleet->now_ns)
		done(s, processor_pop(&p->processor, s->fleet->now_ns));
	time_processor(s, p);
}

void sim_piece_begins(struct sim *s)
{
	s->running_count++;
	s->running_since_ns += s->fleet->now_ns;
}

void sim_piece_ends(struct sim *s, uint64_t work_ns)
{
	s->running_count--;
	s->running_since_ns -= s->fleet->now_ns - work_ns;
	s->work_ns -= work_ns;
}

void sim_predict(const struct sim *s, struct sim_request *r)
{
	event_inside(&r->event)->sent_ns = s->fleet->now_ns;
	event_predict(&r->event, (uint64_t)(r->error * (double)r->left_ns));
}

/* As closure_invoke() makes it. */
static struct sim_request *child_new(struct sim_request *parent,
				     const struct model_step *step)
{
	struct sim_request *r = sim_alloc(1, sizeof(*r));

	*r = (struct sim_request){
		.event = {
			.key = parent->event.key,
			.number = parent->event.number,
			.deadline_ns = parent->event.deadline_ns,
			.born_ns = parent->event.born_ns,
			.patience_ns = parent->event.patience_ns,
		},
		.parent = parent,
		.home = parent->home,
		.part = parent->part,
		.error = parent->error,
		.step = step,
	};
	return r;
}

/* The children of `r`, which waits for them. */
static struct sim_request *fork_children(struct sim *s, struct sim_request *r)
{
	const struct model_step *step = r->step + 1;
	struct sim_request *first = NULL, **end = &first;

	r->left_count = r->step->child_count;
	for (uint32_t i = 0; i < r->left_count; i++) {
		struct sim_request *child = child_new(r, step);

		step = model_next_child(step, &child->left_ns);
		r->left_ns -= child->left_ns;
		sim_predict(s, child);
		*end = child;
		end = &child->next;
	}
	s->visits.parts[r->part].under_way_count += r->left_count - 1;
	return first;
}

/* Returns its parent, if that goes on. */
static struct sim_request *end_child(struct sim *s, struct sim_request *r)
{
	struct sim_request *parent = r->parent;

	s->visits.parts[r->part].under_way_count--;
	free(r);
	if (--parent->left_count > 0)
		return NULL;
	s->visits.parts[parent->part].under_way_count++;
	return parent;
}

struct sim_request *sim_next(struct sim *s, struct sim_request *r)
{
	const struct model_step *passed;

	r->left_ns -= r->step->service_ns;
	if (r->step->child_count > 0)
		return fork_children(s, r);
	while ((passed = passed_next(s, r->step)) != NULL) {
		r->step = passed;
		r->left_ns -= passed->service_ns;
		event_inside(&r->event)->stage_waited_ns = 0;
		s->totals.stages[passed->stage].counts.arrived_count++;
		tally_step(s, r);
	}
	if (r->step->next == 0 && r->parent == NULL) {
		s->fleet->end_request(s, r);
		return NULL;
	}
	if (r->step->next == 0)
		r = end_child(s, r);
	if (r == NULL)
		return NULL;
	r->step += r->step->next;
	r->next = NULL;
	sim_predict(s, r);
	return r;
}
