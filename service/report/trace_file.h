/* SPDX-License-Identifier: MIT */
/*
 * Trace file: all that workers did in a run, written while it lasts.
 *
 * A thread of its own empties the workers' rings ten times a second.
 *
 * Threads    One.
 */
#ifndef SERVICE_TRACE_FILE_H
#define SERVICE_TRACE_FILE_H

#include "service/pipeline/pipeline.h"

struct trace_file;

/* Begin to write `to`, which is taken over.  NULL: no memory or no thread. */
struct trace_file *trace_file_start(FILE *to, const struct pipeline *p);

/*
 * Write the last visits of a pipeline that has stopped, or may go on, and end
 * the file; *missed_count spans are left out, overwritten before they were read
 * or for want of memory.  False: it could not be written, and errno says why.
 */
MUST_CHECK bool trace_file_stop(struct trace_file *f, uint64_t *missed_count);

#endif
