/* SPDX-License-Identifier: MIT */
/*
 * Promela model of a ring queue with several producers and consumers:
 * queue_push() in queue.c, which uses ck_ring_enqueue_reserve_mpmc and
 * ck_ring_enqueue_commit_mpmc, and ck_ring_dequeue_mpmc.
 *
 * Each of the PRODUCERS pushes EVENTS events, one after the other; if the ring
 * refuses an event, it continues with the next.  The CONSUMERS pop for ever.  A
 * producer may lose its core between reserve and commit: then the producers
 * after it wait for their turn, and consumers find the ring empty.
 *
 * Checked: each accepted event is popped once, and no other is; each consumer
 * gets the events of one producer in their order; no producer waits for ever;
 * and in every final state the ring is empty.
 *
 * A step is one load, store or exchange of the code.  Memory is sequentially
 * consistent, as on x86-64.  For other machines ck_ring.h has fences, which
 * nobody has examined here.
 *
 * Mistakes that Spin must find, used by test/test_models.sh:
 *	LATE_STORE	the turn is committed before the event is stored
 *	NO_TURN		a commit does not wait for the commits before it
 *	LATE_READ	a consumer reads the slot after it moved the head
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef EVENTS
#define EVENTS 2
#endif
#ifndef SIZE /* a power of 2; holds one less */
#define SIZE 2
#endif
#define MASK (SIZE - 1)
#define NUMBER(me, i) (me * EVENTS + i + 1) /* 0: no event */

byte slots[SIZE], p_head, p_tail, c_head;
byte accepted, popped_count;
bool is_accepted[PRODUCERS * EVENTS + 1], is_popped[PRODUCERS * EVENTS + 1];

proctype producer(byte me)
{
	byte i, mine, head, again;
	bool reserved;

	for (i : 0 .. EVENTS - 1) {
		mine = p_head;
		do
		:: head = c_head;
			if
			:: mine >= head && mine - head < MASK ->
				atomic {
					if
					:: p_head == mine ->
						p_head++;
						reserved = true
					:: else -> mine = p_head
					fi
				}
				if
				:: reserved -> break
				:: else
				fi
			:: else ->
				again = p_head;
				if
				:: again == mine -> break /* full */
				:: else -> mine = again
				fi
			fi
		od;
		if
		:: reserved ->
			is_accepted[NUMBER(me, i)] = true;
#ifndef LATE_STORE
			slots[mine & MASK] = NUMBER(me, i);
#endif
#ifndef NO_TURN
			p_tail == mine;
#endif
			p_tail = mine + 1;
#ifdef LATE_STORE
			slots[mine & MASK] = NUMBER(me, i);
#endif
			accepted++
		:: else
		fi;
		d_step { reserved = false; mine = 0; head = 0; again = 0 }
	}
}

proctype consumer()
{
	byte head, tail, event, k;
	byte last[PRODUCERS]; /* popped here, of each producer */
	bool moved;

end:	do
	:: c_head != p_tail -> /* looks again when there is something */
		head = c_head;
		do
		:: tail = p_tail;
			if
			:: head == tail -> break /* empty */
			:: else
			fi;
#ifndef LATE_READ
			event = slots[head & MASK];
#endif
			atomic {
				if
				:: c_head == head -> c_head++; moved = true
				:: else -> head = c_head
				fi
			}
			if
			:: moved -> break
			:: else
			fi
		od;
		if
		:: moved ->
#ifdef LATE_READ
			event = slots[head & MASK];
#endif
			d_step {
				assert(event != 0 && is_accepted[event]);
				assert(!is_popped[event]);
				is_popped[event] = true;
				k = (event - 1) / EVENTS;
				assert(event > last[k]);
				last[k] = event;
				popped_count++
			}
		:: else
		fi;
		d_step { moved = false; head = 0; tail = 0; event = 0; k = 0 }
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. CONSUMERS - 1) {
			run consumer()
		}
		for (i : 0 .. PRODUCERS - 1) {
			run producer(i)
		}
	}
	/* True when no other process can move. */
	timeout;
	assert(_nr_pr == 1 + CONSUMERS); /* no producer waits */
	assert(popped_count == accepted && p_head == p_tail && c_head == p_tail)
}
