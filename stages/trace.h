/* SPDX-License-Identifier: MIT */
/*
 * Traces: the last visits of a worker, TRACE_VISITS less one, in a ring that it
 * alone writes.
 *
 * Nobody waits: the writer overwrites the oldest, and a reader that was too
 * slow is told how many it missed.
 *
 * Threads    trace_add(): the worker.  trace_read(): any, at once.
 */
#ifndef STAGES_TRACE_H
#define STAGES_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

enum { TRACE_VISITS = 8192 };

struct trace_visit {
	uint64_t start_ns, end_ns;
	uint32_t stage; /* its index in the group */
	uint32_t event_count;
};

/* All zero is empty. */
struct trace {
	_Atomic uint64_t next; /* number of the visit to come */
	struct {
		_Atomic uint64_t start_ns, end_ns;
		_Atomic uint64_t what; /* stage, and event count below it */
	} visits[TRACE_VISITS];
};

void trace_add(struct trace *t, const struct trace_visit *visit);

/*
 * Copy up to `count` visits, oldest first, beginning with number `*next`, and
 * move *next behind the last one.  Those that are overwritten already are left
 * out and added to *missed.  Returns how many were copied; it may be 0 though
 * there are more, if the writer overtook the reader: *next has moved then.
 */
uint32_t trace_read(const struct trace *t, uint64_t *next,
		    struct trace_visit *out, uint32_t count, uint64_t *missed);

#endif
