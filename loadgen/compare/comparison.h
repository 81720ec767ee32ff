/* SPDX-License-Identifier: MIT */
/*
 * Comparison: measures every arm of a plan, in turns.
 *
 * First closed loops, then (if the plan has one) open loops, whose rates are
 * shares of the first arm's median in the closed ones:
 *
 *	for each repetition: for each arm:
 *		start, warm up (one pass, checked), measure, stop
 *
 * The order of the arms is rotated by one in each repetition, so that none is
 * always first.  A repetition has the same seed for all arms.
 *
 * Each run of loadgen is a process of its own, so that runs share nothing and
 * the figures are those of the command line.
 *
 * In an open loop, an arm gets no higher rate after one at which it needed
 * three times as long as the requests took to arrive.
 *
 * results.json is written after every run.
 */
#ifndef LOADGEN_COMPARE_COMPARISON_H
#define LOADGEN_COMPARE_COMPARISON_H

#include "base/error.h"
#include "loadgen/compare/plan.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct comparison_config {
	const struct plan *plan; /* with a data set */
	const char *folder;      /* exists; gets results.json and logs/ */
	FILE *progress;          /* a line for each run */
	bool live;               /* progress is a terminal */
	const volatile sig_atomic_t *stop;
};

/*
 * Measure all arms.  True: done, or `*stop` became other than 0.  False: an arm
 * failed, and `error` says which and why.  Either way no process is left, and
 * `*results`, the caller's, has what was measured.
 */
MUST_CHECK bool comparison_run(const struct comparison_config *config,
			       cJSON **results, struct error *error);

#endif
