/* SPDX-License-Identifier: MIT */
#include "service/report/trace_json.h"

#include "service/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Viewers take a thread whose number is the process's for its main one. */
enum { PROCESS = 1, THREAD_FIRST = 1 };

/* Names need no escapes: they are the program's own. */
static void print_track(FILE *to, const struct tracks *t, uint32_t track)
{
	struct worker_stats worker;
	uint32_t thread = THREAD_FIRST + track;

	group_read_worker(t->tracks[track].group, t->tracks[track].worker,
			  &worker);
	(void)fprintf(to,
		      ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,"
		      "\"tid\":%" PRIu32 ",\"args\":{\"name\":\"%s\"}}",
		      PROCESS, thread, worker.name);
	(void)fprintf(to,
		      ",\n{\"name\":\"thread_sort_index\",\"ph\":\"M\","
		      "\"pid\":%d,\"tid\":%" PRIu32
		      ",\"args\":{\"sort_index\":%" PRIu32 "}}",
		      PROCESS, thread, thread);
}

void trace_json_begin(FILE *to, const struct tracks *t)
{
	(void)fprintf(to,
		      "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,"
		      "\"args\":{\"name\":\"darkroom\"}}",
		      PROCESS);
	for (uint32_t i = 0; i < t->track_count; i++)
		print_track(to, t, i);
}

static void print_slice(FILE *to, const struct track_span *s)
{
	uint64_t start_ns = s->span.start_ns;
	uint64_t ns = s->span.end_ns - start_ns;

	(void)fprintf(to,
		      ",\"ph\":\"X\",\"ts\":%" PRIu64 ".%03" PRIu64
		      ",\"dur\":%" PRIu64 ".%03" PRIu64
		      ",\"pid\":%d,\"tid\":%" PRIu32,
		      start_ns / 1000, start_ns % 1000, ns / 1000, ns % 1000,
		      PROCESS, THREAD_FIRST + s->track);
}

static void print_visit(FILE *to, const char *stage, const struct track_span *s)
{
	(void)fprintf(to, ",\n{\"name\":\"%s\",\"cat\":\"visit\"", stage);
	print_slice(to, s);
	(void)fprintf(to, ",\"args\":{\"events\":%" PRIu64 "}}",
		      s->span.number);
}

/* Which event is a request's last is not known: all but the first go on. */
static void print_event(FILE *to, const char *stage, const struct track_span *s)
{
	(void)fprintf(to, ",\n{\"name\":\"%s %" PRIx64 "\",\"cat\":\"event\"",
		      stage, s->span.number);
	print_slice(to, s);
	(void)fprintf(to,
		      ",\"bind_id\":\"0x%" PRIx64 "\",\"flow_out\":true%s"
		      ",\"args\":{\"request\":\"" UPLOAD_NUMBER "\"}}",
		      s->span.number, s->is_first ? "" : ",\"flow_in\":true",
		      s->span.number);
}

void trace_json_add(FILE *to, const struct tracks *t)
{
	for (size_t i = 0; i < t->span_count; i++) {
		const struct track_span *s = &t->spans[i];
		const char *stage = tracks_stage_name(t, s);

		if (s->span.kind == SPAN_VISIT)
			print_visit(to, stage, s);
		else
			print_event(to, stage, s);
	}
}

void trace_json_end(FILE *to)
{
	(void)fputs("]\n", to);
}

static void print_window(FILE *to, const struct tracks *t)
{
	trace_json_begin(to, t);
	trace_json_add(to, t);
	trace_json_end(to);
}

char *trace_json_window(const struct pipeline *p, uint64_t since_ns,
			uint64_t until_ns)
{
	struct tracks t;
	struct text text;
	FILE *to;
	char *json = NULL;

	if (!tracks_init(&t, p, false))
		return NULL;
	to = tracks_take(&t, since_ns, until_ns) ? text_open(&text) : NULL;
	if (to != NULL) {
		print_window(to, &t);
		json = text_close(&text, to);
	}
	tracks_release(&t);
	return json;
}
