/* SPDX-License-Identifier: MIT */
/*
 * Schedules: all choices of how stages get the CPU, their defaults, and which
 * of them exclude each other.  visit.h carries the choices out.  A program sets
 * the members of struct schedule itself, or reads them as flags (flags.h).
 *
 * Threads    Any number, on different schedules.  A complete schedule is never
 *            changed, so any number may read it.
 */
#ifndef STAGES_SCHEDULE_H
#define STAGES_SCHEDULE_H

#include "base/error.h"
#include "base/util.h"
#include "stages/policy.h"

enum { STAGES_MAX = 32 };

/*
 * Service regimes: how long a visit at a stage lasts (Gordon, UCAM-CL-TR-781,
 * table 3.1 and section 2.4.2, after Harizopoulos and Ailamaki 2002).
 *
 * A gate is a count: a visit handles at most as many events as waited when it
 * began.  If the queue is first come first served and has one worker, those
 * are exactly the events that waited.
 *
 * Cutoff (C-gated): an event whose handler has run for `limit` since the visit
 * took it is paused (stage_pause_point()).  The next visit first handles the
 * other events that wait when it begins, then those paused by the cutoff, in
 * the order of their pauses, each again for `limit` at most.  So a long event
 * lets the waiting short ones go first, and long events take turns.  An event
 * that cannot be paused, as its stage is not shared or too many are paused
 * already, runs to its end, as with `gated`.
 */
enum regime_kind {
	REGIME_EXHAUSTIVE, /* until the queue is empty */
	REGIME_GATED,      /* D-gated: events that wait at the beginning */
	REGIME_N_GATED,    /* T-gated: as GATED, but at most `limit` events */
	REGIME_TIME_GATED, /* until empty or `limit` ns have passed */
	REGIME_CUTOFF,     /* gated; each event for at most `limit` ns */
};

struct regime {
	enum regime_kind kind;
	uint64_t limit; /* events or ns, see above; unused by other kinds */
};

/*
 * What a worker that roams knows of the queues.
 *
 * In the papers it is blind: it learns how a queue is only by a visit, which
 * costs as much as another if it finds nothing (Gordon, UCAM-CL-TR-781,
 * sections 2.4.2 and 3.1).  The policy then knows only whether the last visit
 * has found an event.
 */
enum look {
	LOOK_LENGTHS, /* the lengths of all queues */
	LOOK_BLIND,   /* nothing */
};

/*
 * What a worker that roams does if it has found nothing.
 *
 * Backoff is that of the papers, exponential idling: the worker waits at the
 * station that it visited last, twice as long as after the visit before, but
 * IDLE_FIRST_NS first and longest_ns at most.  An event that arrives at this
 * station wakes it; one at another station waits.
 */
enum idle_kind {
	IDLE_WAKE,    /* sleep until an event arrives anywhere */
	IDLE_BACKOFF, /* see above */
};

#define IDLE_FIRST_NS UINT64_C(10000)

struct idle {
	enum idle_kind kind;
	uint64_t longest_ns;
};

/*
 * Queue disciplines: which of the waiting events is handled first.  Each gives
 * an event a rank when it is queued; the lowest rank is first.
 *
 *	fcfs   the order of arrival
 *	lcfs   the opposite
 *	stack  fcfs, but a worker first takes the events that it sent to the
 *	       stage itself, newest first (Gordon, UCAM-CL-TR-781, appendix
 *	       A.1, interpretation 1)
 *	srpt   the order of  born + min(ageing * left, patience)
 *	edf    the order of deadlines (event.deadline_ns); events without one
 *	       are last
 *
 * SRPT: least predicted work left first, with ageing.  An event that was born
 * (first sent) at time b with work L left is overtaken in its queue only by
 * events born before b + ageing * L, so none starves there.  With the central
 * queue of `color` this holds for all stages together; with other policies, a
 * policy or a regime that stays at early stages lets later queues wait.  The
 * work left of a paused event is what it has not done yet, so a pause never
 * makes its rank worse.
 *
 * Ageing 0 is first come first served by birth; a larger value is nearer to
 * pure SRPT.  With a fixed ageing, patience has no limit.  If the discipline
 * follows the load, patience is a multiple of the wait W that the event would
 * have first come first served (event.expected_ns - left, the sender's
 * estimate): an event is overtaken only by events born before b + 1.5 * W, and
 * b + 0.4 * W while clients that wait for their replies keep the group busy,
 * because then each event that overtakes brings the next one of its client.
 * Under a light load, where W may be nothing, it is b + 3 * (W + L)
 * (visit_begin_event()).
 *
 * The rank of a waiting event never changes, so a heap is enough.
 *
 * EDF: earliest deadline first (Liu and Layland, J. of the ACM 20:1, 1973).  On
 * one core, and if handlers can be paused, it meets all deadlines that any
 * order can meet.  Overloaded, it is poor: it works on the events that are
 * nearly late, and makes the others late.  So a sender should drop an event
 * that cannot be done in time any more before it costs CPU time.
 */
enum discipline_kind {
	DISCIPLINE_FCFS,
	DISCIPLINE_LCFS,
	DISCIPLINE_STACK,
	DISCIPLINE_SRPT,
	DISCIPLINE_EDF,
};

/* Found by measurement: docs/scheduling.md. */
#define SCHEDULE_AGEING 30

struct discipline {
	enum discipline_kind kind;
	/* Of srpt. */
	double ageing;     /* ns of waiting that 1 ns of work is worth */
	bool follows_load; /* patience has a limit */
};

/*
 * Does the discipline rank events?  If not, only the order of arrival counts.
 */
static inline bool discipline_has_ranks(const struct discipline *d)
{
	return d->kind == DISCIPLINE_LCFS || d->kind == DISCIPLINE_SRPT ||
	       d->kind == DISCIPLINE_EDF;
}

/*
 * When a stage interrupts a visit at another stage (Larus and Parkes, USENIX
 * 2002, section 4.1.3): the worker finishes its current event, handles events
 * of this stage until none waits, and resumes the visit.  A visit that
 * interrupts another one is not interrupted itself.
 */
struct threshold {
	/* Interrupt if more events wait; 0: no such threshold. */
	uint32_t queued_count;
	/* Interrupt if there was no visit for longer; 0: none. */
	uint64_t unvisited_ns;
};

enum balance {
	BALANCE_SHARED,    /* one graph for all cores */
	BALANCE_REPLICATE, /* copies of the graph */
	BALANCE_PARTITION, /* each stage belongs to some of the cores */
};

/*
 * How new events are distributed to replicas.
 *
 * Size: replica i of n gets the events of the ith interval of predicted work
 * (event.left_ns), smallest first.  The intervals are such that the work of
 * recent events is divided among replicas in proportion to their cores
 * (Crovella, Harchol-Balter and Murta, "Task assignment in a distributed
 * system", SIGMETRICS 1998: SITA-E).  Events without a prediction go to each
 * replica in turn.  An event stays in its replica.
 *
 * With stealing, a worker takes events only from replicas of smaller sizes,
 * before those of its own replica and one at a time.  So small events may use
 * every core, and the cores of the smallest are never taken by larger ones
 * (Demoulin et al., "When idling is ideal: Perséphone", SOSP 2021: DARC; but
 * there, types of requests are given and cores are divided).
 */
enum distribute {
	DISTRIBUTE_ROUND_ROBIN,
	DISTRIBUTE_LEAST_LOADED, /* fewest events under way */
	DISTRIBUTE_SIZE,
};

/* What policies over user-level threads do about resources. */
enum resource_rule {
	RESOURCES_LEARN,  /* decide by what threads will use */
	RESOURCES_IGNORE, /* first come, first served */
};

/* How many kernel threads there are for the threads of connections. */
enum thread_mapping {
	THREADS_1_TO_1, /* one for each */
	THREADS_N_TO_1, /* one for all */
	THREADS_N_TO_M, /* one per core */
};

/* What a call that would block does. */
enum thread_io {
	THREADS_IO_SYNC,  /* it blocks its kernel thread */
	THREADS_IO_ASYNC, /* it blocks the thread of the connection only */
};

/* Where a transfer that was begun and would block is continued. */
enum thread_transfers {
	TRANSFERS_BY_SCHEDULER, /* on the stack of the kernel thread */
	TRANSFERS_BY_THREAD,    /* in the thread itself */
};

/* How the threads of connections are run (Chanda et al., ServLib). */
struct thread_model {
	enum thread_mapping mapping;
	enum thread_io io;
	enum thread_transfers transfers;
	/* Time of a thread until others run; 0: no limit. */
	uint64_t quantum_ns;
};

/* The choices that a user of a program makes, in the order of their flags. */
enum schedule_choice {
	SCHEDULE_POLICY,
	SCHEDULE_REGIME,
	SCHEDULE_LOOK,
	SCHEDULE_IDLE,
	SCHEDULE_DISCIPLINE,
	SCHEDULE_SLICE,
	SCHEDULE_BALANCE,
	SCHEDULE_DISTRIBUTE,
	SCHEDULE_STEAL,
	SCHEDULE_POOL,
	SCHEDULE_THRESHOLD,
	SCHEDULE_RESOURCES,
	SCHEDULE_THREADS,
	SCHEDULE_IO,
	SCHEDULE_TRANSFERS,
	SCHEDULE_QUANTUM,
	SCHEDULE_CHOICES
};

struct schedule {
	const struct policy *policy;
	enum resource_rule resource_rule;
	/* With a policy that has_thread_model; quantum_ns is 0 for others. */
	struct thread_model threads;
	struct regime regime;
	enum look look;
	struct idle idle;
	struct discipline discipline;
	/*
	 * An event that has run for this time may be paused for another
	 * (stage_pause_point()); 0: no slices.
	 */
	uint64_t slice_ns;
	enum balance balance;
	/* Replicas or partitions; 0: as many as possible. */
	uint32_t part_count;
	/* How requests are distributed to replicas. */
	enum distribute distribute;
	bool steal;
	bool pool_is_auto;
	uint32_t pool_threads[STAGES_MAX]; /* threads of each part, by stage */
	struct threshold thresholds[STAGES_MAX];
	bool has_thresholds;
	/*
	 * Bit i: the user made choice i.  If it has no effect or no meaning
	 * with the other choices, schedule_complete() refuses it; a default
	 * gives way.
	 */
	uint32_t given;
};

/* May workers pause events under this schedule? */
static inline bool schedule_has_pauses(const struct schedule *s)
{
	return s->regime.kind == REGIME_CUTOFF ||
	       (s->slice_ns > 0 && discipline_has_ranks(&s->discipline));
}

/* May handlers be paused, by their workers or by their senders? */
static inline bool schedule_has_pause_points(const struct schedule *s)
{
	return schedule_has_pauses(s) || s->threads.quantum_ns > 0;
}

/*
 * May more handlers be under way at once than there are cores?  Then their
 * times depend on how many there are.
 */
static inline bool schedule_shares_cores(const struct schedule *s)
{
	if (s->policy->has_thread_model)
		return s->threads.mapping == THREADS_1_TO_1;
	return s->policy->workers == POLICY_WORKERS_STAY ||
	       s->policy->workers == POLICY_WORKERS_CALLER;
}

/* Have the kernel threads that run handlers a trace each? */
static inline bool schedule_has_tracks(const struct schedule *s)
{
	return s->policy->workers != POLICY_WORKERS_CALLER ||
	       (s->policy->has_thread_model &&
		s->threads.io == THREADS_IO_ASYNC);
}

/* Those that the policy is given: `all`, or NULL if it ignores them. */
static inline struct resources *schedule_resources(const struct schedule *s,
						   struct resources *all)
{
	return s->resource_rule == RESOURCES_LEARN ? all : NULL;
}

/* All policies, in the order of policies/list.h; ends with NULL. */
extern const struct policy *const policy_list[];

/* NULL: no policy has that name. */
const struct policy *policy_find(const char *name);

/* A schedule of all defaults; every pool has one thread. */
void schedule_init(struct schedule *s);

/*
 * False: the choices contradict each other, a number that is used is out of the
 * range that its flag has, or they do not fit this number of stages and cores;
 * `error` is a sentence that names a flag and the reason.  Of choices that
 * contradict others, only flags that were given are refused.  On success
 * part_count is at least 1.
 */
MUST_CHECK bool schedule_complete(struct schedule *s, uint32_t stage_count,
				  uint32_t core_count, struct error *error);

#endif
