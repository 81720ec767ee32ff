/* SPDX-License-Identifier: MIT */
/*
 * Promises: a good pipeline stays within its bounds, worse results get worse
 * scores, also if a photo is compared several times, and files that cannot be
 * compared are named.
 */
#include "imgops/bench/quality.h"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct bench_options options = {
	.transform = { .box = { 80, 80 }, .blur_sigma_px = 1, .quality = 95 },
	.margin = 1,
};

static struct file file_of(const char *name, struct bytes jpeg)
{
	return (struct file){ strdup(name), jpeg.data, jpeg.count };
}

/* A file of every orientation, and one that is cut off. */
static void make_folder(struct folder *f)
{
	struct jpeg_spec spec = { .width = 203,
				  .height = 151,
				  .picture = waves,
				  .h = { 2, 1, 1 },
				  .v = { 2, 1, 1 } };
	struct bytes cut = jpeg_make(&spec);

	f->files = calloc(9, sizeof(*f->files));
	for (uint32_t o = 1; o <= 8; o++) {
		char name[] = { (char)('0' + o), '\0' };

		spec.orientation = o;
		f->files[f->count++] = file_of(name, jpeg_make(&spec));
	}
	cut.count /= 2;
	f->files[f->count++] = file_of("cut", cut);
}

static void test_every_step_is_good(const struct folder *f)
{
	struct heap h;
	struct quality q;

	heap_init(&h);
	q = quality_run(f, &options, &h.memory);
	CHECK_NUMBER(h.live_count, ==, 0);
	for (int m = 0; m <= METRIC_ENCODED; m++)
		CHECK_NUMBER(q.spreads[m].count, ==, 8);
	CHECK_NUMBER(q.spreads[METRIC_SSIM].least, >, 0.99);
	CHECK_NUMBER(q.spreads[METRIC_LEVELS].most, <=, 2);
	CHECK_NUMBER(q.spreads[METRIC_BLUR].least, >=, 45);
	CHECK_NUMBER(q.spreads[METRIC_ENCODED].least, >, 35);
	CHECK_NUMBER(q.skipped_count, ==, 1);
	CHECK_TEXT(q.skipped[0].path, "cut");
	quality_release(&q);
}

/*
 * Save the result of `transform` for `file`, as if another program had made it.
 */
static void save(const char *dir, const struct file *file,
		 const struct img_transform *transform, struct heap *h)
{
	struct run_job job = { .transform = transform,
			       .memory = &h->memory,
			       .margin = 1 };
	struct run b = run_file(file, &job);
	struct error error;

	CHECK_NUMBER(b.err, ==, IMG_OK);
	CHECK(file_write(dir, file->path, b.jpeg, b.jpeg_bytes, &error));
	run_release(&b, &job);
}

static void test_scores_by_likeness(const struct folder *f)
{
	char dir[] = "/tmp/imgops_bench.XXXXXX";
	struct img_transform transform = { .box = { 80, 80 }, .quality = 95 };
	struct bench_options o = options;
	struct quality q;
	struct heap h;

	heap_init(&h);
	CHECK(mkdtemp(dir) != NULL);
	save(dir, &f->files[0], &transform, &h);
	transform.blur_sigma_px = 3;
	save(dir, &f->files[4], &transform, &h);
	transform.box.width_px = 70;
	save(dir, &f->files[2], &transform, &h);
	o.score = dir;
	q = quality_run(f, &o, &h.memory);
	CHECK_NUMBER(q.spreads[METRIC_SSIM].count, ==, 2);
	CHECK_NUMBER(q.spreads[METRIC_BLUR].count, ==, 0);
	CHECK_TEXT(q.spreads[METRIC_SSIM].least_path, "5");
	CHECK_TEXT(q.spreads[METRIC_SSIM].most_path, "1");
	CHECK_NUMBER(q.spreads[METRIC_SSIM].most, >, 0.98);
	CHECK_NUMBER(q.spreads[METRIC_SSIM].least, <,
		     q.spreads[METRIC_SSIM].most - 0.01);
	for (int m = METRIC_GAMMA; m <= METRIC_LINEAR; m++) {
		CHECK_NUMBER(q.spreads[m].count, ==, 2);
		CHECK_NUMBER(q.rows[0].values[m], >, q.rows[4].values[m] + 20);
		CHECK(isnan(q.rows[1].values[m]));
	}
	CHECK_NUMBER(q.rows[0].values[METRIC_GAMMA], >, 80);
	CHECK_NUMBER(q.rows[0].result_bytes, >, q.rows[4].result_bytes);
	CHECK_NUMBER(q.rows[1].result_bytes, ==, 0);
	CHECK_NUMBER(q.skipped_count, ==, 7); /* all but 1 and 5 */
	CHECK_TEXT(q.skipped[1].path, "3");
	CHECK_PART(q.skipped[1].why, "size");
	quality_release(&q);
	for (int i = 0; i < 5; i += 2) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", dir, f->files[i].path);
		CHECK_NUMBER(remove(path), ==, 0);
	}
	CHECK_NUMBER(remove(dir), ==, 0);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* A photo under several names has the scores that it has under one. */
static void test_references_are_kept(const struct folder *f)
{
	char dir[] = "/tmp/imgops_bench.XXXXXX";
	struct img_transform transform = { .box = { 80, 80 }, .quality = 95 };
	struct file files[4];
	struct folder all = { files, 4 }, last = { &files[3], 1 };
	struct bench_options o = options;
	struct quality q, alone;
	struct heap h;
	char path[64];

	heap_init(&h);
	CHECK(mkdtemp(dir) != NULL);
	o.score = dir;
	for (int i = 0; i < 4; i++) {
		files[i] = f->files[i == 2 ? 4 : 0]; /* another one between */
		snprintf(path, sizeof(path), "%d", i);
		files[i].path = strdup(path);
		transform.quality = 95 - 10 * i;
		save(dir, &files[i], &transform, &h);
	}
	q = quality_run(&all, &o, &h.memory);
	alone = quality_run(&last, &o, &h.memory);
	for (int m = METRIC_GAMMA; m <= METRIC_LINEAR; m++) {
		CHECK_NUMBER(q.spreads[m].count, ==, 4);
		CHECK_NUMBER(q.rows[0].values[m], >, q.rows[1].values[m]);
		CHECK(q.rows[3].values[m] == alone.rows[0].values[m]);
	}
	CHECK(q.rows[3].values[METRIC_PSNR] ==
	      alone.rows[0].values[METRIC_PSNR]);
	CHECK_NUMBER(q.rows[2].values[METRIC_GAMMA], >, 50);
	quality_release(&q);
	quality_release(&alone);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		CHECK_NUMBER(remove(path), ==, 0);
		free(files[i].path);
	}
	CHECK_NUMBER(remove(dir), ==, 0);
	CHECK_NUMBER(h.live_count, ==, 0);
}

int main(void)
{
	struct folder f = { 0 };

	make_folder(&f);
	test_every_step_is_good(&f);
	test_scores_by_likeness(&f);
	test_references_are_kept(&f);
	folder_release(&f);
	return 0;
}
