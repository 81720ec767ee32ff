/* SPDX-License-Identifier: MIT */
/*
 * Promises of the express lane: only small uploads use it, only while all
 * workers are busy with large ones, and only as many as it can serve soon.  An
 * upload that uses it gets the same bytes and errors, and ends once.  Without a
 * lane no upload uses it.
 */
#include "service/pipeline/pipeline.c"
#include "service/test/jobs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 2, SMALL = 8, VARIANTS = 3, MS = 1000000 };

static void test_choice(void)
{
	const struct express_view busy = {
		.limit_ns = 5 * MS,
		.core_count = 2,
		.large_count = 2,
	};
	struct express_view view = busy;

	assert(express_is_better(&view, 1));
	assert(express_is_better(&view, 5 * MS - 1));
	assert(!express_is_better(&view, 5 * MS));
	view.large_count = 1; /* a worker is free, or soon is */
	assert(!express_is_better(&view, 1));
	view.large_count = 200;
	assert(express_is_better(&view, 1));

	view = busy;
	while (express_is_better(&view, 2 * MS))
		view.queued_ns += 2 * MS;
	assert(view.queued_ns >= view.limit_ns);
	assert(view.queued_ns <= 10 * view.limit_ns);

	view = busy;
	view.limit_ns = 0; /* there is no lane */
	assert(!express_is_better(&view, 0));
}

static struct job large[LARGE], small[SMALL], last;

static struct pipeline *start_with_express(const struct policy *policy,
					   const struct cores *cores,
					   uint64_t express_ns)
{
	struct pipeline_config c = job_config(policy, cores, LARGE + SMALL);

	c.store_threads = 1;
	c.express_ns = express_ns;
	return start_configured(&c);
}

/*
 * A large upload: its estimated work is at least three times that of a small
 * one.
 */
static void prepare_large(struct job *job)
{
	prepare(job, photo_bytes, 2);
	job->variants[0].transform.box = (struct img_size){ 1000, 1000 };
	job->variants[1].transform = job->variants[0].transform;
	job->upload.variant_count = 2;
}

static void prepare_small(struct job *job, size_t bytes, uint32_t variant_count)
{
	prepare(job, bytes, 0);
	job->upload.variant_count = variant_count;
	for (uint32_t i = 0; i < variant_count; i++) {
		job->variants[i].transform = job->variants[0].transform;
		job->variants[i].transform.box.width_px = 160 - 40 * i;
	}
}

static _Atomic int stored_count;

static enum upload_end keep(struct upload *u)
{
	(void)u;
	atomic_fetch_add(&stored_count, 1);
	return UPLOAD_ENDED;
}

static bool nobody_waits(const struct upload *u)
{
	(void)u;
	return true;
}

static const struct stage_stats *stage_of(const struct pipeline_stats *s,
					  const char *name)
{
	for (uint32_t i = 0; i < s->stage_count; i++)
		if (strcmp(s->stage_names[i], name) == 0)
			return &s->stages[i];
	return NULL;
}

static _Atomic bool is_held;

/* Holds the first step of a large upload as long as the test needs. */
static bool hold(const struct upload *u)
{
	(void)u;
	while (atomic_load(&is_held))
		(void)usleep(1000);
	return false;
}

/*
 * Of each four small uploads one is truncated, one has no client, and one is
 * stored.  With a lane half of them end before any large one does.
 */
static void send_all(struct pipeline *p, bool has_lane)
{
	stored_count = 0;
	atomic_store(&is_held, has_lane);
	for (int i = 0; i < LARGE; i++) {
		prepare_large(&large[i]);
		large[i].upload.is_gone = hold;
		assert(pipeline_submit(p, &large[i].upload));
	}
	for (int i = 0; i < SMALL; i++) {
		struct upload *u = &small[i].upload;

		prepare_small(&small[i],
			      i % 4 == 1 ? photo_bytes / 2 : photo_bytes,
			      VARIANTS);
		if (i % 4 == 2)
			u->is_gone = nobody_waits;
		if (i % 4 == 3)
			u->store = keep;
		assert(pipeline_submit(p, u));
		/*
		 * The only worker, or the worker of decode, is busy with a
		 * large upload.
		 */
		if (has_lane && i < SMALL / 2)
			wait_done(&small[i]);
	}
	atomic_store(&is_held, false);
	for (int i = 0; i < LARGE; i++)
		wait_done(&large[i]);
	/* No other upload is in its way. */
	prepare_small(&last, photo_bytes, VARIANTS);
	assert(pipeline_submit(p, &last.upload));
	pipeline_stop(p);
}

/* The results from another path. */
static uint8_t *kept[VARIANTS];
static size_t kept_bytes[VARIANTS];

static void check_results(const struct upload *u)
{
	for (uint32_t i = 0; i < VARIANTS; i++) {
		const struct variant *v = &u->variants[i];

		assert(v->jpeg != NULL);
		if (kept[i] == NULL) {
			kept_bytes[i] = v->jpeg_bytes;
			kept[i] = malloc(v->jpeg_bytes);
			assert(kept[i] != NULL);
			memcpy(kept[i], v->jpeg, v->jpeg_bytes);
		}
		assert(v->jpeg_bytes == kept_bytes[i]);
		assert(memcmp(v->jpeg, kept[i], kept_bytes[i]) == 0);
	}
	for (int step = 0; step < PIPELINE_STEPS; step++)
		assert(u->service_ns[step] > 0);
}

static void check_small(const struct job *job, int kind)
{
	const struct upload *u = &job->upload;

	assert(atomic_load(&job->done_count) == 1);
	switch (kind) {
	case 1:
		assert(u->end == UPLOAD_ENDED && u->err == IMG_ERR_TRUNCATED);
		assert(u->variants[0].jpeg == NULL);
		break;
	case 2:
		assert(u->end == UPLOAD_GONE && u->variants[0].jpeg == NULL);
		break;
	default:
		assert(u->end == UPLOAD_ENDED && u->err == IMG_OK);
		check_results(u);
	}
}

/* Returns how many uploads used the lane. */
static uint64_t check_all(const struct policy *policy,
			  const struct cores *cores, uint64_t express_ns)
{
	struct pipeline *p = start_with_express(policy, cores, express_ns);
	struct pipeline_stats s;
	uint64_t by_lane = 0;

	send_all(p, express_ns > 0);
	for (int i = 0; i < LARGE; i++) {
		assert(atomic_load(&large[i].done_count) == 1);
		assert(large[i].upload.err == IMG_OK);
		upload_free_results(&large[i].upload);
	}
	for (int i = 0; i < SMALL; i++) {
		check_small(&small[i], i % 4);
		upload_free_results(&small[i].upload);
	}
	check_small(&last, 0);
	upload_free_results(&last.upload);
	assert(stored_count == SMALL / 4);
	pipeline_read(p, &s);
	assert(s.sent_count == LARGE + SMALL + 1 && s.in_flight_count == 0);
	assert(s.failed_count == SMALL / 2 && s.gone_count == SMALL / 4);
	assert(s.finished_count == LARGE + SMALL / 2 + 1);
	assert(s.buffers.live_count == 0);
	assert((stage_of(&s, "express") != NULL) == (express_ns > 0));
	if (express_ns > 0) {
		by_lane = stage_of(&s, "express")->handled_count;
		assert(by_lane == stage_of(&s, "express")->arrived_count);
	}
	/* Each upload was decoded either in the lane or by a worker. */
	assert(stage_of(&s, "decode")->handled_count + by_lane ==
	       LARGE + SMALL + 1);
	assert(stage_of(&s, "store")->handled_count == SMALL / 4);
	pipeline_free(p);
	return by_lane;
}

int main(int argc, char **argv)
{
	const char *why;
	struct cores *cores = cores_new("0", &why);
	const uint64_t between_ns = 6 * MS;

	test_choice();
	assert(argc == 2 && cores != NULL);
	read_photo(argv[1]);
	assert(check_all(policy_find("color"), cores, 0) == 0);
	for (const struct policy *const *p = policy_list; *p != NULL; p++)
		if ((*p)->workers != POLICY_WORKERS_CALLER)
			assert(check_all(*p, cores, between_ns) == SMALL);
	for (int i = 0; i < VARIANTS; i++)
		free(kept[i]);
	cores_free(cores);
	return 0;
}
