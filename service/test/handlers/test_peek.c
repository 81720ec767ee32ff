/* SPDX-License-Identifier: MIT */
/*
 * Promises: whether an upload will be refused, and why, is known as soon as its
 * header has arrived, not a byte earlier or later; submitting the whole file
 * gives the same problem; refusals for size, work and memory name the numbers
 * and the flag.
 */
#include "base/error.h"
#include "service/pipeline/pipeline.h"

#include "stages/stage.h"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

static void on_done(struct upload *u)
{
	(void)u;
}

static struct cores *cores;

static const struct pipeline_config usual = {
	.uploads_max = 1,
	.limits = { 65500, 100000000, 64, 1 << 29, 0 },
	.memory_bytes_max = UINT64_MAX,
};

static struct pipeline *start(struct pipeline_config config)
{
	config.cores = cores;
	schedule_init(&config.schedule);
	config.schedule.part_count = 1;

	struct pipeline *p = pipeline_start(&config);

	CHECK(p != NULL);
	return p;
}

static struct upload upload_of(struct bytes jpeg, struct variant *v)
{
	*v = (struct variant){ .transform.quality = 80 };
	return (struct upload){
		.jpeg = jpeg.data,
		.jpeg_bytes = jpeg.count,
		.variants = v,
		.variant_count = 1,
		.done = on_done,
	};
}

/*
 * The pipeline must refuse `jpeg`, from its first `known_at` bytes as well as
 * from the whole file.  `why`: words of the explanation; "": there is none.
 */
static void check_refused(struct bytes jpeg, size_t known_at,
			  const struct pipeline_config *config, const char *why)
{
	struct pipeline *p = start(*config);
	struct variant v;
	struct upload whole = upload_of(jpeg, &v);
	struct budget_stats budget;
	char text[256] = "";
	struct excess excess = { .unit = NULL };

	if (pipeline_submit(p, &whole))
		CHECK(whole.end != UPLOAD_ENDED || whole.err != IMG_OK);
	pipeline_explain(p, &whole, text, sizeof(text), &excess);
	CHECK_NUMBER((text[0] == '\0'), ==, (why[0] == '\0'));
	CHECK_NUMBER((excess.unit == NULL), ==, (why[0] == '\0'));
	CHECK(why[0] == '\0' || excess.value > excess.limit);
	CHECK_PART(text, why);
	for (size_t n = 1; n <= known_at; n++) {
		/* A copy, so that sanitizers see its end. */
		struct bytes some = { malloc(n), n };

		CHECK(some.data != NULL);
		memcpy(some.data, jpeg.data, n);
		struct upload u = upload_of(some, &v);

		u.charge.budget = pipeline_budget(p);
		CHECK(n == 1 || pipeline_peek(p, &u) == (n == known_at));
		if (n == known_at)
			CHECK(u.end == whole.end && u.err == whole.err);
		free(some.data);
	}
	budget_read(pipeline_budget(p), &budget);
	CHECK_NUMBER(budget.used_bytes, ==, 0);
	pipeline_stop(p);
	pipeline_free(p);
}

/* The bytes of everything before the pixels. */
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
	struct pipeline_config side = usual, pixels = usual, memory = usual;
	struct pipeline_config output = usual, cpu = usual, result = usual;

	side.limits.side_px_max = 319;
	check_refused(jpeg, header_bytes(jpeg), &side,
		      "320 x 200 pixels; --max-side allows 319.");
	pixels.limits.pixels_max = 320 * 200 - 1;
	check_refused(jpeg, header_bytes(jpeg), &pixels,
		      "320 x 200 pixels, 0.064 megapixels; --max-megapixels "
		      "allows 0.063999 megapixels.");
	result.limits.result_pixels_max = 320 * 200 - 1;
	check_refused(jpeg, header_bytes(jpeg), &result,
		      "A result asked for has 200 x 320 pixels, 0.064 "
		      "megapixels; --max-result-megapixels allows 0.063999 "
		      "megapixels.");
	output.output_pixels_max = 320 * 200 - 1;
	check_refused(jpeg, header_bytes(jpeg), &output,
		      "have 0.064 megapixels together; "
		      "--max-output-megapixels allows 0.063999 megapixels.");
	cpu.cpu_ns_max = 1000;
	check_refused(jpeg, header_bytes(jpeg), &cpu,
		      " s of CPU time; --max-cpu allows 0.000001 s.");
	memory.memory_bytes_max = 200000;
	if (!progressive)
		check_refused(jpeg, header_bytes(jpeg), &memory,
			      " KiB of memory; --memory leaves ");
	/*
	 * A frame of 12 bits, which is recognised only after the whole header.
	 */
	*jpeg_marker(jpeg, progressive ? 0xc2 : 0xc0) = 12;
	check_refused(jpeg, header_bytes(jpeg), &usual, "");
	/* No JPEG. */
	jpeg.data[1] = 'P';
	check_refused(jpeg, 2, &usual, "");
	free(jpeg.data);
}

static void test_good_headers_pass(void)
{
	struct jpeg_spec spec = { .width = 320, .height = 200 };
	struct bytes jpeg = jpeg_make(&spec);
	struct pipeline *p = start(usual);
	struct variant v;
	struct upload u = upload_of(jpeg, &v);

	u.charge.budget = pipeline_budget(p);
	for (size_t n = 2; n <= jpeg.count; n++) {
		u.jpeg_bytes = n;
		CHECK_NUMBER(pipeline_peek(p, &u), ==,
			     (n >= header_bytes(jpeg)));
		CHECK_NUMBER(u.end, ==, UPLOAD_ENDED);
		CHECK(n < header_bytes(jpeg) || u.err == IMG_OK);
	}
	CHECK_NUMBER(u.charge.bytes, ==, 0);
	pipeline_stop(p);
	pipeline_free(p);
	free(jpeg.data);
}

/*
 * Without variants only the file is checked, as in a form whose parameters may
 * follow the file.
 */
static void test_without_variants_the_file_is_judged(void)
{
	struct jpeg_spec spec = { .width = 320, .height = 200 };
	struct bytes jpeg = jpeg_make(&spec);
	struct pipeline_config config = usual;
	struct upload u = { .jpeg = jpeg.data };
	struct pipeline *p;

	config.cpu_ns_max = 1;
	config.output_pixels_max = 1;
	p = start(config);
	u.jpeg_bytes = header_bytes(jpeg) - 1;
	CHECK(!pipeline_peek(p, &u));
	u.jpeg_bytes++;
	CHECK(pipeline_peek(p, &u));
	CHECK_NUMBER(u.end, ==, UPLOAD_ENDED);
	CHECK_NUMBER(u.err, ==, IMG_OK);
	pipeline_stop(p);
	pipeline_free(p);

	config.limits.side_px_max = 319;
	p = start(config);
	u = (struct upload){ .jpeg = jpeg.data, .jpeg_bytes = jpeg.count };
	CHECK(pipeline_peek(p, &u));
	CHECK_NUMBER(u.end, ==, UPLOAD_ENDED);
	CHECK_NUMBER(u.err, ==, IMG_ERR_TOO_LARGE);
	pipeline_stop(p);
	pipeline_free(p);
	free(jpeg.data);
}

/* The limits count all results together; exactly the limit is still allowed. */
static void test_limits_are_of_all_results(void)
{
	struct jpeg_spec spec = { .width = 32, .height = 20 };
	struct bytes jpeg = jpeg_make(&spec);
	struct pipeline_config config = usual;
	struct variant v[3];
	struct upload u = upload_of(jpeg, v);
	uint64_t one_ns;

	config.output_pixels_max = 3 * 320 * 200;
	struct pipeline *p = start(config);

	v[0].transform.enlarge = true;
	v[0].transform.box = (struct img_size){ 320, 200 };
	v[1] = v[0];
	v[2] = v[0];
	u.jpeg_bytes = header_bytes(jpeg);
	CHECK(pipeline_peek(p, &u));
	CHECK_NUMBER(u.end, ==, UPLOAD_ENDED);
	one_ns = u.estimated_ns;
	u.variant_count = 3;
	CHECK(pipeline_peek(p, &u));
	CHECK_NUMBER(u.end, ==, UPLOAD_ENDED);
	CHECK_NUMBER(u.estimated_ns, >, one_ns);
	v[1].transform.box = (struct img_size){ 321, 201 };
	CHECK(pipeline_peek(p, &u));
	CHECK_NUMBER(u.end, ==, UPLOAD_TOO_MUCH_OUTPUT);
	pipeline_stop(p);
	pipeline_free(p);

	config.output_pixels_max = 0;
	config.cpu_ns_max = 2 * one_ns;
	p = start(config);
	CHECK(pipeline_peek(p, &u));
	CHECK_NUMBER(u.end, ==, UPLOAD_TOO_MUCH_CPU);
	u.variant_count = 1;
	CHECK(pipeline_peek(p, &u));
	CHECK_NUMBER(u.end, ==, UPLOAD_ENDED);
	pipeline_stop(p);
	pipeline_free(p);
	free(jpeg.data);
}

int main(void)
{
	struct error why;

	cores = cores_new(NULL, why.text);
	CHECK(cores != NULL);
	test_refused_by_the_header(false);
	test_refused_by_the_header(true);
	test_good_headers_pass();
	test_without_variants_the_file_is_judged();
	test_limits_are_of_all_results();
	cores_free(cores);
	return 0;
}
