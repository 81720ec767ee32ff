/* SPDX-License-Identifier: MIT */
#include "service/log/log_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	TIME_BYTES = sizeof("2026-01-31T12:00:00.250Z"),
	CLOCK_AT = sizeof("2026-01-31T") - 1, /* where the hours begin */
	CLOCK_LENGTH = sizeof("12:00:00.250") - 1,
	HEAD_BYTES = 128,
	ESCAPED_BYTES = sizeof("\\u0000") - 1,
};

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
	line_add(line, ",\"%s_s\":%" PRIu64 ".%06" PRIu64, name,
		 ns / 1000000000, ns / 1000 % 1000000);
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

/* Only times above 0. */
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

size_t log_line_of_request(char text[LOG_LINE_BYTES], enum log_form form,
			   const struct log_request *r)
{
	struct line line = { text, 0, LOG_LINE_BYTES };

	if (form == LOG_FORM_JSON)
		add_request_json(&line, r);
	else
		add_request_text(&line, r);
	return line_end(&line);
}

size_t log_line_of_dropped(char text[LOG_LINE_BYTES], enum log_form form,
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

/* Room for `bytes` and the rest of the line.  False: no memory. */
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

char *log_line_of_message(enum log_form form, enum log_level level,
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

char *log_line_of_value(const char *event, const char *json)
{
	struct line line;

	if (!make_room(&line, strlen(event) + strlen(json)))
		return NULL;
	begin_json(&line, LOG_LEVEL_INFO, event);
	line_add(&line, ",\"%s\":%s}", event, json);
	return end_string(&line);
}
