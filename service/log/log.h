/* SPDX-License-Identifier: MIT */
/*
 * Log: writes lines about requests, and messages, to a descriptor that may be
 * slow or stuck; as JSON or as text for people.
 *
 *	any thread --> buffer --> the log's own thread --> write()
 *
 *	{"time":"2026-01-31T12:00:00.250Z","level":"info","event":"request",...}
 *	12:00:00.250 200 POST /, 604623 B 3.00 MP to 1123 B 0.08 MP in 9.5 ms...
 *
 * docs/operations/watch.md describes the members.  A line ends with a line feed
 * and contains no other control character, even if a string in it has some.
 *
 * A thread that logs a line never waits for the descriptor.  Lines that do not
 * fit into the buffer, or cannot be written, are dropped; a later line reports
 * how many.  The log's thread sleeps while there are no lines.
 *
 * Threads    One thread calls log_start() and log_stop(); any thread may call
 *            the others in between.
 * Limits     LOG_BUFFER_BYTES of waiting lines, and the same amount being
 *            written.
 */
#ifndef SERVICE_LOG_H
#define SERVICE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct log;

enum {
	LOG_BUFFER_BYTES = 256 * 1024,
	LOG_LINE_BYTES = 2048, /* the longest line of a request */
	LOG_TIMES_MAX = 8,
	LOG_STEPS_MAX = 10,
	LOG_HASH_CHARS = 64 + 1,
};

enum log_level { LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

/* The values of --log, in this order. */
enum log_mode { LOG_AUTO, LOG_JSON, LOG_TEXT, LOG_OFF };

struct log_config {
	int fd; /* the caller closes it, after log_stop() */
	/*
	 * AUTO means TEXT on a terminal, otherwise JSON.  OFF: only messages,
	 * as TEXT.
	 */
	enum log_mode mode;
	/* A request that takes at least this long is slow; 0: none is. */
	uint32_t slow_ms;
	const char *policy; /* owned by the caller */
};

/* Strings belong to the caller and are short. */
struct log_request {
	const char *id;
	/* NULL: none; then there are no span ids either. */
	const char *trace_id;
	const char *span_id, *parent_span_id;
	const char *method;
	const char *path;    /* the route's pattern; NULL: no such route */
	const char *end;     /* how it ended, such as "sent" or "gone" */
	unsigned int status; /* 0: no reply */
	const char *code;    /* code of the problem; NULL: none */
	uint64_t bytes_in, bytes_out;
	uint64_t pixels_in, pixels_out;
	uint32_t variant_count;
	char pdq[LOG_HASH_CHARS]; /* of the picture; "": none */
	uint32_t pdq_quality;
	char blocked_by[LOG_HASH_CHARS]; /* of the block list; "": none */
	uint32_t blocked_distance;
	struct log_time {
		const char *name;
		uint64_t ns;
	} times[LOG_TIMES_MAX];
	uint32_t time_count;
	/*
	 * The steps of the request, sorted by start; printed if the request is
	 * slow.
	 */
	struct log_step {
		const char *name;
		uint64_t start_ns; /* since the request's head was complete */
		uint64_t ns;
	} steps[LOG_STEPS_MAX];
	uint32_t step_count;
	uint64_t total_ns;
	uint64_t idle_ns; /* of it, as the client has asked for */
	bool is_slow;
	const char *policy;
};

/* NULL: no memory, or no thread. */
struct log *log_start(const struct log_config *config);

/* Sets `is_slow` and `policy` of `r`. */
void log_request(struct log *l, struct log_request *r);

static inline void log_request_add_time(struct log_request *r, const char *name,
					uint64_t ns)
{
	r->times[r->time_count++] = (struct log_time){ name, ns };
}

static inline void log_request_add_step(struct log_request *r, const char *name,
					uint64_t start_ns, uint64_t ns)
{
	r->steps[r->step_count++] = (struct log_step){ name, start_ns, ns };
}

/*
 * Log one line, given without a line feed.  TEXT puts "darkroom: " before it.
 */
__attribute__((format(printf, 3, 4))) void
log_message(struct log *l, enum log_level level, const char *format, ...);

/*
 * A message of level INFO in pieces: call log_begin(), print to the stream that
 * it returns, then call log_end().  NULL: no memory; do not call log_end().
 * log_end_table(), called instead of log_end(), writes the lines unchanged, and
 * only with TEXT.  One thread at a time.
 */
FILE *log_begin(struct log *l);
void log_end(struct log *l);
void log_end_table(struct log *l);

/*
 * log_value() writes an event `name` that has `json` as its member `name`.  It
 * may be called only if log_is_json().
 */
bool log_is_json(const struct log *l);
void log_value(struct log *l, const char *name, const char *json);

/*
 * Write the waiting lines and stop.  After `limit_ms`, SIGUSR2 interrupts the
 * writer.  `l` may be NULL.
 */
void log_stop(struct log *l, uint32_t limit_ms);

#endif
