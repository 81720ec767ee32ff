/* SPDX-License-Identifier: MIT */
/*
 * Measure: files in memory, run through the steps of imgops on this thread,
 * with the CPU time of each step.
 *
 *	folder_load -> run_file, one file once
 *	            -> measure_run, all files in several passes -> measure_total
 *
 * Only measure_run() pins the thread to a CPU.
 */
#ifndef IMGOPS_BENCH_MEASURE_H
#define IMGOPS_BENCH_MEASURE_H

#include "base/error.h"
#include "base/options.h"
#include "imgops/imgops.h"

/* The values of the command line's flags, which are in main.c. */
struct bench_options {
	const char *dataset;
	uint64_t max_bytes; /* only files of fewer bytes */
	struct img_transform transform;
	uint64_t passes; /* 0: only the one that warms up */
	double margin;   /* decode at least this many times the result's size */
	bool floor;
	bool verify;
	bool gaps;
	const char *score; /* folder of another program's results, or NULL */
	const char *save;  /* NULL: nowhere */
	const char *json;  /* NULL: none */
	bool per_file;
	/* If --help or the like was given, other members may be unset. */
	struct flags_asked asked;
};

/*
 * Zeroed memory, to be freed by free().  Never NULL: if there is no memory, the
 * program aborts.
 */
void *must_alloc(size_t count, size_t bytes);

/* --- Files --- */

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
 * `f` must be empty, and stays so on an error.  False: `error` says why.  A
 * folder without such a file is an error too.
 */
MUST_CHECK bool folder_load(struct folder *f, const char *dir,
			    uint64_t max_bytes, struct error *error);

void folder_release(struct folder *f);

/* Read the file `name` in `dir`. file->path is a copy of `name`. */
MUST_CHECK bool file_read(struct file *file, const char *dir, const char *name,
			  struct error *error);

/* Write a file, with the folders that `name` needs. */
MUST_CHECK bool file_write(const char *dir, const char *name,
			   const uint8_t *bytes, size_t size_bytes,
			   struct error *error);

void file_release(struct file *file);

/* --- One file, once --- */

enum step {
	STEP_PROBE,
	STEP_DECODE,
	STEP_SCALE,
	STEP_BLUR,
	STEP_ENCODE,
	STEP_COUNT,
};

extern const char *const step_names[STEP_COUNT];

/* Such limits as a server would set. */
extern const struct img_limits run_limits;

struct run {
	enum img_err err; /* IMG_OK, or why `step` refused it */
	enum step step;
	struct img_header header;
	struct img_view view;
	struct img_cost cost; /* the estimate, which is made in STEP_PROBE */
	uint32_t dct_scale;   /* the DCT scale that was chosen */
	double cpu_s[STEP_COUNT];
	uint8_t *jpeg; /* a block of the job's memory; NULL if refused */
	size_t jpeg_bytes;
};

/*
 * Called after step r->step, which made `dst` from `src`, before `src` is
 * released.  If the step's input or result is bytes, `src` or `dst` is empty.
 */
typedef void run_watch_fn(void *arg, const struct run *r,
			  const struct image *dst, const struct image *src);

/* Called after step r->step, when its input has been released. */
typedef void run_end_fn(void *arg, const struct run *r);

struct run_job {
	const struct img_transform *transform;
	const struct memory *memory;
	double margin; /* decode at least this many times the result's size */
	bool moves;    /* planes that keep their size, as a server does */
	run_watch_fn *watch; /* NULL: none */
	run_end_fn *end;     /* NULL: none */
	void *arg;           /* passed to both */
};

struct run run_file(const struct file *file, const struct run_job *job);

void run_release(struct run *r, const struct run_job *job);

/* --- All files, in several passes --- */

/* One file; times are sums over the measured passes. */
struct row {
	const struct file *file;
	struct run first; /* from the pass that warms up; its JPEG is freed */
	uint8_t *result;  /* its JPEG; NULL: refused, or no floor */
	uint64_t peak_bytes;
	uint64_t alloc_count;
	double cpu_s[STEP_COUNT];
	double floor_s[STEP_COUNT]; /* decode and encode */
};

struct measure {
	struct row *rows; /* one for each file, in their order */
	size_t row_count;
	uint64_t passes;
	bool has_floor;
	int cpu; /* the CPU to which the thread is pinned */
	double *pass_cpu_s;
	/* Sum over all measured passes of the pipeline. */
	uint64_t minor_faults;
	uint64_t rss_max_bytes;
};

/*
 * The first pass is not timed.  It warms up, finds the files that are refused,
 * counts memory and saves results.  The measured passes run over the accepted
 * files; if a floor is wanted, a pass of libjpeg alone follows each of them.
 * False: `error` says why, and `m` is empty.
 */
MUST_CHECK bool measure_run(struct measure *m, const struct folder *folder,
			    const struct bench_options *o,
			    const struct memory *memory, struct error *error);

void measure_release(struct measure *m);

enum kind {
	KIND_ALL,
	KIND_BASELINE,
	KIND_PROGRESSIVE,
	KIND_COUNT,
};

extern const char *const kind_names[KIND_COUNT];

/* The costs of the accepted files of one kind, in all measured passes. */
struct total {
	uint64_t images; /* in one pass */
	uint64_t bytes_in, bytes_out;
	double cpu_s[STEP_COUNT], cpu_s_all;
	double floor_s[STEP_COUNT], floor_s_all;
};

struct total measure_total(const struct measure *m, enum kind kind);

#endif
