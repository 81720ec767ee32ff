/* SPDX-License-Identifier: MIT */
#include "loadgen/trace_file.h"

#include "loadgen/lines.h"
#include "loadgen/number.h"

#include <stdlib.h>
#include <string.h>

enum { TRACE_S_MAX = 1000000, TRACE_FIRST = 1024 };

static bool add_time(struct trace *t, size_t *capacity, double time_s)
{
	double *times_s;

	if (t->count == *capacity) {
		*capacity = *capacity == 0 ? TRACE_FIRST : 2 * *capacity;
		times_s = reallocarray(t->times_s, *capacity, sizeof(*times_s));
		if (times_s == NULL)
			return false;
		t->times_s = times_s;
	}
	t->times_s[t->count++] = time_s;
	return true;
}

/* A time, and nothing else but spaces around it. */
static bool parse_time(const char *text, double *time_s)
{
	text += strspn(text, " \t");
	if (!number_take(&text, time_s) || *time_s > TRACE_S_MAX)
		return false;
	return text[strspn(text, " \t")] == '\0';
}

/* False: the line is blamed. */
static bool take_line(struct trace *t, size_t *capacity, struct lines *lines,
		      const char *text)
{
	double time_s;

	if (!parse_time(text, &time_s))
		lines_blame(lines, "'%s': not a time from 0 to %d s", text,
			    TRACE_S_MAX);
	else if (t->count > 0 && time_s < t->times_s[t->count - 1])
		lines_blame(lines, "'%s': earlier than the time before it",
			    text);
	else if (!add_time(t, capacity, time_s))
		lines_blame(lines, "out of memory");
	return !lines->failed;
}

bool trace_read(struct trace *t, const char *path, struct error *error)
{
	struct lines lines;
	size_t capacity = 0;
	bool is_good;
	char *text;

	if (!lines_open(&lines, path, error))
		return false;
	while ((text = lines_next(&lines)) != NULL)
		if (!take_line(t, &capacity, &lines, text))
			break;
	is_good = lines_close(&lines);
	if (is_good && (t->count == 0 || t->times_s[t->count - 1] <= 0)) {
		error_set(error, "%s: no time after 0 in it", path);
		is_good = false;
	}
	if (!is_good)
		trace_release(t);
	return is_good;
}

void trace_release(struct trace *t)
{
	free(t->times_s);
	*t = (struct trace){ 0 };
}
