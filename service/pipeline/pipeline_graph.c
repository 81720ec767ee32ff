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

static bool has_step(const struct pipeline_steps *steps, uint32_t step)
{
	return step >= steps->first && step < steps->first + steps->count;
}

/* The edges between the stages of the schedule, as their group counts them. */
static void add_step_edges(struct edge_list *to, const struct pipeline *p,
			   const struct pipeline_steps *of)
{
	static const struct {
		enum pipeline_step from, to;
	} steps[] = {
		{ PIPELINE_PARSE, PIPELINE_DECODE },
		{ PIPELINE_DECODE, PIPELINE_SCALE },
		{ PIPELINE_SCALE, PIPELINE_BLUR },
		{ PIPELINE_SCALE, PIPELINE_ENCODE }, /* without blur */
		{ PIPELINE_BLUR, PIPELINE_ENCODE },
		{ PIPELINE_ENCODE, PIPELINE_STATISTICS },
	};
	struct stage_graph graph;

	group_read_graph(pipeline_group(p), &graph);
	for (uint32_t i = 0; i < ARRAY_SIZE(steps); i++) {
		uint32_t from = steps[i].from - of->first;
		uint32_t target = steps[i].to - of->first;

		if (has_step(of, steps[i].from) && has_step(of, steps[i].to))
			add_edge(to, (int32_t)from, (int32_t)target,
				 graph.sent_counts[from][target]);
	}
}

uint32_t pipeline_read_edges(const struct pipeline *p,
			     const struct pipeline_stats *stats,
			     struct edge out[EDGES_MAX])
{
	struct edge_list all = { .edges = out };
	int32_t store = (int32_t)stats->steps.count, last = store - 1;

	add_edge(&all, EDGE_OUTSIDE, 0, stats->stages[0].arrived_count);
	add_step_edges(&all, p, &stats->steps);
	add_edge(&all, last, EDGE_OUTSIDE, stats->unstored_count);
	if (stats->stage_count > stats->steps.count) {
		add_edge(&all, last, store, stats->sent_to_store_count);
		add_edge(&all, EDGE_OUTSIDE, store, stats->task_count);
		add_edge(&all, store, EDGE_OUTSIDE, stats->stored_count);
	}
	return all.count;
}

bool pipeline_graph_load(struct stage_graph *graph, enum stage_set stages,
			 const char *path, struct error *error)
{
	struct pipeline_steps steps = pipeline_steps(stages);

	*graph = (struct stage_graph){ .stage_count = steps.count };
	for (uint32_t i = 0; i < steps.count; i++)
		graph->names[i] = steps.names[i];
	return path == NULL || graph_load(graph, path, error);
}

/* "part 0: decode; part 1: scale, blur, encode" */
static void print_parts(FILE *to, const struct stage_graph *graph,
			const uint32_t *parts, uint32_t part_count)
{
	for (uint32_t part = 0; part < part_count; part++) {
		const char *before = ": ";

		(void)fprintf(to, "%spart %u", part > 0 ? "; " : "", part);
		for (uint32_t i = 0; i < graph->stage_count; i++) {
			if (parts[i] != part)
				continue;
			(void)fprintf(to, "%s%s", before, graph->names[i]);
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
	print_parts(to, graph, parts, part_count);
	return true;
}
