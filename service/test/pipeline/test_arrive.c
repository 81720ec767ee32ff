/* SPDX-License-Identifier: MIT */
/*
 * Promises: an upload that arrives slowly is decoded meanwhile, and has the
 * same result as one that comes at once, also if its bytes move, and if fine
 * texture is found on the way.  A picture that needs much memory for the bytes
 * that have come is not, nor while the memory is in use, nor with a policy
 * without workers.  What is forgotten, or fails, keeps no memory.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PIECE_BYTES = 40 << 10,
	PAUSE_US = 5000,
	TURNS_MAX = 100, /* until a thread is in time */
};

static struct cores *cores;
static struct img_size box = { 160, 160 };

/* A picture whose bytes arrive. */
struct arrival {
	struct job job;
	struct pipeline *pipeline;
	uint8_t *bytes; /* those that have come, in a block of their own */
};

static double noisy(uint32_t component, double x, double y)
{
	double noise = sin(x * 12.9898 + y * 78.233 + component) * 43758.5453;

	return waves(component, x, y) + 60 * (noise - floor(noise)) - 30;
}

/* Fine stripes below a gentle pattern. */
static double striped(uint32_t component, double x, double y)
{
	if (y < 300)
		return noisy(component, x, y);
	return component > 0 ? 128 : 128 + 60 * sin(0.584 * x);
}

static double flat(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 128;
}

static void use_picture(picture_fn *picture, uint32_t side)
{
	struct jpeg_spec spec = { .width = side,
				  .height = side,
				  .picture = picture };
	struct bytes jpeg = jpeg_make(&spec);

	free(photo);
	photo = jpeg.data;
	photo_bytes = jpeg.count;
}

static struct pipeline_config config(const char *policy)
{
	struct pipeline_config c = job_config(policy_find(policy), cores, 4);

	c.decodes_early = true;
	c.memory_bytes_max = 256 << 20;
	return c;
}

static void begin(struct arrival *a, struct pipeline *p)
{
	a->pipeline = p;
	a->bytes = NULL;
	prepare(&a->job, photo_bytes, 0);
	a->job.variants[0].transform.box = box;
	a->job.upload.charge.budget = pipeline_budget(p);
}

/* `count` bytes have come, and are at another address. */
static void move(struct arrival *a, size_t count)
{
	uint8_t *bytes = malloc(count);

	CHECK(bytes != NULL);
	memcpy(bytes, photo, count);
	pipeline_hold(&a->job.upload, 0);
	free(a->bytes);
	a->bytes = bytes;
	a->job.upload.jpeg = bytes;
	a->job.upload.jpeg_bytes = count;
}

/* All but the last bytes come. */
static void come(struct arrival *a)
{
	struct upload *u = &a->job.upload;
	bool is_known = false;

	for (size_t count = PIECE_BYTES; count < photo_bytes;
	     count += PIECE_BYTES) {
		move(a, count);
		if (is_known)
			pipeline_arrive(a->pipeline, u);
		else
			is_known = pipeline_peek(a->pipeline, u);
		CHECK_NUMBER(u->end, ==, UPLOAD_ENDED);
		(void)usleep(PAUSE_US);
	}
	CHECK(is_known);
}

/* All have come. */
static void end(struct arrival *a)
{
	move(a, photo_bytes);
	CHECK(pipeline_submit(a->pipeline, &a->job.upload));
	wait_done(&a->job);
	CHECK_NUMBER(a->job.upload.end, ==, UPLOAD_ENDED);
	free(a->bytes);
}

static uint64_t early_count(const struct pipeline *p)
{
	struct pipeline_stats stats;

	pipeline_read(p, &stats);
	return stats.early_count;
}

static void release(struct arrival *a)
{
	struct pipeline_stats stats;

	upload_free_results(&a->job.upload);
	budget_lower(&a->job.upload.charge, 0);
	pipeline_read(a->pipeline, &stats);
	CHECK_NUMBER(stats.memory.used_bytes, ==, 0);
	CHECK_NUMBER(stats.buffers.live_count, ==, 0);
	CHECK_NUMBER(stats.left_ns, ==, 0);
}

static void check_same(const struct pipeline_config *c)
{
	struct pipeline *p = start_configured(c);
	struct arrival at_once, slow;
	uint32_t turns = 0;

	begin(&at_once, p);
	end(&at_once);
	do {
		begin(&slow, p);
		come(&slow);
		end(&slow);
		CHECK_NUMBER(slow.job.upload.err, ==, IMG_OK);
		CHECK_NUMBER(slow.job.variants[0].jpeg_bytes, ==,
			     at_once.job.variants[0].jpeg_bytes);
		CHECK(memcmp(slow.job.variants[0].jpeg,
			     at_once.job.variants[0].jpeg,
			     slow.job.variants[0].jpeg_bytes) == 0);
		upload_free_results(&slow.job.upload);
		budget_lower(&slow.job.upload.charge, 0);
	} while (early_count(p) == 0 && ++turns < TURNS_MAX);
	CHECK_NUMBER(turns, <, TURNS_MAX);
	release(&at_once);
	pipeline_stop(p);
	pipeline_free(p);
}

static const char *const policies[] = { "color", "capriccio", "srpt",
					"pool-per-stage" };

static void check_policies(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct pipeline_config c = config(policies[i]);

		check_case("%s", policies[i]);
		check_same(&c);
	}
}

static void test_results_are_the_same(void)
{
	use_picture(noisy, 700);
	check_policies();
	use_picture(striped, 1400);
	check_policies();
}

/* With `c`, while others use `held` bytes, nothing is decoded early. */
static void check_not_early(const struct pipeline_config *c, uint64_t held)
{
	struct pipeline *p = start_configured(c);
	struct charge others = { .budget = pipeline_budget(p) };
	struct arrival a;

	CHECK_NUMBER(budget_charge(&others, held), ==, BUDGET_OK);
	begin(&a, p);
	come(&a);
	CHECK_NUMBER(early_count(p), ==, 0);
	end(&a);
	budget_lower(&others, 0);
	release(&a);
	pipeline_stop(p);
	pipeline_free(p);
}

static void test_what_is_not_decoded_early(void)
{
	struct pipeline_config c = config("color");

	use_picture(noisy, 700);
	c.decodes_early = false;
	check_not_early(&c, 0);
	c = config("thread-per-connection");
	check_not_early(&c, 0);
	c = config("color");
	check_not_early(&c, 150 << 20);
	/* A client that sends little takes little. */
	c = config("color");
	use_picture(flat, 3000);
	box = full_size;
	check_not_early(&c, 0);
	box = (struct img_size){ 160, 160 };
}

static void test_forgotten(void)
{
	struct pipeline_config c = config("color");
	struct pipeline *p = start_configured(&c);
	struct arrival a;

	use_picture(noisy, 700);
	for (int i = 0; i < 3; i++) {
		begin(&a, p);
		come(&a);
		pipeline_forget(&a.job.upload);
		free(a.bytes);
		release(&a);
	}
	pipeline_stop(p);
	pipeline_free(p);
}

static void test_damaged(void)
{
	struct pipeline_config c = config("color");
	struct pipeline *p = start_configured(&c);
	struct arrival a;

	use_picture(noisy, 700);
	memset(photo + photo_bytes / 2, 0xff, 100);
	begin(&a, p);
	come(&a);
	end(&a);
	CHECK_NUMBER(a.job.upload.err, ==, IMG_ERR_CORRUPT);
	release(&a);
	pipeline_stop(p);
	pipeline_free(p);
}

int main(void)
{
	struct error why;

	cores = cores_new(NULL, why.text);
	CHECK(cores != NULL);
	test_results_are_the_same();
	test_what_is_not_decoded_early();
	test_forgotten();
	test_damaged();
	free(photo);
	cores_free(cores);
	return 0;
}
