/* SPDX-License-Identifier: MIT */
#include "stages/bench/run.h"

#include "base/clock.h"
#include "base/quantiles.h"
#include "stages/group.h"
#include "stages/stats.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Counts are per request, in MODE_EMPTY per event and stage. */
const struct figure_about figure_abouts[FIGURES] = {
	[FIGURE_REQUESTS_PER_S] = { "requests_per_s", "requests/s", 1,
				    MODE_LOAD },
	[FIGURE_RESPONSE_MEAN_MS] = { "response_ms_mean", "response ms, mean",
				      1, MODE_LOAD },
	[FIGURE_RESPONSE_P50_MS] = { "response_ms_p50", "p50", 1, MODE_LOAD },
	[FIGURE_RESPONSE_P90_MS] = { "response_ms_p90", "p90", 1, MODE_LOAD },
	[FIGURE_RESPONSE_P99_MS] = { "response_ms_p99", "p99", 1, MODE_LOAD },
	[FIGURE_CORES] = { "cores_used", "cores used", 2, MODE_LOAD },
	[FIGURE_CPU_MS] = { "cpu_ms", "CPU ms", 3, MODE_LOAD },
	[FIGURE_VISITS] = { "visits", "visits", 2, MODE_LOAD },
	[FIGURE_VISITS_EMPTY] = { "visits_empty", "empty", 3, MODE_LOAD },
	[FIGURE_SWITCHES] = { "switches", "switches", 2, MODE_LOAD },
	[FIGURE_SLEEPS] = { "sleeps", "sleeps", 2, MODE_LOAD },
	[FIGURE_VOLUNTARY] = { "context_switches_voluntary",
			       "context switches, voluntary", 2, MODE_LOAD },
	[FIGURE_INVOLUNTARY] = { "context_switches_involuntary", "involuntary",
				 2, MODE_LOAD },
	[FIGURE_STOLEN] = { "stolen", "stolen", 3, MODE_LOAD },
	[FIGURE_EVENT_WALL_NS] = { "event_wall_ns", "ns per event", 0,
				   MODE_EMPTY },
	[FIGURE_EVENT_CPU_NS] = { "event_cpu_ns", "CPU ns per event", 0,
				  MODE_EMPTY },
	[FIGURE_EVENT_VISITS] = { "event_visits", "visits", 3, MODE_EMPTY },
	[FIGURE_EVENT_SLEEPS] = { "event_sleeps", "sleeps", 3, MODE_EMPTY },
	[FIGURE_START_P50_US] = { "start_us_p50", "send to start us, p50", 1,
				  MODE_WAKE },
	[FIGURE_START_P90_US] = { "start_us_p90", "p90", 1, MODE_WAKE },
	[FIGURE_START_P99_US] = { "start_us_p99", "p99", 1, MODE_WAKE },
};

enum { TRIALS = 30, TRIAL_STEPS = 200000, LINE_BYTES = 64 };

static void work_compute(uint64_t step_count)
{
	uint64_t x = step_count;

	/* Each step needs the last one, and the compiler may leave none out. */
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

/* What a group and its threads did until some moment. */
struct counts {
	uint64_t at_ns;
	uint64_t finished_count; /* requests; the caller's to fill */
	uint64_t handled_count;  /* events */
	uint64_t visit_count, visit_empty_count, switch_count;
	uint64_t sleep_count, stolen_count;
	uint64_t cpu_ns;
	uint64_t voluntary_count, involuntary_count; /* context switches */
};

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
	c->cpu_ns = cpu_ns(&all) - cpu_ns(&own);
	c->voluntary_count = (uint64_t)(all.ru_nvcsw - own.ru_nvcsw);
	c->involuntary_count = (uint64_t)(all.ru_nivcsw - own.ru_nivcsw);
}

/* CPU time and context switches of the calling thread count if `with_own`. */
static void counts_read(struct counts *c, const struct group *g,
			struct stage *const *stages, uint32_t stage_count,
			bool with_own)
{
	c->at_ns = clock_now_ns();
	read_usage(c, with_own);
	for (uint32_t i = 0; i < stage_count; i++) {
		struct stage_stats s;

		stage_read(stages[i], &s);
		c->handled_count += s.handled_count;
		c->visit_count += s.visit_count;
		c->visit_empty_count += s.visit_empty_count;
		c->switch_count += s.switch_count;
	}
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats w;

		group_read_worker(g, i, &w);
		c->sleep_count += w.sleep_count;
		c->stolen_count += w.stolen_count;
	}
}

/* The growth of one count, divided by `count`. */
static double grown(uint64_t from, uint64_t to, double count)
{
	return count > 0 ? (double)(to - from) / count : 0;
}

/* The figures that follow from what happened between the two. */
static void counts_compare(const struct counts *from, const struct counts *to,
			   double f[FIGURES])
{
	double requests = (double)(to->finished_count - from->finished_count);
	double events = (double)(to->handled_count - from->handled_count);
	double s = (double)(to->at_ns - from->at_ns) / 1e9;

	f[FIGURE_REQUESTS_PER_S] =
		grown(from->finished_count, to->finished_count, s);
	f[FIGURE_CORES] = grown(from->cpu_ns, to->cpu_ns, s) / 1e9;
	f[FIGURE_CPU_MS] = grown(from->cpu_ns, to->cpu_ns, requests) / 1e6;
	f[FIGURE_VISITS] = grown(from->visit_count, to->visit_count, requests);
	f[FIGURE_VISITS_EMPTY] =
		grown(from->visit_empty_count, to->visit_empty_count, requests);
	f[FIGURE_SWITCHES] =
		grown(from->switch_count, to->switch_count, requests);
	f[FIGURE_SLEEPS] = grown(from->sleep_count, to->sleep_count, requests);
	f[FIGURE_VOLUNTARY] =
		grown(from->voluntary_count, to->voluntary_count, requests);
	f[FIGURE_INVOLUNTARY] =
		grown(from->involuntary_count, to->involuntary_count, requests);
	f[FIGURE_STOLEN] =
		grown(from->stolen_count, to->stolen_count, requests);
	f[FIGURE_EVENT_WALL_NS] = grown(from->at_ns, to->at_ns, events);
	f[FIGURE_EVENT_CPU_NS] = grown(from->cpu_ns, to->cpu_ns, events);
	f[FIGURE_EVENT_VISITS] =
		grown(from->visit_count, to->visit_count, events);
	f[FIGURE_EVENT_SLEEPS] =
		grown(from->sleep_count, to->sleep_count, events);
}

enum { STACK_BYTES = 256 * 1024 };

struct request {
	struct event event;   /* first */
	struct request *next; /* among the idle */
	struct model_path path;
	uint64_t number;
	uint64_t due_ns, start_ns;
	uint32_t step, lap;
	unsigned char *memory; /* owned */
	uint64_t memory_bytes, capacity_bytes;
};

struct times {
	double *ns; /* owned */
	uint64_t count, capacity;
};

struct run {
	const struct run_config *config;
	struct group *group;
	struct stage *stages[STAGES_MAX];
	bool clients_handle; /* the handlers run in their threads */

	pthread_mutex_t lock; /* of all members below */
	pthread_cond_t ended;
	struct request *requests; /* client_count of them */
	struct request *idle;
	struct random random;
	uint64_t due_ns; /* of the last request begun */
	uint64_t begun_count, finished_count, step_count;
	bool is_over;
	uint64_t end_ns; /* of the last request ended */
	struct counts first;
	struct times responses, starts; /* of counted requests */
};

/* Called by the thread that is the client, or by one of several. */
static struct counts count_all(const struct run *r)
{
	struct counts c = { .finished_count = r->finished_count };

	counts_read(&c, r->group, r->stages, r->config->model->stage_count,
		    r->clients_handle);
	return c;
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

	(void)pthread_mutex_lock(&r->lock);
	r->finished_count++;
	r->end_ns = end_ns;
	if (q->number >= r->config->warmup_count) {
		times_add(&r->responses, (double)(end_ns - q->due_ns));
		times_add(&r->starts, (double)(q->start_ns - q->event.born_ns));
	}
	q->next = r->idle;
	r->idle = q;
	(void)pthread_mutex_unlock(&r->lock);
	(void)pthread_cond_signal(&r->ended);
}

static void send_on(struct run *r, struct request *q)
{
	/* No queue is shorter than the requests under way. */
	bool is_accepted =
		stage_send(r->stages[q->path.steps[q->step].stage], &q->event);

	assert(is_accepted);
}

static void handle(struct event *ev, void *arg)
{
	struct request *q = (struct request *)ev;
	struct run *r = arg;
	uint64_t service_ns = q->path.steps[q->step].service_ns;

	if (q->start_ns == 0)
		q->start_ns = clock_now_ns();
	work_touch(q->memory, q->memory_bytes);
	work_compute((uint64_t)((double)service_ns * r->config->steps_per_ns));
	ev->left_ns -= service_ns;
	if (++q->step == q->path.step_count && ++q->lap < r->config->lap_count)
		q->step = 0;
	if (q->step < q->path.step_count)
		send_on(r, q);
	else
		end_request(r, q);
}

static void resize_memory(struct request *q, uint64_t bytes)
{
	q->memory_bytes = bytes;
	if (bytes <= q->capacity_bytes)
		return;
	free(q->memory);
	q->memory = calloc(1, bytes);
	assert(q->memory != NULL);
	q->capacity_bytes = bytes;
}

/* Draw what `q` will do. */
static void draw_request(struct run *r, struct request *q)
{
	const struct run_config *c = r->config;
	double share = 1;

	model_draw(c->model, &r->random, &q->path);
	if (c->model->has_size)
		share = q->path.size / c->model->size.mean;
	resize_memory(q, (uint64_t)(share * (double)c->memory_bytes));
	q->step = q->lap = 0;
	q->start_ns = 0;
	q->event = (struct event){ .key = (uint32_t)r->begun_count };
	for (uint32_t i = 0; i < q->path.step_count; i++) {
		struct model_step *s = &q->path.steps[i];

		s->service_ns = (uint64_t)((double)s->service_ns * c->scale);
		q->event.left_ns += s->service_ns * c->lap_count;
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
	r->is_over = c->duration_ns > 0 ?
			     clock_now_ns() - r->first.at_ns >= c->duration_ns :
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
		q->number = r->begun_count++;
		q->due_ns = next_due_ns(r);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return q;
}

static void wait_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000),
			      (long)(ns % 1000000000) };

	if (ns > clock_now_ns())
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *client_main(void *arg)
{
	struct run *r = arg;
	struct request *q;

	/* By default the kernel may be 50 us late. */
	(void)prctl(PR_SET_TIMERSLACK, 1);
	while ((q = begin_request(r)) != NULL) {
		wait_until(q->due_ns);
		send_on(r, q);
	}
	return NULL;
}

/* One client for all; where handlers run in the sender, one for each request
 * under way.  False: a thread could not be made. */
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

	r->group = group_new(
		&(struct group_config){ .schedule = schedule, .cores = cores });
	for (uint32_t i = 0; r->group != NULL && i < m->stage_count; i++) {
		r->stages[i] = group_add(
			r->group, &(struct stage_config){
					  .name = m->stages[i].name,
					  .handler = handle,
					  .arg = r,
					  .slots = r->config->client_count,
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

/* Of sorted times; 0: there are none. */
static double times_quantile(const struct times *t, double share)
{
	return t->count > 0 ? quantile_nearest(t->ns, t->count, share) : 0;
}

static void fill_times(struct run *r, double f[FIGURES])
{
	const struct times *t = &r->responses;

	quantiles_sort(r->responses.ns, r->responses.count);
	quantiles_sort(r->starts.ns, r->starts.count);
	f[FIGURE_RESPONSE_MEAN_MS] = times_mean(t) / 1e6;
	f[FIGURE_RESPONSE_P50_MS] = times_quantile(t, 0.5) / 1e6;
	f[FIGURE_RESPONSE_P90_MS] = times_quantile(t, 0.9) / 1e6;
	f[FIGURE_RESPONSE_P99_MS] = times_quantile(t, 0.99) / 1e6;
	t = &r->starts;
	f[FIGURE_START_P50_US] = times_quantile(t, 0.5) / 1e3;
	f[FIGURE_START_P90_US] = times_quantile(t, 0.9) / 1e3;
	f[FIGURE_START_P99_US] = times_quantile(t, 0.99) / 1e3;
}

static void fill_result(struct run *r, struct run_result *out)
{
	struct counts all = count_all(r);

	all.at_ns = r->end_ns;
	*out = (struct run_result){ .finished_count = r->finished_count,
				    .step_count = r->step_count };
	fill_times(r, out->figures);
	counts_compare(&r->first, &all, out->figures);
	for (uint32_t i = 0; i < r->config->model->stage_count; i++) {
		struct stage_stats s;

		stage_read(r->stages[i], &s);
		out->arrived_counts[i] = s.arrived_count;
		out->handled_counts[i] = s.handled_count;
	}
}

static void release_run(struct run *r)
{
	for (uint32_t i = 0; i < r->config->client_count; i++)
		free(r->requests[i].memory);
	free(r->requests);
	free(r->responses.ns);
	free(r->starts.ns);
	group_free(r->group);
	(void)pthread_cond_destroy(&r->ended);
	(void)pthread_mutex_destroy(&r->lock);
}

bool run(const struct run_config *config, const struct schedule *schedule,
	 const struct cores *cores, struct run_result *out)
{
	struct run r = {
		.config = config,
		.clients_handle =
			schedule->policy->workers == POLICY_WORKERS_CALLER,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.ended = PTHREAD_COND_INITIALIZER,
		.requests = calloc(config->client_count, sizeof(*r.requests)),
		.due_ns = clock_now_ns(),
	};
	bool ok = r.requests != NULL;

	for (uint32_t i = 0; ok && i < config->client_count; i++) {
		r.requests[i].next = r.idle;
		r.idle = &r.requests[i];
	}
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
