/* SPDX-License-Identifier: MIT */
#include "service/pipeline/pipeline_graph.h"

#include <assert.h>

struct edge_list {
	uint32_t count;
	struct edge *edges;
};

static void add_edge(struct edge_list *to, int32_t from, int32_t target,
		     uint64_t count)
{
	assert(to->count < EDGES_MAX);
	to->edges[to->count++] = (struct edge){ from, target, count };
}

/* The edges between the stages of the schedule, as their group counts them. */
static void add_step_edges(struct edge_list *to, const struct pipeline *p)
{
	struct stage_graph graph;

	group_read_graph(pipeline_group(p), &graph);
	for (int32_t i = 0; i + 1 < PIPELINE_STEPS; i++)
		add_edge(to, i, i + 1, graph.sent_counts[i][i + 1]);
}

/* The index of a stage in `stats`; -1: the pipeline has no such stage. */
static int32_t index_of(const struct pipeline_stats *stats, uint32_t stage)
{
	for (uint32_t i = 0; i < stats->stage_count; i++)
		if (stats->stage_names[i] == pipeline_step_names[stage])
			return (int32_t)i;
	return -1;
}

/* The edges from `stage`, which runs last steps. */
static void add_last_edges(struct edge_list *to,
			   const struct pipeline_stats *stats, uint32_t stage)
{
	int32_t from = index_of(stats, stage);
	int32_t store = index_of(stats, PIPELINE_STORE);

	add_edge(to, from, EDGE_OUTSIDE, stats->finished_at[stage]);
	if (store >= 0)
		add_edge(to, from, store, stats->sent_to_store[stage]);
}

uint32_t pipeline_read_edges(const struct pipeline *p,
			     const struct pipeline_stats *stats,
			     struct edge out[EDGES_MAX])
{
	struct edge_list all = { .edges = out };
	int32_t store = index_of(stats, PIPELINE_STORE);
	int32_t express = index_of(stats, PIPELINE_EXPRESS);

	add_edge(&all, EDGE_OUTSIDE, PIPELINE_DECODE,
		 stats->stages[PIPELINE_DECODE].arrived_count);
	add_step_edges(&all, p);
	add_last_edges(&all, stats, PIPELINE_ENCODE);
	if (express >= 0) {
		add_edge(&all, EDGE_OUTSIDE, express,
			 stats->stages[express].arrived_count);
		add_last_edges(&all, stats, PIPELINE_EXPRESS);
	}
	if (store >= 0) {
		add_edge(&all, EDGE_OUTSIDE, store, stats->task_count);
		add_edge(&all, store, EDGE_OUTSIDE,
			 stats->finished_at[PIPELINE_STORE]);
	}
	return all.count;
}

bool pipeline_graph_load(struct stage_graph *graph, const char *path,
			 const char **why)
{
	*graph = (struct stage_graph){ .stage_count = PIPELINE_STEPS };
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		graph->names[i] = pipeline_step_names[i];
	return path == NULL || graph_load(graph, path, why);
}

/* "part 0: decode; part 1: scale, blur, encode" */
static void print_parts(FILE *to, const uint32_t *parts, uint32_t part_count)
{
	for (uint32_t part = 0; part < part_count; part++) {
		const char *before = ": ";

		(void)fprintf(to, "%spart %u", part > 0 ? "; " : "", part);
		for (uint32_t i = 0; i < PIPELINE_STEPS; i++) {
			if (parts[i] != part)
				continue;
			(void)fprintf(to, "%s%s", before,
				      pipeline_step_names[i]);
			before = ", ";
		}
	}
}

bool pipeline_partition(struct pipeline *p, const struct stage_graph *graph,
			uint32_t part_count, FILE *to)
{
	uint32_t parts[STAGES_MAX];

	if (!graph_cut(graph, part_count, parts))
		return false;

	bool ok = group_partition(pipeline_group(p), parts);

	assert(ok); /* the group is partitioned, and no step runs by key */
	(void)ok;
	print_parts(to, parts, part_count);
	return true;
}
