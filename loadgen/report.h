/* SPDX-License-Identifier: MIT */
/*
 * Report: what a run came to, for people and for scripts.
 *
 * Rates count requests answered 2xx, and the bytes and pixels of their files,
 * over the makespan: from the beginning of the run to the end of its last
 * request.
 *
 * It warns when the client, not the server, may have made the figures:
 *  - it used over 90 % of the one core that it can use;
 *  - the lag of an open loop is over a tenth of the response time, at p50, p90
 *    or p99;
 *  - it used over 5 % of the CPU time that the server used, on one machine;
 *    but not of less than 0.5 s, which is known too roughly.
 *
 * Ownership  A report is lent all that it tells of.
 */
#ifndef LOADGEN_REPORT_H
#define LOADGEN_REPORT_H

#include "loadgen/error.h"
#include "loadgen/options.h"
#include "loadgen/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_SCHEMA "darkroom-loadgen/1" /* of the JSON, and of a sweep's */

enum { WARNINGS_MAX = 3 };

struct report {
	const struct options *options;
	uint32_t files;
	struct outcome *outcome; /* its samples are reordered */
	struct error warnings[WARNINGS_MAX];
	size_t warning_count;
};

/* Of one of the runs of `setup`. */
struct report report_make(const struct options *o, const struct setup *setup,
			  struct outcome *outcome);

double report_makespan_s(const struct report *report);

/* CPU time of the client by that of the server; 0: the server is not known. */
double report_client_share(const struct report *report);

/* With units, in 80 columns; "-" where there is nothing to say. */
void report_print(FILE *out, const struct report *report);

/* One JSON object; null where there is nothing to say.  False: not written. */
MUST_CHECK bool report_write_json(FILE *out, const struct report *report);

#endif
