/* SPDX-License-Identifier: MIT */
/*
 * Random subscriptions and publications, and the matches that they must have.
 *
 * Threads    Any number.
 */
#ifndef PUBSUB_WORKLOAD_H
#define PUBSUB_WORKLOAD_H

#include "matcher.h"

struct workload {
	uint64_t seed;
	uint32_t attributes; /* at most ATTRIBUTES_MAX */
	/* The values of each attribute: lowest .. lowest + values - 1. */
	int32_t lowest;
	uint32_t values;
	/*
	 * Each subscription has so many predicates with =, and so many with <
	 * or >; together at most PREDICATES_MAX.
	 */
	uint32_t equal, unequal;
	/*
	 * Odd: subscriptions have any number of predicates up to these, and
	 * several may be of one attribute; publications lack attributes.
	 * Otherwise the attributes of a subscription differ, and a publication
	 * has them all.
	 */
	bool is_odd;
};

/* The same number gives the same subscription or publication. */
void workload_subscription(const struct workload *w, uint32_t number,
			   struct subscription *out);
void workload_publication(const struct workload *w, uint64_t number,
			  struct publication *out);

/*
 * Are the subscriptions that were found those which, compared one by one, match
 * the publication?  Sorts them.
 */
bool workload_is_right(const struct subscription *all, uint32_t count,
		       const struct publication *p, struct matching *g);

#endif
