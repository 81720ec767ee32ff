/* SPDX-License-Identifier: MIT */
/*
 * Progress: one line on a terminal that shows how a run goes.
 *
 * Rewritten once a second.  Elsewhere than on a terminal: nothing.
 */
#ifndef LOADGEN_PROGRESS_H
#define LOADGEN_PROGRESS_H

#include "loadgen/record.h"
#include "loadgen/result.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PROGRESS_RECENT = 1000 };

struct progress {
	FILE *out;             /* NULL: show nothing */
	uint64_t request_goal; /* 0: the end is a matter of time */
	uint64_t began_ns;
	uint64_t shown_ns; /* begin with began_ns */

	/* Kept by this module; zero them to begin. */
	uint64_t shown_ok_count;
	uint64_t reply_count;
	struct {
		uint64_t ended_ns; /* since the run's begin */
		uint64_t response_ns;
	} recent[PROGRESS_RECENT]; /* the last 2xx replies, as a ring */
};

/* Take note of a result, for the p90 of the last seconds. */
void progress_note(struct progress *p, const struct result *result);

/* Whether the last time was a second ago. */
bool progress_is_due(const struct progress *p, uint64_t now_ns);

/* Show `r`, and how many requests are in flight. */
void progress_show(struct progress *p, const struct record *r,
		   uint32_t in_flight_count, uint64_t now_ns);

/* Take the line away. */
void progress_clear(const struct progress *p);

#endif
