/* SPDX-License-Identifier: MIT */
/*
 * Stations and workers of a simulated group.  A worker does what visitor_step()
 * says, as a thread would (stages/worker.c), and lets time pass meanwhile.
 */
#include "stages/sim/engine.h"

#include "base/util.h"
#include "stages/queue.h"
#include "stages/tally.h"

#include <assert.h>
#include <stdlib.h>

static struct sim_station *station_of(const struct visit_station *s)
{
	return container_of(s, struct sim_station, visited);
}

static struct sim_worker *worker_of(const struct visitor *v)
{
	return container_of(v, struct sim_worker, visitor);
}

/* --- What the rules of stages/visit.h reach. --- */

static uint32_t queued_count(const struct visit_station *s)
{
	return station_of(s)->queue.count;
}

static uint32_t passed_count(const struct visit_station *s)
{
	return station_of(s)->passed_count;
}

static struct sim_part *part_of(const struct sim_station *at)
{
	return &at->sim->parts[at->visited.part];
}

static uint64_t first_rank(const struct visit_station *s)
{
	const struct heap *queue = &station_of(s)->queue;

	return queue->count > 0 && discipline_has_ranks(s->discipline) ?
		       queue->entries[0].key :
		       RANK_NONE;
}

static struct event *pop_queued(struct visit_station *s)
{
	struct sim_station *from = station_of(s);

	if (from->queue.count == 0)
		return NULL;
	part_of(from)->waiting_count--;
	return heap_pop(&from->queue).item;
}

static struct event *pop_passed(struct visit_station *s)
{
	struct sim_station *from = station_of(s);
	struct sim_request *r = from->passed;

	if (from->passed_count == 0)
		return NULL;
	from->passed = r->next;
	from->passed_count--;
	part_of(from)->waiting_count--;
	return &r->event;
}

static bool is_open(const struct visit_station *s)
{
	struct sim_station *at = station_of(s);

	at->is_missed |= at->is_taken;
	return !at->is_taken;
}

static bool enter(struct visit_station *s)
{
	struct sim_station *at = station_of(s);
	bool is_free = !at->is_taken;

	at->is_taken = true;
	return is_free;
}

static enum stage_type type_of(const struct sim *s, uint32_t stage)
{
	return stage == STAGE_NONE ? STAGE_SHARED :
				     s->config->model->stages[stage].type;
}

static uint32_t stage_of(const struct event *ev)
{
	const struct sim_request *r =
		container_of(ev, struct sim_request, event);

	return r->step->stage;
}

static bool may_hold(const struct visitor *v, uint32_t part, uint32_t count)
{
	return worker_of(v)->sim->parts[part].waiting_count >= count;
}

static void turn(struct visitor *v, uint32_t from, uint32_t to, uint64_t gap_ns)
{
	struct sim_tally *t;

	if (from == STAGE_NONE || to == STAGE_NONE)
		return;
	t = &worker_of(v)->sim->totals.stages[to];
	t->counts.switch_count++;
	t->switch_ns += gap_ns;
}

/* 0 if the policy does not ask for it. */
static uint64_t service_p95_ns(const struct sim *s, uint32_t stage)
{
	struct histogram_copy all = { .count = 0 };

	if (!s->schedule->policy->reads_p95)
		return 0;
	histogram_read(&s->services[stage], &all);
	return histogram_quantile(&all, 0.95);
}

static uint32_t read_totals(const struct visitor *v,
			    const struct visit_station *s,
			    struct measure_totals *out)
{
	const struct sim *sim = worker_of(v)->sim;
	const struct sim_tally *t = &sim->totals.stages[s->stage];

	*out = (struct measure_totals){
		.arrived_count = t->counts.arrived_count,
		.handled_count = t->counts.handled_count,
		.service_ns = (uint64_t)t->counts.service_ns,
		.service_p95_ns = service_p95_ns(sim, s->stage),
		.switch_count = t->counts.switch_count,
		.switch_ns = t->switch_ns,
	};
	return sim->schedule->balance == BALANCE_PARTITION ?
		       sim->parts[v->part].worker_count :
		       sim->worker_count;
}

/* From now on the request is under way in part `to`. */
static void move_request(struct sim *s, struct sim_request *r, uint32_t to)
{
	s->visits.parts[r->part].under_way_count--;
	r->part = to;
	s->visits.parts[to].under_way_count++;
}

static void move(struct visitor *v, const struct visit_station *from,
		 const struct visit_station *to, struct event *ev)
{
	struct sim *s = worker_of(v)->sim;

	(void)from;
	move_request(s, container_of(ev, struct sim_request, event), to->part);
	s->totals.stolen_count++;
}

static uint32_t epoch(const struct visitor *v)
{
	const struct sim_worker *w = worker_of(v);

	return w->stays ? station_of(v->stations[0])->epoch :
			  w->sim->parts[v->part].epoch;
}

/* May any worker that roams visit the station? */
static bool is_shared(const struct sim *s, const struct sim_station *at)
{
	return type_of(s, at->visited.stage) == STAGE_SHARED;
}

/* Are its stations those of all parts?  See is_common() in stages/group.c. */
static bool is_common(const struct sim *s, uint32_t stage)
{
	return type_of(s, stage) != STAGE_PASS_THROUGH &&
	       schedule_sharing(s->schedule, stage)->kind == SHARING_ALL;
}

/* Stations of a stage in a part: see station_count() in stages/group.c. */
static uint32_t count_keys(const struct sim *s, uint32_t stage)
{
	uint32_t parts = is_common(s, stage) ? 1 : s->visits.part_count;

	if (type_of(s, stage) != STAGE_PARTITIONED)
		return 1;
	switch (s->schedule->policy->workers) {
	case POLICY_WORKERS_STAY:
		return s->schedule->pool_threads[stage];
	case POLICY_WORKERS_CALLER:
		return s->config->core_count;
	case POLICY_WORKERS_FIBRES:
		return 1;
	case POLICY_WORKERS_ROAM:
		break;
	}
	return (s->config->core_count + parts - 1) / parts;
}

/* Does a worker that roams, of one of its parts, visit this station? */
static bool visits(const struct sim_worker *w, const struct sim_station *at)
{
	uint32_t stage = at->visited.stage;
	bool is_of_all = at->visited.part == w->sim->visits.part_count;

	return type_of(w->sim, stage) != STAGE_PARTITIONED ||
	       at->worker == (is_of_all ? (uint32_t)(w - w->sim->workers) :
					  w->number);
}

static const struct visit_access sim_access;

/* One of the parts to which the station belongs: the first, and so on. */
static struct sim_part *any_part(const struct sim_station *at, uint32_t i)
{
	const struct sim *s = at->sim;

	return &s->parts[(at->visited.part + i) % s->visits.part_count];
}

/*
 * Workers that visit the station without stealing, those of its part first.
 * NULL: none sleeps.
 */
static struct sim_worker **own_sleepers(struct sim *s, struct sim_station *at)
{
	uint32_t parts =
		visit_wakes_parts(&sim_access, &s->visits, &at->visited);

	if (at->idle != NULL)
		return &at->idle;
	if (s->schedule->idle.kind == IDLE_BACKOFF)
		return NULL;
	for (uint32_t i = 0; i < parts; i++)
		for (struct sim_worker **w = &any_part(at, i)->idle; *w != NULL;
		     w = &(*w)->next_idle)
			if (visits(*w, at))
				return w;
	return NULL;
}

/*
 * With stealing, any sleeping worker can be woken, because it has nothing to do
 * in its own part; by size, those of parts with larger events.
 */
static struct sim_worker **find_thieves(struct sim *s, struct sim_station *at)
{
	bool by_size = s->schedule->distribute == DISTRIBUTE_SIZE;
	uint32_t count = s->visits.part_count;

	if (!s->schedule->steal || s->idle_count == 0 || !is_shared(s, at) ||
	    s->schedule->idle.kind == IDLE_BACKOFF)
		return NULL;
	if (!by_size) {
		while (s->parts[s->next_sleeper % count].idle == NULL)
			s->next_sleeper++;
		return &s->parts[s->next_sleeper % count].idle;
	}
	for (uint32_t p = at->visited.part + 1; p < count; p++)
		if (s->parts[p].idle != NULL)
			return &s->parts[p].idle;
	return NULL;
}

static void wake_first(struct sim *s, struct sim_worker **head)
{
	if (head == NULL)
		return;
	struct sim_worker *w = *head;

	*head = w->next_idle;
	s->idle_count -= !w->stays;
	w->doing = DOING_STEP;
	visitor_woken(&w->visitor);
	w->timer = sim_set_timer(s, s->fleet->now_ns, TIMER_WORKER, w);
}

static void wake_worker(struct sim *s, struct sim_station *at)
{
	struct sim_worker **own = own_sleepers(s, at);
	uint32_t parts =
		visit_wakes_parts(&sim_access, &s->visits, &at->visited);

	at->epoch++;
	for (uint32_t i = 0; i < parts; i++)
		any_part(at, i)->epoch++;
	wake_first(s, own != NULL ? own : find_thieves(s, at));
}

static void wake(struct visit_station *s)
{
	wake_worker(station_of(s)->sim, station_of(s));
}

/* As station_leave() of stages/worker.c. */
static void leave(struct visit_station *s)
{
	struct sim_station *at = station_of(s);
	bool is_missed = at->is_missed;

	at->is_taken = at->is_missed = false;
	if (is_missed || at->queue.count > 0)
		wake_worker(at->sim, at);
}

static const struct visit_access sim_access = {
	.queued_count = queued_count,
	.passed_count = passed_count,
	.wake = wake,
	.epoch = epoch,
	.pop = pop_queued,
	.pop_passed = pop_passed,
	.first_rank = first_rank,
	.is_open = is_open,
	.enter = enter,
	.leave = leave,
	.stage_of = stage_of,
	.move = move,
	.may_hold = may_hold,
	.turn = turn,
	.read_totals = read_totals,
	.pops_take_time = true,
};

/* --- Sending. --- */

/* Queue a request by its rank; among equal ranks, by place. */
static void station_insert(struct sim_station *to, struct sim_request *r)
{
	struct event *ev = &r->event;

	heap_push(&to->queue,
		  (struct heap_entry){
			  .key = discipline_rank(to->visited.discipline, ev,
						 event_inside(ev)->place),
			  .order = event_inside(ev)->place,
			  .item = ev,
		  });
	part_of(to)->waiting_count++;
	wake_worker(to->sim, to);
}

static void add_passed(struct sim_station *to, struct sim_request *r)
{
	if (to->passed_count++ == 0)
		to->passed_end = &to->passed;
	r->next = NULL;
	*to->passed_end = r;
	to->passed_end = &r->next;
	part_of(to)->waiting_count++;
}

static void station_pass(struct sim_station *to, struct sim_request *r)
{
	add_passed(to, r);
	wake_worker(to->sim, to);
}

void station_push(struct sim *s, struct sim_station *to, struct sim_request *r)
{
	event_inside(&r->event)->place = to->number++;
	move_request(s, r, to->visited.part);
	tally_sent(s, r);
	station_insert(to, r);
}

uint64_t station_use(struct sim_station *at)
{
	uint64_t now_ns = at->sim->fleet->now_ns;
	uint64_t from_ns = at->free_ns > now_ns ? at->free_ns : now_ns;

	at->free_ns = from_ns + at->sim->config->queue_ns;
	return at->free_ns - now_ns;
}

struct sim_station *station_find(struct sim *s, uint32_t part,
				 const struct sim_request *r)
{
	uint32_t stage = r->step->stage;
	uint32_t number;

	assert(stage < STAGES_MAX);
	number = r->event.key % count_keys(s, stage);
	if (s->schedule->balance == BALANCE_PARTITION)
		part = s->config->parts[stage];
	if (is_common(s, stage))
		part = s->visits.part_count;
	/* A part may have one core less than others. */
	if (number >= s->parts[part].key_counts[stage])
		number -= s->parts[part].key_counts[stage];
	return s->parts[part].by_stage[stage] + number;
}

/* --- Threads that call handlers. --- */

bool station_call(struct sim *s, struct sim_request *r)
{
	struct sim_station *at = station_find(s, r->part, r);

	if (is_shared(s, at) || enter(&at->visited))
		return true;
	add_passed(at, r);
	return false;
}

struct sim_request *station_call_next(struct sim *s, struct sim_request *r)
{
	struct sim_station *at = station_find(s, r->part, r);
	struct event *next = pop_passed(&at->visited);

	if (next == NULL) {
		at->is_taken = false;
		return NULL;
	}
	return container_of(next, struct sim_request, event);
}

/* --- Workers.  A returned time is how long the worker's action takes. --- */

/* Wait for the queue, and use it. */
static uint64_t use_queue(struct sim_worker *w, struct sim_station *at)
{
	uint64_t ns = station_use(at);

	w->sim->totals.queue_ns += (double)ns;
	return ns;
}

static uint64_t begin_switch(struct sim_worker *w)
{
	w->sim->totals.switch_ns += (double)w->sim->config->switch_ns;
	w->is_on_core = true;
	return w->sim->config->switch_ns;
}

/* The handler works until its end, or up to this number of pause points. */
static uint64_t serve_piece(struct sim_worker *w, uint64_t pause_points)
{
	const struct sim *s = w->sim;
	struct sim_request *r = w->request;
	uint64_t piece_ns = pause_points * s->config->pause_gap_ns;
	uint64_t passed_ns = sim_turn(s, r).service_ns - r->step->service_ns;

	/* Pass-through stages at the end of the turn cannot pause. */
	r->piece_ns =
		s->paused_max > 0 && piece_ns + passed_ns < r->step_left_ns &&
				type_of(s, r->step->stage) == STAGE_SHARED ?
			piece_ns :
			r->step_left_ns;
	w->doing = DOING_SERVE;
	w->is_on_core = true;
	if (!w->stays)
		sim_piece_begins(w->sim);
	return r->piece_ns;
}

/* A turn at this station that ends by a pause is not shorter than this. */
static uint64_t least_turn_ns(const struct schedule *s,
			      const struct visit_station *at)
{
	uint64_t ns = s->slice_ns > 0 && discipline_has_ranks(at->discipline) ?
			      s->slice_ns :
			      INT64_MAX; /* there are no pauses */

	return at->regime->kind == REGIME_CUTOFF && at->regime->limit < ns ?
		       at->regime->limit :
		       ns;
}

static uint64_t begin_turn(struct sim_worker *w)
{
	struct sim *s = w->sim;
	struct sim_request *r =
		container_of(w->visitor.event, struct sim_request, event);
	const struct model_step *step = r->step;
	uint64_t skipped = 0; /* pause points that are too early */

	tally_waiting(s, step->stage, -1);
	s->totals.stolen_count += w->visitor.visit.is_theft;
	w->request = r;
	r->started_ns = s->fleet->now_ns;
	if (!r->has_paused) {
		r->step_left_ns = sim_turn(s, r).service_ns;
		event_inside(&r->event)->stage_waited_ns = 0;
	}
	event_inside(&r->event)->stage_waited_ns +=
		s->fleet->now_ns - event_inside(&r->event)->sent_ns;
	/*
	 * A thread that shares its core is excluded: its turn ends after less
	 * work.
	 */
	if (s->paused_max > 0 && !w->stays)
		skipped =
			(least_turn_ns(s->schedule, w->visitor.visit.station) -
			 1) /
			s->config->pause_gap_ns;
	return serve_piece(w, skipped + 1);
}

/* The worker's request is paused: wait for the queue that will hold it. */
static uint64_t pause_turn(struct sim_worker *w)
{
	struct sim *s = w->sim;
	struct sim_request *r = w->request;
	uint32_t stage = r->step->stage;

	watch_turn(s, r);
	event_has_run(&r->event, s->fleet->now_ns - r->started_ns);
	s->paused_count += !r->has_paused;
	r->has_paused = true;
	s->totals.stages[stage].counts.paused_count++;
	event_inside(&r->event)->sent_ns = s->fleet->now_ns;
	tally_waiting(s, stage, 1);
	w->doing = DOING_RETURN;
	return use_queue(w, station_of(w->visitor.visit.station));
}

static uint64_t return_request(struct sim_worker *w)
{
	struct sim_station *to = station_of(w->visitor.visit.station);

	w->doing = DOING_STEP;
	if (w->pause == PAUSE_FOR_ANOTHER)
		station_insert(to, w->request);
	else
		station_pass(to, w->request);
	return 0;
}

/* Send what is left to send, up to what takes time. */
static uint64_t send_on(struct sim_worker *w)
{
	struct sim *s = w->sim;
	struct sim_request *r;

	w->doing = DOING_STEP;
	while ((r = w->sends) != NULL) {
		w->sends_to = station_find(s, r->part, r);
		if (!is_shared(s, w->sends_to) ||
		    visitor_keep(&w->visitor, &w->sends_to->visited, &r->event,
				 UINT32_MAX) == 0) {
			w->doing = DOING_PUSH;
			return use_queue(w, w->sends_to);
		}
		w->sends = r->next;
		move_request(s, r, w->visitor.part);
		tally_sent(s, r);
	}
	return 0;
}

static uint64_t push_first(struct sim_worker *w)
{
	struct sim_request *r = w->sends;

	w->sends = r->next;
	station_push(w->sim, w->sends_to, r);
	return send_on(w);
}

static uint64_t end_turn(struct sim_worker *w)
{
	struct sim *s = w->sim;
	struct sim_request *r = w->request;

	s->paused_count -= r->has_paused;
	r->has_paused = false;
	tally_handled(s, r);
	move_request(s, r, visitor_sends_to(&w->visitor));
	w->sends = sim_next(s, r);
	return send_on(w);
}

/* The worker's handler is at a pause point, or has ended. */
static uint64_t end_piece(struct sim_worker *w)
{
	struct sim *s = w->sim;
	struct sim_request *r = w->request;

	if (w->stays)
		s->work_ns -= r->piece_ns;
	else
		sim_piece_ends(s, r->piece_ns);
	r->step_left_ns -= r->piece_ns;
	if (r->step_left_ns == 0)
		return end_turn(w);
	if (!r->has_paused && s->paused_count >= s->paused_max)
		return serve_piece(w, 1);
	w->pause = visitor_should_pause(&w->visitor, r->started_ns,
					s->fleet->now_ns);
	return w->pause != PAUSE_NONE ? pause_turn(w) : serve_piece(w, 1);
}

static uint64_t count_visit(struct sim_worker *w)
{
	const struct visit *v = &w->visitor.visit;

	if (v->stage == STAGE_NONE)
		return 0;
	struct sim_stage_stats *c = &w->sim->totals.stages[v->stage].counts;

	c->visit_count++;
	c->visit_empty_count += v->handled_count == 0;
	sim_watch(w->sim, &(struct span){
				  .start_ns = v->start_ns,
				  .end_ns = w->sim->fleet->now_ns,
				  .number = v->handled_count,
				  .stage = v->stage,
				  .kind = SPAN_VISIT,
			  });
	return 0;
}

/* The list of idle workers for one that sleeps now. */
static struct sim_worker **idle_list(const struct sim_worker *w)
{
	struct sim_station *at = station_of(w->visitor.stations[0]);

	if (w->visitor.rest_ns > 0)
		return &station_of(w->visitor.rest_at)->idle;
	return w->stays ? &at->idle : &w->sim->parts[w->visitor.part].idle;
}

/* As threads do: sleep_for_work(), sleep_at_station(). */
static bool may_sleep(const struct sim_worker *w)
{
	const struct visitor *v = &w->visitor;
	const struct sim_station *at;

	if (v->rest_ns == 0)
		return !visitor_has_work(v);
	at = station_of(v->rest_at);
	return (at->queue.count == 0 && at->passed_count == 0) ||
	       (at->visited.is_exclusive && !is_open(&at->visited));
}

static uint64_t fall_asleep(struct sim_worker *w)
{
	struct sim_worker **head = idle_list(w);

	if (!may_sleep(w)) {
		visitor_woken(&w->visitor);
		return 0;
	}
	visitor_rest(&w->visitor);
	if (w->visitor.rest_ns > 0)
		w->timer = sim_set_timer(
			w->sim, w->sim->fleet->now_ns + w->visitor.rest_ns,
			TIMER_WORKER, w);
	w->doing = DOING_SLEEP;
	w->next_idle = *head;
	*head = w;
	w->sim->idle_count += !w->stays;
	return 0;
}

static uint64_t act(struct sim_worker *w)
{
	w->is_on_core = false;
	if (w->doing == DOING_SERVE)
		return end_piece(w);
	if (w->doing == DOING_RETURN)
		return return_request(w);
	if (w->doing == DOING_PUSH)
		return push_first(w);
	switch (visitor_step(&w->visitor, w->sim->fleet->now_ns)) {
	case VISIT_SWITCH:
		return begin_switch(w);
	case VISIT_POP:
		return use_queue(w, station_of(w->visitor.visit.station));
	case VISIT_HANDLE:
		return begin_turn(w);
	case VISIT_SPLIT:
	case VISIT_OVER:
		return count_visit(w);
	case VISIT_REST:
		break;
	}
	return fall_asleep(w);
}

/* The worker has rested for its time, and nothing has come. */
static void end_rest(struct sim_worker *w)
{
	struct sim_worker **at = idle_list(w);

	while (*at != w)
		at = &(*at)->next_idle;
	*at = w->next_idle;
	w->sim->idle_count -= !w->stays;
	w->doing = DOING_STEP;
}

void worker_time(struct sim_worker *w, uint64_t number)
{
	if (number != w->timer)
		return;
	if (w->doing == DOING_SLEEP)
		end_rest(w);
	worker_advance(w);
}

void worker_advance(struct sim_worker *w)
{
	struct sim *s = w->sim;
	uint64_t ns;

	assert(w->doing != DOING_SLEEP);
	do {
		ns = act(w);
	} while (ns == 0 && w->doing != DOING_SLEEP);
	if (w->doing == DOING_SLEEP)
		return;
	/* A thread of a pool leaves its core while it waits for a queue. */
	if (w->stays && w->is_on_core)
		sim_share(s, &s->parts[w->visitor.part], ns, w);
	else
		w->timer = sim_set_timer(s, s->fleet->now_ns + ns, TIMER_WORKER,
					 w);
}

/* --- The plan: parts, stations and workers.  --- */

static bool belongs_to(const struct sim *s, uint32_t stage, uint32_t part)
{
	return is_common(s, stage) ?
		       part == s->visits.part_count :
		       part < s->visits.part_count &&
			       (s->schedule->balance != BALANCE_PARTITION ||
				s->config->parts[stage] == part);
}

static struct sim_station *add_station(struct sim *s, struct sim_part *p,
				       uint32_t stage)
{
	uint32_t part = (uint32_t)(p - s->parts);
	struct visit_part *seen = &s->visits.parts[part];
	struct sim_station *new = &p->stations[p->station_count++];

	new->sim = s;
	visit_station_init(&new->visited, s->schedule, stage, part);
	new->visited.is_exclusive = type_of(s, stage) == STAGE_EXCLUSIVE;
	if (!is_shared(s, new))
		return new;
	seen->open_stations[seen->open_count++] = &new->visited;
	if (stage != STAGE_NONE)
		new->visited.even_below =
			schedule_sharing(s->schedule, stage)->even_below;
	return new;
}

static void add_stations_of(struct sim *s, struct sim_part *p, uint32_t stage)
{
	uint32_t count = count_keys(s, stage);

	if (s->schedule->policy->workers == POLICY_WORKERS_ROAM &&
	    p->core_count < count)
		count = p->core_count;
	p->key_counts[stage] = count;
	p->by_stage[stage] = &p->stations[p->station_count];
	for (uint32_t i = 0; i < count; i++)
		add_station(s, p, stage)->worker = i;
}

static void plan_stations(struct sim *s, uint32_t part)
{
	struct sim_part *p = &s->parts[part];
	struct sim_station *central = NULL;
	uint32_t stage_count = s->config->model->stage_count, most = 1;

	for (uint32_t i = 0; i < stage_count; i++)
		most += count_keys(s, i);
	p->stations = sim_alloc(most, sizeof(*p->stations));
	/* Before all others, as in stages/group.c. */
	for (uint32_t i = 0;
	     s->schedule->policy->has_central_queue &&
	     part < s->visits.part_count && i < stage_count && central == NULL;
	     i++)
		if (belongs_to(s, i, part) && type_of(s, i) == STAGE_SHARED)
			central = add_station(s, p, STAGE_NONE);
	for (uint32_t i = 0; i < stage_count; i++) {
		if (!belongs_to(s, i, part) || sim_passes(s, i))
			continue;
		if (central == NULL || type_of(s, i) != STAGE_SHARED) {
			add_stations_of(s, p, i);
			continue;
		}
		p->key_counts[i] = 1;
		p->by_stage[i] = central;
	}
}

/* A worker that roams visits the stations of its part and those of all. */
static void add_visits(struct sim_worker *w)
{
	const struct sim_part *own = &w->sim->parts[w->visitor.part];
	const struct sim_part *common =
		&w->sim->parts[w->sim->visits.part_count];
	struct visitor *v = &w->visitor;
	uint32_t o = 0, c = 0;

	while (o < own->station_count || c < common->station_count) {
		struct sim_station *at;

		/* The central queue, of STAGE_NONE, is first. */
		if (c == common->station_count ||
		    (o < own->station_count &&
		     own->stations[o].visited.stage + 1 <
			     common->stations[c].visited.stage + 1))
			at = &own->stations[o++];
		else
			at = &common->stations[c++];
		if (visits(w, at))
			v->stations[v->station_count++] = &at->visited;
	}
}

/* `only`: the station of a pool's worker; NULL: the worker roams. */
static void add_worker(struct sim *s, uint32_t part, struct sim_station *only)
{
	struct sim_part *p = &s->parts[part];
	struct sim_worker *w = &s->workers[s->worker_count++];
	struct visitor *v = &w->visitor;

	w->sim = s;
	w->stays = only != NULL;
	w->number = p->worker_count;
	v->access = &sim_access;
	v->group = &s->visits;
	v->part = part;
	v->policy_state = sim_alloc(1, s->schedule->policy->state_bytes + 1);
	if (only != NULL)
		v->stations[v->station_count++] = &only->visited;
	else
		add_visits(w);
	visitor_init(v);
	p->worker_count++;
	if (s->config->present_count == 0 ||
	    s->worker_count - s->config->present_first - 1 <
		    s->config->present_count)
		w->timer = sim_set_timer(s, 0, TIMER_WORKER, w);
}

static void plan_workers(struct sim *s, uint32_t part)
{
	enum policy_workers kind = s->schedule->policy->workers;
	struct sim_part *p = &s->parts[part];

	/* The part has no stage, so its cores are idle. */
	if (p->station_count + s->parts[s->visits.part_count].station_count ==
	    0)
		return;
	for (uint32_t i = 0; kind == POLICY_WORKERS_ROAM && i < p->core_count;
	     i++)
		add_worker(s, part, NULL);
	for (uint32_t i = 0;
	     kind == POLICY_WORKERS_STAY && i < p->station_count; i++) {
		struct sim_station *at = &p->stations[i];
		uint32_t stage = at->visited.stage;

		for (uint32_t t = 0; t < s->schedule->pool_threads[stage] /
						 p->key_counts[stage];
		     t++)
			add_worker(s, part, at);
	}
}

static uint32_t count_workers(const struct sim *s)
{
	uint32_t count = s->config->core_count;

	for (uint32_t i = 0; i < s->config->model->stage_count; i++)
		count += s->schedule->pool_threads[i] * s->visits.part_count;
	return count;
}

void sim_plan(struct sim *s)
{
	uint64_t cores = s->config->core_count;
	uint32_t parts = s->schedule->part_count;

	assert(parts >= 1 && parts <= cores);
	s->visits = (struct visit_group){
		.core_count = s->config->core_count,
		.schedule = s->schedule,
		.part_count = parts,
		.parts = sim_alloc(parts + 1, sizeof(*s->visits.parts)),
	};
	s->parts = sim_alloc(parts + 1, sizeof(*s->parts));
	s->workers = sim_alloc(count_workers(s), sizeof(*s->workers));
	for (uint32_t i = 0; i <= parts; i++) {
		struct sim_part *p = &s->parts[i];

		p->core_count = i == parts ?
					(uint32_t)cores :
					(uint32_t)((i + 1) * cores / parts -
						   i * cores / parts);
		p->processor.core_count = p->core_count;
		p->timer_ns = UINT64_MAX;
		p->sim = s;
		plan_stations(s, i);
	}
	for (uint32_t i = 0; i < parts; i++)
		plan_workers(s, i);
}

void sim_plan_release(struct sim *s)
{
	for (uint32_t i = 0; i < s->worker_count; i++)
		free(s->workers[i].visitor.policy_state);
	for (uint32_t i = 0; i <= s->visits.part_count; i++) {
		struct sim_part *p = &s->parts[i];

		for (uint32_t at = 0; at < p->station_count; at++)
			heap_release(&p->stations[at].queue);
		heap_release(&p->processor.threads);
		free(p->stations);
	}
	free(s->workers);
	free(s->parts);
	free(s->visits.parts);
}
