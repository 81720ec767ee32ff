/* SPDX-License-Identifier: MIT */
/*
 * Record: the results of a run, counted.
 *
 * Pure: no clock, no network.  Every time of a 2xx reply is kept as it was
 * measured, in nanoseconds (samples.h).
 *
 * Limits     40 bytes for each 2xx reply, 24 more with a calibration, and 8 for
 *            each request of an open loop (and up to twice that, as arrays
 *            double when they grow).
 */
#ifndef LOADGEN_RECORD_H
#define LOADGEN_RECORD_H

#include "loadgen/error.h"
#include "loadgen/intervals.h"
#include "loadgen/result.h"
#include "loadgen/samples.h"
#include "loadgen/size_class.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_STATUS_COUNT = 1000 }; /* three digits */

/* Of the 2xx replies of one class. */
struct record_class {
	struct samples response;
	struct samples slowdown;
};

struct record_error {
	const char *text;
	uint64_t count;
};

/* Zero one to begin. */
struct record {
	/* Of 2xx replies. */
	struct samples response;
	struct samples from_last_byte;
	struct samples from_first_byte;
	struct samples slowdown; /* no unit; of files that are calibrated */
	struct record_class by_size[SIZE_CLASS_COUNT];
	struct record_class by_megapixels[MEGAPIXEL_CLASS_COUNT]; /* of JPEGs */
	struct intervals intervals;
	double megapixels;

	/* Of an open loop. */
	struct samples lag;    /* of requests that found a connection free */
	uint64_t waited_count; /* of those that did not */

	uint64_t responses[RECORD_STATUS_COUNT]; /* by status, whole replies */
	uint64_t request_count;                  /* all of what is below */
	uint64_t ok_count;                       /* answered 2xx */
	uint64_t uploaded_bytes;                 /* of requests answered 2xx */
	uint64_t transport_error_count;          /* without a whole reply */
	struct record_error *errors;             /* the same, by text */
	size_t error_kinds;
};

/* Count one result.  False: out of memory, and nothing is counted. */
MUST_CHECK bool record_add(struct record *r, const struct result *result);

/* Make `r` empty.  An empty one is fine. */
void record_release(struct record *r);

#endif
