/* SPDX-License-Identifier: MIT */
/*
 * Dispatch: which node of a fleet gets a request, as a balancer would choose.
 *
 * A choice is a pure decision over a snapshot of the nodes.  The engine keeps
 * the nodes, the requests that the balancer holds, and the clock.
 *
 *	least-work   the least true work left for each core
 *	roundrobin   in turn
 *	random       any
 *	random2      of two drawn nodes, the one with fewer requests: HAProxy's
 *	             balance random(2)
 *	leastconn    the fewest requests; among equals, in turn
 *	agent        random2 with the weights that agents report; the draws and
 *	             the comparison follow HAProxy's get_server_rnd()
 *	agent-leastconn
 *	             leastconn with these weights, as HAProxy's fwlc_queue_srv()
 *	guarded      least-work among the nodes that the guardrails allow:
 *	             Grosof, Scully and Harchol-Balter, "Load balancing
 *	             guardrails", POMACS 3(2), 2019
 *	split        leastconn in one of two groups of nodes, by size; the bound
 *	             divides the work as it divides the nodes (SITA-E: Crovella,
 *	             Harchol-Balter and Murta, 1998)
 *
 * `pooled` is no choice: one node has all the cores.
 *
 * Draws are with replacement, as in HAProxy, and a node with the weight 0 is
 * never drawn.
 */
#ifndef STAGES_SIM_DISPATCH_H
#define STAGES_SIM_DISPATCH_H

#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>

enum { DISPATCH_NODES_MAX = 64, DISPATCH_NONE = -1 };

#define DISPATCH_NAMES                                                         \
	"pooled|least-work|roundrobin|random|random2|leastconn|agent|"         \
	"agent-leastconn|guarded|split"

/* In the order of DISPATCH_NAMES. */
enum dispatch_kind {
	DISPATCH_POOLED,
	DISPATCH_LEAST_WORK,
	DISPATCH_ROUNDROBIN,
	DISPATCH_RANDOM,
	DISPATCH_RANDOM2,
	DISPATCH_LEASTCONN,
	DISPATCH_AGENT,
	DISPATCH_AGENT_LEASTCONN,
	DISPATCH_GUARDED,
	DISPATCH_SPLIT,
};

/* A node when a choice is made. */
struct dispatch_node {
	uint32_t under_way_count;
	double left_ns;  /* work left, for each core */
	uint32_t weight; /* the agent's last report, 1 to 100; or 100 */
};

struct dispatch_job {
	double size;
	double work_ns;
};

struct dispatch;

/* The choice needs the reports of agents. */
bool dispatch_asks_agents(enum dispatch_kind kind);

/*
 * False: limits cannot be combined with this kind, because its guardrail or its
 * groups would not send a request to a node although it has room.
 */
bool dispatch_has_limit(enum dispatch_kind kind);

/*
 * `limit`: the most requests under way at a node; 0: no limit.  It is for the
 * kinds for which dispatch_has_limit().  `split`: for
 * DISPATCH_SPLIT, requests below this size go to the first group.  Aborts if
 * there is no memory.
 */
struct dispatch *dispatch_new(enum dispatch_kind kind, uint32_t node_count,
			      uint32_t limit, double split, uint64_t seed);
void dispatch_free(struct dispatch *d); /* NULL is fine */

/*
 * The index of the chosen node.  DISPATCH_NONE: it is full, and the balancer
 * must hold the request until any node has ended one.  Random choices do not
 * look for another node then, as in HAProxy; the other choices skip full nodes,
 * so then all are full.
 */
int dispatch_choose(struct dispatch *d, const struct dispatch_node *nodes,
		    const struct dispatch_job *job);

/* The job goes to this node, chosen or not. */
void dispatch_sent(struct dispatch *d, uint32_t node,
		   const struct dispatch_job *job);

/* The node has nothing left to do. */
void dispatch_emptied(struct dispatch *d, uint32_t node);

/* How many nodes are in the first group of DISPATCH_SPLIT. */
uint32_t dispatch_first_group(uint32_t node_count);

/*
 * What an agent reports: 100 half / (half + left), rounded, 1 to 100; `left_ns`
 * is the work left for each core.
 */
uint32_t dispatch_weight(double left_ns, double half_ns);

#endif
