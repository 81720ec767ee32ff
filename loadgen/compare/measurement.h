/* SPDX-License-Identifier: MIT */
/*
 * Measurement: one run of loadgen, as a child of this program.
 *
 * A process of its own for each run, so that runs share nothing, and what is
 * compared is what the command line measures.
 */
#ifndef LOADGEN_COMPARE_MEASUREMENT_H
#define LOADGEN_COMPARE_MEASUREMENT_H

#include "loadgen/error.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct measurement {
	const char *url;
	const char *dataset;
	uint64_t connections;
	uint64_t seed;
	double rate_per_s;  /* 0: a closed loop */
	uint64_t passes;    /* 0: as many as fit in duration_s */
	double duration_s;  /* 0: as long as the passes take */
	const char *verify; /* how to check replies; NULL: not at all */
	const char *csv;    /* gets a row for each request; NULL: nothing */
};

/*
 * Run it, with its JSON and its output in files of `folder`.  True: `result`
 * is its JSON, and the caller's.  False: there is none, or it was interrupted.
 */
MUST_CHECK bool measurement_run(const struct measurement *m, const char *folder,
				const volatile sig_atomic_t *stop,
				cJSON **result, struct error *error);

/*
 * Is every answer in `result` a right one?  False: `error` says how many are
 * not, and tells the first with its file, if the run's `csv` is not NULL.
 */
MUST_CHECK bool measurement_check(const cJSON *result, const char *csv,
				  struct error *error);

#endif
