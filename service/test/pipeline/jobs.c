/* SPDX-License-Identifier: MIT */
#include "service/test/pipeline/jobs.h"

#include "base/test/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint8_t *photo;
size_t photo_bytes;

void read_photo(const char *path)
{
	FILE *f = fopen(path, "rb");

	CHECK(f != NULL);
	CHECK_NUMBER(fseek(f, 0, SEEK_END), ==, 0);
	photo_bytes = (size_t)ftell(f);
	rewind(f);
	photo = malloc(photo_bytes);
	CHECK(photo != NULL);
	CHECK_NUMBER(fread(photo, 1, photo_bytes, f), ==, photo_bytes);
	(void)fclose(f);
}

struct pipeline_config job_config(const struct policy *policy,
				  const struct cores *cores,
				  uint32_t uploads_max)
{
	struct pipeline_config c = {
		.cores = cores,
		.uploads_max = uploads_max,
		.limits = { 65500, 100000000, 64, UINT64_C(1) << 29, 0 },
		.memory_bytes_max = UINT64_MAX,
	};

	schedule_init(&c.schedule);
	c.schedule.policy = policy;
	c.schedule.part_count = 1;
	return c;
}

struct pipeline *start_configured(const struct pipeline_config *config)
{
	struct pipeline *p = pipeline_start(config);

	CHECK(p != NULL);
	return p;
}

struct pipeline *start_scheduled(const struct schedule *schedule,
				 const struct cores *cores,
				 uint32_t uploads_max, uint64_t pixels_max)
{
	struct pipeline_config c =
		job_config(schedule->policy, cores, uploads_max);

	c.schedule = *schedule;
	c.limits.pixels_max = pixels_max;
	return start_configured(&c);
}

struct pipeline *start(const struct policy *policy, const struct cores *cores,
		       uint32_t replicas, uint32_t uploads_max)
{
	struct pipeline_config c = job_config(policy, cores, uploads_max);

	c.schedule.part_count = replicas;
	if (replicas > 1)
		c.schedule.balance = BALANCE_REPLICATE;
	return start_configured(&c);
}

void prepare(struct job *job, size_t bytes, double blur)
{
	*job = (struct job){
		.upload = {
			.jpeg = photo,
			.jpeg_bytes = bytes,
			.variants = job->variants,
			.variant_count = 1,
			.done = on_done,
		},
		.variants[0].transform = {
			.box = { 160, 160 },
			.blur_sigma_px = blur,
			.quality = 80,
		},
	};
}

void on_done(struct upload *u)
{
	struct job *job = (struct job *)u;

	atomic_fetch_add(&job->done_count, 1);
}

void wait_done(struct job *job)
{
	for (int i = 0; atomic_load(&job->done_count) == 0; i++) {
		CHECK_NUMBER(i, <, 60000);
		(void)usleep(1000);
	}
}

void shrink_photo(const struct cores *cores, uint32_t side_px)
{
	static struct job job;
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 1);
	struct variant *v = &job.variants[0];

	prepare(&job, photo_bytes, 0);
	v->transform.box = (struct img_size){ side_px, side_px };
	CHECK(pipeline_submit(p, &job.upload));
	wait_done(&job);
	CHECK(v->jpeg != NULL);
	CHECK_NUMBER(v->jpeg_bytes, <, photo_bytes);
	memcpy(photo, v->jpeg, v->jpeg_bytes);
	photo_bytes = v->jpeg_bytes;
	pipeline_stop(p);
	upload_free_results(&job.upload);
	pipeline_free(p);
}
