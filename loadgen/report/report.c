/* SPDX-License-Identifier: MIT */
/* The report for people, and its warnings. */
#include "loadgen/report/report.h"

#include "base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/*
 * Warn if the client, which has one thread, uses more than this share of a
 * core.
 */
#define CLIENT_CORE_MAX 0.9
/* Warn if the client uses more than this share of the server's CPU time. */
#define CLIENT_SHARE_MAX 0.05
#define SERVER_CPU_S_MIN 0.5 /* less is too inexact: the resolution is 10 ms */
/* Warn if the lag is more than this share of the response time. */
#define LAG_MAX 0.1

enum {
	COLUMNS = 80,
	/* Columns to print; of more intervals, 8 at equal distances. */
	INTERVALS_MAX = 8,
};

double report_makespan_s(const struct report *report)
{
	return (double)report->outcome->makespan_ns / (double)NS_PER_S;
}

const char *report_response_time(const struct load_options *o)
{
	return o->arrivals != ARRIVALS_NONE ?
		       "from the intended time to the last byte received" :
		       "from the last byte sent to the last byte received";
}

/* CPU time of the client, divided by that of the server; 0: not known. */
static double client_share(const struct report *report)
{
	const struct outcome *outcome = report->outcome;

	return outcome->server.cpu_s > 0 ?
		       outcome->client_cpu_s / outcome->server.cpu_s :
		       0;
}

double report_own_cpu_s(const struct report *report)
{
	const struct outcome *o = report->outcome;

	return o->server.processes.count > 0 ?
		       o->server.cpu_s + o->client_cpu_s :
		       (double)NAN;
}

/* True: there is a reason for a warning, and `text` gives it. */
typedef bool warn_fn(const struct report *report, struct error *text);

static bool client_uses_its_core(const struct report *report,
				 struct error *text)
{
	double makespan_s = report_makespan_s(report);
	double share = report->outcome->client_cpu_s / makespan_s;

	if (!(makespan_s > 0) || !(share > CLIENT_CORE_MAX))
		return false;
	error_set(text,
		  "the client used %.0f %% of a core: it may be the bottleneck",
		  100 * share);
	return true;
}

/*
 * Compare lag and response time at each percentile that has enough samples: if
 * only a few requests are late, the median does not show it.
 */
static bool client_sends_late(const struct report *report, struct error *text)
{
	struct record *r = &report->outcome->record;
	struct summary lag;
	struct summary response;

	if (!samples_summarize(&r->lag, &lag) ||
	    !samples_summarize(&r->response, &response))
		return false;
	for (enum figure i = FIGURE_P50; i <= FIGURE_P99; i++)
		if (lag.figures[i] > LAG_MAX * response.figures[i]) {
			error_set(text,
				  "the client sent late: its lag is %.0f %% of "
				  "the response time at %s",
				  100 * lag.figures[i] / response.figures[i],
				  figure_names[i]);
			return true;
		}
	return false;
}

static bool client_slows_server(const struct report *report, struct error *text)
{
	double share = client_share(report);

	if (report->outcome->server.cpu_s < SERVER_CPU_S_MIN ||
	    !(share > CLIENT_SHARE_MAX))
		return false;
	error_set(text,
		  "the client used %.1f %% of the CPU time that the server "
		  "used, on the same machine: throughput may be up to that "
		  "much higher without it",
		  100 * share);
	return true;
}

static bool others_use_cores(const struct report *report, struct error *text)
{
	double percent = report->disturbed_percent;

	if (report->disturbance == DISTURBANCE_NONE)
		return false;
	error_set(text,
		  "other programs and the hypervisor took %.1f %% of this "
		  "machine's cores: times may be longer than without them",
		  percent);
	return true;
}

static bool server_is_hidden(const struct report *report, struct error *text)
{
	const char *name = report->outcome->server.processes.forwarder;

	if (*name == '\0')
		return false;
	error_set(text,
		  "%s listens at the server's port and forwards connections, "
		  "so the server's CPU time and memory are not known: give its "
		  "process by --pid",
		  name);
	return true;
}

double report_disturbed_from_percent(const struct load_options *o)
{
	return fmin(MACHINE_DISTURBED_PERCENT, o->disturbed_percent);
}

static enum disturbance judge_disturbance(double percent,
					  const struct load_options *o)
{
	if (percent > o->disturbed_percent)
		return DISTURBANCE_HIGH;
	return percent > report_disturbed_from_percent(o) ? DISTURBANCE_SOME :
							    DISTURBANCE_NONE;
}

struct report report_make(const struct load_options *o, uint32_t file_count,
			  struct outcome *outcome)
{
	static warn_fn *const checks[WARNINGS_MAX] = {
		client_uses_its_core, client_sends_late, client_slows_server,
		others_use_cores,     server_is_hidden,
	};
	struct report report = {
		.options = o,
		.file_count = file_count,
		.outcome = outcome,
	};

	report.disturbed_percent = machine_disturbed_percent(
		&outcome->machine, report_own_cpu_s(&report),
		report_makespan_s(&report));
	report.disturbance = judge_disturbance(report.disturbed_percent, o);
	for (size_t i = 0; i < WARNINGS_MAX; i++) {
		if (checks[i] == others_use_cores)
			report.disturbance_at = report.warning_count;
		report.warning_count += checks[i](
			&report, &report.warnings[report.warning_count]);
	}
	return report;
}

static bool is_open(const struct report *report)
{
	return report->options->arrivals != ARRIVALS_NONE;
}

static void print_settings(FILE *out, const struct report *report)
{
	const struct load_options *o = report->options;

	fprintf(out, "%" PRIu32 " files of %s to %s\n", report->file_count,
		o->dataset, o->url);
	if (is_open(report))
		fprintf(out, "open loop, %g requests/s, %s\n", o->rate_per_s,
			arrivals_name(o->arrivals));
	fprintf(out, "connections %" PRIu64 ", ", o->connections);
	if (o->passes != 0)
		fprintf(out, "passes %" PRIu64 ", ", o->passes);
	else if (o->duration_s > 0)
		fprintf(out, "duration %g s, ", o->duration_s);
	fprintf(out, "seed %" PRIu64 "\n\n", o->seed);
}

static void print_rates(FILE *out, const struct report *report)
{
	const struct record *r = &report->outcome->record;
	double s = report_makespan_s(report);

	fprintf(out, "throughput      ");
	if (s > 0)
		fprintf(out, "%.2f MB/s, %.1f responses/s, %.2f megapixels/s\n",
			(double)r->uploaded_bytes / s / 1e6,
			(double)r->ok_count / s, r->megapixels / s);
	else
		fprintf(out, "-\n");
}

static void print_counter(FILE *out, const struct report *report)
{
	double counted = report->outcome->counted;
	double s = report_makespan_s(report);

	fprintf(out, "server counter  %s\n", report->options->server_counter);
	if (!isnan(counted) && s > 0)
		fprintf(out, "%15s %.10g more, %.10g per second\n", "", counted,
			counted / s);
	else
		fprintf(out, "%15s -\n", "");
}

static struct interval interval_of(const struct outcome *outcome, size_t i)
{
	return intervals_get(&outcome->record.intervals, outcome->makespan_ns,
			     i);
}

/*
 * The spread of the rates of whole intervals.  The last one is left out,
 * because it may be short.
 */
static void print_spread(FILE *out, const struct outcome *outcome)
{
	size_t count = outcome->makespan_ns / (INTERVAL_S * NS_PER_S);
	struct samples rates = { 0 };
	struct samples_rung least;
	struct summary s;

	for (size_t i = 0; i < count && samples_reserve(&rates); i++)
		samples_add(&rates, interval_of(outcome, i).bytes_per_s / 1e6);
	if (samples_rung(&rates, 0, &least) && samples_summarize(&rates, &s))
		fprintf(out,
			"  each 5 s      least %.2f, median %.2f, greatest "
			"%.2f\n",
			least.value, s.figures[FIGURE_P50],
			s.figures[FIGURE_MAX]);
	samples_release(&rates);
}

static void print_values(FILE *out, const char *title, const double *values,
			 size_t count, int decimals)
{
	fprintf(out, "%-15s", title);
	for (size_t i = 0; i < count; i++)
		fprintf(out, " %7.*f", decimals, values[i]);
	fprintf(out, "\n");
}

/* With a single interval, print_rates() has printed it already. */
static void print_intervals(FILE *out, const struct outcome *outcome)
{
	size_t count = intervals_count(outcome->makespan_ns);
	size_t columns = count < INTERVALS_MAX ? count : INTERVALS_MAX;
	double end_s[INTERVALS_MAX];
	double cumulative[INTERVALS_MAX];
	double each[INTERVALS_MAX];

	if (count < 2)
		return;
	for (size_t i = 0; i < columns; i++) {
		struct interval v =
			interval_of(outcome, (i + 1) * count / columns - 1);

		end_s[i] = v.end_s;
		cumulative[i] = v.cumulative_bytes_per_s / 1e6;
		each[i] = v.bytes_per_s / 1e6;
	}
	print_values(out, "MB/s until s", end_s, columns, 1);
	print_values(out, "  cumulative", cumulative, columns, 2);
	if (count == columns)
		print_values(out, "  each 5 s", each, columns, 2);
	else
		print_spread(out, outcome);
}

static void print_outcomes(FILE *out, const struct record *r)
{
	fprintf(out, "responses      ");
	if (r->request_count == r->transport_error_count)
		fprintf(out, " -");
	for (int status = 0; status < RECORD_STATUS_COUNT; status++)
		if (r->responses[status] != 0)
			fprintf(out, " %03d: %" PRIu64, status,
				r->responses[status]);
	fprintf(out, ", transport errors: %" PRIu64 "\n",
		r->transport_error_count);
	for (size_t i = 0; i < r->error_kinds; i++)
		fprintf(out, "  %" PRIu64 " x %s\n", r->errors[i].count,
			r->errors[i].text);
}

static void print_checks(FILE *out, const char *title,
			 const struct reply_checks *c)
{
	fprintf(out, "%-15s %" PRIu64 " replies, %" PRIu64 " wrong\n", title,
		c->checked_count, c->wrong_count);
	if (c->wrong_count > 0)
		fprintf(out, "  first %s\n", c->first_wrong.text);
}

static void print_cpu(FILE *out, const char *title, double cpu_s,
		      double makespan_s)
{
	fprintf(out, "%-15s %.3f s CPU", title, cpu_s);
	if (makespan_s > 0)
		fprintf(out, ", %.1f %% of a core", 100 * cpu_s / makespan_s);
}

static void print_server(FILE *out, const struct report *report)
{
	const struct server_usage *u = &report->outcome->server;
	size_t count = u->processes.count;

	if (count == 0) {
		if (*u->processes.forwarder != '\0')
			fprintf(out, "server          -, behind %s\n",
				u->processes.forwarder);
		else
			fprintf(out, "server          -\n");
		return;
	}
	print_cpu(out, "server", u->cpu_s, report_makespan_s(report));
	fprintf(out, ", %s, process %d",
		*u->processes.name != '\0' ? u->processes.name : "server",
		(int)u->processes.pids[0]);
	if (count > 1)
		fprintf(out, " and %zu more", count - 1);
	fprintf(out,
		"\n%15s %.1f MB at most%s, switches: %" PRIu64
		" voluntary, %" PRIu64 " not\n",
		"", (double)u->peak_memory_bytes / 1e6,
		u->peak_was_reset ? "" : " since its start",
		u->voluntary_switches, u->involuntary_switches);
}

static void print_client(FILE *out, const struct report *report)
{
	const struct outcome *outcome = report->outcome;
	double share = client_share(report);

	print_cpu(out, "client", outcome->client_cpu_s,
		  report_makespan_s(report));
	if (share > 0)
		fprintf(out, ", %.1f %% of the server's", 100 * share);
	fprintf(out, "\n%15s %.1f MB at most\n", "",
		(double)outcome->client_peak_memory_bytes / 1e6);
	if (is_open(report))
		fprintf(out,
			"waited          %" PRIu64 " of %" PRIu64
			" requests, for a free connection\n",
			outcome->record.waited_count,
			outcome->record.request_count);
}

/* Three decimals, or one where there is no room; NAN: too few samples. */
static void print_figure(FILE *out, double value)
{
	if (isnan(value))
		fprintf(out, " %8s", "-");
	else
		fprintf(out, " %8.*f", value < 1000 ? 3 : 1, value);
}

/* One row of a table; samples are divided by `unit`. */
static void print_row(FILE *out, const char *indent, const char *title,
		      struct samples *samples, double unit)
{
	int width = 15 - (int)strlen(indent);
	struct summary s;
	bool any = samples_summarize(samples, &s);

	fprintf(out, "%s%-*s %8zu", indent, width, title, samples->count);
	for (int i = 0; i < FIGURE_COUNT; i++)
		print_figure(out, any ? s.figures[i] / unit : (double)NAN);
	fprintf(out, "\n");
}

static void print_times(FILE *out, const char *title, struct samples *ns)
{
	print_row(out, "", title, ns, (double)NS_PER_MS);
}

static void print_head(FILE *out, const char *title)
{
	fprintf(out, "%-15s %8s", title, "count");
	for (int i = 0; i < FIGURE_COUNT; i++)
		fprintf(out, " %8s", figure_names[i]);
	fprintf(out, "\n");
}

/* Classes without a reply are left out. */
static void print_classes(FILE *out, struct record *r, bool slowdown)
{
	for (int i = 0; i < CLASS_KINDS * CLASS_COUNT; i++) {
		int kind = i / CLASS_COUNT;
		struct record_class *class = &r->classes[kind][i % CLASS_COUNT];
		const char *name = class_bounds[kind][i % CLASS_COUNT].name;

		if (class->response.count > 0 && slowdown)
			print_row(out, "  ", name, &class->slowdown, 1);
		else if (class->response.count > 0)
			print_row(out, "  ", name, &class->response,
				  (double)NS_PER_MS);
	}
}

static void print_table(FILE *out, const struct report *report)
{
	struct record *r = &report->outcome->record;

	fprintf(out, "\nresponse time: %s\n",
		report_response_time(report->options));
	print_head(out, "ms");
	print_times(out, "response time", &r->response);
	print_classes(out, r, false);
	print_times(out, "from first byte", &r->from_first_byte);
	print_times(out, "from last byte", &r->from_last_byte);
	if (is_open(report))
		print_times(out, "schedule lag", &r->lag);
	if (!report->options->calibrate)
		return;
	fprintf(out, "\n");
	print_head(out, "times unloaded");
	print_row(out, "", "slowdown", &r->slowdown, 1);
	print_classes(out, r, true);
}

/* Print `text`, wrapped at 80 columns. */
static void print_wrapped(FILE *out, const char *title, const char *text)
{
	size_t column = strlen(title);

	fprintf(out, "%s", title);
	while (*text != '\0') {
		size_t length = strcspn(text, " ");

		if (column + 1 + length > COLUMNS) {
			fprintf(out, "\n ");
			column = 1;
		}
		fprintf(out, " %.*s", (int)length, text);
		column += 1 + length;
		text += length + strspn(text + length, " ");
	}
	fprintf(out, "\n");
}

void report_print(FILE *out, const struct report *report)
{
	const struct outcome *outcome = report->outcome;
	bool is_disturbed = report->disturbance != DISTURBANCE_NONE;

	if (is_disturbed) {
		print_wrapped(out, "DISTURBED:",
			      report->warnings[report->disturbance_at].text);
		fprintf(out, "\n");
	}
	print_settings(out, report);
	print_rates(out, report);
	print_intervals(out, outcome);
	fprintf(out, "makespan        %.3f s, %" PRIu64 " requests, %.2f MB\n",
		report_makespan_s(report), outcome->record.request_count,
		(double)outcome->record.uploaded_bytes / 1e6);
	if (report->options->server_counter != NULL)
		print_counter(out, report);
	print_outcomes(out, &outcome->record);
	if (report->options->verify != VERIFY_NONE)
		print_checks(out, "verified", &outcome->verified);
	if (report->options->golden != NULL)
		print_checks(out, "golden", &outcome->golden);
	print_server(out, report);
	print_client(out, report);
	print_table(out, report);
	if (report->warning_count > is_disturbed)
		fprintf(out, "\n");
	for (size_t i = 0; i < report->warning_count; i++)
		if (!is_disturbed || i != report->disturbance_at)
			print_wrapped(out,
				      "warning:", report->warnings[i].text);
}
