/* SPDX-License-Identifier: MIT */
#include "loadgen/client/arrivals.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/take.h"
#include "loadgen/dataset/lines.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_S_MAX = 1000000, TRACE_FIRST = 1024 };

static bool trace_add_time(struct trace *t, size_t *capacity, double time_s)
{
	double *times_s;

	if (t->count == *capacity) {
		*capacity = *capacity == 0 ? TRACE_FIRST : 2 * *capacity;
		times_s = reallocarray(t->times_s, *capacity, sizeof(*times_s));
		if (times_s == NULL)
			return false;
		t->times_s = times_s;
	}
	t->times_s[t->count++] = time_s;
	return true;
}

/* A time; there may be spaces around it. */
static bool trace_parse_time(const char *text, double *time_s)
{
	text += strspn(text, " \t");
	if (!take_real(&text, time_s) || *time_s > TRACE_S_MAX)
		return false;
	return text[strspn(text, " \t")] == '\0';
}

/* False: the line is wrong, and lines_fail() has set the error. */
static bool trace_add_line(struct trace *t, size_t *capacity,
			   struct lines *lines, const char *text)
{
	double time_s;

	if (!trace_parse_time(text, &time_s))
		lines_fail(lines, "'%s': not a time from 0 to %d s", text,
			   TRACE_S_MAX);
	else if (t->count > 0 && time_s < t->times_s[t->count - 1])
		lines_fail(lines, "'%s': earlier than the time before it",
			   text);
	else if (!trace_add_time(t, capacity, time_s))
		lines_fail(lines, "out of memory");
	return !lines->failed;
}

bool trace_read(struct trace *t, const char *path, struct error *error)
{
	struct lines lines;
	size_t capacity = 0;
	bool is_good;
	char *text;

	if (!lines_open(&lines, path, "a text file with a time in each line",
			error))
		return false;
	while ((text = lines_next(&lines)) != NULL)
		if (!trace_add_line(t, &capacity, &lines, text))
			break;
	is_good = lines_close(&lines);
	if (is_good && (t->count == 0 || t->times_s[t->count - 1] <= 0)) {
		error_set(error, "%s: no time after 0 in it", path);
		is_good = false;
	}
	if (!is_good)
		trace_release(t);
	return is_good;
}

void trace_release(struct trace *t)
{
	free(t->times_s);
	*t = (struct trace){ 0 };
}

static const char *const kind_names[] = {
	[ARRIVALS_NONE] = NULL,
	[ARRIVALS_POISSON] = "poisson",
	[ARRIVALS_CONSTANT] = "constant",
	[ARRIVALS_TRACE] = "trace",
};

enum { KIND_COUNT = ARRAY_SIZE(kind_names) };

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

/* At its own rate the trace is not stretched: the quotient is exactly 1. */
static uint64_t trace_next_ns(struct arrivals *a)
{
	double stretch = trace_rate_per_s(a->trace) / a->rate_per_s;

	if (a->next == a->trace->count)
		return ARRIVALS_OVER;
	return (uint64_t)llround(a->trace->times_s[a->next++] * stretch *
				 (double)NS_PER_S);
}

/* An exponential gap of mean 1, by inversion. */
static double exponential_gap(uint64_t *random)
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
		gaps = a->gaps += exponential_gap(&a->random);
	return (uint64_t)(gaps * (double)NS_PER_S / a->rate_per_s);
}

const char *arrivals_name(enum arrivals_kind kind)
{
	return kind_names[kind];
}

bool arrivals_find(const char *name, enum arrivals_kind *kind)
{
	for (int i = ARRIVALS_NONE + 1; i < KIND_COUNT; i++)
		if (strcmp(name, kind_names[i]) == 0) {
			*kind = (enum arrivals_kind)i;
			return true;
		}
	return false;
}
