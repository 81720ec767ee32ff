/* SPDX-License-Identifier: MIT */
/*
 * Run: one measurement, from its first request to its last reply.
 *
 *	setup, options --> client --result--+--> record, verdicts   } outcome
 *	                                    +--> save
 *	                                    '--> progress
 *
 * Runs of one setup do not depend on each other: order, arrivals, client and
 * record are made anew, and no request is left when a run ends.  So a sweep is
 * several runs, each with options of its own.
 *
 * Threads    One.
 */
#ifndef LOADGEN_RUN_H
#define LOADGEN_RUN_H

#include "loadgen/error.h"
#include "loadgen/options.h"
#include "loadgen/record.h"
#include "loadgen/server_usage.h"
#include "loadgen/setup.h"
#include "loadgen/verdict.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What came of a run.  What else is to be told of one is a field here. */
struct outcome {
	struct record record;
	uint64_t makespan_ns;
	double client_cpu_s; /* user and system, of the run alone */
	uint64_t client_peak_memory_bytes; /* since this program started */
	struct server_usage server;
	struct verdict verified; /* with --verify */
	struct verdict golden;   /* with --golden */
	/* Requests that ended within --duration; 0 without it. */
	uint64_t in_time_count;
};

/*
 * Run once, until all is sent and answered or `*stop` is not 0, and fill the
 * empty `out`.  False: `error` says what broke the run off; `out` covers what
 * was done.
 */
MUST_CHECK bool run_once(const struct setup *setup, const struct options *o,
			 const volatile sig_atomic_t *stop, struct outcome *out,
			 struct error *error);

/* Make `out` empty.  An empty one is fine. */
void outcome_release(struct outcome *out);

#endif
