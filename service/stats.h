/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_STATS_H
#define SERVICE_STATS_H

#include "service/pipeline.h"

/* What /stats tells beside the pipeline's counters. */
struct stats_source {
	const struct pipeline *pipeline;
	const struct pipeline_config *config;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
};

/* The JSON of /stats, for the caller to free().  NULL: no memory. */
char *stats_json(const struct stats_source *source);

#endif
