/* SPDX-License-Identifier: MIT */
/*
 * Metrics in Prometheus' text format 0.0.4: a head for each name, and below it
 * one sample for each set of labels.
 *
 * Labels are written as in the format, such as  stage="decode"; "" are none.
 */
#ifndef SERVICE_METRIC_H
#define SERVICE_METRIC_H

#include "stages/histogram.h"

#include <stddef.h>
#include <stdio.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

enum metric_unit {
	METRIC_ONE,
	METRIC_SECONDS, /* values are given in nanoseconds */
};

struct metric {
	const char *name;
	enum metric_type type;
	enum metric_unit unit;
	const char *help; /* a sentence; no backslash, no line's end */
};

void metric_head(FILE *to, const struct metric *m);
void metric_sample(FILE *to, const struct metric *m, const char *labels,
		   uint64_t value);

/* A metric, and the place of its value in a struct: uint32_t or uint64_t. */
struct metric_field {
	struct metric metric;
	size_t offset, bytes;
};

#define METRIC_FIELD(type, member)                                             \
	offsetof(type, member), sizeof(((type *)0)->member)

uint64_t metric_value(const struct metric_field *field, const void *from);

/* Both, of a metric that has but one sample. */
void metric_single(FILE *to, const struct metric *m, uint64_t value);

/* As many as there are fields, of the struct `from`. */
void metric_singles(FILE *to, const struct metric_field *fields, size_t count,
		    const void *from);

/*
 * A sample of a METRIC_HISTOGRAM.  Its buckets end at 2^k - 1, where those of
 * `h` end, too, so that none of their counts is a guess: at 1, 3 ... 1023, or
 * from 131 us to 69 s.
 */
void metric_histogram(FILE *to, const struct metric *m, const char *labels,
		      const struct histogram_copy *h, uint64_t sum);

#endif
