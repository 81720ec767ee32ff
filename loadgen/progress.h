/* SPDX-License-Identifier: MIT */
/*
 * Progress: one line on a terminal that shows how far a run is.
 *
 * Rewritten once a second at most.  Elsewhere than on a terminal: nothing.
 */
#ifndef LOADGEN_PROGRESS_H
#define LOADGEN_PROGRESS_H

#include "loadgen/record.h"

#include <stdint.h>
#include <stdio.h>

struct progress {
	FILE *out;             /* NULL: show nothing */
	uint64_t request_goal; /* 0: the end is a matter of time */
	uint64_t began_ns;
	uint64_t shown_ns; /* begin with began_ns */
};

/* Show `r`, if the last time was a second ago. */
void progress_show(struct progress *p, const struct record *r, uint64_t now_ns);

/* Take the line away. */
void progress_clear(const struct progress *p);

#endif
