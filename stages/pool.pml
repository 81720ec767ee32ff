/* SPDX-License-Identifier: MIT */
/*
 * Promela model of pools of user-level threads: has_thread, pop_new,
 * give_thread, pause_event and sleep_for_work of worker.c, stage_wait() and
 * stage_wake().  Spin tries every interleaving.
 *
 * A sender sends EVENTS events to one stage, which has THREADS threads.  The
 * handlers of the first WAITERS wait ROUNDS times; a thread of the event's own
 * wakes it once for each wait, as soon as the handler has asked for that, which
 * may be before it waits.  Of the two workers, the second is a thief: after any
 * visit, it may go back to its own part, and then it does not look at this one
 * any more.  At some moment, with STOPS, the group is stopped.
 *
 * With BLIND, workers do not look: they visit, and sleep if that was in vain
 * and nobody was to be woken since.
 *
 * A sleep and a wake-up are one step each: how they are made is in
 * eventcount.pml.  The queues are one here as far as their order goes: a worker may take an
 * event that has begun or one that has not.  How a worker leaves a stack, and
 * another goes on there, is in pause.pml; here it is enough to know that a
 * worker is on it.
 *
 * Checked: an event goes on only when no worker is on its stack, and when it
 * was woken as often as it has waited; at most THREADS events have begun and
 * not ended; and in every final state all accepted events have ended, all
 * threads are free, and if the group was stopped, the workers and group_stop()
 * ended.
 *
 * Mistakes that Spin must find, used by test/test_models.sh:
 *	EARLY_WAIT	an event waits before its stack is left
 *	BLIND_WAIT	it does not notice that it was woken before
 *	BLIND_WAKE	stage_wake() does not ask whether it waits
 *	NO_RESET	an event that was woken stays so
 *	QUIET_WAKE	stage_wake() wakes no worker
 *	QUIET_RETURN	nor does a worker whose event was woken before
 *	DRAINED_EARLY	events that wait do not count as pending
 *	NO_LIMIT	an event begins without a thread
 *	NO_NOTE		a worker that finds no thread leaves no note
 *	NO_LOOK_AGAIN	it does not look again after it left the note
 *	EARLY_NOTE	who is too late for the last thread leaves no note
 *	EARLY_LOOK	the note is read before the thread is given back
 *	QUIET_GIVE	who takes a thread in vain does not read the note
 */
#ifndef EVENTS
#define EVENTS 2
#endif
#ifndef THREADS
#define THREADS 1
#endif
#ifndef WAITERS
#define WAITERS 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef STOPS
#define STOPS 1
#endif
#define WORKERS 2
#define NONE 7
#define NEW 0   /* a queue */
#define BEGUN 1 /* the other */
#define RUNS 0
#define WAITS 1
#define WOKEN 2

/* Of events. */
bool is_in[EVENTS * 2]; /* one of the two queues */
bool is_run[EVENTS];    /* a worker is on its stack */
byte wake[EVENTS], waits[EVENTS], asked[EVENTS], woken[EVENTS];

byte count[2]; /* of the queues */
byte free = THREADS, inside;
bool is_missed;
byte accepted, handled, pending, ended;
/* Nobody was woken since the worker read the epoch: first, again. */
bool is_quiet[WORKERS], is_still[WORKERS];
bool asleep[WORKERS]; /* in the kernel */
bool stopping, has_stopped;

inline next_epoch()
{
	is_quiet[0] = false;
	is_quiet[1] = false;
	is_still[0] = false;
	is_still[1] = false
}

inline wake_one()
{
	atomic {
		next_epoch();
		if
		:: asleep[0] -> asleep[0] = false
		:: asleep[1] -> asleep[1] = false
		:: else
		fi
	}
}

inline wake_everyone()
{
	atomic { next_epoch(); asleep[0] = false; asleep[1] = false }
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

/* put_back() */
inline put_back(e)
{
	atomic {
		assert(!is_in[e] && !is_in[EVENTS + e]); /* twice */
		is_in[EVENTS + e] = true;
		count[BEGUN]++
	}
}

/* Leaves true in `any` if there is a thread. */
inline has_thread()
{
	any = free > 0;
	if
	:: !any ->
#ifndef NO_NOTE
		is_missed = true;
#endif
#ifndef NO_LOOK_AGAIN
		any = free > 0
#endif
	:: else
	fi
}

inline read_note()
{
	atomic { any = is_missed; is_missed = false }
}

inline give_thread(reads)
{
#ifdef EARLY_LOOK
	read_note();
	free++;
#else
	free++;
	if
	:: reads -> read_note()
	:: else
	fi;
#endif
	if
	:: any -> any = false; wake_one()
	:: else
	fi
}

#ifdef QUIET_GIVE
#define READS_IN_VAIN false
#else
#define READS_IN_VAIN true
#endif

/* fibres_take(), under its lock. */
inline take_free()
{
	atomic { any = free > 0; free = free - any }
}

inline take_thread()
{
#ifdef NO_LIMIT
	any = true
#else
#ifndef EARLY_NOTE
	take_free();
#else
	any = free > 0;
#endif
	if
	:: !any ->
#ifndef NO_NOTE
		is_missed = true;
#endif
		take_free()
	:: else ->
#ifdef EARLY_NOTE
		take_free()
#endif
	fi
#endif
}

/* Any event of a queue; NONE: there is none. */
inline pop(queue)
{
	atomic {
		if
		:: is_in[queue * EVENTS] -> e = 0
#if EVENTS > 1
		:: is_in[queue * EVENTS + 1] -> e = 1
#endif
#if EVENTS > 2
		:: is_in[queue * EVENTS + 2] -> e = 2
#endif
		:: else
		fi;
		if
		:: e != NONE ->
			is_in[queue * EVENTS + e] = false;
			count[queue]--
		:: else
		fi
	}
}

inline pop_new()
{
	any = count[NEW] > 0;
	if
	:: any -> take_thread()
	:: else
	fi;
	if
	:: any ->
		any = false;
		pop(NEW);
		if
		:: e == NONE -> give_thread(READS_IN_VAIN)
		:: else -> atomic { inside++; assert(inside <= THREADS) }
		fi
	:: else
	fi
}

/* Those that have begun first, or, by rank, last. */
inline pop_any()
{
	if
	:: pop(BEGUN)
	:: true
	fi;
	if
	:: e == NONE -> pop_new()
	:: else
	fi;
	if
	:: e == NONE -> pop(BEGUN)
	:: else
	fi
}

inline wait_or_go_on()
{
#ifdef BLIND_WAIT
	wake[e] = WAITS;
	some = false
#else
	atomic {
		some = (wake[e] != RUNS);
		wake[e] = (some -> WOKEN : WAITS)
	}
#endif
}

/* handle_event(): the handler runs up to its next wait, or to its end. */
inline handle()
{
	atomic {
		assert(!is_run[e]);		/* two workers on one stack */
		assert(woken[e] >= waits[e]);	/* it was not woken */
		is_run[e] = true
	}
	if
	:: e < WAITERS && waits[e] < ROUNDS ->
		waits[e]++;
		asked[e]++; /* its waker may come from now on */
#ifdef EARLY_WAIT
		wait_or_go_on();
		is_run[e] = false;
#else
		is_run[e] = false;
		wait_or_go_on();
#endif
#ifdef DRAINED_EARLY
		pending--;
#endif
		if
		:: some ->
#ifndef NO_RESET
			wake[e] = RUNS;
#endif
			put_back(e);
#ifndef QUIET_RETURN
			wake_one();
#endif
			some = false
		:: else
		fi
	:: else ->
		atomic { is_run[e] = false; handled++; inside-- }
		give_thread(true);
		leave_group()
	fi;
	e = NONE
}

/* queued_count(): true in `some` if there is an event to take. */
inline look()
{
	any = count[NEW] > 0;
	if
	:: any -> has_thread()
	:: else
	fi;
	some = any || count[BEGUN] > 0;
	any = false
}

#ifdef BLIND
#define FIND some = true; is_quiet[me] = true
#define LOOK_AGAIN some = !is_quiet[me]
#define MAY_GO_IN_VAIN false
#else
#define FIND look()
#define LOOK_AGAIN look()
#define MAY_GO_IN_VAIN true
#endif

/* A visit.  It is in vain: a blind worker may sleep then. */
inline visit()
{
	some = false;
	pop_any();
	if
	:: e != NONE -> handle(); is_in_vain = false; may_go = true
	:: else -> is_in_vain = true; may_go = MAY_GO_IN_VAIN
	fi
}

inline sleep()
{
	is_still[me] = true;
	LOOK_AGAIN;
	if
	:: some -> some = false
	:: else ->
		any = stopping; /* group_is_drained() */
		if
		:: any && pending == 0 -> break
		:: else ->
			any = false;
			asleep[me] = is_still[me];
end_asleep:
			!asleep[me]
		fi
	fi
}

proctype worker(byte me)
{
	byte e = NONE;
	bool any, some, is_in_vain, may_go;

	do
	:: FIND;
		if
		:: some -> visit()
		:: else -> is_in_vain = true; may_go = false
		fi;
		if
		:: is_in_vain -> sleep()
		:: !is_in_vain
		:: me == 1 && may_go ->
end_away:		stopping && pending == 0 -> break
		fi
	od;
	ended++
}

/* The thread that wakes event e. */
proctype waker(byte e)
{
	bool any, is_mine;

end:	do
	:: atomic { asked[e] > woken[e] -> woken[e]++ }
		atomic {
			is_mine = (wake[e] == WAITS);
			wake[e] = WOKEN
		}
#ifdef BLIND_WAKE
		is_mine = true;
#endif
		if
		:: is_mine ->
			is_mine = false;
#ifndef NO_RESET
			wake[e] = RUNS;
#endif
			put_back(e);
#ifndef QUIET_WAKE
			wake_one()
#endif
		:: else
		fi
	od
}

proctype sender()
{
	byte e;
	bool any, refused;

	for (e : 0 .. EVENTS - 1) {
		refused = stopping;
		if
		:: refused -> break
		:: else
		fi;
		pending++;
		refused = stopping;
		if
		:: refused -> leave_group(); break
		:: else
		fi;
		atomic { is_in[e] = true; count[NEW]++; accepted++ }
		wake_one()
	}
}

proctype stopper()
{
	stopping = true;
	wake_everyone();
	ended == WORKERS; /* pthread_join() */
	has_stopped = true
}

init
{
	byte i;

	atomic {
		for (i : 0 .. WAITERS - 1) {
			run waker(i)
		}
		for (i : 0 .. WORKERS - 1) {
			run worker(i)
		}
		run sender();
		if
		:: STOPS -> run stopper()
		:: else /* a group that is never stopped */
		fi
	}
	/* True when no other process can move. */
	timeout;
	assert(handled == accepted && pending == 0 && free == THREADS);
	assert(!stopping || has_stopped)
}
