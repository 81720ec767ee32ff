/* SPDX-License-Identifier: MIT */
/*
 * Promela model of which worker is woken: station_enter, station_leave,
 * is_open, push and sleep_for_work of worker.c, pick of visit.c, and
 * group_stop() of group.c.  Spin tries every interleaving.
 *
 * Each of the SENDERS sends one event, to any station.  Two workers look at the
 * stations that they may visit, visit one until it is empty, or sleep.  KIND is
 * one of these graphs:
 *
 *	EXCLUSIVE	one exclusive stage, which both visit
 *	PARTED		the same in two parts, one worker and one place to
 *			sleep each: events wait in both
 *	STEAL		two parts and one place to sleep; a shared stage that
 *			both may visit, an exclusive one of worker 0
 *	KEYS		a stage partitioned by key, a station for each worker
 *	SIZES		two parts and one place to sleep; worker 1 may take the
 *			small events of part 0, too, worker 0 only those
 *	COMMON		two parts, one worker and one place to sleep each; an
 *			exclusive stage of both, a shared one of worker 1
 *
 * With BLIND, workers do not look: they visit each station that they may, in
 * any order, and sleep if that was in vain and nobody was to be woken since the
 * first of these visits.  They leave no notes; a worker that leaves a stage
 * looks whether events wait there.  They do not steal, so not with STEAL or
 * SIZES.
 *
 * Checked: never two workers are in an exclusive stage; and in every final
 * state, every event was handled, and if the group was stopped, the workers and
 * group_stop() ended.  Steps and memory are as in eventcount.pml.  In the code,
 * a worker that leaves a stage also wakes others if events wait there without a
 * note; but for BLIND the model leaves this out, as it only adds wake-ups.
 *
 * Mistakes that Spin must find, used by test/test_models.sh:
 *	NO_NOTE		a worker that finds a stage taken leaves no note
 *	NO_LOOK_AGAIN	it does not look again after it left the note
 *	EARLY_LOOK	leaving a stage: the note is read before the clearing
 *	OWN_PART	leaving a stage wakes workers of the same part only
 *	NO_ENTRY	workers enter a stage that is taken
 *	WAKE_ONE	one worker is woken where it may be the wrong one
 *	OWN_WORK	thieves share a place to sleep, but no work
 *	QUIET_STOP	the stop wakes the sleepers of one place only
 *	LATE_EPOCH	blind: the epoch is read after the visits, not before
 *	NO_LAST_LOOK	blind: a worker that leaves a stage looks at no queue
 */
#define EXCLUSIVE 1
#define PARTED 2
#define STEAL 3
#define KEYS 4
#define SIZES 5
#define COMMON 6
#ifndef KIND
#define KIND EXCLUSIVE
#endif
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef STOPS
#define STOPS 0
#endif
#define WORKERS 2
#define NONE 2 /* no station */

/* May worker w visit station s?  Where does it sleep?  Where is s announced? */
#if KIND == EXCLUSIVE
#define STATIONS 1
#define MAY(w, s) true
#define IS_EXCLUSIVE(s) true
#elif KIND == PARTED
#define STATIONS 2
#define MAY(w, s) (w == s)
#define IS_EXCLUSIVE(s) true
#elif KIND == STEAL
#define STATIONS 2
#ifdef OWN_WORK
#define MAY(w, s) (w == 0)
#else
#define MAY(w, s) (w == 0 || s == 0)
#endif
#define IS_EXCLUSIVE(s) (s == 1)
#elif KIND == COMMON
#define STATIONS 2
#define MAY(w, s) (w == 1 || s == 0)
#define IS_EXCLUSIVE(s) (s == 0)
#else
#define STATIONS 2
#define MAY(w, s) (w == s || (KIND == SIZES && w > s))
#define IS_EXCLUSIVE(s) false
#endif

#if KIND == PARTED || KIND == COMMON
#define PLACE(i) i
#else
#define PLACE(i) 0
#endif

/* Of a station: does a wake-up reach worker w, and all that it reaches? */
#if defined(WAKE_ONE)
#define REACHES(w, s) (PLACE(w) == PLACE(s))
#define WAKES_ALL(s) false
#elif KIND == KEYS
#define REACHES(w, s) (w == s)
#define WAKES_ALL(s) true
#elif KIND == SIZES
#define REACHES(w, s) (w >= s)
#define WAKES_ALL(s) false
#else
#define REACHES(w, s) (PLACE(w) == PLACE(s))
#define WAKES_ALL(s) (KIND == STEAL && IS_EXCLUSIVE(s))
#endif

#ifdef BLIND
#define FOUND found = true;
#else
#define FOUND
#endif

byte queued[STATIONS], accepted, handled, pending, ended;
byte epoch[2], sleepers[2]; /* by place */
bool asleep[WORKERS];       /* in the kernel */
bool is_taken, is_missed, stopping, has_stopped;
byte inside; /* of the exclusive stage */

#if KIND == COMMON
/* eventcount_wake_one(); `any`: one was asleep. */
inline wake_one_at(p)
{
	epoch[p]++;
	any = sleepers[p] > 0;
	atomic { any = any && asleep[p]; asleep[p] = asleep[p] && !any }
}

/* wake_in_any_part(), from any part on */
inline wake(s)
{
	if
	:: s == 0 -> wake_one_at(0);
		if
		:: !any -> wake_one_at(1)
		:: else
		fi
	:: s == 0 -> wake_one_at(1);
		if
		:: !any -> wake_one_at(0)
		:: else
		fi
	:: s == 1 -> wake_one_at(1)
	fi;
	any = false
}
#else
inline wake(s)
{
	epoch[PLACE(s)]++;
	any = sleepers[PLACE(s)] > 0;
	atomic {
		if
		:: !any
		:: any && WAKES_ALL(s) ->
			asleep[0] = asleep[0] && !REACHES(0, s);
			asleep[1] = asleep[1] && !REACHES(1, s)
		:: any && !WAKES_ALL(s) && asleep[0] && REACHES(0, s) ->
			asleep[0] = false
		:: any && !WAKES_ALL(s) && asleep[1] && REACHES(1, s) ->
			asleep[1] = false
		:: else
		fi;
		any = false
	}
}
#endif

inline wake_place(p)
{
	epoch[p]++;
	any = sleepers[p] > 0;
	atomic {
		if
		:: any ->
			asleep[0] = asleep[0] && PLACE(0) != p;
			asleep[1] = asleep[1] && PLACE(1) != p
		:: else
		fi;
		any = false
	}
}

inline wake_everyone()
{
	wake_place(0);
#if (KIND == PARTED || KIND == COMMON) && !defined(QUIET_STOP)
	wake_place(1)
#endif
}

/* group_leave() */
inline leave_group()
{
	atomic { pending--; any = (pending == 0) }
	if
	:: any && stopping -> any = false; wake_everyone()
	:: else -> any = false
	fi
}

/* open_count(): the queue first, then who is there. */
inline look(s)
{
	any = MAY(me, s) && queued[s] > 0;
#ifndef NO_ENTRY
	some = any && IS_EXCLUSIVE(s);
	if
	:: some && is_taken ->
#ifndef NO_NOTE
		is_missed = true;
#endif
#ifdef NO_LOOK_AGAIN
		any = false
#else
		any = !is_taken
#endif
	:: else
	fi;
#endif
	atomic {
		at = (any -> s : at);
		any = false;
		some = false
	}
}

#ifndef BLIND
/* pick(), find_victim() and has_work(). */
inline find()
{
	at = NONE;
	look(0);
#if STATIONS == 2
	look(1)
#endif
}
#endif

#ifdef BLIND
inline wake_if_waits(s)
{
	if
	:: queued[s] > 0 -> wake(s)
	:: else
	fi
}

inline leave_station()
{
	is_taken = false;
#ifndef NO_LAST_LOOK
	wake_if_waits(0);
#if KIND == PARTED
	wake_if_waits(1)
#endif
#endif
}
#else
inline leave_station()
{
#ifdef EARLY_LOOK
	atomic { some = is_missed; is_missed = false }
	is_taken = false;
#else
	is_taken = false;
	atomic { some = is_missed; is_missed = false }
#endif
	if
	:: some ->
		some = false;
#ifdef OWN_PART
		wake(at)
#else
		wake(0);
#if KIND == PARTED
		wake(1)
#endif
#endif
	:: else
	fi
}
#endif

/* Until it is empty, unless another was faster. */
inline visit()
{
	some = false;
#ifndef NO_ENTRY
	if
	:: IS_EXCLUSIVE(at) -> atomic { some = is_taken; is_taken = true }
	:: else
	fi;
#endif
	if
	:: some -> some = false
	:: else ->
		do
		:: atomic {
				any = queued[at] > 0;
				queued[at] = queued[at] - any
			}
			if
			:: !any -> break
			:: else ->
				any = false;
				FOUND
				inside = inside + IS_EXCLUSIVE(at);
				assert(inside <= 1);
				atomic {
					inside = inside - IS_EXCLUSIVE(at);
					handled++
				}
				leave_group()
			fi
		od;
		if
		:: IS_EXCLUSIVE(at) -> leave_station()
		:: else
		fi
	fi;
	at = NONE
}

#ifdef BLIND
/* Visit `at`, if this worker may. */
inline visit_if_may()
{
	if
	:: MAY(me, at) -> visit()
	:: else -> at = NONE
	fi
}

/* A round: each station, until a visit finds an event. */
inline find()
{
	found = false;
#ifndef LATE_EPOCH
	begun = epoch[PLACE(me)];
#endif
#if STATIONS == 2
	if
	:: at = 0; visit_if_may(); at = 1
	:: at = 1; visit_if_may(); at = 0
	fi;
#else
	at = 0;
#endif
	visit_if_may();
#ifdef LATE_EPOCH
	begun = epoch[PLACE(me)];
#endif
	at = (found -> 0 : NONE) /* 0: another round */
}

/* has_work() */
inline look_again()
{
	at = (epoch[PLACE(me)] != begun -> 0 : NONE);
	begun = 0
}
#define VISIT at = NONE
#else
#define look_again() find()
#define VISIT visit()
#endif

proctype worker(byte me)
{
	byte ticket, at = NONE;
	bool any, some;
#ifdef BLIND
	byte begun;
	bool found;
#endif

	do
	:: find();
		if
		:: at != NONE -> VISIT
		:: else ->
			sleepers[PLACE(me)]++;
			ticket = epoch[PLACE(me)];
			look_again();
			if
			:: at != NONE -> sleepers[PLACE(me)]--; VISIT
			:: else ->
				/* group_is_drained() */
				any = stopping;
				if
				:: any && pending == 0 ->
					sleepers[PLACE(me)]--;
					break
				:: else ->
					any = false;
					/* In one step, in the kernel. */
					atomic {
						asleep[me] = (epoch[PLACE(me)] ==
							ticket);
						ticket = 0
					}
end_asleep:
					atomic {
						!asleep[me];
						sleepers[PLACE(me)]--
					}
				fi
			fi
		fi
	od;
	ended++
}

proctype sender()
{
	bool any, refused;
	byte to;

	if
	:: to = 0
#if STATIONS == 2
	:: to = 1
#endif
	fi;
	refused = stopping;
	if
	:: refused -> goto done
	:: else
	fi;
	pending++;
	refused = stopping;
	if
	:: refused -> leave_group()
	:: else ->
		queued[to]++;
		accepted++;
		wake(to)
	fi;
done:	skip
}

proctype stopper()
{
	bool any;

	stopping = true;
	wake_everyone();
	ended == WORKERS; /* pthread_join() */
	has_stopped = true
}

init
{
	byte i;

	atomic {
		for (i : 0 .. WORKERS - 1) {
			run worker(i)
		}
		for (i : 0 .. SENDERS - 1) {
			run sender()
		}
		if
		:: STOPS -> run stopper()
		:: else /* a group that is never stopped */
		fi
	}
	/* True when no other process can move. */
	timeout;
	assert(handled == accepted && pending == 0);
	assert(!stopping || has_stopped)
}
