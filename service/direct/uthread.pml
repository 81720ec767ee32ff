/* SPDX-License-Identifier: MIT */
/*
 * Promela model of the asynchronous part of uthread_fibre.c: how kernel threads
 * sleep in epoll_wait(), how an eventfd wakes them, how threads wait for their
 * wake-up or their socket, and how all is stopped.  Spin tries every
 * interleaving.
 *
 * Each thread waits ROUNDS times, each time for its wake-up or for its socket.
 * Its partner, another kernel thread, wakes it once, or sends once, before,
 * during or after the wait.  In its last turn, thread 0 keeps its kernel thread
 * until thread 1 has ended, so that thread 1 needs another one.  When all have
 * ended, a stop ends the kernel threads, and closes the eventfd.
 *
 * With TRIMS=1, stacks of threads that wait are trimmed, each at most once.
 *
 * The run queue is a set, because its order does not matter here.  The lock is
 * an atomic step.  epoll_wait() takes some of the events that there are, at
 * least one if it sleeps.  An event of a socket needs that it is armed and has
 * data; taking it disarms the socket.  The eventfd is edge-triggered: a write
 * makes one event, or none if one is there already.
 *
 * Checked: nobody enters a thread that has not left its stack, or whose stack is
 * trimmed; no thread is in
 * the queue twice; none goes on without its wake-up or data; nobody writes to
 * an eventfd that is closed; and in every final state all threads and kernel
 * threads have ended, so nothing that could run was left while all slept.
 *
 * Mistakes that Spin must find, used by stages/test/test_models.sh:
 *	LATE_IDLE	a kernel thread counts itself as idle only after the lock
 *	NO_WAKE		a thread is put into the queue without a wake-up
 *	LATE_CLEAR	is_wake_sent is cleared after the look at the queue
 *	NO_RELAY	a kernel thread that leaves others in the queue wakes nobody
 *	EARLY_WAIT	a thread waits before it has left its stack
 *	EARLY_ARM	its socket is armed before it has left its stack
 *	BLIND_WAIT	a thread waits without a look whether it was woken
 *	BLIND_WAKE	a wake-up does not look whether the thread waits
 *	NOT_ONCE	an event does not disarm the socket
 *	BLIND_TRIM	a stack is trimmed without a claim
 *	BLIND_RETURN	a trim does not look whether the thread was woken
 *	QUIET_STOP	a stop wakes no kernel thread
 *	QUIET_END	a kernel thread that ends does not wake the next one
 *	EARLY_CLOSE	a stop does not wait for those who still write
 */
#ifndef KERNELS
#define KERNELS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef TRIMS
#define TRIMS 1
#endif
#define THREADS 2
#define NONE THREADS

#define RUNS 0
#define WAITS 1
#define WOKEN 2
#define CLAIMED 3 /* it waits, and its stack is trimmed */

/* Of a socket: it can have an event; or so, but its thread's stack is trimmed */
#define OFF 0
#define ARMED 1

byte wake[THREADS], round[THREADS];
bool queued[THREADS], is_inside[THREADS], has_ended[THREADS];
bool in_epoll[THREADS]; /* armed */
byte socket[THREADS];   /* OFF, ARMED or CLAIMED */
bool at_socket[THREADS], has_data[THREADS], is_trimmed[THREADS];
bool asks_wake[THREADS], asks_data[THREADS]; /* the partner, once */
bool is_woken[THREADS];                      /* before the wait returned */
byte idle, senders, thread_count = THREADS, kernel_count = KERNELS;
bool is_wake_sent, is_signalled, is_stopping, is_closed;

#define IS_READY(t) (in_epoll[t] && has_data[t])
#define ANY_QUEUED (queued[0] || queued[1])

/* Part of a critical section. */
inline put(t)
{
	assert(!queued[t] && !has_ended[t]);
	queued[t] = true
}

inline ask_wakes()
{
	if
	:: ANY_QUEUED && idle > 0 && !is_wake_sent ->
		is_wake_sent = true;
		senders++;
		wakes = true
	:: else
	fi
}

inline send_wake()
{
	atomic { assert(!is_closed); is_signalled = true };
	senders--
}

inline make_ready(t)
{
	atomic {
		put(t);
#ifndef NO_WAKE
		ask_wakes()
#endif
	}
	if
	:: wakes -> send_wake(); wakes = false
	:: else
	fi
}

/* Wakes thread `t`, or sends to it, once for each time that it asks. */
proctype partner(byte t)
{
	byte old;
	bool wakes;

end_partner:
	do
	:: asks_wake[t] ->
		atomic { asks_wake[t] = false; is_woken[t] = true }
		atomic { old = wake[t]; wake[t] = WOKEN }
		if
#ifdef BLIND_WAKE
		:: true -> make_ready(t)
#else
		:: old == WAITS -> make_ready(t)
		:: else
#endif
		fi;
		old = 0
	:: asks_data[t] -> atomic { asks_data[t] = false; has_data[t] = true }
	od
}

inline take_event(t)
{
#ifndef NOT_ONCE
	in_epoll[t] = false;
#endif
	got[t] = true
}

/* Of the events that there are, any. */
inline take_events()
{
	if
	:: is_signalled -> is_signalled = false; got_signal = true
	:: true
	fi;
	if
	:: IS_READY(0) -> take_event(0)
	:: true
	fi;
	if
	:: IS_READY(1) -> take_event(1)
	:: true
	fi
}

/* Part of a critical section.  If the thread is claimed, the trim puts it. */
inline put_event(t)
{
	if
	:: got[t] && socket[t] == CLAIMED -> socket[t] = OFF; got[t] = false
	:: got[t] && socket[t] != CLAIMED ->
		socket[t] = OFF;
		put(t);
		got[t] = false
	:: else
	fi
}

/* The same. */
inline put_events()
{
	put_event(0);
	put_event(1);
#ifndef LATE_CLEAR
	if
	:: got_signal -> is_wake_sent = false; got_signal = false
	:: else
	fi
#endif
}

inline sleep()
{
	atomic {
		if
		:: is_signalled -> is_signalled = false; got_signal = true
		:: IS_READY(0) -> take_event(0)
		:: IS_READY(1) -> take_event(1)
		fi;
		take_events()
	}
	atomic { idle--; put_events() }
}

/* Thread `t` leaves its stack, and waits for its wake-up. */
inline wait(t)
{
	asks_wake[t] = true;
#ifndef EARLY_WAIT
	is_inside[t] = false;
#endif
	atomic {
		if
#ifdef BLIND_WAIT
		:: true -> wake[t] = WAITS
#else
		:: wake[t] == RUNS -> wake[t] = WAITS
		:: else -> put(t)
#endif
		fi
	}
#ifdef EARLY_WAIT
	is_inside[t] = false
#endif
}

/* The same for its socket, unless it has data already. */
inline transfer(t)
{
	asks_data[t] = true;
	at_socket[t] = true;
#ifndef EARLY_ARM
	is_inside[t] = false;
#endif
	socket[t] = ARMED;
	in_epoll[t] = true;
#ifdef EARLY_ARM
	is_inside[t] = false
#endif
}

/* It waits again or ends. */
inline go_on(t)
{
	atomic { assert(!is_inside[t] && !is_trimmed[t]); is_inside[t] = true }
	if
	:: round[t] > 0 && at_socket[t] ->
		assert(has_data[t]);
		at_socket[t] = false;
		has_data[t] = false
	:: round[t] > 0 && !at_socket[t] ->
		assert(is_woken[t]);
		atomic { is_woken[t] = false; wake[t] = RUNS }
	:: else
	fi;
	if
	:: round[t] < ROUNDS -> round[t]++; wait(t)
	:: round[t] < ROUNDS -> round[t]++; transfer(t)
	:: round[t] == ROUNDS ->
		if
		:: t == 0 -> has_ended[1] /* keeps its kernel thread */
		:: else
		fi;
		atomic { has_ended[t] = true; thread_count-- }
	fi
}

proctype kernel_thread()
{
	byte t = NONE;
	bool wakes, is_over, got_signal;
	bool got[THREADS];

	do
	:: if
	   :: idle == 0 ->
		atomic { take_events() }
		atomic { put_events() }
	   :: true
	   fi;
	   atomic {
		if
		:: queued[0] -> t = 0; queued[0] = false
		:: queued[1] -> t = 1; queued[1] = false
		:: else -> is_over = is_stopping
		fi;
#ifndef NO_RELAY
		ask_wakes();
#endif
		if
		:: is_over -> senders++
#ifndef LATE_IDLE
		:: t == NONE && !is_over -> idle++
#endif
		:: else
		fi
	   }
#ifdef LATE_CLEAR
	   if
	   :: got_signal -> is_wake_sent = false; got_signal = false
	   :: else
	   fi;
#endif
	   if
	   :: is_over -> break
	   :: else
	   fi;
	   if
	   :: wakes -> send_wake(); wakes = false
	   :: else
	   fi;
	   if
	   :: t != NONE -> go_on(t); t = NONE
	   :: else ->
#ifdef LATE_IDLE
		idle++;
#endif
end_asleep:
		sleep()
	   fi
	od;
#ifndef QUIET_END
	send_wake();
#else
	senders--;
#endif
	kernel_count--
}

inline trim_stack(t)
{
	atomic { assert(!is_inside[t]); is_trimmed[t] = true }
	is_trimmed[t] = false
}

proctype trimmer(byte t)
{
	bool wakes, is_woken_now;

	if
#ifdef BLIND_TRIM
	:: wake[t] == WAITS -> trim_stack(t)
#else
	:: atomic { wake[t] == WAITS -> wake[t] = CLAIMED }
		trim_stack(t);
		atomic {
			if
#ifdef BLIND_RETURN
			:: true -> wake[t] = WAITS
#else
			:: wake[t] == CLAIMED -> wake[t] = WAITS
			:: else -> is_woken_now = true
#endif
			fi
		}
	:: atomic { socket[t] == ARMED -> socket[t] = CLAIMED }
		trim_stack(t);
		atomic {
			if
			:: socket[t] == CLAIMED -> socket[t] = ARMED
			:: else -> is_woken_now = true
			fi
		}
#endif
	:: thread_count == 0
	fi;
	if
	:: is_woken_now -> make_ready(t)
	:: else
	fi
}

proctype stopper()
{
	thread_count == 0;
	atomic { is_stopping = true; senders++ }
#ifndef QUIET_STOP
	send_wake();
#else
	senders--;
#endif
	kernel_count == 0;
#ifndef EARLY_CLOSE
	senders == 0;
#endif
	is_closed = true
}

init
{
	byte i;

	atomic {
		for (i : 0 .. THREADS - 1) {
			queued[i] = true; /* new threads */
			run partner(i);
			if
			:: TRIMS -> run trimmer(i)
			:: else
			fi
		}
		for (i : 1 .. KERNELS) {
			run kernel_thread()
		}
		run stopper()
	}
	/* True when no other process can move. */
	timeout;
	for (i : 0 .. THREADS - 1) {
		assert(has_ended[i] && round[i] == ROUNDS && !queued[i])
	}
	assert(kernel_count == 0 && is_closed)
}
