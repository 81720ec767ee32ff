/* SPDX-License-Identifier: MIT */
/*
 * Hunt: the search for the x that gives y = wanted, where y grows with x about
 * as a power of it.  Pure.
 */
#ifndef DATASETS_HUNT_H
#define DATASETS_HUNT_H

struct hunt {
	double wanted;
	double power;  /* a first guess, then what the last two tries say */
	double low;    /* x of too small, */
	double high;   /* ... too large a y; 0: none yet */
	double last_x; /* 0: none yet */
	double last_y;
};

/* What to try after `x`, which gave `y`; all are above 0. */
double hunt_next(struct hunt *h, double x, double y);

/* Forget the tries: something else has changed. */
void hunt_restart(struct hunt *h);

#endif
