/* SPDX-License-Identifier: MIT */
/*
 * Promises of pipeline.h: done() is called exactly once for each accepted
 * upload; every policy gives the same bytes; there are never more uploads
 * inside than allowed; memory is charged while it is used; no work is done for
 * late uploads and for those without a client; errors are values of an enum;
 * notes are kept to the end.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "stages/threads/resources.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UPLOADS = 24 };

/* Steps follow each other in time. */
static void check_times(const struct upload *u)
{
	uint64_t free_ns = u->submitted_ns;

	CHECK_NUMBER(free_ns, >, 0);
	for (int step = PIPELINE_DECODE; step <= PIPELINE_ENCODE; step++) {
		CHECK_NUMBER(u->begun_ns[step], >=, free_ns);
		CHECK_NUMBER(u->service_ns[step], >, 0);
		free_ns = u->begun_ns[step] + u->service_ns[step];
	}
	CHECK_NUMBER(free_ns, <=, clock_now_ns());
	CHECK_NUMBER(u->begun_ns[PIPELINE_STORE], ==, 0);
}

/* It is that of the first photo, under each policy. */
static void check_photo(const struct upload *u, const struct variant *v)
{
	static uint8_t *first;
	static size_t first_bytes;

	CHECK_NUMBER(u->err, ==, IMG_OK);
	CHECK_NUMBER(v->jpeg_bytes, >, 0);
	if (first == NULL) {
		first_bytes = v->jpeg_bytes;
		first = malloc(first_bytes);
		CHECK(first != NULL);
		memcpy(first, v->jpeg, first_bytes);
	}
	CHECK_NUMBER(v->jpeg_bytes, ==, first_bytes);
	CHECK(memcmp(v->jpeg, first, first_bytes) == 0);
	check_times(u);
}

static void check_truncated(const struct upload *u, const struct variant *v)
{
	CHECK_NUMBER(u->err, ==, IMG_ERR_TRUNCATED);
	CHECK(v->jpeg == NULL);
	CHECK_NUMBER(u->begun_ns[PIPELINE_DECODE], >, 0);
	CHECK_NUMBER(u->begun_ns[PIPELINE_SCALE], ==, 0);
}

static void test_one_done_each_and_same_bytes(const struct policy *policy,
					      const struct cores *cores,
					      uint32_t replicas)
{
	static struct job jobs[UPLOADS];
	struct pipeline *p = start(policy, cores, replicas, UPLOADS);
	struct pipeline_stats s;
	struct resource_state resources[RESOURCES];

	for (int i = 0; i < UPLOADS; i++) {
		/* Every fourth upload is truncated. */
		prepare(&jobs[i], i % 4 == 3 ? photo_bytes / 2 : photo_bytes,
			2);
		CHECK(pipeline_submit(p, &jobs[i].upload));
	}
	pipeline_stop(p);
	for (int i = 0; i < UPLOADS; i++) {
		struct upload *u = &jobs[i].upload;

		CHECK_NUMBER(atomic_load(&jobs[i].done_count), ==, 1);
		if (i % 4 == 3) {
			check_truncated(u, &jobs[i].variants[0]);
		} else {
			check_photo(u, &jobs[i].variants[0]);
			upload_free_results(u);
		}
	}
	pipeline_read(p, &s);
	CHECK_NUMBER(s.sent_count, ==, UPLOADS);
	CHECK_NUMBER(s.in_flight_count, ==, 0);
	CHECK_NUMBER(s.buffers.live_count, ==, 0);
	CHECK_NUMBER(s.buffers.live_bytes_peak, >, 0);
	/* What was taken has been given back. */
	resources_read(resources_process(), resources);
	CHECK_NUMBER(resources[RESOURCE_MEMORY].used, ==, 0);
	CHECK(resources[RESOURCE_MEMORY].capacity > 0 ||
	      policy->threads == NULL);
	CHECK_NUMBER(s.failed_count, ==, UPLOADS / 4);
	CHECK_NUMBER(s.finished_count, ==, UPLOADS - UPLOADS / 4);
	CHECK_NUMBER(s.stages[pipeline_stage_index(&s.steps, PIPELINE_DECODE)]
			     .handled_count,
		     ==, UPLOADS);
	CHECK_NUMBER(s.stages[pipeline_stage_index(&s.steps, PIPELINE_ENCODE)]
			     .handled_count,
		     ==, s.finished_count);
	/* After the stop it refuses uploads. */
	prepare(&jobs[0], photo_bytes, 0);
	CHECK(!pipeline_submit(p, &jobs[0].upload));
	CHECK_NUMBER(atomic_load(&jobs[0].done_count), ==, 0);
	pipeline_free(p);
}

static void test_full_refuses_until_there_is_room(const struct cores *cores)
{
	static struct job one, two;
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 1);
	struct pipeline_stats s;

	/* The first upload is so slow that the second arrives meanwhile. */
	prepare(&one, photo_bytes, 100);
	one.variants[0].transform.box = (struct img_size){ 0, 0 };
	prepare(&two, photo_bytes, 0);
	CHECK(pipeline_submit(p, &one.upload));
	CHECK(!pipeline_submit(p, &two.upload));
	CHECK_NUMBER(atomic_load(&two.done_count), ==, 0);
	CHECK_NUMBER(pipeline_retry_after_s(p), >=, 1);
	wait_done(&one);
	CHECK(pipeline_submit(p, &two.upload));
	wait_done(&two);
	pipeline_read(p, &s);
	CHECK_NUMBER(s.sent_count, ==, 2);
	pipeline_stop(p);
	upload_free_results(&one.upload);
	upload_free_results(&two.upload);
	pipeline_free(p);
}

/* As an upload has one that waited for memory. */
static void
test_a_reserved_slot_is_kept_and_given_back(const struct cores *cores)
{
	static struct job reserved, other;
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 1);
	struct charge *c = &reserved.upload.charge;

	prepare(&reserved, photo_bytes, 0);
	prepare(&other, photo_bytes, 0);
	c->budget = pipeline_budget(p);
	CHECK(budget_take_slot(c));
	CHECK(!pipeline_has_slot(p));
	CHECK(!pipeline_submit(p, &other.upload));
	CHECK_NUMBER(other.upload.end, ==, UPLOAD_NO_SLOT);
	CHECK(pipeline_submit(p, &reserved.upload));
	wait_done(&reserved);
	CHECK(!c->has_slot);
	CHECK(pipeline_has_slot(p));
	/* Also if it is refused. */
	upload_free_results(&reserved.upload);
	prepare(&reserved, photo_bytes, 0);
	c->budget = pipeline_budget(p);
	CHECK(budget_take_slot(c));
	pipeline_stop(p);
	CHECK(!pipeline_submit(p, &reserved.upload));
	CHECK(!c->has_slot);
	CHECK(pipeline_has_slot(p));
	pipeline_free(p);
}

static uint64_t charged(const struct pipeline *p)
{
	struct pipeline_stats s;

	pipeline_read(p, &s);
	return s.memory.used_bytes;
}

/*
 * The charge changes from the estimate by the header to the size of the reply.
 */
static void
test_memory_is_charged_as_long_as_it_is_used(const struct cores *cores)
{
	static struct job job;
	struct pipeline *p =
		start(policy_find("thread-per-connection"), cores, 1, 1);
	struct pipeline_stats s;
	struct upload *u = &job.upload;

	prepare(&job, photo_bytes, 2);
	u->charge.budget = pipeline_budget(p);
	u->jpeg_charge_bytes = photo_bytes;
	CHECK_NUMBER(budget_charge(&u->charge, photo_bytes), ==, BUDGET_OK);
	CHECK(pipeline_submit(p, u));
	CHECK_NUMBER(u->err, ==, IMG_OK);
	CHECK_NUMBER(charged(p), ==, photo_bytes + upload_result_bytes(u));
	pipeline_read(p, &s);
	CHECK_NUMBER(s.memory.peak_bytes, >=,
		     photo_bytes + s.buffers.live_bytes_peak);
	CHECK_NUMBER(pipeline_likely_bytes(p, photo_bytes), >, 0);
	upload_free_results(u);
	budget_lower(&u->charge, 0);
	CHECK_NUMBER(charged(p), ==, 0);

	/* If it fails, the charge for its body stays. */
	prepare(&job, photo_bytes / 2, 2);
	u->charge.budget = pipeline_budget(p);
	u->jpeg_charge_bytes = photo_bytes;
	CHECK_NUMBER(budget_charge(&u->charge, photo_bytes), ==, BUDGET_OK);
	CHECK(pipeline_submit(p, u));
	CHECK_NUMBER(u->err, ==, IMG_ERR_TRUNCATED);
	CHECK_NUMBER(charged(p), ==, photo_bytes);
	budget_lower(&u->charge, 0);
	pipeline_stop(p);
	pipeline_free(p);
}

/*
 * A refused upload takes no memory, so it must not change the estimate for
 * others.
 */
static void test_a_refused_giant_is_forgotten(const struct cores *cores)
{
	static struct job job;
	struct schedule schedule;

	schedule_init(&schedule);
	schedule.part_count = 1;

	struct pipeline *p = pipeline_start(&(struct pipeline_config){
		.schedule = schedule,
		.cores = cores,
		.uploads_max = 1,
		.limits = { 65500, 100000000, 64, 1 << 29, 0 },
		.memory_bytes_max = 64 << 20,
	});
	uint64_t likely_bytes = pipeline_likely_bytes(p, photo_bytes);

	CHECK(p != NULL);
	prepare(&job, photo_bytes, 0);
	job.variants[0].transform.box = (struct img_size){ 9000, 9000 };
	job.variants[0].transform.enlarge = true;
	CHECK(!pipeline_submit(p, &job.upload));
	CHECK_NUMBER(job.upload.end, ==, UPLOAD_TOO_MUCH);
	CHECK_NUMBER(pipeline_likely_bytes(p, photo_bytes), ==, likely_bytes);
	prepare(&job, photo_bytes, 0);
	CHECK(pipeline_submit(p, &job.upload));
	wait_done(&job);
	CHECK_NUMBER(pipeline_likely_bytes(p, photo_bytes), !=, likely_bytes);
	pipeline_stop(p);
	upload_free_results(&job.upload);
	budget_lower(&job.upload.charge, 0);
	pipeline_free(p);
}

static void wait_until_waiting(struct pipeline *p, uint32_t count)
{
	struct pipeline_stats s;

	do {
		(void)usleep(1000);
		pipeline_read(p, &s);
	} while (s.memory.waiting_count != count);
}

static _Atomic bool is_second_gone;

static bool has_second_gone(const struct upload *u)
{
	(void)u;
	return atomic_load(&is_second_gone);
}

/*
 * With a policy that says so, uploads wait for memory: each ends with it, or at
 * its deadline, or when its client has gone, or at the end of the server.
 */
static void test_uploads_wait_for_memory(const struct policy *policy,
					 const struct cores *cores)
{
	enum { WAITING = 6 };
	static struct job jobs[WAITING];
	struct pipeline_config c = job_config(policy, cores, WAITING);
	struct pipeline_stats s;
	struct pipeline *p;
	struct charge all;

	c.schedule.balance = BALANCE_REPLICATE;
	c.schedule.part_count = cores_count(cores);
	c.memory_bytes_max = 16 << 20;
	p = start_configured(&c);
	all = (struct charge){ .budget = pipeline_budget(p) };
	atomic_store(&is_second_gone, false);
	CHECK_NUMBER(budget_charge(&all, all.budget->limit_bytes), ==,
		     BUDGET_OK);
	for (int i = 0; i < WAITING; i++) {
		prepare(&jobs[i], photo_bytes, 0);
		if (i == 1)
			jobs[i].upload.is_gone = has_second_gone;
		if (i > 0)
			CHECK(pipeline_submit(p, &jobs[i].upload));
	}
	wait_until_waiting(p, WAITING - 1);
	atomic_store(&is_second_gone, true);
	wait_done(&jobs[1]);
	CHECK_NUMBER(jobs[1].upload.end, ==, UPLOAD_GONE);
	jobs[0].upload.deadline_ns = clock_after_ms(3000);
	CHECK(pipeline_submit(p, &jobs[0].upload));
	wait_done(&jobs[0]);
	CHECK_NUMBER(jobs[0].upload.end, ==, UPLOAD_LATE);
	wait_until_waiting(p, WAITING - 2);
	/* There is room for one after the other. */
	budget_lower(&all, all.budget->limit_bytes - (8 << 20));
	for (int i = 2; i < WAITING; i++) {
		wait_done(&jobs[i]);
		CHECK_NUMBER(jobs[i].upload.end, ==, UPLOAD_ENDED);
		upload_free_results(&jobs[i].upload);
		budget_lower(&jobs[i].upload.charge, 0);
	}
	pipeline_read(p, &s);
	CHECK_NUMBER(s.memory.wait_count, ==, WAITING);
	CHECK_NUMBER(s.memory.refused_count, ==, 0);
	CHECK_NUMBER(s.memory.used_bytes, ==, all.bytes);
	/* A stop without results ends waits, too. */
	CHECK_NUMBER(budget_charge(&all, all.budget->limit_bytes), ==,
		     BUDGET_OK);
	prepare(&jobs[0], photo_bytes, 0);
	CHECK(pipeline_submit(p, &jobs[0].upload));
	wait_until_waiting(p, 1);
	pipeline_abandon(p);
	wait_done(&jobs[0]);
	CHECK_NUMBER(jobs[0].upload.end, ==, UPLOAD_ABANDONED);
	budget_lower(&all, 0);
	pipeline_stop(p);
	pipeline_free(p);
}

static bool nobody_waits(const struct upload *u)
{
	(void)u;
	return true;
}

static void test_useless_work_is_not_done(const struct cores *cores)
{
	static struct job jobs[3];
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 3);
	struct pipeline_stats s;

	prepare(&jobs[0], photo_bytes, 2);
	jobs[0].upload.deadline_ns = 1;
	prepare(&jobs[1], photo_bytes, 2);
	jobs[1].upload.is_gone = nobody_waits;
	prepare(&jobs[2], photo_bytes, 2);
	jobs[2].upload.deadline_ns = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		CHECK(pipeline_submit(p, &jobs[i].upload));
		wait_done(&jobs[i]);
	}
	CHECK_NUMBER(jobs[0].upload.end, ==, UPLOAD_LATE);
	CHECK_NUMBER(jobs[1].upload.end, ==, UPLOAD_GONE);
	CHECK_NUMBER(jobs[2].upload.end, ==, UPLOAD_ENDED);
	CHECK(jobs[0].variants[0].jpeg == NULL);
	CHECK(jobs[1].variants[0].jpeg == NULL);
	CHECK(jobs[2].variants[0].jpeg != NULL);
	CHECK_NUMBER(jobs[0].upload.service_ns[PIPELINE_DECODE], ==, 0);
	CHECK_NUMBER(jobs[1].upload.service_ns[PIPELINE_DECODE], ==, 0);
	pipeline_read(p, &s);
	CHECK_NUMBER(s.late_count, ==, 1);
	CHECK_NUMBER(s.gone_count, ==, 1);
	CHECK_NUMBER(s.failed_count, ==, 2);
	CHECK_NUMBER(s.finished_count, ==, 1);
	CHECK_NUMBER(s.stages[pipeline_stage_index(&s.steps, PIPELINE_SCALE)]
			     .arrived_count,
		     ==, 1);
	pipeline_stop(p);
	upload_free_results(&jobs[2].upload);
	pipeline_free(p);
}

/* An upload whose result takes seconds to make. */
static void prepare_large(struct job *job)
{
	struct img_transform *t = &job->variants[0].transform;

	prepare(job, photo_bytes, 20);
	t->box = (struct img_size){ 9000, 9000 };
	t->enlarge = true;
	t->progressive = true;
	t->chroma = IMG_CHROMA_444;
}

/*
 * An is_gone() that sets the deadline as if the upload had waited: only half of
 * the time that it needs is left.
 */
static bool waits_too_long(const struct upload *u)
{
	((struct upload *)u)->deadline_ns =
		clock_now_ns() + u->estimated_ns / 2;
	return false;
}

static void test_unreachable_deadline_costs_nothing(const struct cores *cores)
{
	static struct job jobs[2];
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 2);
	struct pipeline_stats s;

	for (int i = 0; i < 2; i++)
		prepare_large(&jobs[i]);
	/*
	 * The first upload is refused when it arrives, the second when its turn
	 * comes.
	 */
	CHECK(pipeline_peek(p, &jobs[0].upload));
	CHECK_NUMBER(jobs[0].upload.estimated_ns, >, NS_PER_S);
	jobs[0].upload.deadline_ns =
		clock_now_ns() + jobs[0].upload.estimated_ns / 2;
	jobs[1].upload.deadline_ns = UINT64_MAX;
	jobs[1].upload.is_gone = waits_too_long;
	for (int i = 0; i < 2; i++) {
		struct upload *u = &jobs[i].upload;
		char why[200] = "";
		struct excess excess;

		CHECK(pipeline_submit(p, u));
		wait_done(&jobs[i]);
		CHECK_NUMBER(u->end, ==, UPLOAD_UNREACHABLE);
		CHECK_NUMBER(u->service_ns[PIPELINE_DECODE], ==, 0);
		CHECK(jobs[i].variants[0].jpeg == NULL);
		pipeline_explain(p, u, why, sizeof(why), &excess);
		CHECK_PART(why, "until the deadline");
		CHECK_TEXT(excess.unit, "seconds");
		CHECK_NUMBER(excess.value, >, excess.limit);
	}
	pipeline_read(p, &s);
	CHECK_NUMBER(s.unreachable_count, ==, 2);
	CHECK_NUMBER(s.late_count, ==, 0);
	CHECK_NUMBER(s.failed_count, ==, 2);
	CHECK_NUMBER(s.sent_count, ==, 2);
	CHECK_NUMBER(s.stages[pipeline_stage_index(&s.steps, PIPELINE_DECODE)]
			     .arrived_count,
		     ==, 1);
	pipeline_stop(p);
	pipeline_free(p);
}

/* Variants run at the same time: only the longest counts. */
static void test_deadline_needs_the_longest_variant(const struct cores *cores)
{
	static struct job job;
	struct upload *u = &job.upload;
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 1);
	uint64_t alone_ns;

	prepare_large(&job);
	CHECK(pipeline_peek(p, u));
	alone_ns = u->estimated_ns;
	prepare_large(&job);
	for (u->variant_count = 1; u->variant_count < VARIANTS_MAX;
	     u->variant_count++)
		job.variants[u->variant_count].transform =
			job.variants[0].transform;
	u->deadline_ns = clock_now_ns() + 6 * alone_ns;
	u->is_gone = nobody_waits;
	CHECK(pipeline_submit(p, u));
	wait_done(&job);
	CHECK_NUMBER(u->estimated_ns, >, 8 * alone_ns);
	CHECK_NUMBER(u->end, ==, UPLOAD_GONE);
	pipeline_stop(p);
	pipeline_free(p);
}

static void test_limits_hold_for_file_and_result(const struct cores *cores)
{
	static struct job job;
	struct schedule schedule;

	schedule_init(&schedule);
	schedule.part_count = 1;
	for (int i = 0; i < 2; i++) {
		/* The photo has 3 megapixels. */
		struct pipeline *p = start_scheduled(&schedule, cores, 1,
						     i == 0 ? 1000 : 3000000);

		prepare(&job, photo_bytes, 0);
		job.variants[0].transform.enlarge = true;
		job.variants[0].transform.box = (struct img_size){ 0, 1600 };
		CHECK(pipeline_submit(p, &job.upload));
		wait_done(&job);
		CHECK_NUMBER(job.upload.err, ==, IMG_ERR_TOO_LARGE);
		pipeline_stop(p);
		pipeline_free(p);
	}
}

/* The facts for the reply are still known after the picture was freed. */
static void test_notes_outlive_the_picture(const struct cores *cores)
{
	static struct job jobs[2];
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 2);

	prepare(&jobs[0], photo_bytes / 2, 2);
	prepare(&jobs[1], photo_bytes, 2);
	for (int i = 0; i < 2; i++) {
		struct upload *u = &jobs[i].upload;

		jobs[i].variants[0].transform.lenient = true;
		CHECK(pipeline_submit(p, u));
		wait_done(&jobs[i]);
		CHECK_NUMBER(u->err, ==, IMG_OK);
		CHECK_NUMBER(jobs[i].variants[0].notes, ==,
			     (i == 0 ? IMG_NOTE_DAMAGED : 0));
		upload_free_results(u);
	}
	pipeline_stop(p);
	pipeline_free(p);
}

/* A worker that is kept in done() until the gate opens. */
static _Atomic bool gate_is_open;

static void on_done_wait(struct upload *u)
{
	on_done(u);
	while (!atomic_load(&gate_is_open))
		(void)usleep(1000);
}

static _Atomic int done_order;

static void on_done_in_turn(struct upload *u)
{
	((struct job *)u)->turn = atomic_fetch_add(&done_order, 1);
	on_done(u);
}

/*
 * The remaining work of an upload is estimated before each step, and is 0 at
 * the end.
 */
static void test_least_work_comes_first(const struct cores *cores)
{
	static struct job blocker, large, small;
	char first[16];
	struct error why;
	struct schedule schedule;

	(void)snprintf(first, sizeof(first), "%u", cores_cpu(cores, 0));

	struct cores *core = cores_new(first, why.text);

	CHECK(core != NULL);
	schedule_init(&schedule);
	schedule.part_count = 1;
	schedule.discipline.kind = DISCIPLINE_SRPT;

	struct pipeline *p = start_scheduled(&schedule, core, 3, 100000000);

	prepare(&blocker, photo_bytes, 0);
	blocker.upload.done = on_done_wait;
	CHECK(pipeline_submit(p, &blocker.upload));
	wait_done(&blocker);
	prepare(&large, photo_bytes, 5);
	large.variants[0].transform.box = (struct img_size){ 1600, 1600 };
	large.upload.done = on_done_in_turn;
	CHECK(pipeline_submit(p, &large.upload));
	prepare(&small, photo_bytes, 0);
	small.upload.done = on_done_in_turn;
	CHECK(pipeline_submit(p, &small.upload));
	CHECK_NUMBER(small.upload.closure.event.left_ns, >, 0);
	CHECK_NUMBER(large.upload.closure.event.left_ns, >,
		     small.upload.closure.event.left_ns);
	atomic_store(&gate_is_open, true);
	wait_done(&large);
	wait_done(&small);
	CHECK_NUMBER(small.turn, ==, 0);
	CHECK_NUMBER(large.turn, ==, 1);
	CHECK_NUMBER(small.variants[0].closure.event.left_ns, ==, 0);
	CHECK_NUMBER(large.variants[0].closure.event.left_ns, ==, 0);
	pipeline_stop(p);
	upload_free_results(&blocker.upload);
	upload_free_results(&large.upload);
	upload_free_results(&small.upload);
	pipeline_free(p);
	cores_free(core);
}

/* A refusal by the header does not wait for the work on other pictures. */
static void test_no_picture_is_not_queued(const struct cores *cores)
{
	static struct job job;
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 1);
	struct pipeline_stats s;

	prepare(&job, photo_bytes, 0);
	job.upload.jpeg = (const uint8_t *)"no picture";
	job.upload.jpeg_bytes = 10;
	CHECK(pipeline_submit(p, &job.upload));
	CHECK_NUMBER(atomic_load(&job.done_count), ==, 1);
	CHECK_NUMBER(job.upload.err, ==, IMG_ERR_UNKNOWN_FORMAT);
	pipeline_read(p, &s);
	CHECK_NUMBER(s.sent_count, ==, 1);
	CHECK_NUMBER(s.failed_count, ==, 1);
	CHECK_NUMBER(s.in_flight_count, ==, 0);
	CHECK_NUMBER(s.stages[pipeline_stage_index(&s.steps, PIPELINE_DECODE)]
			     .arrived_count,
		     ==, 0);
	pipeline_stop(p);
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
	for (const struct policy *const *p = policy_list(); *p != NULL; p++) {
		printf("%s\n", (*p)->name);
		test_one_done_each_and_same_bytes(*p, cores, 1);
		if ((*p)->workers != POLICY_WORKERS_CALLER)
			test_one_done_each_and_same_bytes(*p, cores,
							  cores_count(cores));
	}
	free(photo);
	read_photo(argv[1]);
	test_full_refuses_until_there_is_room(cores);
	test_a_reserved_slot_is_kept_and_given_back(cores);
	test_memory_is_charged_as_long_as_it_is_used(cores);
	test_a_refused_giant_is_forgotten(cores);
	for (const struct policy *const *p = policy_list(); *p != NULL; p++)
		if ((*p)->waits_for_memory)
			test_uploads_wait_for_memory(*p, cores);
	test_useless_work_is_not_done(cores);
	test_unreachable_deadline_costs_nothing(cores);
	test_deadline_needs_the_longest_variant(cores);
	test_limits_hold_for_file_and_result(cores);
	test_notes_outlive_the_picture(cores);
	test_least_work_comes_first(cores);
	test_no_picture_is_not_queued(cores);
	cores_free(cores);
	free(photo);
	return 0;
}
