/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/sample.h"

#include <math.h>

void sample_add(struct sample *s, double value)
{
	if (isfinite(value) && s->count < STATISTICS_COUNT_MAX)
		s->values[s->count++] = value;
}

double sample_mean(const struct sample *s)
{
	return statistics_mean(s->values, s->count);
}

double sample_median(const struct sample *s)
{
	return statistics_median(s->values, s->count);
}

double sample_max(const struct sample *s)
{
	return statistics_five(s->values, s->count).max;
}

double sample_p(const struct sample *a, const struct sample *b)
{
	return statistics_mann_whitney_p(a->values, a->count, b->values,
					 b->count);
}
