/* SPDX-License-Identifier: MIT */
/*
 * Requests: what a run sends, one after the other.
 *
 *	dataset, order --file----.
 *	params, seed --query--> targets --> struct request
 *
 * Pure.
 *
 * Ownership  Requests borrow dataset, params and targets, and lend them on.
 */
#ifndef LOADGEN_REQUESTS_H
#define LOADGEN_REQUESTS_H

#include "loadgen/dataset.h"
#include "loadgen/error.h"
#include "loadgen/order.h"
#include "loadgen/params.h"
#include "loadgen/request.h"
#include "loadgen/targets.h"

#include <stdbool.h>
#include <stdint.h>

struct requests {
	const struct dataset *dataset;
	const struct params *params;   /* empty: nothing is drawn */
	const struct targets *targets; /* of both */
	const char *fields;            /* of every request, as in request.h */
	uint64_t passes;               /* 0: without end */
	uint64_t seed;

	struct order order;
	uint64_t count; /* so far */
};

/* Begin; all before `order` is set.  False: out of memory. */
MUST_CHECK bool requests_begin(struct requests *r);

/* The next request.  False: all passes are over. */
bool requests_next(struct requests *r, struct request *request);

/* Free what requests_begin() made. */
void requests_end(struct requests *r);

#endif
