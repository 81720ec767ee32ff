/* SPDX-License-Identifier: MIT */
/*
 * Comparison: every arm of a plan is measured, in turns.
 *
 * First closed loops, then (if the plan has one) open loops, whose rates are
 * shares of the first arm's median in the closed ones:
 *
 *	for each repetition: for each arm:
 *		start, warm up (one pass, checked), measure, stop
 *
 * The arms' order is rotated by one in each repetition, so that none is always
 * first.  A repetition's seed is the same for all arms.
 *
 * In an open loop an arm is given no higher rate, once a rate has taken it
 * three times the time in which its requests came.
 *
 * results.json is written anew after every run.
 */
#ifndef LOADGEN_COMPARE_COMPARISON_H
#define LOADGEN_COMPARE_COMPARISON_H

#include "loadgen/compare/plan.h"
#include "loadgen/error.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct comparison_config {
	const struct plan *plan; /* with a data set */
	const char *folder;      /* exists; gets results.json and logs/ */
	FILE *progress;          /* what is being done; a line for each run */
	bool live;               /* progress is a terminal */
	const volatile sig_atomic_t *stop;
};

/*
 * Measure all.  True: done, or `*stop` became other than 0.  False: an arm
 * failed, and `error` says which and why.  No process is left, and what was
 * measured is in `*results`, the caller's.
 */
MUST_CHECK bool comparison_run(const struct comparison_config *config,
			       cJSON **results, struct error *error);

#endif
