/* SPDX-License-Identifier: MIT */
#include "loadgen/arrivals.h"

#include "loadgen/clock.h"
#include "loadgen/random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const names[] = {
	[ARRIVALS_NONE] = NULL,
	[ARRIVALS_POISSON] = "poisson",
	[ARRIVALS_CONSTANT] = "constant",
	[ARRIVALS_TRACE] = "trace",
};

enum { KIND_COUNT = sizeof(names) / sizeof(*names) };

void arrivals_init(struct arrivals *a, enum arrivals_kind kind,
		   double rate_per_s, uint64_t seed)
{
	assert(kind == ARRIVALS_POISSON || kind == ARRIVALS_CONSTANT);
	assert(rate_per_s > 0);
	*a = (struct arrivals){
		.kind = kind,
		.rate_per_s = rate_per_s,
		.random = seed,
	};
}

void arrivals_init_trace(struct arrivals *a, const struct trace *trace,
			 double rate_per_s)
{
	assert(trace->count > 0 && rate_per_s > 0);
	*a = (struct arrivals){
		.kind = ARRIVALS_TRACE,
		.rate_per_s = rate_per_s,
		.trace = trace,
	};
}

double trace_rate_per_s(const struct trace *trace)
{
	return (double)trace->count / trace->times_s[trace->count - 1];
}

/* At its own rate the trace is not stretched at all: the quotient is 1. */
static uint64_t trace_next_ns(struct arrivals *a)
{
	double stretch = trace_rate_per_s(a->trace) / a->rate_per_s;

	if (a->next == a->trace->count)
		return ARRIVALS_OVER;
	return (uint64_t)llround(a->trace->times_s[a->next++] * stretch *
				 (double)NS_PER_S);
}

/* Of mean 1, by inversion. */
static double exponential(uint64_t *random)
{
	return -log1p(-random_fraction(random));
}

uint64_t arrivals_next_ns(struct arrivals *a)
{
	double gaps = a->gaps;

	if (a->kind == ARRIVALS_TRACE)
		return trace_next_ns(a);
	if (a->kind == ARRIVALS_CONSTANT)
		a->gaps += 1;
	else
		gaps = a->gaps += exponential(&a->random);
	return (uint64_t)(gaps * (double)NS_PER_S / a->rate_per_s);
}

const char *arrivals_name(enum arrivals_kind kind)
{
	return names[kind];
}

bool arrivals_find(const char *name, enum arrivals_kind *kind)
{
	for (int i = ARRIVALS_NONE + 1; i < KIND_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			*kind = (enum arrivals_kind)i;
			return true;
		}
	return false;
}
