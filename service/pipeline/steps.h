/* SPDX-License-Identifier: MIT */
/*
 * Steps: what each step of the pipeline does with pictures, and an estimate of
 * the CPU time and memory of all steps of an upload.  This file knows no
 * stages.
 *
 * To add a step: a function in steps.c, called by steps_run(); its time in
 * steps_estimate(); a constant in enum pipeline_step (upload.h), and its name
 * in pipeline_step_names (pipeline.c); its
 * threads in pool_threads (service/config/options.c).
 *
 * Threads    steps_run(): PIPELINE_DECODE runs once for an upload, before all
 *            other steps; then the variants may run their steps at the same
 *            time.
 */
#ifndef SERVICE_STEPS_H
#define SERVICE_STEPS_H

#include "service/decoder/decoders.h"
#include "service/pipeline/upload.h"
#include "service/pipeline/watermarks.h"

/* What the steps of all uploads have in common. */
struct steps {
	struct img_limits limits;
	/* For files that are decoded in another process; NULL: none is. */
	struct decoders *decoders;
	const struct watermarks *watermarks; /* NULL: none */
	struct block_list *blocks; /* every upload is hashed; NULL: none */
};

/*
 * Set, from the header, the size of each result and the estimate for all steps.
 * May be called again when more bytes of the same file have come: the analysis
 * of the file continues where it stopped, and the estimate is made again.
 * Without variants, only the file is analysed.  Errors: as img_probe_more();
 * TOO_LARGE also if a result would exceed the limits.
 */
MUST_CHECK enum img_err steps_estimate(struct upload *u,
				       const struct steps *steps);

/*
 * For an upload that ended with IMG_ERR_TOO_LARGE, IMG_ERR_TOO_MANY_SCANS,
 * IMG_ERR_TOO_MANY_BYTES or IMG_ERR_OUTSIDE: a sentence with its size and the
 * limit that it exceeds, and the numbers.
 */
void steps_explain(const struct upload *u, const struct img_limits *limits,
		   char *text, size_t bytes, struct excess *excess);

/* The errors are those of the function in imgops.h with the step's name. */
MUST_CHECK enum img_err steps_run(enum pipeline_step step, struct variant *v,
				  const struct steps *steps,
				  const struct memory *memory);

#endif
