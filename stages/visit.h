/* SPDX-License-Identifier: MIT */
/*
 * Visits: the rules by which a worker decides what to do next.
 *
 *	  pick -> [switch] -> begin -> take -> [handle] -> interrupt?
 *	  ^ |                           ^ |                  |   |
 *	  | +-> steal -> [switch]       | +-> end: [over]    no  yes
 *	  | +-> [rest]                  +--------------------+   |
 *	  +---- next visit                                    [switch]
 *
 * A visitor is the part of a worker that follows these rules.  Threads
 * (worker.c) and workers of the simulator (sim/worker.c) both call
 * visitor_step(), so they follow the same rules.  visitor_step() does
 * everything that takes no time, and returns the next step that takes time (in
 * brackets above).  The worker carries out that step and calls again: a thread
 * calls the handler; a simulated worker lets virtual time pass.
 *
 * The rules reach queues only through struct visit_access, and time only
 * through `now_ns`.
 *
 * Ownership  Threads and simulator embed the structs of this file in their own
 *            structs for groups, stations and workers.
 * Threads    Only its worker uses a visitor.  All workers use the group, its
 *            parts and stations at the same time; `access` must allow that.
 */
#ifndef STAGES_VISIT_H
#define STAGES_VISIT_H

#include "stages/stage.h"
#include "stages/tally.h"

#include <stdatomic.h>

#define STAGE_NONE UINT32_MAX

/* A queue that workers visit; member of a larger struct. */
struct visit_station {
	uint32_t stage; /* its index; STAGE_NONE: the central queue */
	uint32_t part;  /* part_count of the group: it belongs to all parts */
	bool is_exclusive;   /* one worker at a time */
	uint32_t even_below; /* struct sharing; 0: it is not made even */
	const struct regime *regime;
	const struct discipline *discipline;
	_Atomic uint64_t last_visit_ns; /* only used if there are thresholds */
};

/* A replica or partition, as seen by the others. */
struct visit_part {
	/* Stations that thieves may visit, in pipeline order. */
	struct visit_station *open_stations[STAGES_MAX];
	uint32_t open_count;
	/* Number of events under way; for least-loaded. */
	_Atomic uint64_t under_way_count;
};

/*
 * Does a fixed number of clients, each of which waits for its reply, keep the
 * group busy?  Then the number of events that a new one finds hardly varies,
 * and its index of dispersion (variance / mean: Cox and Lewis, The statistical
 * analysis of series of events, 1966) is near 0.  With arrivals that do not
 * wait for replies it is about 1 or more.  An event that a full queue refuses
 * counts, too: it has found the others.
 */
struct dispersion {
	_Atomic uint32_t events;
	_Atomic double mean, variance;
};

/*
 * Eight classes of size for each factor of 2, from 1 us on; smaller events are
 * of the first class, and those of 70 minutes or more of the last.
 */
enum { SIZE_CLASSES = 256 };

/* With distribution by size.  All of it are hints: updates may be lost. */
struct sizes {
	_Atomic uint32_t event_count;
	/* Predicted work of new events; that of old ones fades. */
	_Atomic uint64_t work_ns[SIZE_CLASSES];
	/* Of all that work, as a share of 2^32: the work of smaller classes. */
	_Atomic uint32_t below[SIZE_CLASSES + 1];
};

struct visit_group {
	const struct schedule *schedule; /* complete */
	uint32_t core_count;
	struct dispersion dispersion;
	struct sizes sizes;
	uint32_t part_count;
	struct visit_part *parts;   /* and one more, for what belongs to all */
	_Atomic uint32_t next_part; /* for round-robin */
};

/*
 * Events that a worker will handle itself: it has sent them to the stage; or,
 * at a stage that is made even, taken them from queues, the oldest first.
 */
struct event_stack {
	struct event *first;
	uint32_t count;
};

/* One visit under way. */
struct visit {
	struct visit_station *station;
	uint64_t start_ns;
	/* Stage of its last event; STAGE_NONE: there was none. */
	uint32_t stage;
	uint32_t handled_count;
	uint32_t events_max; /* the most events that it handles */
	uint64_t end_ns;     /* no event is begun from this time on */
	uint64_t cutoff_ns;  /* an event that has run this long is paused */
	/*
	 * With a cutoff: events still to take of those that waited when the
	 * visit began.
	 */
	uint32_t fresh_count;
	uint32_t passed_count; /* the same, of events paused by a cutoff */
	bool is_theft, is_interruption;
};

enum visitor_state {
	VISITOR_PICKS,
	VISITOR_BEGINS,
	VISITOR_TAKES,
	VISITOR_POPS,
	VISITOR_SPLITS,
	VISITOR_HAS_HANDLED,
	VISITOR_RESUMES, /* the visit that was interrupted */
};

struct visitor {
	const struct visit_access *access;
	struct visit_group *group;
	uint32_t part;
	/* The stations that it visits, in pipeline order. */
	uint32_t station_count;
	struct visit_station *stations[STAGES_MAX];
	void *policy_state;

	/* The members below belong to visit.c. */
	enum visitor_state state;
	struct visit visit;       /* the current or, after VISIT_OVER, last */
	struct visit interrupted; /* the visit that `visit` has interrupted */
	struct event *event;      /* to be handled */
	uint64_t event_rank;      /* of `event`, before its turn */
	uint32_t look_count;      /* by visitor_may_pause() */
	uint32_t visited;         /* the last stage that it visited */
	uint64_t visited_ns;      /* the end of that visit */
	struct event_stack stacks[STAGES_MAX]; /* by stage */
	struct stage_view views[STAGES_MAX];   /* by station */
	struct measure measures[STAGES_MAX];   /* by station */
	uint32_t measured_count;
	uint64_t measured_ns;
	bool has_found; /* the last visit; true before the first one */
	uint32_t at;    /* of its stations, the last that it chose */
	/*
	 * The search: since a visit has found an event, or since the worker was
	 * woken.  Visits in vain; since when; rests.
	 */
	uint32_t miss_count;
	uint64_t missing_since_ns;
	uint32_t rest_count;
	/*
	 * The round of a blind worker: since the search began, or the last rest
	 * ended.  Bit i: its station i was visited in vain.  And the count of
	 * wake-ups before the first of these visits.
	 */
	uint32_t in_vain;
	uint32_t round_epoch;
	bool is_due;    /* it is blind, and rests before its next visit */
	bool was_woken; /* by an event at the station where it rested */
	struct visit_station *rest_at; /* after VISIT_REST */
	uint64_t rest_ns;
};

/* The functions by which the rules reach queues and counts. */
struct visit_access {
	/* Events in the queue; events that a cutoff has paused. */
	uint32_t (*queued_count)(const struct visit_station *s);
	uint32_t (*passed_count)(const struct visit_station *s);
	/* Wake a worker that may take events of the station, if one sleeps. */
	void (*wake)(struct visit_station *s);
	/*
	 * How often a worker of those that sleep where this one does was to be
	 * woken; each event is in its queue before that is counted.  Only for
	 * blind workers that sleep until they are woken.
	 */
	uint32_t (*epoch)(const struct visitor *v);
	/* Take the first event.  NULL: there is none. */
	struct event *(*pop)(struct visit_station *s);
	struct event *(*pop_passed)(struct visit_station *s);
	/* The rank of the first queued event; RANK_NONE: none, or no ranks. */
	uint64_t (*first_rank)(const struct visit_station *s);
	/*
	 * Only called for exclusive stages; may be NULL if there are none.
	 * False: another worker is in the stage.
	 */
	bool (*is_open)(const struct visit_station *s);
	bool (*enter)(struct visit_station *s);
	void (*leave)(struct visit_station *s);
	/* The stage of an event; called for events of the central queue. */
	uint32_t (*stage_of)(const struct event *ev);
	/* The visitor has taken `ev` from a queue for a visit of another. */
	void (*move)(struct visitor *v, const struct visit_station *from,
		     const struct visit_station *to, struct event *ev);
	/*
	 * False: certainly no queue of the part has `count` events.  The
	 * function is NULL if this is not known for any part.
	 */
	bool (*may_hold)(const struct visitor *v, uint32_t part,
			 uint32_t count);
	/*
	 * From now on the worker's time counts for stage `to`; until `gap_ns`
	 * ago it counted for `from`.  STAGE_NONE: for no stage.
	 */
	void (*turn)(struct visitor *v, uint32_t from, uint32_t to,
		     uint64_t gap_ns);
	/* Totals of a stage; returns how many workers visit it. */
	uint32_t (*read_totals)(const struct visitor *v,
				const struct visit_station *s,
				struct measure_totals *out);
	bool pops_take_time; /* VISIT_POP comes before each use of a queue */
};

enum visit_step {
	/*
	 * Turn to visit.station; the visit starts at `now_ns` of the next call.
	 */
	VISIT_SWITCH,
	VISIT_POP,    /* wait for the queue of visit.station */
	VISIT_HANDLE, /* handle `event` */
	VISIT_OVER,   /* takes no time: `visit` has ended, and may be counted */
	/*
	 * Takes no time: a theft from the central queue goes on with an event
	 * of another stage.  `visit`, up to here, may be counted.
	 */
	VISIT_SPLIT,
	/*
	 * Nothing to do: rest until visitor_has_work().  If rest_ns is not 0,
	 * rest for this time, or until an event waits at the station `rest_at`.
	 * If an event has ended the rest, call visitor_woken().
	 */
	VISIT_REST,
};

/* `stage` may be STAGE_NONE; the schedule outlives the station. */
void visit_station_init(struct visit_station *s, const struct schedule *c,
			uint32_t stage, uint32_t part);

/* A new visitor: access, group, part, stations and policy_state are set. */
void visitor_init(struct visitor *v);

/* The next step. */
enum visit_step visitor_step(struct visitor *v, uint64_t now_ns);

/*
 * True: there are events that the visitor may take.  A blind one does not look:
 * there may be some if a worker was to be woken since its round began.
 */
bool visitor_has_work(const struct visitor *v);

/* An event has ended its rest, and not the time. */
void visitor_woken(struct visitor *v);

/*
 * The visitor rests now, so its next visit does not count as a switch from the
 * last one.
 */
void visitor_rest(struct visitor *v);

/*
 * Its worker runs a user-level thread at `stage`, and has run it; for the
 * counts this is a visit of one event, made without visitor_step().
 */
void visitor_runs(struct visitor *v, uint32_t stage, uint64_t start_ns);
void visitor_ran(struct visitor *v, uint64_t end_ns);

/* Why an event is paused, and where it waits after that. */
enum visit_pause {
	PAUSE_NONE,
	/*
	 * Its slice is over, and another event comes first.  It waits in its
	 * queue again, by its rank.
	 */
	PAUSE_FOR_ANOTHER,
	/*
	 * The cutoff is over.  It waits with the other events that a cutoff has
	 * paused, in the order of their pauses.
	 */
	PAUSE_AT_CUTOFF,
	/*
	 * It waits for stage_wake(), then with the others that have begun.  The
	 * visitor does not decide on this.
	 */
	PAUSE_UNTIL_WOKEN,
};

/*
 * Should the visitor pause the event that it has handled since `start_ns`?  It
 * returns PAUSE_FOR_ANOTHER only if another event waits in the queue from which
 * the current one came; and this visit would take that other event, or the
 * queue is the central one.  After a pause the visit goes on as if the event
 * had been handled: visits and gates count turns, not events.
 */
enum visit_pause visitor_should_pause(const struct visitor *v,
				      uint64_t start_ns, uint64_t now_ns);

/*
 * False: the event should not be paused now, however long it has run, except
 * that one that runs for longer than was predicted may be noticed some calls
 * later.  Needs no clock, and is asked thousands of times per second.
 */
bool visitor_may_pause(struct visitor *v);

/*
 * How many events of a group may be paused at the same time; 0: events are
 * never paused.
 */
uint32_t visit_paused_max(const struct schedule *s, uint32_t core_count);

/* See visitor_keep(). */
uint32_t visitor_keep_on_stack(struct visitor *v,
			       const struct visit_station *to, struct event *ev,
			       uint32_t slots);

/*
 * With discipline `stack`: keep an event that the visitor sends to a stage of
 * its own part, if any worker may handle events of that stage.  Returns the
 * number of events on that stack.  0: the event must go to the queue, because
 * the discipline is another one or `slots` are in use.
 */
static inline uint32_t visitor_keep(struct visitor *v,
				    const struct visit_station *to,
				    struct event *ev, uint32_t slots)
{
	return to->discipline->kind == DISCIPLINE_STACK ?
		       visitor_keep_on_stack(v, to, ev, slots) :
		       0;
}

/*
 * In how many parts may a sleeping worker be looked for, for an event that is
 * now in the station's queue?  Of a stage that is made even, those of the
 * station's own part handle it even if nobody else comes.
 */
uint32_t visit_wakes_parts(const struct visit_access *access,
			   const struct visit_group *g,
			   const struct visit_station *s);

/* The replica for a new event. */
uint32_t visit_choose_part(struct visit_group *g, const struct event *ev);

/* The replica for what the handler of the current event sends. */
static inline uint32_t visitor_sends_to(const struct visitor *v)
{
	return v->group->schedule->distribute == DISTRIBUTE_SIZE ?
		       v->visit.station->part :
		       v->part;
}

/*
 * Set the patience of a new event (discipline srpt).  It is longest if fewer
 * than four other requests for each core are under way, long if their number
 * varies (struct dispersion), and short if a fixed number of clients keeps the
 * group busy.
 */
void visit_begin_event(struct visit_group *g, struct event *ev);

#endif
