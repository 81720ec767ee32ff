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
 * between two points the logarithm of the value grows linearly.  `empirical`
 * draws the numbers of the file, all with equal probability; the path is
 * relative to the graph file.
 *
 * Threads    Any number may draw from one, with a struct random each.
 * Limits     Values are from 1e-9 to 1e15 (a constant may be 0), `sigma` is at
 *            most 10, `shape` 100; DISTRIBUTION_POINTS_MAX.
 */
#ifndef STAGES_SIM_DISTRIBUTION_H
#define STAGES_SIM_DISTRIBUTION_H

#include "base/error.h"
#include "base/random.h"
#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

#define DISTRIBUTION_POINTS_MAX 10000000
#define DISTRIBUTION_VALUE_MOST 1e15

struct cJSON;

enum distribution_kind {
	DISTRIBUTION_CONSTANT,
	DISTRIBUTION_EXPONENTIAL,
	DISTRIBUTION_LOGNORMAL,
	DISTRIBUTION_PARETO,
	DISTRIBUTION_QUANTILES,
	DISTRIBUTION_EMPIRICAL,
};

/* Each field below `mean` is used by the kinds in its comment. */
struct distribution {
	enum distribution_kind kind;
	double mean;
	double median, sigma;   /* of lognormal */
	double shape, min, max; /* of pareto */
	uint32_t point_count;   /* of quantiles and empirical */
	double *shares;         /* of quantiles; owned */
	double *values;         /* of quantiles and empirical; owned */
};

/*
 * Fill `d` from this member of an object, if it is there; relative files are
 * looked for in `folder`.  False: `error` names the member, and `d` may only be
 * given to distribution_release().
 */
MUST_CHECK bool distribution_read(struct distribution *d,
				  const struct cJSON *json, const char *key,
				  const char *folder, struct error *error);

/* A distribution of zeros is allowed. */
void distribution_release(struct distribution *d);

double distribution_draw(const struct distribution *d, struct random *r);

/* The numbers of a file, one per line.  NULL: `error` says what is wrong. */
double *distribution_load_numbers(const char *path, uint32_t *count,
				  struct error *error);

#endif
