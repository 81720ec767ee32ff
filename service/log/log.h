/* SPDX-License-Identifier: MIT */
/*
 * Log: lines to a descriptor that may be slow, or stuck.
 *
 *	any thread --> buffer --> the log's own thread --> write()
 *
 * Who has a line never waits for the descriptor.  What does not fit into the
 * buffer, or cannot be written, is dropped, and a line later tells how many
 * were.  Without lines the thread sleeps.
 *
 * Threads    log_start(), log_stop(): one; the rest: any, in between.
 * Limits     LOG_BUFFER_BYTES of lines that wait, and as many being written.
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
	int fd; /* stays open and the caller's */
	/*
	 * AUTO: TEXT on a terminal, else JSON.  OFF: messages as TEXT, and no
	 * requests.
	 */
	enum log_mode mode;
	uint32_t slow_ms;   /* requests that take so long are slow; 0: none */
	const char *policy; /* lent */
};

/* NULL: no memory, or no thread. */
struct log *log_start(const struct log_config *config);

/* Its `is_slow` and `policy` need not be set. */
void log_request(struct log *l, struct log_request *r);

/* One line, without line feed; "darkroom: " comes before it for people. */
__attribute__((format(printf, 3, 4))) void
log_message(struct log *l, enum log_level level, const char *format, ...);

/*
 * The same in pieces, of level INFO: print to what log_begin() returns.  NULL:
 * no memory, and nothing is begun.  log_end_table(): lines as they are, for
 * people alone.  One thread at a time.
 */
FILE *log_begin(struct log *l);
void log_end(struct log *l);
void log_end_table(struct log *l);

/* For JSON alone: an event with `json` as its member of that name. */
bool log_is_json(const struct log *l);
void log_value(struct log *l, const char *name, const char *json);

/*
 * Write what waits, but no longer than `limit_ms`; then it takes SIGUSR2.  NULL
 * is fine.
 */
void log_stop(struct log *l, uint32_t limit_ms);

#endif
