/* SPDX-License-Identifier: MIT */
/*
 * Promises: with a quantum, a handler that its sender calls is paused by the
 * sender (group_config.caller_threads), a user-level thread, here a fibre.  It
 * may go on on another kernel thread; meanwhile others use its kernel thread.
 * Each event is handled once at each stage, the time of a pause is not service
 * time, and all pauses are counted.  Each kernel thread has a trace of what ran
 * on it.
 */
#include "base/error.h"
#include "stages/stage.h"
#include "stages/flags.h"
#include "stages/event.h"
#include "stages/stats.h"
#include "stages/test/watchdog.h"
#include "stages/threads/fibre.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "base/util.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PAUSES = 3, /* of each event at the first stage */
	CROWD = 64,
	CROWDS = 160, /* more than 10,000 events */
	CROWD_PAUSES = 2,
	KERNEL_THREADS = 4,
};

static struct {
	struct cores *cores;
	struct stage_group *group;
	struct stage *first, *last;
	_Atomic bool is_due;
	_Atomic uint32_t asked_count, pause_count;
} run;

struct job {
	struct event event; /* must be the first member */
	struct fibre *fibre;
	uint32_t pauses;
	uint32_t first_count, last_count; /* how often handled */
	pid_t began_on, ended_on;         /* kernel threads */
	bool is_over;                     /* its fibre has ended */
	struct job *next;
};

/* --- The sender's threads: a fibre for each job. --- */

static _Thread_local struct fibre *current;

static bool is_due(void)
{
	atomic_fetch_add(&run.asked_count, 1);
	return current != NULL && atomic_load(&run.is_due);
}

static void pause_fibre(void)
{
	atomic_fetch_add(&run.pause_count, 1);
	fibre_pause(current);
}

/* Set by the kernel threads of a test. */
static _Thread_local uint32_t kernel_thread = UINT32_MAX;

__attribute__((noinline)) static uint32_t find_kernel_thread(void)
{
	return kernel_thread;
}

static const struct caller_threads caller_threads = { is_due, pause_fibre,
						      find_kernel_thread };

static void send_job(void *arg)
{
	struct job *job = arg;

	CHECK(stage_send(run.first, &job->event));
}

static void begin_job(struct job *job)
{
	current = job->fibre;
	job->is_over = fibre_run(job->fibre, send_job, job);
	current = NULL;
}

static void continue_job(struct job *job)
{
	current = job->fibre;
	job->is_over = fibre_resume(job->fibre);
	current = NULL;
}

/* --- Handlers. --- */

static void handle_first(struct event *ev, void *arg)
{
	struct job *job = (struct job *)ev;
	char stack[200];

	(void)arg;
	job->first_count++;
	job->began_on = gettid(); /* pthread_self() would be read once */
	memset(stack, (int)job->pauses, sizeof(stack));
	for (uint32_t i = 0; i < job->pauses; i++)
		stage_pause_point();
	for (size_t i = 0; i < sizeof(stack); i++)
		CHECK_NUMBER(stack[i], ==, (char)job->pauses);
	job->ended_on = gettid();
	CHECK(stage_send(run.last, ev));
	/* The event is not this handler's any more. */
	stage_pause_point();
	CHECK(!stage_can_wait());
}

static void handle_last(struct event *ev, void *arg)
{
	(void)arg;
	((struct job *)ev)->last_count++;
}

static void start(const char *quantum, enum stage_type type)
{
	struct stage_config config = {
		.name = "first",
		.handler = handle_first,
		.slots = CROWD,
		.type = type,
	};
	struct error error;
	struct schedule s;
	struct error why;

	memset(&run, 0, sizeof(run));
	run.cores = cores_new("0", why.text);
	CHECK(run.cores != NULL);
	schedule_init(&s);
	CHECK(schedule_set(&s, "policy", "servlib", NULL, 0));
	CHECK(schedule_set(&s, "quantum", quantum, NULL, 0));
	CHECK(schedule_complete(&s, 2, cores_count(run.cores), error.text));
	run.group = group_new(&(struct group_config){
		.schedule = &s,
		.cores = run.cores,
		.caller_threads = &caller_threads,
	});
	CHECK(run.group != NULL);
	run.first = group_add(run.group, &config);
	config.name = "last";
	config.handler = handle_last;
	run.last = group_add(run.group, &config);
	CHECK(run.first != NULL);
	CHECK(run.last != NULL);
	CHECK(group_start(run.group));
	atomic_store(&run.is_due, true);
}

static void stop(void)
{
	group_stop(run.group);
	group_free(run.group);
	cores_free(run.cores);
}

static void check_counts(uint32_t count, uint32_t pauses)
{
	struct stage_stats s;

	CHECK_NUMBER(atomic_load(&run.pause_count), ==, count * pauses);
	stage_read(run.first, &s);
	CHECK_NUMBER(s.arrived_count, ==, count);
	CHECK_NUMBER(s.started_count, ==, count);
	CHECK_NUMBER(s.paused_count, ==, (uint64_t)count * pauses);
	CHECK_NUMBER(s.resumed_count, ==, s.paused_count);
	CHECK_NUMBER(s.handled_count, ==, count);
	CHECK_NUMBER(s.queued_count, ==, 0);
	CHECK_NUMBER(s.visit_count, ==, s.handled_count + s.paused_count);
	stage_read(run.last, &s);
	CHECK_NUMBER(s.handled_count, ==, count);
	CHECK_NUMBER(s.paused_count, ==, 0);
}

static void check_job(const struct job *job)
{
	CHECK_NUMBER(job->first_count, ==, 1);
	CHECK_NUMBER(job->last_count, ==, 1);
	CHECK(event_peek(&job->event)->stage == NULL);
}

/* --- Two events in turn; then another kernel thread goes on with both. --- */

static void *continue_in_turn(void *arg)
{
	struct job *jobs = arg;

	kernel_thread = UINT32_MAX; /* it has no track */
	while (!jobs[0].is_over || !jobs[1].is_over)
		for (uint32_t i = 0; i < 2; i++)
			if (!jobs[i].is_over)
				continue_job(&jobs[i]);
	return NULL;
}

/* A sender on the kernel thread that others have left by a pause. */
static void send_between(void)
{
	struct job job = { .pauses = 0 };
	struct stage_stats s;

	CHECK(stage_send(run.first, &job.event));
	check_job(&job);
	stage_read(run.first, &s);
	CHECK_NUMBER(s.queued_count, ==, 2);
	CHECK_NUMBER(s.handled_count, ==, 1);
}

/* What ran on the only kernel thread with a track: PAUSES were elsewhere. */
static void check_track(const struct job jobs[2])
{
	char name[TRACK_NAME_BYTES];
	struct span spans[16];
	uint64_t next = 0, missed = 0;
	uint32_t count;

	CHECK_NUMBER(group_worker_count(run.group), ==, 0);
	CHECK_NUMBER(group_track_count(run.group), ==, 1);
	group_name_track(run.group, 0, name);
	CHECK_TEXT(name, "thread-0");
	count = group_read_trace(run.group, 0, &next, spans, 16, &missed);
	/*
	 * Each turn leaves an event and a visit; the third event ran two
	 * stages.
	 */
	CHECK_NUMBER(count, ==, 2 * (2 + 2 + 2));
	CHECK_NUMBER(missed, ==, 0);
	for (uint32_t i = 0; i < count; i++) {
		bool is_visit = i % 2 == 1;
		uint64_t number = i / 2 < 4 ? jobs[i / 2 % 2].event.number : 0;

		CHECK_NUMBER(spans[i].kind, ==,
			     (is_visit ? SPAN_VISIT : SPAN_EVENT));
		CHECK_NUMBER(spans[i].number, ==, (is_visit ? 1 : number));
		CHECK_NUMBER(spans[i].start_ns, <=, spans[i].end_ns);
		CHECK(i == 0 || spans[i - 1].end_ns <= spans[i].end_ns);
		CHECK_NUMBER(spans[i].stage, ==, (i / 2 == 5));
	}
}

static void test_two_take_turns(void)
{
	struct fibres *set = fibres_new(&(struct fibre_stacks){ .count = 2 });
	struct job jobs[2] = { { .pauses = PAUSES }, { .pauses = PAUSES } };
	pthread_t other;

	CHECK(set != NULL);
	start("1", STAGE_SHARED);
	kernel_thread = 0;
	for (uint32_t i = 0; i < 2; i++) {
		jobs[i].fibre = fibres_take(set);
		jobs[i].event.number = 70 + i;
		begin_job(&jobs[i]);
		CHECK(!jobs[i].is_over);
	}
	for (uint32_t i = 0; i < 2; i++) {
		continue_job(&jobs[i]);
		CHECK(!jobs[i].is_over);
		CHECK_NUMBER(jobs[i].first_count, ==, 1);
	}
	send_between();
	CHECK_NUMBER(pthread_create(&other, NULL, continue_in_turn, jobs), ==,
		     0);
	CHECK_NUMBER(pthread_join(other, NULL), ==, 0);
	for (uint32_t i = 0; i < 2; i++) {
		check_job(&jobs[i]);
		CHECK_NUMBER(jobs[i].began_on, ==, gettid());
		CHECK_NUMBER(jobs[i].ended_on, !=, gettid());
		fibres_give(set, jobs[i].fibre);
	}
	struct stage_stats s;

	stage_read(run.first, &s);
	CHECK_NUMBER(s.paused_count, ==, 2 * PAUSES);
	CHECK_NUMBER(s.resumed_count, ==, 2 * PAUSES);
	CHECK_NUMBER(s.handled_count, ==, 3);
	CHECK_NUMBER(s.queued_count, ==, 0);
	stage_read(run.last, &s);
	CHECK_NUMBER(s.handled_count, ==, 3);
	check_track(jobs);
	kernel_thread = UINT32_MAX;
	stop();
	fibres_free(set);
}

/* No limit of time: only that parts of a whole add up. */
static void test_a_pause_is_not_service(void)
{
	struct fibres *set = fibres_new(&(struct fibre_stacks){ .count = 1 });
	struct job job = { .pauses = 1 };
	uint64_t begin_ns, paused_ns, resumed_ns, end_ns;
	struct stage_stats first, last;

	CHECK(set != NULL);
	start("1", STAGE_SHARED);
	job.fibre = fibres_take(set);
	begin_ns = clock_now_ns();
	begin_job(&job);
	paused_ns = clock_now_ns();
	do
		resumed_ns = clock_now_ns();
	while (resumed_ns < paused_ns + 1000000);
	continue_job(&job);
	end_ns = clock_now_ns();
	CHECK(job.is_over);
	stage_read(run.first, &first);
	stage_read(run.last, &last);
	CHECK_NUMBER(first.wait_ns, >=, resumed_ns - paused_ns);
	CHECK_NUMBER(first.wait_ns + first.service_ns + last.service_ns, <=,
		     end_ns - begin_ns);
	CHECK_NUMBER(job.event.waited_ns, >=, resumed_ns - paused_ns);
	fibres_give(set, job.fibre);
	check_counts(1, 1);
	stop();
	fibres_free(set);
}

static void test_who_may_not_pause(void)
{
	struct fibres *set = fibres_new(&(struct fibre_stacks){ .count = 1 });
	struct job jobs[3] = { { .pauses = 1 },
			       { .pauses = 1 },
			       { .pauses = 1 } };

	CHECK(set != NULL);
	start("1", STAGE_SHARED);
	atomic_store(&run.is_due, false); /* its time is not over */
	jobs[0].fibre = fibres_take(set);
	begin_job(&jobs[0]);
	CHECK(jobs[0].is_over);
	CHECK_NUMBER(atomic_load(&run.asked_count), ==, 1);
	check_counts(1, 0);
	stop();

	start("1", STAGE_EXCLUSIVE); /* others would wait for the stage */
	jobs[1].fibre = jobs[0].fibre;
	begin_job(&jobs[1]);
	CHECK(jobs[1].is_over);
	CHECK_NUMBER(atomic_load(&run.asked_count), ==, 0);
	check_counts(1, 0);
	stop();

	start("0", STAGE_SHARED); /* no quantum */
	jobs[2].fibre = jobs[0].fibre;
	begin_job(&jobs[2]);
	CHECK(jobs[2].is_over);
	CHECK_NUMBER(atomic_load(&run.asked_count), ==, 0);
	check_counts(1, 0);
	stop();
	fibres_give(set, jobs[0].fibre);
	fibres_free(set);
}

/* --- Many fibres on several kernel threads, which have one run queue. --- */

static struct {
	pthread_mutex_t lock;
	struct job *first, **end;
	uint32_t left_count;
} ready = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Caller holds the lock. */
static void append(struct job *job)
{
	job->next = NULL;
	*ready.end = job;
	ready.end = &job->next;
}

static struct job *take_ready(void)
{
	struct job *job = ready.first;

	if (job != NULL)
		ready.first = job->next;
	if (ready.first == NULL)
		ready.end = &ready.first;
	return job;
}

static void run_job(struct job *job)
{
	if (job->first_count == 0)
		begin_job(job);
	else
		continue_job(job);
}

static void *run_ready(void *arg)
{
	(void)arg;
	(void)pthread_mutex_lock(&ready.lock);
	while (ready.left_count > 0) {
		struct job *job = take_ready();

		(void)pthread_mutex_unlock(&ready.lock);
		if (job != NULL)
			run_job(job);
		(void)pthread_mutex_lock(&ready.lock);
		if (job != NULL && !job->is_over)
			append(job);
		else if (job != NULL)
			ready.left_count--;
	}
	(void)pthread_mutex_unlock(&ready.lock);
	return NULL;
}

static void run_crowd(struct fibres *set, struct job jobs[CROWD])
{
	pthread_t threads[KERNEL_THREADS];

	ready.end = &ready.first;
	ready.left_count = CROWD;
	for (uint32_t i = 0; i < CROWD; i++) {
		jobs[i] = (struct job){
			.pauses = CROWD_PAUSES,
			.fibre = fibres_take(set),
		};
		append(&jobs[i]);
	}
	for (uint32_t i = 0; i < KERNEL_THREADS; i++)
		CHECK_NUMBER(pthread_create(&threads[i], NULL, run_ready, NULL),
			     ==, 0);
	for (uint32_t i = 0; i < KERNEL_THREADS; i++)
		CHECK_NUMBER(pthread_join(threads[i], NULL), ==, 0);
	for (uint32_t i = 0; i < CROWD; i++) {
		check_job(&jobs[i]);
		fibres_give(set, jobs[i].fibre);
	}
}

static void test_crowds_on_several_kernel_threads(void)
{
	struct fibres *set =
		fibres_new(&(struct fibre_stacks){ .count = CROWD });
	struct job *jobs = calloc(CROWD, sizeof(*jobs));

	CHECK(set != NULL);
	CHECK(jobs != NULL);
	start("1", STAGE_SHARED);
	for (uint32_t i = 0; i < CROWDS; i++)
		run_crowd(set, jobs);
	check_counts(CROWDS * CROWD, CROWD_PAUSES);
	stop();
	free(jobs);
	fibres_free(set);
}

int main(void)
{
	watchdog_start();
	test_two_take_turns();
	test_a_pause_is_not_service();
	test_who_may_not_pause();
	test_crowds_on_several_kernel_threads();
	return 0;
}
