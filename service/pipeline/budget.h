/* SPDX-License-Identifier: MIT */
/*
 * Budget: whether memory allows one more upload, and when to try again if not.
 *
 * struct budget           memory that uploads take together.  It counts; it
 *                         allocates nothing.  Each upload has a charge, which
 *                         is raised before memory is allocated and lowered
 *                         after it is freed.
 * struct memory_estimate  memory that an upload will take, estimated from the
 *                         length of its body and from recent uploads.
 * struct departures       how fast uploads leave, which gives Retry-After.
 *
 * Threads    Any number at the same time, without a lock.  A charge belongs to
 *            the owner of its upload.  Two updates of an estimate at the same
 *            time may count as one; one or two departures may be lost when a
 *            slot begins.
 * Units      now_ns: CLOCK_MONOTONIC.
 */
#ifndef SERVICE_BUDGET_H
#define SERVICE_BUDGET_H

#include "base/util.h"

#include <stdatomic.h>
#include <stdint.h>

struct budget {
	uint64_t limit_bytes;
	_Atomic uint64_t used_bytes; /* never more than the limit */
	_Atomic uint64_t peak_bytes; /* the highest used_bytes */
	_Atomic uint64_t refused_count;
};

/* {0} is a charge of 0 bytes. */
struct charge {
	struct budget *budget;
	uint64_t bytes;
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
};

void budget_init(struct budget *b, uint64_t limit_bytes);

/*
 * Change `c` to a charge of `bytes`.  If the result is not BUDGET_OK, `c` is
 * unchanged.
 */
MUST_CHECK enum budget_answer budget_charge(struct charge *c, uint64_t bytes);

/* Lower `c` to a charge of at most `bytes`. */
void budget_lower(struct charge *c, uint64_t bytes);

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

/* The estimated memory of the picture in a body of `body_bytes`. */
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
