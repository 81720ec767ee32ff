/* SPDX-License-Identifier: MIT */
/*
 * Report: everything that is written about a run.
 *
 *	report_print()       the outcome, for people
 *	report_write_json()  the outcome, for scripts; keys: docs/loadgen.md
 *	csv_write_row()      a row for each request, when it ends (RFC 4180)
 *	percentiles_write()  response times in HdrHistogram's text format
 *
 * Rates count the requests answered 2xx, and the bytes and pixels of their
 * files, over the makespan: from the beginning of the run to the end of its
 * last request.
 *
 * A report warns if the client, not the server, may have limited the figures:
 *  - the client used over 90 % of the one core that it can use;
 *  - the lag of an open loop is over a tenth of the response time, at p50, p90
 *    or p99;
 *  - client and server are on one machine, and the client used over 5 % of the
 *    CPU time that the server used; if the server used less than 0.5 s, that
 *    figure is too inexact for a warning;
 *  - other programs and the hypervisor took over 5 % of the cores;
 *  - a program that forwards connections stands before the server, so that the
 *    server's CPU time is not known.
 *
 * Ownership  A report borrows the options and the outcome.
 */
#ifndef LOADGEN_REPORT_REPORT_H
#define LOADGEN_REPORT_REPORT_H

#include "loadgen/client/result.h"
#include "base/error.h"
#include "loadgen/options.h"
#include "loadgen/report/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The value of `schema` in the JSON of a run and of a sweep. */
#define REPORT_SCHEMA "darkroom-loadgen/1"

enum { WARNINGS_MAX = 5 };

/* What other programs and the hypervisor took of this machine's cores. */
enum disturbance {
	DISTURBANCE_NONE, /* little, or it is not known */
	DISTURBANCE_SOME, /* figures may be worse than without */
	DISTURBANCE_HIGH, /* more than --disturbed: there is no verdict */
};

struct report {
	const struct load_options *options;
	uint32_t file_count;
	struct outcome *outcome; /* writing a report reorders its samples */
	struct error warnings[WARNINGS_MAX];
	size_t warning_count;
	double disturbed_percent; /* NAN: not known */
	enum disturbance disturbance;
	size_t disturbance_at; /* its warning, unless there is none */
};

/* A run in which they took more than this is disturbed. */
double report_disturbed_from_percent(const struct load_options *o);

/* The report of a run over `file_count` files. */
struct report report_make(const struct load_options *o, uint32_t file_count,
			  struct outcome *outcome);

/* What `response time` means: it depends on the loop. */
const char *report_response_time(const struct load_options *o);

double report_makespan_s(const struct report *report);

/* CPU time of client and server together.  NAN: the server's is not known. */
double report_own_cpu_s(const struct report *report);

/*
 * Figures with units, in 80 columns.  A figure that is not known is "-".  That
 * the run was disturbed is said first, other warnings at the end.
 */
void report_print(FILE *out, const struct report *report);

/*
 * One JSON object.  A figure that is not known is null.  False: the object
 * could not be written.
 */
MUST_CHECK bool report_write_json(FILE *out, const struct report *report);

/*
 * CSV.  Times are in seconds from the beginning of the run.  A time that does
 * not exist is empty: the intended time in a closed loop, and the time of the
 * last byte sent if the server replied earlier.  Without a whole reply,
 * `status` is empty and `error` says why.  The caller checks for errors by
 * ferror().
 */
void csv_write_names(FILE *out);

/* `path` is the upload's. */
void csv_write_row(FILE *out, const struct result *r, const char *path);

/*
 * Write the distribution of `ns`, and reorder these samples.  The file has
 * milliseconds with three decimals.  HdrHistogram ends its files with a line
 * about its buckets; here it is left out, because there are no buckets.  False:
 * the file could not be written.
 */
MUST_CHECK bool percentiles_write(FILE *out, struct samples *ns);

#endif
