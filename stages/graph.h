/* SPDX-License-Identifier: MIT */
/*
 * Files of measured stage graphs (struct stage_graph, stats.h), and how a graph
 * is divided among cores.  A trial run writes a graph; a partitioned server
 * reads it.  A library of its own, stages_graph, because it needs cJSON and
 * METIS.
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
#include "base/util.h"
#include "stages/stats.h"

/*
 * Write `g` as JSON:
 *
 *	{ "stages": {
 *		"decode": { "service_ns": 880, "sent": { "scale": 10 } },
 *		"scale": { "service_ns": 50, "sent": {} } } }
 *
 * False: the file could not be written, and `error` says why, but does not name
 * it.  The path always has a whole file, the old or the new one.
 */
MUST_CHECK bool graph_save(const struct stage_graph *g, const char *path,
			   struct error *error);

/*
 * Try to save without changing an older file.  False: `error` says why it would
 * fail.
 */
MUST_CHECK bool graph_can_be_saved(const char *path, struct error *error);

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
 * events pass between parts: parts[i] < part_count.  METIS proposes the parts;
 * its answer is overridden in two cases, whatever passes between parts then.  A
 * stage leaves the heaviest part for another one if the heavier of the two
 * becomes at least 5 % lighter; and a part that METIS has left empty (of three
 * parts of graphs/image.json, of three or four of graphs/search.json) gets the
 * stage of the heaviest part that divides its work best.  Parts are numbered by
 * their first stages; none is empty unless there are more parts than stages.
 * The same weights always give the same parts.
 *
 * A graph without any weights is divided as a line, by the number of stages.
 * False: no memory.
 */
bool graph_cut(const struct stage_graph *g, uint32_t part_count,
	       uint32_t parts[STAGES_MAX]);

#endif
