/* SPDX-License-Identifier: MIT */
/*
 * Log: lines to a descriptor that may be slow, or stuck.
 *
 *	any thread --> buffer --> the log's own thread --> write()
 *
 * A thread that logs a line never waits for the descriptor.  Lines that do not
 * fit into the buffer, or cannot be written, are dropped; a later line reports
 * how many.  The log's thread sleeps while there are no lines.
 *
 * Threads    log_start(), log_stop(): one; the rest: any, in between.
 * Limits     LOG_BUFFER_BYTES of waiting lines, and as many being written.
 */
#ifndef SERVICE_LOG_H
#define SERVICE_LOG_H

#include "service/log/log_line.h"

#include <stdio.h>

struct log;

enum { LOG_BUFFER_BYTES = 256 * 1024 };

/* The values of --log, in this order. */
enum log_mode { LOG_AUTO, LOG_JSON, LOG_TEXT, LOG_OFF };

struct log_config {
	int fd; /* the caller closes it, after log_stop() */
	/*
	 * AUTO: TEXT on a terminal, else JSON.  OFF: only messages, as TEXT.
	 */
	enum log_mode mode;
	uint32_t slow_ms; /* a request that takes as long is slow; 0: none is */
	const char *policy; /* lent */
};

/* NULL: no memory, or no thread. */
struct log *log_start(const struct log_config *config);

/* Sets `is_slow` and `policy` of `r`. */
void log_request(struct log *l, struct log_request *r);

/* One line, without line feed.  TEXT: "darkroom: " is put before it. */
__attribute__((format(printf, 3, 4))) void
log_message(struct log *l, enum log_level level, const char *format, ...);

/*
 * A message of level INFO in pieces: log_begin(), print to the stream that it
 * returns, log_end().  NULL: no memory, and nothing to end.  log_end_table()
 * writes the lines unchanged, only with TEXT.  One thread at a time.
 */
FILE *log_begin(struct log *l);
void log_end(struct log *l);
void log_end_table(struct log *l);

/* Only with JSON: an event `name` with `json` as its member of that name. */
bool log_is_json(const struct log *l);
void log_value(struct log *l, const char *name, const char *json);

/*
 * Write the waiting lines, for `limit_ms` at most: then SIGUSR2 interrupts the
 * writer.  NULL is fine.
 */
void log_stop(struct log *l, uint32_t limit_ms);

#endif
