/* SPDX-License-Identifier: MIT */
#include "service/pipeline/partition.h"

#include <assert.h>

bool partition_load(struct stage_graph *graph, const char *path,
		    const char **why)
{
	*graph = (struct stage_graph){ .stage_count = PIPELINE_STEPS };
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		graph->names[i] = pipeline_step_names[i];
	return path == NULL || graph_load(graph, path, why);
}

bool partition_save(const struct pipeline *p, const char *path)
{
	struct stage_graph graph;

	group_read_graph(pipeline_group(p), &graph);
	return graph_save(&graph, path);
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

bool partition_cut(struct pipeline *p, const struct stage_graph *graph,
		   uint32_t part_count, FILE *to)
{
	uint32_t parts[STAGES_MAX];

	if (!graph_cut(graph, part_count, parts))
		return false;

	bool ok = group_partition(pipeline_group(p), parts);

	assert(ok); /* partitioned, and no step by key */
	(void)ok;
	print_parts(to, parts, part_count);
	return true;
}
