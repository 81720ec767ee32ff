/* SPDX-License-Identifier: MIT */
/*
 * Rates: which rates a sweep tries, and whether a server keeps up with one.
 *
 * Steps are the rates of --step, FROM:TO:BY:SECONDS, such as 10:100:10:30 for
 * 30 s each at 10, 20 .. 100 requests per second.
 *
 * An objective is the goal of --find-max, such as "p90 < 200 ms":
 *
 *	FIGURE < NUMBER ms|s [, errors < NUMBER %]
 *
 * FIGURE is one of figure_names (samples.h), of the response time.  Without the
 * second part no error is allowed.  Spaces are allowed between all parts.
 * A server that replies in time but falls behind could not keep the rate for
 * long.  So when the time is over, all requests must have ended, except for 2 %
 * and for those that may be in flight (Little: the rate times the limit of the
 * figure).
 *
 * A search finds the highest rate that keeps an objective.  It doubles a first
 * rate until one fails (or halves it until one holds), and then bisects between
 * the highest that held and the lowest that failed until they are within 2 %.
 *
 * Pure.
 *
 * Limits     Rates up to 1,000,000.
 */
#ifndef LOADGEN_RATES_H
#define LOADGEN_RATES_H

#include "base/error.h"
#include "loadgen/report/samples.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { STEPS_MAX = 1000 };

struct steps {
	double from_per_s;
	double to_per_s; /* the last rate if a step ends on it */
	double by_per_s;
	double duration_s; /* of each */
};

/* False: `error` quotes what is wrong, and `s` is untouched. */
MUST_CHECK bool steps_parse(struct steps *s, const char *text,
			    struct error *error);

/* From 1 to STEPS_MAX. */
int steps_count(const struct steps *s);

double steps_rate_per_s(const struct steps *s, int i);

struct objective {
	enum figure figure;
	double below_ms;
	double errors_below; /* share of all requests; 0: none may fail */
};

/* A run at one rate. */
struct rate_trial {
	double rate_per_s;
	uint64_t request_count;
	uint64_t ok_count;      /* answered 2xx */
	uint64_t in_time_count; /* ended before the intended duration */
	const struct summary *response_ns; /* of 2xx; NULL: there is none */
};

/* The first part of the objective that a trial missed. */
enum shortfall {
	SHORTFALL_NONE,
	SHORTFALL_ERRORS,
	SHORTFALL_BEHIND,
	SHORTFALL_SLOW,
};

/* False: `error` quotes what cannot be read, and `o` is untouched. */
MUST_CHECK bool objective_parse(struct objective *o, const char *text,
				struct error *error);

/* In the form that objective_parse() reads. */
void objective_print(FILE *out, const struct objective *o);

enum shortfall objective_judge(const struct objective *o,
			       const struct rate_trial *t);

/* For tables: "kept", "errors" and so on. */
const char *shortfall_name(enum shortfall s);

/* Begin with what is not known yet as 0. */
struct search {
	double first_per_s;
	double lowest_per_s; /* to halve down to; more than 0 */
	double held_per_s;   /* the highest; 0: none yet */
	double failed_per_s; /* the lowest; 0: none yet */
};

/* The rate to try next.  0: the search is over. */
double search_next(const struct search *s);

/* Note whether the rate that search_next() gave held. */
void search_note(struct search *s, bool held);

#endif
