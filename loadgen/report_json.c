/* SPDX-License-Identifier: MIT */
/* The JSON of a report.  Every key is explained in docs/loadgen.md. */
#include "loadgen/report.h"

#include "loadgen/clock.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>

/* cJSON's own numbers are doubles, which do not hold every seed. */
static void add_count(cJSON *object, const char *name, uint64_t count)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, count);
	cJSON_AddRawToObject(object, name, text);
}

static void add_rate(cJSON *object, const char *name, double amount, double s)
{
	if (s > 0)
		cJSON_AddNumberToObject(object, name, amount / s);
	else
		cJSON_AddNullToObject(object, name);
}

/* `unit` of what was sampled is told as 1. */
static void add_figures(cJSON *object, const char *name,
			struct samples *samples, double unit)
{
	cJSON *figures = cJSON_AddObjectToObject(object, name);
	struct summary s;
	bool any = samples_summarize(samples, &s);

	for (int i = 0; i < FIGURE_COUNT; i++)
		if (any)
			cJSON_AddNumberToObject(figures, figure_names[i],
						s.figures[i] / unit);
		else
			cJSON_AddNullToObject(figures, figure_names[i]);
}

static void add_times(cJSON *object, const char *name, struct samples *ns)
{
	add_figures(object, name, ns, (double)NS_PER_MS);
}

static void add_slowdown(cJSON *object, const struct report *report,
			 struct samples *slowdown)
{
	if (report->options->calibrate)
		add_figures(object, "slowdown", slowdown, 1);
	else
		cJSON_AddNullToObject(object, "slowdown");
}

/* `below` is null in the last class. */
static void add_class(cJSON *classes, const struct report *report,
		      struct record_class *class, const char *name,
		      const char *below_name, double below, bool is_last)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "name", name);
	if (is_last)
		cJSON_AddNullToObject(object, below_name);
	else
		cJSON_AddNumberToObject(object, below_name, below);
	add_count(object, "count", class->response.count);
	add_times(object, "response_ms", &class->response);
	add_slowdown(object, report, &class->slowdown);
	cJSON_AddItemToArray(classes, object);
}

static void add_classes(cJSON *object, const struct report *report)
{
	struct record *r = &report->outcome->record;
	cJSON *by_size = cJSON_AddArrayToObject(object, "size_classes");
	cJSON *by_megapixels =
		cJSON_AddArrayToObject(object, "megapixel_classes");

	for (int i = 0; i < SIZE_CLASS_COUNT; i++)
		add_class(by_size, report, &r->by_size[i], size_classes[i].name,
			  "bytes_below", (double)size_classes[i].bytes_below,
			  i == SIZE_CLASS_COUNT - 1);
	for (int i = 0; i < MEGAPIXEL_CLASS_COUNT; i++)
		add_class(by_megapixels, report, &r->by_megapixels[i],
			  megapixel_classes[i].name, "megapixels_below",
			  megapixel_classes[i].megapixels_below,
			  i == MEGAPIXEL_CLASS_COUNT - 1);
}

static void add_percentiles(cJSON *object, struct samples *ns)
{
	cJSON *rungs = cJSON_AddArrayToObject(object, "percentiles");
	struct samples_rung rung;

	for (unsigned i = 0; samples_rung(ns, i, &rung); i++) {
		const double pair[] = { 100 * rung.percentile,
					rung.value / (double)NS_PER_MS };

		cJSON_AddItemToArray(rungs, cJSON_CreateDoubleArray(pair, 2));
	}
}

static void add_intervals(cJSON *object, const struct outcome *outcome)
{
	cJSON *intervals = cJSON_AddArrayToObject(object, "intervals");
	size_t count = intervals_count(outcome->makespan_ns);

	for (size_t i = 0; i < count; i++) {
		struct interval v = intervals_get(&outcome->record.intervals,
						  outcome->makespan_ns, i);
		cJSON *item = cJSON_CreateObject();

		cJSON_AddNumberToObject(item, "end_s", v.end_s);
		cJSON_AddNumberToObject(item, "bytes_per_s", v.bytes_per_s);
		cJSON_AddNumberToObject(item, "cumulative_bytes_per_s",
					v.cumulative_bytes_per_s);
		cJSON_AddItemToArray(intervals, item);
	}
}

static void add_outcomes(cJSON *object, const struct record *r)
{
	cJSON *responses = cJSON_AddObjectToObject(object, "responses");
	cJSON *errors;

	for (int status = 0; status < RECORD_STATUS_COUNT; status++) {
		char name[12];

		snprintf(name, sizeof(name), "%03d", status);
		if (r->responses[status] != 0)
			add_count(responses, name, r->responses[status]);
	}
	add_count(object, "transport_errors", r->transport_error_count);
	errors = cJSON_AddObjectToObject(object, "transport_error_texts");
	for (size_t i = 0; i < r->error_kinds; i++)
		add_count(errors, r->errors[i].text, r->errors[i].count);
}

static void add_verdict(cJSON *object, const char *name, bool is_wanted,
			const struct verdict *v)
{
	cJSON *verdict;

	if (!is_wanted) {
		cJSON_AddNullToObject(object, name);
		return;
	}
	verdict = cJSON_AddObjectToObject(object, name);
	add_count(verdict, "checked", v->checked_count);
	add_count(verdict, "wrong", v->wrong_count);
	if (v->wrong_count > 0)
		cJSON_AddStringToObject(verdict, "first_wrong",
					v->first_wrong.text);
	else
		cJSON_AddNullToObject(verdict, "first_wrong");
}

static void add_server(cJSON *object, const struct report *report)
{
	const struct server_usage *u = &report->outcome->server;
	cJSON *server;
	cJSON *pids;

	if (u->processes.count == 0) {
		cJSON_AddNullToObject(object, "server");
		return;
	}
	server = cJSON_AddObjectToObject(object, "server");
	pids = cJSON_AddArrayToObject(server, "pids");
	for (size_t i = 0; i < u->processes.count; i++)
		cJSON_AddItemToArray(pids,
				     cJSON_CreateNumber(u->processes.pids[i]));
	cJSON_AddNumberToObject(server, "cpu_s", u->cpu_s);
	add_rate(server, "cpu_percent", 100 * u->cpu_s,
		 report_makespan_s(report));
	add_count(server, "peak_memory_bytes", u->peak_memory_bytes);
	cJSON_AddBoolToObject(server, "peak_memory_is_of_run",
			      u->peak_was_reset);
	add_count(server, "voluntary_switches", u->voluntary_switches);
	add_count(server, "involuntary_switches", u->involuntary_switches);
}

static void add_warnings(cJSON *object, const struct report *report)
{
	cJSON *texts = cJSON_AddArrayToObject(object, "warnings");

	for (size_t i = 0; i < report->warning_count; i++)
		cJSON_AddItemToArray(
			texts, cJSON_CreateString(report->warnings[i].text));
}

static void add_open_loop(cJSON *object, const struct report *report)
{
	const struct options *o = report->options;
	struct record *r = &report->outcome->record;

	cJSON_AddNumberToObject(object, "rate_per_s", o->rate_per_s);
	cJSON_AddStringToObject(object, "arrivals", arrivals_name(o->arrivals));
	add_times(object, "schedule_lag_ms", &r->lag);
	add_count(object, "waited_for_connection", r->waited_count);
}

static void add_settings(cJSON *object, const struct report *report)
{
	const struct options *o = report->options;

	if (o->arrivals != ARRIVALS_NONE)
		add_open_loop(object, report);
	add_count(object, "connections", o->connections);
	if (o->passes != 0)
		add_count(object, "passes", o->passes);
	else
		cJSON_AddNumberToObject(object, "duration_s", o->duration_s);
	add_count(object, "seed", o->seed);
	cJSON_AddStringToObject(object, "url", o->url);
	cJSON_AddStringToObject(object, "dataset", o->dataset);
	add_count(object, "files", report->files);
}

static void add_rates(cJSON *object, const struct report *report)
{
	const struct record *r = &report->outcome->record;
	double s = report_makespan_s(report);

	add_rate(object, "bytes_per_s", (double)r->uploaded_bytes, s);
	add_rate(object, "responses_per_s", (double)r->ok_count, s);
	add_rate(object, "megapixels_per_s", r->megapixels, s);
	cJSON_AddNumberToObject(object, "makespan_s", s);
	add_intervals(object, report->outcome);
}

static void add_distributions(cJSON *object, const struct report *report)
{
	struct record *r = &report->outcome->record;

	add_times(object, "response_ms", &r->response);
	add_times(object, "response_from_last_byte_ms", &r->from_last_byte);
	add_times(object, "response_from_first_byte_ms", &r->from_first_byte);
	add_slowdown(object, report, &r->slowdown);
	add_classes(object, report);
	add_percentiles(object, &r->response);
}

bool report_write_json(FILE *out, const struct report *report)
{
	const struct outcome *outcome = report->outcome;
	const struct options *o = report->options;
	cJSON *object = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(object, "schema", REPORT_SCHEMA);
	add_rates(object, report);
	add_distributions(object, report);
	add_outcomes(object, &outcome->record);
	add_verdict(object, "verify", o->verify != VERIFY_NONE,
		    &outcome->verified);
	add_verdict(object, "golden", o->golden != NULL, &outcome->golden);
	add_server(object, report);
	cJSON_AddNumberToObject(object, "client_cpu_s", outcome->client_cpu_s);
	add_count(object, "client_peak_memory_bytes",
		  outcome->client_peak_memory_bytes);
	add_warnings(object, report);
	add_count(object, "requests", outcome->record.request_count);
	add_count(object, "uploaded_bytes", outcome->record.uploaded_bytes);
	add_settings(object, report);
	text = cJSON_Print(object);
	cJSON_Delete(object);
	if (text == NULL)
		return false;
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	return fflush(out) == 0 && !ferror(out);
}
