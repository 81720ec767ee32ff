/* SPDX-License-Identifier: MIT */
#include "loadgen/report.h"

#include "loadgen/clock.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>

static double makespan_s(const struct report *report)
{
	return (double)report->makespan_ns / (double)NS_PER_S;
}

static bool is_open(const struct report *report)
{
	return report->options->rate_per_s > 0;
}

/* The client is one thread. */
static bool uses_its_core(const struct report *report)
{
	return report->client_cpu_s > 0.9 * makespan_s(report);
}

/* Like with like: a lag in the tail does no harm to the median. */
static bool sends_late(const struct report *report)
{
	struct summary lag;
	struct summary response;

	if (!samples_summarize(&report->record->lag, &lag) ||
	    !samples_summarize(&report->record->response, &response))
		return false;
	for (enum figure i = FIGURE_P50; i <= FIGURE_P99; i++)
		if (lag.figures[i] > response.figures[i] / 10)
			return true;
	return false;
}

static const struct warning {
	bool (*applies)(const struct report *report);
	const char *text;
} warnings[] = {
	{ uses_its_core,
	  "the client used over 90 % of a core: it may be the bottleneck" },
	{ sends_late, "the client sent late: its lag is over a tenth of the "
		      "response time" },
};

enum { WARNING_COUNT = sizeof(warnings) / sizeof(*warnings) };

struct report report_make(const struct options *o, const struct setup *setup,
			  struct outcome *outcome)
{
	return (struct report){
		.options = o,
		.files = setup->dataset.count,
		.record = &outcome->record,
		.makespan_ns = outcome->makespan_ns,
		.client_cpu_s = outcome->client_cpu_s,
	};
}

const char *report_warning(const struct report *report)
{
	for (int i = 0; i < WARNING_COUNT; i++)
		if (warnings[i].applies(report))
			return warnings[i].text;
	return NULL;
}

static void print_run(FILE *out, const struct report *report)
{
	const struct options *o = report->options;

	fprintf(out, "%" PRIu32 " files of %s to %s\n", report->files,
		o->dataset, o->url);
	if (is_open(report))
		fprintf(out,
			"open loop, %g requests/s, %s; response time from the "
			"intended time\n",
			o->rate_per_s, arrivals_name(o->arrivals));
	fprintf(out, "connections %" PRIu64 ", ", o->connections);
	if (o->passes != 0)
		fprintf(out, "passes %" PRIu64 ", ", o->passes);
	else if (o->duration_s > 0)
		fprintf(out, "duration %g s, ", o->duration_s);
	fprintf(out, "seed %" PRIu64 "\n\n", o->seed);
}

static void print_rates(FILE *out, const struct report *report)
{
	const struct record *r = report->record;
	double s = makespan_s(report);

	if (s > 0)
		fprintf(out,
			"throughput        %.2f MB/s uploaded, "
			"%.1f responses/s\n",
			(double)r->uploaded_bytes / s / 1e6,
			(double)r->ok_count / s);
	else
		fprintf(out, "throughput        -\n");
	fprintf(out, "makespan          %.3f s, %" PRIu64 " requests\n", s,
		r->request_count);
}

/* One row of the table. */
static void print_times(FILE *out, const char *title, struct samples *samples)
{
	struct summary ns;
	bool any = samples_summarize(samples, &ns);

	fprintf(out, "%-15s %8zu", title, samples->count);
	for (int i = 0; i < FIGURE_COUNT; i++)
		if (any)
			fprintf(out, " %10.3f",
				ns.figures[i] / (double)NS_PER_MS);
		else
			fprintf(out, " %10s", "-");
	fprintf(out, "\n");
}

static void print_table(FILE *out, const struct report *report)
{
	struct record *r = report->record;

	fprintf(out, "\n%-15s %8s", "ms", "count");
	for (int i = 0; i < FIGURE_COUNT; i++)
		fprintf(out, " %10s", figure_names[i]);
	fprintf(out, "\n");
	print_times(out, "response time", &r->response);
	for (int i = 0; i < SIZE_CLASS_COUNT; i++) {
		char title[32];

		snprintf(title, sizeof(title), "  %s", size_classes[i].name);
		print_times(out, title, &r->response_by_class[i]);
	}
	print_times(out, "from first byte", &r->from_first_byte);
	if (is_open(report)) {
		print_times(out, "from last byte", &r->from_last_byte);
		print_times(out, "schedule lag", &r->lag);
	}
}

static void print_outcomes(FILE *out, const struct report *report)
{
	const struct record *r = report->record;

	fprintf(out, "responses        ");
	if (r->request_count == r->transport_error_count)
		fprintf(out, " -");
	for (int status = 0; status < RECORD_STATUS_COUNT; status++)
		if (r->responses[status] != 0)
			fprintf(out, " %03d: %" PRIu64, status,
				r->responses[status]);
	fprintf(out, "\ntransport errors  %" PRIu64 "\n",
		r->transport_error_count);
	for (size_t i = 0; i < r->error_kinds; i++)
		fprintf(out, "  %" PRIu64 " x %s\n", r->errors[i].count,
			r->errors[i].text);
}

void report_print(FILE *out, const struct report *report)
{
	double s = makespan_s(report);

	print_run(out, report);
	print_rates(out, report);
	print_outcomes(out, report);
	fprintf(out, "client CPU        %.3f s", report->client_cpu_s);
	if (s > 0)
		fprintf(out, ", %.1f %% of one core",
			100 * report->client_cpu_s / s);
	fprintf(out, "\n");
	if (is_open(report))
		fprintf(out,
			"waited            %" PRIu64 " of %" PRIu64
			" requests, for a free connection\n",
			report->record->waited_count,
			report->record->request_count);
	print_table(out, report);
	for (int i = 0; i < WARNING_COUNT; i++)
		if (warnings[i].applies(report))
			fprintf(out, "warning: %s\n", warnings[i].text);
}

/* cJSON's own numbers are doubles, which do not hold every seed. */
static void add_count(cJSON *object, const char *name, uint64_t count)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, count);
	cJSON_AddRawToObject(object, name, text);
}

static void add_rate(cJSON *object, const char *name, uint64_t amount, double s)
{
	if (s > 0)
		cJSON_AddNumberToObject(object, name, (double)amount / s);
	else
		cJSON_AddNullToObject(object, name);
}

static void add_times(cJSON *object, const char *name, struct samples *samples)
{
	cJSON *times = cJSON_AddObjectToObject(object, name);
	struct summary ns;
	bool any = samples_summarize(samples, &ns);

	for (int i = 0; i < FIGURE_COUNT; i++)
		if (any)
			cJSON_AddNumberToObject(times, figure_names[i],
						ns.figures[i] /
							(double)NS_PER_MS);
		else
			cJSON_AddNullToObject(times, figure_names[i]);
}

static void add_size_classes(cJSON *object, struct record *r)
{
	cJSON *classes = cJSON_AddArrayToObject(object, "size_classes");

	for (int i = 0; i < SIZE_CLASS_COUNT; i++) {
		cJSON *class = cJSON_CreateObject();

		cJSON_AddStringToObject(class, "name", size_classes[i].name);
		if (size_classes[i].bytes_below != UINT64_MAX)
			add_count(class, "bytes_below",
				  size_classes[i].bytes_below);
		else
			cJSON_AddNullToObject(class, "bytes_below");
		add_count(class, "count", r->response_by_class[i].count);
		add_times(class, "response_ms", &r->response_by_class[i]);
		cJSON_AddItemToArray(classes, class);
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

static void add_warnings(cJSON *object, const struct report *report)
{
	cJSON *texts = cJSON_AddArrayToObject(object, "warnings");

	for (int i = 0; i < WARNING_COUNT; i++)
		if (warnings[i].applies(report))
			cJSON_AddItemToArray(
				texts, cJSON_CreateString(warnings[i].text));
}

static void add_open_loop(cJSON *object, const struct report *report)
{
	const struct options *o = report->options;
	struct record *r = report->record;

	cJSON_AddNumberToObject(object, "rate_per_s", o->rate_per_s);
	cJSON_AddStringToObject(object, "arrivals", arrivals_name(o->arrivals));
	add_times(object, "schedule_lag_ms", &r->lag);
	add_count(object, "waited_for_connection", r->waited_count);
}

static void add_run(cJSON *object, const struct report *report)
{
	const struct options *o = report->options;

	if (is_open(report))
		add_open_loop(object, report);
	add_count(object, "connections", o->connections);
	if (o->passes != 0)
		add_count(object, "passes", o->passes);
	else if (o->duration_s > 0)
		cJSON_AddNumberToObject(object, "duration_s", o->duration_s);
	add_count(object, "seed", o->seed);
	cJSON_AddStringToObject(object, "url", o->url);
	cJSON_AddStringToObject(object, "dataset", o->dataset);
	add_count(object, "files", report->files);
}

bool report_write_json(FILE *out, const struct report *report)
{
	struct record *r = report->record;
	double s = makespan_s(report);
	cJSON *object = cJSON_CreateObject();
	char *text;

	add_rate(object, "bytes_per_s", r->uploaded_bytes, s);
	add_rate(object, "responses_per_s", r->ok_count, s);
	cJSON_AddNumberToObject(object, "makespan_s", s);
	add_times(object, "response_ms", &r->response);
	add_size_classes(object, r);
	add_times(object, "response_from_last_byte_ms", &r->from_last_byte);
	add_times(object, "response_from_first_byte_ms", &r->from_first_byte);
	add_outcomes(object, r);
	cJSON_AddNumberToObject(object, "client_cpu_s", report->client_cpu_s);
	add_warnings(object, report);
	add_count(object, "requests", r->request_count);
	add_count(object, "uploaded_bytes", r->uploaded_bytes);
	add_run(object, report);
	text = cJSON_Print(object);
	cJSON_Delete(object);
	if (text == NULL)
		return false;
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	return fflush(out) == 0 && !ferror(out);
}
