/* SPDX-License-Identifier: MIT */
/*
 * Measured stage graphs: how much work each stage did, and how many events went
 * from each stage to each other one.  A trial run writes a graph; a partitioned
 * server reads it.
 *
 * The weights are those of Gordon, UCAM-CL-TR-781, section 3.2.2.  The weight
 * of a stage is the time spent in its handler; that of an edge is the number of
 * events that passed it.
 *
 * Threads    Any number, on different graphs.  But only one at a time may call
 *            graph_cut(): METIS seeds rand(), and while it runs it handles
 *            SIGTERM and SIGABRT unless they are blocked.
 * Limits     STAGES_MAX stages; a file of a megabyte.  Weights above 10^15 are
 *            rounded in a file.
 */
#ifndef STAGES_GRAPH_H
#define STAGES_GRAPH_H

#include "base/error.h"
#include "stages/schedule.h"

struct stage_graph {
	uint32_t stage_count;
	const char *names[STAGES_MAX]; /* must outlive the graph */
	uint64_t service_ns[STAGES_MAX];
	uint64_t sent_counts[STAGES_MAX][STAGES_MAX]; /* [from][to] */
};

/*
 * Write `g` as JSON:
 *
 *	{ "stages": {
 *		"decode": { "service_ns": 880, "sent": { "scale": 10 } },
 *		"scale": { "service_ns": 50, "sent": {} } } }
 *
 * False: the file could not be written, and errno says why.  The path always
 * has a whole file, the old or the new one.
 */
bool graph_save(const struct stage_graph *g, const char *path);

/*
 * Try to save without changing an older file.  False: errno says why it would
 * fail.
 */
bool graph_can_be_saved(const char *path);

/*
 * Read the weights of the stages in g->names.  A stage or edge that the file
 * does not mention has weight 0; a file with other stages or keys is refused,
 * because a name may be misspelt.  False: `error` names the stage and the key
 * that is wrong, but not the file, and the weights are unchanged.
 */
MUST_CHECK bool graph_load(struct stage_graph *g, const char *path,
			   struct error *error);

/*
 * Divide the stages into `part_count` parts of about equal work, so that few
 * events pass between parts: parts[i] < part_count.  Parts are numbered by
 * their first stages; none is empty unless there are more parts than stages.
 * The same weights always give the same parts.
 *
 * A graph without any weights is divided as a line, by the number of stages.
 * False: no memory.
 */
bool graph_cut(const struct stage_graph *g, uint32_t part_count,
	       uint32_t parts[STAGES_MAX]);

#endif
