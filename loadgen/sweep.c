/* SPDX-License-Identifier: MIT */
#include "loadgen/sweep.h"

#include "base/util.h"
#include "base/clock.h"
#include "loadgen/rates.h"
#include "loadgen/report/report.h"
#include "loadgen/run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct sweep {
	const struct sweep_config *config;
	/* Of the next run; only the rate changes. */
	struct load_options options;
	uint64_t run_count;
	uint64_t failed_count;     /* requests not answered 2xx, of all runs */
	uint64_t disturbed_count;  /* runs */
	uint64_t no_verdict_count; /* of these, with DISTURBANCE_HIGH */
	double worst_percent;      /* that others took of the cores in a run */
	double max_per_s;          /* result of a search; 0: none */
	struct error *error;
};

/* One run; `shortfall` is set only if there is an objective. */
struct row {
	struct report report;
	struct summary response_ns;
	bool has_response; /* there was a 2xx reply */
	enum shortfall shortfall;
};

static void sweep_print_head(const struct sweep *s)
{
	FILE *out = s->config->table;

	fprintf(out, "response time: %s\n", report_response_time(&s->options));
	fprintf(out, "%10s %12s %10s %10s %10s %8s %8s\n", "rate/s",
		"responses/s", "p50 ms", "p90 ms", "p99 ms", "errors",
		"others %");
}

static void sweep_print_times(FILE *out, const struct row *row)
{
	static const enum figure columns[] = { FIGURE_P50, FIGURE_P90,
					       FIGURE_P99 };

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (row->has_response &&
		    !isnan(row->response_ns.figures[columns[i]]))
			fprintf(out, " %10.3f",
				row->response_ns.figures[columns[i]] /
					(double)NS_PER_MS);
		else
			fprintf(out, " %10s", "-");
}

static void sweep_print_errors(FILE *out, const struct record *r)
{
	for (int status = 0; status < RECORD_STATUS_COUNT; status++)
		if (r->responses[status] > 0 && !status_is_ok(status))
			fprintf(out, "%10" PRIu64 " x status %03d\n",
				r->responses[status], status);
	for (size_t i = 0; i < r->error_kinds; i++)
		fprintf(out, "%10" PRIu64 " x %s\n", r->errors[i].count,
			r->errors[i].text);
}

/* What others took has a column. */
static void sweep_print_warning(FILE *out, const struct report *report)
{
	size_t i = report->disturbance != DISTURBANCE_NONE &&
		   report->disturbance_at == 0;

	if (i < report->warning_count)
		fprintf(out, "%10s %s\n", "warning:", report->warnings[i].text);
}

static void sweep_print_row(const struct sweep *s, const struct row *row)
{
	const struct record *r = &row->report.outcome->record;
	double makespan_s = report_makespan_s(&row->report);
	FILE *out = s->config->table;

	fprintf(out, "%10.5g %12.1f", s->options.rate_per_s,
		makespan_s > 0 ? (double)r->ok_count / makespan_s : 0);
	sweep_print_times(out, row);
	fprintf(out, " %8" PRIu64, r->request_count - r->ok_count);
	if (isnan(row->report.disturbed_percent))
		fprintf(out, " %8s", "-");
	else
		fprintf(out, " %8.1f", row->report.disturbed_percent);
	if (s->options.find_max != NULL)
		fprintf(out, "  %s",
			row->report.disturbance == DISTURBANCE_HIGH ?
				"no verdict" :
				shortfall_name(row->shortfall));
	fprintf(out, "\n");
	sweep_print_errors(out, r);
	sweep_print_warning(out, &row->report);
	fflush(out);
}

static bool sweep_write_json(const struct sweep *s, const struct row *row)
{
	FILE *json = s->config->json;

	if (json == NULL)
		return true;
	fprintf(json, "%s\n", s->run_count == 1 ? "" : ",");
	if (report_write_json(json, &row->report))
		return true;
	error_set(s->error, "--json %s: %s", s->options.json, strerror(errno));
	return false;
}

static enum shortfall sweep_judge(const struct sweep *s,
				  const struct outcome *o,
				  const struct row *row)
{
	return objective_judge(
		&s->options.objective,
		&(struct rate_trial){
			.rate_per_s = s->options.rate_per_s,
			.request_count = o->record.request_count,
			.ok_count = o->record.ok_count,
			.in_time_count = o->in_time_count,
			.response_ns =
				row->has_response ? &row->response_ns : NULL,
		});
}

static void note_disturbance(struct sweep *s, const struct report *report)
{
	if (report->disturbance == DISTURBANCE_NONE)
		return;
	s->disturbed_count++;
	s->no_verdict_count += report->disturbance == DISTURBANCE_HIGH;
	s->worst_percent = fmax(s->worst_percent, report->disturbed_percent);
}

/* What a run says about the objective. */
struct verdict {
	enum shortfall shortfall;
	bool is_none; /* the run was disturbed too much */
};

/* Run once and show the result.  False: the run was broken off. */
static bool sweep_run_at(struct sweep *s, double rate_per_s,
			 struct verdict *verdict)
{
	const struct sweep_config *c = s->config;
	struct outcome outcome = { 0 };
	struct row row = { 0 };
	bool whole;

	s->options.rate_per_s = rate_per_s;
	if (s->options.find_max != NULL)
		s->options.duration_s = fmax(
			c->options->duration_s,
			objective_least_s(&s->options.objective, rate_per_s));
	whole = run_once(c->setup, &s->options, c->stop, &outcome, s->error);
	if (whole && *c->stop) {
		error_set(s->error, "interrupted at %g requests/s", rate_per_s);
		whole = false;
	} else if (whole) {
		row.report = report_make(&s->options, c->setup->dataset.count,
					 &outcome);
		row.has_response = samples_summarize(&outcome.record.response,
						     &row.response_ns);
		row.shortfall = sweep_judge(s, &outcome, &row);
		s->run_count++;
		s->failed_count +=
			outcome.record.request_count - outcome.record.ok_count;
		note_disturbance(s, &row.report);
		sweep_print_row(s, &row);
		whole = sweep_write_json(s, &row);
	}
	*verdict = (struct verdict){ row.shortfall, row.report.disturbance ==
							    DISTURBANCE_HIGH };
	outcome_release(&outcome);
	return whole;
}

static bool run_steps(struct sweep *s)
{
	const struct steps *steps = &s->options.steps;
	struct verdict ignored;

	for (int i = 0; i < steps_count(steps); i++)
		if (!sweep_run_at(s, steps_rate_per_s(steps, i), &ignored))
			return false;
	if (s->failed_count > 0)
		error_set(s->error,
			  "%" PRIu64 " requests were not answered 2xx",
			  s->failed_count);
	return s->failed_count == 0;
}

/*
 * The last lines of the table: that runs were disturbed, so that nobody takes
 * the result for that of a quiet machine.
 */
static void report_disturbances(const struct sweep *s)
{
	FILE *json = s->config->json, *out = s->config->table;

	if (json != NULL)
		fprintf(json,
			",\n\"disturbed_runs\": %" PRIu64
			",\n\"runs_without_verdict\": %" PRIu64,
			s->disturbed_count,
			s->options.find_max != NULL ? s->no_verdict_count : 0);
	if (s->disturbed_count == 0)
		return;
	fprintf(out,
		"\nDISTURBED: in %" PRIu64 " of %" PRIu64
		" runs, other programs and the hypervisor took more than\n"
		"%g %% of this machine's cores, up to %.1f %%",
		s->disturbed_count, s->run_count,
		report_disturbed_from_percent(&s->options), s->worst_percent);
	if (s->options.find_max != NULL && s->no_verdict_count > 0)
		fprintf(out,
			"; above %g %% (--disturbed) a run\n"
			"gives no verdict: %" PRIu64 " of them",
			s->options.disturbed_percent, s->no_verdict_count);
	fprintf(out, ". Without others, %s.\n",
		s->options.find_max != NULL ? "rates may be\nhigher" :
					      "times may be\nshorter");
}

static void report_max_rate(const struct sweep *s)
{
	double max_per_s = s->max_per_s;
	const struct objective *objective = &s->options.objective;
	FILE *json = s->config->json;
	FILE *out = s->config->table;

	if (json != NULL) {
		fprintf(json, ",\n\"objective\": \"");
		objective_print(json, objective);
		if (max_per_s > 0)
			fprintf(json, "\",\n\"max_rate_per_s\": %.17g",
				max_per_s);
		else
			fprintf(json, "\",\n\"max_rate_per_s\": null");
	}
	if (max_per_s > 0) {
		fprintf(out, "\nhighest rate that kept ");
		objective_print(out, objective);
		fprintf(out, ": %.5g requests/s\n", max_per_s);
	}
}

/*
 * Run until a run gives a verdict.  False: none of MACHINE_ATTEMPTS did, or one
 * was broken off.
 */
static bool judge_at(struct sweep *s, double rate_per_s,
		     enum shortfall *shortfall)
{
	struct verdict verdict;

	for (int i = 0; i < MACHINE_ATTEMPTS; i++) {
		if (!sweep_run_at(s, rate_per_s, &verdict))
			return false;
		*shortfall = verdict.shortfall;
		if (!verdict.is_none)
			return true;
	}
	return error_fail(s->error,
			  "no verdict at %g requests/s: in each of %d runs, "
			  "other programs and the hypervisor took more than "
			  "%g %% of the cores; see "
			  "--disturbed",
			  rate_per_s, MACHINE_ATTEMPTS,
			  s->options.disturbed_percent);
}

/* Does this rate meet the objective?  False: that cannot be told. */
static bool decide_at(struct sweep *s, double rate_per_s, bool *held)
{
	struct vote vote = { 0 };

	while (vote_is_open(&vote)) {
		enum shortfall shortfall;

		if (!judge_at(s, rate_per_s, &shortfall))
			return false;
		if (shortfall == SHORTFALL_NONE)
			vote.met++;
		else
			vote.missed++;
	}
	*held = vote_result(&vote);
	return true;
}

static bool find_max(struct sweep *s)
{
	/* At a lower rate than lowest_per_s a run might have no request. */
	struct search search = {
		.first_per_s = s->options.rate_per_s,
		.lowest_per_s = 1 / s->options.duration_s,
	};
	bool whole = true, held;
	double rate_per_s;

	while (whole && (rate_per_s = search_next(&search)) > 0) {
		whole = decide_at(s, rate_per_s, &held);
		if (whole)
			search_note(&search, held);
	}
	if (!whole)
		return false;
	s->max_per_s = search.held_per_s;
	if (s->max_per_s == 0)
		error_set(s->error, "no rate kept the objective");
	return s->max_per_s > 0;
}

bool sweep_run(const struct sweep_config *config, struct error *error)
{
	struct sweep s = {
		.config = config,
		.options = *config->options,
		.error = error,
	};
	bool good;

	sweep_print_head(&s);
	if (config->json != NULL)
		fprintf(config->json,
			"{\"schema\": \"" REPORT_SCHEMA "\",\n\"steps\": [");
	good = s.options.find_max != NULL ? find_max(&s) : run_steps(&s);
	if (config->json != NULL)
		fprintf(config->json, "]");
	if (s.options.find_max != NULL)
		report_max_rate(&s);
	report_disturbances(&s);
	if (config->json != NULL)
		fprintf(config->json, "}\n");
	return good;
}
