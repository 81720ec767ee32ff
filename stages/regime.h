/* SPDX-License-Identifier: MIT */
/*
 * Service regimes: how long a visit at a stage lasts, and what interrupts it.
 *
 * The regimes of a polling system (Gordon, UCAM-CL-TR-781, table 3.1 and
 * section 2.4.2, after Harizopoulos and Ailamaki 2002) and the thresholds of
 * Larus and Parkes (USENIX 2002, section 4.1.3), as pure functions of counts
 * and times.
 *
 * A gate is a count: a visit handles at most as many events as waited at its
 * beginning.  Where the queue is first come first served and has one worker,
 * those are the very events that waited.
 *
 * Cutoff (C-gated) as published takes an event off the core when it has taken
 * longer than the cutoff.  Handlers are not interrupted here; instead an event
 * with more predicted work left than that, at this stage and those after it
 * (event.left_ns), is passed over once at each stage, and handled at the end of
 * the next visit, first come first served.
 */
#ifndef STAGES_REGIME_H
#define STAGES_REGIME_H

#include <stdbool.h>
#include <stdint.h>

enum regime_kind {
	REGIME_EXHAUSTIVE, /* until the queue is empty */
	REGIME_GATED,      /* D-gated: those that wait at the beginning */
	REGIME_N_GATED,    /* T-gated: the same, at most `limit` */
	REGIME_TIME_GATED, /* until empty or `limit` ns have passed */
	REGIME_CUTOFF,     /* gated; long events, over `limit` ns, last */
};

struct regime {
	enum regime_kind kind;
	uint64_t limit; /* events or ns, see above; else unused */
};

/* What comes during a visit waits for the next. */
bool regime_is_gated(const struct regime *r);

/* A visit under way. */
struct visit {
	uint32_t events_max; /* at most so many are handled */
	uint32_t handled_count;
	uint64_t end_ns;    /* none is begun from then on */
	uint64_t cutoff_ns; /* predicted work of a long event is more */
};

/* A visit that begins now, at a stage where so many events wait. */
struct visit visit_begin(const struct regime *r, uint32_t queued_count,
			 uint64_t now_ns);

/* Shall one more event be begun? */
bool visit_goes_on(const struct visit *v, uint64_t now_ns);

/*
 * When a stage interrupts the visit at another: the worker ends the event it
 * is at, empties the stage, and goes on where it was.  Nothing interrupts an
 * interruption.
 */
struct threshold {
	uint32_t queued_count; /* longer than that; 0: no such threshold */
	uint64_t unvisited_ns; /* no visit for longer; 0: no such threshold */
};

/* True: a stage with events waiting is over its threshold. */
bool threshold_is_exceeded(const struct threshold *t, uint32_t queued_count,
			   uint64_t last_visit_ns, uint64_t now_ns);

#endif
