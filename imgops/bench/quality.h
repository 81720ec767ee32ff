/* SPDX-License-Identifier: MIT */
/*
 * Quality: every step, or another program's results, compared with the
 * reference.  Files that cannot be compared are counted and named with the
 * reason.
 */
#ifndef IMGOPS_BENCH_QUALITY_H
#define IMGOPS_BENCH_QUALITY_H

#include "imgops/bench/report.h"

/* What is compared; luma alone, or the worst of the planes. */
enum metric {
	METRIC_SSIM,   /* luma, against a full decode and Lanczos-3 */
	METRIC_PSNR,   /* the same; dB */
	METRIC_LEVELS, /* img_scale() on the planes it was given: worst error */
	METRIC_BLUR,   /* img_blur() on the planes it was given; dB */
	METRIC_ENCODED, /* planes given to img_encode(), and read back; dB */
	METRIC_COUNT,
};

struct unlike {
	const char *path; /* lent */
	const char *why;  /* constant */
};

struct quality {
	struct spread spreads[METRIC_COUNT];
	struct unlike *skipped;
	size_t skipped_count;
};

/*
 * Compare every step of the pipeline; or, where options name a folder to
 * score, its files, each with the original of its name.
 */
struct quality quality_run(const struct folder *folder,
			   const struct bench_options *o,
			   const struct memory *memory);

void quality_release(struct quality *q);

/* True: every figure is within its bound. */
bool quality_print(FILE *out, const struct quality *q);

/* Errors remain in `out`, for ferror(). */
void quality_write_json(FILE *out, const struct quality *q);

#endif
