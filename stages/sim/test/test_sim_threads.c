/* SPDX-License-Identifier: MIT */
/*
 * Promise: the simulator does what the threads do.  The same few requests go
 * through both under every combination of flags that is valid, and both handle
 * the same events in the same order, in the same visits, at the same times.
 *
 * One worker acts, so the schedule alone decides the order.  With replicas,
 * only the first worker starts, or the last; it steals what is sent to the
 * others.  The threads' clock is replaced by one that moves only in handlers,
 * by the work that the model says; after each GAP_NS of it a handler may be
 * paused.  A new request is sent, from another thread, when one ends; or at
 * given times, in the middle of a handler, which then waits for it.
 *
 * Where several threads must act (pools, partitions) or none does (thread per
 * connection), one request is under way at a time; then only the order of
 * events is compared, not the visits, because a worker may still be in its last
 * visit when the next request comes.
 */
#include "stages/cores.h"
#include "base/util.h"
#include "stages/group.h"
#include "stages/sim/test/trial.h"
#include "stages/stats.h"
#include "stages/test/fake_cores.h"
#include "stages/test/watchdog.h"

#include <assert.h>
#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 3, REQUESTS = 30, CLIENTS = 9, SPANS_MAX = 16000 };

#define GAP_NS UINT64_C(1000000) /* work between two pause points */

/*
 * One in SAMPLE combinations is run; all, with TEST_ALL in the environment.
 * SAMPLE divides the number of values of no flag, so that every value is run.
 */
#ifdef __SANITIZE_THREAD__
enum { SAMPLE = 11 };
#else
enum { SAMPLE = 5 };
#endif

/*
 * A request has ten to some hundreds of ms of work; some take the path twice.
 */
static const char graph[] =
	"{\"size\": {\"kind\": \"quantiles\", \"points\":"
	" [[0, 1e4], [0.9, 1e5], [1, 6e5]]},"
	"\"deadline_us\": {\"kind\": \"exponential\", \"mean\": 6e5},"
	"\"stages\": ["
	"{\"name\": \"a\", \"us_per_size\": 0.5, \"routes\": {\"b\": 1}},"
	"{\"name\": \"b\", \"us_per_size\": 0.2, \"routes\": {\"c\": 0.8}},"
	"{\"name\": \"c\", \"us_per_size\": 0.3, \"routes\": {\"a\": 0.3}}]}";

static const char *const names[STAGES] = { "a", "b", "c" };

struct spans {
	uint32_t count;
	struct span spans[SPANS_MAX];
};

static void spans_add(void *to, const struct span *span)
{
	struct spans *s = to;

	assert(s->count < SPANS_MAX);
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

struct item {
	struct event event; /* must be the first member */
	struct model_path path;
	uint32_t step;
	uint64_t left_ns; /* work left in all its steps */
};

/* What the threads do. */
static struct {
	struct group *group;
	struct item items[REQUESTS];
	uint32_t sent_count;
	struct random paths;
	/* Time of the next request; UINT64_MAX: it comes when another ends. */
	uint64_t arrival_ns;
	_Atomic uint64_t now_ns;
	_Atomic uint32_t finished_count;
	sem_t one_comes, next_is_sent;
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

static void send_next(const struct trial *t)
{
	struct item *item = &run.items[run.sent_count];

	model_draw(&t->model, &run.paths, &item->path);
	item->event.number = run.sent_count++;
	for (uint32_t i = 0; i < item->path.step_count; i++)
		item->left_ns += item->path.steps[i].service_ns;
	item->event.left_ns = item->left_ns;
	item->event.deadline_ns =
		atomic_load(&run.now_ns) + item->path.deadline_ns;
	if (t->config.gap_count > 0)
		run.arrival_ns += (uint64_t)llround(
			1e9 * gaps_s[run.sent_count % t->config.gap_count]);
	assert(stage_send(run.group->stages[item->path.steps[0].stage],
			  &item->event));
}

/* Let the other thread send one. */
static void await_next(void)
{
	(void)sem_post(&run.one_comes);
	while (sem_wait(&run.next_is_sent) != 0)
		continue;
}

static void work(uint64_t ns)
{
	uint64_t piece_ns = GAP_NS;

	while (ns > 0) {
		uint64_t now_ns = atomic_load(&run.now_ns);
		uint64_t passes_ns = ns < piece_ns ? ns : piece_ns;
		bool one_arrives = run.arrival_ns <= now_ns + passes_ns &&
				   run.sent_count < REQUESTS;

		if (one_arrives)
			passes_ns = run.arrival_ns - now_ns;
		atomic_store(&run.now_ns, now_ns + passes_ns);
		ns -= passes_ns;
		piece_ns -= passes_ns;
		if (one_arrives)
			await_next();
		if (piece_ns == 0 && ns > 0) {
			stage_pause_point();
			piece_ns = GAP_NS;
		}
	}
}

static void handle(struct event *ev, void *arg)
{
	const struct trial *t = arg;
	struct item *item = (struct item *)ev;
	const struct model_step *step = &item->path.steps[item->step++];

	work(step->service_ns);
	item->left_ns -= step->service_ns;
	ev->left_ns = item->left_ns;
	spans_add(&run.handled, &(struct span){
					.number = ev->number,
					.end_ns = atomic_load(&run.now_ns),
					.stage = step->stage,
					.kind = SPAN_EVENT,
				});
	if (item->step < item->path.step_count) {
		step = &item->path.steps[item->step];
		assert(stage_send(run.group->stages[step->stage], ev));
		return;
	}
	uint32_t finished = atomic_fetch_add(&run.finished_count, 1) + 1;

	if (t->schedule.policy->workers == POLICY_WORKERS_CALLER ||
	    t->config.gap_count > 0 ||
	    finished + t->config.client_count > REQUESTS)
		return;
	if (t->config.client_count > 1) /* only then are visits compared */
		await_next();
	else
		(void)sem_post(&run.one_comes);
}

static void start_worker(struct worker *w)
{
	assert(!pthread_create(&w->thread, NULL, worker_main, w));
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
static void make_first(struct group *g, uint32_t worker)
{
	static struct worker first;

	(void)memcpy(&first, &g->workers[0], sizeof(first));
	(void)memmove(&g->workers[0], &g->workers[worker], sizeof(first));
	(void)memcpy(&g->workers[worker], &first, sizeof(first));
}

static void run_threads(struct trial *t, const struct cores *cores)
{
	bool is_called = t->schedule.policy->workers == POLICY_WORKERS_CALLER;
	struct group *g;

	(void)memset(&run, 0, sizeof(run));
	(void)sem_init(&run.one_comes, 0, 0);
	(void)sem_init(&run.next_is_sent, 0, 0);
	random_init(&run.paths, t->config.seed, STREAM_PATHS);
	if (t->config.gap_count == 0)
		run.arrival_ns = UINT64_MAX;
	fake_core_count = t->config.core_count;
	g = group_new(&(struct group_config){ .schedule = &t->schedule,
					      .cores = cores });
	run.group = g;
	for (uint32_t i = 0; i < STAGES; i++)
		assert(group_add(g, &(struct stage_config){
					    .name = names[i],
					    .handler = handle,
					    .arg = t,
					    .slots = REQUESTS,
				    }) != NULL);
	g->is_started = true;
	assert(group_plan(g));
	make_first(g, t->config.present_first);
	if (t->schedule.balance == BALANCE_PARTITION)
		assert(group_partition(g, t->config.parts));
	atomic_store(&clock_is_virtual, true);
	start_threads(t);
	while (run.sent_count < REQUESTS) {
		while (!is_called && sem_wait(&run.one_comes) != 0)
			continue;
		send_next(t);
		(void)sem_post(&run.next_is_sent);
	}
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

	assert(missed == 0);
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
		item = &run.items[span->number];
		item->left_ns += span->end_ns - span->start_ns;
		if (item->left_ns < item->path.steps[item->step].service_ns)
			continue;
		item->left_ns = 0;
		item->step++;
		return span;
	}
	return NULL;
}

struct choice {
	const char *policy, *regime, *look, *discipline, *slice, *threshold;
	const char *balance, *distribute, *resources; /* NULL: the default */
	bool steals;
	uint32_t core_count, present_first, present_count;
	uint32_t client_count; /* 0: they arrive as `gaps_s` says */
};

static void fail(const struct choice *c, uint32_t at, const struct span *thread,
		 const struct span *simulated)
{
	(void)fprintf(stderr, "%s %s %s %s %s %s %s %s, %u clients, span %u:\n",
		      c->policy, c->regime, c->look, c->discipline, c->slice,
		      c->threshold, c->balance, c->distribute, c->client_count,
		      at);
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
	assert(!"the simulator differs from the threads");
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

	for (i = 0; i < REQUESTS; i++)
		run.items[i].left_ns = run.items[i].step = 0;
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

static void set(struct schedule *s, const char *flag, const char *value)
{
	if (value != NULL)
		assert(schedule_set(s, flag, value, names, STAGES));
}

static uint32_t sample = SAMPLE;
static uint64_t paused_count; /* paused events, in threads */

static void count_pauses(void)
{
	for (uint32_t i = 0; i < STAGES; i++) {
		struct stage_stats stats;

		stage_read(run.group->stages[i], &stats);
		paused_count += stats.paused_count;
	}
}

/* Run one in `sample`.  False: the choices make no sense together. */
static bool try(const struct choice *c, const struct cores *cores)
{
	static struct spans simulated;
	static uint64_t accepted_count;
	struct trial t;
	char error[SCHEDULE_ERROR_BYTES];

	trial_init(&t, graph, c->core_count, 0);
	schedule_init(&t.schedule);
	set(&t.schedule, "policy", c->policy);
	set(&t.schedule, "regime", c->regime);
	set(&t.schedule, "look", c->look);
	set(&t.schedule, "discipline", c->discipline);
	set(&t.schedule, "slice", c->slice);
	set(&t.schedule, "threshold", c->threshold);
	set(&t.schedule, "balance", c->balance);
	set(&t.schedule, "distribute", c->distribute);
	set(&t.schedule, "resources", c->resources);
	if (c->steals)
		assert(schedule_set(&t.schedule, "steal", NULL, names, STAGES));
	if (!schedule_complete(&t.schedule, STAGES, c->core_count, error)) {
		model_release(&t.model);
		return false;
	}
	if (accepted_count++ % sample != 0) {
		model_release(&t.model);
		return true;
	}
	simulated.count = 0;
	t.config.present_first = c->present_first;
	t.config.present_count = c->present_count;
	t.config.client_count = c->client_count;
	t.config.gaps_s = gaps_s;
	t.config.gap_count = c->client_count == 0 ? ARRAY_SIZE(gaps_s) : 0;
	t.config.pause_gap_ns = GAP_NS;
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
	compare_events(c, &simulated);
	assert(simulated.count > REQUESTS);
	count_pauses();
	group_free(run.group);
	trial_release(&t);
	return true;
}

/* The first value of each leaves the flag as it is. */
static const char *const regimes[] = { NULL,          "exhaustive",
				       "gated",       "n-gated=1",
				       "n-gated=3",   "time-gated=30000",
				       "cutoff=60000" };
static const char *const disciplines[] = { NULL,       "edf",    "lcfs",
					   "stack",    "srpt=0", "srpt=3",
					   "srpt=1000" };
static const char *const thresholds[] = { NULL, "b=2,c=1",
					  "a=0:200000,c=0:90000" };

static uint32_t try_orders(const struct choice *c, const struct cores *cores)
{
	struct choice tried = *c;
	uint32_t count = 0;

	for (size_t r = 0; r < ARRAY_SIZE(regimes); r++)
		for (size_t d = 0; d < ARRAY_SIZE(disciplines); d++)
			for (size_t t = 0; t < ARRAY_SIZE(thresholds); t++) {
				tried.regime = regimes[r];
				tried.discipline = disciplines[d];
				tried.threshold = thresholds[t];
				count += try(&tried, cores);
			}
	return count;
}

/*
 * When a request ends, its handler has the next one sent; but the ended one
 * counts as under way in its replica until that handler has returned.  So with
 * `least-loaded` all requests begin at once.
 */
static void test_one_worker(const struct policy *p, const struct cores *cores)
{
	static const struct choice balances[] = {
		{ .core_count = 1, .client_count = CLIENTS },
		{ .balance = "replicate=1",
		  .core_count = 1,
		  .client_count = CLIENTS },
		{ .balance = "partition=1",
		  .core_count = 1,
		  .client_count = REQUESTS },
		{ .balance = "replicate=3",
		  .steals = true,
		  .core_count = 3,
		  .present_count = 1,
		  .client_count = CLIENTS },
		{ .balance = "replicate=3",
		  .distribute = "least-loaded",
		  .steals = true,
		  .core_count = 3,
		  .present_count = 1,
		  .client_count = REQUESTS },
		{ .balance = "replicate=3",
		  .distribute = "size",
		  .steals = true,
		  .core_count = 3,
		  .present_first = 2,
		  .present_count = 1,
		  .client_count = CLIENTS },
		{ .core_count = 1 },
		{ .look = "blind", .core_count = 1, .client_count = CLIENTS },
		{ .look = "blind",
		  .slice = "5000",
		  .balance = "replicate=3",
		  .steals = true,
		  .core_count = 3,
		  .present_count = 1,
		  .client_count = CLIENTS },
		{ .look = "blind", .core_count = 1 },
		{ .slice = "5000", .core_count = 1 },
		{ .slice = "5000", .balance = "partition=1", .core_count = 1 },
		{ .slice = "5000",
		  .balance = "replicate=3",
		  .steals = true,
		  .core_count = 3,
		  .present_count = 1 },
		{ .slice = "5000",
		  .balance = "replicate=3",
		  .distribute = "size",
		  .steals = true,
		  .core_count = 3,
		  .present_first = 2,
		  .present_count = 1 },
	};
	/* The first of `disciplines` that have ranks. */
	static const uint32_t ranked_count = 5;

	for (size_t b = 0; b < ARRAY_SIZE(balances); b++) {
		struct choice c = balances[b];
		bool is_partition = c.balance != NULL &&
				    strcmp(c.balance, "partition=1") == 0;
		uint32_t count;

		c.policy = p->name;
		count = try_orders(&c, cores);
		/*
		 * schedule_complete() refuses the other combinations: see
		 * schedule.c.
		 */
		if (p->has_central_queue)
			assert(count == (is_partition || c.look != NULL ? 0 :
					 c.slice != NULL ? ranked_count :
							   6));
		else
			assert(count ==
			       ARRAY_SIZE(regimes) * ARRAY_SIZE(thresholds) *
				       (c.slice != NULL ?
						ranked_count :
						ARRAY_SIZE(disciplines)));
	}
	assert(paused_count > 0);
	paused_count = 0;
}

/* One request at a time: with several workers, or none. */
static void test_one_request(const struct policy *p, const struct cores *cores)
{
	static const struct choice balances[] = {
		{ .core_count = 1 },
		{ .core_count = 2 },
		{ .balance = "replicate=2", .core_count = 2 },
		{ .balance = "replicate=2",
		  .distribute = "least-loaded",
		  .core_count = 2 },
		{ .balance = "replicate=2",
		  .distribute = "size",
		  .core_count = 2 },
		{ .balance = "partition=2", .core_count = 2 },
		{ .balance = "partition=3", .core_count = 3 },
	};
	uint32_t count = 0;

	for (size_t b = 0; b < ARRAY_SIZE(balances); b++) {
		struct choice c = balances[b];

		c.policy = p->name;
		c.client_count = 1;
		count += try_orders(&c, cores);
	}
	if (p->workers == POLICY_WORKERS_CALLER)
		assert(count == 2);
	else if (p->workers == POLICY_WORKERS_FIBRES)
		assert(count == 5);
	else
		assert(count >= 4 * 6);
}

/* One core: the policy alone decides which thread runs next. */
static void test_one_scheduler(const struct policy *p,
			       const struct cores *cores)
{
	static const struct choice choices[] = {
		{ .client_count = CLIENTS },
		{ .client_count = REQUESTS },
		{ .client_count = 0 },
		{ .balance = "replicate=1", .client_count = CLIENTS },
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(choices); i++) {
		struct choice c = choices[i / 2];

		c.policy = p->name;
		c.core_count = 1;
		c.resources = i % 2 == 0 ? "learn" : "ignore";
		assert(try(&c, cores));
	}
}

int main(void)
{
	const char *why;
	struct cores *cores = cores_new(NULL, &why);

	if (getenv("TEST_ALL") != NULL)
		sample = 1;
	watchdog_start();
	for (const struct policy *const *p = policy_list; *p != NULL; p++) {
		if ((*p)->workers == POLICY_WORKERS_FIBRES)
			test_one_scheduler(*p, cores);
		if ((*p)->workers == POLICY_WORKERS_ROAM)
			test_one_worker(*p, cores);
		test_one_request(*p, cores);
	}
	cores_free(cores);
	return 0;
}
