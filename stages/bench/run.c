/* SPDX-License-Identifier: MIT */
#include "stages/bench/run.h"

#include "base/clock.h"
#include "base/quantiles.h"
#include "stages/stage.h"
#include "stages/graph.h"
#include "stages/stats.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Counts of a group and its threads, up to some moment. */
enum count {
	NS,
	REQUESTS, /* finished requests; the caller sets it */
	EVENTS,   /* handled */
	VISITS,
	VISITS_EMPTY,
	SWITCHES,
	SLEEPS,
	STOLEN,
	CPU_NS,
	VOLUNTARY, /* context switches */
	INVOLUNTARY,
	COUNTS
};

struct counts {
	uint64_t of[COUNTS];
};

/* Counts are per request, in MODE_EMPTY per event and stage. */
const struct figure figures[FIGURES] = {
	{ "requests_per_s", "requests/s", 1, MODE_LOAD, FIGURE_GROWTH, REQUESTS,
	  NS, 1e9 },
	{ "response_ms_mean", "response ms, mean", 1, MODE_LOAD,
	  FIGURE_RESPONSE, 0, 0, 1e-6 },
	{ "response_ms_p50", "p50", 1, MODE_LOAD, FIGURE_RESPONSE, 50, 0,
	  1e-6 },
	{ "response_ms_p90", "p90", 1, MODE_LOAD, FIGURE_RESPONSE, 90, 0,
	  1e-6 },
	{ "response_ms_p99", "p99", 1, MODE_LOAD, FIGURE_RESPONSE, 99, 0,
	  1e-6 },
	{ "cores_used", "cores used", 2, MODE_LOAD, FIGURE_GROWTH, CPU_NS, NS,
	  1 },
	{ "cpu_ms", "CPU ms", 3, MODE_LOAD, FIGURE_GROWTH, CPU_NS, REQUESTS,
	  1e-6 },
	{ "visits", "visits", 2, MODE_LOAD, FIGURE_GROWTH, VISITS, REQUESTS,
	  1 },
	{ "visits_empty", "empty", 3, MODE_LOAD, FIGURE_GROWTH, VISITS_EMPTY,
	  REQUESTS, 1 },
	{ "switches", "switches", 2, MODE_LOAD, FIGURE_GROWTH, SWITCHES,
	  REQUESTS, 1 },
	{ "sleeps", "sleeps", 2, MODE_LOAD, FIGURE_GROWTH, SLEEPS, REQUESTS,
	  1 },
	{ "context_switches_voluntary", "context switches, voluntary", 2,
	  MODE_LOAD, FIGURE_GROWTH, VOLUNTARY, REQUESTS, 1 },
	{ "context_switches_involuntary", "involuntary", 2, MODE_LOAD,
	  FIGURE_GROWTH, INVOLUNTARY, REQUESTS, 1 },
	{ "stolen", "stolen", 3, MODE_LOAD, FIGURE_GROWTH, STOLEN, REQUESTS,
	  1 },
	{ "event_wall_ns", "ns per event", 0, MODE_EMPTY, FIGURE_GROWTH, NS,
	  EVENTS, 1 },
	{ "event_cpu_ns", "CPU ns per event", 0, MODE_EMPTY, FIGURE_GROWTH,
	  CPU_NS, EVENTS, 1 },
	{ "event_visits", "visits", 3, MODE_EMPTY, FIGURE_GROWTH, VISITS,
	  EVENTS, 1 },
	{ "event_sleeps", "sleeps", 3, MODE_EMPTY, FIGURE_GROWTH, SLEEPS,
	  EVENTS, 1 },
	{ "start_us_p50", "send to start us, p50", 1, MODE_WAKE, FIGURE_START,
	  50, 0, 1e-3 },
	{ "start_us_p90", "p90", 1, MODE_WAKE, FIGURE_START, 90, 0, 1e-3 },
	{ "start_us_p99", "p99", 1, MODE_WAKE, FIGURE_START, 99, 0, 1e-3 },
};

enum { TRIALS = 30, TRIAL_STEPS = 200000, LINE_BYTES = 64 };

static void work_compute(uint64_t step_count)
{
	uint64_t x = step_count;

	/*
	 * Each step needs the result of the one before, and the compiler may
	 * not remove any.
	 */
	while (step_count-- > 0) {
		x = x * UINT64_C(6364136223846793005) + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

/* Read and write each cache line once. */
static void work_touch(unsigned char *memory, uint64_t size_bytes)
{
	for (uint64_t i = 0; i < size_bytes; i += LINE_BYTES)
		memory[i]++;
}

double run_measure_speed(void)
{
	uint64_t least_ns = UINT64_MAX;

	/* The fastest trial is the one that nobody disturbed. */
	for (int i = 0; i < TRIALS; i++) {
		uint64_t start_ns = clock_now_ns();

		work_compute(TRIAL_STEPS);
		uint64_t ns = clock_now_ns() - start_ns;

		least_ns = ns < least_ns ? ns : least_ns;
	}
	return (double)TRIAL_STEPS / (double)least_ns;
}

static uint64_t cpu_ns(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) *
		       1000000000 +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

static void read_usage(struct counts *c, bool with_own)
{
	struct rusage all, own = { .ru_nvcsw = 0 };

	(void)getrusage(RUSAGE_SELF, &all);
	if (!with_own)
		(void)getrusage(RUSAGE_THREAD, &own);
	c->of[CPU_NS] = cpu_ns(&all) - cpu_ns(&own);
	c->of[VOLUNTARY] = (uint64_t)(all.ru_nvcsw - own.ru_nvcsw);
	c->of[INVOLUNTARY] = (uint64_t)(all.ru_nivcsw - own.ru_nivcsw);
}

enum { STACK_BYTES = 256 * 1024 };

/* What goes from stage to stage: a request, or a child of one. */
struct operation {
	/* Must be the first member.  Without forks, only the event is used. */
	struct closure closure;
	struct request *request;
	const struct model_step *step;
	unsigned char *memory; /* what it touches: a child, a part of it */
	uint64_t memory_bytes;
};

struct request {
	struct operation own; /* must be the first member */
	struct request *next; /* in the list of idle ones */
	struct run *run;
	struct model_path path; /* owned */
	uint64_t number;
	uint64_t due_ns, start_ns;
	uint32_t lap;
	unsigned char *memory; /* owned */
	uint64_t capacity_bytes;
	struct operation *children; /* owned; those of the last fork */
};

struct times {
	double *ns; /* owned */
	uint64_t count, capacity;
};

struct run {
	const struct run_config *config;
	struct stage_group *group;
	struct stage *stages[STAGES_MAX];
	bool pool_is_auto;
	bool clients_handle; /* the handlers run in their threads */
	size_t core_count;
	uint32_t children_max; /* of a request at once; 0: there are no forks */
	/* Requests that were sent and have not ended, and their work. */
	_Atomic uint32_t under_way_count;
	_Atomic uint64_t left_ns;

	pthread_mutex_t lock; /* protects all members below */
	pthread_cond_t ended;
	struct request *requests; /* client_count of them */
	struct request *idle;
	struct random random;
	uint64_t due_ns; /* when the last request was due */
	uint64_t begun_count, finished_count, step_count;
	bool is_over;
	uint64_t end_ns; /* when the last request ended */
	struct counts first;
	struct times responses, starts; /* times of counted requests */
	struct run_pool pools[STAGES_MAX];
};

/*
 * Called by a client's thread.  The CPU time and context switches of the
 * calling thread count if clients run handlers.
 */
static struct counts count_all(const struct run *r)
{
	struct counts c = {
		.of = { [NS] = clock_now_ns(), [REQUESTS] = r->finished_count }
	};

	read_usage(&c, r->clients_handle);
	for (uint32_t i = 0; i < r->config->model->stage_count; i++) {
		struct stage_stats s;

		stage_read(r->stages[i], &s);
		c.of[EVENTS] += s.handled_count;
		c.of[VISITS] += s.visit_count;
		c.of[VISITS_EMPTY] += s.visit_empty_count;
		c.of[SWITCHES] += s.switch_count;
	}
	for (uint32_t i = 0; i < group_worker_count(r->group); i++) {
		struct worker_stats w;

		group_read_worker(r->group, i, &w);
		c.of[SLEEPS] += w.sleep_count;
		c.of[STOLEN] += w.stolen_count;
	}
	return c;
}

static void watch_pool(struct run_pool *p, uint32_t threads)
{
	if (p->threads_most == 0)
		p->threads_last = threads;
	if (threads > p->threads_last)
		p->joined_count += threads - p->threads_last;
	else
		p->left_count += p->threads_last - threads;
	p->threads_last = threads;
	if (threads > p->threads_most)
		p->threads_most = threads;
}

/* Caller holds r->lock.  Other schedules pay nothing for it. */
static void watch_pools(struct run *r)
{
	if (!r->pool_is_auto)
		return;
	for (uint32_t i = 0; i < r->config->model->stage_count; i++)
		watch_pool(&r->pools[i], stage_pool_threads(r->stages[i]));
}

static void times_add(struct times *t, double ns)
{
	if (t->count == t->capacity) {
		t->capacity = t->capacity == 0 ? 1024 : 2 * t->capacity;
		t->ns = realloc(t->ns, t->capacity * sizeof(*t->ns));
		assert(t->ns != NULL);
	}
	t->ns[t->count++] = ns;
}

static void end_request(struct run *r, struct request *q)
{
	uint64_t end_ns = clock_now_ns();

	atomic_fetch_sub(&r->under_way_count, 1);
	(void)pthread_mutex_lock(&r->lock);
	r->finished_count++;
	r->end_ns = end_ns;
	watch_pools(r);
	if (q->number >= r->config->warmup_count) {
		times_add(&r->responses, (double)(end_ns - q->due_ns));
		times_add(&r->starts,
			  (double)(q->start_ns - q->own.closure.event.born_ns));
	}
	q->next = r->idle;
	r->idle = q;
	(void)pthread_mutex_unlock(&r->lock);
	(void)pthread_cond_signal(&r->ended);
}

/* Do the work of the current step. */
static void work(struct run *r, struct operation *o)
{
	uint64_t service_ns = o->step->service_ns;

	if (o->request->start_ns == 0)
		o->request->start_ns = clock_now_ns();
	work_touch(o->memory, o->memory_bytes);
	work_compute((uint64_t)((double)service_ns * r->config->steps_per_ns));
	o->closure.event.left_ns -= service_ns;
	if (service_ns > 0) /* --empty measures what an event costs */
		atomic_fetch_sub(&r->left_ns, service_ns);
}

/* Go to the next step.  False: there is none. */
static bool advance(struct run *r, struct operation *o)
{
	struct request *q = o->request;

	if (o->step->next == 0 &&
	    (o != &q->own || ++q->lap == r->config->lap_count))
		return false;
	o->step = o->step->next > 0 ? o->step + o->step->next : q->path.steps;
	return true;
}

static void handle(struct event *ev, void *arg)
{
	struct operation *o = (struct operation *)ev;
	struct run *r = arg;

	work(r, o);
	if (!advance(r, o)) {
		end_request(r, o->request);
		return;
	}
	/* Every queue has room for all requests under way. */
	bool is_accepted = stage_send(r->stages[o->step->stage], ev);

	assert(is_accepted);
}

/* --- With forks, requests and their children are closures. --- */

static void end_operation(struct closure *c, enum closure_end how)
{
	struct operation *o = (struct operation *)c;

	assert(how == CLOSURE_DONE); /* see handle() */
	if (o == &o->request->own)
		end_request(o->request->run, o->request);
}

/* Invoke the children of the step.  Each has a part of the memory. */
static void invoke_children(struct run *r, struct operation *o,
			    closure_fn *method)
{
	const struct model_step *step = o->step + 1;
	uint32_t count = o->step->child_count;

	for (uint32_t i = 0; i < count; i++) {
		struct operation *child = &o->request->children[i];
		uint64_t from = i * o->memory_bytes / count;
		struct event *ev = &child->closure.event;

		*child = (struct operation){
			.closure.event = { .key = o->closure.event.key,
					   .deadline_ns =
						   o->closure.event
							   .deadline_ns },
			.closure.end = end_operation,
			.request = o->request,
			.step = step,
			.memory = o->memory + from,
			.memory_bytes =
				(i + 1) * o->memory_bytes / count - from,
		};
		closure_invoke(&o->closure, &child->closure,
			       r->stages[step->stage], method);
		step = model_next_child(step, &ev->left_ns);
		o->closure.event.left_ns -= ev->left_ns;
	}
}

static enum closure_action handle_closure(struct closure *c, void *arg)
{
	struct operation *o = (struct operation *)c;
	struct run *r = arg;
	bool forks = o->step->child_count > 0;

	work(r, o);
	if (forks)
		invoke_children(r, o, handle_closure);
	if (!advance(r, o))
		return CLOSURE_COMPLETE;
	return forks ? closure_wait_for_children(c, handle_closure) :
		       closure_go_to(c, r->stages[o->step->stage],
				     handle_closure);
}

/* --- Requests. --- */

static void send_request(struct run *r, struct request *q)
{
	struct stage *first = r->stages[q->own.step->stage];
	bool is_accepted =
		r->children_max > 0 ?
			closure_start(&q->own.closure, first, handle_closure) :
			stage_send(first, &q->own.closure.event);

	assert(is_accepted); /* see handle() */
}

static void resize_memory(struct request *q, uint64_t bytes)
{
	q->own.memory_bytes = bytes;
	if (bytes <= q->capacity_bytes)
		return;
	free(q->memory);
	q->memory = q->own.memory = calloc(1, bytes);
	assert(q->memory != NULL);
	q->capacity_bytes = bytes;
}

/* Draw what `q` will do. */
static void draw_request(struct run *r, struct request *q)
{
	const struct run_config *c = r->config;
	struct event *ev = &q->own.closure.event;
	double share = 1;

	model_draw(c->model, &r->random, &q->path);
	if (c->model->has_size)
		share = q->path.size / c->model->size.mean;
	resize_memory(q, (uint64_t)(share * (double)c->memory_bytes));
	q->own.step = q->path.steps;
	q->lap = 0;
	q->start_ns = 0;
	q->own.closure = (struct closure){
		.event.key = (uint32_t)r->begun_count,
		.end = end_operation,
	};
	if (q->path.deadline_ns > 0)
		ev->deadline_ns = clock_now_ns() + q->path.deadline_ns;
	for (uint32_t i = 0; i < q->path.step_count; i++) {
		struct model_step *s = &q->path.steps[i];

		s->service_ns = (uint64_t)((double)s->service_ns * c->scale);
		ev->left_ns += s->service_ns * c->lap_count;
	}
	r->step_count += (uint64_t)q->path.step_count * c->lap_count;
}

/* When the next request is due. */
static uint64_t next_due_ns(struct run *r)
{
	const struct run_config *c = r->config;

	if (c->rate_per_s == 0)
		return clock_now_ns() + c->pause_ns;
	r->due_ns +=
		(uint64_t)random_exponential(&r->random, 1e9 / c->rate_per_s);
	return r->due_ns;
}

/* Is nothing left to begin? */
static bool is_over(struct run *r)
{
	const struct run_config *c = r->config;
	uint64_t counted = r->begun_count - c->warmup_count;

	if (r->is_over || r->begun_count < c->warmup_count)
		return r->is_over;
	if (r->begun_count == c->warmup_count)
		r->first = count_all(r);
	r->is_over = c->duration_ns > 0 ? clock_now_ns() - r->first.of[NS] >=
						  c->duration_ns :
					  counted == c->request_count;
	return r->is_over;
}

/* A request to send, as soon as one more is allowed.  NULL: the run is over. */
static struct request *begin_request(struct run *r)
{
	struct request *q = NULL;

	(void)pthread_mutex_lock(&r->lock);
	while (r->idle == NULL)
		(void)pthread_cond_wait(&r->ended, &r->lock);
	if (!is_over(r)) {
		q = r->idle;
		r->idle = q->next;
		draw_request(r, q);
		watch_pools(r);
		q->number = r->begun_count++;
		q->due_ns = next_due_ns(r);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return q;
}

static void wait_until(uint64_t ns)
{
	struct timespec t = clock_timespec(ns);

	if (ns > clock_now_ns())
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* For srpt that follows the load, as the server does. */
static void predict(struct run *r, struct event *ev)
{
	uint64_t before_ns = atomic_fetch_add(&r->left_ns, ev->left_ns);

	ev->expected_ns = before_ns / r->core_count + ev->left_ns;
	ev->under_way_count = atomic_fetch_add(&r->under_way_count, 1);
}

static void *client_main(void *arg)
{
	struct run *r = arg;
	struct request *q;

	/* By default the kernel may wake this thread 50 us late. */
	(void)prctl(PR_SET_TIMERSLACK, 1);
	while ((q = begin_request(r)) != NULL) {
		wait_until(q->due_ns);
		predict(r, &q->own.closure.event);
		send_request(r, q);
	}
	return NULL;
}

/*
 * One client thread sends all requests; if the sender runs the handlers, there
 * is a thread for each request under way.  False: a thread could not be made.
 */
static bool run_clients(struct run *r)
{
	uint32_t wanted = r->config->client_count, made = 0;
	pthread_t *threads = calloc(wanted, sizeof(*threads));
	pthread_attr_t attr;

	if (threads == NULL || pthread_attr_init(&attr) != 0) {
		free(threads);
		return false;
	}
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!r->clients_handle)
		(void)client_main(r);
	else
		while (made < wanted && pthread_create(&threads[made], &attr,
						       client_main, r) == 0)
			made++;
	for (uint32_t i = 0; i < made; i++)
		(void)pthread_join(threads[i], NULL);
	(void)pthread_attr_destroy(&attr);
	free(threads);
	return !r->clients_handle || made == wanted;
}

static bool start_group(struct run *r, const struct schedule *schedule,
			const struct cores *cores)
{
	const struct model *m = r->config->model;
	struct stage_graph graph;
	uint32_t parts[STAGES_MAX];
	uint64_t events_each = max_u64(r->children_max, 1);

	r->group = group_new(&(struct group_config){
		.schedule = schedule,
		.cores = cores,
		.counts_hardware = r->config->counts_hardware });
	for (uint32_t i = 0; r->group != NULL && i < m->stage_count; i++) {
		r->stages[i] = group_add(
			r->group, &(struct stage_config){
					  .name = m->stages[i].name,
					  .handler = r->children_max > 0 ?
							     closure_handle :
							     handle,
					  .arg = r,
					  .slots = r->config->client_count *
						   (uint32_t)events_each,
					  .type = m->stages[i].type,
				  });
		if (r->stages[i] == NULL)
			return false;
	}
	if (r->group == NULL || !group_start(r->group))
		return false;
	if (schedule->balance != BALANCE_PARTITION)
		return true;
	model_weigh(m, &graph);
	return graph_cut(&graph, schedule->part_count, parts) &&
	       group_partition(r->group, parts);
}

static double times_mean(const struct times *t)
{
	double sum = 0;

	for (uint64_t i = 0; i < t->count; i++)
		sum += t->ns[i];
	return t->count > 0 ? sum / (double)t->count : 0;
}

/* The growth of a count since the first counted request began. */
static double grown(const struct run *r, const struct counts *now,
		    uint32_t count)
{
	return (double)(now->of[count] - r->first.of[count]);
}

/* Times are sorted. */
static double find_value(const struct figure *f, const struct run *r,
			 const struct counts *now)
{
	const struct times *t =
		f->kind == FIGURE_START ? &r->starts : &r->responses;
	double value, per = 1;

	if (f->kind == FIGURE_GROWTH) {
		value = grown(r, now, f->of);
		per = grown(r, now, f->per);
	} else if (f->of == 0) {
		value = times_mean(t);
	} else {
		value = quantile_reported(t->ns, t->count, f->of / 100.0);
	}
	return per > 0 ? value / per * f->factor : 0;
}

/* Times are in the order in which requests ended. */
static void find_half_means(const struct times *t, double means_ms[2])
{
	struct times halves[2] = {
		{ .ns = t->ns, .count = t->count / 2 },
		{ .ns = t->ns + t->count / 2,
		  .count = t->count - t->count / 2 },
	};

	for (int i = 0; i < 2; i++)
		means_ms[i] = times_mean(&halves[i]) / 1e6;
}

static void fill_result(struct run *r, struct run_result *out)
{
	struct counts all = count_all(r);

	all.of[NS] = r->end_ns;
	*out = (struct run_result){ .finished_count = r->finished_count,
				    .step_count = r->step_count };
	find_half_means(&r->responses, out->half_means_ms);
	quantiles_sort(r->responses.ns, r->responses.count);
	quantiles_sort(r->starts.ns, r->starts.count);
	for (uint32_t i = 0; i < FIGURES; i++)
		out->values[i] = find_value(&figures[i], r, &all);
	for (uint32_t i = 0; i < r->config->model->stage_count; i++) {
		struct stage_stats s;

		stage_read(r->stages[i], &s);
		out->arrived_counts[i] = s.arrived_count;
		out->handled_counts[i] = s.handled_count;
		out->pools[i] = r->pools[i];
		memcpy(out->hardware[i], s.hardware, sizeof(s.hardware));
	}
	out->has_hardware =
		r->config->counts_hardware && group_counts_hardware(r->group);
}

static void release_run(struct run *r)
{
	for (uint32_t i = 0; i < r->config->client_count; i++) {
		free(r->requests[i].memory);
		free(r->requests[i].children);
		model_path_release(&r->requests[i].path);
	}
	free(r->requests);
	free(r->responses.ns);
	free(r->starts.ns);
	group_free(r->group);
	(void)pthread_cond_destroy(&r->ended);
	(void)pthread_mutex_destroy(&r->lock);
}

static bool make_requests(struct run *r)
{
	for (uint32_t i = 0; r->requests != NULL && i < r->config->client_count;
	     i++) {
		struct request *q = &r->requests[i];

		q->own.request = q;
		q->run = r;
		q->children = calloc(max_u64(r->children_max, 1),
				     sizeof(*q->children));
		q->next = r->idle;
		r->idle = q;
		if (q->children == NULL)
			return false;
	}
	return r->requests != NULL;
}

bool run(const struct run_config *config, const struct schedule *schedule,
	 const struct cores *cores, struct run_result *out)
{
	struct run r = {
		.config = config,
		.pool_is_auto = schedule->pool_is_auto,
		.clients_handle =
			schedule->policy->workers == POLICY_WORKERS_CALLER,
		.core_count = cores_count(cores),
		.children_max = model_children_max(config->model),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.ended = PTHREAD_COND_INITIALIZER,
		.requests = calloc(config->client_count, sizeof(*r.requests)),
		.due_ns = clock_now_ns(),
	};
	bool ok = make_requests(&r);

	random_init(&r.random, config->seed, 0);
	ok = ok && start_group(&r, schedule, cores) && run_clients(&r);
	if (r.group != NULL)
		group_stop(r.group);
	if (ok)
		fill_result(&r, out);
	if (r.requests != NULL)
		release_run(&r);
	return ok;
}
