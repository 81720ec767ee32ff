/* SPDX-License-Identifier: MIT */
#include "stages/threads/blocking_graph.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Weight of the newest value in a recent mean. */
#define RECENT (1.0 / 16)

/* CPU time is averaged over about this time. */
#define CPU_SPAN_NS 64e6

/* --- Sums. --- */

static void sums_add(struct blocking_sums *s, const struct usage *used)
{
	uint64_t count = BLOCKING_READ(s->count) + 1;
	/* The first values have equal weights. */
	double weight = count < 1 / RECENT ? 1 / (double)count : RECENT;
	double old = BLOCKING_READ(s->cpu_ns_recent);

	BLOCKING_WRITE(s->count, count);
	BLOCKING_WRITE(s->cpu_ns_total,
		       BLOCKING_READ(s->cpu_ns_total) + used->cpu_ns);
	BLOCKING_WRITE(s->cpu_ns_recent,
		       old + weight * ((double)used->cpu_ns - old));
	for (uint32_t i = 0; i < RESOURCES; i++) {
		old = BLOCKING_READ(s->taken_recent[i]);
		BLOCKING_WRITE(s->taken_total[i],
			       BLOCKING_READ(s->taken_total[i]) +
				       used->taken[i]);
		BLOCKING_WRITE(s->taken_recent[i],
			       old + weight * ((double)used->taken[i] - old));
	}
}

static double join_means(double a, uint64_t a_count, double b, uint64_t b_count)
{
	uint64_t count = a_count + b_count;

	return count == 0 ? 0 :
			    (a * (double)a_count + b * (double)b_count) /
				    (double)count;
}

/* --- Learning. --- */

/* Where the way with this key is, or would be. */
static uint16_t *find_slot(struct blocking_graph *g, uint32_t from,
			   const struct blocking_site *site)
{
	uint64_t key = ((uint64_t)(uintptr_t)site << 7 | from) *
		       UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(key >> 32) % BLOCKING_SLOTS;

	while (g->slots[at] != 0) {
		const struct blocking_way *w = &g->ways[g->slots[at] - 1];

		if (w->from == from && w->site == site)
			break;
		at = (at + 1) % BLOCKING_SLOTS;
	}
	return &g->slots[at];
}

/* A node that exists, for one that cannot be added: see blocking_graph.h. */
static uint32_t fold(const struct blocking_graph *g, uint32_t from,
		     const struct blocking_site *site)
{
	uint32_t at = from, count = BLOCKING_READ(g->place_count);

	for (; at != PLACE_NONE; at = g->places[at].previous)
		if (g->places[at].site == site)
			return at;
	for (at = 0; at < count; at++)
		if (g->places[at].site == site)
			return at;
	return from == PLACE_NONE ? 0 : from;
}

/*
 * Pair A with the loads in blocking_graph_add(): a reader that sees a count
 * also sees everything that it counts.
 */
static uint32_t add_place(struct blocking_graph *g, uint32_t from,
			  const struct blocking_site *site)
{
	uint32_t place = BLOCKING_READ(g->place_count);

	g->places[place].site = site;
	g->places[place].previous = from;
	g->places[place].depth =
		from == PLACE_NONE ? 1 : g->places[from].depth + 1;
	atomic_store_explicit(&g->place_count, place + 1, memory_order_release);
	return place;
}

static struct blocking_way *add_way(struct blocking_graph *g, uint32_t from,
				    const struct blocking_site *site,
				    uint16_t *slot)
{
	uint32_t number = BLOCKING_READ(g->way_count);
	struct blocking_way *w = &g->ways[number];

	w->from = from;
	w->site = site;
	w->is_folded =
		site != NULL && (BLOCKING_READ(g->place_count) == PLACES_MAX ||
				 (from != PLACE_NONE &&
				  g->places[from].depth == BLOCKING_DEPTH_MAX));
	if (site == NULL)
		w->to = PLACE_NONE;
	else if (w->is_folded)
		w->to = fold(g, from, site);
	else
		w->to = add_place(g, from, site);
	*slot = (uint16_t)(number + 1);
	atomic_store_explicit(&g->way_count, number + 1, memory_order_release);
	return w;
}

/* NULL: there can be no more ways. */
static struct blocking_way *find_way(struct blocking_graph *g, uint32_t from,
				     const struct blocking_site *site)
{
	uint16_t *slot = find_slot(g, from, site);

	if (*slot != 0)
		return &g->ways[*slot - 1];
	if (BLOCKING_READ(g->way_count) == BLOCKING_EDGES_MAX)
		return NULL;
	return add_way(g, from, site, slot);
}

/*
 * A thread has passed along `w`; NULL: there was no room for its way.  `used`
 * is NULL if it comes from outside, or if a thread that is at `from` has
 * started it.
 */
static void pass(struct blocking_graph *g, uint32_t from,
		 struct blocking_way *w, const struct usage *used)
{
	static const struct usage nothing = { 0 };

	if (w == NULL || w->is_folded)
		BLOCKING_WRITE(g->folded_count,
			       BLOCKING_READ(g->folded_count) + 1);
	if (used == NULL && from != PLACE_NONE) {
		if (w != NULL)
			BLOCKING_WRITE(w->begun_count,
				       BLOCKING_READ(w->begun_count) + 1);
		return;
	}
	if (used == NULL)
		used = &nothing;
	if (w != NULL)
		sums_add(&w->sums, used);
	if (from != PLACE_NONE)
		sums_add(&g->places[from].sums, used);
}

uint32_t blocking_graph_arrive(struct blocking_graph *g, uint32_t from,
			       const struct blocking_site *at,
			       const struct usage *used)
{
	assert(at != NULL);
	assert(from == PLACE_NONE || from < BLOCKING_READ(g->place_count));
	struct blocking_way *w = find_way(g, from, at);

	pass(g, from, w, used);
	return w != NULL ? w->to : fold(g, from, at);
}

void blocking_graph_leave(struct blocking_graph *g, uint32_t from,
			  const struct usage *used)
{
	assert(from < BLOCKING_READ(g->place_count) && used != NULL);
	pass(g, from, find_way(g, from, NULL), used);
}

/* --- CPU time. --- */

double blocking_cpu_share(const struct blocking_cpu *cpu, uint64_t now_ns)
{
	uint64_t from_ns = BLOCKING_READ(cpu->share_ns);
	uint64_t turn_ns = BLOCKING_READ(cpu->turn_ns);
	uint64_t ran_ns = BLOCKING_READ(cpu->passed_ns);
	double old = BLOCKING_READ(cpu->share), span_ns, now;

	/* Another thread may have read the clock later. */
	if (now_ns <= from_ns)
		return old;
	if (turn_ns > 0 && turn_ns < now_ns)
		ran_ns += now_ns - turn_ns;
	span_ns = (double)(now_ns - from_ns);
	now = fmin((double)ran_ns / span_ns, 1);
	return old + fmin(span_ns / CPU_SPAN_NS, 1) * (now - old);
}

/* --- Copies. --- */

static void add_to_node(struct blocking_node *to,
			const struct blocking_place *p)
{
	uint64_t count = BLOCKING_READ(p->sums.count);

	to->cpu_ns_recent =
		join_means(to->cpu_ns_recent, to->visits,
			   BLOCKING_READ(p->sums.cpu_ns_recent), count);
	to->cpu_ns_total += BLOCKING_READ(p->sums.cpu_ns_total);
	for (uint32_t i = 0; i < RESOURCES; i++) {
		to->taken_recent[i] = join_means(
			to->taken_recent[i], to->visits,
			BLOCKING_READ(p->sums.taken_recent[i]), count);
		to->taken_total[i] += BLOCKING_READ(p->sums.taken_total[i]);
	}
	to->visits += count;
	to->tickets += BLOCKING_READ(p->tickets);
}

static void add_to_edge(struct blocking_edge *to, const struct blocking_way *w)
{
	uint64_t count = BLOCKING_READ(w->sums.count);

	to->cpu_ns_recent =
		join_means(to->cpu_ns_recent, to->count,
			   BLOCKING_READ(w->sums.cpu_ns_recent), count);
	to->cpu_ns_total += BLOCKING_READ(w->sums.cpu_ns_total);
	for (uint32_t i = 0; i < RESOURCES; i++) {
		to->taken_recent[i] = join_means(
			to->taken_recent[i], to->count,
			BLOCKING_READ(w->sums.taken_recent[i]), count);
		to->taken_total[i] += BLOCKING_READ(w->sums.taken_total[i]);
	}
	to->count += count;
	to->begun_count += BLOCKING_READ(w->begun_count);
}

/* The node of the sum with this path; NULL: there is no room for it. */
static struct blocking_node *find_node(struct blocking_graph_copy *sum,
				       const struct blocking_site *site,
				       uint32_t previous)
{
	struct blocking_node *n = sum->nodes;

	while (n < sum->nodes + sum->node_count &&
	       (n->site != site || n->previous != previous))
		n++;
	if (n == sum->nodes + PLACES_MAX)
		return NULL;
	if (n == sum->nodes + sum->node_count)
		sum->nodes[sum->node_count++] = (struct blocking_node){
			.site = site,
			.previous = previous,
		};
	return n;
}

static struct blocking_edge *find_edge(struct blocking_graph_copy *sum,
				       uint32_t from, uint32_t to)
{
	struct blocking_edge *e = sum->edges;

	while (e < sum->edges + sum->edge_count &&
	       (e->from != from || e->to != to))
		e++;
	if (e == sum->edges + BLOCKING_EDGES_MAX)
		return NULL;
	if (e == sum->edges + sum->edge_count)
		sum->edges[sum->edge_count++] = (struct blocking_edge){
			.from = from,
			.to = to,
		};
	return e;
}

/*
 * The node of a sum that stands for one that does not fit, by the rule for
 * places: see fold().
 */
static uint32_t fold_node(const struct blocking_graph_copy *sum,
			  const struct blocking_site *site, uint32_t previous)
{
	uint32_t at = previous;

	for (; at != PLACE_NONE; at = sum->nodes[at].previous)
		if (sum->nodes[at].site == site)
			return at;
	for (at = 0; at < sum->node_count; at++)
		if (sum->nodes[at].site == site)
			return at;
	return previous == PLACE_NONE ? 0 : previous;
}

/* Returns the node's number; is_folded[] says whether another stands for it. */
static uint32_t add_node(struct blocking_graph_copy *sum,
			 const struct blocking_place *p, uint32_t previous,
			 bool *is_folded)
{
	struct blocking_node *n = find_node(sum, p->site, previous);
	uint32_t number;

	*is_folded = n == NULL;
	number = n != NULL ? (uint32_t)(n - sum->nodes) :
			     fold_node(sum, p->site, previous);
	add_to_node(&sum->nodes[number], p);
	return number;
}

static void add_cpu(struct resource_state *to, double share)
{
	enum { US_PER_S = 1000000 };

	to->name = "cpu";
	to->used += (uint64_t)(share * US_PER_S);
	to->limit += US_PER_S;
	to->capacity += US_PER_S;
}

uint32_t blocking_graph_add(struct blocking_graph_copy *sum,
			    const struct blocking_graph *g, uint64_t now_ns,
			    uint32_t nodes_out[PLACES_MAX])
{
	/* Pair A: ways first, because each was added after its places. */
	uint32_t ways =
		atomic_load_explicit(&g->way_count, memory_order_acquire);
	uint32_t places =
		atomic_load_explicit(&g->place_count, memory_order_acquire);
	uint32_t nodes[PLACES_MAX + 1]; /* of the sum, by place */
	bool is_folded[PLACES_MAX + 1];

	nodes[PLACE_NONE] = PLACE_NONE;
	is_folded[PLACE_NONE] = false;
	/* A place comes after its previous one. */
	for (uint32_t i = 0; i < places; i++)
		nodes[i] =
			add_node(sum, &g->places[i],
				 nodes[g->places[i].previous], &is_folded[i]);
	for (uint32_t i = 0; i < ways; i++) {
		const struct blocking_way *w = &g->ways[i];
		struct blocking_edge *e =
			find_edge(sum, nodes[w->from], nodes[w->to]);

		if (e != NULL)
			add_to_edge(e, w);
		/* The graph has counted its own. */
		if (!w->is_folded && (e == NULL || is_folded[w->to]))
			sum->folded_count += BLOCKING_READ(w->sums.count);
	}
	sum->folded_count += BLOCKING_READ(g->folded_count);
	add_cpu(&sum->resources[RESOURCES],
		blocking_cpu_share(&g->cpu, now_ns));
	sum->resource_count = RESOURCES + 1;
	if (nodes_out != NULL)
		memcpy(nodes_out, nodes, places * sizeof(*nodes));
	return places;
}
