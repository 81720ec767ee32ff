/* SPDX-License-Identifier: MIT */
/*
 * Quality: compares every step, or the results of another program, with the
 * reference.  Files that cannot be compared are counted, and listed with the
 * reason.
 */
#ifndef IMGOPS_BENCH_QUALITY_H
#define IMGOPS_BENCH_QUALITY_H

#include "imgops/bench/report.h"

/* What is compared: luma only, or the plane with the largest difference. */
enum metric {
	METRIC_SSIM,   /* luma, against a full decode and Lanczos-3 */
	METRIC_PSNR,   /* as METRIC_SSIM; dB */
	METRIC_LEVELS, /* worst error of img_scale(), on the same input */
	METRIC_BLUR,   /* img_blur(), on the same input; dB */
	/* Input of img_encode() against its decoded result; dB. */
	METRIC_ENCODED,
	METRIC_LOSS, /* the same as SSIMULACRA2 */
	/*
	 * SSIMULACRA2 of a file, against a full decode and the filter, applied
	 * to the numbers of the file or to the light that they mean.
	 */
	METRIC_GAMMA,
	METRIC_LINEAR,
	METRIC_COUNT,
};

/* One file; NAN: not compared. */
struct quality_row {
	const char *path;    /* not owned */
	size_t result_bytes; /* of a file that is scored */
	double values[METRIC_COUNT];
};

struct unlike {
	const char *path; /* not owned */
	const char *why;  /* static text */
};

struct quality {
	struct spread spreads[METRIC_COUNT];
	struct quality_row *rows; /* one for each file */
	size_t row_count;
	struct unlike *skipped;
	size_t skipped_count;
};

/*
 * Compare every step of the pipeline.  If the options name a folder to score,
 * compare the files in it instead, each with the original of the same name.
 */
struct quality quality_run(const struct folder *folder,
			   const struct bench_options *o,
			   const struct memory *memory);

void quality_release(struct quality *q);

/* True: every figure is within its bound. */
bool quality_print(FILE *out, const struct quality *q);

/* The caller checks for errors by ferror(). */
void quality_write_json(FILE *out, const struct quality *q, bool per_file);

#endif
