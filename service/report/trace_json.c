/* SPDX-License-Identifier: MIT */
#include "service/report/trace_json.h"

#include "service/clock.h"
#include "service/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK_SPANS = 256 };

/* Names need no escapes: they are the program's own. */
static void print_name(FILE *to, uint32_t worker, const char *name)
{
	(void)fprintf(to,
		      "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,"
		      "\"tid\":%" PRIu32 ",\"args\":{\"name\":\"%s\"}}",
		      worker == 0 ? "[" : ",\n", worker, name);
}

static void print_visit(FILE *to, uint32_t worker, const struct span *v)
{
	uint64_t ns = v->end_ns - v->start_ns;

	(void)fprintf(
		to,
		",\n{\"name\":\"%s\",\"ph\":\"X\",\"ts\":%" PRIu64 ".%03" PRIu64
		",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"pid\":1,\"tid\":%" PRIu32
		",\"args\":{\"events\":%" PRIu64 "}}",
		pipeline_step_names[v->stage], v->start_ns / 1000,
		v->start_ns % 1000, ns / 1000, ns % 1000, worker, v->number);
}

bool trace_json_begin(struct trace_json *t, FILE *to, const struct group *group,
		      uint64_t since_ns)
{
	uint32_t count = group_worker_count(group);

	*t = (struct trace_json){
		.to = to,
		.group = group,
		.since_ns = since_ns,
		.next = calloc(count, sizeof(*t->next)),
	};
	if (t->next == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct worker_stats worker;

		group_read_worker(group, i, &worker);
		print_name(to, i, worker.name);
	}
	return true;
}

static void add_worker(struct trace_json *t, uint32_t worker)
{
	struct span spans[CHUNK_SPANS];
	uint64_t before;

	do {
		before = t->next[worker];

		uint32_t count =
			group_read_trace(t->group, worker, &t->next[worker],
					 spans, CHUNK_SPANS, &t->missed_count);

		for (uint32_t i = 0; i < count; i++)
			if (spans[i].kind == SPAN_VISIT &&
			    spans[i].end_ns > t->since_ns)
				print_visit(t->to, worker, &spans[i]);
	} while (t->next[worker] != before);
}

void trace_json_add(struct trace_json *t)
{
	for (uint32_t i = 0; i < group_worker_count(t->group); i++)
		add_worker(t, i);
}

void trace_json_end(struct trace_json *t)
{
	(void)fputs("]\n", t->to);
	free(t->next);
}

char *trace_json_last(const struct group *group, uint32_t ms)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t span_ns = ms * UINT64_C(1000000);
	struct text text;
	struct trace_json t;
	FILE *f = text_open(&text);

	if (f == NULL)
		return NULL;

	bool ok = trace_json_begin(&t, f, group,
				   now_ns > span_ns ? now_ns - span_ns : 0);

	if (ok) {
		trace_json_add(&t);
		trace_json_end(&t);
	}

	char *bytes = text_close(&text, f);

	if (ok)
		return bytes;
	free(bytes);
	return NULL;
}
