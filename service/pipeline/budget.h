/* SPDX-License-Identifier: MIT */
/*
 * Budget: whether there is room for one more upload, and when to try again if
 * not.
 *
 * struct budget           memory and slots of the pipeline that uploads take
 *                         together.  It counts; it allocates nothing.  Each
 *                         upload has a charge, which is raised before memory
 *                         is allocated and lowered after it is freed.
 * struct memory_estimate  memory that an upload will take, estimated from the
 *                         length of its body and from recent uploads.
 * struct departures       how fast uploads leave, which gives Retry-After.
 *
 * Waiting    Instead of being refused, the owner of a charge may wait until it
 *            fits, and until there is a slot: budget_wait().  Uploads inside,
 *            which hold memory already and end only if they get more, are
 *            served before those that hold none; each of the two lines is
 *            first come, first served.
 *
 * Threads    Any number at the same time; without a lock as long as nobody
 *            waits.  A charge belongs to the owner of its upload.  Two updates
 *            of an estimate at the same time may count as one; one or two
 *            departures may be lost when a time slot of theirs begins.
 * Units      now_ns: CLOCK_MONOTONIC.
 */
#ifndef SERVICE_BUDGET_H
#define SERVICE_BUDGET_H

#include "base/util.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* The line in which an upload waits for memory. */
enum budget_line {
	BUDGET_INSIDE,  /* it is complete, and was estimated too low */
	BUDGET_OUTSIDE, /* its body has not been read, and it holds nothing */
	BUDGET_LINES
};

TAILQ_HEAD(budget_waiters, budget_waiter);

struct budget {
	uint64_t limit_bytes;
	uint32_t slots_max;
	_Atomic uint64_t used_bytes; /* never more than the limit */
	_Atomic uint64_t peak_bytes; /* the highest used_bytes */
	_Atomic uint64_t refused_count;
	_Atomic uint32_t used_slots; /* never more than slots_max */

	/* Waiting; private to budget.c. */
	_Atomic uint32_t waiting_count; /* in all lines */
	_Atomic uint64_t wait_count, broken_wait_count, waited_ns;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t sooner;
	struct budget_waiters lines[BUDGET_LINES];
	bool is_ended[BUDGET_LINES]; /* by budget_end_waits() */
	uint64_t held_bytes;         /* charges of all that wait */
	uint64_t wake_ns;            /* when the watch looks at them */
	uint64_t look_ns;            /* when it asks is_over() again */
	pthread_t watch;             /* the thread that ends waits in time */
	bool has_watch, stopping;
};

/* {0} is a charge of 0 bytes, without a slot. */
struct charge {
	struct budget *budget;
	uint64_t bytes;
	bool has_slot;
};

enum budget_answer {
	BUDGET_OK,
	BUDGET_FULL,  /* it does not fit now */
	BUDGET_NEVER, /* more than the limit */
};

/* `peak_bytes` may be updated a moment after `used_bytes`. */
struct budget_stats {
	uint64_t limit_bytes;
	uint64_t used_bytes;
	uint64_t peak_bytes;
	uint64_t refused_count;
	uint32_t waiting_count; /* now */
	/* Since the start: waits, their time, and those that were broken. */
	uint64_t wait_count, waited_ns, broken_wait_count;
};

void budget_init(struct budget *b, uint64_t limit_bytes, uint32_t slots_max);

/*
 * Start the thread that ends waits in time.  Without it, budget_wait() must not
 * be called.  False: no thread.
 */
MUST_CHECK bool budget_start_waiting(struct budget *b);

/* Nobody waits any more. */
void budget_release(struct budget *b);

/*
 * Change `c` to a charge of `bytes`.  If the result is not BUDGET_OK, `c` is
 * unchanged.
 */
MUST_CHECK enum budget_answer budget_charge(struct charge *c, uint64_t bytes);

/*
 * As budget_charge(), but only if nobody waits for memory; and if it does not
 * fit, that does not count as refused.
 */
bool budget_try(struct charge *c, uint64_t bytes);

/*
 * Lower `c` to a charge of at most `bytes`.  This may call done() of those that
 * wait.
 */
void budget_lower(struct charge *c, uint64_t bytes);

/* Is there a free slot now? */
bool budget_has_slot(const struct budget *b);

/* False: there is none.  True: `c` has a slot, perhaps since before. */
MUST_CHECK bool budget_take_slot(struct charge *c);

/* `c` may have none.  This may call done() of those that wait. */
void budget_give_slot(struct charge *c);

/* An upload that waits.  Zero it, then fill the first part. */
struct budget_waiter {
	enum budget_line line;
	struct charge *charge; /* not used by others until done() */
	uint64_t bytes;        /* the charge to wait for: at most the limit */
	bool wants_slot;       /* it waits for a slot, too */
	/* Until then the charge is lowered to this: what is in use already. */
	uint64_t held_bytes;
	uint64_t until_ns; /* of CLOCK_MONOTONIC; 0: without a limit */
	/* Asked several times a second: is the memory not needed any more? */
	bool (*is_over)(const struct budget_waiter *w);
	/*
	 * Called once, by any thread, under the budget's lock; `w` may be freed
	 * or used again from then on.  It must not use the budget.
	 */
	void (*done)(struct budget_waiter *w);

	/*
	 * Valid from done() on.  BUDGET_OK: `charge` is a charge of `bytes`,
	 * with a slot if it wants one.
	 * BUDGET_FULL: the wait has ended without it, because of its time,
	 * is_over() or budget_end_waits(), or because it was broken.
	 */
	enum budget_answer answer;

	/* Private to budget.c. */
	uint64_t since_ns;
	TAILQ_ENTRY(budget_waiter) link;
};

/*
 * Wait for memory.  True: it is over already; `answer` is valid, and done() is
 * not called.  False: done() will be called, perhaps before this returns.
 *
 * If nobody holds memory except those that wait, none of them would ever end.
 * Then the one that holds the most is served first; if even that does not fit,
 * the wait of the newest is broken: it ends with BUDGET_FULL and counts as
 * refused.
 */
MUST_CHECK bool budget_wait(struct budget_waiter *w);

/*
 * From now on nobody waits in this line: all that do end with BUDGET_FULL, as
 * later ones do at once.
 */
void budget_end_waits(struct budget *b, enum budget_line line);

void budget_read(const struct budget *b, struct budget_stats *out);

/*
 * Moving means.  One upload, however large, changes an estimate by little more
 * than half.
 */
struct memory_estimate {
	_Atomic uint64_t body_bytes_mean;
	_Atomic uint64_t picture_bytes_mean;
};

void memory_estimate_init(struct memory_estimate *m);

/* An upload with a body of `body_bytes` took `picture_bytes` in addition. */
void memory_estimate_learn(struct memory_estimate *m, uint64_t body_bytes,
			   uint64_t picture_bytes);

/* The bytes of a body, in the mean. */
uint64_t memory_estimate_body(const struct memory_estimate *m);

/*
 * The estimated memory of the picture in a body of `body_bytes`: at most four
 * times the mean, so that small bodies with large results cannot make the
 * estimate of an ordinary one fill the budget.
 */
uint64_t memory_estimate_bytes(const struct memory_estimate *m,
			       uint64_t body_bytes);

enum { DEPARTURE_SLOTS = 64 };

/*
 * Uploads that left, counted in a ring of short time slots over the last eight
 * seconds.  Only time with uploads inside counts, so that an idle server does
 * not look slow.  {0}: no upload has come or left.
 */
struct departures {
	_Atomic uint64_t busy_since_ns;
	_Atomic uint64_t slots[DEPARTURE_SLOTS]; /* slot number and count */
	_Atomic uint32_t answer_count; /* calls of departures_retry_after_s() */
};

/* Call it when the first upload after an idle time comes in. */
void departures_begin(struct departures *d, uint64_t now_ns);

/* Call it when an upload leaves. */
void departures_count(struct departures *d, uint64_t now_ns);

/*
 * For Retry-After: the time that `inside_count` uploads need to leave at the
 * recent rate, in whole seconds, 1 .. 30; it grows as long as none leaves.
 * Each call adds a different part, from nothing up to the same time again, so
 * that clients that are refused together do not return together.
 */
uint32_t departures_retry_after_s(struct departures *d, uint32_t inside_count,
				  uint64_t now_ns);

#endif
