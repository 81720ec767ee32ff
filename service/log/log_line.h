/* SPDX-License-Identifier: MIT */
/*
 * Log lines: the text of a line about a request, a message or lost lines, as
 * JSON or for people.
 *
 *	{"time":"2026-01-31T12:00:00.250Z","level":"info","event":"request",...}
 *	12:00:00.250 200 POST /, 604623 B 3.00 MP to 1123 B 0.08 MP in 9.5 ms...
 *
 * docs/operations.md describes the members.  A line ends with a line feed and
 * contains no other control character, whatever strings it is made of.
 */
#ifndef SERVICE_LOG_LINE_H
#define SERVICE_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_LINE_BYTES = 2048, LOG_TIMES_MAX = 8, LOG_STEPS_MAX = 8 };

enum log_form { LOG_FORM_JSON, LOG_FORM_TEXT };

enum log_level { LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

/* Strings are lent and short. */
struct log_request {
	const char *id;
	const char *trace_id; /* NULL: none, and no span ids */
	const char *span_id, *parent_span_id;
	const char *method;
	const char *path;    /* of the route; NULL: no such route */
	const char *end;     /* how it ended, such as "sent" or "gone" */
	unsigned int status; /* 0: no reply */
	const char *code;    /* of the problem; NULL: none */
	uint64_t bytes_in, bytes_out;
	uint64_t pixels_in, pixels_out;
	uint32_t variant_count;
	struct log_time {
		const char *name;
		uint64_t ns;
	} times[LOG_TIMES_MAX];
	uint32_t time_count;
	/* Its timeline, in order of starting; printed if it is slow. */
	struct log_step {
		const char *name;
		uint64_t start_ns; /* since its head was complete */
		uint64_t ns;
	} steps[LOG_STEPS_MAX];
	uint32_t step_count;
	uint64_t total_ns;
	bool is_slow;
	const char *policy;
};

/* Returns the length of the line.  The longest possible line fits. */
size_t log_line_of_request(char line[LOG_LINE_BYTES], enum log_form form,
			   const struct log_request *r);

/* `count` lines could not be written. */
size_t log_line_of_dropped(char line[LOG_LINE_BYTES], enum log_form form,
			   uint64_t count);

/* `text` may have any length; the caller frees the line.  NULL: no memory. */
char *log_line_of_message(enum log_form form, enum log_level level,
			  const char *text);

/*
 * A line that is always JSON: an event `event`, whose member of the same name
 * is `json`.
 */
char *log_line_of_value(const char *event, const char *json);

#endif
