/* SPDX-License-Identifier: MIT */
/*
 * Objective: what a server must keep at a rate, as "p90 < 200 ms".
 *
 *	FIGURE < NUMBER ms|s [, errors < NUMBER %]
 *
 * A figure is one of figure_names (samples.h), of the response time.  Without
 * the second part no error is allowed.  Spaces may stand between all parts.
 *
 * A server that replies in time, but falls behind, would not stand the rate
 * for long: it must also have ended all requests when the time is over, but 2 %
 * and those that may be in flight (Little: rate times the figure's limit).
 *
 * Pure.
 */
#ifndef LOADGEN_OBJECTIVE_H
#define LOADGEN_OBJECTIVE_H

#include "loadgen/error.h"
#include "loadgen/samples.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct objective {
	enum figure figure;
	double below_ms;
	double errors_below; /* share of all requests; 0: none may fail */
};

/* What a run at one rate came to. */
struct trial {
	double rate_per_s;
	uint64_t request_count;
	uint64_t ok_count;      /* answered 2xx */
	uint64_t in_time_count; /* ended before the intended duration */
	const struct summary *response_ns; /* of 2xx; NULL: there is none */
};

/* The first thing that a trial missed. */
enum shortfall {
	SHORTFALL_NONE,
	SHORTFALL_ERRORS,
	SHORTFALL_BEHIND,
	SHORTFALL_SLOW,
};

/* False: `error` quotes what cannot be read, and `o` is untouched. */
MUST_CHECK bool objective_parse(struct objective *o, const char *text,
				struct error *error);

/* As it is parsed. */
void objective_print(FILE *out, const struct objective *o);

enum shortfall objective_judge(const struct objective *o,
			       const struct trial *t);

/* For tables: "kept", "errors" and so on. */
const char *shortfall_name(enum shortfall s);

#endif
