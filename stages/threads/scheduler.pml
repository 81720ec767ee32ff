/* SPDX-License-Identifier: MIT */
/*
 * Promela model of scheduler.c: how user-level threads are posted, wait and are
 * woken, how their kernel thread sleeps, and how a group stops.  Spin tries
 * every interleaving.
 *
 * Each of the POSTERS sends one event from outside.  Its handler waits ROUNDS
 * times; each time it asks a waker, another thread, which wakes it once, before
 * or after the wait.  Then the event ends.  With STOPS=1 the group is stopped
 * at some moment, with STOPS=0 never, because the wake-ups of a stop could hide
 * that another wake-up was lost.
 *
 * The inbox is a set, because its order does not matter here.  A thread has one
 * link, so it may be in only one list; this is checked at each push.
 *
 * Checked in every final state: every accepted event has ended, after ROUNDS
 * waits, and none of them returned without its wake-up; and if the group was
 * stopped, the kernel thread has ended.
 *
 * A step is one atomic operation of the code, or more if they touch only what
 * belongs to one thread.  Memory is sequentially consistent, as are all
 * operations of the code on these variables.
 *
 * Mistakes that Spin must find, used by test/test_models.sh:
 *	NO_SECOND_LOOK	the kernel thread sleeps without a look at the inbox
 *	LATE_TICKET	the epoch is read after that look
 *	EARLY_WAKE	the kernel thread is woken before the push
 *	BLIND_WAIT	a thread waits without a look whether it was woken
 *	BLIND_WAKE	a wake-up does not look whether the thread waits
 *	NO_RESET	a thread that was woken stays marked so
 *	LATE_RESET	it is unmarked only when it runs, after it asked again
 *	NO_LAST_WAKE	the last event to leave wakes no thread
 *	LATE_ENTRY	senders look at `stopping` first, add to `pending` second
 */
#ifndef POSTERS
#define POSTERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef STOPS
#define STOPS 1
#endif

#define RUNS 0
#define WAITS 1
#define WOKEN 2

/* Of a thread, where it is. */
#define OUTSIDE 0
#define POSTED 1 /* new, in the inbox */
#define READY 2  /* in the queue of a place */
#define PARKED 3 /* waits */
#define BACK 4   /* woken, in the inbox */
#define ENDED 5

byte wake[POSTERS], where[POSTERS], round[POSTERS];
bool inbox[POSTERS];
bool asks[POSTERS];     /* the waker, to be woken once */
bool is_woken[POSTERS]; /* before the wait returned */
byte accepted, pending, epoch, sleepers;
bool asleep, stopping, has_ended, has_stopped;

inline wake_kernel_thread()
{
	epoch++;
	any = sleepers > 0;
	atomic {
		if
		:: any && asleep -> asleep = false
		:: else
		fi;
		any = false
	}
}

inline leave()
{
	atomic { pending--; any = (pending == 0) }
#ifndef NO_LAST_WAKE
	if
	:: any && stopping -> wake_kernel_thread()
	:: else -> any = false
	fi
#else
	any = false
#endif
}

inline put_into_inbox(e, place)
{
#ifdef EARLY_WAKE
	wake_kernel_thread();
#endif
	/* The link is free: the thread is in no list. */
	atomic {
		assert(!inbox[e] && where[e] != READY);
		where[e] = place;
		inbox[e] = true
	}
#ifndef EARLY_WAKE
	wake_kernel_thread()
#endif
}

proctype poster(byte e)
{
	bool any, refused;

	refused = stopping;
	if
	:: refused -> goto done
	:: else
	fi;
	pending++;
#ifndef LATE_ENTRY
	refused = stopping;
#endif
	if
	:: refused -> leave()
	:: else -> accepted++; put_into_inbox(e, POSTED)
	fi;
done:	skip
}

/* Wakes thread `e`, once for each time that it asks. */
proctype waker(byte e)
{
	bool any;
	byte old;

end_waker:
	do
	:: asks[e] ->
		atomic { asks[e] = false; is_woken[e] = true }
		atomic { old = wake[e]; wake[e] = WOKEN }
		if
#ifdef BLIND_WAKE
		:: true -> put_into_inbox(e, BACK)
#else
		:: old == WAITS -> put_into_inbox(e, BACK)
		:: else
#endif
		fi;
		old = 0
	od
}

/* The handler of thread `e` asks to be woken, and waits. */
inline ask_and_wait(e)
{
	is_woken[e] = false;
	asks[e] = true;
#ifdef LATE_RESET
	wake[e] = RUNS;
#endif
	atomic {
#ifndef BLIND_WAIT
		if
		:: wake[e] == RUNS ->
			wake[e] = WAITS;
			where[e] = PARKED
		:: else ->
#ifndef NO_RESET
			wake[e] = RUNS;
#endif
			where[e] = READY
		fi
#else
		wake[e] = WAITS;
		where[e] = PARKED
#endif
	}
}

/* Thread `e` runs until it waits again or ends. */
inline go_on(e)
{
	if
	:: round[e] > 0 -> assert(is_woken[e])
	:: else
	fi;
	if
	:: round[e] < ROUNDS -> round[e]++; ask_and_wait(e)
	:: else -> where[e] = ENDED; leave()
	fi
}

/* The inbox is taken as a whole. */
inline empty_inbox()
{
	atomic {
		i = 0;
		do
		:: i < POSTERS ->
			if
			:: inbox[i] ->
				inbox[i] = false;
#if !defined(NO_RESET) && !defined(LATE_RESET)
				if
				:: where[i] == BACK -> wake[i] = RUNS
				:: else
				fi;
#endif
				where[i] = READY
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

proctype kernel_thread()
{
	byte ticket, i, e;
	bool any;

	do
	:: empty_inbox();
		atomic {
			/* The policy may pick any. */
			if
			:: where[0] == READY -> e = 0
#if POSTERS > 1
			:: where[1] == READY -> e = 1
#endif
			:: else -> e = POSTERS
			fi
		}
		if
		:: e < POSTERS -> go_on(e); e = 0
		:: else ->
			e = 0;
			sleepers++;
#ifndef LATE_TICKET
			ticket = epoch;
#endif
#ifndef NO_SECOND_LOOK
			/* One pointer. */
			atomic {
				any = inbox[0];
#if POSTERS > 1
				any = any || inbox[1]
#endif
			}
#endif
			if
			:: any -> any = false; sleepers--
			:: else ->
				/* is_drained() */
				any = stopping;
				if
				:: any && pending == 0 -> sleepers--; break
				:: else ->
					any = false;
#ifdef LATE_TICKET
					ticket = epoch;
#endif
					atomic {
						if
						:: epoch == ticket ->
							asleep = true
						:: else
						fi
					}
					ticket = 0;
end_asleep:
					atomic { !asleep -> sleepers-- }
				fi
			fi
		fi
	od;
	has_ended = true
}

proctype stopper()
{
	bool any;

	stopping = true;
	wake_kernel_thread();
	has_ended; /* pthread_join() */
	has_stopped = true
}

init
{
	byte i;

	atomic {
		for (i : 0 .. POSTERS - 1) {
			run poster(i);
			run waker(i)
		}
		run kernel_thread();
		if
		:: STOPS -> run stopper()
		:: else /* a group that is never stopped */
		fi
	}
	/* True when no other process can move. */
	timeout;
	for (i : 0 .. POSTERS - 1) {
		assert(where[i] == ENDED || where[i] == OUTSIDE);
		if
		:: where[i] == ENDED ->
			assert(round[i] == ROUNDS && !inbox[i]);
			accepted--
		:: else
		fi
	}
	assert(accepted == 0 && pending == 0);
	assert(!stopping || has_stopped)
}
