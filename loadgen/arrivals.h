/* SPDX-License-Identifier: MIT */
/*
 * Arrivals: when each request of an open loop is to be sent.
 *
 * Times depend on kind, rate and seed alone, never on a reply, so a run meets
 * every server with the same requests at the same times.
 *
 * Pure: no clock, no network.
 */
#ifndef LOADGEN_ARRIVALS_H
#define LOADGEN_ARRIVALS_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stdint.h>

enum arrivals_kind {
	ARRIVALS_NONE,     /* a closed loop: replies say when */
	ARRIVALS_POISSON,  /* independent users: exponential gaps */
	ARRIVALS_CONSTANT, /* equal gaps, the first request at once */
};

struct arrivals {
	enum arrivals_kind kind;
	double rate_per_s;
	double gaps; /* time gone by, in mean gaps */
	uint64_t random;
};

/* `kind` is not ARRIVALS_NONE, and the rate is more than 0. */
void arrivals_init(struct arrivals *a, enum arrivals_kind kind,
		   double rate_per_s, uint64_t seed);

/* The next time, from the beginning of the run; never before the last. */
uint64_t arrivals_next_ns(struct arrivals *a);

/* As on the command line.  NULL for ARRIVALS_NONE. */
const char *arrivals_name(enum arrivals_kind kind);

/* False: no such name, and `kind` is untouched. */
MUST_CHECK bool arrivals_find(const char *name, enum arrivals_kind *kind);

#endif
