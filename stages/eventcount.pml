/* SPDX-License-Identifier: MIT */
/*
 * Promela model of how workers sleep and how a group stops: eventcount.c, pick
 * of visit.c, group_enter and sleep_for_work of worker.c, group_leave and
 * group_stop of group.c.  Spin tries every interleaving.
 *
 * Each of the SENDERS sends one event to stage 0, whose handler sends it on to
 * the last stage.  All WORKERS visit all stages.  With STOPS=1 the group is
 * stopped at some moment.  With STOPS=0 it is never stopped, because the
 * wake-ups of a stop could hide that another wake-up was lost.
 *
 * Checked in every final state: every accepted event was handled at each stage;
 * and if the group was stopped, the workers and group_stop() ended.
 *
 * A step is one atomic operation of the code.  Scratch variables are cleared
 * after use, so that there are fewer states.  Memory is sequentially
 * consistent, as are all operations of the code on these variables.
 *
 * Mistakes that Spin must find, used by test/test_models.sh:
 *	NO_SECOND_LOOK	workers sleep without a second look at the queues
 *	LATE_TICKET	the epoch is read after the second look
 *	LATE_ENTRY	senders look at `stopping` first, add to `pending` second
 *	NO_LAST_WAKE	group_leave() for the last event wakes no thread
 */
#ifndef WORKERS /* 1 or 2 */
#define WORKERS 2
#endif
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef STAGES /* 1 or 2 */
#define STAGES 1
#endif
#ifndef STOPS
#define STOPS 1
#endif
#define LAST (STAGES - 1)
#define STOPPER 2 /* thread that called group_stop(); 0 and 1 are workers */

#define WORK 0    /* eventcount of the workers */
#define DRAINED 1 /* eventcount of group_stop() */

byte queued[STAGES], handled[STAGES], accepted, pending, ended;
byte epoch[2], sleepers[2];
bool asleep[STOPPER + 1]; /* in the kernel */
bool stopping, has_stopped;

inline prepare(ec)
{
	sleepers[ec]++;
#ifndef LATE_TICKET
	ticket = epoch[ec]
#endif
}

inline cancel(ec)
{
	sleepers[ec]--
}

/* The kernel compares and falls asleep in one step. */
inline wait(ec, me)
{
#ifdef LATE_TICKET
	ticket = epoch[ec];
#endif
	atomic {
		if
		:: epoch[ec] == ticket -> asleep[me] = true
		:: else
		fi
	}
	ticket = 0;
end_asleep:
	atomic { !asleep[me] -> sleepers[ec]-- }
}

inline wake_one_worker()
{
	epoch[WORK]++;
	any = sleepers[WORK] > 0;
	atomic {
		if
		:: any && asleep[0] -> asleep[0] = false
		:: any && asleep[1] -> asleep[1] = false
		:: else
		fi;
		any = false
	}
}

inline wake_everyone()
{
	epoch[WORK]++;
	any = sleepers[WORK] > 0;
	atomic {
		if
		:: any -> asleep[0] = false; asleep[1] = false
		:: else
		fi;
		any = false
	}
	epoch[DRAINED]++;
	any = sleepers[DRAINED] > 0;
	atomic {
		if
		:: any -> asleep[STOPPER] = false
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
	:: any && stopping -> wake_everyone()
	:: else -> any = false
	fi
#endif
}

/* Pop from `stage` and handle, unless another worker was faster. */
inline visit(stage)
{
	atomic {
		any = queued[stage] > 0;
		queued[stage] = queued[stage] - any
	}
	if
	:: any ->
		any = false;
		if
		:: stage < LAST ->
			pending++; /* from inside: never refused */
			queued[LAST]++;
			wake_one_worker()
		:: else
		fi;
		atomic { handled[stage]++; stage = 0 }
		leave()
	:: else
	fi
}

/* Snapshot of one queue after the other; then decide. */
inline pick(stage)
{
	any = queued[0] > 0;
	atomic {
		stage = (queued[LAST] > 0 -> LAST : (any -> 0 : STAGES));
		any = false
	}
}

proctype worker(byte me)
{
	byte ticket, stage;
	bool any;

	do
	:: pick(stage);
		if
		:: stage < STAGES -> visit(stage)
		:: else ->
			prepare(WORK);
#ifndef NO_SECOND_LOOK
			pick(stage);
#endif
			if
			:: stage < STAGES -> cancel(WORK); visit(stage)
			:: else ->
				/* is_drained() */
				any = stopping;
				if
				:: any && pending == 0 -> cancel(WORK); break
				:: else -> any = false; wait(WORK, me)
				fi
			fi
		fi
	od;
	ended++
}

proctype sender()
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
	:: else ->
		queued[0]++;
		accepted++;
		wake_one_worker()
	fi;
done:	skip
}

proctype stopper()
{
	byte ticket;
	bool any;

	stopping = true;
	wake_everyone();
	ended == WORKERS; /* pthread_join() */
	do
	:: pending == 0 -> break
	:: else ->
		prepare(DRAINED);
		if
		:: pending == 0 -> cancel(DRAINED); break
		:: else -> wait(DRAINED, STOPPER)
		fi
	od;
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
	assert(handled[0] == accepted && handled[LAST] == accepted);
	assert(pending == 0);
	assert(!stopping || has_stopped)
}
