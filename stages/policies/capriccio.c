/* SPDX-License-Identifier: MIT */
/*
 * Capriccio: each event is a user-level thread, and which one runs next depends
 * on what it will probably use.
 *
 * After von Behren et al., "Capriccio: Scalable threads for Internet services",
 * SOSP 2003, section 4.  There is a run queue for each node of the blocking
 * graph (blocking_graph.h).  Stride scheduling (Waldspurger and Weihl, 1995)
 * chooses among nodes: each gets turns in proportion to its tickets.  Tickets
 * follow from what the node's threads take or give back until their next
 * blocking point, and from how much of each resource is used (resources.h).
 *
 *	pressure  of a resource: 0 up to half of its limit, then rising to 1
 *	          just below the limit.  It rises at once and falls only after
 *	          the use has fallen by BACKLASH (hysteresis).
 *	tickets   TICKETS_USUAL * 2^(-6 * pressure * d), for each resource; d
 *	          is what a thread of the node takes, from -1 to 1: divided by
 *	          the most that any node takes or gives.  At the limit a node
 *	          that takes has no tickets.
 *	CPU time  is often all in use, without harm.  So it takes all tickets
 *	          from no node: nodes with less work left than the mean get
 *	          up to 4 times as many, and others down to a quarter, the
 *	          more so the less the core is idle.
 *
 * Something always runs: if only nodes without tickets have threads, the node
 * whose threads hold most of the scarcest resource gets the turn, because they
 * will give most back in the end.  What a thread holds is not known for each
 * one; the policy adds up what the edges of its path usually take.  Threads
 * that one has started, such as the variants of an upload, share what it held.
 *
 * Deviations.  The paper does not give its formulas.  It counts what edges use
 * in cycles, and by the functions of libc; here threads say what they take
 * (stage_take()).
 */
#include "stages/threads/blocking_graph.h"

#include "base/util.h"

#include <assert.h>
#include <math.h>

enum {
	REFRESH_NS = 1000000, /* tickets are as old as this, at most */
	TICKETS_USUAL = 1000,
	TICKETS_MAX = TICKETS_USUAL * 64,
	STRIDE_ONE = 1 << 26, /* of a node with one ticket */
	/* A node's mean is used from this many visits on. */
	VISITS_KNOWN = 8,
};

#define PRESSURE_FROM RESOURCES_PRESSURE_FROM
/* Utilisation at which pressure is 1. */
#define PRESSURE_FULL 0.95
#define BACKLASH 0.05
/* At full pressure, tickets change by 2 to the power of this. */
#define PRESSURE_POWER 6.0
/* A node that takes less than this part of the most does not count as taker. */
#define NOTHING (1.0 / 32)
#define CPU_FACTOR_MAX 4.0

struct capriccio {
	struct resources *shared; /* NULL: resources are ignored */
	struct blocking_graph graph;

	/* Stride scheduling. */
	uint64_t passes[PLACES_MAX];
	uint64_t pass_now; /* of the last place that was picked */
	uint64_t was_ready;
	uint32_t tickets[PLACES_MAX];
	/* What a thread at a place usually holds of the scarcest resource. */
	double held[PLACES_MAX];

	uint64_t refreshed_ns;
	double levels[RESOURCES]; /* utilisation, with hysteresis */
	struct resource_work work;
};

static void capriccio_start(void *state, struct resources *shared)
{
	struct capriccio *c = state;

	c->shared = shared;
}

/* --- What was measured. --- */

static double mean_ns(const struct blocking_sums *s)
{
	uint64_t count = BLOCKING_READ(s->count);

	return count == 0 ?
		       0 :
		       (double)BLOCKING_READ(s->cpu_ns_total) / (double)count;
}

/* A thread that was at `from` has run. */
static void count_passage(struct capriccio *c, uint32_t from,
			  const struct usage *used)
{
	const struct blocking_sums *s = &c->graph.places[from].sums;
	double usual_ns = BLOCKING_READ(s->count) < VISITS_KNOWN ?
				  (double)used->cpu_ns :
				  mean_ns(s);

	c->work.passage_count++;
	c->work.passed_ns += used->cpu_ns;
	c->work.usual_ns += (uint64_t)usual_ns;
	BLOCKING_WRITE(c->graph.cpu.passed_ns, c->work.passed_ns);
	BLOCKING_WRITE(c->graph.cpu.turn_ns, 0);
}

static uint32_t capriccio_arrive(void *state, uint32_t from,
				 const struct blocking_site *at,
				 const struct usage *used)
{
	struct capriccio *c = state;
	uint32_t place;

	if (c->shared == NULL)
		return 0;
	if (from == PLACE_NONE || used == NULL)
		c->work.begun_count++;
	else
		count_passage(c, from, used);
	place = blocking_graph_arrive(&c->graph, from, at, used);
	if (c->tickets[place] == 0 &&
	    BLOCKING_READ(c->graph.places[place].sums.count) == 0)
		c->tickets[place] = TICKETS_USUAL; /* nothing is known yet */
	return place;
}

static void capriccio_leave(void *state, uint32_t from,
			    const struct usage *used)
{
	struct capriccio *c = state;

	if (c->shared == NULL)
		return;
	count_passage(c, from, used);
	c->work.begun_count--;
	c->work.ended_count++;
	blocking_graph_leave(&c->graph, from, used);
}

/* --- Tickets. --- */

static double pressure(double level)
{
	double p = (level - PRESSURE_FROM) / (PRESSURE_FULL - PRESSURE_FROM);

	return fmin(fmax(p, 0), 1);
}

static void follow_use(struct capriccio *c)
{
	for (uint32_t i = 0; i < RESOURCES; i++) {
		double now = resources_utilisation(c->shared, i);

		c->levels[i] = fmax(now, fmin(c->levels[i], now + BACKLASH));
	}
}

static enum resource find_scarcest(const struct capriccio *c)
{
	enum resource most = RESOURCE_MEMORY;

	for (uint32_t i = 0; i < RESOURCES; i++)
		if (c->levels[i] > c->levels[most])
			most = (enum resource)i;
	return most;
}

static double read_taken(const struct capriccio *c, uint32_t place,
			 enum resource which)
{
	return BLOCKING_READ(c->graph.places[place].sums.taken_recent[which]);
}

/* Multiply the share of each node by a factor for its use of a resource. */
static void weigh_resource(const struct capriccio *c, enum resource which,
			   uint32_t count, double *shares)
{
	double p = pressure(c->levels[which]), most = 0;

	if (p == 0)
		return;
	for (uint32_t i = 0; i < count; i++)
		most = fmax(most, fabs(read_taken(c, i, which)));
	for (uint32_t i = 0; i < count && most > 0; i++) {
		double part = read_taken(c, i, which) / most;

		if (fabs(part) < NOTHING)
			continue;
		shares[i] *= part > 0 && c->levels[which] >= 1 ?
				     0 :
				     exp2(-PRESSURE_POWER * p * part);
	}
}

/* The CPU time that a thread at each place needs to its end, on average. */
static void find_work_left(const struct capriccio *c, double *left_ns,
			   uint32_t count)
{
	const struct blocking_graph *g = &c->graph;

	for (uint32_t i = 0; i < count; i++)
		left_ns[i] = BLOCKING_READ(g->places[i].sums.cpu_ns_recent);
	/*
	 * Backwards: the way to a place comes before the ways that lead on from
	 * there, whose work is then known.
	 */
	for (uint32_t i = BLOCKING_READ(g->way_count); i-- > 0;) {
		const struct blocking_way *w = &g->ways[i];

		if (w->from == PLACE_NONE || w->to == PLACE_NONE ||
		    w->is_folded)
			continue;
		uint64_t visits = BLOCKING_READ(g->places[w->from].sums.count);

		if (visits > 0)
			left_ns[w->from] +=
				left_ns[w->to] *
				(double)BLOCKING_READ(w->sums.count) /
				(double)visits;
	}
}

static void weigh_work_left(const struct capriccio *c, double busy,
			    uint32_t count, double *shares)
{
	double left_ns[PLACES_MAX], mean = 0;

	find_work_left(c, left_ns, count);
	for (uint32_t i = 0; i < count; i++)
		mean += left_ns[i] / count;
	for (uint32_t i = 0; i < count; i++) {
		if (!(left_ns[i] > 0))
			continue;
		double factor =
			fmin(fmax(mean / left_ns[i], 1 / CPU_FACTOR_MAX),
			     CPU_FACTOR_MAX);

		shares[i] *= pow(factor, busy);
	}
}

/* Of threads that go on from each place: those that others started there. */
static void count_begun(const struct blocking_graph *g, uint64_t *begun)
{
	for (uint32_t i = 0; i < BLOCKING_READ(g->way_count); i++) {
		const struct blocking_way *w = &g->ways[i];

		if (w->from != PLACE_NONE)
			begun[w->from] += BLOCKING_READ(w->begun_count);
	}
}

/* The part that one of `own` threads has, if these have started `others`. */
static double part_of_one(uint64_t own, uint64_t others)
{
	own = max_u64(own, 1);
	return (double)own / (double)(own + others);
}

/*
 * By the edges on the path to each place.  What a thread holds when it starts
 * others is divided among all of them, so that it counts once.
 */
static void find_held(struct capriccio *c, enum resource which)
{
	const struct blocking_graph *g = &c->graph;
	uint64_t begun[PLACES_MAX] = { 0 };

	count_begun(g, begun);
	for (uint32_t i = 0; i < BLOCKING_READ(g->way_count); i++) {
		const struct blocking_way *w = &g->ways[i];
		double held;

		if (w->to == PLACE_NONE || w->is_folded)
			continue;
		held = BLOCKING_READ(w->sums.taken_recent[which]) *
		       part_of_one(BLOCKING_READ(w->sums.count),
				   BLOCKING_READ(w->begun_count));
		if (w->from != PLACE_NONE)
			held += c->held[w->from] *
				part_of_one(
					BLOCKING_READ(
						g->places[w->from].sums.count),
					begun[w->from]);
		c->held[w->to] = held;
	}
}

/*
 * If a node gets more tickets, its next turn comes sooner, in proportion.  If
 * it had none, it begins like a new node.
 */
static void set_tickets(struct capriccio *c, uint32_t place, double share)
{
	uint32_t old = c->tickets[place], tickets = 0;

	if (share > 0)
		tickets = (uint32_t)fmin(fmax(TICKETS_USUAL * share, 1),
					 TICKETS_MAX);
	if (old > 0 && tickets > 0 && c->passes[place] > c->pass_now)
		c->passes[place] =
			c->pass_now +
			(c->passes[place] - c->pass_now) * old / tickets;
	if (old == 0 && tickets > 0)
		c->passes[place] = c->pass_now;
	c->tickets[place] = tickets;
	BLOCKING_WRITE(c->graph.places[place].tickets, tickets);
}

/* Returns the share of time in which threads ran. */
static double follow_cpu(struct capriccio *c, uint64_t now_ns)
{
	struct blocking_cpu *cpu = &c->graph.cpu;
	double busy;

	BLOCKING_WRITE(cpu->turn_ns, 0);
	busy = blocking_cpu_share(cpu, now_ns);
	BLOCKING_WRITE(cpu->share, busy);
	BLOCKING_WRITE(cpu->share_ns, now_ns);
	BLOCKING_WRITE(cpu->passed_ns, 0);
	return busy;
}

static void refresh(struct capriccio *c, uint64_t now_ns)
{
	uint32_t count = BLOCKING_READ(c->graph.place_count);
	double shares[PLACES_MAX], busy = follow_cpu(c, now_ns);

	c->refreshed_ns = now_ns;
	resources_count_work(c->shared, &c->work);
	c->work = (struct resource_work){ 0 };
	resources_learn(c->shared, now_ns);

	follow_use(c);
	for (uint32_t i = 0; i < count; i++)
		shares[i] = 1;
	weigh_work_left(c, busy, count, shares);
	for (uint32_t i = 0; i < RESOURCES; i++)
		weigh_resource(c, i, count, shares);
	for (uint32_t i = 0; i < count; i++)
		set_tickets(c, i, shares[i]);
	find_held(c, find_scarcest(c));
}

/* --- Choice. --- */

static uint32_t first_of(uint64_t places)
{
	return (uint32_t)__builtin_ctzll(places);
}

/* Of the places with tickets, the one whose turn it is. */
static uint32_t find_turn(const struct capriccio *c, uint64_t ready)
{
	uint32_t best = PLACE_NONE;

	for (; ready != 0; ready &= ready - 1) {
		uint32_t i = first_of(ready);

		if (c->tickets[i] > 0 &&
		    (best == PLACE_NONE || c->passes[i] < c->passes[best]))
			best = i;
	}
	return best;
}

static uint32_t find_largest_holder(const struct capriccio *c, uint64_t ready)
{
	uint32_t best = first_of(ready);

	for (; ready != 0; ready &= ready - 1) {
		uint32_t i = first_of(ready);

		if (c->held[i] > c->held[best] ||
		    (c->held[i] == c->held[best] &&
		     c->passes[i] < c->passes[best]))
			best = i;
	}
	return best;
}

/* A place does not collect turns while it has no threads. */
static void join_turns(struct capriccio *c, uint64_t ready)
{
	uint64_t joining = ready & ~c->was_ready;

	for (; joining != 0; joining &= joining - 1) {
		uint32_t i = first_of(joining);

		c->passes[i] = max_u64(c->passes[i], c->pass_now);
	}
	c->was_ready = ready;
}

static uint32_t capriccio_pick(void *state, uint64_t ready, uint64_t now_ns)
{
	struct capriccio *c = state;
	uint32_t place, tickets;

	assert(ready != 0);
	if (c->shared == NULL)
		return first_of(ready);
	if (now_ns >= c->refreshed_ns + REFRESH_NS || c->refreshed_ns == 0)
		refresh(c, now_ns);
	join_turns(c, ready);
	place = find_turn(c, ready);
	if (place == PLACE_NONE)
		place = find_largest_holder(c, ready);
	c->pass_now = max_u64(c->pass_now, c->passes[place]);
	tickets = c->tickets[place] > 0 ? c->tickets[place] : TICKETS_USUAL;
	c->passes[place] = c->pass_now + STRIDE_ONE / tickets;
	BLOCKING_WRITE(c->graph.cpu.turn_ns, now_ns);
	return place;
}

static const struct blocking_graph *capriccio_graph(const void *state)
{
	const struct capriccio *c = state;

	return c->shared != NULL ? &c->graph : NULL;
}

static const struct thread_policy threads = {
	.state_bytes = sizeof(struct capriccio),
	.start = capriccio_start,
	.arrive = capriccio_arrive,
	.leave = capriccio_leave,
	.pick = capriccio_pick,
	.graph = capriccio_graph,
};

const struct policy policy_capriccio = {
	.name = "capriccio",
	.summary = "a user-level thread per event, chosen by what it will use",
	.meaning =
		"Each event is a user-level thread of its own, which runs all "
		"of its stages and can be left between two of them. One "
		"worker per core chooses who goes on: threads that will "
		"probably give back a resource that is nearly used up run "
		"first, and those that will take it get fewer turns.",
	.workers = POLICY_WORKERS_FIBRES,
	.waits_for_memory = true,
	.threads = &threads,
};
