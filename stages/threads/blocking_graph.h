/* SPDX-License-Identifier: MIT */
/*
 * Blocking graphs: where user-level threads stop, and what they use from one
 * stop to the next, learned while they run.
 *
 * After von Behren et al., "Capriccio: Scalable threads for Internet services",
 * SOSP 2003, section 4.  A node is a blocking point: a call site together with
 * the node where the thread was before.  So nodes form a tree of paths, as the
 * paper's stack fingerprints do, and one call site that a thread passes twice
 * is two nodes.  An edge is what threads do between two nodes.  Nodes and edges
 * have totals, and exponentially weighted means with the weight 1/16.  A node's
 * figures are those of all its outgoing edges together: what a thread that
 * waits there will probably use when it runs.
 *
 * Threads    One thread calls arrive() and leave(), and sets tickets; any
 *            thread may add the graph to a copy at the same time.  Counts of a
 *            copy can then differ by the passage that is under way.
 * Limits     PLACES_MAX nodes, BLOCKING_DEPTH_MAX nodes of a path,
 *            BLOCKING_EDGES_MAX edges.  A blocking point beyond these is folded
 *            into a node that exists: the nearest one of the path with the same
 *            site, such as the last lap of a loop; or else the oldest one with
 *            that site; or else the node that the thread was at.
 * Ownership  A zeroed graph is empty.  It keeps pointers to sites.
 */
#ifndef STAGES_BLOCKING_GRAPH_H
#define STAGES_BLOCKING_GRAPH_H

#include "stages/stats.h"
#include "stages/threads/resources.h"

#include <stdatomic.h>

enum {
	BLOCKING_DEPTH_MAX = 32,
	BLOCKING_SLOTS = 2 * BLOCKING_EDGES_MAX,
};

/* Only one thread writes these, so it needs no atomic additions. */
struct blocking_sums {
	_Atomic uint64_t count;
	_Atomic uint64_t cpu_ns_total;
	_Atomic double cpu_ns_recent;
	_Atomic int64_t taken_total[RESOURCES];
	_Atomic double taken_recent[RESOURCES];
};

struct blocking_place {
	const struct blocking_site *site;
	uint32_t previous, depth;
	struct blocking_sums sums;
	_Atomic double tickets;
};

/* An edge of a graph that learns: from a node to the next call site. */
struct blocking_way {
	const struct blocking_site *site; /* NULL: an end */
	uint32_t from, to;
	bool is_folded; /* `to` stands for a node that was not added */
	struct blocking_sums sums;
	_Atomic uint64_t begun_count;
};

/*
 * The CPU time of a scheduler's threads, written so that a reader can tell the
 * share at any time, also when the scheduler sleeps or runs one thread for
 * long.
 */
struct blocking_cpu {
	_Atomic double share; /* weighted mean at `share_ns`, 0 to 1 */
	_Atomic uint64_t share_ns;
	_Atomic uint64_t passed_ns; /* of turns that have ended since then */
	_Atomic uint64_t turn_ns;   /* when this turn began; 0: nothing runs */
};

struct blocking_graph {
	struct blocking_place places[PLACES_MAX];
	struct blocking_way ways[BLOCKING_EDGES_MAX];
	/* By (from, site): number of the way + 1; 0: free. */
	uint16_t slots[BLOCKING_SLOTS];
	_Atomic uint32_t place_count, way_count;
	_Atomic uint64_t folded_count;
	struct blocking_cpu cpu; /* set by the owner of the graph */
};

/* As thread_policy.arrive() and leave(); time O(1). */
uint32_t blocking_graph_arrive(struct blocking_graph *g, uint32_t from,
			       const struct blocking_site *at,
			       const struct usage *used);
void blocking_graph_leave(struct blocking_graph *g, uint32_t from,
			  const struct usage *used);

/* The share of time in which threads ran: a mean of about 64 ms before now. */
double blocking_cpu_share(const struct blocking_cpu *cpu, uint64_t now_ns);

/*
 * Add what `g` has learned to `sum`, a zeroed copy or one that holds the sum of
 * other graphs.  Nodes with equal paths are one node of the sum.  If the graphs
 * have more than PLACES_MAX paths together, the sum has those of the first
 * graphs; further ones are folded into them, as blocking points are (Limits),
 * and counted in folded_count.  Of the resources, only CPU time is set: the
 * others have no scheduler (resources_read()).
 *
 * Returns the number of nodes of `g`, and in `nodes_out`, unless it is NULL,
 * the node of the sum for each of them.
 */
uint32_t blocking_graph_add(struct blocking_graph_copy *sum,
			    const struct blocking_graph *g, uint64_t now_ns,
			    uint32_t nodes_out[PLACES_MAX]);

/* Relaxed, as are all accesses to members that readers see. */
#define BLOCKING_READ(member)                                                  \
	atomic_load_explicit(&(member), memory_order_relaxed)
#define BLOCKING_WRITE(member, value)                                          \
	atomic_store_explicit(&(member), value, memory_order_relaxed)

#endif
