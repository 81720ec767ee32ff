/* SPDX-License-Identifier: MIT */
/*
 * Promises of pools of user-level threads, with workers that roam: a handler of
 * a stage with such a pool may wait, and its worker goes on.  As many events of
 * the stage as it has threads, and no more, have begun and not ended; the
 * others wait in the queue, and other stages go on.  An event that was woken
 * goes on before those that have not begun, with ranks by its rank.  A wake-up
 * before the wait counts.  Under every such policy, with each balance, regime,
 * slice and idle rule, each event goes through its stages once, whoever wakes
 * it; and a stop waits for those that wait.
 */
#include "base/error.h"
#include "base/util.h"
#include "stages/flags.h"
#include "stages/stage.h"
#include "stages/stats.h"
#include "stages/test/each_policy.h"
#include "stages/test/watchdog.h"

#include "base/test/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { STAGES = 3, CROWD = 1000, JOBS = 8, ARGUMENTS = 20, TEXT_BYTES = 200 };

static const char *const names[STAGES] = { "a", "b", "c" };

struct job {
	struct event event; /* must be the first member */
	struct job *next;   /* in a list */
	uint32_t number;
	uint32_t stage; /* at which it is next */
	_Atomic uint32_t begun_count, ended_count;
};

static struct {
	struct cores *cores;
	struct stage_group *group;
	struct stage *stages[STAGES];
	uint32_t parts;

	_Atomic uint32_t inside[STAGES], inside_max[STAGES];
	_Atomic uint32_t begun_count, ended_count;
	uint32_t order[JOBS];     /* of ends, with one worker */
	_Atomic bool is_held;     /* the handler of b does not return */
	_Atomic uint32_t goes_on; /* this one does not wait at a */
	pthread_mutex_t lock;
	struct job *waiting; /* in stage_wait(), or about to be */
	bool has_waker;
	pthread_t waker;
} run = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* "--flag value --flag", of stages with these names. */
static struct schedule read_schedule(const char *line)
{
	char text[TEXT_BYTES], *rest = text;
	struct schedule s;
	struct error why;
	char *word;

	schedule_init(&s);
	(void)snprintf(text, sizeof(text), "%s", line);
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		bool has_value = strcmp(word, "--steal") != 0;

		CHECK(schedule_set(&s, word + 2,
				   has_value ? strtok_r(rest, " ", &rest) :
					       NULL,
				   names, STAGES));
	}
	if (!schedule_complete(&s, STAGES, cores_count(run.cores), why.text))
		check_failed(CHECK_HERE, why.text);
	return s;
}

/* `cores`: NULL is all. */
static void start(const char *line, const char *cores, stage_fn *handler,
		  enum stage_type type)
{
	char why[STAGES_WHY_BYTES];

	check_case("%s", line);
	run.cores = cores_new(cores, why);
	CHECK(run.cores != NULL);

	struct schedule s = read_schedule(line);

	run.parts = s.part_count;
	run.group = group_new(
		&(struct group_config){ .schedule = &s, .cores = run.cores });
	CHECK(run.group != NULL);
	for (uint32_t i = 0; i < STAGES; i++)
		run.stages[i] = group_add(run.group, &(struct stage_config){
							     .name = names[i],
							     .handler = handler,
							     .slots = CROWD,
							     .type = type,
						     });
	CHECK(group_start(run.group));
	run.waiting = NULL;
	atomic_store(&run.is_held, false);
	atomic_store(&run.goes_on, JOBS);
	atomic_store(&run.begun_count, 0);
	atomic_store(&run.ended_count, 0);
	for (uint32_t i = 0; i < STAGES; i++)
		atomic_store(&run.inside_max[i], 0);
}

static void stop(void)
{
	group_stop(run.group);
	if (run.has_waker)
		CHECK(pthread_join(run.waker, NULL) == 0);
	run.has_waker = false;
	for (uint32_t i = 0; i < STAGES; i++) {
		struct stage_stats stats;

		stage_read(run.stages[i], &stats);
		CHECK_NUMBER(run.inside[i], ==, 0);
		CHECK_NUMBER(stats.queued_count, ==, 0);
		CHECK_NUMBER(stats.arrived_count, ==, stats.handled_count);
		CHECK_NUMBER(stats.started_count, ==, stats.handled_count);
		CHECK_NUMBER(stats.paused_count, ==, stats.resumed_count);
	}
	group_free(run.group);
	cores_free(run.cores);
}

static void wait_until(const _Atomic uint32_t *count, uint32_t least)
{
	while (atomic_load(count) < least)
		(void)sched_yield();
}

static void enter(uint32_t stage)
{
	uint32_t now = atomic_fetch_add(&run.inside[stage], 1) + 1;
	uint32_t most = atomic_load(&run.inside_max[stage]);

	while (most < now && !atomic_compare_exchange_weak(
				     &run.inside_max[stage], &most, now))
		;
	atomic_fetch_add(&run.begun_count, 1);
}

static void leave(uint32_t stage)
{
	atomic_fetch_sub(&run.inside[stage], 1);
}

static void end(struct job *job)
{
	uint32_t at = atomic_fetch_add(&run.ended_count, 1);

	if (at < JOBS)
		run.order[at] = job->number;
	atomic_fetch_add(&job->ended_count, 1);
}

/* At a it waits, at b it holds its worker while that is asked for. */
static void wait_at_a(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;

	(void)arg;
	enter(job->stage);
	atomic_fetch_add(&job->begun_count, 1);
	CHECK_NUMBER(stage_can_wait(), ==, (job->stage == 0));
	if (job->stage == 0 && job->number != atomic_load(&run.goes_on))
		stage_wait();
	while (job->stage == 1 && atomic_load(&run.is_held))
		(void)sched_yield();
	leave(job->stage);
	end(job);
}

static struct job jobs[JOBS];

/* Those of numbers from `first` on are at stage `stage`. */
static void send(uint32_t first, uint32_t count, uint32_t stage)
{
	for (uint32_t i = first; i < first + count; i++) {
		jobs[i] = (struct job){ .number = i, .stage = stage };
		jobs[i].event.left_ns = UINT64_C(1000000000) * (JOBS - i);
		CHECK(stage_send(run.stages[stage], &jobs[i].event));
	}
}

static void test_a_worker_goes_on(void)
{
	start("--policy cohort --pool a=2", "0", wait_at_a, STAGE_SHARED);
	send(0, 1, 0);
	wait_until(&run.begun_count, 1);
	send(1, 1, 1); /* of the only worker */
	wait_until(&run.ended_count, 1);
	send(2, 1, 0);
	wait_until(&jobs[2].begun_count, 1);
	stage_wake(&jobs[2].event);
	wait_until(&run.ended_count, 2);
	stage_wake(&jobs[0].event);
	stop();
	CHECK_NUMBER(run.order[0], ==, 1);
	CHECK_NUMBER(run.order[1], ==, 2);
	CHECK_NUMBER(run.order[2], ==, 0);
}

static void test_no_more_events_than_threads(void)
{
	start("--policy cohort --pool a=3", "0", wait_at_a, STAGE_SHARED);
	send(0, 6, 0);
	wait_until(&run.begun_count, 3);
	send(6, 1, 1); /* the worker has looked at a since then */
	wait_until(&run.ended_count, 1);
	CHECK_NUMBER(run.begun_count, ==, 4);
	for (uint32_t i = 0; i < 6; i++) {
		/* First come, first served, one for each that ends. */
		wait_until(&jobs[i].begun_count, 1);
		stage_wake(&jobs[i].event);
	}
	stop();
	CHECK_NUMBER(run.ended_count, ==, 7);
	CHECK_NUMBER(run.inside_max[0], ==, 3);
}

/* While the only worker is held at b, one event arrives, and one is woken. */
static void who_is_first(const char *line, uint32_t waits, uint32_t arrives)
{
	start(line, "0", wait_at_a, STAGE_SHARED);
	send(waits, 1, 0);
	wait_until(&run.begun_count, 1);
	atomic_store(&run.is_held, true);
	send(JOBS - 1, 1, 1);
	wait_until(&run.begun_count, 2);
	atomic_store(&run.goes_on, arrives);
	send(arrives, 1, 0);
	stage_wake(&jobs[waits].event);
	atomic_store(&run.is_held, false);
	stop();
	CHECK_NUMBER(run.ended_count, ==, 3);
}

static void test_a_woken_event_is_first(void)
{
	who_is_first("--policy cohort --pool a=2", 1, 2);
	CHECK_NUMBER(run.order[1], ==, 1);
	/* The second one has no thread. */
	who_is_first("--policy cohort --pool a=1", 1, 2);
	CHECK_NUMBER(run.order[1], ==, 1);
	/* Jobs of higher numbers are smaller. */
	who_is_first("--policy cohort --pool a=2 --discipline srpt=1000", 1, 2);
	CHECK_NUMBER(run.order[1], ==, 2);
	who_is_first("--policy cohort --pool a=2 --discipline srpt=1000", 2, 1);
	CHECK_NUMBER(run.order[1], ==, 2);
	who_is_first("--policy cohort --pool a=1 --discipline srpt=1000", 1, 2);
	CHECK_NUMBER(run.order[1], ==, 1);
	/* As one that the cutoff has paused. */
	who_is_first("--policy cohort --pool a=2 --regime cutoff=1000000", 1,
		     2);
	CHECK_NUMBER(run.order[1], ==, 2);
}

static void end_after_sending(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;

	(void)arg;
	CHECK_NUMBER(stage_can_wait(), ==, (job->stage == 0));
	if (job->stage++ > 0) {
		end(job);
		return;
	}
	CHECK(stage_send(run.stages[1], ev));
	CHECK(!stage_can_wait());
}

static void never_wait(struct event *ev, void *arg)
{
	(void)arg;
	CHECK(!stage_can_wait());
	end((struct job *)ev);
}

static void test_who_can_wait(void)
{
	CHECK(!stage_can_wait());
	start("--policy cohort --pool a=2", "0", end_after_sending,
	      STAGE_SHARED);
	send(0, 4, 0);
	stop();
	CHECK_NUMBER(run.ended_count, ==, 4);
	/* Only shared stages have user-level threads. */
	for (enum stage_type t = STAGE_EXCLUSIVE; t <= STAGE_PARTITIONED; t++) {
		start("--policy cohort --pool a=2", "0", never_wait, t);
		send(0, 4, 0);
		stop();
	}
	start("--policy cohort --discipline srpt --slice 1000", "0", never_wait,
	      STAGE_SHARED);
	send(0, 4, 0);
	stop();
}

/* --- A crowd. --- */

static void put_into_list(struct job *job)
{
	(void)pthread_mutex_lock(&run.lock);
	job->next = run.waiting;
	run.waiting = job;
	(void)pthread_mutex_unlock(&run.lock);
}

/* NULL: nobody waits. */
static struct job *take_from_list(void)
{
	struct job *job;

	(void)pthread_mutex_lock(&run.lock);
	job = run.waiting;
	if (job != NULL)
		run.waiting = job->next;
	(void)pthread_mutex_unlock(&run.lock);
	return job;
}

/* Somebody else wakes it, or it has woken itself. */
static void wait_in_crowd(struct job *job)
{
	char stack[300]; /* keeps its bytes */

	memset(stack, (char)job->number, sizeof(stack));
	if (job->number % 5 == 0)
		stage_wake(&job->event);
	else
		put_into_list(job);
	stage_wait();
	for (size_t i = 0; i < sizeof(stack); i++)
		CHECK_NUMBER(stack[i], ==, (char)job->number);
}

/*
 * From a to b, or not, and to c.  Some wait at a, some at c; at b, some wake
 * another.
 */
static void pass(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;
	uint32_t stage = job->stage;
	struct job *other = stage == 1 ? take_from_list() : NULL;

	(void)arg;
	enter(stage);
	CHECK_NUMBER(stage_can_wait(), ==, (stage != 1));
	for (uint32_t i = 0; stage != 1 && i < 1 + job->number % 2; i++)
		if (job->number % 3 != 0)
			wait_in_crowd(job);
	stage_pause_point();
	if (other != NULL)
		stage_wake(&other->event);
	leave(stage);
	if (stage == STAGES - 1) {
		end(job);
		return;
	}
	job->stage += 1 + (stage == 0 && job->number % 7 == 0);
	CHECK(stage_send(run.stages[job->stage], ev));
}

static void *wake_the_crowd(void *arg)
{
	(void)arg;
	while (atomic_load(&run.ended_count) < CROWD) {
		struct job *job = take_from_list();

		if (job != NULL)
			stage_wake(&job->event);
		else
			(void)sched_yield();
	}
	return NULL;
}

static struct job crowd[CROWD];

/* The stop begins while most of them wait. */
static void run_crowd(const char *policy, const char *flags)
{
	char line[TEXT_BYTES];

	(void)snprintf(line, sizeof(line), "--policy %s --pool a=2,c=5 %s",
		       policy, flags);
	start(line, NULL, pass, STAGE_SHARED);
	memset(crowd, 0, sizeof(crowd));
	for (uint32_t i = 0; i < CROWD; i++) {
		crowd[i].number = i;
		crowd[i].event.left_ns = 1 + i * 7919 % CROWD;
		CHECK(stage_send(run.stages[0], &crowd[i].event));
	}
	run.has_waker = true;
	CHECK(pthread_create(&run.waker, NULL, wake_the_crowd, NULL) == 0);
	stop();
	for (uint32_t i = 0; i < CROWD; i++)
		CHECK_NUMBER(crowd[i].ended_count, ==, 1);
	CHECK_NUMBER(run.inside_max[0], <=, 2 * run.parts);
	CHECK_NUMBER(run.inside_max[2], <=, 5 * run.parts);
}

static void test_a_crowd(const struct policy *p)
{
	static const char *const flags[] = {
		"",
		"--regime gated",
		"--regime n-gated=3",
		"--regime cutoff=1",
		"--regime cutoff=1,c=exhaustive --discipline srpt --slice 1",
		"--discipline srpt --slice 1",
		"--discipline lcfs --slice 1 --balance replicate",
		"--discipline edf,a=fcfs --slice 1 --regime gated",
		"--discipline stack,a=fcfs,c=srpt",
		"--look blind",
		"--look blind --idle backoff=1:1:100",
		"--idle backoff=1:1:100",
		"--threshold a=3,c=2",
		"--balance replicate",
		"--balance replicate --steal",
		"--balance replicate --distribute size --steal",
		"--balance replicate --distribute least-loaded --look blind",
		"--balance partition",
		"--balance partition --look blind --discipline srpt --slice 1",
	};
	uint32_t parts;
	char why[STAGES_WHY_BYTES];
	struct cores *all = cores_new(NULL, why);

	CHECK(all != NULL);
	parts = cores_count(all);
	cores_free(all);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		bool is_blind = strstr(flags[i], "blind") != NULL;

		if ((parts > 1 || strstr(flags[i], "--balance") == NULL) &&
		    !(is_blind && p->needs_lengths))
			run_crowd(p->name, flags[i]);
	}
}

/* --- Closures. --- */

static struct closure closures[JOBS];

static enum closure_action wait_in_method(struct closure *c, void *arg)
{
	(void)c;
	(void)arg;
	enter(0);
	stage_wait();
	leave(0);
	return CLOSURE_COMPLETE;
}

static void end_closure(struct closure *c, enum closure_end how)
{
	(void)c;
	CHECK_NUMBER(how, ==, CLOSURE_DONE);
	atomic_fetch_add(&run.ended_count, 1);
}

static void test_methods_wait(void)
{
	start("--policy cohort --pool a=8", "0", closure_handle, STAGE_SHARED);
	memset(closures, 0, sizeof(closures));
	for (uint32_t i = 0; i < JOBS; i++) {
		closures[i].end = end_closure;
		CHECK(closure_start(&closures[i], run.stages[0],
				    wait_in_method));
	}
	wait_until(&run.begun_count, JOBS);
	for (uint32_t i = 0; i < JOBS; i++)
		stage_wake(&closures[i].event);
	stop();
	CHECK_NUMBER(run.ended_count, ==, JOBS);
	CHECK_NUMBER(run.inside_max[0], ==, JOBS);
}

int main(void)
{
	watchdog_start();
	test_a_worker_goes_on();
	test_no_more_events_than_threads();
	test_a_woken_event_is_first();
	test_who_can_wait();
	test_methods_wait();
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		if ((*p)->workers == POLICY_WORKERS_ROAM &&
		    !(*p)->has_central_queue)
			test_a_crowd(*p);
	return 0;
}
