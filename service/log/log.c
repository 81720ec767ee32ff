/* SPDX-License-Identifier: MIT */
/*
 * In this order: the text of a line, the buffer, the thread that writes it, and
 * the functions of log.h.
 */
#include "service/log/log.h"

#include "base/clock.h"
#include "base/text.h"
#include "service/wait.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	/*
	 * Waking the writer costs more than writing a line.  So the writer
	 * collects lines for this time, or until they fill half of the buffer,
	 * and then writes them together.
	 */
	GATHER_MS = 10,
	GATHER_BYTES = LOG_BUFFER_BYTES / 2,
	HURRY_MS = 10,
	/* Parts of a line. */
	TIME_BYTES = sizeof("2026-01-31T12:00:00.250Z"),
	CLOCK_AT = sizeof("2026-01-31T") - 1, /* offset of the hours */
	CLOCK_LENGTH = sizeof("12:00:00.250") - 1,
	HEAD_BYTES = 128,
	ESCAPED_BYTES = sizeof("\\u0000") - 1,
};

enum log_form { LOG_FORM_JSON, LOG_FORM_TEXT };

static const char *const level_names[] = {
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_ERROR] = "error",
};

/* RFC 3339, in UTC. */
static void print_now(char out[TIME_BYTES])
{
	struct timespec now;
	struct tm day;
	size_t at;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &day);
	at = strftime(out, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &day);
	(void)snprintf(out + at, TIME_BYTES - at, ".%03dZ",
		       (int)(now.tv_nsec / 1000000 % 1000));
}

/* A line of limited size; its last byte is kept for the line feed. */
struct line {
	char *text;
	size_t count, count_max;
};

__attribute__((format(printf, 2, 3))) static void
line_add(struct line *line, const char *format, ...)
{
	size_t room = line->count_max - line->count;
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(line->text + line->count, room, format, list);
	va_end(list);
	if (n > 0)
		line->count += (size_t)n < room ? (size_t)n : room - 1;
}

static void line_add_byte(struct line *line, char c)
{
	if (line->count + 1 < line->count_max)
		line->text[line->count++] = c;
}

static size_t line_end(struct line *line)
{
	line->text[line->count++] = '\n';
	return line->count;
}

static bool is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

/* Replace control characters, which could change a terminal. */
static void make_safe(struct line *line)
{
	for (size_t i = 0; i < line->count; i++)
		if (is_control((unsigned char)line->text[i]))
			line->text[i] = '?';
}

static void add_string(struct line *line, const char *name, const char *text)
{
	line_add(line, ",\"%s\":", name);
	if (text == NULL) {
		line_add(line, "null");
		return;
	}
	line_add_byte(line, '"');
	for (; *text != '\0'; text++) {
		if (is_control((unsigned char)*text)) {
			line_add(line, "\\u%04x", (unsigned char)*text);
			continue;
		}
		if (*text == '"' || *text == '\\')
			line_add_byte(line, '\\');
		line_add_byte(line, *text);
	}
	line_add_byte(line, '"');
}

static void add_whole(struct line *line, const char *name, uint64_t number)
{
	line_add(line, ",\"%s\":%" PRIu64, name, number);
}

static void add_seconds(struct line *line, const char *name, uint64_t ns)
{
	line_add(line, ",\"%s_s\":%" PRIu64 ".%06" PRIu64, name, ns / NS_PER_S,
		 ns / 1000 % 1000000);
}

static void begin_json(struct line *line, enum log_level level,
		       const char *event)
{
	char now[TIME_BYTES];

	print_now(now);
	line_add(line, "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%s\"",
		 now, level_names[level], event);
}

static void begin_text(struct line *line)
{
	char now[TIME_BYTES];

	print_now(now);
	line_add(line, "%.*s ", CLOCK_LENGTH, now + CLOCK_AT);
}

static enum log_level level_of(const struct log_request *r)
{
	return r->status >= 500 || r->is_slow ? LOG_LEVEL_WARN : LOG_LEVEL_INFO;
}

static void add_timeline_json(struct line *line, const struct log_request *r)
{
	line_add(line, ",\"timeline\":[");
	for (uint32_t i = 0; i < r->step_count; i++) {
		const struct log_step *step = &r->steps[i];

		line_add(line, "%s{\"step\":\"%s\"", i > 0 ? "," : "",
			 step->name);
		add_seconds(line, "start", step->start_ns);
		add_seconds(line, "dur", step->ns);
		line_add(line, "}");
	}
	line_add(line, "]");
}

static void add_request_json(struct line *line, const struct log_request *r)
{
	begin_json(line, level_of(r), "request");
	add_string(line, "id", r->id);
	add_string(line, "trace", r->trace_id);
	add_string(line, "span", r->span_id);
	add_string(line, "parent_span", r->parent_span_id);
	add_string(line, "method", r->method);
	add_string(line, "path", r->path);
	add_string(line, "end", r->end);
	if (r->status != 0)
		add_whole(line, "status", r->status);
	else
		line_add(line, ",\"status\":null");
	add_string(line, "code", r->code);
	add_whole(line, "bytes_in", r->bytes_in);
	add_whole(line, "bytes_out", r->bytes_out);
	add_whole(line, "pixels_in", r->pixels_in);
	add_whole(line, "pixels_out", r->pixels_out);
	add_whole(line, "variants", r->variant_count);
	for (uint32_t i = 0; i < r->time_count; i++)
		add_seconds(line, r->times[i].name, r->times[i].ns);
	add_seconds(line, "total", r->total_ns);
	line_add(line, ",\"slow\":%s", r->is_slow ? "true" : "false");
	if (r->is_slow)
		add_timeline_json(line, r);
	add_string(line, "policy", r->policy);
	line_add(line, "}");
}

static void add_size(struct line *line, const char *before, uint64_t bytes,
		     uint64_t pixels)
{
	line_add(line, "%s%" PRIu64 " B", before, bytes);
	if (pixels > 0)
		line_add(line, " %.2f MP", (double)pixels / 1e6);
}

/* Adds only times above 0. */
static void add_times(struct line *line, const struct log_request *r)
{
	const char *before = ": ";

	for (uint32_t i = 0; i < r->time_count; i++) {
		if (r->times[i].ns == 0)
			continue;
		line_add(line, "%s%s %.1f", before, r->times[i].name,
			 (double)r->times[i].ns / 1e6);
		before = ", ";
	}
}

/* SLOW: body 1200.0 at 0.0, decode 8.4 at 1200.1, ... */
static void add_timeline(struct line *line, const struct log_request *r)
{
	const char *before = ": ";

	line_add(line, " SLOW");
	for (uint32_t i = 0; i < r->step_count; i++) {
		const struct log_step *step = &r->steps[i];

		line_add(line, "%s%s %.1f at %.1f", before, step->name,
			 (double)step->ns / 1e6, (double)step->start_ns / 1e6);
		before = ", ";
	}
}

static void add_request_text(struct line *line, const struct log_request *r)
{
	begin_text(line);
	if (r->status != 0)
		line_add(line, "%u", r->status);
	else
		line_add(line, "---");
	line_add(line, " %s %s", r->method != NULL ? r->method : "?",
		 r->path != NULL ? r->path : "?");
	if (r->code != NULL)
		line_add(line, " %s", r->code);
	if (strcmp(r->end, "sent") != 0)
		line_add(line, " %s", r->end);
	add_size(line, ", ", r->bytes_in, r->pixels_in);
	add_size(line, " to ", r->bytes_out, r->pixels_out);
	line_add(line, " in %.1f ms", (double)r->total_ns / 1e6);
	add_times(line, r);
	line_add(line, "; %s", r->id);
	if (r->trace_id != NULL)
		line_add(line, " of trace %s", r->trace_id);
	if (r->is_slow)
		add_timeline(line, r);
	make_safe(line);
}

/* Returns the length of the line.  The longest possible line fits. */
static size_t line_of_request(char text[LOG_LINE_BYTES], enum log_form form,
			      const struct log_request *r)
{
	struct line line = { text, 0, LOG_LINE_BYTES };

	if (form == LOG_FORM_JSON)
		add_request_json(&line, r);
	else
		add_request_text(&line, r);
	return line_end(&line);
}

/* The line that reports `count` dropped lines. */
static size_t line_of_dropped(char text[LOG_LINE_BYTES], enum log_form form,
			      uint64_t count)
{
	struct line line = { text, 0, LOG_LINE_BYTES };

	if (form == LOG_FORM_JSON) {
		begin_json(&line, LOG_LEVEL_WARN, "dropped");
		add_whole(&line, "lines", count);
		line_add(&line, "}");
	} else {
		begin_text(&line);
		line_add(&line, "%" PRIu64 " lines of this log are missing",
			 count);
	}
	return line_end(&line);
}

/* Make room for `bytes` and the rest of the line.  False: no memory. */
static bool make_room(struct line *line, size_t bytes)
{
	*line = (struct line){ .count_max = bytes + HEAD_BYTES };
	line->text = malloc(line->count_max + sizeof(""));
	return line->text != NULL;
}

static char *end_string(struct line *line)
{
	line->text[line_end(line)] = '\0';
	return line->text;
}

/* `text` may have any length; the caller frees the line.  NULL: no memory. */
static char *line_of_message(enum log_form form, enum log_level level,
			     const char *text)
{
	struct line line;

	if (!make_room(&line, strlen(text) * ESCAPED_BYTES))
		return NULL;
	if (form == LOG_FORM_JSON) {
		begin_json(&line, level, "message");
		add_string(&line, "message", text);
		line_add(&line, "}");
	} else {
		line_add(&line, "darkroom: %s", text);
		make_safe(&line);
	}
	return end_string(&line);
}

/*
 * A line that is always JSON: an event `event`, whose member of the same name
 * is `json`.
 */
static char *line_of_value(const char *event, const char *json)
{
	struct line line;

	if (!make_room(&line, strlen(event) + strlen(json)))
		return NULL;
	begin_json(&line, LOG_LEVEL_INFO, event);
	line_add(&line, ",\"%s\":%s}", event, json);
	return end_string(&line);
}

/*
 * Output: writes lines to a descriptor that may be slow, stuck, full or closed.
 * Each write() has whole lines, and at most PIPE_BUF bytes unless one line is
 * longer; then a pipe does not mix them with the lines of other writers.
 */
struct output {
	int fd;
	bool is_cut; /* the last line was written only in part */
	/*
	 * The log is being closed: write() is not called again, and a signal
	 * ends a call that blocks.
	 */
	_Atomic bool hurrying;
};

struct log {
	struct log_config config;
	enum log_form form;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t has_work; /* signals the writer */
	pthread_cond_t has_ended;

	/* Protected by `lock`. */
	char *waiting;
	size_t waiting_bytes;
	uint64_t dropped_count; /* dropped lines that were not reported yet */
	bool stopping, ended;

	/* The message between log_begin() and log_end(). */
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
 * The size of the next write(): as many whole lines as a pipe takes in one
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

/*
 * Write a line that reports `count` dropped lines.  Returns 0, or `count` if
 * the line could not be written.
 */
static uint64_t report_dropped(struct log *l, uint64_t count)
{
	char line[LOG_LINE_BYTES];
	size_t bytes = line_of_dropped(line, l->form, count);

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

/*
 * The writer's thread.  Dropped lines are reported after the next line, or at
 * the end.
 */
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

/*
 * Append `line` and free it.  If it is NULL, there was no memory for it, and it
 * counts as dropped.
 */
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
	uint64_t slow_ns = l->config.slow_ms * NS_PER_MS;
	char line[LOG_LINE_BYTES];

	if (l->config.mode == LOG_OFF)
		return;
	r->is_slow = slow_ns > 0 && r->total_ns >= slow_ns;
	r->policy = l->config.policy;
	log_append(l, line, line_of_request(line, l->form, r));
}

bool log_is_json(const struct log *l)
{
	return l->form == LOG_FORM_JSON;
}

void log_value(struct log *l, const char *name, const char *json)
{
	assert(log_is_json(l));
	if (json != NULL)
		log_append_made(l, line_of_value(name, json));
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
	log_append_made(l, line_of_message(l->form, level, text));
	free(text);
}

FILE *log_begin(struct log *l)
{
	assert(l->draft == NULL);
	l->draft = text_open(&l->draft_text);
	return l->draft;
}

/* Take the text of the draft; the caller frees it.  NULL: no memory. */
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
		log_append_made(l,
				line_of_message(l->form, LOG_LEVEL_INFO, text));
	free(text);
}

void log_end_table(struct log *l)
{
	assert(!log_is_json(l));
	log_append_made(l, take_draft(l));
}

/*
 * Caller holds l->lock.  Wait up to `limit_ms` for the writer to end.  True: it
 * has ended.
 */
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
