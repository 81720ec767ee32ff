/* SPDX-License-Identifier: MIT */
/*
 * The load that a pipeline tells: the estimated work of all uploads inside.  It
 * is exact while they wait, and 0 when all have ended, however they ended; the
 * weight follows from it.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "base/util.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { JOBS = 48, ROUNDS = 80, MEMORY_BYTES = 4 << 20 };

static uint64_t half_ns = NS_PER_S;

static uint32_t weight(uint64_t left_ns, uint32_t core_count)
{
	const struct pipeline_load load = {
		.left_ns = left_ns,
		.core_count = core_count,
	};

	return pipeline_weight_percent(&load, half_ns);
}

static void test_weight_follows_the_work_of_each_core(void)
{
	uint32_t before = 100;

	CHECK_NUMBER(weight(0, 1), ==, 100);
	CHECK_NUMBER(weight(half_ns, 1), ==, 50);
	CHECK_NUMBER(weight(4 * half_ns, 4), ==, 50);
	CHECK_NUMBER(weight(3 * half_ns, 1), ==, 25);
	for (uint64_t left_ns = 1; left_ns < UINT64_MAX / 3; left_ns *= 3) {
		uint32_t now = weight(left_ns, 1);

		CHECK_NUMBER(now, >=, 1);
		CHECK_NUMBER(now, <=, before);
		before = now;
	}
	/* An overloaded server still takes some. */
	CHECK_NUMBER(before, ==, 1);
	CHECK_NUMBER(weight(UINT64_MAX, 1), ==, 1);
}

/* Equal variants. */
static void set_variants(struct job *job, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		job->variants[i].transform = job->variants[0].transform;
	job->upload.variant_count = count;
}

static void is_empty(const struct pipeline *p)
{
	struct pipeline_load load = pipeline_load(p);

	CHECK_NUMBER(load.left_ns, ==, 0);
	CHECK_NUMBER(load.waiting_count, ==, 0);
	CHECK_NUMBER(load.in_flight_count, ==, 0);
	CHECK_NUMBER(pipeline_weight_percent(&load, half_ns), ==, 100);
}

static _Atomic bool gate_is_open;

/* Keeps the worker. */
static void on_done_wait(struct upload *u)
{
	on_done(u);
	while (!atomic_load(&gate_is_open))
		(void)usleep(1000);
}

static void test_what_waits_is_counted_exactly(const struct cores *cores)
{
	static struct job blocker, waiting[3];
	char first[16];
	struct error why;
	uint64_t sum_ns = 0;

	(void)snprintf(first, sizeof(first), "%u", cores_cpu(cores, 0));

	struct cores *core = cores_new(first, why.text);
	struct pipeline *p = start(policy_find("cohort"), core, 1, 8);

	prepare(&blocker, photo_bytes, 0);
	blocker.upload.done = on_done_wait;
	CHECK(pipeline_submit(p, &blocker.upload));
	wait_done(&blocker);
	is_empty(p);
	for (uint32_t i = 0; i < 3; i++) {
		struct upload *u = &waiting[i].upload;
		struct pipeline_load load;

		prepare(&waiting[i], photo_bytes, i);
		set_variants(&waiting[i], i + 1);
		CHECK(pipeline_submit(p, u));
		CHECK_NUMBER(u->estimated_ns, >, 0);
		sum_ns += u->estimated_ns;
		load = pipeline_load(p);
		CHECK_NUMBER(load.left_ns, ==, sum_ns);
		CHECK_NUMBER(load.core_count, ==, 1);
		CHECK_NUMBER(load.waiting_count, ==, i + 1);
		CHECK_NUMBER(load.in_flight_count, ==, i + 1);
	}
	atomic_store(&gate_is_open, true);
	for (uint32_t i = 0; i < 3; i++) {
		wait_done(&waiting[i]);
		upload_free_results(&waiting[i].upload);
	}
	is_empty(p);
	pipeline_stop(p);
	upload_free_results(&blocker.upload);
	pipeline_free(p);
	cores_free(core);
}

static _Atomic uint32_t ask_count;

static bool is_gone_now(const struct upload *u)
{
	(void)u;
	return true;
}

/* The clients of some uploads disconnect between two steps. */
static bool is_gone_later(const struct upload *u)
{
	(void)u;
	return atomic_fetch_add(&ask_count, 1) % 5 == 4;
}

/* As if the upload had waited for most of its time. */
static bool waits_too_long(const struct upload *u)
{
	((struct upload *)u)->deadline_ns = clock_now_ns() + 1;
	return false;
}

static enum upload_end store_it(struct upload *u)
{
	(void)u;
	return UPLOAD_ENDED;
}

static enum upload_end store_is_full(struct upload *u)
{
	(void)u;
	return UPLOAD_STORE_FULL;
}

/* An upload that ends in one of all ways. */
static void prepare_kind(struct job *job, uint32_t kind)
{
	struct upload *u = &job->upload;

	prepare(job, kind == 1 ? photo_bytes / 2 : photo_bytes, 0);
	set_variants(job, 1 + kind % 3);
	u->deadline_ns = UINT64_MAX;
	switch (kind) {
	case 2:
		u->deadline_ns = 1;
		break;
	case 3:
		u->is_gone = is_gone_now;
		break;
	case 4:
	case 5:
		u->is_gone = is_gone_later;
		break;
	case 6:
		u->is_gone = waits_too_long;
		break;
	case 7:
		job->variants[0].transform.box =
			(struct img_size){ 20000, 20000 };
		job->variants[0].transform.enlarge = true;
		break;
	case 8:
		u->store = store_it;
		break;
	case 9:
		u->store = store_is_full;
		break;
	case 10:
		/* More memory than there is. */
		job->variants[0].transform.box =
			(struct img_size){ 4000, 4000 };
		job->variants[0].transform.enlarge = true;
		break;
	default:
		break;
	}
}

enum { KINDS = 11 };

static uint32_t end_counts[UPLOAD_NOT_STORED + 1];

static void submit_all(struct pipeline *p, struct job jobs[JOBS])
{
	for (uint32_t i = 0; i < JOBS; i++) {
		prepare_kind(&jobs[i], i % KINDS);
		if (!pipeline_submit(p, &jobs[i].upload))
			atomic_store(&jobs[i].done_count, 1);
	}
}

static void end_all(struct job jobs[JOBS])
{
	for (uint32_t i = 0; i < JOBS; i++) {
		struct upload *u = &jobs[i].upload;

		wait_done(&jobs[i]);
		end_counts[u->end]++;
		upload_free_results(u);
		budget_lower(&u->charge, 0);
	}
}

static void test_no_end_leaves_anything(const struct policy *policy,
					const struct cores *cores,
					uint32_t round_count)
{
	static struct job jobs[JOBS];
	struct pipeline_config c = job_config(policy, cores, JOBS - 4);
	struct pipeline *p;

	c.store_threads = 2;
	c.memory_bytes_max = MEMORY_BYTES;
	p = start_configured(&c);
	for (uint32_t i = 0; i < round_count; i++) {
		submit_all(p, jobs);
		end_all(jobs);
		is_empty(p);
	}
	submit_all(p, jobs);
	pipeline_abandon(p);
	end_all(jobs);
	is_empty(p);
	pipeline_stop(p);
	pipeline_free(p);
}

static void check_ends(void)
{
	static const enum upload_end ends[] = {
		UPLOAD_ENDED,      UPLOAD_MEMORY_FULL, UPLOAD_TOO_MUCH,
		UPLOAD_LATE,       UPLOAD_UNREACHABLE, UPLOAD_GONE,
		UPLOAD_STORE_FULL, UPLOAD_ABANDONED,
	};
	uint32_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(end_counts); i++) {
		printf("%zu: %u\n", i, end_counts[i]);
		sum += end_counts[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		CHECK_NUMBER(end_counts[ends[i]], >, 0);
	CHECK_NUMBER(sum, >, 2000);
}

int main(int argc, char **argv)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	CHECK_NUMBER(argc, ==, 2);
	CHECK(cores != NULL);
	read_photo(argv[1]);
	shrink_photo(cores, 64);
	test_weight_follows_the_work_of_each_core();
	test_what_waits_is_counted_exactly(cores);
	for (const struct policy *const *p = policy_list(); *p != NULL; p++)
		test_no_end_leaves_anything(*p, cores, 2);
	test_no_end_leaves_anything(policy_find("color"), cores, ROUNDS);
	check_ends();
	cores_free(cores);
	free(photo);
	return 0;
}
