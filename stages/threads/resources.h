/* SPDX-License-Identifier: MIT */
/*
 * Resources: how much of each is used, how much there is, and how much of it
 * should be used, which is learned.
 *
 * After von Behren et al., "Capriccio", SOSP 2003, section 4.  The capacity of
 * a resource is a bound that is known.  Its limit is at most that.  When there
 * are signs of thrashing, the limit falls below what is used now; when there
 * have been none for a while, it rises again, slowly, for as long as policies
 * follow it.  A policy gives fewer turns to threads that would take from a
 * resource, the nearer its use is to its limit (policies/capriccio.c).  A limit
 * refuses nothing.
 *
 * Thrashing is "a decrease in productive work and an increase in overhead".
 *
 *	productivity   what passages between blocking points usually take,
 *	               divided by what they took; it does not fall just because
 *	               there is little to do
 *	overhead       of memory: major page faults per second; of files: the
 *	               mean response time, by Little's law: threads under way
 *	               divided by the rate at which they end
 *
 * Stacks have no overhead before they run out, so their limit stays at the
 * capacity.  CPU time is not here: each scheduler measures its own.
 *
 * Threads    Any, at any time.  Uses are sums of relaxed additions.  One thread
 *            at a time learns; another that would do so at the same time
 *            returns at once.
 * Units      Bytes of memory, descriptors, stacks.
 */
#ifndef STAGES_RESOURCES_H
#define STAGES_RESOURCES_H

#include "stages/stats.h"

#include <stdatomic.h>

/* What a scheduler has counted since its last resources_count_work(). */
struct resource_work {
	uint64_t passage_count;
	uint64_t passed_ns; /* what these took */
	uint64_t usual_ns;  /* what such passages usually take */
	uint64_t ended_count;
	int64_t begun_count; /* threads that began, minus those that ended */
};

struct resource_use {
	_Atomic int64_t used;
	_Atomic uint64_t limit, capacity;
	/* Of the thread that learns. */
	double overhead_usual;
	uint64_t used_most;
	uint32_t calm_windows;
};

struct resources {
	struct resource_use of[RESOURCES];
	/* Major page faults of the process so far.  NULL: not known. */
	uint64_t (*read_faults)(void);

	_Atomic uint64_t passage_count, passed_ns, usual_ns, ended_count;
	_Atomic int64_t thread_count;
	_Atomic uint64_t window_ends_ns;
	atomic_flag is_learning;
	/* The rest belongs to the thread that learns. */
	uint64_t window_began_ns, faults;
	double productivity_usual;
};

/* `read_faults`: may be NULL.  Nothing is used, no capacity is known. */
void resources_init(struct resources *r, uint64_t (*read_faults)(void));

/* The resources of this process. */
struct resources *resources_process(void);

/*
 * A capacity of 0 is not known.  Then a limit is learned, too, in proportion to
 * the most that was used.
 */
void resources_set_capacity(struct resources *r, enum resource which,
			    uint64_t capacity);

/*
 * For stacks, whose limit stays at the capacity: one more owner has `amount` of
 * them; below 0: it has gone.
 */
void resources_add_capacity(struct resources *r, enum resource which,
			    int64_t amount);

/* Those that the policy is given: `all`, or NULL if it ignores them. */
static inline struct resources *schedule_resources(const struct schedule *s,
						   struct resources *all)
{
	return s->resource_rule == RESOURCES_LEARN ? all : NULL;
}

/* Take, or with an amount below 0 give back. */
void resources_take(struct resources *r, enum resource which, int64_t amount);

/* For productivity and overhead. */
void resources_count_work(struct resources *r,
			  const struct resource_work *since);

/*
 * To be called often.  It learns if it last did RESOURCES_WINDOW_NS ago or
 * earlier, and enough work was counted since then.
 */
enum { RESOURCES_WINDOW_NS = 100000000 };
void resources_learn(struct resources *r, uint64_t now_ns);

void resources_read(const struct resources *r,
		    struct resource_state out[RESOURCES]);

#endif
