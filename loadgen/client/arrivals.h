/* SPDX-License-Identifier: MIT */
/*
 * Arrivals: when each request of an open loop is to be sent.
 *
 * The times depend only on the kind, the rate and the seed (or the trace), and
 * never on a reply.  So every server gets the same requests at the same times.
 *
 * Pure, except for trace_read().
 */
#ifndef LOADGEN_CLIENT_ARRIVALS_H
#define LOADGEN_CLIENT_ARRIVALS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRIVALS_OVER UINT64_MAX

enum arrivals_kind {
	/* A closed loop: a request is sent when a reply has come. */
	ARRIVALS_NONE,
	ARRIVALS_POISSON,  /* independent users: exponential gaps */
	ARRIVALS_CONSTANT, /* equal gaps, the first request at once */
	ARRIVALS_TRACE,    /* recorded times, replayed once */
};

/* Recorded times, in ascending order; the last is more than 0. */
struct trace {
	double *times_s;
	size_t count;
};

struct arrivals {
	enum arrivals_kind kind;
	double rate_per_s;
	/* Time of the latest (Poisson) or next (constant) request. */
	double gaps; /* in mean gaps */
	uint64_t random;

	const struct trace *trace; /* lent */
	size_t next;               /* index into the trace */
};

/*
 * Fill the empty `t` from a file with one time per line, in seconds since the
 * beginning.  A time must not be smaller than that of the line above.  lines.h
 * says what else the file may contain.  False: `error` names file and line; `t`
 * is empty.
 */
MUST_CHECK bool trace_read(struct trace *t, const char *path,
			   struct error *error);

/* Make `t` empty.  An empty one is fine. */
void trace_release(struct trace *t);

/* The mean rate: the number of requests divided by the last time. */
double trace_rate_per_s(const struct trace *trace);

/* `kind` is poisson or constant, and the rate is more than 0. */
void arrivals_init(struct arrivals *a, enum arrivals_kind kind,
		   double rate_per_s, uint64_t seed);

/* Replay `trace`, stretched so that its mean rate becomes the given rate. */
void arrivals_init_trace(struct arrivals *a, const struct trace *trace,
			 double rate_per_s);

/*
 * The next time, counted from the beginning of the run; times never decrease.
 * ARRIVALS_OVER: the trace has ended.  Poisson and constant arrivals never end.
 */
uint64_t arrivals_next_ns(struct arrivals *a);

/* The name on the command line.  NULL for ARRIVALS_NONE. */
const char *arrivals_name(enum arrivals_kind kind);

/* False: no such name, and `kind` is untouched. */
MUST_CHECK bool arrivals_find(const char *name, enum arrivals_kind *kind);

#endif
