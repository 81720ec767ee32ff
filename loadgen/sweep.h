/* SPDX-License-Identifier: MIT */
/*
 * Sweep: open-loop runs of one setup, one after another, at several rates.
 *
 * The rates are those of --step, or those that the search of --find-max tries.
 * A run begins when all replies of the one before have come, so it starts
 * without a backlog.
 *
 * JSON: {"schema", "steps": [the object of each run]}.  A search also has
 * "objective", and "max_rate_per_s", which is null if no rate met the objective
 * or the search was broken off.
 */
#ifndef LOADGEN_SWEEP_H
#define LOADGEN_SWEEP_H

#include "base/error.h"
#include "loadgen/options.h"
#include "loadgen/run.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct sweep_config {
	const struct setup *setup;
	const struct load_options *options;
	const volatile sig_atomic_t *stop;
	FILE *table; /* gets a row as soon as a run has ended */
	FILE *json;  /* NULL: none; the caller checks it for errors */
};

/*
 * Make all runs, until `*stop` is not 0.  The run that this breaks off is left
 * out of the results.  False: `error` gives the reason: a run was broken off, a
 * request of --step was not answered 2xx, or no rate met the objective.
 */
MUST_CHECK bool sweep_run(const struct sweep_config *config,
			  struct error *error);

#endif
