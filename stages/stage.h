/* SPDX-License-Identifier: MIT */
/*
 * Stages: the named steps of a request, each with a queue in front of it.
 *
 *	stage_send() -> [queue] -> handler -> stage_send() -> [queue] -> ...
 *
 * A group owns stages and the workers that visit them.  Its schedule decides
 * which worker visits which stage next, for how long, and which event is first
 * (schedule.h).
 *
 * A group has parts, each with its own cores: one part if the graph is shared,
 * otherwise replicas or partitions.  An event that is sent from outside goes to
 * one replica and stays in it; in a partitioned graph it goes to the part of
 * its stage.
 *
 * Ownership  An event has one owner at a time: the sender, then the queue,
 *            then the running handler.  stages/ never allocates or frees one.
 * Threads    stage_send(), group_partition() and the functions that only read
 *            may be called from any thread, once group_start() has returned.
 *            One thread, which is not in a handler, calls the others in the
 *            order of this file.  A group starts only once.
 * Limits     STAGES_MAX stages.  Queues never grow; a full queue refuses.
 *            Only group_stop() waits.
 * Units      *_ns: nanoseconds; points in time are of CLOCK_MONOTONIC.
 */
#ifndef STAGES_STAGE_H
#define STAGES_STAGE_H

#include "base/util.h"
#include "stages/schedule.h"

#include <stdbool.h>
#include <stdint.h>

struct cores;
struct group;
struct stage;

enum { EVENT_OPAQUE_WORDS = 11 };

/* Embed one in each request, zeroed. */
struct event {
	/* Optional members, set by the sender. */
	/* Predicted work left, including that of the next stage. */
	uint64_t left_ns;
	/*
	 * Work done beyond what `left_ns` predicted, and how much of it is
	 * usual.  With srpt the event loses rank by what is more.  A sender
	 * with a new prediction calls event_predict().
	 */
	uint64_t overrun_ns, margin_ns;
	/*
	 * For srpt that follows the load: the predicted response time if all
	 * requests were served first come, first served, which is the work
	 * under way, divided by the number of cores, plus the event's own work;
	 * 0: not known.  And how many other requests are under way.
	 */
	uint64_t expected_ns;
	uint32_t under_way_count;
	/* At a partitioned stage: equal keys go to the same worker. */
	uint32_t key;
	/* For edf: the time by which it should be done; 0: none. */
	uint64_t deadline_ns;
	uint64_t number; /* appears in traces, see tally.h */

	/*
	 * Set by stages/; handlers may read them.  A handler that sends an
	 * event of its own making copies `born_ns` and `patience_ns` of the one
	 * whose work it continues: otherwise, with the discipline srpt, it is
	 * before all others.
	 */
	uint64_t born_ns;     /* when it was sent from outside the group */
	uint64_t patience_ns; /* see discipline srpt, schedule.h */
	/* Time in all queues up to now, also while paused. */
	uint64_t waited_ns;

	/* The rest belongs to stages/ (event.h). */
	uint64_t opaque[EVENT_OPAQUE_WORDS];
};

/* `ns` of work is done. */
static inline void event_has_run(struct event *ev, uint64_t ns)
{
	uint64_t predicted_ns = ns < ev->left_ns ? ns : ev->left_ns;

	ev->left_ns -= predicted_ns;
	ev->overrun_ns += ns - predicted_ns;
}

/*
 * `left_ns` of work is left; up to twice that is nothing unusual, unless an
 * earlier prediction was wrong.
 */
static inline void event_predict(struct event *ev, uint64_t left_ns)
{
	ev->left_ns = left_ns;
	ev->margin_ns = ev->patience_ns == UINT64_MAX ? 0 : left_ns;
	ev->overrun_ns = 0;
}

/*
 * The running handler finds that the prediction was wrong: `left_ns` of work is
 * left.  The event has no patience (schedule.h) with others any more.
 */
static inline void event_predict_again(struct event *ev, uint64_t left_ns)
{
	ev->patience_ns = UINT64_MAX;
	event_predict(ev, left_ns);
}

/*
 * Handle one event.  A handler does not sleep, and waits for nothing but by
 * stage_wait().  It owns `ev` and must send it on (stage_send) or finish it.  A
 * handler that works for long calls stage_pause_point() again and again.
 */
typedef void stage_fn(struct event *ev, void *arg);

/* How many workers may be in a stage at once (Larus and Parkes, 3.4). */
enum stage_type {
	STAGE_SHARED,      /* all workers */
	STAGE_EXCLUSIVE,   /* one; other workers go on without waiting */
	STAGE_PARTITIONED, /* all; but events with one key go to one worker */
};

/*
 * Senders that are user-level threads, and call handlers.  These functions are
 * about the sender that calls.
 */
struct caller_threads {
	/* Has it had its time?  False outside such threads. */
	bool (*is_due)(void);
	/* Let others run.  It may go on on another kernel thread. */
	void (*pause)(void);
	/* The number of its kernel thread; any other number outside. */
	uint32_t (*kernel_thread)(void);
};

struct group_config {
	const struct schedule *schedule; /* complete; copied */
	const struct cores *cores;       /* must outlive the group */
	/* Count hardware events, if allowed: tally.h. */
	bool counts_hardware;
	/*
	 * With user-level threads: the stacks of each part.  0: as many as all
	 * stages have slots together, but 131,072 at most.  Further threads
	 * wait before they begin.  An eighth, or at least one of two or more,
	 * is not for threads that were sent from outside and have not begun.
	 * If all stacks are those of threads that wait, no thread goes on that
	 * needs one: so a handler must not wait for a thread of the same group
	 * that has no stack.
	 */
	uint32_t stacks_max;
	/*
	 * With a policy that has_thread_model: for stage_pause_point(), if
	 * there is a quantum, and for traces.  NULL: nothing is paused or
	 * traced.  Must outlive the group.
	 */
	const struct caller_threads *caller_threads;
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
 * Start the workers.  False: no memory, or no thread, or the stages of a
 * central queue have 2^30 slots or more in all.  Then no worker runs, and the
 * group can only be freed.
 */
MUST_CHECK bool group_start(struct group *g);

/*
 * The number of worker threads of all parts together, including parked threads
 * of pools.
 */
uint32_t group_worker_count(const struct group *g);

/* The most workers that a complete schedule can have, if no stage has keys. */
uint32_t group_workers_max(const struct schedule *s, uint32_t stage_count,
			   uint32_t core_count);

/*
 * Queue `ev` for `s`.  True: the caller no longer owns it and must not touch
 * it.  False: the caller still owns it; the queue (in the part that the event
 * would go to) is full, or the group is stopping and the sender is not one of
 * its handlers.  A handler is never refused if no more events are under way
 * than a queue has slots.
 *
 * With a policy that has no workers, the handlers of `ev` and of all events
 * that they send run before this returns, one after the other, not nested.
 *
 * With a policy of user-level threads, an event that is sent from outside, or
 * by the handler of another event, becomes a thread.  It stays on the core of
 * its part.  A handler that sends its own event on only says which handler
 * comes next: when it has returned, its thread lets others run and then calls
 * that one.
 *
 * `at`: the caller, given by the macro stage_send().
 */
#define stage_send(s, ev) stage_send_at(BLOCKING_SITE(), (s), (ev))
MUST_CHECK bool stage_send_at(const struct blocking_site *at, struct stage *s,
			      struct event *ev);

/*
 * May the caller call stage_wait()?  Only the handler of a shared stage may, if
 * its policy is one of user-level threads and it still has its event.
 */
bool stage_can_wait(void);

/*
 * Called by the handler of event `ev`: let others run until somebody has called
 * stage_wake(ev).  It returns for no other reason.  A call before the wait
 * counts, if it came after the event was sent from outside and after its last
 * wait; several such calls count as one.
 *
 * The handler goes on on the same kernel thread, but others have run on it
 * meanwhile: the caller holds no lock.  A stop waits until it is woken.  In the
 * counts a wait is a pause (stats.h).
 */
#define stage_wait() stage_wait_at(BLOCKING_SITE())
void stage_wait_at(const struct blocking_site *at);

/*
 * Any thread may call this, once for each wait: a call must not meet an event
 * that has ended, and when it returns, this one may have.
 */
void stage_wake(struct event *ev);

/*
 * The running event takes `amount` of a resource (< 0: gives back).  Of other
 * callers only the sum of the process is kept.
 */
void stage_take(enum resource r, int64_t amount);

/*
 * A handler calls this between two pieces of its work.  Its worker puts the
 * event back, and takes another,
 *  - if the event has had the CPU for the schedule's slice, and another that
 *    waits in the same queue has a lower rank (never with fcfs and stack), or
 *  - if it has had the CPU for the cutoff of the regime.
 * The call returns when a worker, perhaps another one, continues the event.  So
 * the caller holds no lock, and keeps nothing that belongs to the thread.  Call
 * it only while the handler owns its event: not after it has sent the event on
 * or finished it.
 *
 * If handlers run as calls of their senders, group_config.caller_threads says
 * when the sender pauses.  It, too, keeps nothing that belongs to the thread
 * across its stage_send().
 *
 * Does nothing outside handlers, in stages that are not shared, while the
 * number of paused events is at its limit, and for the last event of a visit
 * that the regime limits in number: it runs to its end.
 */
void stage_pause_point(void);

/*
 * In a partitioned graph: stage i belongs to parts[i] from now on.  Events that
 * are queued stay in their part and are handled there.  Before the first call
 * the stages are divided evenly, in pipeline order.  False: the graph is not
 * partitioned, or a stage is partitioned by key, and its keys would change
 * their workers.
 */
bool group_partition(struct group *g, const uint32_t *parts);

/* In a partitioned graph: the part to which the stage belongs now. */
uint32_t stage_part(const struct stage *s);

/*
 * Refuse events from outside, handle all that are queued, join the workers.  A
 * second call does nothing.
 */
void group_stop(struct group *g);

/*
 * Free a group that never started or has stopped, when no thread is in a
 * function of this group any more.  NULL is fine.
 */
void group_free(struct group *g);

#endif
