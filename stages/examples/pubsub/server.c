/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <stages/stage.h>
#include <stages/stats.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

struct server {
	const struct server_config *config;
	struct stage *satisfy, *match[SUBSETS_MAX], *deliver;
	struct subset {
		struct server *server;
		uint32_t number, key;
	} subsets[SUBSETS_MAX];
	_Atomic uint64_t next, match_count, sum, wrong_count;
	_Atomic bool has_failed; /* no memory for matches */
};

/* A publisher, and its publication that is under way. */
struct job {
	struct event event;
	uint64_t number;
	struct publication publication;
	struct matching matching;
	struct server *server;
	pthread_t thread; /* that serves it, if there are no stages */
};

/* --- What both servers do. --- */

/* Publish the next one.  False: there is none. */
static bool publish(struct server *s, struct job *j)
{
	j->number = atomic_fetch_add(&s->next, 1);
	if (j->number >= s->config->publication_count)
		return false;
	workload_publication(s->config->workload, j->number, &j->publication);
	return true;
}

static void satisfy(struct server *s, struct job *j)
{
	matcher_satisfy(s->config->matcher, &j->publication, &j->matching);
}

static void match(struct server *s, struct job *j, uint32_t subset)
{
	if (!matcher_match(s->config->matcher, subset, &j->matching))
		atomic_store(&s->has_failed, true);
}

/* Subscribers would be told here; they are counted. */
static void deliver(struct server *s, struct job *j)
{
	const struct server_config *c = s->config;
	struct matching *g = &j->matching;
	uint64_t sum = 0;

	for (size_t i = 0; i < g->found_count; i++)
		sum += (j->number + 1) * (g->found[i] + UINT64_C(1));
	atomic_fetch_add(&s->sum, sum);
	atomic_fetch_add(&s->match_count, g->found_count);
	if (c->check != NULL &&
	    !workload_is_right(c->check, c->check_count, &j->publication, g))
		atomic_fetch_add(&s->wrong_count, 1);
}

static void jobs_free(struct job *jobs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		matching_destroy(&jobs[i].matching);
	free(jobs);
}

/* NULL: no memory. */
static struct job *jobs_new(struct server *s)
{
	uint32_t count = s->config->under_way_count;
	struct job *jobs = calloc(count, sizeof(*jobs));

	for (uint32_t i = 0; jobs != NULL && i < count; i++) {
		jobs[i].server = s;
		if (matching_init(&jobs[i].matching, s->config->matcher))
			continue;
		jobs_free(jobs, i);
		return NULL;
	}
	return jobs;
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void begin(struct server_result *r)
{
	*r = (struct server_result){ .seconds = seconds_now(),
				     .cpu_seconds = seconds_of_cpu() };
}

/* False: some matches had no memory. */
static bool end(struct server *s, struct server_result *r)
{
	r->seconds = seconds_now() - r->seconds;
	r->cpu_seconds = seconds_of_cpu() - r->cpu_seconds;
	r->publication_count = s->config->publication_count;
	r->match_count = s->match_count;
	r->sum = s->sum;
	r->wrong_count = s->wrong_count;
	if (s->has_failed)
		fprintf(stderr, "pubsub: no memory for matches\n");
	return !s->has_failed;
}

/* --- Threads. --- */

static void *thread_main(void *arg)
{
	struct job *j = arg;
	struct server *s = j->server;

	while (publish(s, j)) {
		satisfy(s, j);
		for (uint32_t i = 0; i < s->config->subset_count; i++)
			match(s, j, i);
		deliver(s, j);
	}
	return NULL;
}

bool serve_by_threads(const struct server_config *config,
		      struct server_result *result)
{
	struct server s = { .config = config };
	struct job *jobs = jobs_new(&s);
	uint32_t started = 0;
	bool ok;

	if (jobs == NULL) {
		fprintf(stderr, "pubsub: no memory\n");
		return false;
	}
	begin(result);
	for (; started < config->under_way_count; started++)
		if (pthread_create(&jobs[started].thread, NULL, thread_main,
				   &jobs[started]) != 0)
			break;
	for (uint32_t i = 0; i < started; i++)
		pthread_join(jobs[i].thread, NULL);
	ok = end(&s, result);
	jobs_free(jobs, config->under_way_count);
	if (started < config->under_way_count)
		fprintf(stderr, "pubsub: no thread\n");
	return ok && started == config->under_way_count;
}

/* --- Stages. --- */

static struct job *job_of(struct event *ev)
{
	return (struct job *)((char *)ev - offsetof(struct job, event));
}

/* Fewer events are under way than a queue has slots, so none is refused. */
static void send(struct stage *to, struct job *j)
{
	if (!stage_send(to, &j->event))
		abort();
}

static void send_to_subset(struct server *s, struct job *j, uint32_t subset)
{
	j->event.key = s->subsets[subset].key;
	send(s->match[subset], j);
}

static void handle_satisfy(struct event *ev, void *arg)
{
	struct server *s = arg;

	satisfy(s, job_of(ev));
	send_to_subset(s, job_of(ev), 0);
}

static void handle_match(struct event *ev, void *arg)
{
	const struct subset *subset = arg;
	struct server *s = subset->server;

	match(s, job_of(ev), subset->number);
	if (subset->number + 1 < s->config->subset_count)
		send_to_subset(s, job_of(ev), subset->number + 1);
	else
		send(s->deliver, job_of(ev));
}

static void handle_deliver(struct event *ev, void *arg)
{
	struct server *s = arg;

	deliver(s, job_of(ev));
	if (publish(s, job_of(ev)))
		send(s->satisfy, job_of(ev));
}

static struct stage *add_stage(struct server *s, struct stage_group *g,
			       const char *name, stage_fn *handler)
{
	return group_add(g, &(struct stage_config){
				    .name = name,
				    .handler = handler,
				    .arg = s,
				    .slots = s->config->under_way_count });
}

/* `cores`: neighbouring subsets belong to one core. */
static bool add_stages(struct server *s, struct stage_group *g, uint32_t cores)
{
	uint32_t count = s->config->subset_count;
	bool ok;

	s->satisfy = add_stage(s, g, "satisfy", handle_satisfy);
	ok = s->satisfy != NULL;
	for (uint32_t i = 0; i < count && ok; i++) {
		struct stage_config match_config = {
			.name = "match",
			.handler = handle_match,
			.arg = &s->subsets[i],
			.slots = s->config->under_way_count,
			.type = s->config->is_shared ? STAGE_SHARED :
						       STAGE_PARTITIONED,
		};

		s->subsets[i] = (struct subset){ .server = s,
						 .number = i,
						 .key = i * cores / count };
		s->match[i] = group_add(g, &match_config);
		ok = s->match[i] != NULL;
	}
	s->deliver = ok ? add_stage(s, g, "deliver", handle_deliver) : NULL;
	return s->deliver != NULL;
}

static bool run(struct server *s, struct stage_group *g, struct job *jobs,
		struct server_result *result)
{
	begin(result);
	if (!group_start(g))
		return false;
	for (uint32_t i = 0; i < s->config->under_way_count; i++)
		if (publish(s, &jobs[i]))
			send(s->satisfy, &jobs[i]);
	group_stop(g); /* when the last publication is delivered */
	return end(s, result);
}

static double mean_cohort(const struct server *s)
{
	uint64_t handled = 0, visits = 0;

	for (uint32_t i = 0; i < s->config->subset_count; i++) {
		struct stage_stats stats;

		stage_read(s->match[i], &stats);
		handled += stats.handled_count;
		visits += stats.visit_count - stats.visit_empty_count;
	}
	return visits > 0 ? (double)handled / (double)visits : 0;
}

bool serve_by_stages(const struct server_config *config,
		     const struct cores *cores, struct server_result *result)
{
	struct server s = { .config = config };
	struct schedule schedule;
	char why[STAGES_WHY_BYTES];
	struct stage_group *g = NULL;
	struct job *jobs = NULL;
	bool ok = false;

	schedule_init(&schedule); /* its policy is cohort scheduling */
	if (config->cohort_max > 0)
		schedule.regime =
			(struct regime){ .kind = REGIME_N_GATED,
					 .limit = config->cohort_max };
	if (!schedule_complete(&schedule, config->subset_count + 2,
			       cores_count(cores), why)) {
		fprintf(stderr, "pubsub: %s\n", why);
		return false;
	}
	g = group_new(&(struct group_config){ .schedule = &schedule,
					      .cores = cores });
	jobs = jobs_new(&s);
	if (g != NULL && jobs != NULL &&
	    add_stages(&s, g, cores_count(cores))) {
		ok = run(&s, g, jobs, result);
		result->cohort = mean_cohort(&s);
	}
	if (!ok)
		fprintf(stderr, "pubsub: no memory, or no thread\n");
	group_free(g);
	if (jobs != NULL)
		jobs_free(jobs, config->under_way_count);
	return ok;
}
