/* SPDX-License-Identifier: MIT */
/*
 * Search: the highest rate that keeps an objective, by trials.
 *
 * Doubles from a first rate until one fails (or halves until one holds), and
 * then bisects between the highest that held and the lowest that failed until
 * they are within 2 %.
 *
 * Pure.
 *
 * Limits     Rates up to 1,000,000.
 */
#ifndef LOADGEN_SEARCH_H
#define LOADGEN_SEARCH_H

#include <stdbool.h>

/* Zero what is not known yet to begin. */
struct search {
	double first_per_s;
	double lowest_per_s; /* to halve down to; more than 0 */
	double held_per_s;   /* the highest; 0: none yet */
	double failed_per_s; /* the lowest; 0: none yet */
};

/* The rate to try next.  0: the search is over. */
double search_next(const struct search *s);

/* Note the trial of the rate that search_next() gave. */
void search_note(struct search *s, bool held);

#endif
