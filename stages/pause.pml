/* SPDX-License-Identifier: MIT */
/*
 * Promela model of pausing: run_handler, has_next_fibre, stage_pause_point,
 * pause_event and stage_send of worker.c, and the stacks of fibre.c.  Spin
 * tries every interleaving.
 *
 * A sender sends EVENTS events, one after the other, to stage 0, whose handler
 * sends each on to the last stage, and goes on for a while after that.  There
 * are WORKERS workers, and PAUSED stacks more than workers.  A handler reaches
 * any number of pause points, also after it has sent its event on.  At some
 * moment the group is stopped.
 *
 * A stack is a process of its own, which moves only while a worker is on it.
 * Thus the model can do what the code must not: two workers on one stack, or a
 * stack that goes on after its worker has left it.
 *
 * What the model leaves out allows it more than the code does: any queued
 * event may be the next, so the two queues of a station are one here; and an
 * event may be paused at any pause point, because a more urgent one is queued,
 * or because a cutoff is over, when perhaps none is queued.  Sleeping and
 * refused sends are in eventcount.pml, where a paused event that is queued
 * again is like one that a handler sends: here a worker waits until an event is
 * queued or the group is drained.
 *
 * Checked: never two workers are on one stack; an event is handled once at each
 * stage, by the stack that began it; at most PAUSED paused events wait.  In
 * every final state all accepted events were handled, the workers have ended,
 * and every stack is free or is the one that a worker begins on.
 *
 * Mistakes that Spin must find, used by test/test_models.sh:
 *	EARLY_RETURN	an event is queued again before its stack is left
 *	SENT_PAUSES	a handler can be paused after it has sent its event
 *	LATE_CLEAR	event.fibre is cleared after the handler, not before
 *	OLD_THREAD	after a pause, a handler uses the worker that began it
 *	NO_NEXT		an event is paused though no stack is left to begin on
 *	NO_GIVE		the stack of an event that was paused is never free again
 *	DRAINED_EARLY	paused events do not count as pending
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PAUSED
#define PAUSED 1
#endif
#ifndef EVENTS /* 1 to 3 */
#define EVENTS 2
#endif
#ifndef STAGES /* 1 or 2 */
#define STAGES 2
#endif
#define STACKS (WORKERS + PAUSED)
#define LAST (STAGES - 1)
#define NONE 7 /* no stack, event or worker */

/* Of events. */
bool is_queued[EVENTS];
byte stage[EVENTS];                /* where it is queued or handled */
byte kept_on[EVENTS];              /* event.fibre */
byte begun[EVENTS], ended[EVENTS]; /* how many stages */

/* Of workers. */
byte own[WORKERS];     /* worker.fibre */
byte next[WORKERS];    /* worker.next_fibre */
byte on[WORKERS];      /* handling.fibre */
byte handled[WORKERS]; /* visitor.event */

/* Of stacks. */
bool is_free[STACKS];
bool has_returned[STACKS];
byte worker_on[STACKS]; /* NONE: it was left */
byte begins[STACKS];    /* the event with which it is entered first */

byte queued_count, pending, sent_count, ended_workers;
bool stopping, has_stopped;

inline push(e)
{
	atomic {
		assert(!is_queued[e]); /* twice in a queue */
		is_queued[e] = true;
		queued_count++
	}
}

/* Any queued event; waits for one. */
inline pop(e)
{
	if
	:: is_queued[0] -> e = 0
#if EVENTS > 1
	:: is_queued[1] -> e = 1
#endif
#if EVENTS > 2
	:: is_queued[2] -> e = 2
#endif
	fi;
	is_queued[e] = false;
	queued_count--
}

/* fibres_take(), fibres_give(): under their lock. */
inline take_stack(to)
{
	atomic {
		if
		:: is_free[0] -> to = 0
		:: else ->
			for (i : 1 .. STACKS - 1) {
				if
				:: is_free[i] && to == NONE -> to = i
				:: else
				fi
			}
		fi;
		i = 0;
		if
		:: to != NONE -> is_free[to] = false
		:: else
		fi
	}
}

/* To be called on stack f by what runs there; `me` is its thread's worker. */
inline pause_point()
{
	if
	:: on[me] != NONE ->
		if
		:: on[me] == own[me] && next[me] == NONE -> take_stack(next[me])
		:: else
		fi;
		if
#ifdef NO_NEXT
		:: true ->
#else
		:: on[me] != own[me] || next[me] != NONE ->
#endif
#ifdef EARLY_RETURN
			kept_on[handled[me]] = on[me];
			push(handled[me]);
#endif
			/* fibre_pause() of handling.fibre, on this stack */
			assert(on[me] == f);
			worker_on[f] = NONE;
			worker_on[f] != NONE;
#ifndef OLD_THREAD
			me = worker_on[f]
#endif
		:: else
		fi
	:: else
	fi
}

/* stage_send() of a handler. */
inline send_on(e)
{
#ifndef SENT_PAUSES
	if
	:: e == handled[me] -> on[me] = NONE
	:: else
	fi;
#endif
	atomic { stage[e]++; ended[e]++; pending++ }
	push(e)
}

proctype stack(byte f)
{
	byte me, e, i;

end:	do
	:: atomic {
			worker_on[f] != NONE ->
			me = worker_on[f];
			e = begins[f];
			assert(begun[e] == stage[e]);
			begun[e]++
		}
		do
		:: pause_point()
		:: break
		od;
		if
		:: stage[e] < LAST ->
			send_on(e);
			e = 0;
			pause_point()
		:: else -> atomic { ended[e]++; e = 0 }
		fi;
		atomic {
			has_returned[f] = true;
			me = 0;
			worker_on[f] = NONE
		}
	od
}

/* fibre_run(), fibre_resume(): returns when the stack is left. */
inline enter(f)
{
	atomic {
		assert(!is_free[f]);
		assert(worker_on[f] == NONE); /* two workers on one stack */
		has_returned[f] = false;
		worker_on[f] = me
	}
	worker_on[f] == NONE
}


/* run_handler(); event e goes on, on stack `from`, or begins. */
inline run_handler()
{
	from = kept_on[e];
#ifndef LATE_CLEAR
	kept_on[e] = NONE;
#endif
	atomic {
		on[me] = (from != NONE -> from : own[me]);
		f = on[me];
		assert(f != NONE); /* there is a stack to begin on */
		if
		:: from == NONE -> begins[f] = e
		:: else
		fi
	}
	enter(f);
#ifdef LATE_CLEAR
	kept_on[e] = NONE;
#endif
	is_over = has_returned[f];
	if
	:: !is_over ->
		kept_on[e] = on[me];
		if
		:: from == NONE -> own[me] = next[me]; next[me] = NONE
		:: else
		fi
	:: is_over && from != NONE ->
#ifndef NO_GIVE
		is_free[from] = true
#endif
	:: else
	fi;
	atomic { on[me] = NONE; f = 0; from = 0 }
}

/* queue_return() has room for these. */
inline check_paused()
{
	d_step {
		for (i : 0 .. EVENTS - 1) {
			f = f + (is_queued[i] && kept_on[i] != NONE)
		}
		assert(f <= PAUSED);
		f = 0;
		i = 0
	}
}

proctype worker(byte me)
{
	byte e, f, i, from;
	bool is_over;

end:	do
	:: atomic { queued_count > 0 -> pop(e); handled[me] = e }
		run_handler();
		if
		:: !is_over ->
#ifdef DRAINED_EARLY
			pending--;
#endif
#ifndef EARLY_RETURN
			push(e);
#endif
			check_paused()
		:: else -> is_over = false; pending--
		fi;
		e = 0
	:: stopping && pending == 0 -> break /* group_is_drained() */
	od;
	ended_workers++
}

proctype sender()
{
	byte e;

	for (e : 0 .. EVENTS - 1) {
		/* group_enter() */
		atomic {
			if
			:: stopping -> break
			:: else -> pending++; sent_count++
			fi
		}
		push(e)
	}
}

proctype stopper()
{
	stopping = true;
	ended_workers == WORKERS; /* pthread_join() */
	has_stopped = true
}

init
{
	byte i, count;

	atomic {
		for (i : 0 .. EVENTS - 1) {
			kept_on[i] = NONE
		}
		for (i : 0 .. STACKS - 1) {
			is_free[i] = (i >= WORKERS);
			worker_on[i] = NONE;
			run stack(i)
		}
		for (i : 0 .. WORKERS - 1) {
			own[i] = i;
			next[i] = NONE;
			on[i] = NONE;
			run worker(i)
		}
		run sender();
		run stopper()
	}
	/* True when no other process can move. */
	timeout;
	assert(has_stopped && pending == 0 && queued_count == 0);
	for (i : 0 .. EVENTS - 1) {
		assert(begun[i] == ended[i]);
		assert(ended[i] == (i < sent_count -> STAGES : 0))
	}
	for (i : 0 .. STACKS - 1) {
		count = count + is_free[i]
	}
	for (i : 0 .. WORKERS - 1) {
		assert(own[i] != NONE && next[i] == NONE);
		assert(!is_free[own[i]])
	}
	assert(count == PAUSED) /* none is lost */
}
