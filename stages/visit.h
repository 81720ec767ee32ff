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
 * visitor_step(), so they follow the same rules.  visitor_step() does what
 * takes no time and returns the next step that takes time (in brackets above).
 * The worker carries out that step and calls again: a thread calls the handler;
 * a simulated worker lets virtual time pass.
 *
 * The rules reach queues only through struct visit_access, and time only
 * through `now_ns`.
 *
 * Ownership  The owner of a group, its stations and its workers allocates the
 *            structs of this file as members of its own and frees them.
 * Threads    A visitor: its worker alone.  Group, parts and stations: any
 *            worker, at once; `access` must allow it.
 */
#ifndef STAGES_VISIT_H
#define STAGES_VISIT_H

#include "stages/schedule.h"
#include "stages/tally.h"

#include <stdatomic.h>

#define STAGE_NONE UINT32_MAX

/* A queue that workers visit; member of a larger struct. */
struct visit_station {
	uint32_t stage; /* its index; STAGE_NONE: the central queue */
	uint32_t part;
	bool is_exclusive;              /* one worker at a time */
	_Atomic uint64_t last_visit_ns; /* kept if there are thresholds */
};

/* A replica or partition, as seen by the others. */
struct visit_part {
	/* Stations that thieves may visit, in pipeline order. */
	struct visit_station *open_stations[STAGES_MAX];
	uint32_t open_count;
	_Atomic uint64_t under_way_count; /* of events; for least-loaded */
};

struct visit_group {
	const struct schedule *schedule; /* complete */
	uint32_t core_count;
	_Atomic uint32_t light_share; /* visit_begin_event()'s */
	uint32_t part_count;
	struct visit_part *parts;
	_Atomic uint32_t next_part; /* for round-robin */
};

/* Events that a worker sent to a stage and will handle itself. */
struct event_stack {
	struct event *newest;
	uint32_t count;
};

/* One visit under way. */
struct visit {
	struct visit_station *station;
	uint64_t start_ns;
	uint32_t stage; /* of its last event; STAGE_NONE: had none */
	uint32_t handled_count;
	uint32_t events_max; /* at most this number is handled */
	uint64_t end_ns;     /* no event is begun from this time on */
	uint64_t cutoff_ns;  /* an event that has run for so long is paused */
	/* With a cutoff: the events that waited at the beginning. */
	uint32_t fresh_count;
	uint32_t passed_count; /* paused by cutoffs of other visits: last */
	bool is_theft, is_interruption;
};

enum visitor_state {
	VISITOR_PICKS,
	VISITOR_BEGINS,
	VISITOR_TAKES,
	VISITOR_POPS,
	VISITOR_HAS_HANDLED,
	VISITOR_RESUMES, /* the visit that was interrupted */
};

struct visitor {
	const struct visit_access *access;
	struct visit_group *group;
	uint32_t part;
	uint32_t station_count; /* those it visits, in pipeline order */
	struct visit_station *stations[STAGES_MAX];
	void *policy_state;

	/* Below: visit.c's. */
	enum visitor_state state;
	struct visit visit;       /* the current or, after VISIT_OVER, last */
	struct visit interrupted; /* by `visit` */
	struct event *event;      /* to be handled */
	uint32_t visited;         /* the last stage */
	uint64_t visited_ns;      /* the end of that */
	struct event_stack stacks[STAGES_MAX]; /* by stage */
	struct stage_view views[STAGES_MAX];   /* by station */
	struct measure measures[STAGES_MAX];   /* by station */
	uint32_t measured_count;
	uint64_t measured_ns;
};

/* How the rules reach what a visitor visits. */
struct visit_access {
	/* Events in the queue; and, with a cutoff, those that it paused. */
	uint32_t (*queued_count)(const struct visit_station *s);
	uint32_t (*passed_count)(const struct visit_station *s);
	/* NULL: there is none. */
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
	/* Its stage; asked of events of the central queue. */
	uint32_t (*stage_of)(const struct event *ev);
	/*
	 * False: certainly no queue of the part has `count` events.  NULL: that
	 * is not known of any part.
	 */
	bool (*may_hold)(const struct visitor *v, uint32_t part,
			 uint32_t count);
	/*
	 * The worker's time is for stage `to` from now on, and was for `from`
	 * until `gap_ns` ago; STAGE_NONE: for none.
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
	VISIT_SWITCH, /* turn to visit.station; `now_ns` is then its start */
	VISIT_POP,    /* wait for the queue of visit.station */
	VISIT_HANDLE, /* handle `event` */
	VISIT_OVER,   /* nothing: `visit` has ended, and may be counted */
	VISIT_REST,   /* nothing to do: rest until there may be work */
};

/* A new visitor: access, group, part, stations and policy_state are set. */
void visitor_init(struct visitor *v);

/* The next step. */
enum visit_step visitor_step(struct visitor *v, uint64_t now_ns);

/* True: visitor_step() would not say VISIT_REST. */
bool visitor_has_work(const struct visitor *v);

/* It rests now: its next visit is no switch from the last one. */
void visitor_rest(struct visitor *v);

/* Why an event is paused, and where it waits after that. */
enum visit_pause {
	PAUSE_NONE,
	/* A slice is over and another is first: in its queue, by its rank. */
	PAUSE_FOR_ANOTHER,
	/* By the cutoff: with those paused by it, in the order of pauses. */
	PAUSE_AT_CUTOFF,
};

/*
 * Should the event be paused that it has handled since `start_ns`?  For another
 * only if that one waits in the queue that it came from, and this visit would
 * take it, or the queue is the central one.  The visit goes on as if the paused
 * event had been handled: visits and gates count turns, not events.
 */
enum visit_pause visitor_should_pause(const struct visitor *v,
				      uint64_t start_ns, uint64_t now_ns);

/* False: it should not, whatever the time is.  Needs no clock. */
bool visitor_may_pause(const struct visitor *v, uint64_t start_ns);

/* The events of a group that may be paused at once; 0: none ever is. */
uint32_t visit_paused_max(const struct schedule *s, uint32_t core_count);

/* Events at its station `at` that it may take now. */
uint32_t visitor_open_count(const struct visitor *v, uint32_t at);

/* See visitor_keep(). */
uint32_t visitor_keep_on_stack(struct visitor *v,
			       const struct visit_station *to, struct event *ev,
			       uint32_t slots);

/*
 * Discipline `stack`: keep an event that the visitor sends to a stage of its
 * own part, whose events any worker may handle.  Returns the events on that
 * stack; 0: it belongs into the queue, as another discipline is in force or
 * `slots` are taken.
 */
static inline uint32_t visitor_keep(struct visitor *v,
				    const struct visit_station *to,
				    struct event *ev, uint32_t slots)
{
	return v->group->schedule->discipline.kind == DISCIPLINE_STACK ?
		       visitor_keep_on_stack(v, to, ev, slots) :
		       0;
}

/* The replica for a new event. */
uint32_t visit_choose_part(struct visit_group *g);

/*
 * A new event finds `under_way_count` others in the group: set its patience
 * (discipline srpt).  The group keeps up if one in ten of the last 2,000 or so
 * events found fewer than four others for each core; below that, patience
 * becomes shorter in proportion.
 */
void visit_begin_event(struct visit_group *g, struct event *ev,
		       uint64_t under_way_count);

#endif
