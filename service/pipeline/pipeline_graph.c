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
	static const struct {
		int32_t from, to;
	} steps[] = {
		{ PIPELINE_DECODE, PIPELINE_SCALE },
		{ PIPELINE_SCALE, PIPELINE_BLUR },
		{ PIPELINE_SCALE, PIPELINE_ENCODE }, /* without blur */
		{ PIPELINE_BLUR, PIPELINE_ENCODE },
	};
	struct stage_graph graph;

	group_read_graph(pipeline_group(p), &graph);
	for (uint32_t i = 0; i < ARRAY_SIZE(steps); i++)
		add_edge(to, steps[i].from, steps[i].to,
			 graph.sent_counts[steps[i].from][steps[i].to]);
}

uint32_t pipeline_read_edges(const struct pipeline *p,
			     const struct pipeline_stats *stats,
			     struct edge out[EDGES_MAX])
{
	struct edge_list all = { .edges = out };

	add_edge(&all, EDGE_OUTSIDE, PIPELINE_DECODE,
		 stats->stages[PIPELINE_DECODE].arrived_count);
	add_step_edges(&all, p);
	add_edge(&all, PIPELINE_ENCODE, EDGE_OUTSIDE, stats->unstored_count);
	if (stats->stage_count > PIPELINE_STORE) {
		add_edge(&all, PIPELINE_ENCODE, PIPELINE_STORE,
			 stats->sent_to_store_count);
		add_edge(&all, EDGE_OUTSIDE, PIPELINE_STORE, stats->task_count);
		add_edge(&all, PIPELINE_STORE, EDGE_OUTSIDE,
			 stats->stored_count);
	}
	return all.count;
}

bool pipeline_graph_load(struct stage_graph *graph, const char *path,
			 struct error *error)
{
	*graph = (struct stage_graph){ .stage_count = PIPELINE_STEPS };
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		graph->names[i] = pipeline_step_names[i];
	return path == NULL || graph_load(graph, path, error);
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
