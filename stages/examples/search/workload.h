/* SPDX-License-Identifier: MIT */
/*
 * Workload: the requests that clients send, from a file or made from an index.
 *
 * Threads    Any number read one that is complete.
 */
#ifndef SEARCH_WORKLOAD_H
#define SEARCH_WORKLOAD_H

#include "index.h"

struct request {
	char *target; /* not NUL-terminated; the workload's */
	size_t length;
};

/* A struct of zeros is empty. */
struct workload {
	struct request *requests;
	size_t count, capacity;
};

struct zipf {
	uint64_t seed;
	/* The document of rank r is wanted in proportion to 1 / r^exponent. */
	double exponent;
	size_t count; /* of requests */
};

/*
 * Each line is a query or, if it begins with /, a target.  False: `why` says
 * why.
 */
MUST_CHECK bool workload_read(struct workload *w, const char *path,
			      char why[WHY_BYTES]);

/*
 * Queries for documents of the index: half of them titles; the others words of
 * a document, one or several, and some of them misspelled.
 */
MUST_CHECK bool workload_make(struct workload *w, const struct index *x,
			      const struct zipf *z, char why[WHY_BYTES]);

/* One query.  False: no memory. */
MUST_CHECK bool workload_add(struct workload *w, const char *query,
			     size_t length);

void workload_free(struct workload *w);

#endif
