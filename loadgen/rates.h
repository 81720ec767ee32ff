/* SPDX-License-Identifier: MIT */
/*
 * Rates: the two kinds of sweep.  --step tries the rates of a list; --find-max
 * searches for the highest rate at which a server meets an objective.
 *
 * Steps are written FROM:TO:BY:SECONDS.  10:100:10:30 means 10, 20 .. 100
 * requests per second, for 30 s each.
 *
 * An objective is a limit on the response times of one run, such as
 * "p90 < 200 ms":
 *
 *	FIGURE < NUMBER ms|s [, errors < NUMBER %]
 *
 * FIGURE is a name in figure_names (samples.h).  Without the second part, a
 * single failed request misses the objective.  Spaces may stand between all
 * parts.
 *
 * A server also misses the objective if it falls behind: its queue grows, so it
 * could not keep the rate for long.  It has fallen behind if too many requests
 * are unanswered when the duration is over.  Allowed is the sum of two numbers:
 * 2 % of all requests; and the number in flight if each request takes as long
 * as the objective allows (by Little's law, the rate times this time).
 *
 * The search doubles the first rate until a run misses the objective.  If the
 * first run misses it, the search halves the rate until a run meets it.  Then
 * it bisects between the highest rate that met the objective and the lowest
 * that missed it, until they are within 2 %.  Each rate has two or three runs,
 * which vote.
 *
 * Pure.
 *
 * Units      Rates are requests per second, of an open loop.
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
	double to_per_s; /* no rate is higher */
	double by_per_s;
	double duration_s; /* of each step */
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
	/* Allowed share of failed requests; 0: none may fail. */
	double errors_below;
};

/* The results of a run at one rate. */
struct rate_trial {
	double rate_per_s; /* 0: a closed loop, which cannot fall behind */
	uint64_t request_count;
	uint64_t ok_count;      /* answered 2xx */
	uint64_t in_time_count; /* ended before the intended duration */
	/* Response times of 2xx; NULL: there are none. */
	const struct summary *response_ns;
};

/*
 * Why a run missed the objective.  If it has several reasons, the first in this
 * list counts.
 */
enum shortfall {
	SHORTFALL_NONE, /* it met the objective */
	SHORTFALL_ERRORS,
	SHORTFALL_BEHIND,
	SHORTFALL_FEW, /* too few replies for the percentile (samples.h) */
	SHORTFALL_SLOW,
};

/* False: `error` quotes what cannot be read, and `o` is untouched. */
MUST_CHECK bool objective_parse(struct objective *o, const char *text,
				struct error *error);

/* In the form that objective_parse() reads. */
void objective_print(FILE *out, const struct objective *o);

enum shortfall objective_judge(const struct objective *o,
			       const struct rate_trial *t);

/*
 * How long a run at this rate must last to have enough replies for the
 * percentile.  With random arrivals, one of 30,000 such runs has too few.
 */
double objective_least_s(const struct objective *o, double rate_per_s);

/* What the table of a search says: "kept", "errors", "slow" ... */
const char *shortfall_name(enum shortfall s);

/*
 * The runs of a search at one rate.  Two with the same result decide, so there
 * are two or three runs: a single one may be disturbed, or lucky.  All zero:
 * none yet.
 */
struct vote {
	int met, missed; /* the objective */
};

/* Does it take another run? */
bool vote_is_open(const struct vote *v);

/* Does the rate meet the objective?  The vote is not open. */
bool vote_result(const struct vote *v);

/* The caller sets the first two members, and the others to 0. */
struct search {
	double first_per_s;  /* the rate to begin with */
	double lowest_per_s; /* no lower rate is tried; more than 0 */
	double held_per_s;   /* highest that met the objective; 0: none yet */
	double failed_per_s; /* lowest that missed the objective; 0: none yet */
};

/* The rate to try next.  0: the search is over. */
double search_next(const struct search *s);

/*
 * Tell the search whether the run at the rate of search_next() met the
 * objective.
 */
void search_note(struct search *s, bool held);

#endif
