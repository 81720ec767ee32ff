/* SPDX-License-Identifier: MIT */
#include "server.h"
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Enough for a handler with sanitizers, under every policy. */
enum { STACK_BYTES = 256 << 10 };

struct server {
	const struct server_config *config;
	struct cache *cache;
	/* Not needed if all go through one exclusive stage. */
	bool locks_cache;
	pthread_mutex_t cache_lock;
	struct stage *stages[STEPS]; /* NULL: the step before does it, too */
	_Atomic uint64_t next;       /* query */
	_Atomic bool is_measuring, is_over, has_failed;
	double measured_from;
	double cpu_from;
};

/* A client, its query that is under way, and what it has measured. */
struct client {
	struct closure closure; /* first, so a pointer to it is one to this */
	struct list_read {
		struct closure closure; /* first */
		struct client *client;
		uint32_t number;
	} reads[TERMS_MAX];
	struct server *server;
	struct query *query;
	const struct request *request;
	uint64_t number;
	enum step step; /* the next one */
	double sent_at;
	struct server_result result;
	size_t capacity; /* of its answers */
	pthread_t thread;
};

/* --- Clients. --- */

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

/* False: there is none any more. */
static bool begin_query(struct client *k)
{
	struct server *s = k->server;
	const struct workload *w = s->config->workload;

	if (atomic_load(&s->is_over))
		return false;
	k->number = atomic_fetch_add(&s->next, 1);
	if (s->config->query_count > 0 && k->number >= s->config->query_count)
		return false;
	k->request = &w->requests[k->number % w->count];
	query_begin(k->query, k->request->target, k->request->length);
	k->step = STEP_DECODE;
	k->sent_at = seconds_now();
	return true;
}

/* False: no memory. */
static bool keep_time(struct client *k, double now)
{
	struct server_result *r = &k->result;

	if (r->answer_count == k->capacity) {
		size_t capacity = 2 * k->capacity + 1024;
		struct answered *larger =
			realloc(r->answers, capacity * sizeof(larger[0]));

		if (larger == NULL)
			return false;
		r->answers = larger;
		k->capacity = capacity;
	}
	r->answers[r->answer_count++] = (struct answered){
		.at_seconds = (float)(now - k->server->measured_from),
		.seconds = (float)(now - k->sent_at),
	};
	return true;
}

static uint64_t sum_of(const struct client *k, const struct answer *a)
{
	uint64_t sum = k->number + 1;

	for (size_t i = 0; i < a->reply_length; i++)
		sum = (sum ^ a->reply[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static void end_query(struct client *k)
{
	struct server *s = k->server;
	const struct check *check = s->config->check;
	struct answer a = query_answer(k->query);
	double now = seconds_now();

	if (!atomic_load(&s->is_measuring))
		return;
	if (!keep_time(k, now))
		atomic_store(&s->has_failed, true);
	k->result.counts[a.kind]++;
	k->result.corrected_count += a.is_corrected;
	if (s->config->query_count > 0)
		k->result.sum += sum_of(k, &a);
	if (check != NULL &&
	    !check_is_right(check, k->request->target, k->request->length, &a))
		k->result.wrong_count++;
}

static void clients_free(struct client *clients, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		query_free(clients[i].query);
		free(clients[i].result.answers);
	}
	free(clients);
}

/* NULL: no memory. */
static struct client *clients_new(struct server *s)
{
	uint32_t count = s->config->client_count;
	struct client *clients = calloc(count, sizeof(*clients));
	bool ok = clients != NULL;

	for (uint32_t i = 0; i < count && ok; i++) {
		clients[i].server = s;
		clients[i].query = query_new(s->config->index, s->cache);
		ok = clients[i].query != NULL;
	}
	if (ok || clients == NULL)
		return clients;
	clients_free(clients, count);
	return NULL;
}

/* The next step of the query. */
static void do_step(struct server *s, struct client *k)
{
	bool is_locked = k->step == STEP_CACHE && s->locks_cache;

	if (is_locked)
		pthread_mutex_lock(&s->cache_lock);
	k->step = query_step(k->query, k->step);
	if (is_locked)
		pthread_mutex_unlock(&s->cache_lock);
}

/* --- The time of a run. --- */

static void pause_for(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
	while (nanosleep(&t, &t) != 0)
		;
}

static void begin_measuring(struct server *s)
{
	s->measured_from = seconds_now();
	s->cpu_from = seconds_of_cpu();
	atomic_store(&s->is_measuring, true);
}

static void end_measuring(struct server *s, struct server_result *result)
{
	atomic_store(&s->is_measuring, false);
	result->seconds = seconds_now() - s->measured_from;
	result->cpu_seconds = seconds_of_cpu() - s->cpu_from;
}

/* Clients have begun, or begin.  A number of queries is measured elsewhere. */
static void run_for_time(struct server *s, struct server_result *result)
{
	if (s->config->query_count > 0)
		return;
	pause_for(s->config->warmup_seconds);
	begin_measuring(s);
	pause_for(s->config->seconds);
	end_measuring(s, result);
	atomic_store(&s->is_over, true);
}

/* What the clients have measured.  False: no memory, or there was none. */
static bool collect(struct server *s, struct client *clients,
		    struct server_result *result)
{
	size_t count = 0;

	for (uint32_t i = 0; i < s->config->client_count; i++)
		count += clients[i].result.answer_count;
	result->answers = malloc((count + 1) * sizeof(result->answers[0]));
	if (result->answers == NULL || atomic_load(&s->has_failed))
		return false;
	for (uint32_t i = 0; i < s->config->client_count; i++) {
		const struct server_result *r = &clients[i].result;

		if (r->answer_count > 0)
			memcpy(result->answers + result->answer_count,
			       r->answers,
			       r->answer_count * sizeof(r->answers[0]));
		result->answer_count += r->answer_count;
		for (int k = 0; k < ANSWER_KINDS; k++)
			result->counts[k] += r->counts[k];
		result->corrected_count += r->corrected_count;
		result->wrong_count += r->wrong_count;
		result->sum += r->sum;
	}
	return true;
}

/* --- Threads. --- */

static void *client_main(void *arg)
{
	struct client *k = arg;
	struct server *s = k->server;

	while (begin_query(k)) {
		while (k->step != STEP_END)
			do_step(s, k);
		end_query(k);
	}
	return NULL;
}

static bool serve_by_threads(struct server *s, struct client *clients,
			     struct server_result *result)
{
	uint32_t started = 0, count = s->config->client_count;

	if (!cores_bind(s->config->cores, 0, cores_count(s->config->cores)))
		return false;
	if (s->config->query_count > 0)
		begin_measuring(s);
	for (; started < count; started++)
		if (pthread_create(&clients[started].thread, NULL, client_main,
				   &clients[started]) != 0)
			break;
	if (started == count)
		run_for_time(s, result);
	else
		atomic_store(&s->is_over, true);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(clients[i].thread, NULL);
	if (s->config->query_count > 0)
		end_measuring(s, result);
	return started == count;
}

/* --- Stages. --- */

bool server_has_stage(enum step step, bool has_few_stages)
{
	switch (step) {
	case STEP_TOKENS:
	case STEP_STOPWORDS:
	case STEP_SPELLING:
	case STEP_SOUNDS:
	case STEP_STEMS:
	case STEP_FORMAT:
		return !has_few_stages;
	default:
		return step < STEPS;
	}
}

uint32_t server_stage_count(bool has_few_stages)
{
	uint32_t count = 0;

	for (int i = 0; i < STEPS; i++)
		count += server_has_stage((enum step)i, has_few_stages);
	return count;
}

/* A stage has a slot for all that may be sent to it, so nothing is refused. */
static void check_end(enum closure_end how)
{
	if (how != CLOSURE_DONE)
		abort();
}

static enum closure_action handle_list(struct closure *c, void *arg)
{
	struct list_read *read = (struct list_read *)c;

	(void)arg;
	query_read_list(read->client->query, read->number);
	return CLOSURE_COMPLETE;
}

static void end_list(struct closure *c, enum closure_end how)
{
	(void)c;
	check_end(how);
}

static enum closure_action handle(struct closure *c, void *arg);

static enum closure_action go_on(struct client *k)
{
	if (k->step == STEP_END)
		return CLOSURE_COMPLETE;
	return closure_go_to(&k->closure, k->server->stages[k->step], handle);
}

static enum closure_action handle_lists_read(struct closure *c, void *arg)
{
	struct client *k = (struct client *)c;

	(void)arg;
	k->step = STEP_COMBINE;
	return go_on(k);
}

/* A child for each word reads its list. */
static enum closure_action read_at_once(struct client *k)
{
	for (uint32_t i = 0; i < query_term_count(k->query); i++) {
		struct list_read *r = &k->reads[i];

		*r = (struct list_read){ .closure.end = end_list,
					 .client = k,
					 .number = i };
		closure_invoke(&k->closure, &r->closure,
			       k->server->stages[STEP_LISTS], handle_list);
	}
	return closure_wait_for_children(&k->closure, handle_lists_read);
}

/* The step of the stage, and those that follow and are no stages. */
static enum closure_action handle(struct closure *c, void *arg)
{
	struct client *k = (struct client *)c;
	struct server *s = arg;

	do {
		if (k->step == STEP_LISTS && s->config->reads_at_once)
			return read_at_once(k);
		do_step(s, k);
	} while (k->step != STEP_END && s->stages[k->step] == NULL);
	return go_on(k);
}

static void send_query(struct client *k);

/* The client has its answer, and sends its next query. */
static void end_closure(struct closure *c, enum closure_end how)
{
	check_end(how);
	end_query((struct client *)c);
	send_query((struct client *)c);
}

static void send_query(struct client *k)
{
	if (!begin_query(k))
		return;
	k->closure = (struct closure){ .end = end_closure,
				       .event.number = k->number };
	if (!closure_start(&k->closure, k->server->stages[STEP_DECODE], handle))
		abort();
}

static bool add_stages(struct server *s, struct stage_group *g)
{
	uint32_t slots = s->config->client_count;

	for (int i = 0; i < STEPS; i++) {
		struct stage_config config = {
			.name = step_names[i],
			.handler = closure_handle,
			.arg = s,
			.slots = i == STEP_LISTS ? slots * (TERMS_MAX + 1) :
						   slots,
			.type = i == STEP_CACHE ? STAGE_EXCLUSIVE :
						  STAGE_SHARED,
		};

		if (!server_has_stage((enum step)i, s->config->has_few_stages))
			continue;
		s->stages[i] = group_add(g, &config);
		if (s->stages[i] == NULL)
			return false;
	}
	return true;
}

static bool serve_by_stages(struct server *s, struct client *clients,
			    struct server_result *result)
{
	const struct server_config *config = s->config;
	struct stage_group *g =
		group_new(&(struct group_config){ .schedule = config->schedule,
						  .cores = config->cores,
						  .stack_bytes = STACK_BYTES });
	bool ok = g != NULL && add_stages(s, g) && group_start(g);

	if (ok) {
		if (config->query_count > 0)
			begin_measuring(s);
		for (uint32_t i = 0; i < config->client_count; i++)
			send_query(&clients[i]);
		run_for_time(s, result);
		group_stop(g); /* when the last query has its answer */
		if (config->query_count > 0)
			end_measuring(s, result);
	}
	for (int i = 0; ok && i < STEPS; i++) {
		result->has_stats[i] = s->stages[i] != NULL;
		if (result->has_stats[i])
			stage_read(s->stages[i], &result->stages[i]);
	}
	group_free(g);
	return ok;
}

bool serve(const struct server_config *config, struct server_result *result)
{
	struct server s = { .config = config };
	struct client *clients = NULL;
	bool ok;

	*result = (struct server_result){ .answers = NULL };
	s.locks_cache =
		config->schedule == NULL || config->schedule->part_count > 1;
	pthread_mutex_init(&s.cache_lock, NULL);
	s.cache = cache_new(config->cache_bytes);
	if (s.cache != NULL)
		clients = clients_new(&s);
	ok = clients != NULL &&
	     (config->schedule != NULL ?
		      serve_by_stages(&s, clients, result) :
		      serve_by_threads(&s, clients, result)) &&
	     collect(&s, clients, result);
	if (!ok)
		fprintf(stderr, "search: no memory, or no thread\n");
	if (clients != NULL)
		clients_free(clients, config->client_count);
	cache_free(s.cache);
	pthread_mutex_destroy(&s.cache_lock);
	return ok;
}
