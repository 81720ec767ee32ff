/* SPDX-License-Identifier: MIT */
/*
 * Trace JSON: what workers do, in Chrome's trace event format, an array of
 * events that Perfetto and chrome://tracing open, also one that is cut off.
 *
 * A worker is a thread there.  A visit is a slice named by its stage; in it
 * lies a slice for each event, named by the stage and the request's number.
 * The events of a request are a flow: bind_id is that number, and an arrow goes
 * from each to the next one in time, of several variants too.  Other than flow
 * events of their own (s, t, f) that needs no viewer to find out which of two
 * slices that start together is meant.
 *
 * Where a worker sleeps there is no slice: viewers fill slices with colour, and
 * an idle worker would look like a busy one.
 *
 * Threads    One; the pipeline may run.
 */
#ifndef SERVICE_TRACE_JSON_H
#define SERVICE_TRACE_JSON_H

#include "service/report/tracks.h"

#include <stdio.h>

/* Write the names of all tracks, and before them what begins a trace. */
void trace_json_begin(FILE *to, const struct tracks *t);

/* Write what tracks_take() took. */
void trace_json_add(FILE *to, const struct tracks *t);

/* Write what ends a trace. */
void trace_json_end(FILE *to);

/*
 * A trace of what ended after `since_ns` and started before `until_ns`, as far
 * as it is not overwritten yet, for the caller to free().  NULL: no memory.
 */
char *trace_json_window(const struct pipeline *p, uint64_t since_ns,
			uint64_t until_ns);

#endif
