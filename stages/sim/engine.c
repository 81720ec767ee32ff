/* SPDX-License-Identifier: MIT */
/* The clock, and the requests: how they begin, go on and end. */
#include "stages/sim/state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define NS_PER_S 1e9

enum { STREAM_ARRIVALS, STREAM_PATHS, STREAM_ERRORS };

static void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	assert(memory != NULL);
	return memory;
}

void sim_set_timer(struct sim *s, uint64_t ns, enum timer timer, void *item)
{
	heap_push(&s->timers, (struct heap_entry){
				      .key = ns,
				      .order = s->timer_number++,
				      .item = item,
				      .tag = timer,
			      });
}

/* A timer set before is void if this one is earlier. */
static void time_processor(struct sim *s, struct part *p)
{
	uint64_t next_ns = processor_next_ns(&p->processor);

	if (next_ns >= p->timer_ns)
		return;
	p->timer_ns = next_ns;
	sim_set_timer(s, next_ns, TIMER_PROCESSOR, p);
}

void sim_share(struct sim *s, struct part *p, uint64_t work_ns, void *item)
{
	processor_add(&p->processor, s->now_ns, work_ns, item);
	time_processor(s, p);
}

static bool has_workers(const struct sim *s)
{
	return s->schedule->policy->workers != POLICY_WORKERS_CALLER;
}

/* The part of a request that begins. */
static struct part *choose_part(struct sim *s)
{
	uint32_t first = s->next_part++ % s->part_count;
	struct part *best = &s->parts[first];

	if (s->schedule->balance != BALANCE_REPLICATE)
		return &s->parts[0];
	if (s->schedule->distribute == DISTRIBUTE_ROUND_ROBIN)
		return best;
	for (uint32_t i = 0; i < s->part_count; i++) {
		struct part *p = &s->parts[(first + i) % s->part_count];

		if (p->under_way_count < best->under_way_count)
			best = p;
	}
	return best;
}

static void predict(const struct sim *s, struct request *r)
{
	r->event.sent_ns = s->now_ns;
	r->event.left_ns = (uint64_t)(r->error * (double)r->left_ns);
}

static struct request *request_new(struct sim *s)
{
	struct model_path path;

	model_draw(s->config->model, &s->paths, &path);
	struct request *r =
		zeroed(1, sizeof(*r) + path.step_count * sizeof(*path.steps));

	r->number = s->born_count++;
	r->size = path.size;
	r->event.born_ns = s->now_ns;
	r->step_count = path.step_count;
	for (uint32_t i = 0; i < path.step_count; i++) {
		r->steps[i] = path.steps[i];
		r->left_ns += path.steps[i].service_ns;
	}
	r->error = exp(s->config->error_sigma * random_normal(&s->errors));
	predict(s, r);
	return r;
}

/* The thread of the request's connection takes up its next step. */
static void call_handler(struct sim *s, struct request *r)
{
	uint64_t switch_ns = s->config->switch_ns;

	tally_sent(s, r);
	tally_wait(s, r->steps[r->step].stage, -1);
	s->totals.stages[r->steps[r->step].stage].counts.visit_count++;
	s->totals.switch_ns += (double)switch_ns;
	sim_share(s, r->part, switch_ns + r->steps[r->step].service_ns, r);
}

/* Totals so far; the greatest queue length begins anew. */
static void note_totals(struct sim *s, struct totals *out)
{
	for (uint32_t i = 0; i < s->config->model->stage_count; i++)
		tally_wait(s, i, 0);
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

	struct request *r = request_new(s);

	r->part = choose_part(s);
	r->part->under_way_count++;
	if (!has_workers(s)) {
		call_handler(s, r);
		return;
	}
	struct station *to = station_find(s, r->part, r->steps[0].stage);

	if (s->config->queue_ns == 0)
		station_push(s, to, r);
	else
		sim_set_timer(s, s->now_ns + station_use(s, to), TIMER_PUSH, r);
}

static void end_request(struct sim *s, struct request *r)
{
	r->part->under_way_count--;
	s->totals.finished_count++;
	if (r->number >= s->config->warmup_count)
		s->requests[r->number - s->config->warmup_count] =
			(struct engine_request){
				.size = r->size,
				.response_ns = s->now_ns - r->event.born_ns,
			};
	free(r);
	if (s->config->client_count > 0 &&
	    s->born_count < s->config->request_count)
		begin_request(s);
}

bool sim_next(struct sim *s, struct request *r)
{
	r->left_ns -= r->steps[r->step].service_ns;
	if (++r->step == r->step_count) {
		end_request(s, r);
		return false;
	}
	predict(s, r);
	return true;
}

void request_move(struct request *r, struct part *to)
{
	r->part->under_way_count--;
	r->part = to;
	r->part->under_way_count++;
}

/* Until the next arrival. */
static uint64_t draw_gap_ns(struct sim *s)
{
	const struct engine_config *c = s->config;
	double mean_ns = NS_PER_S / c->rate_per_s;

	if (c->gap_count > 0)
		return (uint64_t)llround(
			NS_PER_S * c->gaps_s[s->born_count % c->gap_count]);
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

/* Whoever shares the part's cores and is done. */
static void run_processor(struct sim *s, struct part *p)
{
	p->timer_ns = UINT64_MAX;
	while (processor_next_ns(&p->processor) <= s->now_ns) {
		void *item = processor_pop(&p->processor, s->now_ns);

		if (has_workers(s)) {
			worker_advance(item);
			continue;
		}
		struct request *r = item;

		tally_handled(s, r, 0);
		if (sim_next(s, r))
			call_handler(s, r);
	}
	time_processor(s, p);
}

static void fire(struct sim *s, const struct heap_entry *timer)
{
	struct request *r;
	struct part *p;

	switch ((enum timer)timer->tag) {
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
	case TIMER_PROCESSOR:
		p = timer->item;
		if (s->now_ns == p->timer_ns)
			run_processor(s, p);
		return;
	}
}

static void take_result(const struct sim *s, struct engine_result *out)
{
	uint64_t span_ns = s->end.at_ns - s->begin.at_ns;

	*out = (struct engine_result){
		.span_ns = span_ns,
		.finished_count =
			s->end.finished_count - s->begin.finished_count,
		.switch_ns = s->end.switch_ns - s->begin.switch_ns,
		.queue_ns = s->end.queue_ns - s->begin.queue_ns,
		.stolen_count = s->end.stolen_count - s->begin.stolen_count,
		.request_count =
			s->config->request_count - s->config->warmup_count,
		.requests = s->requests,
	};
	for (uint32_t i = 0; i < s->config->model->stage_count; i++) {
		const struct tally *b = &s->begin.stages[i];
		const struct tally *e = &s->end.stages[i];
		const struct engine_stage *from = &b->counts;
		const struct engine_stage *to = &e->counts;

		out->stages[i] = (struct engine_stage){
			.arrived_count =
				to->arrived_count - from->arrived_count,
			.handled_count =
				to->handled_count - from->handled_count,
			.visit_count = to->visit_count - from->visit_count,
			.visit_empty_count =
				to->visit_empty_count - from->visit_empty_count,
			.switch_count = to->switch_count - from->switch_count,
			.wait_ns = to->wait_ns - from->wait_ns,
			.service_ns = to->service_ns - from->service_ns,
			.queued_mean = (e->waiting_ns - b->waiting_ns) /
				       (double)span_ns,
			.queued_count_max = to->queued_count_max,
		};
	}
}

void engine_run(const struct engine_config *config, struct engine_result *out)
{
	struct sim *s = zeroed(1, sizeof(*s));

	assert(config->warmup_count + 2 <= config->request_count);
	s->config = config;
	s->schedule = config->schedule;
	random_init(&s->arrivals, config->seed, STREAM_ARRIVALS);
	random_init(&s->paths, config->seed, STREAM_PATHS);
	random_init(&s->errors, config->seed, STREAM_ERRORS);
	s->requests = zeroed(config->request_count - config->warmup_count,
			     sizeof(*s->requests));
	plan_init(s);
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
	plan_release(s);
	heap_release(&s->timers);
	free(s);
}

void engine_release(struct engine_result *result)
{
	free(result->requests);
	*result = (struct engine_result){ 0 };
}
