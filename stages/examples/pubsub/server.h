/* SPDX-License-Identifier: MIT */
/*
 * Two servers that match publications against subscriptions, with the same
 * matcher: one of stages, one of threads.  So many publications are under way
 * at once, each from its own publisher, who publishes the next one when the
 * subscribers have the last.
 *
 *	stages    publish -> [satisfy] -> [match 0] -> ... -> [deliver]
 *	             ^                                           |
 *	             +-------------------------------------------+
 *	          Match i is for subset i of the subscriptions.  It is a
 *	          partitioned stage, and its events have one key: so only one
 *	          core ever looks at the subset.
 *	threads   Each thread takes a publication and does all of this, one
 *	          publication after the other.
 */
#ifndef PUBSUB_SERVER_H
#define PUBSUB_SERVER_H

#include "matcher.h"
#include "workload.h"

struct cores;

struct server_config {
	const struct matcher *matcher;
	const struct workload *workload;
	uint32_t subset_count; /* of the matcher; at most SUBSETS_MAX */
	uint64_t publication_count;
	uint32_t under_way_count;
	/* With stages: the events of one visit, at most; 0: no limit. */
	uint32_t cohort_max;
	/* With stages: all cores look at all subscriptions. */
	bool is_shared;
	/* Check the matches of each publication against these; NULL: do not. */
	const struct subscription *check;
	uint32_t check_count;
};

enum { SUBSETS_MAX = 30 };

struct server_result {
	uint64_t publication_count;
	uint64_t match_count;
	uint64_t sum; /* equal if all publications had the same matches */
	uint64_t wrong_count; /* publications with other matches than `check` */
	double seconds, cpu_seconds;
	double cohort; /* mean number of events of a visit that matches */
};

/* False: they have said on stderr why. */
bool serve_by_stages(const struct server_config *config,
		     const struct cores *cores, struct server_result *result);
/* A thread for each publication that is under way. */
bool serve_by_threads(const struct server_config *config,
		      struct server_result *result);

#endif
