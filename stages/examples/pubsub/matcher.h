/* SPDX-License-Identifier: MIT */
/*
 * A matcher finds the subscriptions that a publication satisfies.
 *
 * A publication is a list of attribute = value.  A subscription is a list of
 * predicates, such as  price < 20,  which must all be satisfied.  An attribute
 * that the publication lacks satisfies no predicate.
 *
 * The data structure is that of Fabret et al., "Filtering algorithms and
 * implementation for very fast publish/subscribe systems", SIGMOD 2001, with
 * access by one equality predicate, and without prefetching.  Equal predicates
 * of all subscriptions are one predicate and have one number.
 *
 *	satisfy   Every attribute has an index of its predicates: a hash table
 *	          for =, sorted arrays for < and >.  It gives the numbers of the
 *	          satisfied predicates, which are set in a vector of bits.
 *	match     A subscription is in the list of one of its = predicates, its
 *	          access predicate.  Only lists whose access predicate is
 *	          satisfied are looked at.  A list has a cluster for each number
 *	          of further predicates.  A cluster is a table of their numbers,
 *	          stored column by column, and a column of subscriptions.
 *
 * The lists are divided into subsets, by the attribute of the access predicate,
 * so that a program can match against one subset after the other.
 *
 * Threads    A matcher never changes, so any number; a matching has one.
 */
#ifndef PUBSUB_MATCHER_H
#define PUBSUB_MATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTRIBUTES_MAX = 64, PREDICATES_MAX = 7 };

enum comparison { COMPARISON_EQUAL, COMPARISON_LESS, COMPARISON_GREATER };
enum { COMPARISONS = 3 };

struct predicate {
	uint16_t attribute; /* < ATTRIBUTES_MAX */
	uint16_t
		comparison; /* enum comparison: the attribute's value to this */
	int32_t value;
};

struct subscription {
	uint32_t count; /* of predicates, at most PREDICATES_MAX */
	struct predicate predicates[PREDICATES_MAX];
};

struct publication {
	uint32_t count; /* of attributes; each is there once */
	struct {
		uint16_t attribute;
		int32_t value;
	} pairs[ATTRIBUTES_MAX];
};

struct matcher;

/* What is known of one publication so far. */
struct matching {
	uint64_t *satisfied; /* a bit for each predicate */
	/* By attribute: its = predicate that is satisfied, or NO_PREDICATE. */
	uint32_t equal[ATTRIBUTES_MAX];
	uint32_t
		*found; /* subscriptions, as indices of matcher_new()'s array */
	size_t found_count, found_room;
};

#define NO_PREDICATE UINT32_MAX

/* NULL: no memory.  The subscriptions are not needed afterwards. */
struct matcher *matcher_new(const struct subscription *subscriptions,
			    uint32_t count, uint32_t subset_count);
void matcher_free(struct matcher *m);

/* The size of the clusters. */
size_t matcher_bytes(const struct matcher *m);

/* False: no memory.  It can be used for one publication after another. */
bool matching_init(struct matching *g, const struct matcher *m);
void matching_destroy(struct matching *g);

/* Forget the last publication; find the predicates that this one satisfies. */
void matcher_satisfy(const struct matcher *m, const struct publication *p,
		     struct matching *g);

/* Add the matching subscriptions of one subset.  False: no memory. */
bool matcher_match(const struct matcher *m, uint32_t subset,
		   struct matching *g);

#endif
