/* SPDX-License-Identifier: MIT */
/*
 * Record: counts of the results of a run.  Outcome: the record, and the CPU
 * time and memory that client and server used.
 *
 * Pure: no clock, no network.  Every response time of a 2xx reply is kept as it
 * was measured, in nanoseconds (samples.h).
 *
 * Limits     40 bytes for each 2xx reply, 24 more with a calibration, and 8 for
 *            each request of an open loop.  Arrays double when they grow, so it
 *            can be twice as much.
 */
#ifndef LOADGEN_REPORT_RECORD_H
#define LOADGEN_REPORT_RECORD_H

#include "loadgen/client/result.h"
#include "base/error.h"
#include "base/machine_usage.h"
#include "loadgen/report/samples.h"
#include "loadgen/report/server_usage.h"
#include "loadgen/report/verify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RECORD_STATUS_COUNT = 1000, /* three digits */
	CLASS_COUNT = 4,            /* classes of each kind */
	INTERVAL_S = 5, /* as in the plots of UCAM-CL-TR-781, section 4.3 */
};

/*
 * Uploads are put into classes by the size of their file and by the megapixels
 * of their image, to show how large uploads delay small ones.
 */
enum class_kind { CLASSES_BY_BYTES, CLASSES_BY_MEGAPIXELS, CLASS_KINDS };

struct class_bound {
	const char *name; /* with its unit; K and M are 10^3 and 10^6 */
	double below;     /* INFINITY: the last class */
};

/* The smallest first. */
extern const struct class_bound class_bounds[CLASS_KINDS][CLASS_COUNT];

/* The class of an upload of `amount` bytes or megapixels: an index. */
unsigned class_of(enum class_kind kind, double amount);

/* Figures of the 2xx replies to one class of uploads. */
struct record_class {
	struct samples response;
	struct samples slowdown;
};

struct record_error {
	const char *text;
	uint64_t count;
};

/*
 * Bytes answered 2xx in each INTERVAL_S of the run.  A reply counts in the
 * interval in which it ends.
 */
struct intervals {
	uint64_t *bytes; /* owned */
	size_t count;    /* intervals up to the last one that has bytes */
};

/* All zero: empty. */
struct record {
	/* Of 2xx replies. */
	struct samples response;
	struct samples from_last_byte;
	struct samples from_first_byte;
	/* A ratio; only of files whose time without load was measured. */
	struct samples slowdown;
	/* By megapixels: only uploads whose size could be read. */
	struct record_class classes[CLASS_KINDS][CLASS_COUNT];
	struct intervals intervals;
	double megapixels;

	/* Of an open loop. */
	struct samples lag;    /* of requests that found a connection free */
	uint64_t waited_count; /* requests that found no connection free */

	uint64_t responses[RECORD_STATUS_COUNT]; /* whole replies, by status */
	/* all that have ended */
	uint64_t request_count;
	uint64_t ok_count;              /* answered 2xx */
	uint64_t uploaded_bytes;        /* of requests answered 2xx */
	uint64_t transport_error_count; /* without a whole reply */
	struct record_error *errors;    /* transport errors, by text */
	size_t error_kinds;
};

/* Count one result.  False: out of memory, and nothing is counted. */
MUST_CHECK bool record_add(struct record *r, const struct result *result);

/*
 * The mean response time, in ns, of the replies that came first, and of those
 * that came last: of each half.  NAN: there are less than two.  The samples
 * must not have been reordered.
 */
void record_halves(const struct record *r, double mean_ns[2]);

/* Make `r` empty.  An empty one is fine. */
void record_release(struct record *r);

struct interval {
	double end_s;
	double bytes_per_s; /* over the part of the interval within the run */
	/* From the beginning of the run to end_s. */
	double cumulative_bytes_per_s;
};

/* The number of intervals in a run of `makespan_ns`. */
size_t intervals_count(uint64_t makespan_ns);

/*
 * Interval `i` of a run of `makespan_ns`.  The last interval ends with the run.
 */
struct interval intervals_get(const struct intervals *v, uint64_t makespan_ns,
			      size_t i);

/* The outcome of a run. */
struct outcome {
	struct record record;
	uint64_t makespan_ns;
	double client_cpu_s; /* user and system, of the run alone */
	uint64_t client_peak_memory_bytes; /* since this program started */
	double half_means_ns[2];           /* record_halves() */
	struct server_usage server;
	double counted; /* by --server-counter; NAN: not known */
	struct machine_usage machine;
	struct reply_checks verified; /* with --verify */
	struct reply_checks golden;   /* with --golden */
	struct error first_failed;    /* "file: reason"; empty: all were 2xx */
	/* Requests that ended within --duration; 0 without it. */
	uint64_t in_time_count;
};

/* Make `out` empty.  An empty one is fine. */
void outcome_release(struct outcome *out);

#endif
