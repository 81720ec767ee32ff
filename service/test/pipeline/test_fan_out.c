/* SPDX-License-Identifier: MIT */
/*
 * Promises for an upload with many variants, under every schedule: done() is
 * called once, and the pictures are the same as by single requests; those
 * without blur pass its stage by; if one variant fails, all of them end and no
 * memory is left; memory stays within the charge.
 */
#include "base/error.h"
#include "service/test/pipeline/jobs.h"

#include "base/test/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UPLOADS = 2, FEW = 4 };

/*
 * The greatest mean difference from a single request's picture, if that is
 * decoded at a smaller scale.
 */
#define DIFFERENCE_MAX 5.0

/*
 * Mixed transforms: sizes that need DCT scales from 1 to 8, and all other
 * fields.
 */
static struct img_transform transform_of(uint32_t i)
{
	uint32_t side = 40 + 16 * i;

	return (struct img_transform){
		.box = { side, i % 3 == 0 ? side / 2 : side },
		.fit = i % 3 == 0 ? IMG_FIT_COVER : IMG_FIT_INSIDE,
		.blur_sigma_px = i % 4 == 1 ? 1.5 : 0,
		.chroma = i % 8 == 4,
		.progressive = i % 8 == 6,
		.quality = 80,
	};
}

static void prepare_many(struct job *job, uint32_t count)
{
	prepare(job, photo_bytes, 0);
	job->upload.variant_count = count;
	for (uint32_t i = 0; i < count; i++)
		job->variants[i].transform = transform_of(i);
}

/*
 * The results of single requests, and which of them use the same DCT scale as
 * all variants together.
 */
static struct job singles[VARIANTS_MAX];
static bool is_same_scale[VARIANTS_MAX];

/* Returns the pipeline that owns their memory. */
static struct pipeline *make_singles(const struct cores *cores)
{
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 1);
	uint32_t dct_scale[VARIANTS_MAX], most = 0, same_count = 0;

	for (uint32_t i = 0; i < VARIANTS_MAX; i++) {
		struct upload *u = &singles[i].upload;
		struct variant *v = &singles[i].variants[0];

		prepare(&singles[i], photo_bytes, 0);
		v->transform = transform_of(i);
		CHECK(pipeline_submit(p, u));
		wait_done(&singles[i]);
		CHECK_NUMBER(u->err, ==, IMG_OK);
		dct_scale[i] =
			img_decode_scale(&u->header, &v->view, &v->transform);
		if (dct_scale[i] > most)
			most = dct_scale[i];
	}
	for (uint32_t i = 0; i < VARIANTS_MAX; i++) {
		is_same_scale[i] = dct_scale[i] == most;
		same_count += is_same_scale[i];
	}
	CHECK_NUMBER(same_count, >, 0);
	CHECK_NUMBER(same_count, <, VARIANTS_MAX);
	pipeline_stop(p);
	return p;
}

static void free_singles(struct pipeline *p)
{
	for (uint32_t i = 0; i < VARIANTS_MAX; i++)
		upload_free_results(&singles[i].upload);
	pipeline_free(p);
}

/* The luma of a result. */
static void decode_luma(struct image *out, const struct variant *v,
			const struct memory *memory)
{
	static const struct img_limits limits = { 65500, 1 << 24, 64, 1 << 28,
						  0 };
	struct img_transform transform = { .quality = 80 };
	struct img_header header;
	enum img_err err = img_probe(&header, v->jpeg, v->jpeg_bytes, &limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(header.stored.width_px, ==, v->size.width_px);
	CHECK_NUMBER(header.stored.height_px, ==, v->size.height_px);

	struct img_view view = img_fit(&header, &transform);

	err = img_decode(out, v->jpeg, v->jpeg_bytes, &header, &view,
			 &transform, &limits, memory);
	CHECK_NUMBER(err, ==, IMG_OK);
}

static double mean_difference(const struct img_plane *a,
			      const struct img_plane *b)
{
	double sum = 0;

	CHECK_NUMBER(a->width, ==, b->width);
	CHECK_NUMBER(a->height, ==, b->height);
	for (uint32_t y = 0; y < a->height; y++)
		for (uint32_t x = 0; x < a->width; x++)
			sum += abs(a->samples[y * a->stride_bytes + x] -
				   b->samples[y * b->stride_bytes + x]);
	return sum / a->width / a->height;
}

static void check_pictures(const struct job *job, const struct memory *memory)
{
	for (uint32_t i = 0; i < job->upload.variant_count; i++) {
		const struct variant *v = &job->variants[i];
		const struct variant *one = &singles[i].variants[0];
		struct image a = { 0 }, b = { 0 };

		CHECK(v->jpeg != NULL);
		CHECK_NUMBER(v->notes, ==, 0);
		if (is_same_scale[i]) {
			CHECK_NUMBER(v->jpeg_bytes, ==, one->jpeg_bytes);
			CHECK(memcmp(v->jpeg, one->jpeg, v->jpeg_bytes) == 0);
			continue;
		}
		decode_luma(&a, v, memory);
		decode_luma(&b, one, memory);
		CHECK_NUMBER(mean_difference(&a.planes[0], &b.planes[0]), <,
			     DIFFERENCE_MAX);
		img_release(&a);
		img_release(&b);
	}
}

/* After the stop every upload has ended, and no memory is in use. */
static void check_counts(const struct pipeline *p, uint64_t sent,
			 uint64_t finished)
{
	struct pipeline_stats s;

	pipeline_read(p, &s);
	CHECK_NUMBER(s.sent_count, ==, sent);
	CHECK_NUMBER(s.finished_count, ==, finished);
	CHECK_NUMBER(s.failed_count, ==, sent - finished);
	CHECK_NUMBER(s.in_flight_count, ==, 0);
	CHECK_NUMBER(s.buffers.live_count, ==, 0);
	CHECK_NUMBER(s.memory.used_bytes, ==, 0);
	for (uint32_t i = 0; i < s.steps.count; i++) {
		CHECK_NUMBER(s.stages[i].handled_count, ==,
			     s.stages[i].arrived_count);
		CHECK_NUMBER(s.stages[i].refused_count, ==, 0);
	}
}

/* Of the first `variant_count` variants. */
static uint32_t blurred_count(uint32_t variant_count)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < variant_count; i++)
		count += transform_of(i).blur_sigma_px > 0;
	return count;
}

/*
 * A step begins when the first variant begins it, and a variant's steps follow
 * each other.  One without blur may be encoded before others are blurred.
 */
static void check_times(const struct upload *u)
{
	for (int step = PIPELINE_DECODE; step <= PIPELINE_ENCODE; step++) {
		uint64_t first_ns = UINT64_MAX;

		for (uint32_t i = 0; i < u->variant_count; i++) {
			const uint64_t *begun_ns = u->variants[i].begun_ns;

			if (begun_ns[step] > 0 && begun_ns[step] < first_ns)
				first_ns = begun_ns[step];
			if (step > PIPELINE_SCALE && begun_ns[step] > 0)
				CHECK_NUMBER(begun_ns[step - 1], <,
					     begun_ns[step]);
		}
		CHECK_NUMBER(u->begun_ns[step], ==, first_ns);
		CHECK(step == PIPELINE_DECODE ||
		      u->begun_ns[PIPELINE_DECODE] <= first_ns);
		CHECK_NUMBER(u->service_ns[step], >, 0);
	}
}

static void test_same_pictures(const struct schedule *schedule,
			       const struct cores *cores)
{
	static struct job jobs[UPLOADS];
	struct pipeline *p =
		start_scheduled(schedule, cores, UPLOADS, 100000000);
	struct pipeline_stats s;

	for (int i = 0; i < UPLOADS; i++) {
		prepare_many(&jobs[i], VARIANTS_MAX);
		CHECK(pipeline_submit(p, &jobs[i].upload));
	}
	pipeline_stop(p);
	pipeline_read(p, &s);
	CHECK_NUMBER(s.memory.peak_bytes, >=, s.buffers.live_bytes_peak);
	/* Each upload counts once, whatever its number of variants. */
	CHECK_NUMBER(s.cleared_bytes, ==, UPLOADS * photo_bytes);
	CHECK_NUMBER(s.stages[pipeline_stage_index(&s.steps, PIPELINE_DECODE)]
			     .handled_count,
		     ==, UPLOADS);
	CHECK_NUMBER(s.stages[pipeline_stage_index(&s.steps, PIPELINE_BLUR)]
			     .handled_count,
		     ==, UPLOADS * blurred_count(VARIANTS_MAX));
	CHECK_NUMBER(s.stages[pipeline_stage_index(&s.steps, PIPELINE_ENCODE)]
			     .handled_count,
		     ==, UPLOADS * VARIANTS_MAX);
	for (int i = 0; i < UPLOADS; i++) {
		struct upload *u = &jobs[i].upload;

		CHECK_NUMBER(atomic_load(&jobs[i].done_count), ==, 1);
		CHECK_NUMBER(u->end, ==, UPLOAD_ENDED);
		CHECK_NUMBER(u->err, ==, IMG_OK);
		CHECK_NUMBER(atomic_load(&u->left_ns), ==, 0);
		CHECK_NUMBER(u->charge.bytes, ==, upload_result_bytes(u));
		check_pictures(&jobs[i], pipeline_memory(p));
		check_times(u);
		upload_free_results(u);
		budget_lower(&u->charge, 0);
	}
	check_counts(p, UPLOADS, UPLOADS);
	pipeline_free(p);
}

/* All valid combinations of policies and balances. */
static void test_every_schedule(const struct cores *cores)
{
	static const enum balance balances[] = {
		BALANCE_SHARED,
		BALANCE_REPLICATE,
		BALANCE_PARTITION,
	};
	struct error error;
	int count = 0;

	for (const struct policy *const *p = policy_list(); *p != NULL; p++) {
		for (int i = 0; i < 3; i++) {
			struct schedule schedule;

			schedule_init(&schedule);
			schedule.policy = *p;
			schedule.balance = balances[i];
			if (!schedule_complete(
				    &schedule,
				    pipeline_steps(STAGES_IMAGE).count,
				    cores_count(cores), error.text))
				continue;
			test_same_pictures(&schedule, cores);
			count++;
		}
	}
	CHECK_NUMBER(count, >=, 3);
}

/* The pipeline's allocator; the call that counts this down to 0 fails. */
static _Atomic int allocs_left;
static void *(*real_alloc)(void *arg, size_t bytes);

static void *alloc_or_fail(void *arg, size_t bytes)
{
	return atomic_fetch_sub(&allocs_left, 1) == 1 ? NULL :
							real_alloc(arg, bytes);
}

/*
 * Each allocation fails in turn: those for the file, some of which are
 * optional, and some for each variant.
 */
static void test_no_memory_for_one_ends_all(const struct cores *cores)
{
	static struct job job;
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 1);
	/* It belongs to the pool, so it is not really constant. */
	struct memory *memory = (struct memory *)pipeline_memory(p);
	struct upload *u = &job.upload;
	uint64_t sent = 0, finished = 0;

	real_alloc = memory->alloc;
	memory->alloc = alloc_or_fail;
	do {
		sent++;
		atomic_store(&allocs_left, (int)sent);
		prepare_many(&job, FEW);
		CHECK(pipeline_submit(p, u));
		wait_done(&job);
		CHECK_NUMBER(atomic_load(&job.done_count), ==, 1);
		CHECK_NUMBER(u->end, ==, UPLOAD_ENDED);
		CHECK(u->err == IMG_OK || u->err == IMG_ERR_NO_MEMORY);
		for (uint32_t i = 0; i < FEW; i++)
			CHECK_NUMBER((job.variants[i].jpeg != NULL), ==,
				     (u->err == IMG_OK));
		CHECK_NUMBER(u->charge.bytes, ==, upload_result_bytes(u));
		finished += u->err == IMG_OK;
		upload_free_results(u);
		budget_lower(&u->charge, 0);
	} while (atomic_load(&allocs_left) <= 0);
	CHECK_NUMBER(finished, <, sent / 4);
	CHECK_NUMBER(sent, >, 4 * FEW);
	pipeline_stop(p);
	check_counts(p, sent, finished);
	pipeline_free(p);
}

static _Atomic int looks_left;

static bool goes_after_some(const struct upload *u)
{
	(void)u;
	return atomic_fetch_sub(&looks_left, 1) <= 0;
}

/*
 * The client disconnects before one of the steps.  If one thread runs all
 * steps, it does not ask about the client again after that, because it takes no
 * further step.
 */
static void test_gone_once_ends_all(const struct policy *policy,
				    const struct cores *cores)
{
	/* Decode; of each variant, scale and encode; and blur, of some. */
	const uint32_t looks = 1 + FEW * 2 + blurred_count(FEW);
	static struct job job;
	struct pipeline *p = start(policy, cores, 1, 1);
	struct pipeline_stats s;
	struct upload *u = &job.upload;

	for (uint32_t i = 0; i <= looks; i++) {
		atomic_store(&looks_left, i);
		prepare_many(&job, FEW);
		u->is_gone = goes_after_some;
		CHECK(pipeline_submit(p, u));
		wait_done(&job);
		CHECK_NUMBER(atomic_load(&job.done_count), ==, 1);
		CHECK_NUMBER(u->end, ==,
			     (i < looks ? UPLOAD_GONE : UPLOAD_ENDED));
		if (policy->workers == POLICY_WORKERS_CALLER)
			CHECK_NUMBER(atomic_load(&looks_left), ==,
				     (i < looks ? -1 : 0));
		for (uint32_t k = 0; k < FEW; k++)
			CHECK_NUMBER((job.variants[k].jpeg != NULL), ==,
				     (i == looks));
	}
	pipeline_stop(p);
	upload_free_results(u);
	budget_lower(&u->charge, 0);
	pipeline_read(p, &s);
	CHECK_NUMBER(s.gone_count, ==, looks);
	check_counts(p, looks + 1, 1);
	pipeline_free(p);
}

/*
 * The limit holds for each result, not for the picture that is decoded for all.
 */
static void test_one_result_too_large_ends_all(const struct cores *cores)
{
	static struct job job;
	struct pipeline *p = start(policy_find("cohort"), cores, 1, 1);

	prepare_many(&job, FEW);
	job.variants[0].transform.box = (struct img_size){ 0, 0 };
	job.variants[2].transform.enlarge = true;
	job.variants[2].transform.box = (struct img_size){ 16000, 0 };
	CHECK(pipeline_submit(p, &job.upload));
	wait_done(&job);
	CHECK_NUMBER(job.upload.err, ==, IMG_ERR_TOO_LARGE);
	pipeline_stop(p);
	check_counts(p, 1, 0);
	pipeline_free(p);
}

int main(int argc, char **argv)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	CHECK_NUMBER(argc, ==, 2);
	CHECK(cores != NULL);
	read_photo(argv[1]);
	shrink_photo(cores, 500);

	struct pipeline *p = make_singles(cores);

	test_every_schedule(cores);
	test_no_memory_for_one_ends_all(cores);
	test_gone_once_ends_all(policy_find("cohort"), cores);
	test_gone_once_ends_all(policy_find("thread-per-connection"), cores);
	test_one_result_too_large_ends_all(cores);
	free_singles(p);
	cores_free(cores);
	free(photo);
	return 0;
}
