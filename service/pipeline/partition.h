/* SPDX-License-Identifier: MIT */
/*
 * Partition: which steps of a partitioned pipeline belong to which part, by a
 * measured stage graph.
 */
#ifndef SERVICE_PARTITION_H
#define SERVICE_PARTITION_H

#include "service/pipeline/pipeline.h"

#include <stdio.h>

/*
 * Read a graph that partition_save() wrote.  Without a path, all weights are 0,
 * which divides the steps equally.  False: *why says what is wrong.
 */
MUST_CHECK bool partition_load(struct stage_graph *graph, const char *path,
			       const char **why);

/* Write what was measured so far.  False: errno says why. */
MUST_CHECK bool partition_save(const struct pipeline *p, const char *path);

/*
 * Divide a running pipeline as the weights say, and print the steps of each
 * part.  False: no memory, and nothing has changed.
 */
MUST_CHECK bool partition_cut(struct pipeline *p,
			      const struct stage_graph *graph,
			      uint32_t part_count, FILE *to);

#endif
