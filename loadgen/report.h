/* SPDX-License-Identifier: MIT */
/*
 * Report: what a run came to, for people and for scripts.
 *
 * Rates count requests answered 2xx and the bytes of their bodies, over the
 * makespan: from the beginning of the run to the end of its last request.
 *
 * It warns when the client, not the server, may have made the times: when it
 * used over 90 % of the one core that it can use, or when the lag of an open
 * loop is over a tenth of the response time, at p50, p90 or p99.
 */
#ifndef LOADGEN_REPORT_H
#define LOADGEN_REPORT_H

#include "loadgen/error.h"
#include "loadgen/options.h"
#include "loadgen/record.h"
#include "loadgen/run.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct report {
	const struct options *options;
	uint32_t files;
	struct record *record; /* its samples are reordered */
	uint64_t makespan_ns;
	double client_cpu_s; /* user and system, of the run alone */
};

/* Of `o`, which is lent as the rest is. */
struct report report_make(const struct options *o, const struct setup *setup,
			  struct outcome *outcome);

/* The first that applies.  NULL: none does. */
const char *report_warning(const struct report *report);

/* With units; "-" where there is nothing to say. */
void report_print(FILE *out, const struct report *report);

/* One JSON object; null where there is nothing to say.  False: not written. */
MUST_CHECK bool report_write_json(FILE *out, const struct report *report);

#endif
