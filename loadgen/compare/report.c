/* SPDX-License-Identifier: MIT */
/*
 * Markdown and HTML are written side by side, part by part.  Callers pass plain
 * text, which is escaped here for each of the two.
 *
 * The tables are those of M. E. Gordon's thesis (UCAM-CL-TR-781, tables 4.4 to
 * 4.6) with more columns, and one about the open loops.  Their rows are in the
 * order of mean throughput, the best first.  A dash stands for a value that is
 * not known, or that has no meaning there.
 */
#include "loadgen/compare/report.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "loadgen/compare/plot.h"
#include "loadgen/compare/results.h"
#include "loadgen/report/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LEVEL = 0.95; /* of confidence intervals */
static const double SIGNIFICANT_P = 0.05;

enum { TEXT_BYTES = 1024 };

/* Both documents, and what they report. */
struct report {
	FILE *markdown;
	FILE *html;
	struct figures figures;
	struct plan plan;
	struct plots plots;
	const cJSON *results;
};

/* The markup around a text, in Markdown and in HTML. */
struct element {
	const char *markdown_begin, *markdown_end;
	const char *html_begin, *html_end;
};

static const struct element heading = { "\n## ", "\n", "<h2>", "</h2>\n" };
static const struct element paragraph = { "\n", "\n", "<p>", "</p>\n" };
static const struct element item = { "- ", "\n", "<li>", "</li>\n" };
static const struct element cell = { " ", " |", "<td>", "</td>" };
static const struct element title_cell = { " ", " |", "<th>", "</th>" };

EMBED_TEXT(report_style, "report.css")

static void write_markdown(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("\\`*_|<>[]#", *text) != NULL)
			fputc('\\', out);
		fputc(*text == '\n' ? ' ' : *text, out);
	}
}

static void write_html(FILE *out, const char *text)
{
	static const char special[] = "&<>\"'";
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;",
						"&quot;", "&#39;" };

	for (; *text != '\0'; text++) {
		const char *found = strchr(special, *text);

		if (found != NULL)
			fputs(entities[found - special], out);
		else
			fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
	}
}

/* Write to both documents, without escaping. */
static void write_markup(const struct report *r, const char *markdown,
			 const char *html)
{
	fputs(markdown, r->markdown);
	fputs(html, r->html);
}

__attribute__((format(printf, 3, 4))) static void
write_element(const struct report *r, const struct element *e,
	      const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	write_markup(r, e->markdown_begin, e->html_begin);
	write_markdown(r->markdown, text);
	write_html(r->html, text);
	write_markup(r, e->markdown_end, e->html_end);
}

static void begin_document(const struct report *r)
{
	static const struct element page_title = {
		"# ", "\n",
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		"<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" "
		"content=\"width=device-width,initial-scale=1\">\n<title>",
		"</title>\n"
	};

	write_element(r, &page_title, "%s", r->plan.title);
	fprintf(r->html, "<style>\n%s</style>\n</head>\n<body>\n<h1>",
		report_style);
	write_html(r->html, r->plan.title);
	fputs("</h1>\n", r->html);
}

/*
 * Markdown gets links to the files.  HTML gets images that contain them, so
 * that the page needs no other file.
 */
static void write_plots(const struct report *r, enum plot_place place)
{
	for (size_t i = 0; i < r->plots.count; i++) {
		const struct plot *plot = &r->plots.list[i];
		const struct element image = {
			"\n![", "](", "<div class=\"wide\"><img alt=\"",
			"\" src=\"data:image/svg+xml,"
		};

		if (plot->place != place)
			continue;
		write_element(r, &image, "%s", plot->title);
		fprintf(r->markdown, "%s)\n", plot->file);
		for (const char *c = plot->svg; *c != '\0'; c++)
			if (*c <= ' ' || *c >= 0x7f ||
			    strchr("\"#%&<>", *c) != NULL)
				fprintf(r->html, "%%%02X", (unsigned char)*c);
			else
				fputc(*c, r->html);
		fputs("\"></div>\n", r->html);
	}
}

/* A column of a table, after the first one, which names the arm. */
struct column {
	const char *title;
	enum {
		MEAN,
		DIFFERENCE, /* of the mean, from the best mean */
		DEVIATION,
		MEDIAN,
		INTERVAL,
		P, /* against the arm that was measured first */
		RUNS,
		LOAD,      /* of an open loop */
		LOAD_RUNS, /* runs at this load, of the arm's runs */
	} figure;
	int metric; /* an enum metric or, of open loops, an enum open_metric */
	int decimals;
};

/*
 * `s` is the arm's sample of the metric; `rate`, the index of the row's rate.
 */
static void write_cell(const struct report *r, const struct column *c,
		       const struct arm_figures *arm, const struct sample *s,
		       size_t rate)
{
	const struct sample *first = &r->figures.arms[0].metrics[c->metric];
	const struct sample *best = figures_best(&r->figures, c->metric);
	struct confidence_interval interval;
	double number = NAN;

	if (c->figure == MEAN)
		number = sample_mean(s);
	else if (c->figure == DEVIATION)
		number = sample_deviation(s);
	else if (c->figure == MEDIAN)
		number = sample_median(s);
	if (!isnan(number)) {
		write_element(r, &cell, "%.*f", c->decimals, number);
	} else if (c->figure == RUNS) {
		write_element(r, &cell, "%zu", s->count);
	} else if (c->figure == LOAD) {
		write_element(r, &cell, "%g %%", r->plan.open.percents[rate]);
	} else if (c->figure == LOAD_RUNS) {
		write_element(r, &cell, "%zu of %zu", s->count, arm->open_runs);
	} else if (c->figure == DIFFERENCE && s == best) {
		write_element(r, &cell, "%s", "");
	} else if (c->figure == DIFFERENCE && s->count > 0) {
		number = sample_mean(s) / sample_mean(best) - 1;
		write_element(r, &cell, "%+.2f %%", 100 * number);
	} else if (c->figure == INTERVAL && s->count > 1) {
		interval = sample_median_interval(s, LEVEL);
		write_element(r, &cell, "%.*f to %.*f (%.4g %%)", c->decimals,
			      interval.low, c->decimals, interval.high,
			      100 * interval.level);
	} else if (c->figure == P && s != first && s->count > 1 &&
		   first->count > 1) {
		write_element(r, &cell, "%.3g",
			      sample_mann_whitney_p(s, first));
	} else {
		write_element(r, &cell, "-");
	}
}

/* A row for each arm or, if there are `rates`, for each rate and arm. */
static void write_table(const struct report *r, const struct column *columns,
			size_t count, size_t rates)
{
	size_t rows = r->figures.arm_count * (rates > 0 ? rates : 1);

	write_markup(r, "\n|", "<div class=\"wide\"><table>\n<thead><tr>");
	write_element(r, &title_cell, "Configuration");
	for (size_t i = 0; i < count; i++)
		write_element(r, &title_cell, "%s", columns[i].title);
	write_markup(r, "\n|---|", "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < count; i++)
		fputs("--:|", r->markdown);
	fputs("\n", r->markdown);
	for (size_t row = 0; row < rows; row++) {
		const struct arm_figures *arm =
			r->figures.ranked[row % r->figures.arm_count];
		size_t rate = row / r->figures.arm_count;
		const struct sample *samples =
			rates > 0 ? arm->open[rate] : arm->metrics;

		if (samples[0].count == 0) /* not measured at this rate */
			continue;
		write_markup(r, "|", "<tr>");
		write_element(r, &cell, "%s", arm->name);
		for (size_t i = 0; i < count; i++)
			write_cell(r, &columns[i], arm,
				   &samples[columns[i].metric], rate);
		write_markup(r, "\n", "</tr>\n");
	}
	write_markup(r, "", "</tbody></table></div>\n");
}

/* A table of the means of the metrics from `first` to `last`. */
static void write_means(const struct report *r, int first, int last)
{
	struct column columns[METRIC_COUNT];

	for (int i = first; i <= last; i++)
		columns[i - first] =
			(struct column){ metric_views[i].column, MEAN, i,
					 metric_views[i].decimals };
	write_table(r, columns, (size_t)(last - first + 1), 0);
}

/*
 * A table that compares the arms in one metric.  `what` is appended to "Mean"
 * and "Median" in the titles.
 */
static void write_compared(const struct report *r, enum metric metric,
			   const char *what, int decimals)
{
	char mean[64], median[64];
	const struct column columns[] = {
		{ mean, MEAN, metric, decimals },
		{ "Difference in mean", DIFFERENCE, metric, 0 },
		{ "Standard deviation", DEVIATION, metric, decimals },
		{ median, MEDIAN, metric, decimals },
		{ "Confidence interval of the median (its level)", INTERVAL,
		  metric, decimals },
		{ "p, against the first measured", P, metric, 0 },
		{ "Runs", RUNS, metric, 0 },
	};

	snprintf(mean, sizeof(mean), "Mean%s", what);
	snprintf(median, sizeof(median), "Median%s", what);
	write_table(r, columns, ARRAY_SIZE(columns), 0);
}

static void write_open_table(const struct report *r)
{
	char smallest[32], largest[32];
	const struct column columns[] = {
		{ "Load", LOAD, 0, 0 },
		{ "Offered/s", MEDIAN, OPEN_RATE_PER_S, 1 },
		{ "Responses/s", MEDIAN, OPEN_RESPONSES_PER_S, 1 },
		{ "p50, ms", MEDIAN, OPEN_P50_MS, 1 },
		{ "p90, ms", MEDIAN, OPEN_P90_MS, 1 },
		{ "p99, ms", MEDIAN, OPEN_P99_MS, 1 },
		{ smallest, MEDIAN, OPEN_SMALLEST_P90_MS, 1 },
		{ largest, MEDIAN, OPEN_LARGEST_P99_MS, 1 },
		{ "Not answered 2xx, %", MEDIAN, OPEN_FAILED_PERCENT, 2 },
		{ "Runs", LOAD_RUNS, 0, 0 },
	};

	snprintf(smallest, sizeof(smallest), "%s: p90, ms",
		 class_bounds[CLASSES_BY_BYTES][0].name);
	snprintf(largest, sizeof(largest), "%s: p99, ms",
		 class_bounds[CLASSES_BY_BYTES][CLASS_COUNT - 1].name);
	write_table(r, columns, ARRAY_SIZE(columns), r->plan.open.rate_count);
}

/*
 * Can a difference be significant?  With too few runs it cannot, however large
 * it is.
 */
static bool has_enough_runs(const struct figures *f)
{
	for (size_t i = 1; i < f->arm_count; i++)
		if (sample_least_p(f->arms[i].closed_runs,
				   f->arms[0].closed_runs) > SIGNIFICANT_P)
			return false;
	return true;
}

static void write_difference(const struct report *r,
			     const struct arm_figures *arm,
			     const struct arm_figures *first)
{
	enum metric metric = METRIC_MEGABYTES_PER_S;
	const struct sample *speeds = &arm->metrics[metric];
	const struct sample *first_speeds = &first->metrics[metric];
	double p = sample_mann_whitney_p(speeds, first_speeds);
	double share = sample_median(speeds) / sample_median(first_speeds) - 1;

	if (p > SIGNIFICANT_P)
		write_element(r, &item,
			      "%s and %s do not differ significantly "
			      "(median %+.1f %%, p = %.3g).",
			      arm->name, first->name, 100 * share, p);
	else
		write_element(r, &item,
			      "%s is %s than %s (median %+.1f %%, p = %.3g).",
			      arm->name, share > 0 ? "faster" : "slower",
			      first->name, 100 * share, p);
}

/* Say which arms differ from the first in throughput, and which do not. */
static void write_differences(const struct report *r)
{
	const struct figures *f = &r->figures;
	const struct arm_figures *first = &f->arms[0];

	if (f->arm_count < 2)
		return;
	if (!has_enough_runs(f)) {
		write_element(
			r, &paragraph,
			"With so few runs (%zu of %s) no difference can be "
			"told from chance at p <= %g: take the figures as "
			"samples.",
			first->closed_runs, first->name, SIGNIFICANT_P);
		return;
	}
	write_element(
		r, &paragraph,
		"Throughput against %s, the first measured, by Mann and "
		"Whitney's test, two-sided, not corrected for the number of "
		"comparisons (%zu):",
		first->name, f->arm_count - 1);
	write_markup(r, "\n", "<ul>\n");
	for (size_t i = 0; i < f->arm_count; i++)
		if (f->ranked[i] != first)
			write_difference(r, f->ranked[i], first);
	write_markup(r, "", "</ul>\n");
}

static void write_losses(const struct report *r, const struct arm_figures *arm)
{
	for (size_t k = 0; k < r->plan.open.rate_count; k++) {
		const struct sample *s = &arm->open[k][OPEN_FAILED_PERCENT];
		size_t losses = 0;
		double worst = 0;

		for (size_t i = 0; i < s->count; i++) {
			losses += s->values[i] > 0;
			worst = fmax(worst, s->values[i]);
		}
		if (losses > 0)
			write_element(
				r, &item,
				"%s, open loop at %g %%: not all requests were "
				"answered 2xx in %zu of %zu runs, and %.2f %% "
				"were not in the worst; the response times are "
				"those of the others.",
				arm->name, r->plan.open.percents[k], losses,
				s->count, worst);
	}
}

/* What makes the figures doubtful. */
static void write_warnings(const struct report *r)
{
	const struct figures *f = &r->figures;

	if (f->warning_count == 0 && !f->has_losses)
		return;
	write_element(r, &heading, "Warnings");
	write_markup(r, "\n", "<ul>\n");
	for (size_t i = 0; i < f->arm_count; i++)
		write_losses(r, &f->arms[i]);
	for (size_t i = 0; i < f->warning_count; i++)
		write_element(
			r, &item, "%s: %s (runs: %zu%s).", f->warnings[i].arm,
			f->warnings[i].text, f->warnings[i].count,
			f->warnings[i].count > 1 ? "; figures of the first" :
						   "");
	write_markup(r, "", "</ul>\n");
}

/* How, where and with what it was measured. */
static void write_setup(const struct report *r)
{
	const struct plan *plan = &r->plan;
	const struct closed_loop *closed = &plan->closed;
	char length[48];

	if (closed->passes > 0)
		snprintf(length, sizeof(length), "%" PRIu64 " passes",
			 closed->passes);
	else
		snprintf(length, sizeof(length), "%g s", closed->duration_s);
	write_element(
		r, &paragraph,
		"Closed loop: %" PRIu64 " connections where an arm has no "
		"number of its own, %s over the files of %s, after a pass to "
		"warm up%s; query %s. Arms in turns, a new server for "
		"each; repetitions: %.0f.",
		closed->connections, length, plan->dataset,
		plan->verify != PLAN_VERIFY_NONE ?
			" in which every reply was checked" :
			"",
		*plan->query != '\0' ? plan->query : "none",
		json_number(r->results, "repetitions", 0));
	write_element(
		r, &paragraph,
		"%s, %.0f cores, %.1f GiB of memory, %s; server and client "
		"share it where an arm's URL is local. Begun %s, commit %s.",
		json_text(r->results, "machine.cpu"),
		json_number(r->results, "machine.cores", 0),
		json_number(r->results, "machine.memory_bytes", 0) / (1 << 30),
		json_text(r->results, "machine.kernel"),
		json_text(r->results, "began"),
		json_text(r->results, "commit"));
}

/* The command in one line, as it is in the plan. */
static void join_command(const struct arm *arm, char *line, size_t line_bytes)
{
	size_t length = 0;
	const cJSON *word;

	snprintf(line, line_bytes, "%s, not started here", arm->url);
	cJSON_ArrayForEach(word, arm->command)
	{
		if (length < line_bytes)
			length += (size_t)snprintf(
				line + length, line_bytes - length, "%s%s",
				length > 0 ? " " : "", word->valuestring);
	}
}

static void write_arms(const struct report *r)
{
	const struct plan *plan = &r->plan;

	write_element(r, &heading, "Configurations");
	write_markup(r, "\n", "<ul>\n");
	for (size_t i = 0; i < r->figures.arm_count; i++) {
		const struct arm *arm = &plan->arms[r->figures.arms[i].number];
		char line[512];
		char open[48] = "";

		join_command(arm, line, sizeof(line));
		if (plan->open.rate_count > 0)
			snprintf(open, sizeof(open),
				 ", %" PRIu64 " in the open loop",
				 plan_connections(arm, plan->open.connections));
		write_element(r, &item, "%s, %" PRIu64 " connections%s: %s",
			      arm->name,
			      plan_connections(arm, plan->closed.connections),
			      open, line);
	}
	write_markup(r, "", "</ul>\n");
}

static void write_closed_loops(const struct report *r)
{
	write_element(r, &heading, "Throughput (the thesis's table 4.4)");
	write_compared(r, METRIC_MEGABYTES_PER_S, ", MB/s", 3);
	write_differences(r);
	write_element(r, &heading, "What clients see (table 4.5)");
	write_means(r, METRIC_MAKESPAN_S, METRIC_P90_MS);
	write_element(r, &paragraph,
		      "Response times, compared as throughput is:");
	write_compared(r, METRIC_P90_MS, " of p90, ms", 1);
	write_element(r, &heading, "What it costs the server (table 4.6)");
	write_means(r, METRIC_CPU_PERCENT, METRIC_CLIENT_PERCENT);
	write_element(r, &paragraph, "CPU time, compared as throughput is:");
	write_compared(r, METRIC_CPU_MS_PER_IMAGE, " CPU, ms per image", 3);
	write_element(
		r, &paragraph,
		"Figures are means of all runs unless they say median. "
		"Difference in mean: of the best, in per cent of it; the "
		"thesis divides by the mean of the two, which makes large "
		"differences larger. Rows in the order of the first table. "
		"Uploads: bytes of the files, credited when they are answered; "
		"the thesis measured its network interface.");
}

static void write_closed_plots(const struct report *r)
{
	write_element(r, &heading, "Plots");
	if (*r->plots.missing.text != '\0')
		write_element(r, &paragraph,
			      "There are none: %s. Where gnuplot is installed, "
			      "`gnuplot " PLOT_SCRIPT "` draws them.",
			      r->plots.missing.text);
	write_plots(r, PLOT_BOXES);
	if (r->plots.count > 0)
		write_element(r, &paragraph,
			      "The curve of an arm has only points that all "
			      "its runs have.");
	write_plots(r, PLOT_TIMES);
}

static void write_open_loops(const struct report *r)
{
	const struct figures *f = &r->figures;
	const struct open_loop *open = &r->plan.open;
	bool has_bound_arm = false;
	bool is_measured = false;

	for (size_t i = 0; i < f->arm_count; i++) {
		has_bound_arm |=
			r->plan.arms[f->arms[i].number].connections > 0;
		is_measured |= f->arms[i].open_runs > 0;
	}
	if (!is_measured)
		return;
	write_element(r, &heading, "Open loop");
	write_element(
		r, &paragraph,
		"Requests at random times (Poisson), %g s for each load, at "
		"the same rates for all: shares of the median of %s above; "
		"%" PRIu64 " connections where an arm has no number of its "
		"own. Response times count from when a request was to be sent.",
		open->duration_s, f->arms[0].name, open->connections);
	write_element(
		r, &paragraph,
		"Medians of the runs. If a server took three times as long for "
		"a rate, higher rates were left out of that run. Where the "
		"column Runs shows fewer than all, the figures are those of an "
		"arm's best runs. The curves have only points that all runs of "
		"an arm have.");
	if (has_bound_arm)
		write_element(
			r, &paragraph,
			"An arm with a number of connections of its own never "
			"has more requests at its server: further ones wait in "
			"the client, which counts as response time.");
	write_open_table(r);
	write_plots(r, PLOT_OPEN_LOOP);
}

static void write_document(const struct report *r)
{
	begin_document(r);
	write_setup(r);
	if (r->figures.arm_count == 0) {
		write_element(r, &paragraph, "Nothing was measured.");
	} else {
		write_warnings(r);
		write_closed_loops(r);
		write_closed_plots(r);
		write_open_loops(r);
		write_arms(r);
	}
	write_markup(r, "", "</body>\n</html>\n");
}

static bool write_files(struct report *r, const char *folder,
			struct error *error)
{
	struct text texts[2];
	char *markdown = NULL, *html = NULL;
	bool written;

	r->markdown = text_open(&texts[0]);
	r->html = text_open(&texts[1]);
	if (r->markdown != NULL && r->html != NULL)
		write_document(r);
	if (r->markdown != NULL)
		markdown = text_close(&texts[0], r->markdown);
	if (r->html != NULL)
		html = text_close(&texts[1], r->html);
	written = file_write_text(folder, "report.html", html, error) &&
		  file_write_text(folder, "report.md", markdown, error);
	free(html);
	free(markdown);
	return written;
}

bool report_write(const char *folder, const cJSON *results, struct error *note,
		  struct error *error)
{
	struct report r = { .results = results };
	bool written = results_read_plan(results, &r.plan, error) &&
		       (figures_init(&r.figures, &r.plan, results) ||
			error_fail(error, "out of memory")) &&
		       plots_draw(&r.plots, &r.figures, folder, error) &&
		       write_files(&r, folder, error);

	*note = r.plots.missing;
	plots_release(&r.plots);
	figures_release(&r.figures);
	plan_release(&r.plan);
	return written;
}
