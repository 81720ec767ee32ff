/* SPDX-License-Identifier: MIT */
/*
 * Log output: lines to a descriptor that may be slow, stuck, full or closed.
 *
 * Each write() is of whole lines, and of at most PIPE_BUF bytes unless one line
 * is longer, so other writers of a pipe do not come between.
 *
 * Threads    One, but for log_output_hurry().
 */
#ifndef SERVICE_LOG_OUTPUT_H
#define SERVICE_LOG_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero it, then set `fd`. */
struct log_output {
	int fd;
	bool is_cut; /* what was written last is not a whole line */
	_Atomic bool hurrying;
};

/* May block for ever.  Returns how many of the lines were lost. */
uint64_t log_output_write(struct log_output *o, const char *text, size_t bytes);

uint64_t log_output_count_lines(const char *text, size_t bytes);

/*
 * Wait for the descriptor no more: write() is not called again, and a signal
 * with a handler ends the one that blocks.
 */
void log_output_hurry(struct log_output *o);

#endif
