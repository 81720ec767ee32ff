/* SPDX-License-Identifier: MIT */
/*
 * Promises: the gaps of a step are one more than its calls of memory.pause(),
 * and each is in the figures of its own step, with its file.
 */
#include "imgops/bench/gaps.h"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

static const struct bench_options options = {
	.transform = { .box = { 60, 60 }, .blur_sigma_px = 2, .quality = 80 },
	.passes = 3,
	.margin = 1,
};

static uint64_t pause_count;

static void count_pause(void *arg)
{
	(void)arg;
	pause_count++;
}

struct counts {
	uint64_t gaps[STEP_COUNT];
};

/* A run_end_fn. */
static void count_gaps(void *arg, const struct run *r)
{
	struct counts *c = arg;

	c->gaps[r->step] += pause_count + 1;
	pause_count = 0;
}

static void test_gaps_lie_between_pauses(const struct folder *folder)
{
	struct counts counts = { 0 };
	struct heap h;
	struct gaps g;

	heap_init(&h);
	h.memory.pause = count_pause;
	for (size_t i = 0; i < folder->count; i++) {
		struct run_job job = { .transform = &options.transform,
				       .memory = &h.memory,
				       .margin = 1,
				       .end = count_gaps,
				       .arg = &counts };
		struct run r = run_file(&folder->files[i], &job);

		run_release(&r, &job);
	}
	gaps_measure(&g, folder, &options);
	for (int m = 0; m < GAP_MEMORY_COUNT; m++)
		for (int s = 0; s < STEP_COUNT; s++) {
			const struct spread *v = &g.steps[m][s];

			CHECK_NUMBER(v->count, ==, counts.gaps[s]);
			CHECK_NUMBER(v->count, >, 0);
			CHECK_NUMBER(v->least, >=, 0);
			CHECK_NUMBER(v->most, >, 0);
			CHECK(strcmp(v->most_path, "a") == 0 ||
			      strcmp(v->most_path, "b") == 0);
		}
	CHECK_NUMBER(counts.gaps[STEP_PROBE], ==, folder->count);
	/*
	 * These steps pause after each row of MCUs, band, row or row of blocks.
	 */
	for (int s = STEP_DECODE; s < STEP_COUNT; s++)
		CHECK_NUMBER(counts.gaps[s], >, 2 * folder->count);
	gaps_release(&g);
}

int main(void)
{
	struct jpeg_spec spec = { .width = 120,
				  .height = 90,
				  .picture = waves };
	struct bytes a = jpeg_make(&spec), b;

	spec.progressive = true;
	b = jpeg_make(&spec);

	struct file files[] = {
		{ strdup("a"), a.data, a.count },
		{ strdup("b"), b.data, b.count },
	};

	test_gaps_lie_between_pauses(&(struct folder){ files, 2 });
	file_release(&files[0]);
	file_release(&files[1]);
	return 0;
}
