/* SPDX-License-Identifier: MIT */
/*
 * Results: what a comparison has measured, as one JSON object, the content of
 * results.json.
 *
 *	{ "schema": "darkroom-compare/1", "began": "2026-11-21T15:40:15Z",
 *	  "plan": as it was read, "dataset": "DIR", "repetitions": 5,
 *	  "machine": {cpu, cores, kernel, memory_bytes},
 *	  "commit": the state of the source, or null outside a Git tree,
 *	  "stopped": {repetition, why},       it is not complete
 *	  "runs": [
 *	    { "arm": "Cohort", "load": "warm-up", "closed" or "open",
 *	      "repetition": from 1,
 *	      "percent_of_capacity": 80,      of an open loop
 *	      "slice": from 1,                of a closed loop
 *	      "attempt": from 1,
 *	      "repeated": true,               it was disturbed and made again
 *	      "result": loadgen's JSON, as it is }, ... ] }
 *
 * "dataset" and "repetitions" are as used: options may override the plan's.
 */
#ifndef LOADGEN_COMPARE_RESULTS_H
#define LOADGEN_COMPARE_RESULTS_H

#include "base/error.h"
#include "base/json.h"
#include "loadgen/compare/plan.h"

#include <cjson/cJSON.h>

enum { RESULTS_BYTES_MAX = 256 << 20 };

enum load { LOAD_WARM_UP, LOAD_CLOSED, LOAD_OPEN };

struct results_run {
	const char *arm;
	enum load load;
	uint64_t repetition;
	double percent_of_capacity; /* of an open loop */
	uint64_t slice;             /* of a closed loop */
	uint64_t attempt;
	bool is_repeated;    /* the next attempt replaces it */
	const cJSON *result; /* loadgen's JSON; lent */
};

/* Results without a run.  The caller frees them with cJSON_Delete(). */
cJSON *results_new(const struct plan *plan);

/*
 * Add a run.  `result` is its JSON, which `results` owns from then on;
 * run->result is not read.
 */
void results_add(cJSON *results, const struct results_run *run, cJSON *result);

/* Why a comparison stopped, if no arm failed. */
#define RESULTS_INTERRUPTED "interrupted"

/*
 * Where and why the comparison stopped; it is said from the begin of each
 * repetition on, in case the program is killed.  NULL: it is complete.
 */
void results_set_stop(cJSON *results, uint64_t repetition, const char *why);

/*
 * Read an entry of "runs".  False: it is not an entry as results_add() makes
 * it.
 */
bool results_read_run(const cJSON *entry, struct results_run *run);

/* How many runs were measured; without those that warm a server up. */
size_t results_count_runs(const cJSON *results);

/*
 * What others took of the machine's cores, in %.  NAN: not known.
 */
double results_disturbed_percent(const cJSON *result);

/*
 * The arm's throughput in responses/s, of which the rates of the open loops are
 * shares: the median of its closed loops of the repetition, without those that
 * were made again or are left out.  If all were left out, it is the median of
 * these, and `all_left_out` is true.  NAN: there is no closed loop.
 */
double results_capacity_per_s(const cJSON *results, const struct plan *plan,
			      const char *arm, uint64_t repetition,
			      bool *all_left_out);

/*
 * Can the two be compared: are machine, data set, query and connections the
 * same?  What one of them does not know before its first run is left out.
 * False: `error` names what differs, and both values.
 */
MUST_CHECK bool results_are_alike(const cJSON *now, const cJSON *before,
				  struct error *error);

/* The number of requests of a run that were answered 2xx. */
double results_count_ok(const cJSON *result);

/* The number of requests of a run that were answered 503. */
double results_count_refused(const cJSON *result);

/* False: these are no results of our schema, or their plan is wrong. */
MUST_CHECK bool results_read_plan(const cJSON *results, struct plan *plan,
				  struct error *error);

#endif
