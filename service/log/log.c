/* SPDX-License-Identifier: MIT */
#include "service/log/log.h"

#include "service/clock.h"
#include "service/log/log_output.h"
#include "service/text.h"
#include "service/wait.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	/*
	 * Lines of so long are written together, unless they fill half of the
	 * buffer: to wake the writer for each costs more than the line.
	 */
	GATHER_MS = 10,
	GATHER_BYTES = LOG_BUFFER_BYTES / 2,
	HURRY_MS = 10,
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
	uint64_t dropped_count; /* not yet told */
	bool stopping, ended;

	/* From log_begin() to log_end(). */
	FILE *draft;
	struct text draft_text;

	/* The writer's own. */
	char *writing;
	struct log_output output;
};

/* Behind the lines that filled the buffer.  Returns what is still to tell. */
static uint64_t tell_dropped(struct log *l, uint64_t count)
{
	char line[LOG_LINE_BYTES];
	size_t bytes = log_line_of_dropped(line, l->form, count);

	return log_output_write(&l->output, line, bytes) == 0 ? 0 : count;
}

/* Caller holds l->lock, which is not held meanwhile. */
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

	uint64_t lost_count = log_output_write(&l->output, text, bytes);

	if (dropped_count > 0)
		lost_count += tell_dropped(l, dropped_count);
	(void)pthread_mutex_lock(&l->lock);
	l->dropped_count += lost_count;
}

/* Caller holds l->lock.  Until there is something, and a while for more. */
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

/* What could not be written is told with the next line, or at the end. */
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

static void put(struct log *l, const char *text, size_t bytes)
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
		l->dropped_count += log_output_count_lines(text, bytes);
	}
	(void)pthread_mutex_unlock(&l->lock);
	if (wakes)
		(void)pthread_cond_signal(&l->has_work);
}

/* Takes `line`; NULL: there was no memory for it. */
static void put_made(struct log *l, char *line)
{
	if (line == NULL)
		return;
	put(l, line, strlen(line));
	free(line);
}

static void release(struct log *l)
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
	release(l);
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
	put(l, line, log_line_of_request(line, l->form, r));
}

bool log_is_json(const struct log *l)
{
	return l->form == LOG_FORM_JSON;
}

void log_value(struct log *l, const char *name, const char *json)
{
	assert(log_is_json(l));
	if (json != NULL)
		put_made(l, log_line_of_value(name, json));
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
	put_made(l, log_line_of_message(l->form, level, text));
	free(text);
}

FILE *log_begin(struct log *l)
{
	assert(l->draft == NULL);
	l->draft = text_open(&l->draft_text);
	return l->draft;
}

/* The draft, to be free()d.  NULL: no memory. */
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
		put_made(l, log_line_of_message(l->form, LOG_LEVEL_INFO, text));
	free(text);
}

void log_end_table(struct log *l)
{
	assert(!log_is_json(l));
	put_made(l, take_draft(l));
}

/* Caller holds l->lock.  Has the writer ended, after so long at most? */
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
 * Caller holds l->lock.  A signal ends a write() that blocks; again and again,
 * as it may come just before one.  pthread_cancel() would load a library, which
 * a sandbox does not let it.
 */
static void hurry(struct log *l)
{
	struct sigaction act = { .sa_handler = on_signal };

	(void)sigaction(SIGUSR2, &act, NULL);
	log_output_hurry(&l->output);
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
		hurry(l);
	(void)pthread_mutex_unlock(&l->lock);
	(void)pthread_join(l->writer, NULL);
	release(l);
}
