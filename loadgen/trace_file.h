/* SPDX-License-Identifier: MIT */
/*
 * Trace file: arrivals that were recorded, one time in seconds per line, from
 * the beginning on and never before the line above.  (lines.h says what else
 * may stand there.)
 */
#ifndef LOADGEN_TRACE_FILE_H
#define LOADGEN_TRACE_FILE_H

#include "loadgen/arrivals.h"
#include "loadgen/error.h"

#include <stdbool.h>

/* Fill the empty `t`.  False: `error` names file and line; `t` is empty. */
MUST_CHECK bool trace_read(struct trace *t, const char *path,
			   struct error *error);

/* Make `t` empty.  An empty one is fine. */
void trace_release(struct trace *t);

#endif
