/* SPDX-License-Identifier: MIT */
#include "loadgen/search.h"

#include <math.h>

static const double highest_per_s = 1e6;
static const double precision = 0.02;

double search_next(const struct search *s)
{
	double held = s->held_per_s;
	double failed = s->failed_per_s;

	if (held == 0 && failed == 0)
		return s->first_per_s;
	if (failed == 0)
		return held < highest_per_s ? fmin(2 * held, highest_per_s) : 0;
	if (held == 0)
		return failed > s->lowest_per_s ?
			       fmax(failed / 2, s->lowest_per_s) :
			       0;
	return failed - held > precision * held ? (held + failed) / 2 : 0;
}

void search_note(struct search *s, bool held)
{
	double rate_per_s = search_next(s);

	if (held)
		s->held_per_s = rate_per_s;
	else
		s->failed_per_s = rate_per_s;
}
