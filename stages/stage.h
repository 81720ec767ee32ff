/* SPDX-License-Identifier: MIT */
/*
 * Stages: the named steps of a request, each with a queue in front of it.
 *
 *	stage_send() -> [queue] -> handler -> stage_send() -> [queue] -> ...
 *
 * A group owns stages and the workers that visit them.  Its schedule decides
 * which worker visits which stage next, for how long, and which event is first.
 *
 * A group has parts, each with its own cores: one part if the graph is shared,
 * otherwise replicas or partitions.  An event that is sent from outside goes to
 * one replica and stays in it, unless replicas share stages; in a partitioned
 * graph it goes to the part of its stage.
 *
 * Ownership  An event has one owner at a time: the sender, then the queue,
 *            then the running handler.  stages/ never allocates or frees one.
 * Threads    stage_send(), group_partition() and the functions that only read
 *            may be called from any thread, once group_start() has returned;
 *            those that are for handlers, and those of closures, say so.  One
 *            thread, which is not in a handler, calls the others of a group
 *            in the order of this file.  A group starts only once.
 * Limits     STAGES_MAX stages.  Queues never grow; a full queue refuses.
 *            Only group_stop() waits.  The stacks of handlers that pause or
 *            wait: struct group_config.
 * Several    Any number of groups, each with its own schedule and threads.
 *            They share the process's counts of what user-level threads take
 *            (enum resource), and the guards of stacks.  If handlers of one
 *            group send to another, stop the sending group first.
 * Units      *_ns: nanoseconds; points in time are of CLOCK_MONOTONIC.
 */
#ifndef STAGES_STAGE_H
#define STAGES_STAGE_H

#include "stages/policy.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)

struct cores;
struct stage;
struct stage_group;

#define STAGES_MUST_CHECK __attribute__((warn_unused_result))

/* A sentence that says why something failed; a longer one is cut. */
enum { STAGES_WHY_BYTES = 512 };

/*
 * --- Cores: the CPUs that workers run on, in the order of their use. ---
 *
 * One thread calls cores_new() and cores_free().
 */

/*
 * `list` names CPUs by the system's numbers, each once, in the order of their
 * use: "0,2,4-7".  NULL: all CPUs that this process may use, first one of each
 * physical core, then their siblings, but no more than the CPU quota of its
 * cgroup.
 *
 * NULL on failure; then `why` continues a sentence that began with the list:
 * "names a CPU twice".
 */
struct cores *cores_new(const char *list, char why[STAGES_WHY_BYTES]);
void cores_free(struct cores *c);

uint32_t cores_count(const struct cores *c);

/* The system's number of core `i`. */
uint32_t cores_cpu(const struct cores *c, uint32_t i);

/*
 * Bind the calling thread to cores `first` .. `first + count - 1`.  False: the
 * system refused, and nothing has changed.
 */
bool cores_bind(const struct cores *c, uint32_t first, uint32_t count);

/*
 * --- Schedules: all choices of how stages get the CPU. ---
 *
 * A program sets the members of struct schedule itself; those of this project
 * read them as flags.  Any number of threads may read a complete schedule, as
 * it is never changed.
 */

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
 * has found an event.  Besides, a blind worker knows that it was woken, and by
 * which event if it rested at a station.  It steals from nobody, as it does not
 * know whose queue is long.  Only a threshold is, by its nature, a look at the
 * queue of its stage.
 */
enum look {
	LOOK_LENGTHS, /* the lengths of all queues */
	LOOK_BLIND,   /* nothing */
};

/*
 * What a worker that roams does if it has found nothing.
 *
 * Wake: it sleeps until an event arrives anywhere.  A blind worker first makes
 * a round: it sleeps when it has visited each of its stations in vain since it
 * was woken or found an event.
 *
 * Backoff: it makes visits in vain for as long as its patience lasts.  From
 * then on it rests after each visit in vain, at the station of that visit, and
 * longer each time.  An event that arrives at this station wakes it, and is
 * what it visits next; one at another station waits.  A visit that finds an
 * event, or being woken, ends the search: the next one begins with patience and
 * with the shortest rest.  Patience is for blind visits; a worker that sees the
 * queues rests as soon as it sees nothing.  It should be a round, at least:
 * SRPT and DBR begin again at the same stage after each find, and if they rest
 * on the way, they may never come to the stages after a busy one.
 *
 * All that the thesis says of it (Gordon, UCAM-CL-TR-781, section 2.4.2, of
 * Cohort scheduling): "If a thread repeatedly polls empty queues, it sleeps for
 * exponentially increasing periods of time so the server can idle."  MG1, SRPT
 * and DBR share this (3.1.2).  It has no numbers; those of idle_thesis are
 * ours.  Its author published two programs, neither of which doubles: see
 * below.
 */
enum idle_kind {
	IDLE_WAKE,
	IDLE_BACKOFF,
};

struct idle {
	enum idle_kind kind;
	/* Visits in vain without a rest: so many, and for so long. */
	uint32_t patience_misses;
	uint64_t patience_ns;
	uint64_t first_ns, longest_ns;
	/* Each rest is longer by first_ns; otherwise, twice as long. */
	bool is_linear;
};

/* After two rounds of 32 stages, from 1 us to 1 ms. */
extern const struct idle idle_thesis;
/*
 * Yield's PollingStageGroup (2009 and 2010; the one that has DBR): each visit
 * in vain makes the rest 1 ns longer, up to 1 ms.
 */
extern const struct idle idle_code_step;
/*
 * Yield's earlier PerProcessorStageGroup (2009): none for 200 ms, then 1 ms
 * more after each visit, up to 20 ms.
 */
extern const struct idle idle_code_pause;

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
 * How replicas share the events of a stage.
 *
 * All: there is one queue, which the workers of all replicas visit; an
 * exclusive stage lets in one of them, and equal keys go to one of them.  An
 * event that leaves the stage goes on in the replica of the worker that has
 * handled it.
 *
 * Even: a worker that begins a visit and finds fewer than `even_below` events
 * takes others, from the longest queues of other replicas, until it has as many
 * as its core's share of all that wait at the stage (Larus and Parkes,
 * technical report MSR-TR-2001-39, section 5.1: BalanceLoad).  They go on in
 * its replica.  Only stages of the type STAGE_SHARED are made even.
 */
enum sharing_kind {
	SHARING_NONE, /* each replica has its own */
	SHARING_ALL,
	SHARING_EVEN,
};

enum { SCHEDULE_EVEN_BELOW = 4 }; /* as there */

struct sharing {
	enum sharing_kind kind;
	uint32_t even_below; /* 0 of other kinds */
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
	SCHEDULE_ENOUGH,
	SCHEDULE_RESOURCES,
	SCHEDULE_THREADS,
	SCHEDULE_IO,
	SCHEDULE_TRANSFERS,
	SCHEDULE_QUANTUM,
	SCHEDULE_CHOICES
};

/*
 * What single stages have instead of what all others have: in the papers a
 * stage has its own flags (Larus and Parkes, USENIX 2002, section 4.1).
 */
struct stage_rules {
	uint32_t own_regimes; /* bit i: stage i has regimes[i] */
	struct regime regimes[STAGES_MAX];
	uint32_t own_disciplines; /* the same, of queues */
	struct discipline disciplines[STAGES_MAX];
	uint32_t own_sharings; /* the same, among replicas */
	struct sharing sharings[STAGES_MAX];
	/*
	 * Those of own_sharings that are left out where they make no sense,
	 * such as without replicas; the others are refused then.
	 */
	uint32_t default_sharings;
};

struct schedule {
	const struct policy *policy;
	enum resource_rule resource_rule;
	/* With a policy that has_thread_model; quantum_ns is 0 for others. */
	struct thread_model threads;
	struct regime regime;
	struct stage_rules rules;
	enum look look;
	struct idle idle;
	struct discipline discipline;
	/*
	 * An event that has run for this time may be paused for another
	 * (stage_pause_point()); 0: no slices.
	 */
	uint64_t slice_ns;
	enum balance balance;
	struct sharing sharing; /* among replicas */
	/* Replicas or partitions; 0: as many as possible. */
	uint32_t part_count;
	/* How requests are distributed to replicas. */
	enum distribute distribute;
	bool steal;
	bool pool_is_auto;
	/*
	 * Threads of each part, by stage; 0: one, or, if workers roam, none.
	 *
	 * If workers roam, these are user-level threads, as in Harizopoulos and
	 * Ailamaki 2005 (Gordon, UCAM-CL-TR-781, section 2.4.2).  Handlers of
	 * the stage may call stage_wait(); then the worker goes on with its
	 * visit.  So many events of the stage, at most, have begun and not
	 * ended; a visit ends if no other can be taken.  One that was woken is
	 * handled next, or by its rank, or, with a cutoff, after the others
	 * like one that the cutoff has paused.  Stages that are not shared have
	 * no such pool.  Without SCHEDULE_POOL in `given` they are ignored.
	 */
	uint32_t pool_threads[STAGES_MAX];
	struct threshold thresholds[STAGES_MAX];
	bool has_thresholds;
	/*
	 * While so many events or more wait at stage i, which is then full, a
	 * worker that may enter it makes no visits to stages before it; 0: it
	 * is never full (Larus and Parkes, USENIX 2002, section 4.1.3: "a
	 * stage informs other stages that it has sufficient tasks").
	 */
	uint32_t enough[STAGES_MAX];
	bool has_enough; /* for any stage */
	/*
	 * Bit i: the user made choice i.  If it has no effect or no meaning
	 * with the other choices, schedule_complete() refuses it; a default
	 * gives way.
	 */
	uint32_t given;
};

/* The regime of visits at a stage. */
static inline const struct regime *schedule_regime(const struct schedule *s,
						   uint32_t stage)
{
	return (s->rules.own_regimes >> stage & 1) != 0 ?
		       &s->rules.regimes[stage] :
		       &s->regime;
}

/* The discipline of a stage's queues. */
static inline const struct discipline *
schedule_discipline(const struct schedule *s, uint32_t stage)
{
	return (s->rules.own_disciplines >> stage & 1) != 0 ?
		       &s->rules.disciplines[stage] :
		       &s->discipline;
}

/* How replicas share the events of a stage. */
static inline const struct sharing *schedule_sharing(const struct schedule *s,
						     uint32_t stage)
{
	return (s->rules.own_sharings >> stage & 1) != 0 ?
		       &s->rules.sharings[stage] :
		       &s->sharing;
}

/* Does a discipline of the schedule rank events? */
bool schedule_has_ranks(const struct schedule *s);

/* May workers pause events under this schedule? */
bool schedule_has_pauses(const struct schedule *s);

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

/* A schedule of all defaults. */
void schedule_init(struct schedule *s);

/*
 * False: the choices contradict each other, a number that is used is out of the
 * range that its flag has, or they do not fit this number of stages and cores;
 * `why` is a sentence that names a flag and the reason.  Of choices that
 * contradict others, only flags that were given are refused.  On success
 * part_count is at least 1.
 */
STAGES_MUST_CHECK bool schedule_complete(struct schedule *s,
					 uint32_t stage_count,
					 uint32_t core_count,
					 char why[STAGES_WHY_BYTES]);

/* --- Events. --- */

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
	uint64_t number; /* appears in traces (stats.h) */

	/*
	 * Set by stages/; handlers may read them.  A handler that sends an
	 * event of its own making copies `born_ns` and `patience_ns` of the one
	 * whose work it continues: otherwise, with the discipline srpt, it is
	 * before all others.
	 */
	uint64_t born_ns;     /* when it was sent from outside the group */
	uint64_t patience_ns; /* see discipline srpt, above */
	/* Time in all queues up to now, also while paused. */
	uint64_t waited_ns;

	/* The rest belongs to stages/. */
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
 * left.  The event has no patience (discipline srpt) with others any more.
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

/*
 * How many workers may be in a stage at once (Larus and Parkes, 3.4).
 *
 * No event waits at a pass-through stage (Gordon, UCAM-CL-TR-781, section 4.1):
 * stage_send() calls its handler, as a part of the handler that sends, or on
 * the thread outside that sends.  So the two are scheduled as one, and the time
 * of the second one counts for both.  With a policy without workers it is as a
 * shared one.  At least one stage of a group is of another type.
 */
enum stage_type {
	STAGE_SHARED,       /* all workers */
	STAGE_EXCLUSIVE,    /* one; other workers go on without waiting */
	STAGE_PARTITIONED,  /* all; but events with one key go to one worker */
	STAGE_PASS_THROUGH, /* all, and without a queue */
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
	/* Count hardware events, if allowed (stats.h). */
	bool counts_hardware;
	/*
	 * With user-level threads: the stacks of each part.  0: as many as all
	 * stages have slots together, but 131,072 at most.  Further threads
	 * wait before they begin.  An eighth, or at least one of two or more,
	 * is not for threads that were sent from outside and have not begun; a
	 * closure that goes on has begun.  If all stacks are those of threads
	 * that wait, no thread goes on that needs one: so a handler must not
	 * wait for a thread of the same group that has no stack.
	 */
	uint32_t stacks_max;
	/*
	 * Handlers that may pause, or wait, run on stacks of this size, in
	 * whole pages; 0: 64 KiB, and never less than 16 KiB.  Below each is a
	 * guard of 64 KiB: a handler that needs more ends the program.
	 */
	size_t stack_bytes;
	/*
	 * Before Linux 6.13 a program can have guards for 16,384 stacks, of all
	 * groups together.  False: there are no more stacks than guards, even
	 * if stacks_max says so.
	 */
	bool stacks_may_lack_guards;
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
	void *arg;      /* given to every call of `handler` */
	uint32_t slots; /* least capacity of a queue; 1 .. 2^30 - 1 */
	/* In a replica: each has its own instance, or shares it (sharing). */
	enum stage_type type;
};

/* NULL: out of memory. */
struct stage_group *group_new(const struct group_config *config);

/* Add a stage, in pipeline order.  The group owns it.  NULL: out of memory. */
struct stage *group_add(struct stage_group *g,
			const struct stage_config *config);

/*
 * Start the workers.  False: no memory, or no thread, or the stages of a
 * central queue have 2^30 slots or more in all.  Then no worker runs, and the
 * group can only be freed.
 */
STAGES_MUST_CHECK bool group_start(struct stage_group *g);

/*
 * The number of worker threads of all parts together, including parked threads
 * of pools.
 */
uint32_t group_worker_count(const struct stage_group *g);

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
STAGES_MUST_CHECK bool stage_send_at(const struct blocking_site *at,
				     struct stage *s, struct event *ev);

/* Of events, first in, first out.  A struct of zeros is empty. */
struct event_list {
	struct event *first, *last; /* `last` counts only if there is a first */
};

/* The members belong to stages/. */
struct postponed {
	struct stage_group *group;
	struct event_list events;
};

/*
 * In a handler of a group without workers: what it sends from now on waits, in
 * `p`, after the call from outside has returned, for stage_run_postponed().  A
 * stop waits for that, too.
 */
void stage_postpone(struct postponed *p);

/*
 * Run the handlers of these events, at least one, and of all that they send,
 * before this returns.  `p` may be gone by then.  Called outside handlers.
 */
void stage_run_postponed(const struct postponed *p);

/*
 * May the caller call stage_wait()?  Only the handler of a shared stage may, if
 * its policy is one of user-level threads, or the stage has a pool of these
 * (schedule.pool_threads), and it still has its event.
 */
bool stage_can_wait(void);

/*
 * Called by the handler of event `ev`: let others run until somebody has called
 * stage_wake(ev).  It returns for no other reason.  A call before the wait
 * counts, if it came after the event was sent from outside and after its last
 * wait; several such calls count as one.
 *
 * With a policy of user-level threads, the handler goes on on the same kernel
 * thread, but others have run on it meanwhile: the caller holds no lock.  With
 * a pool it is as after stage_pause_point().  A stop waits until it is woken.
 * In the counts a wait is a pause (stats.h).
 */
#define stage_wait() stage_wait_at(BLOCKING_SITE())
void stage_wait_at(const struct blocking_site *at);

/*
 * Any thread may call this, once for each wait: a call must not meet an event
 * that has ended, and when it returns, this one may have.  The group must not
 * be freed before it returns.
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
 * Data private to a worker (Larus and Parkes, 3.4): while the handler of an
 * exclusive stage or of one partitioned by key runs, no other handler of that
 * stage has the same number.  So an array with an element for each number needs
 * no lock.  0 outside handlers.
 */
uint32_t stage_private_number(void);

/* Numbers are below this, once the group has started. */
uint32_t stage_private_count(const struct stage *s);

/*
 * In a partitioned graph: stage i belongs to parts[i] from now on.  Events that
 * are queued stay in their part and are handled there.  Before the first call
 * the stages are divided evenly, in pipeline order.  False: the graph is not
 * partitioned, or a stage is partitioned by key, and its keys would change
 * their workers.
 */
bool group_partition(struct stage_group *g, const uint32_t *parts);

/* In a partitioned graph: the part to which the stage belongs now. */
uint32_t stage_part(const struct stage *s);

/*
 * Refuse events from outside, handle all that are queued, join the workers.  A
 * second call does nothing.
 */
void group_stop(struct stage_group *g);

/*
 * Free a group that never started or has stopped, when no thread is in a
 * function of this group any more.  NULL is fine.
 */
void group_free(struct stage_group *g);

/*
 * --- Closures: operations with a state of their own. ---
 *
 * A closure is an asynchronous call of a stage (Larus and Parkes, technical
 * report MSR-TR-2001-39, section 5.2).  Its first method is called at the
 * stage, and says what comes next:
 *
 *	static enum closure_action sum(struct closure *c, void *arg)
 *	{
 *		struct sum *s = (struct sum *)c;
 *
 *		closure_invoke(c, &s->left.closure, stage_b, count);
 *		closure_invoke(c, &s->right.closure, stage_b, count);
 *		return closure_wait_for_children(c, add);
 *	}
 *
 * `add`, its continuation, is called at the same stage when both children have
 * ended.  A child that has a parent may write its result there; a child whose
 * parent does not wait is an orphan.
 *
 * A stage of closures has closure_handle() as its handler; methods get the
 * stage's `arg`, and are handlers in all other respects: they may pause, and
 * wait by stage_wait().  With user-level threads a closure is a thread; that of
 * a parent which waits for children goes on as the last one that it invoked,
 * and that of the last one to end as their parent.
 *
 * Ownership  The caller's, until closure_start(), or closure_invoke() and the
 *            return of the parent's method.  Then the library's, until it calls
 *            `end`, once; there the closure may be freed.  It is called before
 *            a waiting parent goes on, so a child may be part of its parent.
 * Threads    A closure is in one method at a time, and in none while it waits.
 *            `end` is called by a worker, by closure_resume(), or by
 *            session_cancel(); it is no handler: it neither pauses nor waits.
 *            With a policy without workers, and at pass-through stages, these
 *            two and closure_start() run methods and `end`, too, as
 *            stage_send() runs handlers; so their callers hold no lock.
 * Limits     Slots of its stage, as for events: a closure that finds none ends
 *            with CLOSURE_REFUSED.  A closure that waits takes no slot, but
 *            needs one to go on.
 */
struct closure;

enum closure_action {
	CLOSURE_COMPLETE, /* it has ended, and its children are orphans */
	CLOSURE_DISPATCH_CHILDREN,
	CLOSURE_WAIT_FOR_CHILDREN,
	CLOSURE_WAIT_FOR_EVENT,
	CLOSURE_GO_TO,
};

typedef enum closure_action closure_fn(struct closure *c, void *arg);

enum closure_end {
	CLOSURE_DONE,
	CLOSURE_CANCELLED, /* with its session */
	CLOSURE_REFUSED,   /* by a full queue */
};

/*
 * Closures that can be cancelled together.  In a replicated graph, those of one
 * key go to one replica, unless another steals them.  For one worker at a
 * partitioned stage, set event.key, too.  A struct of zeros, but for the key;
 * it outlives its closures.
 */
struct session {
	uint32_t key;
	/* The rest belongs to stages/. */
	_Atomic bool is_cancelled;
	atomic_flag is_locked;
	struct closure *waiting;
};

/* The first member of the caller's struct; zeroed, but for these: */
struct closure {
	struct event event;
	void (*end)(struct closure *c, enum closure_end how);
	struct session *session; /* NULL: none; a child has its parent's */
	/* The rest belongs to stages/. */
	struct stage *stage;
	closure_fn *method; /* called next; NULL: it ends instead */
	struct closure *parent, *children, *next;
	_Atomic uint32_t left; /* children that have not ended */
	_Atomic uint32_t wake;
	uint32_t part;
	struct closure *next_waiting, **at_waiting; /* of its session */
};

/* The handler of a stage of closures. */
void closure_handle(struct event *ev, void *arg);

/*
 * Call `method` at `s`; any thread may call this.  False, as for stage_send():
 * nothing has happened.
 */
STAGES_MUST_CHECK bool closure_start(struct closure *c, struct stage *s,
				     closure_fn *method);

/*
 * In a method of `parent`: call `method` of a child at `s` when this method has
 * returned.  If `s` is of another group, the child is new there, and its parent
 * must not go on: it waits for it with NULL, or not at all.
 */
void closure_invoke(struct closure *parent, struct closure *child,
		    struct stage *s, closure_fn *method);

/*
 * --- What a method returns, besides CLOSURE_COMPLETE.  With a `next` of NULL
 * the closure ends instead of going on. ---
 */

/* Start the children, without waiting for them, and go on with `next`. */
static inline enum closure_action closure_dispatch_children(struct closure *c,
							    closure_fn *next)
{
	c->method = next;
	return CLOSURE_DISPATCH_CHILDREN;
}

/* Go on with `next` when all children have ended. */
static inline enum closure_action closure_wait_for_children(struct closure *c,
							    closure_fn *next)
{
	c->method = next;
	return CLOSURE_WAIT_FOR_CHILDREN;
}

/* Go on with `next` after closure_resume().  A stop waits for that. */
static inline enum closure_action closure_wait_for_event(struct closure *c,
							 closure_fn *next)
{
	c->method = next;
	return CLOSURE_WAIT_FOR_EVENT;
}

/* Go on with `next` at another stage of the same group. */
static inline enum closure_action
closure_go_to(struct closure *c, struct stage *s, closure_fn *next)
{
	c->stage = s;
	c->method = next;
	return CLOSURE_GO_TO;
}

/*
 * Any thread may call this, also before the method that waits has returned, but
 * not before it has begun: then it is lost.  Several calls count as one.  For a
 * closure that has ended, as it may after session_cancel(), it does nothing;
 * but its memory must still be there.  The group must not be freed before it
 * returns.
 */
void closure_resume(struct closure *c);

/*
 * Any thread may call this, again and again, as long as the session and the
 * group live when it begins.  Methods of the session's closures that have not
 * begun will not begin, except one that a worker is about to begin; when every
 * `end` was called, none runs.  Closures that wait for an event end at once;
 * those that wait for children when these have ended; the others when it is
 * their turn.
 */
void session_cancel(struct session *s);

#pragma GCC visibility pop

#endif
