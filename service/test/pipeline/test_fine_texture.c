/* SPDX-License-Identifier: MIT */
/*
 * Promises: an upload with texture that is too fine for its DCT scale is
 * estimated and charged again, and decoded at a larger scale, so its result has
 * no false stripes.  If --max-cpu, --memory or its deadline does not allow
 * that, it has a result all the same, at the usual scale.  Nothing stays
 * charged.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "imgops/imgops.h"
#include "imgops/test/support.h"
#include "stages/stage.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 1600, BOX = 160 };

static struct cores *cores;
static struct bytes cloth;

/* At 1/8 these stripes become stripes of 3 pixels of the result. */
static double stripes(uint32_t component, double x, double y)
{
	(void)y;
	return component > 0 ? 128 : 128 + 60 * sin(0.584 * x);
}

static void prepare_cloth(struct job *job)
{
	photo = cloth.data;
	photo_bytes = cloth.count;
	prepare(job, cloth.count, 0);
	job->variants[0].transform.box = (struct img_size){ BOX, BOX };
}

/* The estimates at both scales. */
static void estimate(struct img_cost *usual, struct img_cost *fine)
{
	const struct img_limits limits = job_config(NULL, NULL, 1).limits;
	struct img_transform transform = { .box = { BOX, BOX }, .quality = 80 };
	struct img_header h;
	struct img_view view;
	enum img_err err = img_probe(&h, cloth.data, cloth.count, &limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	view = img_fit(&h, &transform);
	*usual = img_cost(&h, &view, &transform);
	h.texture = IMG_TEXTURE_FINE;
	*fine = img_cost(&h, &view, &transform);
	CHECK_NUMBER(fine->cpu_ns, >, usual->cpu_ns);
	CHECK_NUMBER(fine->bytes, >, usual->bytes);
}

/* The standard deviation of luma. */
static double contrast(const struct variant *v)
{
	struct bytes jpeg = { v->jpeg, v->jpeg_bytes };
	struct heap h;

	heap_init(&h);

	struct image img = must_decode(jpeg, full_size, &h);
	const struct img_plane *p = &img.planes[0];
	double sum = 0, squares = 0, count = (double)p->width * p->height;

	for (uint32_t y = 0; y < p->height; y++)
		for (uint32_t x = 0; x < p->width; x++) {
			double value = sample(p, x, y);

			sum += value;
			squares += value * value;
		}
	img_release(&img);
	return sqrt(squares / count - sum / count * (sum / count));
}

/* The upload must have a result; returns its contrast. */
static double run(const struct pipeline_config *config, struct job *job,
		  struct pipeline_stats *stats)
{
	struct pipeline *p = start_configured(config);
	double found;

	CHECK(pipeline_submit(p, &job->upload));
	wait_done(job);
	pipeline_stop(p);
	pipeline_read(p, stats);
	CHECK_NUMBER(stats->left_ns, ==, 0);
	CHECK_NUMBER(stats->in_flight_count, ==, 0);
	CHECK_NUMBER(job->upload.end, ==, UPLOAD_ENDED);
	CHECK_NUMBER(job->upload.err, ==, IMG_OK);
	found = contrast(&job->variants[0]);
	upload_free_results(&job->upload);
	budget_lower(&job->upload.charge, 0);
	pipeline_read(p, stats);
	CHECK_NUMBER(stats->memory.used_bytes, ==, 0);
	CHECK_NUMBER(stats->buffers.live_count, ==, 0);
	pipeline_free(p);
	return found;
}

static const char *const policies[] = { "color", "capriccio",
					"thread-per-connection",
					"pool-per-stage" };

static void test_no_false_stripes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config c =
			job_config(policy_find(policies[i]), cores, 1);
		struct pipeline_stats stats;
		struct img_cost usual, fine;
		struct job job;

		estimate(&usual, &fine);
		prepare_cloth(&job);
		CHECK_NUMBER(run(&c, &job, &stats), <, 2);
		CHECK_NUMBER(stats.memory.peak_bytes, >=, fine.bytes);
	}
}

static void test_within_limits(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config cpu =
			job_config(policy_find(policies[i]), cores, 1);
		struct pipeline_config memory = cpu;
		struct pipeline_stats stats;
		struct img_cost usual, fine;
		struct job job;

		estimate(&usual, &fine);
		cpu.cpu_ns_max = (usual.cpu_ns + fine.cpu_ns) / 2;
		prepare_cloth(&job);
		CHECK_NUMBER(run(&cpu, &job, &stats), >, 5);

		prepare_cloth(&job);
		memory.memory_bytes_max = job.upload.jpeg_charge_bytes +
					  (usual.bytes + fine.bytes) / 2;
		CHECK_NUMBER(run(&memory, &job, &stats), >, 5);
		CHECK_NUMBER(stats.memory.peak_bytes, <, fine.bytes);
	}
}

int main(void)
{
	struct error why;
	struct jpeg_spec spec = { .width = SIDE,
				  .height = SIDE,
				  .picture = stripes };

	cores = cores_new(NULL, why.text);
	CHECK(cores != NULL);
	cloth = jpeg_make(&spec);
	test_no_false_stripes();
	test_within_limits();
	free(cloth.data);
	cores_free(cores);
	return 0;
}
