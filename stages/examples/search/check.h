/* SPDX-License-Identifier: MIT */
/*
 * Check: what a query should be answered, by reading all documents.  It uses
 * neither the trees of titles and words, nor the steps of a query; only what a
 * word, its stem and its sound are, and how a page is written, is the same.
 *
 * Threads    Any number.
 */
#ifndef SEARCH_CHECK_H
#define SEARCH_CHECK_H

#include "query.h"

struct check;

/* NULL: no memory. */
struct check *check_new(const struct index *x);
void check_free(struct check *c); /* NULL is fine */

bool check_is_right(const struct check *c, const char *target, size_t length,
		    const struct answer *answer);

#endif
