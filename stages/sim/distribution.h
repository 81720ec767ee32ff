/* SPDX-License-Identifier: MIT */
/*
 * Distributions of sizes and service times, as a graph file gives them:
 *
 *	3                                              always 3
 *	{"kind": "constant", "value": 3}               the same
 *	{"kind": "exponential", "mean": 3}
 *	{"kind": "lognormal", "median": 3, "sigma": 1}
 *	{"kind": "pareto", "shape": 1.1, "min": 1, "max": 1000}   bounded
 *	{"kind": "quantiles", "points": [[0, 1], [0.5, 3], [1, 100]]}
 *	{"kind": "empirical", "file": "sizes.txt"}     one number per line
 *
 * `quantiles` are points of the inverse distribution function, from 0 to 1;
 * between them the logarithm of the value is even.  `empirical` draws the
 * numbers of the file, each as likely; the path is relative to the graph file.
 *
 * Limits     Values are above 0 (a constant may be 0); DISTRIBUTION_POINTS_MAX.
 */
#ifndef STAGES_SIM_DISTRIBUTION_H
#define STAGES_SIM_DISTRIBUTION_H

#include "stages/sim/random.h"

#include <stdbool.h>
#include <stdint.h>

#define DISTRIBUTION_POINTS_MAX 10000000

struct cJSON;

enum distribution_kind {
	DISTRIBUTION_CONSTANT,
	DISTRIBUTION_EXPONENTIAL,
	DISTRIBUTION_LOGNORMAL,
	DISTRIBUTION_PARETO,
	DISTRIBUTION_QUANTILES,
	DISTRIBUTION_EMPIRICAL,
};

struct distribution {
	enum distribution_kind kind;
	double mean;
	double median, sigma;   /* lognormal */
	double shape, min, max; /* pareto */
	uint32_t point_count;   /* quantiles, empirical */
	double *shares;         /* quantiles; owned */
	double *values;         /* quantiles, empirical; owned */
};

/*
 * Fill `d` from its JSON; relative files are looked for in `folder`.  False:
 * *why says what is wrong, and `d` is good only for distribution_release().
 */
__attribute__((warn_unused_result)) bool
distribution_read(struct distribution *d, const struct cJSON *json,
		  const char *folder, const char **why);

double distribution_draw(const struct distribution *d, struct random *r);

/* One of all zeros is fine. */
void distribution_release(struct distribution *d);

/* The numbers of a file, one per line.  NULL: *why says what is wrong. */
double *distribution_load_numbers(const char *path, uint32_t *count,
				  const char **why);

#endif
