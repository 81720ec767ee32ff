/* SPDX-License-Identifier: MIT */
#include "service/log/log.h"

#include "base/clock.h"
#include "base/text.h"
#include "service/wait.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	/*
	 * Waking the writer costs more than a line does.  So it writes the
	 * lines of this time together, or earlier if they fill half of the
	 * buffer.
	 */
	GATHER_MS = 10,
	GATHER_BYTES = LOG_BUFFER_BYTES / 2,
	HURRY_MS = 10,
};

/*
 * Output: lines to a descriptor that may be slow, stuck, full or closed.  Each
 * write() is of whole lines, and of at most PIPE_BUF bytes unless one line is
 * longer, so that lines of other writers to the same pipe are not mixed in.
 */
struct output {
	int fd;
	bool is_cut; /* the last thing written is not a whole line */
	/* write() is not called again; a signal ends the one that blocks. */
	_Atomic bool hurrying;
};

struct log {
	struct log_config config;
	enum log_form form;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t has_work; /* for the writer */
	pthread_cond_t has_ended;

	/* Under `lock`. */
	char *waiting;
	size_t waiting_bytes;
	uint64_t dropped_count; /* lines, not yet reported */
	bool stopping, ended;

	/* From log_begin() to log_end(). */
	FILE *draft;
	struct text draft_text;

	/* Used only by the writer. */
	char *writing;
	struct output output;
};

static uint64_t count_lines(const char *text, size_t bytes)
{
	uint64_t count = 0;

	for (size_t i = 0; i < bytes; i++)
		count += text[i] == '\n';
	return count;
}

/*
 * The bytes of the next write(): as many whole lines as a pipe takes in one
 * piece, or one longer line.
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

static ssize_t write_some(struct output *o, const char *text, size_t bytes)
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

/* Returns the number of lost lines. */
static uint64_t write_piece(struct output *o, const char *text, size_t bytes)
{
	size_t at = 0;

	/* The disk was full in the middle of a line: begin a new line. */
	if (o->is_cut && write_some(o, "\n", 1) == 1)
		o->is_cut = false;
	while (!o->is_cut && at < bytes) {
		ssize_t n = write_some(o, text + at, bytes - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	o->is_cut = o->is_cut || (at > 0 && text[at - 1] != '\n');
	return count_lines(text + at, bytes - at);
}

/* May block for ever.  Returns the number of lost lines. */
static uint64_t output_write(struct output *o, const char *text, size_t bytes)
{
	uint64_t lost_count = 0;

	for (size_t at = 0; at < bytes;) {
		size_t piece = piece_bytes(text + at, bytes - at);

		lost_count += write_piece(o, text + at, piece);
		at += piece;
	}
	return lost_count;
}

/* After the lines that filled the buffer.  Returns the count not reported. */
static uint64_t report_dropped(struct log *l, uint64_t count)
{
	char line[LOG_LINE_BYTES];
	size_t bytes = log_line_of_dropped(line, l->form, count);

	return output_write(&l->output, line, bytes) == 0 ? 0 : count;
}

/* Caller holds l->lock; it is released while this writes. */
static void write_waiting(struct log *l)
{
	size_t bytes = l->waiting_bytes;
	uint64_t dropped_count = l->dropped_count;
	char *text = l->waiting;

	l->waiting = l->writing;
	l->writing = text;
	l->waiting_bytes = 0;
	l->dropped_count = 0;
	(void)pthread_mutex_unlock(&l->lock);

	uint64_t lost_count = output_write(&l->output, text, bytes);

	if (dropped_count > 0)
		lost_count += report_dropped(l, dropped_count);
	(void)pthread_mutex_lock(&l->lock);
	l->dropped_count += lost_count;
}

/* Caller holds l->lock.  Wait for a line, then a little for more lines. */
static void wait_for_work(struct log *l)
{
	uint64_t end_ns;

	while (l->waiting_bytes == 0 && !l->stopping)
		(void)pthread_cond_wait(&l->has_work, &l->lock);
	end_ns = clock_after_ms(GATHER_MS);
	while (l->waiting_bytes < GATHER_BYTES && !l->stopping &&
	       wait_until(&l->has_work, &l->lock, end_ns))
		;
}

/* Lost lines are reported after the next line, or at the end. */
static void *write_lines(void *arg)
{
	struct log *l = arg;

	(void)pthread_setname_np(pthread_self(), "log");
	(void)pthread_mutex_lock(&l->lock);
	while (!l->stopping || l->waiting_bytes > 0) {
		wait_for_work(l);
		write_waiting(l);
	}
	if (l->dropped_count > 0)
		write_waiting(l);
	l->ended = true;
	(void)pthread_cond_signal(&l->has_ended);
	(void)pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void log_append(struct log *l, const char *text, size_t bytes)
{
	(void)pthread_mutex_lock(&l->lock);

	size_t before = l->waiting_bytes;
	bool wakes = false;

	if (bytes <= LOG_BUFFER_BYTES - before) {
		memcpy(l->waiting + before, text, bytes);
		l->waiting_bytes += bytes;
		wakes = before == 0 || (before < GATHER_BYTES &&
					l->waiting_bytes >= GATHER_BYTES);
	} else {
		l->dropped_count += count_lines(text, bytes);
	}
	(void)pthread_mutex_unlock(&l->lock);
	if (wakes)
		(void)pthread_cond_signal(&l->has_work);
}

/* Append `line` and free it.  NULL: there was no memory for it. */
static void log_append_made(struct log *l, char *line)
{
	if (line == NULL)
		return;
	log_append(l, line, strlen(line));
	free(line);
}

static void log_free(struct log *l)
{
	(void)pthread_cond_destroy(&l->has_ended);
	(void)pthread_cond_destroy(&l->has_work);
	(void)pthread_mutex_destroy(&l->lock);
	free(l->waiting);
	free(l->writing);
	free(l);
}

static enum log_form form_of(const struct log_config *config)
{
	bool is_json = config->mode == LOG_JSON ||
		       (config->mode == LOG_AUTO && isatty(config->fd) == 0);

	return is_json ? LOG_FORM_JSON : LOG_FORM_TEXT;
}

struct log *log_start(const struct log_config *config)
{
	struct log *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->config = *config;
	l->output.fd = config->fd;
	l->form = form_of(config);
	(void)pthread_mutex_init(&l->lock, NULL);
	wait_init(&l->has_work);
	wait_init(&l->has_ended);
	l->waiting = malloc(LOG_BUFFER_BYTES);
	l->writing = malloc(LOG_BUFFER_BYTES);
	if (l->waiting != NULL && l->writing != NULL &&
	    pthread_create(&l->writer, NULL, write_lines, l) == 0)
		return l;
	log_free(l);
	return NULL;
}

void log_request(struct log *l, struct log_request *r)
{
	uint64_t slow_ns = l->config.slow_ms * UINT64_C(1000000);
	char line[LOG_LINE_BYTES];

	if (l->config.mode == LOG_OFF)
		return;
	r->is_slow = slow_ns > 0 && r->total_ns >= slow_ns;
	r->policy = l->config.policy;
	log_append(l, line, log_line_of_request(line, l->form, r));
}

bool log_is_json(const struct log *l)
{
	return l->form == LOG_FORM_JSON;
}

void log_value(struct log *l, const char *name, const char *json)
{
	assert(log_is_json(l));
	if (json != NULL)
		log_append_made(l, log_line_of_value(name, json));
}

void log_message(struct log *l, enum log_level level, const char *format, ...)
{
	char *text;
	va_list list;
	int n;

	va_start(list, format);
	n = vasprintf(&text, format, list);
	va_end(list);
	if (n < 0)
		return;
	log_append_made(l, log_line_of_message(l->form, level, text));
	free(text);
}

FILE *log_begin(struct log *l)
{
	assert(l->draft == NULL);
	l->draft = text_open(&l->draft_text);
	return l->draft;
}

/* The draft; the caller frees it.  NULL: no memory. */
static char *take_draft(struct log *l)
{
	char *text = text_close(&l->draft_text, l->draft);

	l->draft = NULL;
	return text;
}

void log_end(struct log *l)
{
	char *text = take_draft(l);

	if (text != NULL)
		log_append_made(
			l, log_line_of_message(l->form, LOG_LEVEL_INFO, text));
	free(text);
}

void log_end_table(struct log *l)
{
	assert(!log_is_json(l));
	log_append_made(l, take_draft(l));
}

/* Caller holds l->lock.  Wait up to `limit_ms`: has the writer ended? */
static bool wait_ended(struct log *l, uint32_t limit_ms)
{
	uint64_t end_ns = clock_after_ms(limit_ms);

	while (!l->ended && wait_until(&l->has_ended, &l->lock, end_ns))
		;
	return l->ended;
}

static void on_signal(int number)
{
	(void)number;
}

/*
 * Caller holds l->lock.  A signal ends a write() that blocks.  It is sent again
 * and again, because it may come just before a write().  pthread_cancel() would
 * load a library, which the sandbox forbids.
 */
static void hurry_writer(struct log *l)
{
	struct sigaction act = { .sa_handler = on_signal };

	(void)sigaction(SIGUSR2, &act, NULL);
	atomic_store(&l->output.hurrying, true);
	do
		(void)pthread_kill(l->writer, SIGUSR2);
	while (!wait_ended(l, HURRY_MS));
}

void log_stop(struct log *l, uint32_t limit_ms)
{
	if (l == NULL)
		return;
	(void)pthread_mutex_lock(&l->lock);
	l->stopping = true;
	(void)pthread_cond_signal(&l->has_work);
	if (!wait_ended(l, limit_ms))
		hurry_writer(l);
	(void)pthread_mutex_unlock(&l->lock);
	(void)pthread_join(l->writer, NULL);
	log_free(l);
}
