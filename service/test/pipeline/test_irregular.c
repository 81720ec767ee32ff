/* SPDX-License-Identifier: MIT */
/*
 * usage: test_irregular PHOTO
 *
 * Promises: a file that cannot be decoded in the way that was estimated is
 * estimated again before it is decoded in another way.  If it then exceeds
 * --max-cpu, --memory or its deadline, it ends there; otherwise its charge and
 * the estimate of the work left are those of the new way, and it has a result.
 * If its client disconnects while it waits for memory, that is why it ends.
 * Nothing stays charged.  An intact file that needs all its scans is not one
 * that is decoded in full.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/imgops.h"
#include "imgops/test/support.h"
#include "service/pipeline/steps.h"
#include "stages/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cores *cores;

/* A cut photo, of which `strict=0` asks for what is left. */
static void prepare_cut(struct job *job)
{
	prepare(job, photo_bytes / 2, 0);
	job->variants[0].transform.lenient = true;
	job->variants[0].transform.box = (struct img_size){ 16, 16 };
}

/* The estimates of both ways. */
static void estimate(struct img_cost *usual, struct img_cost *irregular)
{
	static struct job job;
	const struct img_limits limits = job_config(NULL, NULL, 1).limits;
	struct img_header h;
	struct img_view view;
	enum img_err err;

	prepare_cut(&job);
	err = img_probe(&h, photo, photo_bytes / 2, &limits);
	CHECK_NUMBER(err, ==, IMG_OK);
	view = img_fit(&h, &job.variants[0].transform);
	*usual = img_cost(&h, &view, &job.variants[0].transform);
	h.is_irregular = true;
	*irregular = img_cost(&h, &view, &job.variants[0].transform);
	CHECK_NUMBER(irregular->cpu_ns, >, 2 * usual->cpu_ns);
	CHECK_NUMBER(irregular->bytes, >, 2 * usual->bytes);
}

/* The upload is sent; returns how it ended. */
static enum upload_end run(const struct pipeline_config *config,
			   struct job *job, struct pipeline_stats *stats)
{
	struct pipeline *p = start_configured(config);

	if (pipeline_submit(p, &job->upload))
		wait_done(job);
	pipeline_stop(p);
	pipeline_read(p, stats);
	CHECK_NUMBER(stats->left_ns, ==, 0);
	CHECK_NUMBER(stats->in_flight_count, ==, 0);
	if (job->upload.end == UPLOAD_ENDED && job->upload.err == IMG_OK) {
		CHECK_NUMBER(job->variants[0].jpeg_bytes, >, 0);
		upload_free_results(&job->upload);
		budget_lower(&job->upload.charge, 0);
	}
	pipeline_read(p, stats);
	CHECK_NUMBER(stats->memory.used_bytes, ==, 0);
	CHECK_NUMBER(stats->buffers.live_count, ==, 0);
	pipeline_free(p);
	return job->upload.end;
}

static const struct policy *policies[4];

static void find_policies(void)
{
	static const char *const names[] = { "color", "capriccio",
					     "thread-per-connection",
					     "pool-per-stage" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		policies[i] = policy_find(names[i]);
}

static void test_it_is_decoded(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config c = job_config(policies[i], cores, 1);
		struct pipeline_stats stats;
		struct img_cost usual, irregular;
		struct job job;

		estimate(&usual, &irregular);
		prepare_cut(&job);
		CHECK_NUMBER(run(&c, &job, &stats), ==, UPLOAD_ENDED);
		CHECK_NUMBER(job.upload.err, ==, IMG_OK);
		CHECK_NUMBER((job.variants[0].notes & IMG_NOTE_DAMAGED), !=, 0);
		CHECK_NUMBER(stats.memory.peak_bytes, >=, irregular.bytes);
	}
}

static void test_limits_hold(void)
{
	struct img_cost usual, irregular;

	estimate(&usual, &irregular);
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config cpu = job_config(policies[i], cores, 1);
		struct pipeline_config memory = cpu;
		struct pipeline_stats stats;
		struct job job;

		cpu.cpu_ns_max = (usual.cpu_ns + irregular.cpu_ns) / 2;
		prepare_cut(&job);
		CHECK_NUMBER(run(&cpu, &job, &stats), ==, UPLOAD_TOO_MUCH_CPU);
		CHECK_NUMBER(stats.sent_count, ==, 1);
		CHECK_NUMBER(stats.failed_count, ==, 1);

		memory.memory_bytes_max =
			2 * usual.bytes + (irregular.bytes - usual.bytes) / 4;
		prepare_cut(&job);
		CHECK_NUMBER(run(&memory, &job, &stats), ==, UPLOAD_TOO_MUCH);
		CHECK_NUMBER(stats.sent_count, ==, 1);
		CHECK_NUMBER(stats.failed_count, ==, 1);
	}
}

/* Decoded in full, it is larger than a result may be. */
static void test_a_large_file_is_not_decoded_in_full(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config c = job_config(policies[i], cores, 1);
		struct pipeline_stats stats;
		struct img_header h = { 0 };
		struct excess excess;
		struct job job;
		char text[256];
		enum img_err err =
			img_probe(&h, photo, photo_bytes / 2, &c.limits);

		CHECK_NUMBER(err, ==, IMG_OK);
		c.limits.result_pixels_max = img_pixels(h.stored);
		prepare_cut(&job);
		CHECK_NUMBER(run(&c, &job, &stats), ==, UPLOAD_ENDED);
		CHECK_NUMBER(job.upload.err, ==, IMG_OK);
		c.limits.result_pixels_max--;
		prepare_cut(&job);
		CHECK_NUMBER(run(&c, &job, &stats), ==, UPLOAD_ENDED);
		CHECK_NUMBER(job.upload.err, ==, IMG_ERR_TOO_LARGE);
		CHECK_NUMBER(stats.sent_count, ==, 1);
		CHECK_NUMBER(stats.failed_count, ==, 1);
		steps_explain(&job.upload, &c.limits, text, sizeof(text),
			      &excess);
		CHECK_PART(text, "in full; it has ");
		CHECK_PART(text, "--max-result-megapixels");
	}
}

static double page(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 190;
}

static double black(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 0;
}

static void test_a_large_file_may_need_all_scans(void)
{
	const struct jpeg_spec spec = { .width = 1203,
					.height = 1149,
					.picture = page,
					.hidden = black,
					.progressive = true };
	struct bytes jpeg = jpeg_make(&spec);

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config c = job_config(policies[i], cores, 1);
		struct pipeline_stats stats;
		struct job job;

		prepare(&job, photo_bytes, 0);
		job.upload.jpeg = jpeg.data;
		job.upload.jpeg_bytes = jpeg.count;
		job.variants[0].transform.box = (struct img_size){ 100, 100 };
		c.limits.result_pixels_max = spec.width * spec.height - 1;
		CHECK_NUMBER(run(&c, &job, &stats), ==, UPLOAD_ENDED);
		CHECK_NUMBER(job.upload.err, ==, IMG_OK);
		CHECK(jpeg_own(&job.upload.header)->needs_all_scans);
	}
	free(jpeg.data);
}

/* Intact, it would be in time. */
static void test_a_deadline_holds(void)
{
	struct pipeline_config c = job_config(policies[0], cores, 1);
	struct pipeline_stats stats;
	struct img_cost usual, irregular;
	struct job job;

	estimate(&usual, &irregular);
	prepare_cut(&job);
	/* The reply takes nearly all of the time. */
	job.upload.deadline_ns = clock_now_ns() + UINT64_C(3600000000000);
	job.upload.reply_ns = UINT64_C(3600000000000) - usual.cpu_ns * 2;
	/* On a slow machine it is late before it begins. */
	CHECK_NUMBER(run(&c, &job, &stats), ==, UPLOAD_UNREACHABLE);
}

/* Gone since it has waited for memory. */
static bool has_waited(const struct upload *u)
{
	static _Atomic bool is_gone;
	const struct budget *b = pipeline_budget(u->pipeline);

	if (atomic_load(&b->waiting_count) > 0)
		atomic_store(&is_gone, true);
	return atomic_load(&is_gone);
}

static void test_a_client_may_leave_while_it_waits(void)
{
	struct pipeline_config c =
		job_config(policy_find("capriccio"), cores, 1);
	struct img_cost usual, irregular;
	struct pipeline *p;
	struct charge other;
	struct job job;

	estimate(&usual, &irregular);
	c.memory_bytes_max = 8 * irregular.bytes;
	p = start_configured(&c);
	prepare_cut(&job);
	job.upload.is_gone = has_waited;
	/* What is left is enough for the usual way only. */
	other = (struct charge){ .budget = pipeline_budget(p) };
	CHECK_NUMBER(
		budget_charge(&other, pipeline_budget(p)->limit_bytes -
					      job.upload.jpeg_charge_bytes -
					      irregular.bytes),
		==, BUDGET_OK);
	CHECK(pipeline_submit(p, &job.upload));
	wait_done(&job);
	CHECK_NUMBER(job.upload.end, ==, UPLOAD_GONE);
	budget_lower(&job.upload.charge, 0);
	budget_lower(&other, 0);
	pipeline_stop(p);
	pipeline_free(p);
}

int main(int argc, char **argv)
{
	struct error why;

	CHECK_NUMBER(argc, ==, 2);
	cores = cores_new(NULL, why.text);
	CHECK(cores != NULL);
	read_photo(argv[1]);
	find_policies();
	test_it_is_decoded();
	test_limits_hold();
	test_a_large_file_is_not_decoded_in_full();
	test_a_large_file_may_need_all_scans();
	test_a_deadline_holds();
	test_a_client_may_leave_while_it_waits();
	free(photo);
	cores_free(cores);
	return 0;
}
