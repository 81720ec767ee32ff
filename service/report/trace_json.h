/* SPDX-License-Identifier: MIT */
/*
 * Trace JSON: visits of workers in Chrome's trace event format, an array of
 * events that Perfetto and chrome://tracing open, also one that is cut off.
 *
 * Each visit is an X (complete) event: its name the stage, its tid the worker.
 *
 * Threads    One; the group may run.
 */
#ifndef SERVICE_TRACE_JSON_H
#define SERVICE_TRACE_JSON_H

#include "service/pipeline/pipeline.h"

#include <stdio.h>

/* A trace being written. */
struct trace_json {
	FILE *to;
	const struct group *group;
	uint64_t since_ns;     /* only visits that end later */
	uint64_t *next;        /* of each worker: its next visit */
	uint64_t missed_count; /* overwritten before they were read */
};

/* Write what comes first.  False: no memory. */
MUST_CHECK bool trace_json_begin(struct trace_json *t, FILE *to,
				 const struct group *group, uint64_t since_ns);

/* Write the visits that have ended since the last time. */
void trace_json_add(struct trace_json *t);

/* Write what comes last.  `to` stays open. */
void trace_json_end(struct trace_json *t);

/* A trace of the last `ms`, for the caller to free().  NULL: no memory. */
char *trace_json_last(const struct group *group, uint32_t ms);

#endif
