/* SPDX-License-Identifier: MIT */
/*
 * Measure: all files through the pipeline, again and again, on this thread.
 *
 * One pass warms up; in it files are refused, memory is counted and results
 * are saved.  Then come the measured passes, over the files that were
 * accepted; with a floor, each is followed by a pass of libjpeg alone.
 */
#ifndef IMGOPS_BENCH_MEASURE_H
#define IMGOPS_BENCH_MEASURE_H

#include "imgops/bench/bare.h"
#include "imgops/bench/options.h"
#include "imgops/cost.h"

/* One file; times are sums over the measured passes. */
struct row {
	const struct file *file;
	struct bare first;    /* of the pass that warms up; no JPEG any more */
	struct img_cost cost; /* foretold for no margin */
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
			    const struct options *o,
			    const struct img_memory *memory,
			    struct error *error);

void measure_release(struct measure *m);

/* What some files cost together, in all measured passes. */
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
