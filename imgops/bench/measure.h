/* SPDX-License-Identifier: MIT */
/*
 * Measure: all files through the pipeline, in several passes, on this thread.
 *
 * The first pass warms up; it also finds the files that are refused, counts
 * memory and saves results.  The measured passes take the accepted files; with
 * a floor, each is followed by a pass of libjpeg alone.
 */
#ifndef IMGOPS_BENCH_MEASURE_H
#define IMGOPS_BENCH_MEASURE_H

#include "imgops/bench/run.h"
#include "imgops/bench/options.h"

/* One file; times are sums over the measured passes. */
struct row {
	const struct file *file;
	struct run first;     /* of the pass that warms up; no JPEG any more */
	struct img_cost cost; /* the estimate, for no margin */
	uint64_t peak_bytes;
	uint64_t alloc_count;
	double cpu_s[STEP_COUNT];
	double floor_s[STEP_COUNT]; /* decode and encode */
};

struct measure {
	struct row *rows; /* as many as files, in their order */
	size_t row_count;
	uint64_t passes;
	bool has_floor;
	int cpu; /* where the thread is pinned */
	double *pass_cpu_s;
	uint64_t minor_faults; /* in all measured passes of the pipeline */
	uint64_t rss_max_bytes;
};

/* False: `error` says why, and `m` is empty. */
MUST_CHECK bool measure_run(struct measure *m, const struct folder *folder,
			    const struct bench_options *o,
			    const struct memory *memory, struct error *error);

void measure_release(struct measure *m);

/* The costs of a group of files together, in all measured passes. */
struct total {
	uint64_t images; /* in one pass */
	uint64_t bytes_in, bytes_out;
	double cpu_s[STEP_COUNT], cpu_s_all;
	double floor_s[STEP_COUNT], floor_s_all;
};

enum kind {
	KIND_ALL,
	KIND_BASELINE,
	KIND_PROGRESSIVE,
	KIND_COUNT,
};

extern const char *const kind_names[KIND_COUNT];

/* Of the accepted files of one kind. */
struct total measure_total(const struct measure *m, enum kind kind);

#endif
