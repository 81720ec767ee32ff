/* SPDX-License-Identifier: MIT */
/*
 * Traces: the last spans of a worker, TRACE_SPANS less one, in a ring that it
 * alone writes: its visits, the events it handled in them, and its sleeps.
 *
 * A span is added when it ends, so the events of a visit come before it: a
 * visit of n events is that of the last n before it which are of no other.
 * Visits that interrupt another come between its events, whole.
 *
 * Nobody waits: the writer overwrites the oldest, and a reader that was too
 * slow is told how many it missed.
 *
 * Threads    trace_add(): the worker.  trace_read(): any, at once.
 * Limits     512 KiB for each worker: some 8,000 visits of one event each, or
 *            16,000 events in long ones.
 */
#ifndef STAGES_TRACE_H
#define STAGES_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

enum { TRACE_SPANS = 16384 };

enum span_kind { SPAN_VISIT, SPAN_EVENT, SPAN_SLEEP };

struct span {
	uint64_t start_ns, end_ns;
	uint64_t number; /* of a visit: events handled; of one: event.number */
	uint32_t stage;  /* its index in the group; not of a sleep */
	enum span_kind kind;
};

/* All zero is empty. */
struct trace {
	_Atomic uint64_t next; /* how many were added */
	struct {
		_Atomic uint64_t start_ns, end_ns;
		_Atomic uint64_t number;
		_Atomic uint64_t what; /* stage, and kind below it */
	} spans[TRACE_SPANS];
};

void trace_add(struct trace *t, const struct span *span);

/*
 * Copy up to `count` spans, oldest first, beginning with the one that was added
 * after *next others, and move *next behind the last one.  Those that are
 * overwritten already are left out and added to *missed.  Returns how many were
 * copied; it may be 0 though there are more, if the writer overtook the reader:
 * *next has moved then.
 */
uint32_t trace_read(const struct trace *t, uint64_t *next, struct span *out,
		    uint32_t count, uint64_t *missed);

#endif
