/* SPDX-License-Identifier: MIT */
/*
 * Steps: what the stages of the pipeline do with pictures, and what they will
 * take to do it.  Nothing here knows a stage.
 *
 * To add a step: a function in steps.c, called by steps_take(), its time in
 * steps_foretell(), a name in enum pipeline_step and in pipeline_step_names.
 *
 * Threads    steps_take(): as upload.h draws it; of variants of one upload, all
 *            at once, but for PIPELINE_DECODE, which is the first one's, alone.
 */
#ifndef SERVICE_STEPS_H
#define SERVICE_STEPS_H

#include "service/pipeline/upload.h"

/*
 * All that the header tells: what will come out, and what steps will take.
 * Errors: as img_probe(); TOO_LARGE also if a result would be over `limits`.
 */
IMG_CHECK enum img_err steps_foretell(struct upload *u,
				      const struct img_limits *limits);

/* Errors: of the function of imgops.h by that name. */
IMG_CHECK enum img_err steps_take(enum pipeline_step step, struct variant *v,
				  const struct img_limits *limits,
				  const struct img_memory *memory);

#endif
