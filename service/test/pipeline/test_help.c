/* SPDX-License-Identifier: MIT */
/*
 * Promises: each part that is begun is either run once, by the stage's thread,
 * or taken back and never run; end() says which, and returns after run().
 * While no core is idle, none is begun.  After help_leave() the stage has
 * nothing of the upload, so it may go.
 */
#include "service/pipeline/help.h"

#include "base/error.h"
#include "base/test/check.h"
#include "base/util.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { UPLOADS = 30, PARTS = 30 };

static _Atomic bool has_idle_core = true;

static bool is_idle(const struct help_stage *s)
{
	(void)s;
	return has_idle_core;
}

struct test_stage {
	struct cores *cores;
	struct stage_group *group;
	struct help_stage help;
};

static void start(struct test_stage *t, uint32_t threads)
{
	struct error error;
	struct schedule schedule;

	t->cores = cores_new(NULL, error.text);
	CHECK(t->cores != NULL);
	schedule_init(&schedule);
	schedule.policy = policy_find("pool-per-stage");
	schedule.pool_threads[0] = threads;
	CHECK(schedule_complete(&schedule, 1, cores_count(t->cores),
				error.text));
	t->group = group_new(&(struct group_config){ .schedule = &schedule,
						     .cores = t->cores });
	CHECK(t->group != NULL);
	t->help = (struct help_stage){
		.stage = group_add(t->group,
				   &(struct stage_config){
					   .name = "helper",
					   .handler = help_handle,
					   .slots = 64,
				   }),
		.is_idle = is_idle,
	};
	CHECK(t->help.stage != NULL);
	CHECK(group_start(t->group));
}

static void stop(struct test_stage *t)
{
	group_stop(t->group);
	group_free(t->group);
	cores_free(t->cores);
}

struct part {
	int run_count;
	pthread_t thread;
};

static void run_part(void *work)
{
	struct part *p = work;

	p->run_count++;
	p->thread = pthread_self();
}

static const struct memory no_memory = { 0 };

/* Parts of one upload, some of which are ended at once.  Returns those run. */
static uint32_t run_upload(struct test_stage *t, uint32_t seed)
{
	struct help *h = calloc(1, sizeof(*h));
	struct part parts[PARTS] = { 0 };
	struct helper *helper;
	uint32_t count = 0;

	CHECK(h != NULL);
	help_enter(h, &t->help, &no_memory, seed);
	helper = h->memory.helper;
	for (uint32_t i = 0; i < PARTS; i++) {
		bool has_run;

		CHECK(helper->begin(helper, run_part, &parts[i]));
		for (uint32_t j = (seed + i) % 5; j > 0; j--)
			(void)sched_yield();
		has_run = helper->end(helper);
		CHECK_NUMBER(parts[i].run_count, ==, has_run);
		CHECK(!has_run ||
		      !pthread_equal(parts[i].thread, pthread_self()));
		count += has_run;
	}
	help_leave(h);
	/* A part that was taken back is not run later. */
	for (uint32_t i = 0; i < PARTS; i++)
		CHECK_NUMBER(parts[i].run_count, <=, 1);
	free(h);
	return count;
}

static void test_parts_are_run_once_or_never(void)
{
	struct test_stage t;
	uint32_t count = 0;

	start(&t, 1);
	for (uint32_t i = 0; i < UPLOADS || count == 0; i++)
		count += run_upload(&t, i);
	CHECK_NUMBER(atomic_load(&t.help.count), ==, count);
	stop(&t);
}

static void *run_uploads(void *arg)
{
	for (uint32_t i = 0; i < UPLOADS; i++)
		(void)run_upload(arg, i);
	return NULL;
}

static void test_uploads_share_the_stage(void)
{
	struct test_stage t;
	pthread_t threads[3];

	start(&t, 2);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK_NUMBER(pthread_create(&threads[i], NULL, run_uploads, &t),
			     ==, 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK_NUMBER(pthread_join(threads[i], NULL), ==, 0);
	stop(&t);
}

static void test_busy_cores_do_not_help(void)
{
	struct test_stage t;
	struct help h = { .cpu_ns = 0 };
	struct part part = { 0 };

	start(&t, 1);
	has_idle_core = false;
	help_enter(&h, &t.help, &no_memory, 0);
	CHECK(!h.helper.begin(&h.helper, run_part, &part));
	help_leave(&h);
	has_idle_core = true;
	CHECK_NUMBER(part.run_count, ==, 0);
	stop(&t);
}

int main(void)
{
	test_parts_are_run_once_or_never();
	test_uploads_share_the_stage();
	test_busy_cores_do_not_help();
	return 0;
}
