/* SPDX-License-Identifier: MIT */
/*
 * Sweep: open-loop runs of one setup, one after another, at several rates.
 *
 * Either at the rates of --step, or at those that the search for --find-max
 * asks for.  No run begins before all replies of the one before are in, so no
 * backlog is handed on.
 *
 * JSON: {"schema", "steps": [a run's object each]}, and of a search
 * "objective" and "max_rate_per_s", which is null if no rate kept it.
 */
#ifndef LOADGEN_SWEEP_H
#define LOADGEN_SWEEP_H

#include "loadgen/error.h"
#include "loadgen/options.h"
#include "loadgen/setup.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct sweep_config {
	const struct setup *setup;
	const struct options *options;
	const volatile sig_atomic_t *stop;
	FILE *table; /* a row for each run, as soon as it has ended */
	FILE *json;  /* NULL: none; who opened it looks for its errors */
};

/*
 * Run until done or `*stop` is not 0; the run that was stopped is left out.
 * False: `error` says why it is not as it should be: broken off, some request
 * of --step not answered 2xx, or no rate that keeps the objective.
 */
MUST_CHECK bool sweep_run(const struct sweep_config *config,
			  struct error *error);

#endif
