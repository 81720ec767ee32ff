/* SPDX-License-Identifier: MIT */
/*
 * Params: queries of which each request draws one, by weight.
 *
 * What a request draws depends on the seed and its number in the run alone, not
 * on its file or on any reply, so a run can be repeated.
 *
 * Pure.
 *
 * Ownership  Params own their queries.
 */
#ifndef LOADGEN_PARAMS_H
#define LOADGEN_PARAMS_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stdint.h>

struct param {
	char *query;
	double weight_up_to; /* its own and those before it */
};

/* Zero one to begin. */
struct params {
	struct param *all;
	uint32_t count;
};

/* `weight` is more than 0.  False: out of memory, and `p` is as it was. */
MUST_CHECK bool params_add(struct params *p, const char *query, double weight);

/* An index into the queries, of which there is one at least. */
uint32_t params_draw(const struct params *p, uint64_t seed, uint64_t request);

/* Make `p` empty.  An empty one is fine. */
void params_release(struct params *p);

#endif
