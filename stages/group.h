/* SPDX-License-Identifier: MIT */
/*
 * Inside stages: the structs that make up a group.
 *
 *	group -- parts ----own----> cores, an eventcount to sleep on
 *	group -- stages ---own----> stations: queues, by part
 *	group -- workers --visit--> stations of their part
 *
 * group.c plans which worker visits which stations, and starts and stops the
 * workers.  visit.c has the rules by which a worker decides what it does next.
 * worker.c sends and handles events and runs the threads.  tally.h counts the
 * work of each thread, and group_stats.c adds up these
 * counts.
 */
#ifndef STAGES_GROUP_H
#define STAGES_GROUP_H

#include "base/util.h"
#include "stages/eventcount.h"
#include "stages/threads/fibre.h"
#include "stages/threads/scheduler.h"
#include "stages/tally.h"
#include "stages/stage.h"
#include "stages/visit.h"

#include <pthread.h>
#include <time.h>

enum { THREAD_NAME_BYTES = 16 };

/* Only one worker at a time may be in an exclusive stage. */
struct entry {
	_Atomic bool is_taken;
	/* A worker found the stage taken, or no thread, and went on. */
	_Atomic bool is_missed;
	struct eventcount left; /* without queues, senders wait here */
};

/* Threads that stay at one station; all exist, some may be parked. */
struct pool {
	_Atomic uint32_t
		active_count; /* the first threads; others are parked */
	uint32_t thread_count;
	bool is_auto;
	struct eventcount parked;
	_Atomic uint64_t grown_ns; /* when it last grew */
};

enum { POOL_AUTO_PER_CORE = 2 }; /* the most threads for each stage */
/* A thread that is idle for this time leaves its pool. */
#define POOL_PATIENCE_NS UINT64_C(1000000000)

/*
 * A queue that workers visit: of one stage in one part, or in all; of all
 * shared stages in one part (the central queue); or of a stage partitioned by
 * key, for one worker.
 */
struct station {
	struct visit_station visited;
	struct stage *stage; /* NULL: the central queue */
	uint32_t number;     /* among the stations of its stage */
	struct queue *queue;
	/* Events paused by a cutoff; with `threads`, all that have begun. */
	struct queue *passed;   /* NULL: neither */
	struct fibres *threads; /* a pool of user-level threads; NULL: none */
	struct entry *entry;    /* NULL: any number of workers may visit */
	struct entry own_entry;
	struct pool pool; /* of kernel threads; without any if workers roam */

	/* Which workers a new event wakes. */
	/* Where workers sleep that stay here, or rest here (--idle backoff). */
	struct eventcount own;
	struct eventcount *wakes; /* NULL: one in any part */
	uint32_t wake_mask;
	uint32_t wakes_else; /* if no such worker sleeps; 0: nobody */
	/* Wake all, because one worker may be unable to take the event. */
	bool wakes_all;
};

struct stage {
	struct stage_config config;
	struct stage_group *group;
	uint32_t index;
	uint32_t part_count;        /* 1: its stations belong to all parts */
	uint32_t stations_per_part; /* 1, or one per worker */
	bool passes;                /* a send calls the handler */
	struct blocking_site site;  /* where closures are sent here */
	struct station **stations;  /* [part * stations_per_part + number] */
	struct entry entry;         /* of a partitioned graph */
	_Atomic uint32_t part;      /* of a partitioned graph: where to send */
};

/* A replica or a partition: cores, and a station of every stage of its own. */
struct part {
	uint32_t core_first, core_count;
	struct eventcount *sleeps; /* where its roaming workers sleep */
	struct eventcount own;
	struct station *central;                    /* NULL: none */
	_Atomic uint64_t queued_counts[STAGES_MAX]; /* kept if part_count > 1 */
	/* Of user-level threads; and the events that wait for each stage. */
	struct scheduler *scheduler;
	_Atomic uint32_t slots_used[STAGES_MAX];
};

struct worker {
	struct visitor visitor;
	struct stage_group *group;
	pthread_t thread;
	char name[THREAD_NAME_BYTES];
	/* The worker may run on these of config.cores. */
	uint32_t core_first, core_count;
	uint32_t number;    /* its number within its part, or its pool */
	uint32_t wake_mask; /* wake-ups that reach it: eventcount_wait() */
	struct eventcount *sleeps;
	/*
	 * The stack on which it begins to handle an event; NULL: events are
	 * never paused.
	 */
	struct fibre *fibre;
	struct fibre *next_fibre; /* for the event after that; NULL: none */
	/* NULL: it has no user-level threads. */
	struct scheduler *scheduler;

	struct tally *tallies; /* by stage */
	_Atomic uint64_t sleep_count;
	_Atomic uint64_t stolen_count;
	_Atomic uint64_t asleep_since_ns; /* 0: awake */
	/* Time asleep.  During a sleep, the time of its start is subtracted. */
	_Atomic uint64_t asleep_ns;
	_Atomic uint64_t asleep_read_ns; /* the most that was read so far */
	/* CPU clock of its thread; see has_cpu_clock. */
	_Atomic clockid_t cpu_clock;
	_Atomic bool has_cpu_clock;   /* the thread runs */
	_Atomic uint64_t cpu_read_ns; /* the most that was read so far */
	_Atomic bool counts_hardware;
	struct perf perf;
	uint64_t perf_totals[PERF_COUNTERS];
	struct trace trace;
};

struct stage_group {
	struct schedule schedule;
	struct visit_group visits;
	const struct cores *cores;
	bool counts_hardware; /* asked for; not every worker may be able to */
	struct fibre_stacks stacks; /* count: group_config.stacks_max */
	const struct caller_threads *caller_threads; /* or NULL */
	/* Of kernel threads that run senders, which call handlers. */
	uint32_t track_count;
	struct trace *tracks;
	uint32_t part_count;
	struct part *parts; /* and one more, of all cores: struct visit_group */
	uint32_t stage_count;
	struct stage *stages[STAGES_MAX];
	uint32_t station_count;
	struct station *stations; /* all of them */

	/* Stays set, because a stopped group cannot start again. */
	bool is_started;
	uint32_t worker_count;
	uint32_t thread_count; /* number of threads to join */
	struct worker *workers;
	/* Fibres of workers and paused events; or NULL. */
	struct fibres *fibres;
	/* Counts of all other threads, by stage. */
	struct tally *tallies_outside;
	struct eventcount drained; /* where group_stop() sleeps */

	_Atomic uint64_t pending;
	_Atomic bool is_stopping;
};

static inline struct station *station_of(const struct visit_station *s)
{
	return container_of(s, struct station, visited);
}

/* worker.c, which calls nothing of group.c. */

/* How visit.c reaches the stations of a group. */
extern const struct visit_access worker_access;

/* The life of a worker's thread; `arg` is the worker. */
void *worker_main(void *arg);

/* Wake all workers and senders: the group is stopping, or it has drained. */
void group_wake_all(struct stage_group *g);

bool group_is_drained(struct stage_group *g);

/* The life of a user-level thread, on its stack. */
const struct blocking_site *worker_run_thread(struct event *ev);

/* --- For closure.c. --- */

#define PART_ANY UINT32_MAX

/* As stage_send(); in a replicated graph, to this replica. */
bool stage_send_to(struct stage *s, struct event *ev, uint32_t part);

/*
 * The same, for an event that is not new: a stop does not refuse it, and it
 * keeps its birth.
 */
bool stage_send_accepted(struct stage *s, struct event *ev, uint32_t part);

/*
 * The event is no longer that of the running handler, if it was: the rest of
 * the handler can neither pause nor wait.  True: it was a user-level thread,
 * which may go on as another event.
 */
bool handling_disown(const struct event *ev);

/* From now on the running user-level thread is that of `ev`, to be sent. */
void handling_become(struct event *ev);

/* The part to which the running handler sends. */
uint32_t group_current_part(void);

/* A stop waits until the group is let go. */
void group_hold(struct stage_group *g);
void group_let_go(struct stage_group *g);

/* CPU time of its thread since start: see struct worker_stats. */
uint64_t worker_cpu_ns(struct worker *w);

#endif
