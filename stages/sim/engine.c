/* SPDX-License-Identifier: MIT */
/* The clock, the requests, and the cores that threads share. */
#include "stages/sim/engine.h"

#include "base/clock.h"

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

	t->waiting_ns +=
		(double)t->waiting_count * (double)(s->now_ns - t->changed_ns);
	t->changed_ns = s->now_ns;
	t->waiting_count += (uint64_t)change;
	if (t->waiting_count > t->counts.queued_count_max)
		t->counts.queued_count_max = t->waiting_count;
}

void tally_sent(struct sim *s, const struct sim_request *r)
{
	uint32_t stage = r->steps[r->step].stage;

	s->totals.stages[stage].counts.arrived_count++;
	tally_waiting(s, stage, 1);
}

void watch_turn(const struct sim *s, const struct sim_request *r)
{
	sim_watch(s, &(struct span){
			     .start_ns = r->started_ns,
			     .end_ns = s->now_ns,
			     .number = r->event.number,
			     .stage = r->steps[r->step].stage,
			     .kind = SPAN_EVENT,
		     });
}

void tally_handled(struct sim *s, const struct sim_request *r)
{
	const struct model_step *step = &r->steps[r->step];
	struct sim_stage_stats *c = &s->totals.stages[step->stage].counts;

	c->handled_count++;
	s->memory += step->taken;
	if (s->memory > s->memory_max)
		s->memory_max = s->memory;
	resources_take(&s->resources, RESOURCE_MEMORY, step->taken);
	s->left_ns -= r->error * (double)step->service_ns;
	c->wait_ns += (double)r->event.stage_waited_ns;
	c->service_ns += (double)step->service_ns;
	watch_turn(s, r);
}

void sim_set_timer(struct sim *s, uint64_t ns, enum sim_timer timer, void *item)
{
	heap_push(&s->timers, (struct heap_entry){
				      .key = ns,
				      .order = s->timer_number++,
				      .item = item,
				      .tag = timer,
			      });
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
	processor_add(&p->processor, s->now_ns, work_ns, item);
	time_processor(s, p);
}

static bool has_workers(const struct sim *s)
{
	return s->schedule->policy->workers != POLICY_WORKERS_CALLER;
}

/* The part of a request that begins. */
static uint32_t choose_part(struct sim *s)
{
	return s->schedule->balance == BALANCE_REPLICATE ?
		       visit_choose_part(&s->visits) :
		       0;
}

static void predict(const struct sim *s, struct sim_request *r)
{
	r->event.sent_ns = s->now_ns;
	r->event.left_ns = (uint64_t)(r->error * (double)r->left_ns);
}

static struct sim_request *request_new(struct sim *s)
{
	struct model_path path;

	model_draw(s->config->model, &s->paths, &path);
	struct sim_request *r = sim_alloc(
		1, sizeof(*r) + path.step_count * sizeof(*path.steps));

	r->event.number = s->born_count++;
	r->size = path.size;
	r->event.born_ns = s->now_ns;
	if (path.deadline_ns > 0)
		r->event.deadline_ns = s->now_ns + path.deadline_ns;
	r->step_count = path.step_count;
	for (uint32_t i = 0; i < path.step_count; i++) {
		r->steps[i] = path.steps[i];
		r->left_ns += path.steps[i].service_ns;
	}
	r->error = exp(s->config->error_sigma * random_normal(&s->errors));
	predict(s, r);
	s->left_ns += (double)r->event.left_ns;
	r->event.expected_ns =
		r->event.left_ns +
		(uint64_t)(fmax(s->left_ns - (double)r->event.left_ns, 0) /
			   s->config->core_count);
	return r;
}

/* The thread of the request's connection takes up its next step. */
static void call_handler(struct sim *s, struct sim_request *r)
{
	uint64_t switch_ns = s->config->switch_ns;

	tally_sent(s, r);
	tally_waiting(s, r->steps[r->step].stage, -1);
	r->started_ns = s->now_ns;
	s->totals.stages[r->steps[r->step].stage].counts.visit_count++;
	s->totals.switch_ns += (double)switch_ns;
	sim_share(s, &s->parts[r->part],
		  switch_ns + r->steps[r->step].service_ns, r);
}

/* Copy the totals up to now; the maximum queue length starts again. */
static void note_totals(struct sim *s, struct sim_totals *out)
{
	for (uint32_t i = 0; i < s->config->model->stage_count; i++)
		tally_waiting(s, i, 0);
	s->totals.at_ns = s->now_ns;
	*out = s->totals;
	for (uint32_t i = 0; i < s->config->model->stage_count; i++)
		s->totals.stages[i].counts.queued_count_max = 0;
}

static void begin_request(struct sim *s)
{
	if (s->born_count == s->config->warmup_count)
		note_totals(s, &s->begin);
	if (s->born_count == s->config->request_count - 1)
		note_totals(s, &s->end);

	struct sim_request *r = request_new(s);

	visit_begin_event(&s->visits, &r->event,
			  s->born_count - 1 - s->totals.finished_count);
	r->part = choose_part(s);
	s->visits.parts[r->part].under_way_count++;
	if (!has_workers(s)) {
		call_handler(s, r);
		return;
	}
	if (s->parts[r->part].scheduler != NULL) {
		scheduler_begin(s->parts[r->part].scheduler, r);
		return;
	}
	struct sim_station *to = station_find(s, r->part, r->steps[0].stage);

	if (s->config->queue_ns == 0)
		station_push(s, to, r);
	else
		sim_set_timer(s, s->now_ns + station_use(to), TIMER_PUSH, r);
}

static void end_request(struct sim *s, struct sim_request *r)
{
	s->visits.parts[r->part].under_way_count--;
	s->totals.finished_count++;
	if (r->event.number >= s->config->warmup_count)
		s->requests[r->event.number - s->config->warmup_count] =
			(struct sim_response){
				.size = r->size,
				.response_ns = s->now_ns - r->event.born_ns,
				.is_late = r->event.deadline_ns > 0 &&
					   s->now_ns > r->event.deadline_ns,
			};
	free(r);
	if (s->config->client_count > 0 &&
	    s->born_count < s->config->request_count)
		begin_request(s);
}

bool sim_next(struct sim *s, struct sim_request *r)
{
	r->left_ns -= r->steps[r->step].service_ns;
	if (++r->step == r->step_count) {
		end_request(s, r);
		return false;
	}
	predict(s, r);
	return true;
}

/* The time until the next arrival. */
static uint64_t draw_gap_ns(struct sim *s)
{
	const struct sim_config *c = s->config;
	double mean_ns = (double)NS_PER_S / c->rate_per_s;

	if (c->gap_count > 0)
		return (uint64_t)llround(
			(double)NS_PER_S *
			c->gaps_s[s->born_count % c->gap_count]);
	return (uint64_t)llround(
		c->is_constant ? mean_ns :
				 random_exponential(&s->arrivals, mean_ns));
}

static void arrive(struct sim *s)
{
	begin_request(s);
	if (s->born_count < s->config->request_count)
		sim_set_timer(s, s->now_ns + draw_gap_ns(s), TIMER_ARRIVAL,
			      NULL);
}

/*
 * Threads that share the part's cores have got all of their time: they go on.
 */
static void run_processor(struct sim *s, struct sim_part *p)
{
	p->timer_ns = UINT64_MAX;
	while (processor_next_ns(&p->processor) <= s->now_ns) {
		void *item = processor_pop(&p->processor, s->now_ns);

		if (has_workers(s)) {
			worker_advance(item);
			continue;
		}
		struct sim_request *r = item;

		tally_handled(s, r);
		if (sim_next(s, r))
			call_handler(s, r);
	}
	time_processor(s, p);
}

static void fire(struct sim *s, const struct heap_entry *timer)
{
	struct sim_request *r;
	struct sim_part *p;

	switch ((enum sim_timer)timer->tag) {
	case TIMER_ARRIVAL:
		arrive(s);
		return;
	case TIMER_PUSH:
		r = timer->item;
		station_push(s, station_find(s, r->part, r->steps[0].stage), r);
		return;
	case TIMER_WORKER:
		worker_advance(timer->item);
		return;
	case TIMER_SCHEDULER:
		scheduler_advance(timer->item);
		return;
	case TIMER_PROCESSOR:
		p = timer->item;
		if (s->now_ns == p->timer_ns)
			run_processor(s, p);
		return;
	}
}

static void take_result(const struct sim *s, struct sim_result *out)
{
	uint64_t span_ns = s->end.at_ns - s->begin.at_ns;

	*out = (struct sim_result){
		.span_ns = span_ns,
		.finished_count =
			s->end.finished_count - s->begin.finished_count,
		.switch_ns = s->end.switch_ns - s->begin.switch_ns,
		.queue_ns = s->end.queue_ns - s->begin.queue_ns,
		.stolen_count = s->end.stolen_count - s->begin.stolen_count,
		.memory_max = s->memory_max,
		.request_count =
			s->config->request_count - s->config->warmup_count,
		.requests = s->requests,
	};
	for (uint32_t i = 0; i < s->config->model->stage_count; i++) {
		const struct sim_tally *b = &s->begin.stages[i];
		const struct sim_tally *e = &s->end.stages[i];
		struct sim_stage_stats *grown = &out->stages[i];

		*grown = e->counts;
		grown->arrived_count -= b->counts.arrived_count;
		grown->paused_count -= b->counts.paused_count;
		grown->handled_count -= b->counts.handled_count;
		grown->visit_count -= b->counts.visit_count;
		grown->visit_empty_count -= b->counts.visit_empty_count;
		grown->switch_count -= b->counts.switch_count;
		grown->wait_ns -= b->counts.wait_ns;
		grown->service_ns -= b->counts.service_ns;
		grown->queued_mean =
			(e->waiting_ns - b->waiting_ns) / (double)span_ns;
	}
}

void sim_run(const struct sim_config *config, struct sim_result *out)
{
	struct sim *s = sim_alloc(1, sizeof(*s));

	assert(config->warmup_count + 2 <= config->request_count);
	s->config = config;
	s->schedule = config->schedule;
	s->paused_max = visit_paused_max(config->schedule, config->core_count);
	assert(s->paused_max == 0 || config->pause_gap_ns > 0);
	random_init(&s->arrivals, config->seed, STREAM_ARRIVALS);
	random_init(&s->paths, config->seed, STREAM_PATHS);
	random_init(&s->errors, config->seed, STREAM_ERRORS);
	s->requests = sim_alloc(config->request_count - config->warmup_count,
				sizeof(*s->requests));
	resources_init(&s->resources, NULL);
	resources_set_capacity(&s->resources, RESOURCE_MEMORY,
			       config->model->memory);
	sim_plan(s);
	for (uint32_t i = 0;
	     i < config->client_count && i < config->request_count; i++)
		begin_request(s);
	if (config->client_count == 0)
		arrive(s);
	while (s->totals.finished_count < config->request_count) {
		struct heap_entry timer = heap_pop(&s->timers);

		s->now_ns = timer.key;
		fire(s, &timer);
	}
	take_result(s, out);
	sim_plan_release(s);
	heap_release(&s->timers);
	free(s);
}

void sim_result_release(struct sim_result *result)
{
	free(result->requests);
	*result = (struct sim_result){ 0 };
}
