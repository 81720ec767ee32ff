/* SPDX-License-Identifier: MIT */
/*
 * Promises: an event whose handler calls stage_pause_point() is paused when its
 * slice is over and an event with a lower rank waits in its queue.  Any worker
 * continues it after that.  That an event has taken longer than predicted makes
 * its rank higher.  Otherwise, and always in stages that are not
 * shared, it runs to its end.  With regime cutoff it is paused when the cutoff
 * is over.  However many are paused, each is handled once, goes on as often as
 * it was paused, and finds its stack as it left it; also while a stop waits for
 * them.
 *
 * Every policy whose workers make visits pauses at least MANY events.  The
 * others have no pauses of this kind: capriccio and thread-per-connection never
 * pause an event, and test_caller_pause.c has those of servlib.
 */
#include "base/error.h"
#include "base/util.h"
#include "stages/stage.h"
#include "stages/flags.h"
#include "stages/event.h"
#include "stages/stats.h"
#include "stages/test/each_policy.h"
#include "stages/test/watchdog.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NESTED = 100,  /* more than can be paused on one core */
	CROWD = 4000,  /* events of one group */
	CROWDS = 1000, /* the most groups until enough were paused */
	CHAINS = 4,    /* events that wait first, with a cutoff */
	MANY = 3000,   /* events to be paused under each policy */
};

#define SLICE_NS UINT64_C(20000)
/* Longer than any machine takes to notice an overrun of its slice. */
#define PATIENCE_NS UINT64_C(60000000000)
#define SHORT_SLICE_NS UINT64_C(1000)
/*
 * Predicted.  So much that the order stays as it is while the kernel keeps a
 * worker from its core for some time, which counts as work.
 */
#define LARGE_NS UINT64_C(10000000000000)

struct job {
	struct event event; /* must be the first member */
	struct job *small;  /* sent by the handler at its beginning, or NULL */
	uint32_t number;
	uint32_t paused_count; /* as its handler saw it */
	_Atomic uint32_t ended_count;
};

static struct {
	struct stage_group *group;
	struct stage *stage;
	uint32_t order[CROWD]; /* order in which they end, with one worker */
	_Atomic uint32_t ended_count;
} run;

/* Work for more than two slices. */
static void work(void)
{
	uint64_t end_ns = clock_now_ns() + 3 * SLICE_NS, now_ns;

	/* The last pause point is when this time is over, or later. */
	do {
		now_ns = clock_now_ns();
		stage_pause_point();
	} while (now_ns < end_ns);
}

static void send_small(struct job *job)
{
	if (job->small == NULL)
		return;
	job->small->event.born_ns = job->event.born_ns;
	CHECK(stage_send(run.stage, &job->small->event));
}

static void end(struct job *job)
{
	CHECK_NUMBER(atomic_fetch_add(&job->ended_count, 1), ==, 0);
	run.order[atomic_fetch_add(&run.ended_count, 1)] = job->number;
}

static void handle(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;

	(void)arg;
	send_small(job);
	work();
	end(job);
}

/* Two pause points, each when a short slice is over. */
static void handle_counting(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;
	char stack[500]; /* keeps its bytes across pauses */

	(void)arg;
	memset(stack, (int)job->number, sizeof(stack));
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t end_ns = clock_now_ns() + SHORT_SLICE_NS;
		uint64_t sent_ns = event_peek(ev)->sent_ns;

		if (i == 0)
			send_small(job);
		while (clock_now_ns() < end_ns)
			;
		stage_pause_point();
		job->paused_count += event_peek(ev)->sent_ns != sent_ns;
	}
	for (size_t i = 0; i < sizeof(stack); i++)
		CHECK_NUMBER(stack[i], ==, (char)job->number);
	end(job);
}

struct choice {
	const char *policy, *discipline, *slice, *cores;
	enum stage_type type;
	const char *regime; /* NULL: the default */
};

/* False: the machine has too few cores. */
static bool start(const struct choice *c, stage_fn *handler,
		  struct cores **cores)
{
	struct error error;
	struct schedule s;
	struct error why;

	*cores = cores_new(c->cores, why.text);
	if (*cores == NULL)
		return false;
	memset(&run, 0, sizeof(run));
	schedule_init(&s);
	CHECK(schedule_set(&s, "policy", c->policy, NULL, 0));
	CHECK(schedule_set(&s, "discipline", c->discipline, NULL, 0));
	if (c->slice != NULL)
		CHECK(schedule_set(&s, "slice", c->slice, NULL, 0));
	if (c->regime != NULL)
		CHECK(schedule_set(&s, "regime", c->regime, NULL, 0));
	CHECK(schedule_complete(&s, 1, cores_count(*cores), error.text));
	run.group = group_new(
		&(struct group_config){ .schedule = &s, .cores = *cores });
	run.stage = group_add(run.group, &(struct stage_config){
						 .name = "a",
						 .handler = handler,
						 .slots = CROWD,
						 .type = c->type,
					 });
	CHECK(group_start(run.group));
	return true;
}

static struct stage_stats stop(struct cores *cores)
{
	struct stage_stats stats;

	group_stop(run.group);
	stage_read(run.stage, &stats);
	CHECK_NUMBER(stats.queued_count, ==, 0);
	CHECK_NUMBER(stats.started_count, ==, stats.handled_count);
	CHECK_NUMBER(stats.paused_count, ==, stats.resumed_count);
	group_free(run.group);
	cores_free(cores);
	return stats;
}

/* A small event comes while a large one runs.  Does the small one end first? */
static bool small_is_first(const struct choice *c)
{
	struct job small = { .event.left_ns = 1000,
			     .event.deadline_ns = 1,
			     .number = 1 };
	struct job large = { .event.left_ns = LARGE_NS, .small = &small };
	struct stage_stats stats;
	struct cores *cores;

	CHECK(start(c, handle, &cores));
	CHECK(stage_send(run.stage, &large.event));
	stats = stop(cores);
	CHECK_NUMBER(run.ended_count, ==, 2);
	CHECK_NUMBER(stats.paused_count, ==, (run.order[0] == 1));
	return run.order[0] == 1;
}

static void test_who_is_paused(void)
{
	static const struct choice are_paused[] = {
		{ "color", "srpt=5", "20", "0", STAGE_SHARED, NULL },
		{ "cohort", "srpt=5", "20", "0", STAGE_SHARED, NULL },
		{ "pool-per-stage", "srpt=5", "20", "0", STAGE_SHARED, NULL },
		{ "cohort", "lcfs", "20", "0", STAGE_SHARED, NULL },
		{ "color", "edf", "20", "0", STAGE_SHARED, NULL },
	};
	static const struct choice are_not[] = {
		{ "color", "srpt=5", NULL, "0", STAGE_SHARED, NULL },
		{ "color", "srpt=5", "0", "0", STAGE_SHARED, NULL },
		{ "color", "srpt=5", "1000000", "0", STAGE_SHARED, NULL },
		{ "color", "srpt=0", "20", "0", STAGE_SHARED, NULL },
		{ "color", "fcfs", NULL, "0", STAGE_SHARED, NULL },
		{ "cohort", "stack", NULL, "0", STAGE_SHARED, NULL },
		{ "cohort", "srpt=5", "20", "0", STAGE_EXCLUSIVE, NULL },
		{ "cohort", "srpt=5", "20", "0", STAGE_PARTITIONED, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(are_paused); i++)
		CHECK(small_is_first(&are_paused[i]));
	for (size_t i = 0; i < ARRAY_SIZE(are_not); i++)
		CHECK(!small_is_first(&are_not[i]));
}

/* Works until the small event has ended, or for a very long time. */
static void handle_overrunning(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;
	uint64_t end_ns = clock_now_ns() + PATIENCE_NS;

	(void)arg;
	send_small(job);
	while (job->small != NULL && atomic_load(&run.ended_count) == 0 &&
	       clock_now_ns() < end_ns)
		stage_pause_point();
	end(job);
}

/* The work of the first event is predicted far too low. */
static void test_an_overrun_is_overtaken(void)
{
	static const struct choice choices[] = {
		{ "color", "srpt=5", "20", "0", STAGE_SHARED, NULL },
		{ "color", "srpt", "1000", "0", STAGE_SHARED, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		struct job small = { .event.left_ns = 1000000, .number = 1 };
		struct job large = { .event.left_ns = 1000, .small = &small };
		struct cores *cores;

		CHECK(start(&choices[i], handle_overrunning, &cores));
		CHECK(stage_send(run.stage, &large.event));
		(void)stop(cores);
		CHECK_NUMBER(run.ended_count, ==, 2);
		CHECK_NUMBER(run.order[0], ==, 1);
	}
}

/* Each event sends a smaller one, so the stacks are soon used up. */
static void test_nested_pauses_are_bounded(void)
{
	static struct job jobs[NESTED];
	static const struct choice c = { .policy = "color",
					 .discipline = "srpt=5",
					 .slice = "20",
					 .cores = "0" };
	struct stage_stats stats;
	struct cores *cores;

	memset(jobs, 0, sizeof(jobs));
	for (uint32_t i = 0; i < NESTED; i++) {
		jobs[i].number = i;
		jobs[i].event.left_ns = (NESTED - i) * (LARGE_NS / NESTED);
		jobs[i].small = i + 1 < NESTED ? &jobs[i + 1] : NULL;
	}
	CHECK(start(&c, handle, &cores));
	CHECK(stage_send(run.stage, &jobs[0].event));
	stats = stop(cores);
	CHECK_NUMBER(run.ended_count, ==, NESTED);
	CHECK_NUMBER(stats.paused_count, >, 0);
	CHECK_NUMBER(stats.paused_count, <, NESTED - 1);
	CHECK_NUMBER(run.order[NESTED - 1], ==, 0); /* the largest is last */
}

static struct job crowd[CROWD];

/* Large events, each of which sends a small one. */
static void send_pairs(void)
{
	for (uint32_t i = 0; i < CROWD; i += 2) {
		crowd[i].event.left_ns = LARGE_NS;
		crowd[i].small = &crowd[i + 1];
		crowd[i + 1].event.left_ns = 1000;
		crowd[i + 1].event.deadline_ns = 1;
		CHECK(stage_send(run.stage, &crowd[i].event));
	}
}

/*
 * Some events, each of which sends another one, and so on.  A cutoff pauses
 * them all, so if all waited at once, they would soon use up the stacks.
 */
static void send_chains(void)
{
	for (uint32_t i = 0; i + CHAINS < CROWD; i++)
		crowd[i].small = &crowd[i + CHAINS];
	for (uint32_t i = 0; i < CHAINS; i++)
		CHECK(stage_send(run.stage, &crowd[i].event));
}

/* Send all, and stop at once.  Returns how many were paused. */
static uint32_t run_crowd(const struct choice *c)
{
	struct stage_stats stats;
	struct cores *cores;
	uint64_t pauses = 0;
	uint32_t paused = 0;

	memset(crowd, 0, sizeof(crowd));
	for (uint32_t i = 0; i < CROWD; i++)
		crowd[i].number = i;
	CHECK(start(c, handle_counting, &cores));
	if (c->regime == NULL)
		send_pairs();
	else
		send_chains();
	stats = stop(cores);
	for (uint32_t i = 0; i < CROWD; i++) {
		CHECK_NUMBER(crowd[i].ended_count, ==, 1);
		pauses += crowd[i].paused_count;
		paused += crowd[i].paused_count > 0;
	}
	CHECK_NUMBER(stats.arrived_count, ==, CROWD);
	CHECK_NUMBER(stats.handled_count, ==, CROWD);
	CHECK_NUMBER(stats.paused_count, ==, pauses);
	CHECK_NUMBER(stats.resumed_count, ==, pauses);
	return paused;
}

/* At least `least` events are paused; returns how many. */
static uint32_t pause_many(const struct choice *c, uint32_t least)
{
	uint32_t paused = 0, crowds = 0;

	for (; paused < least; crowds++) {
		CHECK_NUMBER(crowds, <, CROWDS);
		paused += run_crowd(c);
	}
	(void)fprintf(stderr, "%s, %s: %u of %u events were paused\n",
		      c->policy, c->regime != NULL ? c->regime : c->discipline,
		      paused, crowds * CROWD);
	return paused;
}

/* The disciplines that have ranks, and a cutoff. */
static void test_many_pauses(const struct policy *p)
{
	const struct choice choices[] = {
		{ p->name, "srpt=5", "1", NULL, STAGE_SHARED, NULL },
		{ p->name, "lcfs", "1", NULL, STAGE_SHARED, NULL },
		{ p->name, "edf", "1", NULL, STAGE_SHARED, NULL },
		{ p->name, "fcfs", NULL, NULL, STAGE_SHARED, "cutoff=1" },
	};
	bool has_regimes =
		p->workers == POLICY_WORKERS_ROAM && !p->has_central_queue;
	uint32_t count = has_regimes ? 4 : 3;
	uint32_t least = MANY, paused = 0;

#ifdef __SANITIZE_THREAD__
	/* It takes long: MANY are those of all choices together. */
	if (getenv("TEST_ALL") == NULL)
		least = (MANY + count - 1) / count;
#endif
	for (uint32_t i = 0; i < count; i++)
		paused += pause_many(&choices[i], least);
	CHECK_NUMBER(paused, >=, MANY);
}

int main(void)
{
	watchdog_start();
	test_who_is_paused();
	test_an_overrun_is_overtaken();
	test_nested_pauses_are_bounded();
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		if ((*p)->pick != NULL)
			test_many_pauses(*p);
	return 0;
}
