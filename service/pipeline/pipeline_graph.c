/* SPDX-License-Identifier: MIT */
#include "service/pipeline/pipeline_graph.h"

#include "service/pipeline/pipeline_inside.h"

#include <assert.h>

/* Returns the number of groups then. */
static uint32_t add_group(struct worker_group *out, uint32_t count,
			  const struct auxiliary *a, uint32_t step_first)
{
	if (a == NULL)
		return count;
	out[count] = (struct worker_group){ auxiliary_group(a), step_first };
	return count + 1;
}

uint32_t pipeline_worker_groups(const struct pipeline *p,
				struct worker_group out[WORKER_GROUPS_MAX])
{
	uint32_t count = 1;

	out[0] = (struct worker_group){ p->group, PIPELINE_DECODE };
	count = add_group(out, count, p->store, PIPELINE_STORE);
	return add_group(out, count, p->express.thread, PIPELINE_EXPRESS);
}

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

	group_read_graph(p->group, &graph);
	for (int32_t i = 0; i + 1 < PIPELINE_STEPS; i++)
		add_edge(to, i, i + 1, graph.sent_counts[i][i + 1]);
}

/*
 * The edges from a stage that runs last steps.  `from` and `store` are indices
 * of pipeline_stats.stages, `stage` is a PIPELINE_... constant.
 */
static void add_last_edges(struct edge_list *to, const struct pipeline *p,
			   int32_t from, uint32_t stage, int32_t store)
{
	const struct pipeline_counts *c = &p->counts;

	add_edge(to, from, EDGE_OUTSIDE, atomic_load(&c->results[stage]));
	if (p->store != NULL)
		add_edge(to, from, store, atomic_load(&c->stored[stage]));
}

uint32_t pipeline_read_edges(const struct pipeline *p,
			     const struct pipeline_stats *stats,
			     struct edge out[EDGES_MAX])
{
	const struct pipeline_counts *c = &p->counts;
	struct edge_list all = { .edges = out };
	int32_t store = PIPELINE_STEPS;
	int32_t express = p->store != NULL ? store + 1 : store;

	add_edge(&all, EDGE_OUTSIDE, PIPELINE_DECODE,
		 stats->stages[PIPELINE_DECODE].arrived_count);
	add_step_edges(&all, p);
	add_last_edges(&all, p, PIPELINE_ENCODE, PIPELINE_ENCODE, store);
	if (p->express.thread != NULL) {
		add_edge(&all, EDGE_OUTSIDE, express,
			 stats->stages[express].arrived_count);
		add_last_edges(&all, p, express, PIPELINE_EXPRESS, store);
	}
	if (p->store != NULL) {
		add_edge(&all, EDGE_OUTSIDE, store, atomic_load(&c->tasks));
		add_edge(&all, store, EDGE_OUTSIDE,
			 atomic_load(&c->results[PIPELINE_STORE]));
	}
	return all.count;
}

uint32_t pipeline_step_part(const struct pipeline *p, enum pipeline_step step)
{
	return stage_part(p->stages[step].stage);
}

void pipeline_read_part(const struct pipeline *p, uint32_t part,
			struct stage_stats out[PIPELINE_STEPS])
{
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		stage_read_part(p->stages[i].stage, part, &out[i]);
}

bool pipeline_graph_load(struct stage_graph *graph, const char *path,
			 const char **why)
{
	*graph = (struct stage_graph){ .stage_count = PIPELINE_STEPS };
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		graph->names[i] = pipeline_step_names[i];
	return path == NULL || graph_load(graph, path, why);
}

bool pipeline_graph_save(const struct pipeline *p, const char *path)
{
	struct stage_graph graph;

	group_read_graph(p->group, &graph);
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

bool pipeline_partition(struct pipeline *p, const struct stage_graph *graph,
			uint32_t part_count, FILE *to)
{
	uint32_t parts[STAGES_MAX];

	if (!graph_cut(graph, part_count, parts))
		return false;

	bool ok = group_partition(p->group, parts);

	assert(ok); /* the group is partitioned, and no step runs by key */
	(void)ok;
	print_parts(to, parts, part_count);
	return true;
}
