/* SPDX-License-Identifier: MIT */
/* The JSON of a report.  Every key is explained in docs/loadgen.md. */
#include "loadgen/report/report.h"

#include "base/clock.h"
#include "base/json.h"

#include <math.h>

/* Samples are divided by `unit`. */
static void json_add_figures(struct json *j, const char *name,
			     struct samples *samples, double unit)
{
	struct summary s;
	bool any = samples_summarize(samples, &s);

	json_open_object(j, name);
	for (int i = 0; i < FIGURE_COUNT; i++)
		json_add_number(j, figure_names[i],
				any ? s.figures[i] / unit : (double)NAN);
	json_close(j);
}

static void json_add_times(struct json *j, const char *name, struct samples *ns)
{
	json_add_figures(j, name, ns, (double)NS_PER_MS);
}

static void json_add_slowdown(struct json *j, const struct report *report,
			      struct samples *slowdown)
{
	if (report->options->calibrate)
		json_add_figures(j, "slowdown", slowdown, 1);
	else
		json_add_null(j, "slowdown");
}

/* `below_name` is null in the last class. */
static void json_add_classes(struct json *j, const struct report *report,
			     enum class_kind kind, const char *name,
			     const char *below_name)
{
	json_open_array(j, name);
	for (int i = 0; i < CLASS_COUNT; i++) {
		const struct class_bound *bound = &class_bounds[kind][i];
		struct record_class *class =
			&report->outcome->record.classes[kind][i];

		json_open_object(j, NULL);
		json_add_text(j, "name", bound->name);
		json_add_number(j, below_name, bound->below);
		json_add_whole(j, "count", class->response.count);
		json_add_times(j, "response_ms", &class->response);
		json_add_slowdown(j, report, &class->slowdown);
		json_close(j);
	}
	json_close(j);
}

static void json_add_percentiles(struct json *j, struct samples *ns)
{
	struct samples_rung rung;

	json_open_array(j, "percentiles");
	for (unsigned i = 0; samples_rung(ns, i, &rung); i++) {
		json_open_array(j, NULL);
		json_add_number(j, NULL, 100 * rung.percentile);
		json_add_number(j, NULL, rung.value / (double)NS_PER_MS);
		json_close(j);
	}
	json_close(j);
}

static void json_add_intervals(struct json *j, const struct outcome *outcome)
{
	size_t count = intervals_count(outcome->makespan_ns);

	json_open_array(j, "intervals");
	for (size_t i = 0; i < count; i++) {
		struct interval v = intervals_get(&outcome->record.intervals,
						  outcome->makespan_ns, i);

		json_open_object(j, NULL);
		json_add_number(j, "end_s", v.end_s);
		json_add_number(j, "bytes_per_s", v.bytes_per_s);
		json_add_number(j, "cumulative_bytes_per_s",
				v.cumulative_bytes_per_s);
		json_close(j);
	}
	json_close(j);
}

static void json_add_outcomes(struct json *j, const struct record *r)
{
	json_open_object(j, "responses");
	for (int status = 0; status < RECORD_STATUS_COUNT; status++) {
		char name[12];

		snprintf(name, sizeof(name), "%03d", status);
		if (r->responses[status] != 0)
			json_add_whole(j, name, r->responses[status]);
	}
	json_close(j);
	json_add_whole(j, "transport_errors", r->transport_error_count);
	json_open_object(j, "transport_error_texts");
	for (size_t i = 0; i < r->error_kinds; i++)
		json_add_whole(j, r->errors[i].text, r->errors[i].count);
	json_close(j);
}

static void json_add_checks(struct json *j, const char *name, bool is_wanted,
			    const struct reply_checks *c)
{
	if (!is_wanted) {
		json_add_null(j, name);
		return;
	}
	json_open_object(j, name);
	json_add_whole(j, "checked", c->checked_count);
	json_add_whole(j, "wrong", c->wrong_count);
	json_add_text(j, "first_wrong",
		      c->wrong_count > 0 ? c->first_wrong.text : NULL);
	json_close(j);
}

static void json_add_server(struct json *j, const struct report *report)
{
	const struct server_usage *u = &report->outcome->server;

	if (u->processes.count == 0) {
		json_add_null(j, "server");
		return;
	}
	json_open_object(j, "server");
	json_add_text(j, "name", u->processes.name);
	json_open_array(j, "pids");
	for (size_t i = 0; i < u->processes.count; i++)
		json_add_whole(j, NULL, (uint64_t)u->processes.pids[i]);
	json_close(j);
	json_add_number(j, "cpu_s", u->cpu_s);
	json_add_number(j, "cpu_percent",
			100 * u->cpu_s / report_makespan_s(report));
	json_add_whole(j, "peak_memory_bytes", u->peak_memory_bytes);
	json_add_bool(j, "peak_memory_is_of_run", u->peak_was_reset);
	json_add_whole(j, "voluntary_switches", u->voluntary_switches);
	json_add_whole(j, "involuntary_switches", u->involuntary_switches);
	json_close(j);
}

static void json_add_halves(struct json *j, const double mean_ns[2])
{
	json_open_array(j, "half_means_ms");
	for (int i = 0; i < 2; i++)
		json_add_number(j, NULL, mean_ns[i] / (double)NS_PER_MS);
	json_close(j);
}

static void json_add_warnings(struct json *j, const struct report *report)
{
	json_open_array(j, "warnings");
	for (size_t i = 0; i < report->warning_count; i++)
		json_add_text(j, NULL, report->warnings[i].text);
	json_close(j);
}

static void json_add_open_loop(struct json *j, const struct report *report)
{
	const struct load_options *o = report->options;
	struct record *r = &report->outcome->record;

	json_add_number(j, "rate_per_s", o->rate_per_s);
	json_add_text(j, "arrivals", arrivals_name(o->arrivals));
	json_add_times(j, "schedule_lag_ms", &r->lag);
	json_add_whole(j, "waited_for_connection", r->waited_count);
}

static void json_add_settings(struct json *j, const struct report *report)
{
	const struct load_options *o = report->options;

	if (o->arrivals != ARRIVALS_NONE)
		json_add_open_loop(j, report);
	json_add_whole(j, "connections", o->connections);
	if (o->passes != 0)
		json_add_whole(j, "passes", o->passes);
	else
		json_add_number(j, "duration_s", o->duration_s);
	json_add_whole(j, "seed", o->seed);
	json_add_text(j, "url", o->url);
	json_add_text(j, "dataset", o->dataset);
	json_add_whole(j, "files", report->file_count);
}

static void json_add_rates(struct json *j, const struct report *report)
{
	const struct record *r = &report->outcome->record;
	double s = report_makespan_s(report);

	/* If the run took no time, these are not finite, and JSON has null. */
	json_add_number(j, "bytes_per_s", (double)r->uploaded_bytes / s);
	json_add_number(j, "responses_per_s", (double)r->ok_count / s);
	json_add_number(j, "megapixels_per_s", r->megapixels / s);
	json_add_number(j, "makespan_s", s);
	json_add_intervals(j, report->outcome);
}

static void json_add_counter(struct json *j, const struct report *report)
{
	const char *name = report->options->server_counter;
	double counted = report->outcome->counted;

	if (name == NULL) {
		json_add_null(j, "server_counter");
		return;
	}
	json_open_object(j, "server_counter");
	json_add_text(j, "name", name);
	json_add_number(j, "increase", counted);
	json_add_number(j, "per_s", counted / report_makespan_s(report));
	json_close(j);
}

static void json_add_distributions(struct json *j, const struct report *report)
{
	struct record *r = &report->outcome->record;

	json_add_text(j, "response_time",
		      report_response_time(report->options));
	json_add_times(j, "response_ms", &r->response);
	json_add_halves(j, report->outcome->half_means_ns);
	json_add_times(j, "response_from_last_byte_ms", &r->from_last_byte);
	json_add_times(j, "response_from_first_byte_ms", &r->from_first_byte);
	json_add_slowdown(j, report, &r->slowdown);
	json_add_classes(j, report, CLASSES_BY_BYTES, "size_classes",
			 "bytes_below");
	json_add_classes(j, report, CLASSES_BY_MEGAPIXELS, "megapixel_classes",
			 "megapixels_below");
	json_add_percentiles(j, &r->response);
}

bool report_write_json(FILE *out, const struct report *report)
{
	const struct outcome *outcome = report->outcome;
	const struct load_options *o = report->options;
	struct json j;

	json_begin(&j, out, JSON_INDENTED);
	json_open_object(&j, NULL);
	json_add_text(&j, "schema", REPORT_SCHEMA);
	json_add_rates(&j, report);
	json_add_counter(&j, report);
	json_add_distributions(&j, report);
	json_add_outcomes(&j, &outcome->record);
	json_add_text(&j, "first_failed",
		      *outcome->first_failed.text != '\0' ?
			      outcome->first_failed.text :
			      NULL);
	json_add_checks(&j, "verify", o->verify != VERIFY_NONE,
			&outcome->verified);
	json_add_checks(&j, "golden", o->golden != NULL, &outcome->golden);
	json_add_server(&j, report);
	json_add_number(&j, "client_cpu_s", outcome->client_cpu_s);
	json_add_whole(&j, "client_peak_memory_bytes",
		       outcome->client_peak_memory_bytes);
	machine_add_json(&j, &report->outcome->machine,
			 report_own_cpu_s(report), report_makespan_s(report));
	json_add_warnings(&j, report);
	json_add_whole(&j, "requests", outcome->record.request_count);
	json_add_whole(&j, "uploaded_bytes", outcome->record.uploaded_bytes);
	json_add_settings(&j, report);
	json_close(&j);
	fputc('\n', out);
	return fflush(out) == 0 && !ferror(out);
}
