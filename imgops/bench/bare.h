/* SPDX-License-Identifier: MIT */
/*
 * Bare: one file through the pipeline and nothing else, with the CPU time of
 * each step.
 */
#ifndef IMGOPS_BENCH_BARE_H
#define IMGOPS_BENCH_BARE_H

#include "imgops/cost.h"
#include "imgops/imgops.h"

#include "imgops/bench/folder.h"

enum step {
	STEP_PROBE,
	STEP_DECODE,
	STEP_SCALE,
	STEP_BLUR,
	STEP_ENCODE,
	STEP_COUNT,
};

extern const char *const step_names[STEP_COUNT];

/* As a server would have them. */
extern const struct img_limits bare_limits;

struct bare_job {
	const struct img_recipe *recipe;
	const struct img_memory *memory;
	double margin; /* decode at least this many times the result's size */
};

struct bare {
	enum img_err err; /* IMG_OK, or why `step` refused it */
	enum step step;
	struct img_header header;
	struct img_cost cost; /* foretold, in the time of STEP_PROBE */
	uint32_t eighths;     /* the DCT scale that was chosen */
	struct img_size size;
	double cpu_s[STEP_COUNT];
	uint8_t *jpeg; /* a block of the job's memory; NULL if refused */
	size_t jpeg_bytes;
};

/* CPU time of this thread. */
double bare_cpu_s(void);

/* What img_decode() is asked for: `view` times the margin, or more. */
struct img_view bare_decode_view(const struct img_view *view,
				 const struct bare_job *job);

/* The DCT scale, in eighths, of a picture that img_decode() made. */
uint32_t bare_eighths(const struct image *decoded,
		      const struct img_header *header);

struct bare bare_run(const struct file *file, const struct bare_job *job);

void bare_release(struct bare *b, const struct bare_job *job);

#endif
