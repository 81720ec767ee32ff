/* SPDX-License-Identifier: MIT */
/*
 * The lanes of a pipeline: groups of stages, each with workers of its own.
 *
 * Threads    Any, once pipeline_start() has returned.
 */
#ifndef SERVICE_PIPELINE_LANES_H
#define SERVICE_PIPELINE_LANES_H

#include "service/pipeline/upload.h"

struct pipeline;

/* As on the command line: "decode", "scale", ... */
extern const char *const pipeline_step_names[PIPELINE_STAGES];

struct pipeline_lane {
	const struct group *group; /* lives as long as the pipeline */
	uint32_t step_first;       /* its stage i is step step_first + i */
};

enum { PIPELINE_LANES_MAX = 3 };

/*
 * The workers of the schedule, then those of the store and the express lane,
 * where there are such.  Returns how many.
 */
uint32_t pipeline_lanes(const struct pipeline *p,
			struct pipeline_lane out[PIPELINE_LANES_MAX]);

/* With a partition: the part that a step's stage belongs to now. */
uint32_t pipeline_step_part(const struct pipeline *p, enum pipeline_step step);

/* What a part of the first of them did: see stage_read_part(). */
void pipeline_read_part(const struct pipeline *p, uint32_t part,
			struct stage_stats out[PIPELINE_STEPS]);

#endif
