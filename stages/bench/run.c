/* SPDX-License-Identifier: MIT */
#include "stages/bench/run.h"

#include "stages/bench/counts.h"
#include "stages/bench/work.h"
#include "stages/group.h"
#include "stages/stats.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/prctl.h>

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
	uint64_t *ns; /* owned */
	uint64_t count, capacity;
};

struct run {
	const struct run_config *config;
	struct group *group;
	struct stage *stages[STAGES_MAX];
	bool clients_handle; /* the handlers run in their threads */

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t ended;
	struct request *requests; /* client_count of them */
	struct request *idle;
	struct random random;
	uint64_t due_ns; /* of the last request begun */
	uint64_t begun_count, finished_count, step_count;
	bool is_over;
	uint64_t end_ns; /* of the last request ended */
	struct counts begin;
	struct times responses, starts; /* of counted requests */
};

/* Called by the thread that is the client, or by one of several. */
static struct counts count(const struct run *r)
{
	struct counts c = { .finished_count = r->finished_count };

	counts_read(&c, r->group, r->stages, r->config->model->stage_count,
		    r->clients_handle);
	return c;
}

static void times_add(struct times *t, uint64_t ns)
{
	if (t->count == t->capacity) {
		t->capacity = t->capacity == 0 ? 1024 : 2 * t->capacity;
		t->ns = realloc(t->ns, t->capacity * sizeof(*t->ns));
		assert(t->ns != NULL);
	}
	t->ns[t->count++] = ns;
}

static void end(struct run *r, struct request *q)
{
	uint64_t end_ns = group_now_ns();

	(void)pthread_mutex_lock(&r->lock);
	r->finished_count++;
	r->end_ns = end_ns;
	if (q->number >= r->config->warmup_count) {
		times_add(&r->responses, end_ns - q->due_ns);
		times_add(&r->starts, q->start_ns - q->event.born_ns);
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
		q->start_ns = group_now_ns();
	work_touch(q->memory, q->memory_bytes);
	work_compute((uint64_t)((double)service_ns * r->config->steps_per_ns));
	ev->left_ns -= service_ns;
	if (++q->step == q->path.step_count && ++q->lap < r->config->lap_count)
		q->step = 0;
	if (q->step < q->path.step_count)
		send_on(r, q);
	else
		end(r, q);
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
static void draw(struct run *r, struct request *q)
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
		return group_now_ns() + c->pause_ns;
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
		r->begin = count(r);
	r->is_over = c->duration_ns > 0 ?
			     group_now_ns() - r->begin.at_ns >= c->duration_ns :
			     counted == c->request_count;
	return r->is_over;
}

/* A request to send, as soon as there may be one more.  NULL: no more. */
static struct request *begin(struct run *r)
{
	struct request *q = NULL;

	(void)pthread_mutex_lock(&r->lock);
	while (r->idle == NULL)
		(void)pthread_cond_wait(&r->ended, &r->lock);
	if (!is_over(r)) {
		q = r->idle;
		r->idle = q->next;
		draw(r, q);
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

	if (ns > group_now_ns())
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *client_main(void *arg)
{
	struct run *r = arg;
	struct request *q;

	/* By default the kernel may be 50 us late. */
	(void)prctl(PR_SET_TIMERSLACK, 1);
	while ((q = begin(r)) != NULL) {
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
		sum += (double)t->ns[i];
	return t->count > 0 ? sum / (double)t->count : 0;
}

static void fill_times(struct run *r, double f[FIGURES])
{
	const uint64_t *ns = r->responses.ns;
	uint64_t n = r->responses.count;

	times_sort(r->responses.ns, n);
	f[FIGURE_RESPONSE_MEAN_MS] = times_mean(&r->responses) / 1e6;
	f[FIGURE_RESPONSE_P50_MS] = (double)times_quantile(ns, n, 0.5) / 1e6;
	f[FIGURE_RESPONSE_P90_MS] = (double)times_quantile(ns, n, 0.9) / 1e6;
	f[FIGURE_RESPONSE_P99_MS] = (double)times_quantile(ns, n, 0.99) / 1e6;
	ns = r->starts.ns;
	n = r->starts.count;
	times_sort(r->starts.ns, n);
	f[FIGURE_START_P50_US] = (double)times_quantile(ns, n, 0.5) / 1e3;
	f[FIGURE_START_P90_US] = (double)times_quantile(ns, n, 0.9) / 1e3;
	f[FIGURE_START_P99_US] = (double)times_quantile(ns, n, 0.99) / 1e3;
}

static void fill(struct run *r, struct run_result *out)
{
	struct counts all = count(r);

	all.at_ns = r->end_ns;
	*out = (struct run_result){ .finished_count = r->finished_count,
				    .step_count = r->step_count };
	fill_times(r, out->figures);
	counts_compare(&r->begin, &all, out->figures);
	for (uint32_t i = 0; i < r->config->model->stage_count; i++) {
		struct stage_stats s;

		stage_read(r->stages[i], &s);
		out->arrived_counts[i] = s.arrived_count;
		out->handled_counts[i] = s.handled_count;
	}
}

static void release(struct run *r)
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
		.due_ns = group_now_ns(),
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
		fill(&r, out);
	if (r.requests != NULL)
		release(&r);
	return ok;
}
