/* SPDX-License-Identifier: MIT */
#include "service/pipeline/edges.h"

#include "service/pipeline/pipeline_run.h"

#include <assert.h>

struct list {
	uint32_t count;
	struct edge *edges;
};

static void add(struct list *to, int32_t from, int32_t target, uint64_t count)
{
	assert(to->count < EDGES_MAX);
	to->edges[to->count++] = (struct edge){ from, target, count };
}

/* From stage to stage, as their group has counted. */
static void add_steps(struct list *to, const struct pipeline *p)
{
	struct stage_graph graph;

	group_read_graph(p->group, &graph);
	for (int32_t i = 0; i + 1 < PIPELINE_STEPS; i++)
		add(to, i, i + 1, graph.sent_counts[i][i + 1]);
}

/* `at`: its place in the statistics; `stage`: which it is. */
static void add_ends(struct list *to, const struct pipeline *p, int32_t at,
		     uint32_t stage, int32_t store)
{
	const struct pipeline_counts *c = &p->counts;

	add(to, at, EDGE_OUTSIDE, atomic_load(&c->results[stage]));
	if (p->store != NULL)
		add(to, at, store, atomic_load(&c->kept[stage]));
}

uint32_t edges_read(const struct pipeline *p,
		    const struct pipeline_stats *stats,
		    struct edge out[EDGES_MAX])
{
	const struct pipeline_counts *c = &p->counts;
	struct list all = { .edges = out };
	int32_t store = PIPELINE_STEPS;
	int32_t express = p->store != NULL ? store + 1 : store;

	add(&all, EDGE_OUTSIDE, PIPELINE_DECODE,
	    stats->stages[PIPELINE_DECODE].arrived_count);
	add_steps(&all, p);
	add_ends(&all, p, PIPELINE_ENCODE, PIPELINE_ENCODE, store);
	if (p->express.lane != NULL) {
		add(&all, EDGE_OUTSIDE, express,
		    stats->stages[express].arrived_count);
		add_ends(&all, p, express, PIPELINE_EXPRESS, store);
	}
	if (p->store != NULL) {
		add(&all, EDGE_OUTSIDE, store, atomic_load(&c->errands));
		add(&all, store, EDGE_OUTSIDE,
		    atomic_load(&c->results[PIPELINE_STORE]));
	}
	return all.count;
}
