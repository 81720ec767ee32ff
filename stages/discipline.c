/* SPDX-License-Identifier: MIT */
#include "stages/discipline.h"

#include "stages/stage.h"

#include <assert.h>

#define RANKS 0x1p64 /* a double of that or more is no rank */

/* born + ageing * left, or the last rank if it is later than all ranks. */
static uint64_t srpt_rank(double ageing, const struct event *ev)
{
	double aged_ns = ageing * (double)ev->left_ns;

	if (!(aged_ns < RANKS) || (uint64_t)aged_ns > UINT64_MAX - ev->born_ns)
		return UINT64_MAX;
	return ev->born_ns + (uint64_t)aged_ns;
}

uint64_t discipline_rank(const struct discipline *d, const struct event *ev,
			 uint64_t number)
{
	switch (d->kind) {
	case DISCIPLINE_LCFS:
		return ~number;
	case DISCIPLINE_SRPT:
		assert(d->ageing >= 0); /* and a number */
		return srpt_rank(d->ageing, ev);
	case DISCIPLINE_FCFS:
	case DISCIPLINE_STACK:
		break;
	}
	return number;
}
