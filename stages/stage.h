/* SPDX-License-Identifier: MIT */
/*
 * Stages: the named steps of a request, each with a queue in front of it.
 *
 *	stage_send() -> [queue] -> handler -> stage_send() -> [queue] -> ...
 *
 * A group owns stages and the workers that visit them.  Its schedule says who
 * visits what next, for how long, and which event is first (schedule.h).
 *
 * A group has parts, each with cores of its own: one if the graph is shared,
 * else replicas or partitions.  An event sent from outside is dealt to one
 * replica and stays in it; in a partitioned graph it goes to the part that its
 * stage belongs to.
 *
 * Ownership  An event has one owner at a time: the sender, then the queue,
 *            then the running handler.  stages/ never allocates or frees one.
 * Threads    stage_send(), group_partition() and the calls that read may be
 *            called from any thread, once group_start() has returned.  The
 *            rest: one thread, which is not a handler's, in the order of this
 *            file; a group starts once.
 * Limits     STAGES_MAX stages.  Queues never grow.  A full queue refuses.
 *            Only group_stop() waits for anything.
 * Units      *_ns: nanoseconds; points in time are of CLOCK_MONOTONIC.
 */
#ifndef STAGES_STAGE_H
#define STAGES_STAGE_H

#include "stages/schedule.h"

#include <stdbool.h>
#include <stdint.h>

#define MUST_CHECK __attribute__((warn_unused_result))

struct cores;
struct group;
struct stage;

/* Embed one in each request, zeroed. */
struct event {
	/* The sender's, optional. */
	uint64_t left_ns; /* predicted work left, the next stage's included */
	uint64_t number;  /* told in traces, see trace.h */
	uint32_t key;     /* of a partitioned stage: equal keys, one worker */

	/*
	 * The rest belongs to stages/; handlers may read the times, and give
	 * an event that they make of another its `born_ns`.
	 */
	struct event *next;  /* behind it in a list */
	struct stage *stage; /* whose queue owns it; NULL: not queued */
	uint64_t born_ns;    /* sent from outside the group */
	uint64_t sent_ns;
	uint64_t waited_ns; /* in all queues so far */
};

/*
 * Handle one event, to the end: no sleeping, no waiting for other events.
 * The handler owns `ev` and must pass it on (stage_send) or finish it.
 */
typedef void stage_fn(struct event *ev, void *arg);

/* Who may handle events of a stage at the same time (Larus and Parkes, 3.4). */
enum stage_type {
	STAGE_SHARED,      /* all workers */
	STAGE_EXCLUSIVE,   /* one; others pass by, none waits for it */
	STAGE_PARTITIONED, /* all, but of one event.key always the same one */
};

struct group_config {
	const struct schedule *schedule; /* complete; copied */
	const struct cores *cores;       /* must outlive the group */
};

struct stage_config {
	const char *name; /* for statistics; must outlive the group */
	stage_fn *handler;
	void *arg;            /* given to every call of `handler` */
	uint32_t slots;       /* least capacity of a queue; 1 .. 2^30 - 1 */
	enum stage_type type; /* in a replica: each has its own instance */
};

/* NULL: out of memory. */
struct group *group_new(const struct group_config *config);

/* Add a stage, in pipeline order.  The group owns it.  NULL: out of memory. */
struct stage *group_add(struct group *g, const struct stage_config *config);

/*
 * Start the workers.  False: no memory, or a thread could not be made, or the
 * stages of a central queue have 2^30 slots or more in all; none runs, and the
 * group is only good for group_free().
 */
MUST_CHECK bool group_start(struct group *g);

/* Worker threads, all parts together, parked ones of pools included. */
uint32_t group_worker_count(const struct group *g);

/* At most so many, by a complete schedule, if keys partition no stage. */
uint32_t group_workers_max(const struct schedule *s, uint32_t stage_count,
			   uint32_t core_count);

/*
 * Queue `ev` for `s`.  True: it is no longer the caller's; do not touch it.
 * False: the queue is full (of the part that the event would go to), or the
 * group is stopping and the sender is not one of its handlers; the caller still
 * owns it.  A handler whose send is refused has the same choice as any sender;
 * where no more events are under way than a queue has slots, handlers are never
 * refused.
 *
 * With a policy that has no workers, the handlers of `ev` and of all events
 * they send run before this returns, in turn, not nested.
 */
MUST_CHECK bool stage_send(struct stage *s, struct event *ev);

/*
 * In a partitioned graph: stage i belongs to parts[i] from now on.  Events that
 * are queued stay where they are and are handled there.  Before the first call
 * each part has as many neighbouring stages as any other.  False: not a
 * partitioned graph, or one with a stage partitioned by key, whose keys would
 * change their workers.
 */
bool group_partition(struct group *g, const uint32_t *parts);

/* In a partitioned graph: the part that it belongs to now. */
uint32_t stage_part(const struct stage *s);

/*
 * Refuse events from outside, handle all that are queued, join the workers.  A
 * second time does nothing.
 */
void group_stop(struct group *g);

/*
 * Free a group that never started or has stopped, once no thread is in
 * stage_send() or a call that reads any more.  NULL is fine.
 */
void group_free(struct group *g);

#endif
