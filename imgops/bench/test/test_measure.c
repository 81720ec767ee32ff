/* SPDX-License-Identifier: MIT */
/*
 * Promises: every file is counted once, either as accepted or as refused with
 * its reason; the sums of each kind cover only the accepted files; without a
 * measured pass, too.
 */
#include "imgops/bench/measure.h"
#include "imgops/bench/report.h"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

static struct file file_of(const char *name, struct bytes jpeg)
{
	return (struct file){ strdup(name), jpeg.data, jpeg.count };
}

static void make_folder(struct folder *f)
{
	struct jpeg_spec spec = { .width = 120,
				  .height = 90,
				  .picture = waves };
	struct bytes cut;

	f->files = calloc(4, sizeof(*f->files));
	f->count = 4;
	f->files[0] = file_of("a", jpeg_make(&spec));
	cut = jpeg_make(&spec);
	cut.count /= 2;
	f->files[1] = file_of("b", cut);
	spec.progressive = true;
	f->files[2] = file_of("c", jpeg_make(&spec));
	f->files[3] = file_of("d", (struct bytes){ calloc(1, 9), 9 });
}

static const struct bench_options options = {
	.transform = { .box = { 60, 60 }, .blur_sigma_px = 2, .quality = 80 },
	.passes = 2,
	.margin = 1,
	.floor = true,
};

static void test_counts_all(const struct folder *f)
{
	struct measure m;
	struct error error;
	struct heap h;
	struct total all, baseline, progressive;

	heap_init(&h);
	CHECK(measure_run(&m, f, &options, &h.memory, &error));
	CHECK_NUMBER(h.live_count, ==, 0);
	CHECK_NUMBER(m.row_count, ==, 4);
	CHECK_NUMBER(m.rows[0].first.err, ==, IMG_OK);
	CHECK_NUMBER(m.rows[2].first.err, ==, IMG_OK);
	CHECK_NUMBER(m.rows[1].first.err, ==, IMG_ERR_TRUNCATED);
	CHECK_NUMBER(m.rows[1].first.step, ==, STEP_DECODE);
	CHECK_NUMBER(m.rows[3].first.err, ==, IMG_ERR_UNKNOWN_FORMAT);
	CHECK_NUMBER(m.rows[3].first.step, ==, STEP_PROBE);
	CHECK_NUMBER(m.rows[0].first.view.size.width_px, ==, 60);
	CHECK_NUMBER(m.rows[0].first.dct_scale, ==, 8);
	CHECK_NUMBER(m.rows[0].peak_bytes, >, 60 * 45);
	CHECK_NUMBER(m.rows[0].alloc_count, >, 2);

	all = measure_total(&m, KIND_ALL);
	baseline = measure_total(&m, KIND_BASELINE);
	progressive = measure_total(&m, KIND_PROGRESSIVE);
	CHECK_NUMBER(all.images, ==, 2);
	CHECK_NUMBER(baseline.images, ==, 1);
	CHECK_NUMBER(progressive.images, ==, 1);
	CHECK_NUMBER(baseline.bytes_in, ==, f->files[0].size_bytes);
	CHECK_NUMBER(all.bytes_in, ==,
		     f->files[0].size_bytes + f->files[2].size_bytes);
	CHECK_NUMBER(all.cpu_s_all, >, 0);
	CHECK_NUMBER(all.floor_s_all, >, 0);
	CHECK_NUMBER(all.floor_s[STEP_SCALE], ==, 0);
	measure_release(&m);
}

/* No pass is measured, but all files are counted, and the report says which. */
static void test_no_pass(const struct folder *f)
{
	struct bench_options only = options;
	struct measure m;
	struct error error;
	struct heap h;
	char *text = NULL;
	size_t length = 0;
	FILE *out;

	only.passes = 0;
	only.floor = false;
	heap_init(&h);
	CHECK(measure_run(&m, f, &only, &h.memory, &error));
	CHECK_NUMBER(h.live_count, ==, 0);
	CHECK_NUMBER(measure_total(&m, KIND_ALL).images, ==, 2);
	CHECK_NUMBER(measure_total(&m, KIND_ALL).cpu_s_all, ==, 0);
	out = open_memstream(&text, &length);
	report_print(out, &m, &only);
	fclose(out);
	CHECK_PART(text, "refused               2 of 4");
	free(text);
	measure_release(&m);
}

int main(void)
{
	struct folder f = { 0 };

	make_folder(&f);
	test_counts_all(&f);
	test_no_pass(&f);
	folder_release(&f);
	return 0;
}
