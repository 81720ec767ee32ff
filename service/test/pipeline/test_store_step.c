/* SPDX-License-Identifier: MIT */
/*
 * Promises of the last step: under every policy, each upload whose results were
 * made is stored once, with all results, before done().  An upload that has
 * failed, or whose client has disconnected by then, is not stored.  The reason
 * why it was not stored is reported.  Stopping waits for the step.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/test/check.h"

#include <string.h>
#include <unistd.h>

enum { UPLOADS = 12, VARIANTS = 3, STEPS = 4 };

struct stored {
	struct job job; /* must be the first member */
	_Atomic int decoded_count, stored_count, looked_count;
	int gone_at; /* its client disconnects before this step */
	enum upload_end answer;
};

static struct stored uploads[UPLOADS];

static void on_decoded(struct upload *u)
{
	struct stored *s = (struct stored *)u;

	CHECK_NUMBER(atomic_load(&s->stored_count), ==, 0);
	atomic_fetch_add(&s->decoded_count, 1);
}

static enum upload_end keep(struct upload *u)
{
	struct stored *s = (struct stored *)u;

	CHECK_NUMBER(atomic_load(&s->job.done_count), ==, 0);
	CHECK_NUMBER(atomic_load(&s->decoded_count), ==, 1);
	for (uint32_t i = 0; i < u->variant_count; i++)
		CHECK(u->variants[i].jpeg != NULL &&
		      u->variants[i].size.width_px > 0);
	(void)usleep(2000);
	atomic_fetch_add(&s->stored_count, 1);
	return s->answer;
}

static bool is_gone(const struct upload *u)
{
	struct stored *s = (struct stored *)(uintptr_t)u;

	return atomic_fetch_add(&s->looked_count, 1) == s->gone_at;
}

static struct pipeline *start_with_store(const struct policy *policy,
					 const struct cores *cores)
{
	struct pipeline_config c = job_config(policy, cores, UPLOADS);

	c.store_threads = 2;
	c.tasks_max = 1;
	return start_configured(&c);
}

static struct upload *prepare_to_store(struct stored *s, size_t bytes,
				       uint32_t variant_count)
{
	struct upload *u = &s->job.upload;

	prepare(&s->job, bytes, 1);
	s->decoded_count = s->stored_count = s->looked_count = 0;
	s->gone_at = -1;
	s->answer = UPLOAD_ENDED;
	u->variant_count = variant_count;
	for (uint32_t i = 1; i < variant_count; i++)
		u->variants[i].transform = u->variants[0].transform;
	u->on_decoded = on_decoded;
	u->store = keep;
	return u;
}

/* Of twelve uploads, three cannot be stored and three are truncated. */
static void check_all(const struct policy *policy, const struct cores *cores)
{
	struct pipeline *p = start_with_store(policy, cores);
	struct pipeline_stats stats;

	for (int i = 0; i < UPLOADS; i++) {
		struct upload *u = prepare_to_store(
			&uploads[i], photo_bytes / (i % 4 == 3 ? 2 : 1),
			VARIANTS);

		if (i % 4 == 2)
			uploads[i].answer = UPLOAD_STORE_FULL;
		CHECK(pipeline_submit(p, u));
	}
	pipeline_stop(p);
	for (int i = 0; i < UPLOADS; i++) {
		struct stored *s = &uploads[i];
		struct upload *u = &s->job.upload;

		CHECK_NUMBER(s->job.done_count, ==, 1);
		CHECK_NUMBER(s->stored_count, ==, (i % 4 != 3));
		CHECK_NUMBER(s->decoded_count, ==, s->stored_count);
		CHECK_NUMBER(u->end, ==, s->answer);
		CHECK_NUMBER((u->err == IMG_OK), ==, (i % 4 != 3));
		CHECK_NUMBER((u->variants[0].jpeg != NULL), ==, (i % 4 < 2));
		CHECK_NUMBER((u->service_ns[PIPELINE_STORE] > 0), ==,
			     (i % 4 != 3));
		CHECK_NUMBER((u->begun_ns[PIPELINE_STORE] >
			      u->begun_ns[PIPELINE_ENCODE]),
			     ==, (i % 4 != 3));
		upload_free_results(u);
	}
	pipeline_read(p, &stats);
	CHECK_NUMBER(stats.stage_count, ==, stats.steps.count + 1);
	CHECK_NUMBER(
		stats.stages[pipeline_stage_index(&stats.steps, PIPELINE_STORE)]
			.handled_count,
		==, UPLOADS / 4 * 3);
	CHECK_NUMBER(stats.finished_count, ==, UPLOADS / 2);
	CHECK_NUMBER(stats.failed_count, ==, UPLOADS / 2);
	CHECK_NUMBER(stats.in_flight_count, ==, 0);
	CHECK_NUMBER(stats.buffers.live_count, ==, 0);
	pipeline_free(p);
}

static void test_client_may_go_until_it_begins(const struct cores *cores)
{
	struct pipeline *p = start_with_store(policy_find("color"), cores);

	for (int step = STEPS - 1; step <= STEPS + 1; step++) {
		struct stored *s = &uploads[0];
		struct upload *u = prepare_to_store(s, photo_bytes, 1);

		u->is_gone = is_gone;
		s->gone_at = step;
		CHECK(pipeline_submit(p, u));
		wait_done(&s->job);
		CHECK_NUMBER(s->stored_count, ==, (step > STEPS));
		CHECK_NUMBER(u->end, ==,
			     (step > STEPS ? UPLOAD_ENDED : UPLOAD_GONE));
		upload_free_results(u);
	}
	pipeline_stop(p);
	pipeline_free(p);
}

static _Atomic int task_count;

static void run_task(struct task *e)
{
	(void)e;
	(void)usleep(2000);
	atomic_fetch_add(&task_count, 1);
}

static void test_tasks_are_run(const struct cores *cores)
{
	struct pipeline *p = start_with_store(policy_find("srpt"), cores);
	struct task e = { .run = run_task }, late = { .run = run_task };

	CHECK(pipeline_send_task(p, &e));
	pipeline_stop(p);
	CHECK_NUMBER(task_count, ==, 1);
	CHECK(!pipeline_send_task(p, &late));
	pipeline_free(p);
}

int main(int argc, char **argv)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	CHECK_NUMBER(argc, ==, 2);
	CHECK(cores != NULL);
	read_photo(argv[1]);
	shrink_photo(cores, 200);
	for (const struct policy *const *p = policy_list(); *p != NULL; p++)
		check_all(*p, cores);
	test_client_may_go_until_it_begins(cores);
	test_tasks_are_run(cores);
	cores_free(cores);
	return 0;
}
