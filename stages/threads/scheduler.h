/* SPDX-License-Identifier: MIT */
/*
 * Scheduler: runs user-level threads on one kernel thread.
 *
 *	other threads --> [inbox] --+
 *	                            v
 *	  +--> [queue of a place] ... [queue of a place]
 *	  |          |  policy->pick(): which place?
 *	  |          v
 *	  |      run until the next blocking point -- scheduler_wait() --> waits
 *	  |          |                                                      |
 *	  +----------+ policy->arrive()          [inbox] <-- scheduler_wake()
 *
 * A user-level thread is an event: struct event has its stack, its place and
 * the link of its queue.  Between two blocking points it runs without
 * interruption; it never leaves its kernel thread.  A place is first come,
 * first served.
 *
 * Between two handlers a thread has nothing on its stack: what it does next is
 * in its event.  So it gives the stack back and takes one, mostly the same,
 * when it goes on (Draves et al., "Using continuations to implement thread
 * management and communication in operating systems", 1991: stack hand-off).
 * Only a thread that waits within a handler keeps its stack, and memory that
 * its earlier calls took is given back.  While there are no free stacks,
 * threads without one wait in their places.  Some stacks are reserved: threads
 * that came from outside and have not begun do not take them.  So work under
 * way can go on, although new work holds all other stacks and waits.  An eighth
 * of all stacks is reserved, rounded down, but at least one; only if there is
 * just one stack, none is, and a thread that waits stops all others.
 *
 * No wake-up is lost.  Who wakes a thread that waits (event.h) puts it into the
 * inbox; one that was woken before stays runnable.  After something was put
 * into the inbox, the eventcount is woken; and before the kernel thread sleeps,
 * it announces that and then looks at the inbox once more.  scheduler.pml is a
 * model of this.
 *
 * Threads    scheduler_post(), scheduler_wake(), scheduler_read() and
 *            scheduler_state() may be called by any number of threads.  The
 *            rest: one kernel thread, after scheduler_new().
 */
#ifndef STAGES_SCHEDULER_H
#define STAGES_SCHEDULER_H

#include "base/util.h"
#include "stages/eventcount.h"
#include "stages/policy.h"
#include "stages/threads/fibre.h"

struct event;
struct scheduler;

struct scheduler_config {
	const struct thread_policy *policy;
	struct resources *shared; /* given to the policy; or NULL */
	struct fibre_stacks stacks;
	/*
	 * The next part of a thread, up to a blocking point between two
	 * handlers, which it returns, or up to its end (NULL), after which the
	 * event may belong to somebody else.
	 */
	const struct blocking_site *(*run)(struct event *ev);
	struct eventcount *sleeps; /* where the kernel thread sleeps */
};

/* NULL: no memory. */
struct scheduler *scheduler_new(const struct scheduler_config *config);

/* All threads have ended.  NULL is fine. */
void scheduler_free(struct scheduler *s);

/* All its stacks, in use or not. */
uint32_t scheduler_stack_count(const struct scheduler *s);

/* --- From any thread. --- */

/*
 * `ev` is a thread that begins, sent from `at`.  `is_new`: from outside; if
 * not, it is part of work under way.
 */
void scheduler_post(struct scheduler *s, struct event *ev,
		    const struct blocking_site *at, bool is_new);

/* The waiting thread now belongs to the caller, by wake_up(). */
void scheduler_wake(struct event *ev);

/* --- From its kernel thread, not from a user-level thread. --- */

/* Run threads until none can run.  `now_ns`: the clock. */
void scheduler_run(struct scheduler *s, uint64_t now_ns);

/* True: something has come that scheduler_run() has not seen yet. */
bool scheduler_has_work(const struct scheduler *s);

/* --- From the user-level thread that runs. --- */

/*
 * The clock was read: CPU time before `now_ns` belongs to the running thread,
 * later time to the next one.  To be called before a thread passes a blocking
 * point or ends.
 */
void scheduler_set_now(struct scheduler *s, uint64_t now_ns);
uint64_t scheduler_now(const struct scheduler *s);

/* From its next blocking point on the thread is `ev`. */
void scheduler_become(struct scheduler *s, struct event *ev);

/* Start another thread. */
void scheduler_start(struct scheduler *s, struct event *ev,
		     const struct blocking_site *at);

/* See stage_wait(). */
void scheduler_wait(struct scheduler *s, const struct blocking_site *at);

/* The running thread has taken this. */
void scheduler_take(struct scheduler *s, enum resource r, int64_t amount);

/* --- Reports, from any thread: a moment ago. --- */

struct scheduler_place {
	uint32_t ready, waiting; /* threads */
};

struct scheduler_counts {
	uint64_t begun_count;  /* since start: threads */
	uint64_t switch_count; /* since start: times that one went on */
	uint32_t stack_count, stack_count_max; /* in use: now; at most */
};

void scheduler_read(const struct scheduler *s,
		    struct scheduler_place places[PLACES_MAX],
		    struct scheduler_counts *out);

/* The policy's state, for reports that it can make itself. */
const void *scheduler_state(const struct scheduler *s);

#endif
