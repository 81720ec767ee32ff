/* SPDX-License-Identifier: MIT */
#include "stages/sim/dispatch.h"

#include "stages/sim/model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/*
 * Guardrails: jobs whose work is within a factor of GUARD_BASE have one rank.
 * For each rank, the work sent to a node must not exceed that of any other
 * node by more than GUARD_TIGHTNESS times the most work of a job of that rank.
 * The base is the paper's 1 + 1 / (1 + ln(1 / (1 - load))) for a load of 95 %.
 */
static const double GUARD_BASE = 1.25, GUARD_TIGHTNESS = 2;
enum { GUARD_RANKS = 256 }; /* 1.25^255 ns is more than any work */

struct dispatch {
	enum dispatch_kind kind;
	uint32_t node_count;
	uint32_t limit;
	double split;
	uint32_t next; /* the node at which a search begins */
	struct random draws;
	/* Work sent to each node, by rank. */
	double (*sent_ns)[GUARD_RANKS];
};

/* A range of nodes. */
struct range {
	uint32_t first, end;
};

bool dispatch_asks_agents(enum dispatch_kind kind)
{
	return kind == DISPATCH_AGENT || kind == DISPATCH_AGENT_LEASTCONN;
}

bool dispatch_has_limit(enum dispatch_kind kind)
{
	return kind != DISPATCH_POOLED && kind != DISPATCH_GUARDED &&
	       kind != DISPATCH_SPLIT;
}

struct dispatch *dispatch_new(enum dispatch_kind kind, uint32_t node_count,
			      uint32_t limit, double split, uint64_t seed)
{
	struct dispatch *d = calloc(1, sizeof(*d));

	assert(node_count >= 1 && node_count <= DISPATCH_NODES_MAX);
	assert(limit == 0 || dispatch_has_limit(kind));
	assert(d != NULL);
	*d = (struct dispatch){
		.kind = kind,
		.node_count = node_count,
		.limit = limit,
		.split = split,
	};
	random_init(&d->draws, seed, STREAM_DISPATCH);
	if (kind == DISPATCH_GUARDED) {
		d->sent_ns = calloc(node_count, sizeof(*d->sent_ns));
		assert(d->sent_ns != NULL);
	}
	return d;
}

void dispatch_free(struct dispatch *d)
{
	if (d == NULL)
		return;
	free(d->sent_ns);
	free(d);
}

static bool is_full(const struct dispatch *d, const struct dispatch_node *n)
{
	return d->limit > 0 && n->under_way_count >= d->limit;
}

/* Nodes are compared by this; the least is chosen. */
typedef double cost_fn(const struct dispatch_node *n);

static double requests_of(const struct dispatch_node *n)
{
	return n->under_way_count;
}

/*
 * HAProxy counts the new request, too, unless the node has none: then the
 * weight does not matter.
 */
static double weighted_requests_of(const struct dispatch_node *n)
{
	return n->under_way_count == 0 ? 0 :
					 (n->under_way_count + 1.0) / n->weight;
}

static double work_of(const struct dispatch_node *n)
{
	return n->left_ns;
}

static double nothing_of(const struct dispatch_node *n)
{
	(void)n;
	return 0;
}

/* The rank of a job. */
static uint32_t guard_rank(double work_ns)
{
	double rank = floor(log(fmax(work_ns, 1)) / log(GUARD_BASE));

	return rank < GUARD_RANKS - 1 ? (uint32_t)rank : GUARD_RANKS - 1;
}

/* The least work of this rank that was sent to any node. */
static double guard_least(const struct dispatch *d, uint32_t rank)
{
	double least = d->sent_ns[0][rank];

	for (uint32_t i = 1; i < d->node_count; i++)
		least = fmin(least, d->sent_ns[i][rank]);
	return least;
}

static bool guard_allows(const struct dispatch *d, uint32_t node,
			 const struct dispatch_job *job)
{
	uint32_t rank = guard_rank(job->work_ns);

	return d->sent_ns[node][rank] + job->work_ns <=
	       guard_least(d, rank) +
		       GUARD_TIGHTNESS * pow(GUARD_BASE, rank + 1);
}

/*
 * The node with the least cost that is not full; of equal ones, the first in
 * turn.
 */
static int choose_least(struct dispatch *d, const struct dispatch_node *nodes,
			const struct dispatch_job *job, struct range in,
			cost_fn *cost)
{
	int best = DISPATCH_NONE;
	uint32_t count = in.end - in.first;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = in.first + (d->next + i) % count;

		if (is_full(d, &nodes[at]) ||
		    (d->kind == DISPATCH_GUARDED && !guard_allows(d, at, job)))
			continue;
		if (best == DISPATCH_NONE ||
		    cost(&nodes[at]) < cost(&nodes[best]))
			best = (int)at;
	}
	if (best != DISPATCH_NONE)
		d->next = (uint32_t)best - in.first + 1;
	return best;
}

static uint32_t weight_of(const struct dispatch *d,
			  const struct dispatch_node *n)
{
	return d->kind == DISPATCH_AGENT ? n->weight : 1;
}

/* Draw a node with a probability in proportion to its weight. */
static uint32_t draw(struct dispatch *d, const struct dispatch_node *nodes)
{
	uint32_t sum = 0, at = 0;

	for (uint32_t i = 0; i < d->node_count; i++)
		sum += weight_of(d, &nodes[i]);
	assert(sum > 0);
	uint32_t left = (uint32_t)(random_uniform(&d->draws) * sum);

	while (at + 1 < d->node_count && left >= weight_of(d, &nodes[at]))
		left -= weight_of(d, &nodes[at++]);
	return at;
}

static int choose_random(struct dispatch *d, const struct dispatch_node *nodes,
			 uint32_t draw_count)
{
	uint32_t best = draw(d, nodes);

	for (uint32_t i = 1; i < draw_count; i++) {
		uint32_t other = draw(d, nodes);

		/* Of equal ones, HAProxy takes the last. */
		if (nodes[other].under_way_count * weight_of(d, &nodes[best]) <=
		    nodes[best].under_way_count * weight_of(d, &nodes[other]))
			best = other;
	}
	return is_full(d, &nodes[best]) ? DISPATCH_NONE : (int)best;
}

uint32_t dispatch_first_group(uint32_t node_count)
{
	return (node_count + 1) / 2;
}

int dispatch_choose(struct dispatch *d, const struct dispatch_node *nodes,
		    const struct dispatch_job *job)
{
	struct range all = { 0, d->node_count };
	uint32_t border = dispatch_first_group(d->node_count);

	switch (d->kind) {
	case DISPATCH_POOLED:
		assert(d->node_count == 1);
		return choose_least(d, nodes, job, all, nothing_of);
	case DISPATCH_ROUNDROBIN:
		return choose_least(d, nodes, job, all, nothing_of);
	case DISPATCH_LEAST_WORK:
	case DISPATCH_GUARDED:
		return choose_least(d, nodes, job, all, work_of);
	case DISPATCH_RANDOM:
		return choose_random(d, nodes, 1);
	case DISPATCH_RANDOM2:
	case DISPATCH_AGENT:
		return choose_random(d, nodes, 2);
	case DISPATCH_LEASTCONN:
		return choose_least(d, nodes, job, all, requests_of);
	case DISPATCH_AGENT_LEASTCONN:
		return choose_least(d, nodes, job, all, weighted_requests_of);
	case DISPATCH_SPLIT:
		if (border < d->node_count) {
			if (job->size < d->split)
				all.end = border;
			else
				all.first = border;
		}
		return choose_least(d, nodes, job, all, requests_of);
	}
	return DISPATCH_NONE;
}

void dispatch_sent(struct dispatch *d, uint32_t node,
		   const struct dispatch_job *job)
{
	if (d->kind == DISPATCH_GUARDED)
		d->sent_ns[node][guard_rank(job->work_ns)] += job->work_ns;
}

void dispatch_emptied(struct dispatch *d, uint32_t node)
{
	/* The node counts as the one to which the least was sent. */
	for (uint32_t r = 0; d->kind == DISPATCH_GUARDED && r < GUARD_RANKS;
	     r++)
		d->sent_ns[node][r] = guard_least(d, r);
}

uint32_t dispatch_weight(double left_ns, double half_ns)
{
	double weight = round(100 * half_ns / (half_ns + left_ns));

	return weight > 1 ? (uint32_t)weight : 1;
}
