/* SPDX-License-Identifier: MIT */
/*
 * Edges of the stage graph: how many events went from each stage to each, came
 * from outside, and left with a result.
 *
 * Threads    Any, at once.
 */
#ifndef SERVICE_EDGES_H
#define SERVICE_EDGES_H

#include "service/pipeline/pipeline.h"

enum { EDGES_MAX = 12, EDGE_OUTSIDE = -1 };

/* Stages are told by their place in pipeline_stats. */
struct edge {
	int32_t from, to;
	/*
	 * Since start.  To a stage: events; those of all its edges are what
	 * arrived there.  To outside: uploads, those that finished.
	 */
	uint64_t count;
};

/*
 * All that events can take, also those that none took so far; `stats` has just
 * been read.  Returns how many.
 */
uint32_t edges_read(const struct pipeline *p,
		    const struct pipeline_stats *stats,
		    struct edge out[EDGES_MAX]);

#endif
