/* SPDX-License-Identifier: MIT */
/*
 * The stage graph of a pipeline: its groups of workers, the events that went
 * along each edge, and which part of a partitioned pipeline each step is in.
 *
 * Threads    Any, once pipeline_start() has returned.
 */
#ifndef SERVICE_PIPELINE_GRAPH_H
#define SERVICE_PIPELINE_GRAPH_H

#include "service/pipeline/pipeline.h"

#include <stdio.h>

/* A group of stages with workers of its own. */
struct worker_group {
	const struct group *group; /* lives as long as the pipeline */
	uint32_t step_first;       /* its stage i is step step_first + i */
};

enum { WORKER_GROUPS_MAX = 3 };

/*
 * The workers of the schedule, then those of the store and the express thread
 * if there are any.  Returns the number of groups.
 */
uint32_t pipeline_worker_groups(const struct pipeline *p,
				struct worker_group out[WORKER_GROUPS_MAX]);

enum { EDGES_MAX = 12, EDGE_OUTSIDE = -1 };

/* From stage to stage: indices of pipeline_stats.stages, or EDGE_OUTSIDE. */
struct edge {
	int32_t from, to;
	/*
	 * Since start.  To a stage: events; over all edges to it, they are the
	 * stage's arrivals.  To outside: uploads that finished.
	 */
	uint64_t count;
};

/*
 * All edges that events can take, even if none has yet; `stats` comes from a
 * pipeline_read() just before.  Returns the number of edges.
 */
uint32_t pipeline_read_edges(const struct pipeline *p,
			     const struct pipeline_stats *stats,
			     struct edge out[EDGES_MAX]);

/* The part that a step's stage is in now; 0 without a partition. */
uint32_t pipeline_step_part(const struct pipeline *p, enum pipeline_step step);

/* The counters of one part of the schedule's workers: stage_read_part(). */
void pipeline_read_part(const struct pipeline *p, uint32_t part,
			struct stage_stats out[PIPELINE_STEPS]);

/*
 * Read a graph that pipeline_graph_save() wrote.  Without a path, all weights
 * are 0, which divides the steps equally.  False: *why says what is wrong.
 */
MUST_CHECK bool pipeline_graph_load(struct stage_graph *graph, const char *path,
				    const char **why);

/* Write what was measured since start.  False: errno says why. */
MUST_CHECK bool pipeline_graph_save(const struct pipeline *p, const char *path);

/*
 * Divide a running pipeline into parts by the weights of `graph`, and print the
 * steps of each part.  False: no memory, and nothing has changed.
 */
MUST_CHECK bool pipeline_partition(struct pipeline *p,
				   const struct stage_graph *graph,
				   uint32_t part_count, FILE *to);

#endif
