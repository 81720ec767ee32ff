/* SPDX-License-Identifier: MIT */
/*
 * Trace context (W3C Trace Context, level 1): which trace of its caller a
 * request belongs to, and the span that it is there.
 *
 *	traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *	             version, trace, span of the caller, flags
 *
 * Pure, but for the number of a new span.
 */
#ifndef SERVICE_TRACE_CONTEXT_H
#define SERVICE_TRACE_CONTEXT_H

#include <stdbool.h>

enum {
	TRACE_ID_CHARS = 32,
	SPAN_ID_CHARS = 16,
	TRACEPARENT_BYTES = 3 + TRACE_ID_CHARS + 1 + SPAN_ID_CHARS + 3 + 1,
};

/* Ids are lower-case hexadecimal digits, not all 0. */
struct trace_context {
	char trace_id[TRACE_ID_CHARS + 1]; /* "": there is none */
	char parent_id[SPAN_ID_CHARS + 1]; /* of the caller */
	char span_id[SPAN_ID_CHARS + 1];   /* ours */
	bool is_sampled; /* the caller may have recorded its part */
};

/*
 * `value` is that of a traceparent header.  True: all of *out is set, with a
 * new span.  False: it is to be ignored, as the standard says; *out is as it
 * was.
 */
bool trace_context_read(struct trace_context *out, const char *value);

/* The value for a reply: the same trace, and our span of it. */
void trace_context_print(char out[TRACEPARENT_BYTES],
			 const struct trace_context *c);

#endif
