/* SPDX-License-Identifier: MIT */
/* A run: the requests, the dispatcher, the nodes, and what happens when. */
#include "stages/sim/sim.h"

#include "base/clock.h"
#include "stages/sim/engine.h"
#include "stages/tally.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static bool has_workers(const struct sim *s)
{
	return s->schedule->policy->workers != POLICY_WORKERS_CALLER;
}

/* The part of a request that begins. */
static uint32_t choose_part(struct sim *s, const struct sim_request *r)
{
	return s->schedule->balance == BALANCE_REPLICATE ?
		       visit_choose_part(&s->visits, &r->event) :
		       0;
}

static struct sim_request *request_new(struct sim_fleet *f)
{
	const struct model_path *path = &f->path;

	model_draw(f->config->model, &f->paths, &f->path);
	struct sim_request *r = sim_alloc(
		1, sizeof(*r) + path->step_count * sizeof(*path->steps));

	r->event.number = f->born_count++;
	r->event.key = (uint32_t)r->event.number;
	r->size = path->size;
	r->arrived_ns = f->now_ns;
	if (path->deadline_ns > 0)
		r->event.deadline_ns = f->now_ns + path->deadline_ns;
	r->step = r->steps;
	for (uint32_t i = 0; i < path->step_count; i++) {
		r->steps[i] = path->steps[i];
		r->left_ns += path->steps[i].service_ns;
	}
	r->error = exp(f->config->error_sigma * random_normal(&f->errors));
	return r;
}

/* The thread of the request's connection is in its next stage. */
static void begin_call(struct sim *s, struct sim_request *r)
{
	uint64_t switch_ns = s->config->switch_ns;

	tally_waiting(s, r->step->stage, -1);
	r->started_ns = s->fleet->now_ns;
	s->totals.stages[r->step->stage].counts.visit_count++;
	event_inside(&r->event)->stage_waited_ns =
		s->fleet->now_ns - event_inside(&r->event)->sent_ns;
	s->totals.switch_ns += (double)switch_ns;
	sim_share(s, &s->parts[r->part], switch_ns + r->step->service_ns, r);
}

/*
 * The thread of a connection calls the handler for the first of these, and
 * later those for the others.
 */
static void call_first(struct sim *s, struct sim_request *r)
{
	r->then = r->next;
	/* As in threads, waiting for the thread does not count. */
	event_inside(&r->event)->sent_ns = s->fleet->now_ns;
	tally_sent(s, r);
	if (station_call(s, r))
		begin_call(s, r);
}

/* The handler has returned: another thread may wait for its stage. */
static void end_call(struct sim *s, struct sim_request *r)
{
	struct sim_request *next = station_call_next(s, r);

	if (next != NULL)
		begin_call(s, next);
}

/* Copy the totals up to now; the maximum queue length starts again. */
static void note_totals(struct sim *s, struct sim_totals *out)
{
	for (uint32_t i = 0; i < s->config->model->stage_count; i++)
		tally_waiting(s, i, 0);
	s->totals.at_ns = s->fleet->now_ns;
	*out = s->totals;
	for (uint32_t i = 0; i < s->config->model->stage_count; i++)
		s->totals.stages[i].counts.queued_count_max = 0;
}

/* The node counts the request and its work. */
static void count_request(struct sim *s, struct sim_request *r)
{
	s->begun_count++;
	s->work_ns += r->left_ns;
	r->event.born_ns = s->fleet->now_ns;
	sim_predict(s, r);
	r->event.expected_ns =
		r->event.left_ns +
		(uint64_t)(fmax(s->left_ns, 0) / s->config->core_count);
	r->event.under_way_count =
		(uint32_t)(s->begun_count - 1 - s->totals.finished_count);
	s->left_ns += (double)r->event.left_ns;
	visit_begin_event(&s->visits, &r->event);
}

/* The request arrives at the node. */
static void enter_node(struct sim *s, struct sim_request *r)
{
	r->home = s;
	count_request(s, r);
	r->part = choose_part(s, r);
	s->visits.parts[r->part].under_way_count++;
	if (!has_workers(s)) {
		call_first(s, r);
		return;
	}
	if (s->parts[r->part].scheduler != NULL) {
		scheduler_begin(s->parts[r->part].scheduler, r);
		return;
	}
	struct sim_station *to = station_find(s, r->part, r);

	if (s->config->queue_ns == 0)
		station_push(s, to, r);
	else
		sim_set_timer(s, s->fleet->now_ns + station_use(to), TIMER_PUSH,
			      r);
}

/* True work left at the node, for each core. */
static double left_per_core_ns(const struct sim *s)
{
	uint64_t done_ns =
		s->running_count * s->fleet->now_ns - s->running_since_ns;

	return (double)(s->work_ns - done_ns) / s->config->core_count;
}

static void send_to_node(struct sim_fleet *f, uint32_t node,
			 struct sim_request *r)
{
	dispatch_sent(f->dispatch, node,
		      &(struct dispatch_job){ r->size, (double)r->left_ns });
	enter_node(&f->nodes[node], r);
}

static void dispatch_request(struct sim_fleet *f, struct sim_request *r)
{
	struct dispatch_job job = { r->size, (double)r->left_ns };
	int node;

	for (uint32_t i = 0; i < f->node_count; i++) {
		const struct sim *s = &f->nodes[i];

		f->views[i].under_way_count =
			(uint32_t)(s->begun_count - s->totals.finished_count);
		f->views[i].left_ns = left_per_core_ns(s);
	}
	node = dispatch_choose(f->dispatch, f->views, &job);
	if (node != DISPATCH_NONE) {
		send_to_node(f, (uint32_t)node, r);
		return;
	}
	heap_push(
		&f->held,
		(struct heap_entry){
			.key = f->config->held_by_size ? (uint64_t)r->size : 0,
			.order = f->held_number++,
			.item = r,
		});
}

static void begin_request(struct sim_fleet *f)
{
	for (uint32_t i = 0; i < f->node_count; i++) {
		struct sim *s = &f->nodes[i];

		if (f->born_count == f->config->warmup_count)
			note_totals(s, &s->begin);
		if (f->born_count == f->config->request_count - 1)
			note_totals(s, &s->end);
	}
	dispatch_request(f, request_new(f));
}

/* The node has ended a request: it may take one that the balancer holds. */
static void refill_node(struct sim *s)
{
	struct sim_fleet *f = s->fleet;
	uint32_t node = (uint32_t)(s - f->nodes);

	if (s->begun_count == s->totals.finished_count)
		dispatch_emptied(f->dispatch, node);
	if (f->held.count > 0 &&
	    s->begun_count - s->totals.finished_count < f->config->node_limit)
		send_to_node(f, node, heap_pop(&f->held).item);
}

static void end_request(struct sim *s, struct sim_request *r)
{
	struct sim_fleet *f = s->fleet;

	s->visits.parts[r->part].under_way_count--;
	s->totals.finished_count++;
	f->finished_count++;
	if (r->event.number >= f->config->warmup_count)
		f->requests[r->event.number - f->config->warmup_count] =
			(struct sim_response){
				.size = r->size,
				.response_ns = f->now_ns - r->arrived_ns,
				.is_late = r->event.deadline_ns > 0 &&
					   f->now_ns > r->event.deadline_ns,
			};
	free(r);
	refill_node(s);
	if (f->config->client_count > 0 &&
	    f->born_count < f->config->request_count)
		begin_request(f);
}

/* The time until the next arrival. */
static uint64_t draw_gap_ns(struct sim_fleet *f)
{
	const struct sim_config *c = f->config;
	double mean_ns = (double)NS_PER_S / c->rate_per_s;

	if (c->gap_count > 0)
		return (uint64_t)llround(
			(double)NS_PER_S *
			c->gaps_s[f->born_count % c->gap_count]);
	return (uint64_t)llround(
		c->is_constant ? mean_ns :
				 random_exponential(&f->arrivals, mean_ns));
}

static void arrive(struct sim_fleet *f)
{
	begin_request(f);
	if (f->born_count < f->config->request_count)
		sim_set_timer(&f->nodes[0], f->now_ns + draw_gap_ns(f),
			      TIMER_ARRIVAL, NULL);
}

/* The balancer asks the node's agent, and will ask it again. */
static void ask_agent(struct sim *s)
{
	struct sim_fleet *f = s->fleet;

	f->views[s - f->nodes].weight = dispatch_weight(
		left_per_core_ns(s), (double)f->config->agent_half_ns);
	sim_set_timer(s, f->now_ns + f->config->agent_ns, TIMER_AGENT, s);
}

/* A thread that shares its part's cores has got all of its time: it goes on. */
static void go_on(struct sim *s, void *item)
{
	struct sim_request *r = item, *calls, **end;

	if (has_workers(s)) {
		worker_advance(item);
		return;
	}
	s->work_ns -= r->step->service_ns;
	tally_handled(s, r);
	end_call(s, r);
	calls = r->then;
	for (end = &calls; *end != NULL; end = &(*end)->next)
		continue;
	*end = sim_next(s, r);
	if (calls != NULL)
		call_first(s, calls);
}

static void fire(struct sim_fleet *f, const struct heap_entry *timer)
{
	struct sim_request *r;
	struct sim_part *p;

	switch ((enum sim_timer)timer->tag) {
	case TIMER_ARRIVAL:
		arrive(f);
		return;
	case TIMER_PUSH:
		r = timer->item;
		station_push(r->home, station_find(r->home, r->part, r), r);
		return;
	case TIMER_WORKER:
		worker_time(timer->item, timer->order);
		return;
	case TIMER_SCHEDULER:
		scheduler_advance(timer->item);
		return;
	case TIMER_PROCESSOR:
		p = timer->item;
		if (f->now_ns == p->timer_ns)
			sim_run_shared(p->sim, p, go_on);
		return;
	case TIMER_AGENT:
		ask_agent(timer->item);
		return;
	}
}

/* Add the counts of a node's stage in the span. */
static void add_stage_stats(struct sim_stage_stats *to,
			    const struct sim_tally *b,
			    const struct sim_tally *e, double span_ns)
{
	to->arrived_count += e->counts.arrived_count - b->counts.arrived_count;
	to->paused_count += e->counts.paused_count - b->counts.paused_count;
	to->handled_count += e->counts.handled_count - b->counts.handled_count;
	to->visit_count += e->counts.visit_count - b->counts.visit_count;
	to->visit_empty_count +=
		e->counts.visit_empty_count - b->counts.visit_empty_count;
	to->switch_count += e->counts.switch_count - b->counts.switch_count;
	to->wait_ns += e->counts.wait_ns - b->counts.wait_ns;
	to->service_ns += e->counts.service_ns - b->counts.service_ns;
	to->queued_mean += (e->waiting_ns - b->waiting_ns) / span_ns;
	if (e->counts.queued_count_max > to->queued_count_max)
		to->queued_count_max = e->counts.queued_count_max;
}

static void add_node(const struct sim *s, struct sim_result *out)
{
	out->finished_count += s->end.finished_count - s->begin.finished_count;
	out->switch_ns += s->end.switch_ns - s->begin.switch_ns;
	out->queue_ns += s->end.queue_ns - s->begin.queue_ns;
	out->stolen_count += s->end.stolen_count - s->begin.stolen_count;
	if (s->memory_max > out->memory_max)
		out->memory_max = s->memory_max;
	for (uint32_t i = 0; i < s->config->model->stage_count; i++)
		add_stage_stats(&out->stages[i], &s->begin.stages[i],
				&s->end.stages[i], (double)out->span_ns);
}

static void take_result(const struct sim_fleet *f, struct sim_result *out)
{
	*out = (struct sim_result){
		.span_ns = f->nodes[0].end.at_ns - f->nodes[0].begin.at_ns,
		.request_count =
			f->config->request_count - f->config->warmup_count,
		.requests = f->requests,
	};
	for (uint32_t i = 0; i < f->node_count; i++)
		add_node(&f->nodes[i], out);
}

static void node_init(struct sim_fleet *f, struct sim *s)
{
	const struct sim_config *c = f->config;

	s->fleet = f;
	s->config = c;
	s->schedule = c->schedule;
	s->paused_max = visit_paused_max(c->schedule, c->core_count);
	assert(s->paused_max == 0 || c->pause_gap_ns > 0);
	resources_init(&s->resources, NULL);
	resources_set_capacity(&s->resources, RESOURCE_MEMORY,
			       c->model->memory);
	sim_plan(s);
	if (c->schedule->policy->workers != POLICY_WORKERS_FIBRES)
		return;
	for (uint32_t i = 0; i < s->visits.part_count; i++)
		s->parts[i].scheduler = scheduler_plan(s, i);
}

static void fleet_init(struct sim_fleet *f, const struct sim_config *c)
{
	f->config = c;
	f->end_request = end_request;
	f->node_count = c->node_count > 0 ? c->node_count : 1;
	random_init(&f->arrivals, c->seed, STREAM_ARRIVALS);
	random_init(&f->paths, c->seed, STREAM_PATHS);
	random_init(&f->errors, c->seed, STREAM_ERRORS);
	f->requests = sim_alloc(c->request_count - c->warmup_count,
				sizeof(*f->requests));
	f->dispatch = dispatch_new(c->dispatch, f->node_count, c->node_limit,
				   c->split, c->seed);
	f->nodes = sim_alloc(f->node_count, sizeof(*f->nodes));
	for (uint32_t i = 0; i < f->node_count; i++) {
		node_init(f, &f->nodes[i]);
		f->views[i].weight = 100;
		if (dispatch_asks_agents(c->dispatch))
			sim_set_timer(&f->nodes[i],
				      i * c->agent_ns / f->node_count,
				      TIMER_AGENT, &f->nodes[i]);
	}
}

static void fleet_release(struct sim_fleet *f)
{
	for (uint32_t i = 0; i < f->node_count; i++) {
		struct sim *s = &f->nodes[i];

		for (uint32_t part = 0; part < s->visits.part_count; part++)
			scheduler_release(s->parts[part].scheduler);
		sim_plan_release(s);
	}
	free(f->nodes);
	model_path_release(&f->path);
	dispatch_free(f->dispatch);
	heap_release(&f->held);
	heap_release(&f->timers);
}

void sim_run(const struct sim_config *config, struct sim_result *out)
{
	struct sim_fleet *f = sim_alloc(1, sizeof(*f));

	assert(config->warmup_count + 2 <= config->request_count);
	fleet_init(f, config);
	for (uint32_t i = 0;
	     i < config->client_count && i < config->request_count; i++)
		begin_request(f);
	if (config->client_count == 0)
		arrive(f);
	while (f->finished_count < config->request_count) {
		struct heap_entry timer = heap_pop(&f->timers);

		f->now_ns = timer.key;
		fire(f, &timer);
	}
	take_result(f, out);
	fleet_release(f);
	free(f);
}

void sim_result_release(struct sim_result *result)
{
	free(result->requests);
	*result = (struct sim_result){ 0 };
}
