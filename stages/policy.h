/* SPDX-License-Identifier: MIT */
/*
 * Policies: which stage a free worker visits next.
 *
 * A policy is a decision and nothing else.  It reads a snapshot, keeps a small
 * private state and names a stage.  The service regime decides how long the
 * visit lasts, the queue discipline which event is first (stage.h).  Queues,
 * locks, sleeping and the clock belong to others, so a policy runs in a test,
 * or in virtual time (sim/), without any thread.
 *
 * A policy over user-level threads (struct thread_policy) instead says which of
 * the threads of one core goes on next.  It, too, is a decision and nothing
 * else; scheduler.h runs the threads.
 *
 * A program adds one by policy_register(); to the library it is added by a file
 * policies/<name>.c and a line of policies/list.h.
 */
#ifndef STAGES_POLICY_H
#define STAGES_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

enum { STAGES_MAX = 32 }; /* stages of a group */

struct stage_view {
	uint32_t queued_count; /* events waiting that this worker may take */
	/* Moving means; 0: not known yet. */
	double arrivals_per_s; /* for each worker that visits the stage */
	double service_ns;     /* time of one event in the handler */
	/*
	 * The 95th percentile of these times since the start, if the policy
	 * asks for it; 0: not known.
	 */
	double service_p95_ns;
	/* From the end of a visit elsewhere to the start of one here. */
	double switch_ns;
	/* Events that arrive during a visit here wait for the next one. */
	bool is_gated;
};

/* The stages that one worker may visit, as they were a moment ago. */
struct group_view {
	const struct stage_view *stages; /* in pipeline order */
	uint32_t stage_count;            /* 1 .. STAGES_MAX, never changes */
	uint32_t measured_count;         /* how often the means were updated */
	/*
	 * The queues are not looked at (LOOK_BLIND): queued_count is 1 for each
	 * stage; has_found says whether the last visit found an event.
	 */
	bool is_blind, has_found;
};

/* Not an enum, because it does not fit into an int. */
#define POLICY_IDLE UINT32_MAX

/*
 * Called by one worker with its own `state`, so it needs no lock.  Returns the
 * index of a stage that has events.  Only if no stage has events, it returns
 * POLICY_IDLE, and the worker sleeps.  If it is blind, its order must come to
 * each stage again and again, whether visits find events or not; if the policy
 * cannot do this, it sets needs_lengths.
 */
typedef uint32_t policy_pick_fn(void *state, const struct group_view *view);

/* Which threads handle events. */
enum policy_workers {
	POLICY_WORKERS_ROAM,   /* one per core, visiting all stages */
	POLICY_WORKERS_STAY,   /* a pool per stage, visiting only that one */
	POLICY_WORKERS_CALLER, /* none: the sender runs the handlers */
	/* One per part; each event is a user-level thread on it. */
	POLICY_WORKERS_FIBRES,
};

/*
 * A blocking point: a place in the code where a user-level thread lets others
 * run.  It is identified by its call site, an object that BLOCKING_SITE() puts
 * there.  A return address would not do: the compiler merges equal calls and
 * splits inlined ones.
 */
struct blocking_site {
	const char *file, *function;
	uint32_t line;
};

#define BLOCKING_SITE()                                                        \
	(__extension__({                                                       \
		static const struct blocking_site site_ = { __FILE__,          \
							    __func__,          \
							    __LINE__ };        \
		&site_;                                                        \
	}))

/* What a user-level thread takes and gives back, apart from CPU time. */
enum resource {
	RESOURCE_MEMORY, /* bytes */
	RESOURCE_FILES,  /* descriptors */
	RESOURCE_STACKS, /* fibres of threads that wait; by the scheduler */
	RESOURCES
};

/* Of one thread, between two blocking points. */
struct usage {
	uint64_t cpu_ns;
	int64_t taken[RESOURCES]; /* < 0: more was given back than taken */
};

/*
 * A place is where user-level threads wait for the CPU; each has a queue,
 * first come, first served.  They are numbered from 0.
 */
enum { PLACES_MAX = 64, PLACE_NONE = PLACES_MAX };

struct blocking_graph;
struct resources;

/*
 * Use divided by limit; 0 without a limit.  From RESOURCES_PRESSURE_FROM on,
 * policies hold back the threads that would take.
 */
#define RESOURCES_PRESSURE_FROM 0.5
double resources_utilisation(const struct resources *r, enum resource which);

/*
 * The decisions about the user-level threads of one scheduler.  One kernel
 * thread makes all calls with its own `state`, except graph(), so they need no
 * lock.
 */
struct thread_policy {
	size_t state_bytes; /* per scheduler; zeroed before start() */
	/*
	 * NULL: nothing is to be done.
	 *
	 * `shared`: use and limits of all schedulers together;
	 * outlives `state`.  NULL: resources are ignored; all threads are at
	 * one place, first come, first served, and nothing is learned.
	 */
	void (*start)(void *state, struct resources *shared);
	/*
	 * A thread that was at `from` (PLACE_NONE: it comes from outside) has
	 * reached the blocking point `at`; on its way it used `used`.  A thread
	 * that another one has started comes from the place of that one, and
	 * `used` is NULL.  Returns its place now, below PLACES_MAX.
	 */
	uint32_t (*arrive)(void *state, uint32_t from,
			   const struct blocking_site *at,
			   const struct usage *used);
	/* A thread that was at `from` has ended. */
	void (*leave)(void *state, uint32_t from, const struct usage *used);
	/*
	 * Bit i of `ready`, never 0: a thread at place i can run.  Returns one
	 * of these places, in a time that does not depend on the number of
	 * threads.
	 */
	uint32_t (*pick)(void *state, uint64_t ready, uint64_t now_ns);
	/* What it has learned, for any thread.  NULL: nothing. */
	const struct blocking_graph *(*graph)(const void *state);
};

struct policy {
	const char *name;    /* its name on the command line */
	const char *summary; /* one line for --list-policies */
	const char *meaning; /* sentences: the effect, and its reason */
	enum policy_workers workers;
	/*
	 * All shared stages have one queue, and a visit handles one event of
	 * it.  The view shows this queue as one stage, the first.
	 */
	bool has_central_queue;
	/*
	 * It chooses by queued_count, so its workers cannot be blind: --look
	 * blind is refused.
	 */
	bool needs_lengths;
	bool reads_rates; /* it uses the means in struct stage_view */
	bool reads_p95;   /* and service_p95_ns */
	/*
	 * Its senders are user-level threads, one for each connection, which
	 * struct thread_model describes (stage.h).  POLICY_WORKERS_CALLER.
	 */
	bool has_thread_model;
	/* If memory is full, an event should wait, and not be refused. */
	bool waits_for_memory;
	size_t state_bytes; /* per worker; zeroed before use */
	/* NULL: POLICY_WORKERS_CALLER or POLICY_WORKERS_FIBRES. */
	policy_pick_fn *pick;
	/* NULL unless POLICY_WORKERS_FIBRES. */
	const struct thread_policy *threads;
};

/*
 * All policies: those of policies/list.h in its order, then those that were
 * registered.  Ends with NULL.
 */
const struct policy *const *policy_list(void);

/* NULL: no policy has that name. */
const struct policy *policy_find(const char *name);

/*
 * Add a policy of the program's own, which must outlive all groups.  One thread
 * calls this, before any group is made and before flags are read.  False: there
 * are POLICIES_MAX already, another one has its name, or a function, or one of
 * its texts, is missing.
 */
enum { POLICIES_MAX = 32 };
bool policy_register(const struct policy *p);

/*
 * In a shared object with one policy: the programs of this project load it by
 * --policy-file, and refuse one whose struct policy has another size.
 */
#define STAGES_POLICY_FILE(own)                                                \
	__attribute__((visibility(                                             \
		"default"))) extern const struct policy *const stages_policy;  \
	__attribute__((visibility(                                             \
		"default"))) extern const size_t stages_policy_bytes;          \
	const struct policy *const stages_policy = &(own);                     \
	const size_t stages_policy_bytes = sizeof(struct policy)

#pragma GCC visibility pop

#endif
