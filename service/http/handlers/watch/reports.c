/* SPDX-License-Identifier: MIT */
/*
 * One lock protects everything; it is not held while a report is made.  A
 * connection is suspended and resumed with the lock held, so that it is resumed
 * exactly once, and not before it was suspended.
 */
#include "service/http/handlers/watch/reports.h"

#include "base/clock.h"
#include "service/wait.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PAUSES = 99 }; /* the pause after a report, in units of its CPU time */

/* The requests that wait for one kind of report, first come, first served. */
struct kind {
	STAILQ_HEAD(, report_wait) waits;
	uint32_t count;
	uint64_t ready_ns; /* when the next one may begin */
};

struct reports {
	reports_make_fn *make;
	void *arg;
	pthread_t maker;
	pthread_mutex_t lock; /* protects the members below */
	/*
	 * A request was added, a trace was sent, or is_hurried or is_stopping
	 * was set.
	 */
	pthread_cond_t changed;
	pthread_cond_t made; /* is_making became false */
	bool is_hurried, is_ended, is_stopping;
	bool is_making;
	bool has_trace; /* a trace is made, or was made and is not dropped */
	struct kind kinds[REPORT_KINDS];
};

static void kind_add(struct kind *k, struct report_wait *w)
{
	STAILQ_INSERT_TAIL(&k->waits, w, link);
	k->count++;
}

/* Remove the first request.  NULL: there is none. */
static struct report_wait *kind_take(struct kind *k)
{
	struct report_wait *w = STAILQ_FIRST(&k->waits);

	if (w != NULL) {
		STAILQ_REMOVE_HEAD(&k->waits, link);
		k->count--;
	}
	return w;
}

/* Caller holds the lock.  NULL: no request waits. */
static const struct report_wait *first_wait(const struct reports *all,
					    enum report_kind kind)
{
	return STAILQ_FIRST(&all->kinds[kind].waits);
}

/* Caller holds the lock.  The owner of `w` may free it from now on. */
static void end_wait(struct report_wait *w, enum report_state state)
{
	w->state = state;
	if (w->connection != NULL)
		connection_resume(w->connection);
	else
		(void)pthread_cond_signal(w->changed);
}

/* NULL: no memory, and `text` still belongs to the caller. */
static struct report_result *result_new(struct reports *all,
					enum report_kind kind, char *text)
{
	struct report_result *result = malloc(sizeof(*result));

	if (result == NULL)
		return NULL;
	result->all = all;
	result->kind = kind;
	atomic_init(&result->holder_count, 1);
	result->bytes = strlen(text);
	result->text = text;
	return result;
}

void report_drop(void *cls)
{
	struct report_result *result = cls;

	if (result == NULL || atomic_fetch_sub(&result->holder_count, 1) > 1)
		return;
	if (result->kind == REPORT_TRACE) {
		struct reports *all = result->all;

		(void)pthread_mutex_lock(&all->lock);
		all->has_trace = false;
		(void)pthread_cond_signal(&all->changed);
		(void)pthread_mutex_unlock(&all->lock);
	}
	free(result->text);
	free(result);
}

/* Caller holds the lock.  When a report of the kind may begin. */
static uint64_t ready_ns(const struct reports *all, enum report_kind kind)
{
	const struct kind *k = &all->kinds[kind];

	if (STAILQ_EMPTY(&k->waits) || (kind == REPORT_TRACE && all->has_trace))
		return WAIT_NEVER_NS;
	return all->is_hurried ? 0 : k->ready_ns;
}

/* Caller holds the lock.  REPORT_KINDS: none may begin. */
static enum report_kind find_kind(const struct reports *all, uint64_t now_ns)
{
	enum report_kind found = REPORT_KINDS;

	for (enum report_kind kind = 0; kind < REPORT_KINDS; kind++)
		if (now_ns >= ready_ns(all, kind) &&
		    (found == REPORT_KINDS ||
		     first_wait(all, kind)->asked_ns <
			     first_wait(all, found)->asked_ns))
			found = kind;
	return found;
}

/* Caller holds the lock.  When the first request for a trace gives up. */
static uint64_t give_up_ns(const struct reports *all)
{
	const struct report_wait *w = first_wait(all, REPORT_TRACE);

	if (w == NULL)
		return WAIT_NEVER_NS;
	return all->is_hurried ? 0 : w->asked_ns + REPORTS_WAIT_MS * NS_PER_MS;
}

/* Caller holds the lock. */
static void pause_kind(struct kind *k, uint64_t cpu_ns)
{
	uint64_t pause_ns = PAUSES * cpu_ns;
	uint64_t most_ns = REPORTS_PAUSE_MS * NS_PER_MS;

	k->ready_ns =
		clock_now_ns() + (pause_ns < most_ns ? pause_ns : most_ns);
}

/* Caller holds the lock, which is released meanwhile. */
static void make_report(struct reports *all, enum report_kind kind)
{
	struct kind *k = &all->kinds[kind];
	struct kind served = { .waits = STAILQ_HEAD_INITIALIZER(served.waits) };
	struct report_query query = first_wait(all, kind)->query;
	struct report_result *result = NULL;
	struct report_wait *w;
	uint64_t begin_ns;
	char *text;

	all->is_making = true;
	all->has_trace = all->has_trace || kind == REPORT_TRACE;
	do
		kind_add(&served, kind_take(k));
	while (kind != REPORT_TRACE && !STAILQ_EMPTY(&k->waits));
	(void)pthread_mutex_unlock(&all->lock);
	begin_ns = clock_thread_cpu_ns();
	text = all->make(all->arg, &query);
	if (text != NULL)
		result = result_new(all, kind, text);
	if (result == NULL)
		free(text);
	(void)pthread_mutex_lock(&all->lock);
	pause_kind(k, clock_thread_cpu_ns() - begin_ns);
	if (result == NULL && kind == REPORT_TRACE)
		all->has_trace = false;
	else if (result != NULL)
		atomic_store(&result->holder_count, served.count);
	while ((w = kind_take(&served)) != NULL) {
		w->result = result;
		end_wait(w, result != NULL ? REPORT_MADE : REPORT_NO_MEMORY);
	}
	all->is_making = false;
	(void)pthread_cond_signal(&all->made);
}

/* Caller holds the lock, which is released meanwhile. */
static void sleep_until_ready(struct reports *all)
{
	uint64_t end_ns = give_up_ns(all);

	for (enum report_kind kind = 0; kind < REPORT_KINDS; kind++)
		if (ready_ns(all, kind) < end_ns)
			end_ns = ready_ns(all, kind);
	(void)wait_until(&all->changed, &all->lock, end_ns);
}

static void *run_reports(void *arg)
{
	struct reports *all = arg;

	(void)pthread_setname_np(pthread_self(), "reports");
	(void)pthread_mutex_lock(&all->lock);
	while (!all->is_stopping) {
		uint64_t now_ns = clock_now_ns();
		enum report_kind kind = find_kind(all, now_ns);

		if (kind != REPORT_KINDS)
			make_report(all, kind);
		else if (now_ns >= give_up_ns(all))
			end_wait(kind_take(&all->kinds[REPORT_TRACE]),
				 REPORT_BUSY);
		else
			sleep_until_ready(all);
	}
	(void)pthread_mutex_unlock(&all->lock);
	return NULL;
}

struct reports *reports_start(reports_make_fn *make_fn, void *arg)
{
	struct reports *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NULL;
	all->make = make_fn;
	all->arg = arg;
	for (uint32_t i = 0; i < REPORT_KINDS; i++)
		STAILQ_INIT(&all->kinds[i].waits);
	(void)pthread_mutex_init(&all->lock, NULL);
	wait_init(&all->changed);
	wait_init(&all->made);
	if (pthread_create(&all->maker, NULL, run_reports, all) == 0)
		return all;
	(void)pthread_cond_destroy(&all->made);
	(void)pthread_cond_destroy(&all->changed);
	(void)pthread_mutex_destroy(&all->lock);
	free(all);
	return NULL;
}

/* Caller holds the lock. */
static enum report_state enqueue_wait(struct reports *all,
				      struct report_wait *w)
{
	struct kind *k = &all->kinds[w->query.kind];

	if (all->is_ended)
		return REPORT_ENDED;
	if (w->query.kind == REPORT_TRACE && k->count == REPORTS_TRACES_MAX)
		return REPORT_BUSY;
	w->asked_ns = clock_now_ns();
	kind_add(k, w);
	(void)pthread_cond_signal(&all->changed);
	return REPORT_WAITS;
}

bool reports_ask(struct reports *all, struct report_wait *w,
		 struct connection *connection)
{
	pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
	bool is_over;

	assert(w->state == REPORT_NEW);
	w->connection = connection;
	w->changed = &changed;
	(void)pthread_mutex_lock(&all->lock);
	w->state = enqueue_wait(all, w);
	is_over = w->state != REPORT_WAITS;
	if (!is_over && connection != NULL)
		connection_suspend(connection);
	while (connection == NULL && w->state == REPORT_WAITS)
		(void)pthread_cond_wait(&changed, &all->lock);
	(void)pthread_mutex_unlock(&all->lock);
	(void)pthread_cond_destroy(&changed);
	return is_over || connection == NULL;
}

enum problem report_problem(const struct report_wait *w)
{
	switch (w->state) {
	case REPORT_NEW:
	case REPORT_WAITS:
		break;
	case REPORT_MADE:
		return PROBLEM_NONE;
	case REPORT_NO_MEMORY:
		return PROBLEM_OUT_OF_MEMORY;
	case REPORT_BUSY:
		return PROBLEM_TRACE_BUSY;
	case REPORT_ENDED:
		return PROBLEM_STOPPING;
	}
	abort();
}

void reports_hurry(struct reports *all)
{
	(void)pthread_mutex_lock(&all->lock);
	all->is_hurried = true;
	(void)pthread_cond_signal(&all->changed);
	(void)pthread_mutex_unlock(&all->lock);
}

void reports_end(struct reports *all)
{
	struct report_wait *w;

	if (all == NULL)
		return;
	(void)pthread_mutex_lock(&all->lock);
	all->is_ended = true;
	for (uint32_t i = 0; i < REPORT_KINDS; i++)
		while ((w = kind_take(&all->kinds[i])) != NULL)
			end_wait(w, REPORT_ENDED);
	while (all->is_making)
		(void)pthread_cond_wait(&all->made, &all->lock);
	(void)pthread_mutex_unlock(&all->lock);
}

void reports_stop(struct reports *all)
{
	if (all == NULL)
		return;
	(void)pthread_mutex_lock(&all->lock);
	assert(!all->has_trace);
	all->is_stopping = true;
	(void)pthread_cond_signal(&all->changed);
	(void)pthread_mutex_unlock(&all->lock);
	(void)pthread_join(all->maker, NULL);
	(void)pthread_cond_destroy(&all->made);
	(void)pthread_cond_destroy(&all->changed);
	(void)pthread_mutex_destroy(&all->lock);
	free(all);
}
