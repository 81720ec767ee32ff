/* SPDX-License-Identifier: MIT */
#include "service/log/log_output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

uint64_t log_output_count_lines(const char *text, size_t bytes)
{
	uint64_t count = 0;

	for (size_t i = 0; i < bytes; i++)
		count += text[i] == '\n';
	return count;
}

/*
 * What to write at once: as many whole lines as a pipe takes in one piece, or
 * one that is longer.
 */
static size_t piece_bytes(const char *text, size_t bytes)
{
	const char *line_end;

	if (bytes <= PIPE_BUF)
		return bytes;
	line_end = memrchr(text, '\n', PIPE_BUF);
	if (line_end == NULL)
		line_end = memchr(text, '\n', bytes);
	return (size_t)(line_end - text) + 1;
}

static ssize_t write_some(struct log_output *o, const char *text, size_t bytes)
{
	struct pollfd to = { .fd = o->fd, .events = POLLOUT };
	ssize_t n = -1;

	while (!atomic_load(&o->hurrying)) {
		n = write(to.fd, text, bytes);
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
		if (errno == EAGAIN)
			(void)poll(&to, 1, -1);
	}
	return n;
}

/* Returns how many lines were lost. */
static uint64_t write_piece(struct log_output *o, const char *text,
			    size_t bytes)
{
	size_t at = 0;

	/* A disk that was full and no longer is: begin where a line should. */
	if (o->is_cut && write_some(o, "\n", 1) == 1)
		o->is_cut = false;
	while (!o->is_cut && at < bytes) {
		ssize_t n = write_some(o, text + at, bytes - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	o->is_cut = o->is_cut || (at > 0 && text[at - 1] != '\n');
	return log_output_count_lines(text + at, bytes - at);
}

uint64_t log_output_write(struct log_output *o, const char *text, size_t bytes)
{
	uint64_t lost_count = 0;

	for (size_t at = 0; at < bytes;) {
		size_t piece = piece_bytes(text + at, bytes - at);

		lost_count += write_piece(o, text + at, piece);
		at += piece;
	}
	return lost_count;
}

void log_output_hurry(struct log_output *o)
{
	atomic_store(&o->hurrying, true);
}
