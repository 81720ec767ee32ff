/* SPDX-License-Identifier: MIT */
/*
 * Promises: of an upload with a border, variants that trim have what is inside,
 * decoded at the scale that this needs, and others have all of it.  What a new
 * border makes of the results is estimated, limited and charged again; uploads
 * wait for memory if the policy lets them.  Nothing stays charged.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/test/check.h"
#include "imgops/imgops.h"
#include "imgops/test/support.h"
#include "stages/stage.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIDE = 1600, LEFT = 500, TOP = 700, WIDTH = 400, HEIGHT = 300 };
enum { JOBS = 4 };

static struct cores *cores;
static struct bytes page;

/* White, with a picture whose stripes are seen only at a large scale. */
static double small_picture(uint32_t component, double x, double y)
{
	bool is_inside =
		x >= LEFT && x < LEFT + WIDTH && y >= TOP && y < TOP + HEIGHT;

	return component > 0 ? 128 : is_inside ? 100 + 60 * sin(x * 1.2) : 255;
}

/* A box that only what is inside fills, the same without trim, and a thumb. */
static void prepare_page(struct job *job)
{
	photo = page.data;
	photo_bytes = page.count;
	prepare(job, page.count, 0);
	job->upload.variant_count = 3;
	for (int i = 0; i < 3; i++)
		job->variants[i].transform =
			(struct img_transform){ .box = { 390, 390 },
						.trim = i == 1 ? 0 : 30,
						.quality = 80 };
	job->variants[2].transform.box = (struct img_size){ 40, 0 };
	job->variants[2].transform.rotation = IMG_ROTATE_90;
}

/* The cost of the first variant, before or after its border is known. */
static struct img_cost estimate(bool is_known)
{
	const struct img_limits limits = job_config(NULL, NULL, 1).limits;
	struct img_transform t = { .box = { 390, 390 },
				   .trim = 30,
				   .quality = 80 };
	struct image img = { 0 };
	struct img_header h;
	struct img_view view;
	struct heap heap;

	heap_init(&heap);
	CHECK_NUMBER(img_probe(&h, page.data, page.count, &limits), ==, IMG_OK);
	view = img_fit(&h, &t);
	if (is_known)
		CHECK_NUMBER(decode_inside_here(&img, page.data, page.count, &h,
						&view, &t, &limits,
						&heap.memory),
			     ==, IMG_OK);
	img_release(&img);
	return img_cost(&h, &view, &t);
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

static void check_size(const struct variant *v, double width, double height)
{
	CHECK_NUMBER(fabs(v->size.width_px - width), <=, 2);
	CHECK_NUMBER(fabs(v->size.height_px - height), <=, 2);
}

static void check_results(const struct job *job)
{
	CHECK_NUMBER(job->upload.end, ==, UPLOAD_ENDED);
	CHECK_NUMBER(job->upload.err, ==, IMG_OK);
	check_size(&job->variants[0], 390, 292.5);
	check_size(&job->variants[1], 390, 390);
	check_size(&job->variants[2], 40, 53);
	/* At a small scale there would be no stripes. */
	CHECK_NUMBER(contrast(&job->variants[0]), >, 25);
}

static const char *const policies[] = { "color", "capriccio",
					"thread-per-connection",
					"pool-per-stage" };

static void test_results_have_what_is_inside(void)
{
	static struct job jobs[JOBS];

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config c =
			job_config(policy_find(policies[i]), cores, JOBS);
		struct pipeline_stats stats;
		struct pipeline *p = start_configured(&c);

		for (uint32_t k = 0; k < JOBS; k++) {
			prepare_page(&jobs[k]);
			CHECK(pipeline_submit(p, &jobs[k].upload));
		}
		for (uint32_t k = 0; k < JOBS; k++) {
			wait_done(&jobs[k]);
			check_results(&jobs[k]);
		}
		pipeline_stop(p);
		for (uint32_t k = 0; k < JOBS; k++) {
			upload_free_results(&jobs[k].upload);
			budget_lower(&jobs[k].upload.charge, 0);
		}
		pipeline_read(p, &stats);
		CHECK_NUMBER(stats.memory.peak_bytes, >=, estimate(true).bytes);
		CHECK_NUMBER(stats.memory.used_bytes, ==, 0);
		CHECK_NUMBER(stats.buffers.live_count, ==, 0);
		CHECK_NUMBER(stats.left_ns, ==, 0);
		pipeline_free(p);
	}
}

/* One variant; returns how it ended. */
static enum upload_end run_limited(const struct pipeline_config *config)
{
	struct pipeline *p = start_configured(config);
	struct pipeline_stats stats;
	struct job job;

	prepare_page(&job);
	job.upload.variant_count = 1;
	CHECK(pipeline_submit(p, &job.upload));
	wait_done(&job);
	pipeline_stop(p);
	upload_free_results(&job.upload);
	budget_lower(&job.upload.charge, 0);
	pipeline_read(p, &stats);
	CHECK_NUMBER(stats.left_ns, ==, 0);
	CHECK_NUMBER(stats.memory.used_bytes, ==, 0);
	CHECK_NUMBER(stats.buffers.live_count, ==, 0);
	pipeline_free(p);
	return job.upload.end;
}

static void test_limits_are_for_what_is_inside(void)
{
	struct img_cost usual = estimate(false), inside = estimate(true);

	CHECK_NUMBER(inside.cpu_ns, >, usual.cpu_ns);
	CHECK_NUMBER(inside.bytes, >, 2 * usual.bytes);
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config cpu =
			job_config(policy_find(policies[i]), cores, 1);
		struct pipeline_config memory = cpu;

		cpu.cpu_ns_max = (usual.cpu_ns + inside.cpu_ns) / 2;
		CHECK_NUMBER(run_limited(&cpu), ==, UPLOAD_TOO_MUCH_CPU);
		memory.memory_bytes_max = (usual.bytes + inside.bytes) / 2;
		CHECK_NUMBER(run_limited(&memory), ==, UPLOAD_TOO_MUCH);
	}
}

static void wait_for_waiter(const struct budget *b)
{
	for (int i = 0; atomic_load(&b->waiting_count) == 0; i++) {
		CHECK_NUMBER(i, <, 60000);
		(void)usleep(1000);
	}
}

/* Memory that is enough for the usual scale only, until others give theirs. */
static void test_an_upload_waits_for_memory(void)
{
	struct img_cost usual = estimate(false), inside = estimate(true);
	struct pipeline_config c =
		job_config(policy_find("capriccio"), cores, 1);
	struct pipeline *p;
	struct charge other;
	struct job job;

	c.memory_bytes_max = 8 * inside.bytes;
	p = start_configured(&c);
	prepare_page(&job);
	job.upload.variant_count = 1;
	other = (struct charge){ .budget = pipeline_budget(p) };
	CHECK_NUMBER(
		budget_charge(&other, pipeline_budget(p)->limit_bytes -
					      (usual.bytes + inside.bytes) / 2),
		==, BUDGET_OK);
	CHECK(pipeline_submit(p, &job.upload));
	wait_for_waiter(pipeline_budget(p));
	budget_lower(&other, 0);
	wait_done(&job);
	CHECK_NUMBER(job.upload.end, ==, UPLOAD_ENDED);
	CHECK_NUMBER(job.upload.err, ==, IMG_OK);
	check_size(&job.variants[0], 390, 292.5);
	CHECK_NUMBER(contrast(&job.variants[0]), >, 25);
	pipeline_stop(p);
	upload_free_results(&job.upload);
	budget_lower(&job.upload.charge, 0);
	pipeline_free(p);
}

int main(void)
{
	struct error why;
	struct jpeg_spec spec = { .width = SIDE,
				  .height = SIDE,
				  .picture = small_picture };

	cores = cores_new(NULL, why.text);
	CHECK(cores != NULL);
	page = jpeg_make(&spec);
	test_results_have_what_is_inside();
	test_limits_are_for_what_is_inside();
	test_an_upload_waits_for_memory();
	free(page.data);
	cores_free(cores);
	return 0;
}
