/* SPDX-License-Identifier: MIT */
/*
 * In this order: the text of a line, the buffer, the thread that writes it, and
 * the functions of log.h.
 */
#include "service/log/log.h"

#include "base/clock.h"
#include "base/json.h"
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

static size_t line_end(struct line *line)
{
	line->text[line->count++] = '\n';
	return line->count;
}

/* Replace control characters, which could change a terminal. */
static void make_safe(struct line *line)
{
	for (size_t i = 0; i < line->count; i++) {
		unsigned char c = (unsigned char)line->text[i];

		if (c < ' ' || c == 0x7f)
			line->text[i] = '?';
	}
}

/* What was written into the rest of `line`. */
static void line_add_json(struct line *line, const struct json *j)
{
	line->count = (size_t)(j->at - line->text);
}

static void begin_json(struct json *j, struct line *line, enum log_level level,
		       const char *event)
{
	char now[TIME_BYTES];

	print_now(now);
	json_begin_bytes(j, line->text, line->count_max - 1);
	json_open_object(j, NULL);
	json_add_text(j, "time", now);
	json_add_text(j, "level", level_names[level]);
	json_add_text(j, "event", event);
}

/* A member NAME_s. */
static void add_seconds(struct json *j, const char *name, uint64_t ns)
{
	char member[32];

	assert(strlen(name) + sizeof("_s") <= sizeof(member));
	(void)stpcpy(stpcpy(member, name), "_s");
	json_add_decimal(j, member, ns / 1000, 6);
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

static void add_timeline_json(struct json *j, const struct log_request *r)
{
	json_open_array(j, "timeline");
	for (uint32_t i = 0; i < r->step_count; i++) {
		json_open_object(j, NULL);
		json_add_text(j, "step", r->steps[i].name);
		add_seconds(j, "start", r->steps[i].start_ns);
		add_seconds(j, "dur", r->steps[i].ns);
		json_close(j);
	}
	json_close(j);
}

static void add_request_json(struct line *line, const struct log_request *r)
{
	struct json j;

	begin_json(&j, line, level_of(r), "request");
	json_add_text(&j, "id", r->id);
	json_add_text(&j, "trace", r->trace_id);
	json_add_text(&j, "span", r->span_id);
	json_add_text(&j, "parent_span", r->parent_span_id);
	json_add_text(&j, "method", r->method);
	json_add_text(&j, "path", r->path);
	json_add_text(&j, "end", r->end);
	if (r->status != 0)
		json_add_whole(&j, "status", r->status);
	else
		json_add_null(&j, "status");
	json_add_text(&j, "code", r->code);
	json_add_whole(&j, "bytes_in", r->bytes_in);
	json_add_whole(&j, "bytes_out", r->bytes_out);
	json_add_whole(&j, "pixels_in", r->pixels_in);
	json_add_whole(&j, "pixels_out", r->pixels_out);
	json_add_whole(&j, "variants", r->variant_count);
	if (r->pdq[0] != '\0') {
		json_add_text(&j, "pdq", r->pdq);
		json_add_whole(&j, "pdq_quality", r->pdq_quality);
	}
	if (r->blocked_by[0] != '\0') {
		json_add_text(&j, "blocked_by", r->blocked_by);
		json_add_whole(&j, "blocked_distance", r->blocked_distance);
	}
	for (uint32_t i = 0; i < r->time_count; i++)
		add_seconds(&j, r->times[i].name, r->times[i].ns);
	add_seconds(&j, "total", r->total_ns);
	json_add_bool(&j, "slow", r->is_slow);
	if (r->is_slow)
		add_timeline_json(&j, r);
	json_add_text(&j, "policy", r->policy);
	json_close(&j);
	line_add_json(line, &j);
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
	if (r->pdq[0] != '\0')
		line_add(line, ", pdq %s quality %" PRIu32, r->pdq,
			 r->pdq_quality);
	if (r->blocked_by[0] != '\0')
		line_add(line, ", blocked by %s at %" PRIu32, r->blocked_by,
			 r->blocked_distance);
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
	struct json j;

	if (form == LOG_FORM_JSON) {
		begin_json(&j, &line, LOG_LEVEL_WARN, "dropped");
		json_add_whole(&j, "lines", count);
		json_close(&j);
		line_add_json(&line, &j);
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
	struct json j;

	if (!make_room(&line, strlen(text) * ESCAPED_BYTES))
		return NULL;
	if (form == LOG_FORM_JSON) {
		begin_json(&j, &line, level, "message");
		json_add_text(&j, "message", text);
		json_close(&j);
		line_add_json(&line, &j);
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
	struct json j;

	if (!make_room(&line, strlen(event) + strlen(json)))
		return NULL;
	begin_json(&j, &line, LOG_LEVEL_INFO, event);
	json_add_raw(&j, event, json);
	json_close(&j);
	line_add_json(&line, &j);
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
	r->is_slow = slow_ns > 0 && r->total_ns - r->idle_ns >= slow_ns;
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
