/* SPDX-License-Identifier: MIT */
/*
 * Promise: a file is analysed while its pieces arrive.  Whatever the pieces,
 * the answer is the same as for the whole file: the same refusal, header,
 * estimate and result.  This also holds for files that are cut or damaged.
 *
 * usage: test_analysis [FOLDER...] also tests the files in these folders; of
 * many, every fourth, or all with TEST_ALL in the environment
 */
#include "base/error.h"
#include "imgops/formats/jpeg/header.h"
#include "service/test/pipeline/jobs.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/test/check.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

enum {
	FILE_BYTES_MAX = 64 << 20,
	POSITIONS = 80,      /* in the first bytes of a file, all are tried, */
	MORE_POSITIONS = 64, /* and this number among all later bytes */
	/* For files made by this test: all positions. */
	MADE_POSITIONS = 1 << 20,
	MANY_FILES = 100,
};

static struct cores *cores;
static struct pipeline *pipeline;
static uint64_t check_count;

/* What is known about a file before it is decoded. */
struct answer {
	bool is_known;
	enum upload_end end;
	enum img_err err;
	struct img_header header;
	uint64_t estimated_ns, estimated_bytes;
	struct img_size size;
};

/* Copies are as long as the piece, so that sanitizers see their ends. */
static bool peek_copy(struct upload *u, struct bytes jpeg, size_t count)
{
	uint8_t *copy = malloc(count > 0 ? count : 1);
	bool is_known;

	CHECK(copy != NULL);
	memcpy(copy, jpeg.data, count);
	u->jpeg = copy;
	u->jpeg_bytes = count;
	is_known = pipeline_peek(pipeline, u);
	free(copy);
	return is_known;
}

static void prepare_job(struct job *job)
{
	prepare(job, 0, 0);
	job->upload.charge.budget = pipeline_budget(pipeline);
}

static struct answer answer_of(const struct upload *u, bool is_known)
{
	struct answer a = { .is_known = is_known,
			    .end = u->end,
			    .err = u->err };

	if (!is_known || u->err != IMG_OK)
		return a;
	a.header = u->header;
	a.estimated_ns = u->estimated_ns;
	a.estimated_bytes = u->estimated_bytes;
	a.size = img_result_size(&u->variants[0].view);
	return a;
}

static bool is_same_size(struct img_size a, struct img_size b)
{
	return a.width_px == b.width_px && a.height_px == b.height_px;
}

static bool are_same_pieces(const struct scans_kept *a,
			    const struct scans_kept *b)
{
	if (a->count != b->count || a->is_full != b->is_full)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->from[i] != b->from[i] || a->to[i] != b->to[i])
			return false;
	return true;
}

static bool is_same_jpeg(const struct jpeg_own *a, const struct jpeg_own *b)
{
	return a->is_arithmetic == b->is_arithmetic &&
	       a->scan_count == b->scan_count &&
	       a->scan_offset == b->scan_offset &&
	       a->has_one_scan == b->has_one_scan &&
	       a->has_huffman_tables == b->has_huffman_tables &&
	       a->dc_tables == b->dc_tables && a->ac_tables == b->ac_tables &&
	       are_same_pieces(&a->scans.kept[0], &b->scans.kept[0]) &&
	       are_same_pieces(&a->scans.kept[1], &b->scans.kept[1]);
}

/*
 * Compare all members that the steps read, but not the position of the parser.
 */
static bool is_same_header(const struct img_header *a,
			   const struct img_header *b)
{
	return is_same_size(a->stored, b->stored) &&
	       is_same_size(a->upright, b->upright) &&
	       a->orientation == b->orientation && a->space == b->space &&
	       a->component_count == b->component_count &&
	       memcmp(a->h_factors, b->h_factors, sizeof(a->h_factors)) == 0 &&
	       memcmp(a->v_factors, b->v_factors, sizeof(a->v_factors)) == 0 &&
	       a->is_progressive == b->is_progressive &&
	       a->icc_bytes == b->icc_bytes && a->profile == b->profile &&
	       a->bytes == b->bytes && a->format == b->format &&
	       (a->format != img_formats[IMG_FORMAT_JPEG] ||
		is_same_jpeg(jpeg_own(a), jpeg_own(b)));
}

static void assert_same(const struct answer *a, const struct answer *b)
{
	CHECK_NUMBER(a->is_known, ==, b->is_known);
	CHECK_NUMBER(a->end, ==, b->end);
	CHECK_NUMBER(a->err, ==, b->err);
	CHECK_NUMBER(a->estimated_ns, ==, b->estimated_ns);
	CHECK_NUMBER(a->estimated_bytes, ==, b->estimated_bytes);
	CHECK(is_same_size(a->size, b->size));
	CHECK(!a->is_known || a->err != IMG_OK ||
	      is_same_header(&a->header, &b->header));
	check_count++;
}

/* The answer if the first `count` bytes come at once. */
static struct answer answer_in_one(struct bytes jpeg, size_t count)
{
	struct job job;

	prepare_job(&job);
	return answer_of(&job.upload, peek_copy(&job.upload, jpeg, count));
}

/*
 * The bytes up to `first` come, then all of them.  A refusal of the first bytes
 * must be that of the whole file; if there is none, all answers must be equal.
 */
static void check_two_pieces(struct bytes jpeg, size_t first,
			     const struct answer *whole)
{
	struct answer in_two;
	struct job job;

	prepare_job(&job);
	if (peek_copy(&job.upload, jpeg, first) &&
	    (job.upload.err != IMG_OK || job.upload.end != UPLOAD_ENDED)) {
		CHECK_NUMBER(job.upload.err, ==, whole->err);
		CHECK_NUMBER(job.upload.end, ==, whole->end);
		return;
	}
	in_two = answer_of(&job.upload,
			   peek_copy(&job.upload, jpeg, jpeg.count));
	assert_same(&in_two, whole);
}

/*
 * The bytes come one by one; each time the answer is the same as if all of them
 * came at once.
 */
static void check_single_bytes(struct bytes jpeg, size_t count)
{
	struct job job;

	prepare_job(&job);
	for (size_t n = 2; n <= count; n++) {
		struct answer all = answer_in_one(jpeg, n), in_pieces;

		in_pieces =
			answer_of(&job.upload, peek_copy(&job.upload, jpeg, n));
		assert_same(&in_pieces, &all);
		if (all.is_known && all.err != IMG_OK)
			return; /* refused */
	}
}

/*
 * Submit the file after peeks at its first `step` bytes, twice as many and so
 * on.  `step` 0: without a peek.
 */
static void submit(struct job *job, struct bytes jpeg, size_t step)
{
	struct upload *u = &job->upload;
	bool is_refused = false;

	prepare_job(job);
	for (size_t n = step; n > 0 && n < jpeg.count && !is_refused; n *= 2)
		is_refused = peek_copy(u, jpeg, n) &&
			     (u->err != IMG_OK || u->end != UPLOAD_ENDED);
	u->jpeg = jpeg.data;
	u->jpeg_bytes = jpeg.count;
	if (is_refused)
		return;
	CHECK(pipeline_submit(pipeline, u));
	wait_done(job);
}

/* The steps give the same result with and without peeks. */
static void check_results(struct bytes jpeg)
{
	struct job one, other;
	const struct variant *a = &one.variants[0], *b = &other.variants[0];

	submit(&one, jpeg, 0);
	submit(&other, jpeg, 64);
	CHECK_NUMBER(one.upload.end, ==, other.upload.end);
	CHECK_NUMBER(one.upload.err, ==, other.upload.err);
	CHECK_NUMBER((a->jpeg == NULL), ==, (b->jpeg == NULL));
	if (a->jpeg != NULL) {
		CHECK_NUMBER(a->jpeg_bytes, ==, b->jpeg_bytes);
		CHECK(memcmp(a->jpeg, b->jpeg, a->jpeg_bytes) == 0);
		CHECK_NUMBER(a->notes, ==, b->notes);
	}
	upload_free_results(&one.upload);
	upload_free_results(&other.upload);
	budget_lower(&one.upload.charge, 0);
	budget_lower(&other.upload.charge, 0);
}

static void check_file(struct bytes jpeg, size_t positions)
{
	struct answer whole = answer_in_one(jpeg, jpeg.count);
	size_t some = jpeg.count < positions ? jpeg.count : positions;

	for (size_t n = 2; n < some; n++)
		check_two_pieces(jpeg, n, &whole);
	for (size_t i = 1; some < jpeg.count && i < MORE_POSITIONS; i++)
		check_two_pieces(
			jpeg, some + (jpeg.count - some) * i / MORE_POSITIONS,
			&whole);
	check_results(jpeg);
}

static void test_made_files(void)
{
	static const struct jpeg_spec specs[] = {
		{ .width = 40, .height = 24, .orientation = 6 },
		{ .width = 40, .height = 24, .progressive = true },
		{ .width = 33, .height = 17, .separate_scans = true },
		{ .width = 33, .height = 17, .arithmetic = true },
		{ .width = 24, .height = 24, .space = JCS_GRAYSCALE },
		{ .width = 24, .height = 24, .space = JCS_CMYK },
		{ .width = 24,
		  .height = 24,
		  .progressive = true,
		  .restart_interval = 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bytes jpeg = jpeg_make(&specs[i]), cut;

		check_file(jpeg, MADE_POSITIONS);
		check_single_bytes(jpeg, jpeg.count);
		/* Cut anywhere. */
		cut = jpeg;
		for (cut.count = 2; cut.count < jpeg.count;
		     cut.count += 1 + cut.count / 16)
			check_file(cut, MADE_POSITIONS);
		free(jpeg.data);
	}
}

/* Change each byte of a header, whatever it means. */
static void test_damaged_files(void)
{
	static const struct jpeg_spec specs[] = {
		{ .width = 32, .height = 16 },
		{ .width = 32, .height = 16, .progressive = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bytes jpeg = jpeg_make(&specs[i]);

		for (size_t at = 2; at < jpeg.count; at++) {
			struct answer whole;
			uint8_t before = jpeg.data[at];

			jpeg.data[at] = at % 3 == 0 ? 0xff : before ^ 0x41;
			whole = answer_in_one(jpeg, jpeg.count);
			for (size_t n = 2; n < jpeg.count; n += 1 + n / 8)
				check_two_pieces(jpeg, n, &whole);
			if (at % 8 == 0)
				check_results(jpeg);
			jpeg.data[at] = before;
		}
		free(jpeg.data);
	}
}

static void check_folder(const char *dir)
{
	struct folder_list list = { .count = 0 };
	struct error error;
	bool ok = folder_list_read(&list, dir, FOLDER_JPEGS, NULL, &error);
	bool has_all = list.count < MANY_FILES || getenv("TEST_ALL") != NULL;

	CHECK(ok);
	CHECK_NUMBER(list.count, >, 0);
	for (size_t i = 0; i < list.count; i += has_all ? 1 : 4) {
		struct bytes jpeg;
		const char *why;

		jpeg.data = (uint8_t *)file_read_bytes(
			list.files[i].path, FILE_BYTES_MAX, &jpeg.count, &why);
		CHECK(jpeg.data != NULL);
		check_file(jpeg, POSITIONS);
		free(jpeg.data);
	}
	folder_list_release(&list);
}

int main(int argc, char **argv)
{
	struct pipeline_config config;
	struct budget_stats budget;
	struct error why;

	cores = cores_new(NULL, why.text);
	CHECK(cores != NULL);
	config = job_config(policy_find("cohort"), cores, 1);
	pipeline = start_configured(&config);
	test_made_files();
	test_damaged_files();
	for (int i = 1; i < argc; i++)
		check_folder(argv[i]);
	(void)printf("%llu answers compared\n",
		     (unsigned long long)check_count);
	budget_read(pipeline_budget(pipeline), &budget);
	CHECK_NUMBER(budget.used_bytes, ==, 0);
	pipeline_stop(pipeline);
	pipeline_free(pipeline);
	cores_free(cores);
	return 0;
}
