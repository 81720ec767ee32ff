/* SPDX-License-Identifier: MIT */
/*
 * Arrivals: when each request of an open loop is to be sent.
 *
 * Times depend on kind, rate and seed (or trace) alone, never on a reply, so a
 * run meets every server with the same requests at the same times.
 *
 * Pure: no clock, no files, no network.
 */
#ifndef LOADGEN_ARRIVALS_H
#define LOADGEN_ARRIVALS_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRIVALS_OVER UINT64_MAX

enum arrivals_kind {
	ARRIVALS_NONE,     /* a closed loop: replies say when */
	ARRIVALS_POISSON,  /* independent users: exponential gaps */
	ARRIVALS_CONSTANT, /* equal gaps, the first request at once */
	ARRIVALS_TRACE,    /* recorded times, once */
};

/* Recorded times, never before the last; the last of all is more than 0. */
struct trace {
	double *times_s;
	size_t count;
};

struct arrivals {
	enum arrivals_kind kind;
	double rate_per_s;
	double gaps; /* time gone by, in mean gaps */
	uint64_t random;

	const struct trace *trace; /* lent */
	size_t next;               /* of the trace */
};

/* `kind` is poisson or constant, and the rate is more than 0. */
void arrivals_init(struct arrivals *a, enum arrivals_kind kind,
		   double rate_per_s, uint64_t seed);

/* Replay `trace`, stretched so that its mean rate is this one. */
void arrivals_init_trace(struct arrivals *a, const struct trace *trace,
			 double rate_per_s);

/* Its requests over its last time. */
double trace_rate_per_s(const struct trace *trace);

/*
 * The next time, from the beginning of the run; never before the last.
 * ARRIVALS_OVER: the trace is over.  Poisson and constant have no end.
 */
uint64_t arrivals_next_ns(struct arrivals *a);

/* As on the command line.  NULL for ARRIVALS_NONE. */
const char *arrivals_name(enum arrivals_kind kind);

/* False: no such name, and `kind` is untouched. */
MUST_CHECK bool arrivals_find(const char *name, enum arrivals_kind *kind);

#endif
