/* SPDX-License-Identifier: MIT */
/*
 * Promela model of closures: closure.c, and how group.c knows that a group is
 * drained.  Spin tries every interleaving.
 *
 * Closure 0 is a parent; it invokes CHILDREN children and waits for them.  Each
 * child waits for an event once, which a thread of its own resumes.  With
 * CANCELS, another thread cancels the session of all of them, and an event may
 * never come.  At some moment the group is stopped.  There are WORKERS workers;
 * any queued closure may be the next.
 *
 * Checked: each closure ends once, and nothing is done with it after that; the
 * parent goes on when all children have ended; and when the group is drained,
 * all have ended.
 *
 * Mistakes that Spin must find, used by test/test_models.sh:
 *	NO_HOLD		a closure that waits for an event is not pending
 *	LATE_COUNT	children are sent before they are counted
 *	BLIND_CANCEL	session_cancel() goes on with what others have resumed
 *	BLIND_RESUME	closure_resume() does not ask whether anybody waits
 *	LATE_LIST	a closure waits before it is in its session's list
 *	EARLY_LOOK	a closure asks without the lock if it is cancelled
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CHILDREN /* 1 or 2 */
#define CHILDREN 2
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#define CLOSURES (CHILDREN + 1)
#define RUNS 0
#define WAITS 1
#define WOKEN 2

bool is_queued[CLOSURES], has_ended[CLOSURES], is_listed[CLOSURES];
byte wake[CLOSURES], method[CLOSURES];
bool has_asked[CLOSURES]; /* the event's thread may resume it */
byte left, pending = 1;
bool is_cancelled, is_locked, is_stopping;
byte gone_workers;

#define DRAINED (is_stopping && pending == 0)

inline lock()
{
	atomic { !is_locked -> is_locked = true }
}

inline unlock()
{
	is_locked = false
}

inline send(c)
{
	atomic {
		assert(!is_queued[c] && !has_ended[c]);
		pending++;
		is_queued[c] = true
	}
}

/* `e` is a variable of the caller. */
inline end(c, e)
{
	e = c;
	do
	:: atomic { assert(!has_ended[e]); has_ended[e] = true };
		if
		:: e == 0 -> break
		:: else
		fi;
		atomic { left--; last = left == 0 };
		if
		:: !last -> break
		:: last && !is_cancelled -> send(0); break
		:: last && is_cancelled -> e = 0
		fi
	od
}

inline go_on(c)
{
	assert(!has_ended[c]);
	wake[c] = RUNS;
	send(c);
#ifndef NO_HOLD
	pending--
#endif
}

/* The last one is not the parent's any more when it is sent. */
inline start_children()
{
#ifndef LATE_COUNT
	left = CHILDREN;
#endif
	send(1);
#if CHILDREN > 1
	assert(!has_ended[0]);
	send(2);
#endif
#ifdef LATE_COUNT
	left = left + CHILDREN
#endif
}

inline wait_for_event(c)
{
	has_asked[c] = true;
#ifndef NO_HOLD
	pending++;
#endif
#ifdef LATE_LIST
	atomic { was = wake[c]; wake[c] = (was == RUNS -> WAITS : was) };
#endif
#ifdef EARLY_LOOK
	is_open = !is_cancelled;
	lock();
#else
	lock();
	is_open = !is_cancelled;
#endif
	is_listed[c] = is_open;
	unlock();
	if
	:: !is_open -> go_on(c)
	:: else ->
#ifndef LATE_LIST
		atomic { was = wake[c]; wake[c] = (was == RUNS -> WAITS : was) };
#endif
		if
		:: was == RUNS
		:: else ->
			lock();
			is_listed[c] = false;
			unlock();
			go_on(c)
		fi
	fi
}

active [WORKERS] proctype worker()
{
	byte c, e, was;
	bool last, is_open;

	do
	:: atomic {
		if
		:: is_queued[0] -> c = 0
		:: is_queued[1] -> c = 1
#if CHILDREN > 1
		:: is_queued[2] -> c = 2
#endif
		:: DRAINED -> break
		fi;
		is_queued[c] = false
	};
		method[c]++;
		if
		:: is_cancelled -> end(c, e)
		:: !is_cancelled && c == 0 && method[c] == 1 ->
			start_children()
		:: !is_cancelled && c == 0 && method[c] == 2 ->
			assert(has_ended[1] && has_ended[CHILDREN]);
			end(c, e)
		:: !is_cancelled && c > 0 && method[c] == 1 ->
			wait_for_event(c)
		:: !is_cancelled && c > 0 && method[c] == 2 ->
			end(c, e)
		fi;
		pending-- /* the worker's */
	od;
	gone_workers++
}

proctype resumer(byte c)
{
	byte was;

	/* For ever, if the child ends before it asks. */
end_of_wait:
	has_asked[c];
#if CANCELS
	if
	:: true
	:: true -> goto done
	fi;
#endif
	atomic { was = wake[c]; wake[c] = WOKEN };
	if
#ifdef BLIND_RESUME
	:: true ->
#else
	:: was == WAITS ->
#endif
		lock();
		is_listed[c] = false;
		unlock();
		go_on(c)
#ifndef BLIND_RESUME
	:: else
#endif
	fi;
done:
}

proctype canceller()
{
	byte c, was;

	lock();
	is_cancelled = true;
	do
	:: is_listed[1] || is_listed[CHILDREN] ->
		c = (is_listed[1] -> 1 : CHILDREN);
		is_listed[c] = false;
		atomic { was = wake[c]; wake[c] = WOKEN };
		if
#ifdef BLIND_CANCEL
		:: true ->
#else
		:: was == WAITS ->
#endif
			unlock();
			go_on(c);
			lock()
#ifndef BLIND_CANCEL
		:: else
#endif
		fi
	:: !is_listed[1] && !is_listed[CHILDREN] -> break
	od;
	unlock()
}

init
{
	atomic {
		is_queued[0] = true;
		run resumer(1);
#if CHILDREN > 1
		run resumer(2);
#endif
#if CANCELS
		run canceller();
#endif
	};
	is_stopping = true;
	gone_workers == WORKERS;
	assert(has_ended[0]);
	assert(has_ended[1] || is_cancelled);
	assert(!is_queued[0] && !is_queued[1] && !is_queued[CHILDREN])
}
