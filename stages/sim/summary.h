/* SPDX-License-Identifier: MIT */
/*
 * Summaries: response times of a run, all together and by size.
 *
 * Quantiles are nearest-rank: the least response time that a share of all do
 * not exceed.
 */
#ifndef STAGES_SIM_SUMMARY_H
#define STAGES_SIM_SUMMARY_H

#include "stages/sim/engine.h"

enum { SUMMARY_CLASSES_MAX = 16, SUMMARY_BATCHES = 20 };

struct summary {
	uint64_t count; /* 0: the rest is 0 too */
	double mean_ns;
	uint64_t p50_ns, p90_ns, p99_ns, max_ns;
};

struct size_classes {
	uint32_t bound_count;
	double bounds[SUMMARY_CLASSES_MAX - 1]; /* ascending; sizes are less */
};

/* The classes between the 50th, 90th and 99th percentile of the sizes. */
void summary_classify(const struct engine_result *result,
		      struct size_classes *out);

/* Of all requests. */
void summary_all(const struct engine_result *result, struct summary *out);

/* Of those in class `number`, 0 .. bound_count. */
void summary_class(const struct engine_result *result,
		   const struct size_classes *classes, uint32_t number,
		   struct summary *out);

/*
 * Half the width of a 95 % confidence interval for the mean, by the means of 20
 * batches of requests in the order they began.
 */
double summary_confidence_ns(const struct engine_result *result);

#endif
