/* SPDX-License-Identifier: MIT */
/*
 * The documents are written at once in Markdown and in HTML.  All text is plain
 * and escaped here.
 *
 * The tables are those of M. E. Gordon's thesis (UCAM-CL-TR-781, tables 4.4 to
 * 4.6) with more columns, and one of the open loops.  Their rows are in the
 * order of mean throughput, the best first.  A dash: not measured.
 */
#include "loadgen/compare/report.h"

#include "base/file.h"
#include "base/util.h"
#include "loadgen/compare/figures.h"
#include "loadgen/compare/plan.h"
#include "loadgen/compare/plot.h"
#include "loadgen/compare/results.h"
#include "loadgen/report/record.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double LEVEL = 0.95; /* of confidence */
static const double SIGNIFICANT_P = 0.05;

enum { TEXT_BYTES = 1024 };

struct document {
	FILE *markdown;
	FILE *html;
};

/* What stands around a text, in both documents. */
enum element { HEADING, PARAGRAPH, ITEM, CELL, TITLE_CELL, ELEMENT_COUNT };

static const struct {
	const char *markdown_begin;
	const char *markdown_end;
	const char *html_begin;
	const char *html_end;
} elements[ELEMENT_COUNT] = {
	[HEADING] = { "\n## ", "\n", "<h2>", "</h2>\n" },
	[PARAGRAPH] = { "\n", "\n", "<p>", "</p>\n" },
	[ITEM] = { "- ", "\n", "<li>", "</li>\n" },
	[CELL] = { " ", " |", "<td>", "</td>" },
	[TITLE_CELL] = { " ", " |", "<th>", "</th>" },
};

static const char style[] =
	":root{color-scheme:light dark;--ink:#1b1b1b;--grid:#ddd;--paper:#fff}"
	"\n@media (prefers-color-scheme: dark){"
	":root{--ink:#e8e8e8;--grid:#3a3a3a;--paper:#161616}}\n"
	"body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);"
	"background:var(--paper);max-width:60rem;margin:0 auto;padding:1rem}\n"
	"h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}\n"
	".wide{overflow-x:auto;margin:1rem 0}\n"
	"table{border-collapse:collapse;font-size:.9rem;"
	"font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.3rem .7rem;text-align:right;white-space:nowrap;"
	"border-bottom:1px solid var(--grid)}\n"
	"th{white-space:normal;vertical-align:bottom;font-weight:600}\n"
	"th:first-child,td:first-child{text-align:left;padding-left:0}\n"
	"th:first-child,td:first-child{position:sticky;left:0;"
	"background:var(--paper)}\n";

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

/* The same in both documents, as it is. */
static void write_markup(const struct document *d, const char *markdown,
			 const char *html)
{
	fputs(markdown, d->markdown);
	fputs(html, d->html);
}

__attribute__((format(printf, 3, 4))) static void
write_element(const struct document *d, enum element e, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	write_markup(d, elements[e].markdown_begin, elements[e].html_begin);
	write_markdown(d->markdown, text);
	write_html(d->html, text);
	write_markup(d, elements[e].markdown_end, elements[e].html_end);
}

static void begin_document(const struct document *d, const char *title)
{
	write_markup(
		d, "# ",
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		"<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" "
		"content=\"width=device-width,initial-scale=1\">\n<title>");
	write_markdown(d->markdown, title);
	write_html(d->html, title);
	fprintf(d->html, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>",
		style);
	write_html(d->html, title);
	write_markup(d, "\n", "</h1>\n");
}

static void begin_table(const struct document *d, const char *const *titles,
			size_t count)
{
	write_markup(d, "\n|", "<div class=\"wide\"><table>\n<thead><tr>");
	for (size_t i = 0; i < count; i++)
		write_element(d, TITLE_CELL, "%s", titles[i]);
	write_markup(d, "\n|---|", "</tr></thead>\n<tbody>\n");
	for (size_t i = 1; i < count; i++)
		fputs("--:|", d->markdown);
	fputs("\n", d->markdown);
}

static void begin_row(const struct document *d, const char *name)
{
	write_markup(d, "|", "<tr>");
	write_element(d, CELL, "%s", name);
}

static void end_row(const struct document *d)
{
	write_markup(d, "\n", "</tr>\n");
}

static void end_table(const struct document *d)
{
	write_markup(d, "", "</tbody></table></div>\n");
}

/*
 * In Markdown a link to the file; in HTML an image with the file in it, so that
 * the page needs nothing else.
 */
static void write_plot(const struct document *d, const struct plot *plot)
{
	fputs("\n![", d->markdown);
	write_markdown(d->markdown, plot->title);
	fprintf(d->markdown, "](%s)\n", plot->file);
	fputs("<div class=\"wide\"><img alt=\"", d->html);
	write_html(d->html, plot->title);
	fputs("\" src=\"data:image/svg+xml,", d->html);
	for (const char *c = plot->svg; *c != '\0'; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f ||
		    (unsigned char)*c > 0x7f || strchr("\"#%&<>", *c) != NULL)
			fprintf(d->html, "%%%02X", (unsigned char)*c);
		else
			fputc(*c, d->html);
	fputs("\"></div>\n", d->html);
}

static void write_plots(const struct document *d, const struct plots *plots,
			enum plot_place place)
{
	for (size_t i = 0; i < plots->count; i++)
		if (plots->list[i].place == place)
			write_plot(d, &plots->list[i]);
}

static const struct arm_figures *ranked(const struct figures *f, size_t rank)
{
	return &f->arms[f->ranking[rank]];
}

static void write_number(const struct document *d, bool known, double value,
			 int decimals)
{
	if (known)
		write_element(d, CELL, "%.*f", decimals, value);
	else
		write_element(d, CELL, "-");
}

static void write_mean(const struct document *d, const struct sample *s,
		       int decimals)
{
	write_number(d, s->count > 0, s->count > 0 ? sample_mean(s) : 0,
		     decimals);
}

static void write_median(const struct document *d, const struct sample *s,
			 int decimals)
{
	write_number(d, s->count > 0, s->count > 0 ? sample_median(s) : 0,
		     decimals);
}

/* A metric in which arms are compared. */
struct compared {
	enum metric metric;
	const char *mean_title;
	const char *median_title;
	int decimals;
};

/* NULL: no arm has a value. */
static const struct sample *best_of(const struct figures *f, enum metric metric)
{
	double sign = metric_views[metric].less_is_better ? -1 : 1;
	const struct sample *best = NULL;

	for (size_t i = 0; i < f->arm_count; i++) {
		const struct sample *s = &f->arms[i].metrics[metric];

		if (s->count > 0 &&
		    (best == NULL ||
		     sign * sample_mean(s) > sign * sample_mean(best)))
			best = s;
	}
	return best;
}

static void write_compared_row(const struct document *d, const struct sample *s,
			       const struct sample *best,
			       const struct sample *first, int decimals)
{
	struct confidence_interval interval;

	write_mean(d, s, decimals);
	if (s->count == 0)
		write_element(d, CELL, "-");
	else if (s == best)
		write_element(d, CELL, "%s", "");
	else
		write_element(d, CELL, "%+.2f %%",
			      100 * (sample_mean(s) / sample_mean(best) - 1));
	write_number(d, s->count > 1, s->count > 1 ? sample_deviation(s) : 0,
		     decimals);
	write_median(d, s, decimals);
	if (s->count > 1) {
		interval = sample_median_interval(s, LEVEL);
		write_element(d, CELL, "%.*f to %.*f (%.4g %%)", decimals,
			      interval.low, decimals, interval.high,
			      100 * interval.level);
	} else {
		write_element(d, CELL, "-");
	}
	if (s == first || s->count < 2 || first->count < 2)
		write_element(d, CELL, "-");
	else
		write_element(d, CELL, "%.3g", sample_mann_whitney_p(s, first));
	write_element(d, CELL, "%zu", s->count);
}

static void write_comparison(const struct document *d, const struct figures *f,
			     const struct compared *c)
{
	const char *const titles[] = {
		"Configuration",
		c->mean_title,
		"Difference in mean",
		"Standard deviation",
		c->median_title,
		"Confidence interval of the median (its level)",
		"p, against the first measured",
		"Runs",
	};
	const struct sample *best = best_of(f, c->metric);

	begin_table(d, titles, ARRAY_SIZE(titles));
	for (size_t i = 0; i < f->arm_count; i++) {
		begin_row(d, ranked(f, i)->name);
		write_compared_row(d, &ranked(f, i)->metrics[c->metric], best,
				   &f->arms[0].metrics[c->metric], c->decimals);
		end_row(d);
	}
	end_table(d);
}

/* A table of the means of `count` metrics, up to METRIC_COUNT. */
static void write_means(const struct document *d, const struct figures *f,
			const enum metric *metrics, size_t count)
{
	const char *titles[METRIC_COUNT + 1] = { "Configuration" };

	for (size_t i = 0; i < count; i++)
		titles[i + 1] = metric_views[metrics[i]].column;
	begin_table(d, titles, count + 1);
	for (size_t i = 0; i < f->arm_count; i++) {
		begin_row(d, ranked(f, i)->name);
		for (size_t k = 0; k < count; k++)
			write_mean(d, &ranked(f, i)->metrics[metrics[k]],
				   metric_views[metrics[k]].decimals);
		end_row(d);
	}
	end_table(d);
}

static void write_open_table(const struct document *d, const struct figures *f,
			     const struct plan *plan)
{
	static const int decimals[OPEN_METRIC_COUNT] = {
		1, 1, 1, 1, 1, 1, 1, [OPEN_FAILED_PERCENT] = 2
	};
	char smallest[32], largest[32];
	const char *titles[] = {
		"Configuration", "Load",
		"Offered/s",     "Responses/s",
		"p50, ms",       "p90, ms",
		"p99, ms",       smallest,
		largest,         "Not answered 2xx, %",
		"Runs",
	};

	snprintf(smallest, sizeof(smallest), "%s: p90, ms",
		 size_classes[0].name);
	snprintf(largest, sizeof(largest), "%s: p99, ms",
		 size_classes[SIZE_CLASS_COUNT - 1].name);
	begin_table(d, titles, ARRAY_SIZE(titles));
	for (size_t k = 0; k < plan->open.rate_count; k++)
		for (size_t i = 0; i < f->arm_count; i++) {
			const struct arm_figures *arm = ranked(f, i);
			const struct sample *open = arm->open[k];

			if (open[OPEN_RATE_PER_S].count == 0)
				continue;
			begin_row(d, arm->name);
			write_element(d, CELL, "%g %%", plan->open.percents[k]);
			for (int m = 0; m < OPEN_METRIC_COUNT; m++)
				write_median(d, &open[m], decimals[m]);
			write_element(d, CELL, "%zu of %zu",
				      open[OPEN_RATE_PER_S].count,
				      figures_open_runs(arm));
			end_row(d);
		}
	end_table(d);
}

static const struct sample *throughput(const struct arm_figures *arm)
{
	return &arm->metrics[METRIC_MEGABYTES_PER_S];
}

/* With fewer runs the difference cannot be significant, however large. */
static bool has_enough_runs(const struct figures *f)
{
	for (size_t i = 1; i < f->arm_count; i++)
		if (sample_least_p(throughput(&f->arms[i])->count,
				   throughput(&f->arms[0])->count) >
		    SIGNIFICANT_P)
			return false;
	return true;
}

static void write_difference(const struct document *d,
			     const struct arm_figures *arm,
			     const struct arm_figures *first)
{
	double p = sample_mann_whitney_p(throughput(arm), throughput(first));
	double share = sample_median(throughput(arm)) /
			       sample_median(throughput(first)) -
		       1;

	if (p > SIGNIFICANT_P)
		write_element(d, ITEM,
			      "%s and %s do not differ as far as can be told "
			      "(median %+.1f %%, p = %.3g).",
			      arm->name, first->name, 100 * share, p);
	else
		write_element(d, ITEM,
			      "%s is %s than %s (median %+.1f %%, p = %.3g).",
			      arm->name, share > 0 ? "faster" : "slower",
			      first->name, 100 * share, p);
}

/* Which arms differ from the first in throughput, and which do not. */
static void write_differences(const struct document *d, const struct figures *f)
{
	const struct arm_figures *first = &f->arms[0];

	if (f->arm_count < 2)
		return;
	if (!has_enough_runs(f)) {
		write_element(
			d, PARAGRAPH,
			"With so few runs (%zu of %s) no difference can be "
			"told from chance at p <= %g: take the figures as "
			"samples.",
			throughput(first)->count, first->name, SIGNIFICANT_P);
		return;
	}
	write_element(
		d, PARAGRAPH,
		"Throughput against %s, the first measured, by Mann and "
		"Whitney's test, two-sided, not corrected for the number of "
		"comparisons (%zu):",
		first->name, f->arm_count - 1);
	write_markup(d, "\n", "<ul>\n");
	for (size_t i = 0; i < f->arm_count; i++)
		if (f->ranking[i] != 0)
			write_difference(d, ranked(f, i), first);
	write_markup(d, "", "</ul>\n");
}

/* In how many runs at this rate not all requests were answered. */
static size_t count_losses(const struct arm_figures *arm, size_t rate)
{
	const struct sample *s = &arm->open[rate][OPEN_FAILED_PERCENT];
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		count += s->values[i] > 0;
	return count;
}

static bool has_warnings(const struct figures *f, const struct plan *plan)
{
	for (size_t i = 0; i < f->arm_count; i++)
		for (size_t k = 0; k < plan->open.rate_count; k++)
			if (count_losses(&f->arms[i], k) > 0)
				return true;
	return f->warning_count > 0;
}

static void write_losses(const struct document *d,
			 const struct arm_figures *arm, const struct plan *plan)
{
	for (size_t k = 0; k < plan->open.rate_count; k++) {
		const struct sample *s = &arm->open[k][OPEN_FAILED_PERCENT];
		size_t losses = count_losses(arm, k);

		if (losses > 0)
			write_element(
				d, ITEM,
				"%s, open loop at %g %%: not all requests were "
				"answered 2xx in %zu of %zu runs, and %.2f %% "
				"were not in the worst; the response times are "
				"those of the others.",
				arm->name, plan->open.percents[k], losses,
				s->count, sample_max(s));
	}
}

/* What makes the figures doubtful. */
static void write_warnings(const struct document *d, const struct figures *f,
			   const struct plan *plan)
{
	if (!has_warnings(f, plan))
		return;
	write_element(d, HEADING, "Warnings");
	write_markup(d, "\n", "<ul>\n");
	for (size_t i = 0; i < f->arm_count; i++)
		write_losses(d, &f->arms[i], plan);
	for (size_t i = 0; i < f->warning_count; i++)
		write_element(
			d, ITEM, "%s: %s (runs: %zu%s).", f->warnings[i].arm,
			f->warnings[i].text, f->warnings[i].count,
			f->warnings[i].count > 1 ? "; figures of the first" :
						   "");
	write_markup(d, "", "</ul>\n");
}

static const char *text_at(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItem(object, key);

	return cJSON_IsString(item) ? item->valuestring : "-";
}

/* How, where and with what it was measured. */
static void write_setup(const struct document *d, const struct plan *plan,
			const cJSON *results)
{
	const cJSON *machine = cJSON_GetObjectItem(results, "machine");
	const struct closed_loop *closed = &plan->closed;
	char length[48];

	if (closed->passes > 0)
		snprintf(length, sizeof(length), "%" PRIu64 " passes",
			 closed->passes);
	else
		snprintf(length, sizeof(length), "%g s", closed->duration_s);
	write_element(
		d, PARAGRAPH,
		"Closed loop: %" PRIu64 " connections where an arm has no "
		"number of its own, %s over the files of %s, after a pass to "
		"warm up%s; query %s. Arms in turns, a new server for "
		"each; repetitions: %.0f.",
		closed->connections, length, plan->dataset,
		plan->verify != NULL ? " in which every reply was checked" : "",
		*plan->query != '\0' ? plan->query : "none",
		json_number(results, "repetitions", 0));
	write_element(
		d, PARAGRAPH,
		"%s, %.0f cores, %.1f GiB of memory, %s; server and client "
		"share it where an arm's URL is local. Begun %s, commit %s.",
		text_at(machine, "cpu"), json_number(machine, "cores", 0),
		json_number(machine, "memory_bytes", 0) / (1 << 30),
		text_at(machine, "kernel"), text_at(results, "began"),
		text_at(results, "commit"));
}

/* The command in one line, as it is in the plan. */
static void join_command(const struct arm *arm, char *line, size_t line_bytes)
{
	size_t length = 0;

	snprintf(line, line_bytes, "%s, not started here", arm->url);
	for (size_t i = 0; arm->command[i] != NULL && length < line_bytes; i++)
		length += (size_t)snprintf(line + length, line_bytes - length,
					   "%s%s", i > 0 ? " " : "",
					   arm->command[i]);
}

static void write_arms(const struct document *d, const struct plan *plan,
		       const struct figures *f)
{
	write_element(d, HEADING, "Configurations");
	write_markup(d, "\n", "<ul>\n");
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct arm *arm = &plan->arms[f->arms[i].number];
		char line[512];
		char open[48] = "";

		join_command(arm, line, sizeof(line));
		if (plan->open.rate_count > 0)
			snprintf(open, sizeof(open),
				 ", %" PRIu64 " in the open loop",
				 plan_connections(arm, plan->open.connections));
		write_element(d, ITEM, "%s, %" PRIu64 " connections%s: %s",
			      arm->name,
			      plan_connections(arm, plan->closed.connections),
			      open, line);
	}
	write_markup(d, "", "</ul>\n");
}

static void write_closed_loops(const struct document *d,
			       const struct figures *f,
			       const struct plots *plots)
{
	static const struct compared compared[] = {
		{ METRIC_MEGABYTES_PER_S, "Mean, MB/s", "Median, MB/s", 3 },
		{ METRIC_P90_MS, "Mean of p90, ms", "Median of p90, ms", 1 },
		{ METRIC_CPU_MS_PER_IMAGE, "Mean CPU, ms per image",
		  "Median CPU, ms per image", 3 },
	};
	static const enum metric client[] = { METRIC_MAKESPAN_S,
					      METRIC_RESPONSES_PER_S,
					      METRIC_P90_MS };
	static const enum metric server[] = {
		METRIC_CPU_PERCENT,        METRIC_UPLOADS_MBIT_S,
		METRIC_CPU_MS_PER_IMAGE,   METRIC_PEAK_MEMORY_MIB,
		METRIC_SWITCHES_PER_IMAGE, METRIC_CLIENT_PERCENT,
	};

	write_element(d, HEADING, "Throughput (the thesis's table 4.4)");
	write_comparison(d, f, &compared[0]);
	write_differences(d, f);
	write_element(d, HEADING, "What clients see (table 4.5)");
	write_means(d, f, client, ARRAY_SIZE(client));
	write_element(d, PARAGRAPH,
		      "Response times, compared as throughput is:");
	write_comparison(d, f, &compared[1]);
	write_element(d, HEADING, "What it costs the server (table 4.6)");
	write_means(d, f, server, ARRAY_SIZE(server));
	write_element(d, PARAGRAPH, "CPU time, compared as throughput is:");
	write_comparison(d, f, &compared[2]);
	write_element(
		d, PARAGRAPH,
		"Figures are means of all runs unless they say median. "
		"Difference in mean: of the best, in per cent of it; the "
		"thesis divides by the mean of the two, which makes large "
		"differences larger. Rows in the order of the first table. "
		"Uploads: bytes of the files, credited when they are answered; "
		"the thesis measured its network interface.");
	write_element(d, HEADING, "Plots");
	if (*plots->missing.text != '\0')
		write_element(d, PARAGRAPH,
			      "There are none: %s. Where gnuplot is installed, "
			      "`gnuplot " PLOT_SCRIPT "` draws them.",
			      plots->missing.text);
	write_plots(d, plots, PLOT_BOXES);
	if (plots->count > 0)
		write_element(d, PARAGRAPH,
			      "The curve of an arm has only points that all "
			      "its runs have.");
	write_plots(d, plots, PLOT_TIMES);
}

/* Has an arm that was measured a number of connections of its own? */
static bool has_bound_arm(const struct figures *f, const struct plan *plan)
{
	for (size_t i = 0; i < f->arm_count; i++)
		if (plan->arms[f->arms[i].number].connections != 0)
			return true;
	return false;
}

static void write_open_loops(const struct document *d, const struct figures *f,
			     const struct plan *plan, const struct plots *plots)
{
	write_element(d, HEADING, "Open loop");
	write_element(
		d, PARAGRAPH,
		"Requests at random times (Poisson), %g s for each load, at "
		"the same rates for all: shares of the median of %s above; "
		"%" PRIu64 " connections where an arm has no number of its "
		"own. Response times count from when a request was to be sent.",
		plan->open.duration_s, f->arms[0].name, plan->open.connections);
	write_element(
		d, PARAGRAPH,
		"Medians of the runs. Where a rate took a server three times "
		"as long, higher ones were left out of that run: where Runs "
		"tells fewer than all, the figures are those of an arm's best "
		"runs. Its curves have only points that all its runs have.");
	if (has_bound_arm(f, plan))
		write_element(
			d, PARAGRAPH,
			"An arm with a number of connections of its own never "
			"has more requests at its server: further ones wait in "
			"the client, which counts as response time.");
	write_open_table(d, f, plan);
	write_plots(d, plots, PLOT_OPEN_LOOP);
}

static bool has_open_loops(const struct figures *f, const struct plan *plan)
{
	for (size_t i = 0; i < f->arm_count; i++)
		for (size_t k = 0; k < plan->open.rate_count; k++)
			if (f->arms[i].open[k][OPEN_RATE_PER_S].count > 0)
				return true;
	return false;
}

static void write_document(const struct document *d, const struct figures *f,
			   const struct plan *plan, const cJSON *results,
			   const struct plots *plots)
{
	begin_document(d, plan->title);
	write_setup(d, plan, results);
	if (f->arm_count == 0) {
		write_element(d, PARAGRAPH, "Nothing was measured.");
	} else {
		write_warnings(d, f, plan);
		write_closed_loops(d, f, plots);
		if (has_open_loops(f, plan))
			write_open_loops(d, f, plan, plots);
		write_arms(d, plan, f);
	}
	write_markup(d, "", "</body>\n</html>\n");
}

static bool write_files(const struct figures *f, const struct plan *plan,
			const cJSON *results, const struct plots *plots,
			const char *folder, struct error *error)
{
	struct file_draft markdown = { 0 };
	struct file_draft html = { 0 };
	char path[PATH_MAX];
	bool written = false;

	snprintf(path, sizeof(path), "%s/report.md", folder);
	if (file_draft_open(&markdown, path, error)) {
		snprintf(path, sizeof(path), "%s/report.html", folder);
		written = file_draft_open(&html, path, error);
	}
	if (written) {
		struct document document = { markdown.out, html.out };

		write_document(&document, f, plan, results, plots);
		written = file_draft_commit(&html, error) &&
			  file_draft_commit(&markdown, error);
	}
	file_draft_drop(&html);
	file_draft_drop(&markdown);
	return written;
}

bool report_write(const char *folder, const cJSON *results, struct error *note,
		  struct error *error)
{
	struct figures figures = { 0 };
	struct plan plan = { 0 };
	struct plots plots = { 0 };
	bool written = false;

	if (results_read_plan(results, &plan, error)) {
		if (!figures_init(&figures, &plan, results))
			error_set(error, "out of memory");
		else
			written = plots_draw(&plots, &figures, &plan, folder,
					     error) &&
				  write_files(&figures, &plan, results, &plots,
					      folder, error);
	}
	*note = plots.missing;
	plots_release(&plots);
	figures_release(&figures);
	plan_release(&plan);
	return written;
}
