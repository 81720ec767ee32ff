/* SPDX-License-Identifier: MIT */
/*
 * Promises: what an upload will be refused for is known as soon as its header
 * is there, not a byte earlier or later, and is what submitting it all gives.
 */
#include "service/pipeline/pipeline.h"

#include "stages/cores.h"

#include "imgops/test/support.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct img_limits limits = { 65500, 100000000, 64, 1 << 29 };

static void on_done(struct upload *u)
{
	(void)u;
}

static struct cores *cores;

static struct pipeline *start(const struct img_limits *allowed,
			      uint64_t memory_bytes_max)
{
	struct pipeline_config config = {
		.cores = cores,
		.uploads_max = 1,
		.limits = *allowed,
		.memory_bytes_max = memory_bytes_max,
	};

	schedule_init(&config.schedule);
	config.schedule.part_count = 1;

	struct pipeline *p = pipeline_start(&config);

	assert(p != NULL);
	return p;
}

static struct upload upload_of(struct bytes jpeg, struct variant *v)
{
	*v = (struct variant){ .recipe.quality = 80 };
	return (struct upload){
		.jpeg = jpeg.data,
		.jpeg_bytes = jpeg.count,
		.variants = v,
		.variant_count = 1,
		.done = on_done,
	};
}

/*
 * A pipeline that must refuse `jpeg`: by its first `known_at` bytes as by all
 * of them.
 */
static void check_refused(struct bytes jpeg, size_t known_at,
			  const struct img_limits *allowed,
			  uint64_t memory_bytes_max)
{
	struct pipeline *p = start(allowed, memory_bytes_max);
	struct variant v;
	struct upload whole = upload_of(jpeg, &v);
	struct budget_stats budget;

	if (pipeline_submit(p, &whole))
		assert(whole.end == UPLOAD_ENDED && whole.err != IMG_OK);
	for (size_t n = 1; n <= known_at; n++) {
		struct bytes some = { malloc(n), n }; /* sanitized ends */

		assert(some.data != NULL);
		memcpy(some.data, jpeg.data, n);
		struct upload u = upload_of(some, &v);

		u.charge.budget = pipeline_budget(p);
		assert(n == 1 || pipeline_peek(p, &u) == (n == known_at));
		if (n == known_at)
			assert(u.end == whole.end && u.err == whole.err);
		free(some.data);
	}
	budget_read(pipeline_budget(p), &budget);
	assert(budget.used_bytes == 0);
	pipeline_stop(p);
	pipeline_free(p);
}

/* Of all that is before the pixels. */
static size_t header_bytes(struct bytes jpeg)
{
	const uint8_t *sos = jpeg_marker(jpeg, 0xda);

	return (size_t)(sos - jpeg.data) - 2 + (size_t)(sos[-2] << 8 | sos[-1]);
}

static void test_refused_by_the_header(bool progressive)
{
	struct jpeg_spec spec = { .width = 320,
				  .height = 200,
				  .orientation = 6,
				  .progressive = progressive };
	struct bytes jpeg = jpeg_make(&spec);
	struct img_limits few = limits, small = limits;

	few.side_px_max = 319;
	small.pixels_max = 320 * 200 - 1;
	check_refused(jpeg, header_bytes(jpeg), &few, UINT64_MAX);
	check_refused(jpeg, header_bytes(jpeg), &small, UINT64_MAX);
	if (!progressive)
		check_refused(jpeg, header_bytes(jpeg), &limits, 200000);
	/* A frame of 12 bits, which is told apart behind the whole header. */
	*jpeg_marker(jpeg, progressive ? 0xc2 : 0xc0) = 12;
	check_refused(jpeg, header_bytes(jpeg), &limits, UINT64_MAX);
	/* No JPEG. */
	jpeg.data[1] = 'P';
	check_refused(jpeg, 2, &limits, UINT64_MAX);
	free(jpeg.data);
}

static void test_good_headers_pass(void)
{
	struct jpeg_spec spec = { .width = 320, .height = 200 };
	struct bytes jpeg = jpeg_make(&spec);
	struct pipeline *p = start(&limits, UINT64_MAX);
	struct variant v;
	struct upload u = upload_of(jpeg, &v);

	u.charge.budget = pipeline_budget(p);
	for (size_t n = 2; n <= jpeg.count; n++) {
		u.jpeg_bytes = n;
		assert(pipeline_peek(p, &u) == (n >= header_bytes(jpeg)));
		assert(u.end == UPLOAD_ENDED);
		assert(n < header_bytes(jpeg) || u.err == IMG_OK);
	}
	assert(u.charge.bytes == 0);
	pipeline_stop(p);
	pipeline_free(p);
	free(jpeg.data);
}

int main(void)
{
	const char *why;

	cores = cores_new(NULL, &why);
	assert(cores != NULL);
	test_refused_by_the_header(false);
	test_refused_by_the_header(true);
	test_good_headers_pass();
	cores_free(cores);
	return 0;
}
