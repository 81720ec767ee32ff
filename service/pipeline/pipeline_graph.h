/* SPDX-License-Identifier: MIT */
/*
 * The stage graph of a pipeline: how many events passed each edge, and the
 * division of the graph into parts.
 *
 * Threads    Any, once pipeline_start() has returned.
 */
#ifndef SERVICE_PIPELINE_GRAPH_H
#define SERVICE_PIPELINE_GRAPH_H

#include "service/pipeline/pipeline.h"
#include "stages/graph.h"

#include <stdio.h>

enum { EDGES_MAX = 11, EDGE_OUTSIDE = -1 };

/* From stage to stage: indices of pipeline_stats.stages, or EDGE_OUTSIDE. */
struct edge {
	int32_t from, to;
	/*
	 * Since start.  On an edge to a stage: events; the sum over all edges
	 * to the stage is the number of its arrivals.  On an edge to the
	 * outside: uploads that finished.
	 */
	uint64_t count;
};

/*
 * All edges that events can pass, even if no event has passed yet; `stats` is
 * from a pipeline_read() just before.  Returns the number of edges.
 */
uint32_t pipeline_read_edges(const struct pipeline *p,
			     const struct pipeline_stats *stats,
			     struct edge out[EDGES_MAX]);

/*
 * Read a graph of these stages that graph_save() wrote.  If `path` is NULL, all
 * weights are 0, which divides the steps equally.  False: `error` says what is
 * wrong in it.
 */
MUST_CHECK bool pipeline_graph_load(struct stage_graph *graph,
				    enum stage_set stages, const char *path,
				    struct error *error);

/*
 * Divide a running pipeline into parts by the weights of `graph`, and print the
 * steps of each part.  False: no memory, and nothing has changed.
 */
MUST_CHECK bool pipeline_partition(struct pipeline *p,
				   const struct stage_graph *graph,
				   uint32_t part_count, FILE *to);

#endif
