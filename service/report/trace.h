/* SPDX-License-Identifier: MIT */
/*
 * Trace: what the workers did, in Chrome's trace event format: a JSON array of
 * events, which Perfetto and chrome://tracing open even if its end is missing.
 *
 * A worker is shown as a thread.  A visit is a slice named after its stage;
 * inside it lies one slice for each event, named after the stage and the
 * request's number.  Arrows connect the events of a request, including those of
 * its variants, in order of time: their bind_id is the request's number.
 * (Separate flow events of types s, t and f are not used: if two slices start
 * at the same time, such an event does not say to which of them it belongs.)
 *
 * Threads    One.  The pipeline may run meanwhile.
 * Limits     A worker's ring keeps its last TRACE_SPANS spans.
 */
#ifndef SERVICE_TRACE_H
#define SERVICE_TRACE_H

#include "service/pipeline/pipeline.h"

struct trace_file;

/*
 * Start a thread that writes the trace of a whole run to `to`, and empties the
 * workers' rings ten times a second.  This takes over `to`; if it fails, it
 * closes `to`.  NULL: no memory or no thread.
 */
struct trace_file *trace_file_start(FILE *to, const struct pipeline *p);

/*
 * Write the last visits and close the file.  The pipeline may have stopped
 * before.  *missed_count spans are missing in the file: they were overwritten
 * before they were read, or there was no memory for them.  False: the file
 * could not be written; errno says why.
 */
MUST_CHECK bool trace_file_stop(struct trace_file *f, uint64_t *missed_count);

/*
 * A trace of the spans that ended after `since_ns`, started before `until_ns`,
 * and were not overwritten yet.  The caller frees it.  NULL: no memory.
 */
char *trace_window(const struct pipeline *p, uint64_t since_ns,
		   uint64_t until_ns);

#endif
