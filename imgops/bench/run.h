/* SPDX-License-Identifier: MIT */
/*
 * Run: files in memory, and one of them through the pipeline and nothing else,
 * with the CPU time of each step.
 */
#ifndef IMGOPS_BENCH_RUN_H
#define IMGOPS_BENCH_RUN_H

#include "base/error.h"
#include "imgops/imgops.h"

struct file {
	char *path; /* relative to the folder */
	uint8_t *bytes;
	size_t size_bytes;
};

struct folder {
	struct file *files;
	size_t count; /* >= 1 once loaded */
};

/*
 * Load the JPEGs of a folder (base/folder.h) that have fewer than `max_bytes`.
 * False: `error` says why, and `f`, which must be empty, still is.  A folder
 * without such a file is an error too.
 */
MUST_CHECK bool folder_load(struct folder *f, const char *dir,
			    uint64_t max_bytes, struct error *error);

void folder_release(struct folder *f);

/* One file, `name` of `dir`.  Its path is `name`, copied. */
MUST_CHECK bool file_read(struct file *file, const char *dir, const char *name,
			  struct error *error);

/* Write a file, with the folders that `name` needs. */
MUST_CHECK bool file_write(const char *dir, const char *name,
			   const uint8_t *bytes, size_t size_bytes,
			   struct error *error);

void file_release(struct file *file);

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
extern const struct img_limits run_limits;

struct run_job {
	const struct img_transform *transform;
	const struct memory *memory;
	double margin; /* decode at least this many times the result's size */
};

struct run {
	enum img_err err; /* IMG_OK, or why `step` refused it */
	enum step step;
	struct img_header header;
	struct img_cost cost; /* the estimate, in the time of STEP_PROBE */
	uint32_t dct_scale;   /* that was chosen */
	struct img_size size;
	double cpu_s[STEP_COUNT];
	uint8_t *jpeg; /* a block of the job's memory; NULL if refused */
	size_t jpeg_bytes;
};

/* CPU time of this thread. */
double run_cpu_s(void);

/* The size that img_decode() is asked for: at least `view` times the margin. */
struct img_view run_decode_view(const struct img_view *view,
				const struct run_job *job);

struct run run_file(const struct file *file, const struct run_job *job);

void run_release(struct run *r, const struct run_job *job);

#endif
