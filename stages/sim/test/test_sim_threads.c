/* SPDX-License-Identifier: MIT */
/*
 * Promise: the simulator does what the threads do.  The same few requests go
 * through both, and both handle the same events in the same order, in the same
 * visits, at the same times.
 *
 * One worker acts, so the schedule alone decides the order.  With replicas,
 * only the first worker starts, or the last; it steals what is sent to the
 * others.  The threads' clock is replaced by one that moves only in handlers,
 * by the work that the model says, and in rests of --idle backoff; and, where
 * patience is a time, by SWITCH_NS for each visit, or it would never be over.
 * After each GAP_NS of work a handler may be paused.  A new request is sent,
 * from another thread, when one ends; or at given times, in the middle of a
 * handler or a rest, which then waits for it.
 *
 * Where several threads must act (pools, partitions) or none does (thread per
 * connection), one request is under way at a time; then only the order of
 * events is compared, not the visits, because a worker may still be in its last
 * visit when the next request comes.
 *
 * Which combinations: every valid one of policy, regime, look, idle,
 * discipline, slice, threshold and arrivals, with each `balance` of
 * test_one_worker(); and those of test_one_request() and test_one_scheduler().
 * All of them are run with TEST_ALL in the environment; otherwise one in SAMPLE
 * and, besides, as many as it takes for any two values that occur together to
 * be run together (is_new_pair()).
 *
 * Not compared, because the kernel decides who is first: several workers at
 * once, with more than one request; so a pause is compared with one worker
 * only, and in pools never.  Nor rests of several workers, as the clock would
 * have to know when all of them rest.  So stages that are exclusive or
 * have keys are compared where nobody waits to enter; test_sim_orders.c has the
 * rest.  And a request with children, which are closures in the threads, makes
 * several events, so forks are compared with one worker, or with none;
 * test_sim_forks.c has the rest.  Nor thresholds together with patience in
 * time: threads do not look at the clock when a visit is interrupted.  Nor what
 * is not simulated: --pool auto, full queues, the thread models of servlib.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "stages/stage.h"
#include "base/util.h"
#include "stages/flags.h"
#include "stages/group.c"
#include "stages/sim/test/trial.h"
#include "stages/stats.h"
#include "stages/test/each_policy.h"
#include "stages/test/fake_cores.h"
#include "stages/test/watchdog.h"

#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 3, REQUESTS = 30, CLIENTS = 9, SPANS_MAX = 16000 };
enum { SLOTS = 3 * REQUESTS }; /* for all children */

#define GAP_NS UINT64_C(1000000)    /* work between two pause points */
#define SWITCH_NS UINT64_C(7000000) /* a visit, see above */

#ifdef __SANITIZE_THREAD__
enum { SAMPLE = 401 };
#else
enum { SAMPLE = 101 };
#endif

/*
 * A request has ten to some hundreds of ms of work; some take the path twice.
 */
#define GRAPH(type_of_b, type_of_c)                                            \
	"{\"size\": {\"kind\": \"quantiles\", \"points\":"                     \
	" [[0, 1e4], [0.9, 1e5], [1, 6e5]]},"                                  \
	"\"deadline_us\": {\"kind\": \"exponential\", \"mean\": 6e5},"         \
	"\"stages\": ["                                                        \
	"{\"name\": \"a\", \"us_per_size\": 0.5, \"routes\": {\"b\": 1}},"     \
	"{\"name\": \"b\", \"us_per_size\": 0.2, \"routes\": {\"c\": 0.8},"    \
	" \"type\": \"" type_of_b "\"},"                                       \
	"{\"name\": \"c\", \"us_per_size\": 0.3, \"routes\": {\"a\": 0.3},"    \
	" \"type\": \"" type_of_c "\"}]}"

enum graph { SHARED, TYPES, PASSES, FORKS };

static const char *const graphs[] = {
	[SHARED] = GRAPH("shared", "shared"),
	[TYPES] = GRAPH("exclusive", "partitioned"),
	[PASSES] = GRAPH("pass-through", "pass-through"),
	/* Some requests fork twice, and some children go on. */
	[FORKS] = "{\"size\": {\"kind\": \"quantiles\", \"points\":"
		  " [[0, 1e4], [0.9, 1e5], [1, 3e5]]},"
		  "\"deadline_us\": {\"kind\": \"exponential\","
		  " \"mean\": 6e5}, \"stages\": ["
		  "{\"name\": \"a\", \"us_per_size\": 0.2,"
		  " \"forks\": {\"b\": 2, \"c\": 1},"
		  " \"join_us_per_size\": 0.1,"
		  " \"routes\": {\"a\": 0.2, \"b\": 0.7}},"
		  "{\"name\": \"b\", \"us_per_size\": 0.2,"
		  " \"routes\": {\"c\": 0.5}},"
		  "{\"name\": \"c\", \"us_per_size\": 0.1}]}",
};

static const char *const names[STAGES] = { "a", "b", "c" };

struct spans {
	uint32_t count;
	struct span spans[SPANS_MAX];
};

static void spans_add(void *to, const struct span *span)
{
	struct spans *s = to;

	CHECK_NUMBER(s->count, <, SPANS_MAX);
	s->spans[s->count++] = *span;
}

/*
 * Seconds from each arrival to the next; they repeat.  The first ones are
 * short, so that arrivals give reason to pause more events than may be paused
 * at once.  None is so long that a core is idle before the last request has
 * come.
 */
static const double gaps_s[] = {
	0.0060001, 0.0060002, 0.0060003, 0.0060004, 0.0060005, 0.0060006,
	0.0060007, 0.0060008, 0.0060009, 0.0060011, 0.0060012, 0.0060013,
	0.0200004, 0.0200005, 0.0600006, 0.0600007,
};

/* The same with --idle backoff, whose workers let time pass while idle. */
static const double sparse_gaps_s[] = {
	0.1500001, 0.0500002, 0.3000003, 0.0100004, 0.0010005, 0.2100006,
};

/* A request, or a child of one, which has no path of its own. */
struct item {
	/* Must be the first member.  Without forks, only the event is used. */
	struct closure closure;
	struct model_path path;
	const struct model_step *step;
	uint64_t left_ns; /* work left in all its steps */
	uint64_t turn_ns; /* of the steps of its turn that are done */
};

/* What the threads do. */
static struct {
	const struct trial *trial;
	bool has_forks;
	struct stage_group *group;
	struct item items[REQUESTS];
	uint32_t sent_count;
	struct random paths;
	/* Time of the next request; UINT64_MAX: it comes when another ends. */
	uint64_t arrival_ns;
	uint64_t switch_ns; /* of each visit */
	_Atomic uint64_t now_ns;
	_Atomic uint32_t finished_count;
	_Atomic uint64_t left_ns; /* work left in all requests under way */
	sem_t one_comes, next_is_sent, all_ended;
	struct spans handled; /* as the handlers saw it */
} run;

static _Atomic bool clock_is_virtual;

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t now_ns = atomic_load(&run.now_ns);

	if (clock != CLOCK_MONOTONIC || !atomic_load(&clock_is_virtual))
		return __real_clock_gettime(clock, t);
	*t = (struct timespec){ (time_t)(now_ns / 1000000000),
				(long)(now_ns % 1000000000) };
	return 0;
}

/* What the sender predicts for a request with `item->left_ns` of work. */
static void predict(const struct trial *t, struct item *item)
{
	uint64_t others_ns = atomic_fetch_add(&run.left_ns, item->left_ns);

	item->closure.event.left_ns = item->left_ns;
	item->closure.event.expected_ns =
		item->left_ns + others_ns / t->config.core_count;
	item->closure.event.under_way_count =
		run.sent_count - atomic_load(&run.finished_count);
}

static closure_fn handle_closure;
static void end_closure(struct closure *c, enum closure_end how);

static void send_next(const struct trial *t)
{
	struct item *item = &run.items[run.sent_count];
	struct event *ev = &item->closure.event;
	struct stage *first;

	model_draw(&t->model, &run.paths, &item->path);
	item->step = item->path.steps;
	first = run.group->stages[item->step->stage];
	for (uint32_t i = 0; i < item->path.step_count; i++)
		item->left_ns += item->path.steps[i].service_ns;
	predict(t, item);
	ev->number = run.sent_count++;
	ev->key = (uint32_t)ev->number;
	ev->deadline_ns = atomic_load(&run.now_ns) + item->path.deadline_ns;
	item->closure.end = end_closure;
	if (t->config.gap_count > 0)
		run.arrival_ns += (uint64_t)llround(
			1e9 *
			t->config.gaps_s[run.sent_count % t->config.gap_count]);
	CHECK(run.has_forks ?
		      closure_start(&item->closure, first, handle_closure) :
		      stage_send(first, ev));
}

/* Let the other thread send one. */
static void await_next(void)
{
	(void)sem_post(&run.one_comes);
	while (sem_wait(&run.next_is_sent) != 0)
		continue;
}

/*
 * Let at most this time pass; until the next request comes, if that is earlier.
 * Returns how much has passed.
 */
static uint64_t pass(uint64_t ns)
{
	uint64_t now_ns = atomic_load(&run.now_ns);
	bool one_arrives =
		run.arrival_ns <= now_ns + ns && run.sent_count < REQUESTS;

	if (one_arrives)
		ns = run.arrival_ns - now_ns;
	atomic_store(&run.now_ns, now_ns + ns);
	if (one_arrives)
		await_next();
	return ns;
}

static void work(uint64_t ns)
{
	uint64_t piece_ns = GAP_NS;

	while (ns > 0) {
		uint64_t passed_ns = pass(ns < piece_ns ? ns : piece_ns);

		ns -= passed_ns;
		piece_ns -= passed_ns;
		if (piece_ns == 0 && ns > 0) {
			stage_pause_point();
			piece_ns = GAP_NS;
		}
	}
}

__typeof__(eventcount_wait) __real_eventcount_wait, __wrap_eventcount_wait;

static _Atomic uint64_t rest_count, woken_count; /* rests of --idle backoff */

/* A worker rests: the time passes at once. */
bool __wrap_eventcount_wait(struct eventcount *ec, uint32_t ticket,
			    uint32_t who, uint64_t patience_ns)
{
	if (patience_ns == 0 || atomic_load(&run.finished_count) == REQUESTS)
		return __real_eventcount_wait(ec, ticket, who, 0);
	while (patience_ns > 0 && atomic_load(&ec->epoch) == ticket)
		patience_ns -= pass(patience_ns);
	eventcount_cancel(ec);
	atomic_fetch_add(&rest_count, 1);
	atomic_fetch_add(&woken_count, patience_ns > 0);
	return patience_ns > 0;
}

__typeof__(visitor_step) __real_visitor_step, __wrap_visitor_step;

/* Of the simulator, too, which lets time pass itself. */
enum visit_step __wrap_visitor_step(struct visitor *v, uint64_t now_ns)
{
	enum visit_step step = __real_visitor_step(v, now_ns);
	uint64_t ns = run.switch_ns;

	if (step == VISIT_SWITCH && atomic_load(&clock_is_virtual))
		while (ns > 0)
			ns -= pass(ns);
	return step;
}

/* Do the work of the current step. */
static void handle_step(struct item *item)
{
	const struct model_step *step = item->step;
	struct event *ev = &item->closure.event;

	work(step->service_ns);
	item->left_ns -= step->service_ns;
	ev->left_ns = item->left_ns;
	/* In the simulator, a turn's work is left until it ends. */
	item->turn_ns += step->service_ns;
	if (step->next == 0 ||
	    !run.group->stages[step[step->next].stage]->passes) {
		atomic_fetch_sub(&run.left_ns, item->turn_ns);
		item->turn_ns = 0;
	}
	spans_add(&run.handled, &(struct span){
					.number = ev->number,
					.end_ns = atomic_load(&run.now_ns),
					.stage = step->stage,
					.kind = SPAN_EVENT,
				});
}

static void end_request(const struct trial *t)
{
	uint32_t finished = atomic_fetch_add(&run.finished_count, 1) + 1;

	if (finished == REQUESTS)
		(void)sem_post(&run.all_ended);
	if (t->schedule.policy->workers == POLICY_WORKERS_CALLER ||
	    t->config.gap_count > 0 ||
	    finished + t->config.client_count > REQUESTS)
		return;
	if (t->config.client_count > 1) /* only then are visits compared */
		await_next();
	else
		(void)sem_post(&run.one_comes);
}

static void handle(struct event *ev, void *arg)
{
	struct item *item = (struct item *)ev;

	handle_step(item);
	if (item->step->next == 0) {
		end_request(arg);
		return;
	}
	item->step += item->step->next;
	CHECK(stage_send(run.group->stages[item->step->stage], ev));
}

static void invoke_children(struct item *item)
{
	const struct model_step *step = item->step + 1;

	for (uint32_t i = 0; i < item->step->child_count; i++) {
		struct item *child = calloc(1, sizeof(*child));

		CHECK(child != NULL);
		child->step = step;
		child->closure.end = end_closure;
		child->closure.event.number = item->closure.event.number;
		child->closure.event.key = item->closure.event.key;
		child->closure.event.deadline_ns =
			item->closure.event.deadline_ns;
		closure_invoke(&item->closure, &child->closure,
			       run.group->stages[step->stage], handle_closure);
		step = model_next_child(step, &child->left_ns);
		child->closure.event.left_ns = child->left_ns;
		item->left_ns -= child->left_ns;
		item->closure.event.left_ns = item->left_ns;
	}
}

static enum closure_action handle_closure(struct closure *c, void *arg)
{
	struct item *item = (struct item *)c;
	bool forks = item->step->child_count > 0;

	(void)arg;
	handle_step(item);
	if (forks)
		invoke_children(item);
	if (item->step->next == 0)
		return CLOSURE_COMPLETE;
	item->step += item->step->next;
	return forks ? closure_wait_for_children(c, handle_closure) :
		       closure_go_to(c, run.group->stages[item->step->stage],
				     handle_closure);
}

static void end_closure(struct closure *c, enum closure_end how)
{
	struct item *item = (struct item *)c;

	CHECK_NUMBER(how, ==, CLOSURE_DONE);
	if (item->path.steps != NULL)
		end_request(run.trial);
	else
		free(item);
}

static void start_worker(struct worker *w)
{
	CHECK(!pthread_create(&w->thread, NULL, worker_main, w));
	run.group->thread_count++;
}

/*
 * If there are several clients, the first requests wait before a worker starts.
 */
static void start_threads(const struct trial *t)
{
	uint32_t present = t->config.present_count;

	for (uint32_t i = 0; i < t->config.client_count; i++)
		if (t->config.client_count > 1)
			send_next(t);
	if (t->config.gap_count > 0)
		send_next(t);
	for (uint32_t i = 0; i < run.group->worker_count; i++)
		if (present == 0 || i < present)
			start_worker(&run.group->workers[i]);
	if (t->config.client_count == 1)
		send_next(t);
}

/* Only the first workers of a group can be started. */
static void make_first(struct stage_group *g, uint32_t worker)
{
	static struct worker first;

	if (worker == 0)
		return;
	(void)memcpy(&first, &g->workers[0], sizeof(first));
	(void)memmove(&g->workers[0], &g->workers[worker], sizeof(first));
	(void)memcpy(&g->workers[worker], &first, sizeof(first));
}

static void run_threads(struct trial *t, const struct cores *cores)
{
	bool is_called = t->schedule.policy->workers == POLICY_WORKERS_CALLER;
	struct stage_group *g;

	(void)memset(&run, 0, sizeof(run));
	run.trial = t;
	run.has_forks = model_children_max(&t->model) > 0;
	(void)sem_init(&run.one_comes, 0, 0);
	(void)sem_init(&run.next_is_sent, 0, 0);
	(void)sem_init(&run.all_ended, 0, 0);
	random_init(&run.paths, t->config.seed, STREAM_PATHS);
	if (t->config.gap_count == 0)
		run.arrival_ns = UINT64_MAX;
	run.switch_ns = t->config.switch_ns;
	fake_core_count = t->config.core_count;
	g = group_new(&(struct group_config){ .schedule = &t->schedule,
					      .cores = cores });
	run.group = g;
	for (uint32_t i = 0; i < STAGES; i++)
		CHECK(group_add(g, &(struct stage_config){
					   .name = names[i],
					   .handler = run.has_forks ?
							      closure_handle :
							      handle,
					   .arg = t,
					   .slots = SLOTS,
					   .type = t->model.stages[i].type,
				   }) != NULL);
	g->is_started = true;
	CHECK(group_plan(g));
	make_first(g, t->config.present_first);
	if (t->schedule.balance == BALANCE_PARTITION)
		CHECK(group_partition(g, t->config.parts));
	atomic_store(&clock_is_virtual, true);
	start_threads(t);
	while (run.sent_count < REQUESTS) {
		while (!is_called && sem_wait(&run.one_comes) != 0)
			continue;
		send_next(t);
		(void)sem_post(&run.next_is_sent);
	}
	/* A stop wakes all workers, also one in the middle of a rest. */
	while (sem_wait(&run.all_ended) != 0)
		continue;
	group_stop(g);
	atomic_store(&clock_is_virtual, false);
}

/* What the one worker did, without its sleeps. */
static void read_trace(struct spans *out)
{
	static struct span spans[TRACE_SPANS];
	uint64_t next = 0, missed = 0;
	uint32_t count = group_read_trace(run.group, 0, &next, spans,
					  TRACE_SPANS, &missed);

	CHECK_NUMBER(missed, ==, 0);
	for (uint32_t i = 0; i < count; i++)
		if (spans[i].kind != SPAN_SLEEP)
			spans_add(out, &spans[i]);
}

/* The end of an event, after any number of turns. */
static const struct span *find_event(const struct spans *s, uint32_t *at)
{
	while (*at < s->count) {
		const struct span *span = &s->spans[(*at)++];
		struct item *item;

		if (span->kind != SPAN_EVENT)
			continue;
		if (run.has_forks)
			return span; /* nothing was paused: see compare() */
		item = &run.items[span->number];
		item->left_ns += span->end_ns - span->start_ns;
		if (item->left_ns < item->step->service_ns)
			continue;
		item->left_ns = 0;
		item->step += item->step->next;
		return span;
	}
	return NULL;
}

enum {
	POLICY_FLAG,
	REGIME_FLAG,
	LOOK_FLAG,
	IDLE_FLAG,
	DISCIPLINE_FLAG,
	SLICE_FLAG,
	THRESHOLD_FLAG,
	ENOUGH_FLAG,
	BALANCE_FLAG,
	DISTRIBUTE_FLAG,
	STEAL_FLAG,
	POOL_FLAG,
	RESOURCES_FLAG,
	FLAGS
};

static const char *const flags[FLAGS] = {
	"policy", "regime",    "look",      "idle",    "discipline",
	"slice",  "threshold", "enough",    "balance", "distribute",
	"steal",  "pool",      "resources",
};

struct choice {
	const char *values[FLAGS]; /* NULL: the default; "": no value */
	uint32_t core_count, present_first, present_count;
	uint32_t client_count; /* 0: they arrive at times: set_gaps() */
	enum graph graph;
};

static void fail(const struct choice *c, uint32_t at, const struct span *thread,
		 const struct span *simulated)
{
	for (uint32_t f = 0; f < FLAGS; f++)
		if (c->values[f] != NULL)
			(void)fprintf(stderr, "--%s %s ", flags[f],
				      c->values[f]);
	(void)fprintf(stderr, "%u cores, %u clients, graph %d, span %u:\n",
		      c->core_count, c->client_count, (int)c->graph, at);
	for (int i = 0; i < 2; i++) {
		const struct span *s = i == 0 ? thread : simulated;

		if (s != NULL)
			(void)fprintf(
				stderr, "%s: %s %llu at %s, %llu .. %llu ns\n",
				i == 0 ? "thread" : "simulated",
				s->kind == SPAN_VISIT ? "visit of" : "event",
				(unsigned long long)s->number, names[s->stage],
				(unsigned long long)s->start_ns,
				(unsigned long long)s->end_ns);
	}
	CHECK(!"the simulator differs from the threads");
}

/*
 * A blind worker whose last event has ended makes some visits in vain before it
 * stops.
 */
static void leave_out_last_visits(struct spans *s)
{
	while (s->count > 0 && s->spans[s->count - 1].kind == SPAN_VISIT &&
	       s->spans[s->count - 1].number == 0)
		s->count--;
}

/* Compare events and visits, in order, with their times. */
static void compare_all(const struct choice *c, struct spans *simulated)
{
	static struct spans threads;

	threads.count = 0;
	read_trace(&threads);
	leave_out_last_visits(&threads);
	leave_out_last_visits(simulated);
	for (uint32_t i = 0; i < threads.count || i < simulated->count; i++) {
		const struct span *t = &threads.spans[i];
		const struct span *s = &simulated->spans[i];

		if (i >= threads.count || i >= simulated->count)
			fail(c, i, i < threads.count ? t : NULL,
			     i < simulated->count ? s : NULL);
		if (t->kind != s->kind || t->stage != s->stage ||
		    t->number != s->number || t->start_ns != s->start_ns ||
		    t->end_ns != s->end_ns)
			fail(c, i, t, s);
	}
}

/* Compare events in order, and when they end. */
static void compare_events(const struct choice *c,
			   const struct spans *simulated)
{
	uint32_t i = 0, at = 0;

	for (i = 0; i < REQUESTS; i++) {
		run.items[i].left_ns = 0;
		run.items[i].step = run.items[i].path.steps;
	}
	for (i = 0; i < run.handled.count; i++) {
		const struct span *t = &run.handled.spans[i];
		const struct span *s = find_event(simulated, &at);

		if (s == NULL || t->stage != s->stage ||
		    t->number != s->number || t->end_ns != s->end_ns)
			fail(c, i, t, s);
	}
	if (find_event(simulated, &at) != NULL)
		fail(c, i, NULL, &simulated->spans[at - 1]);
}

static void set_all(struct schedule *s, const struct choice *c)
{
	schedule_init(s);
	for (uint32_t f = 0; f < FLAGS; f++) {
		const char *value = c->values[f];

		if (value != NULL)
			CHECK(schedule_set(s, flags[f],
					   value[0] == '\0' ? NULL : value,
					   names, STAGES));
	}
}

/* The flags, how requests come, and the graph. */
enum { FACTORS = FLAGS + 2, VALUES_MAX = 16 };

/* The number of this value among those of the factor that were seen. */
static uint32_t number_value(uint32_t factor, const char *value)
{
	static const char *seen[FACTORS][VALUES_MAX];
	uint32_t i = 0;

	if (value == NULL)
		value = "default";
	while (seen[factor][i] != NULL && strcmp(seen[factor][i], value) != 0)
		CHECK_NUMBER(++i, <, VALUES_MAX);
	seen[factor][i] = value;
	return i;
}

/* Does it have two values that have not been run together? */
static bool is_new_pair(const struct choice *c)
{
	static bool was_run[FACTORS][VALUES_MAX][FACTORS][VALUES_MAX];
	uint32_t numbers[FACTORS];
	bool is_new = false;

	for (uint32_t f = 0; f < FLAGS; f++)
		numbers[f] = number_value(f, c->values[f]);
	numbers[FLAGS] = number_value(FLAGS, c->client_count == 0 ? "arrivals" :
					     c->client_count == 1 ? "one" :
								    "clients");
	numbers[FLAGS + 1] = number_value(FLAGS + 1, graphs[c->graph]);
	for (uint32_t i = 0; i < FACTORS; i++)
		for (uint32_t j = 0; j < i; j++) {
			bool *pair = &was_run[i][numbers[i]][j][numbers[j]];

			is_new |= !*pair;
			*pair = true;
		}
	return is_new;
}

static uint32_t sample = SAMPLE;
static uint32_t accepted_count, run_count; /* combinations */
static uint64_t paused_count;              /* paused events, in threads */

static void count_pauses(void)
{
	for (uint32_t i = 0; i < STAGES; i++) {
		struct stage_stats stats;

		stage_read(run.group->stages[i], &stats);
		paused_count += stats.paused_count;
	}
}

static void set_gaps(struct sim_config *c)
{
	bool may_idle = c->schedule->idle.kind == IDLE_BACKOFF;

	c->gaps_s = may_idle ? sparse_gaps_s : gaps_s;
	c->gap_count =
		may_idle ? ARRAY_SIZE(sparse_gaps_s) : ARRAY_SIZE(gaps_s);
}

/* Simulate a combination, have the threads do it, and compare. */
static void compare(const struct choice *c, const struct schedule *schedule,
		    const struct cores *cores)
{
	static struct spans simulated;
	struct trial t;

	run_count++;
	simulated.count = 0;
	trial_init(&t, graphs[c->graph], c->core_count, 0);
	t.schedule = *schedule;
	t.config.present_first = c->present_first;
	t.config.present_count = c->present_count;
	t.config.client_count = c->client_count;
	if (c->client_count == 0)
		set_gaps(&t.config);
	t.config.pause_gap_ns = GAP_NS;
	t.config.switch_ns = schedule->idle.patience_ns > 0 ? SWITCH_NS : 0;
	t.config.request_count = REQUESTS;
	t.config.warmup_count = 0;
	t.config.watch = spans_add;
	t.config.watch_arg = &simulated;
	for (uint32_t i = 0; i < STAGES; i++)
		t.config.parts[i] = i * t.schedule.part_count / STAGES;
	trial_run(&t);
	run_threads(&t, cores);
	if (c->client_count != 1)
		compare_all(c, &simulated);
	/*
	 * Of a request and its children, a turn does not say whose it is; and
	 * where one passes through stages, it is that of several steps.
	 */
	if (c->client_count == 1 || (!run.has_forks && c->graph != PASSES))
		compare_events(c, &simulated);
	CHECK_NUMBER(simulated.count, >, REQUESTS);
	count_pauses();
	for (uint32_t i = 0; i < REQUESTS; i++)
		model_path_release(&run.items[i].path);
	group_free(run.group);
	trial_release(&t);
}

/* False: the choices make no sense together.  Otherwise perhaps run them. */
static bool try(const struct choice *c, const struct cores *cores)
{
	struct schedule schedule;
	struct error error;

	set_all(&schedule, c);
	if (!schedule_complete(&schedule, STAGES, c->core_count, error.text))
		return false;
	if (schedule.idle.patience_ns > 0 && schedule.has_thresholds)
		return true;
	accepted_count++;
	if (accepted_count % sample == 0 || is_new_pair(c))
		compare(c, &schedule, cores);
	return true;
}

/* The first value of each leaves the flag as it is. */
static const char *const regimes[] = { NULL,
				       "exhaustive",
				       "gated",
				       "n-gated=1",
				       "n-gated=3",
				       "time-gated=30000",
				       "cutoff=60000",
				       "exhaustive,b=n-gated=2",
				       "gated,a=cutoff=60000,c=exhaustive" };
static const char *const disciplines[] = {
	NULL,     "edf",    "lcfs",      "stack",       "srpt",
	"srpt=0", "srpt=3", "srpt=1000", "srpt,b=fcfs", "stack,c=edf"
};
enum {
	/* All but the two with "stack", which pools refuse. */
	POOLS_COUNT = ARRAY_SIZE(disciplines) - 2,
	/* Central queues refuse what differs among stages, too. */
	CENTRAL_COUNT = POOLS_COUNT - 1,
	/* With ranks: all but "stack" and first come, first served. */
	RANKED_COUNT = ARRAY_SIZE(disciplines) - 2,
};
/* "1000": a pause at each pause point, if a more urgent event waits. */
static const char *const slices[] = { NULL, "5000", "1000" };
static const char *const thresholds[] = { NULL, "b=2,c=1",
					  "a=0:200000,c=0:90000" };

static uint32_t try_orders(const struct choice *c, const struct cores *cores)
{
	struct choice tried = *c;
	uint32_t count = 0;

	for (size_t r = 0; r < ARRAY_SIZE(regimes); r++)
		for (size_t d = 0; d < ARRAY_SIZE(disciplines); d++)
			for (size_t t = 0; t < ARRAY_SIZE(thresholds); t++) {
				tried.values[REGIME_FLAG] = regimes[r];
				tried.values[DISCIPLINE_FLAG] = disciplines[d];
				tried.values[THRESHOLD_FLAG] = thresholds[t];
				count += try(&tried, cores);
			}
	return count;
}

/*
 * How many orders of `c` schedule_complete() does not refuse; see schedule.c.
 */
static size_t orders_of(const struct policy *p, const struct choice *c)
{
	const char *balance =
		c->values[BALANCE_FLAG] != NULL ? c->values[BALANCE_FLAG] : "";
	bool is_even = strstr(balance, "=even") != NULL;
	/* Then the others may have another order: "srpt,b=fcfs". */
	bool is_even_b = is_even && strstr(balance, "a=even") == NULL;
	bool has_enough = c->values[ENOUGH_FLAG] != NULL;
	bool has_slice = c->values[SLICE_FLAG] != NULL;
	bool is_plain =
		c->values[LOOK_FLAG] == NULL && c->values[IDLE_FLAG] == NULL;
	size_t visits = ARRAY_SIZE(regimes) * ARRAY_SIZE(thresholds);

	if (c->values[LOOK_FLAG] != NULL &&
	    (p->needs_lengths || c->values[STEAL_FLAG] != NULL || has_enough))
		return 0;
	if (p->has_central_queue)
		return is_even || has_enough || !is_plain ||
				       strcmp(balance, "partition=1") == 0 ?
			       0 :
			       CENTRAL_COUNT - has_slice;
	if (is_even)
		return visits * (1 - has_slice + is_even_b);
	return visits * (has_slice ? RANKED_COUNT : ARRAY_SIZE(disciplines));
}

/* As try_orders(), with this worker's ways of looking, pausing and resting. */
static void try_worker(const struct policy *p, const struct choice *c,
		       const struct cores *cores)
{
	static const char *const looks[][2] = {
		{ NULL, NULL },
		{ "blind", NULL },
		{ NULL, "backoff=0:10:10000" },
		{ "blind", "backoff=0:10:30000" },
		{ "blind", "thesis" },
		/* As code-step and code-pause, but with fewer visits. */
		{ "blind", "backoff=1:100:20000:linear" },
		{ "blind", "backoff=50000us:1000:20000:linear" },
	};
	struct choice tried = *c;

	tried.values[POLICY_FLAG] = p->name;
	for (uint32_t i = 0; i < ARRAY_SIZE(slices) * ARRAY_SIZE(looks); i++) {
		uint32_t look = i / ARRAY_SIZE(slices);

		tried.values[LOOK_FLAG] = looks[look][0];
		tried.values[IDLE_FLAG] = looks[look][1];
		tried.values[SLICE_FLAG] = slices[i % ARRAY_SIZE(slices)];
		CHECK_NUMBER(try_orders(&tried, cores), ==,
			     orders_of(p, &tried));
	}
}

/*
 * When a request ends, its handler has the next one sent; but the ended one
 * counts as under way in its replica until that handler has returned.  So with
 * `least-loaded` all requests begin at once, or they come at given times.
 */
static const struct choice balances_of_one[] = {
	{ .core_count = 1, .client_count = CLIENTS },
	{ .core_count = 1, .client_count = CLIENTS, .graph = TYPES },
	{ .core_count = 1, .client_count = CLIENTS, .graph = PASSES },
	{ .core_count = 1, .client_count = CLIENTS, .graph = FORKS },
	{ .values[BALANCE_FLAG] = "replicate=1",
	  .core_count = 1,
	  .client_count = CLIENTS },
	{ .values[BALANCE_FLAG] = "partition=1",
	  .core_count = 1,
	  .client_count = REQUESTS },
	{ .values[BALANCE_FLAG] = "replicate=3",
	  .values[STEAL_FLAG] = "",
	  .core_count = 3,
	  .present_count = 1,
	  .client_count = CLIENTS },
	{ .values[BALANCE_FLAG] = "replicate=3",
	  .values[DISTRIBUTE_FLAG] = "least-loaded",
	  .values[STEAL_FLAG] = "",
	  .core_count = 3,
	  .present_count = 1,
	  .client_count = REQUESTS },
	{ .values[BALANCE_FLAG] = "replicate=3",
	  .values[DISTRIBUTE_FLAG] = "size",
	  .values[STEAL_FLAG] = "",
	  .core_count = 3,
	  .present_first = 2,
	  .present_count = 1,
	  .client_count = CLIENTS },
	{ .values[BALANCE_FLAG] = "replicate=3",
	  .values[DISTRIBUTE_FLAG] = "size",
	  .values[STEAL_FLAG] = "",
	  .core_count = 3,
	  .present_first = 2,
	  .present_count = 1,
	  .client_count = CLIENTS,
	  .graph = FORKS },
	{ .values[BALANCE_FLAG] = "replicate=3,a=shared",
	  .core_count = 3,
	  .present_first = 1,
	  .present_count = 1,
	  .client_count = CLIENTS },
	{ .values[BALANCE_FLAG] = "replicate=3,b=shared",
	  .values[STEAL_FLAG] = "",
	  .core_count = 3,
	  .present_count = 1,
	  .client_count = CLIENTS,
	  .graph = TYPES },
	{ .values[ENOUGH_FLAG] = "b=2,c=4",
	  .core_count = 1,
	  .client_count = CLIENTS },
	{ .values[ENOUGH_FLAG] = "b=1,c=3",
	  .values[BALANCE_FLAG] = "replicate=3",
	  .values[DISTRIBUTE_FLAG] = "size",
	  .values[STEAL_FLAG] = "",
	  .core_count = 3,
	  .present_first = 2,
	  .present_count = 1,
	  .client_count = CLIENTS },
	{ .values[BALANCE_FLAG] = "replicate=3,a=even=2,b=even",
	  .values[STEAL_FLAG] = "",
	  .core_count = 3,
	  .present_count = 1,
	  .client_count = CLIENTS },
	{ .values[BALANCE_FLAG] = "replicate=3,a=shared,b=even=3",
	  .values[DISTRIBUTE_FLAG] = "least-loaded",
	  .core_count = 3,
	  .present_first = 2,
	  .present_count = 1,
	  .client_count = REQUESTS },
};

static void test_one_worker(const struct policy *p, const struct cores *cores)
{
	for (size_t b = 0; b < 2 * ARRAY_SIZE(balances_of_one); b++) {
		struct choice c = balances_of_one[b / 2];

		if (b % 2 == 1)
			c.client_count = 0;
		try_worker(p, &c, cores);
	}
}

/* One request at a time: with several workers, or none. */
static void test_one_request(const struct policy *p, const struct cores *cores)
{
	static const struct choice balances[] = {
		{ .core_count = 1 },
		{ .core_count = 2 },
		{ .core_count = 3, .graph = TYPES },
		{ .values[BALANCE_FLAG] = "replicate=2",
		  .core_count = 3,
		  .graph = TYPES },
		{ .values[POOL_FLAG] = "a=1,b=2,c=3",
		  .core_count = 2,
		  .graph = TYPES },
		{ .values[BALANCE_FLAG] = "replicate=2", .core_count = 2 },
		{ .values[BALANCE_FLAG] = "replicate=2",
		  .values[DISTRIBUTE_FLAG] = "least-loaded",
		  .core_count = 2 },
		{ .values[BALANCE_FLAG] = "replicate=2",
		  .values[DISTRIBUTE_FLAG] = "size",
		  .core_count = 2 },
		{ .values[BALANCE_FLAG] = "replicate=2,b=shared,c=shared",
		  .core_count = 3,
		  .graph = TYPES },
		{ .values[BALANCE_FLAG] = "replicate=2,a=even,c=even=1",
		  .core_count = 2 },
		{ .values[BALANCE_FLAG] = "partition=2", .core_count = 2 },
		{ .values[BALANCE_FLAG] = "partition=3", .core_count = 3 },
		{ .values[POOL_FLAG] = "a=3,b=1,c=2", .core_count = 2 },
		{ .values[POOL_FLAG] = "a=2,b=2,c=2",
		  .values[BALANCE_FLAG] = "replicate=2",
		  .core_count = 2 },
		{ .values[POOL_FLAG] = "a=3,b=1,c=2",
		  .values[SLICE_FLAG] = "5000",
		  .core_count = 1 },
	};
	uint32_t count = 0;

	for (size_t b = 0; b < ARRAY_SIZE(balances); b++) {
		struct choice c = balances[b];

		c.values[POLICY_FLAG] = p->name;
		c.client_count = 1;
		count += try_orders(&c, cores);
	}
	if (p->workers == POLICY_WORKERS_CALLER) {
		struct choice c = { .values[POLICY_FLAG] = p->name,
				    .core_count = 2,
				    .client_count = 1,
				    .graph = FORKS };

		CHECK_NUMBER(try_orders(&c, cores), ==, 1);
		CHECK_NUMBER(count, ==, 3);
	} else if (p->workers == POLICY_WORKERS_FIBRES)
		CHECK_NUMBER(count, ==, 6);
	else if (p->workers == POLICY_WORKERS_STAY)
		CHECK_NUMBER(count, ==, 11 * POOLS_COUNT - 1);
	else
		CHECK_NUMBER(count, >=, 4 * CENTRAL_COUNT);
}

/* One core: the policy alone decides which thread runs next. */
static void test_one_scheduler(const struct policy *p,
			       const struct cores *cores)
{
	static const struct choice choices[] = {
		{ .client_count = CLIENTS },
		{ .client_count = REQUESTS },
		{ .client_count = 0 },
		{ .client_count = CLIENTS, .graph = FORKS },
		{ .client_count = 0, .graph = FORKS },
		{ .values[BALANCE_FLAG] = "replicate=1",
		  .client_count = CLIENTS },
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(choices); i++) {
		struct choice c = choices[i / 2];

		c.values[POLICY_FLAG] = p->name;
		c.core_count = 1;
		c.values[RESOURCES_FLAG] = i % 2 == 0 ? "learn" : "ignore";
		CHECK(try(&c, cores));
	}
}

int main(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	if (getenv("TEST_ALL") != NULL)
		sample = 1;
	watchdog_start();
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		if ((*p)->workers == POLICY_WORKERS_FIBRES)
			test_one_scheduler(*p, cores);
		if ((*p)->workers == POLICY_WORKERS_ROAM)
			test_one_worker(*p, cores);
		test_one_request(*p, cores);
	}
	cores_free(cores);
	CHECK_NUMBER(paused_count, >, 0);
	CHECK_NUMBER(woken_count, >, 0);
	CHECK_NUMBER(woken_count, <, rest_count);
	(void)fprintf(stderr, "%u of %u combinations\n", run_count,
		      accepted_count);
	return 0;
}
