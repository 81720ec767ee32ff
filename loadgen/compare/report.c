/* SPDX-License-Identifier: MIT */
/*
 * Markdown and HTML are written side by side, part by part.  Callers pass plain
 * text, which is escaped here for each of the two.
 *
 * The tables are those of M. E. Gordon's thesis (UCAM-CL-TR-781, tables 4.4 to
 * 4.6) with more columns, and some about the open loops.  Their rows are in the
 * order of mean throughput, the best first.  A dash stands for a value that is
 * not known, or that has no meaning there.
 *
 * Every comparison is with one arm, the baseline: the first that was measured,
 * in the order of the plan.  If no run of it counts, nothing is compared: the
 * plan's author did not ask for another one.  Repetitions are blocks, so it is
 * paired.
 */
#include "loadgen/compare/report.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/machine_usage.h"
#include "base/quantiles.h"
#include "base/text.h"
#include "loadgen/compare/effects.h"
#include "loadgen/compare/plot.h"
#include "loadgen/compare/results.h"
#include "loadgen/report/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double OUTLIER = 3; /* times from the median, or more */
/* A greater change within a run, up or down, is no steady state. */
static const double STEADY = 1.1;

enum { TEXT_BYTES = 4096, PERCENT_MOST = 1000 };

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
static const struct element banner = {
	"\n**Disturbed measurement.** ", "\n",
	"<p class=\"banner\"><strong>Disturbed measurement.</strong> ", "</p>\n"
};
static const struct element not_judged = {
	"\n**Disturbances not judged.** ", "\n",
	"<p class=\"banner\"><strong>Disturbances not judged.</strong> ",
	"</p>\n"
};
static const struct element stop = { "\n**Not complete.** ", "\n",
				     "<p class=\"banner\"><strong>Not "
				     "complete.</strong> ",
				     "</p>\n" };
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
		MEDIAN,
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
	double number = NAN;

	if (c->figure == MEAN)
		number = sample_mean(s);
	else if (c->figure == MEDIAN)
		number = sample_median(s);
	if (!isnan(number))
		write_element(r, &cell, "%.*f", c->decimals, number);
	else if (c->figure == LOAD)
		write_element(r, &cell, "%g %%", r->plan.open.percents[rate]);
	else if (c->figure == LOAD_RUNS)
		write_element(r, &cell, "%zu of %zu", s->count,
			      arm->open_tries[0]);
	else
		write_element(r, &cell, "-");
}

static void begin_table(const struct report *r, const char *const *titles,
			size_t count)
{
	write_markup(r, "\n|",
		     "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>");
	write_element(r, &title_cell, "Configuration");
	for (size_t i = 0; i < count; i++)
		write_element(r, &title_cell, "%s", titles[i]);
	write_markup(r, "\n|---|", "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < count; i++)
		fputs("--:|", r->markdown);
	fputs("\n", r->markdown);
}

static void begin_row(const struct report *r, const struct arm_figures *arm)
{
	write_markup(r, "|", "<tr>");
	write_element(r, &cell, "%s", arm->name);
}

static void end_row(const struct report *r)
{
	write_markup(r, "\n", "</tr>\n");
}

static void end_table(const struct report *r)
{
	write_markup(r, "", "</tbody></table></div>\n");
}

/* A row for each arm or, if there are `rates`, for each rate and arm. */
static void write_table(const struct report *r, const struct column *columns,
			size_t count, size_t rates)
{
	size_t rows = r->figures.arm_count * (rates > 0 ? rates : 1);
	const char *titles[METRIC_COUNT];

	for (size_t i = 0; i < count; i++)
		titles[i] = columns[i].title;
	begin_table(r, titles, count);
	for (size_t row = 0; row < rows; row++) {
		const struct arm_figures *arm =
			r->figures.ranked[row % r->figures.arm_count];
		size_t rate = row / r->figures.arm_count;
		const struct sample *samples =
			rates > 0 ? arm->open[rate] : arm->metrics;

		if (samples[0].count == 0) /* not measured at this rate */
			continue;
		begin_row(r, arm);
		for (size_t i = 0; i < count; i++)
			write_cell(r, &columns[i], arm,
				   &samples[columns[i].metric], rate);
		end_row(r);
	}
	end_table(r);
}

/* A table of the means of the metrics from `first` to `last`. */
static void write_means(const struct report *r, enum metric first,
			enum metric last)
{
	struct column columns[METRIC_COUNT];
	size_t count = 0;

	for (enum metric i = first; i <= last; i++)
		columns[count++] =
			(struct column){ metric_views[i].column, MEAN, (int)i,
					 metric_views[i].decimals };
	write_table(r, columns, count, 0);
}

/* A figure in which the arms are compared. */
struct compared {
	char name[128]; /* with its unit */
	double percent; /* the load of an open loop; 0: closed loop */
	int metric;     /* an enum metric or an enum open_metric */
	int decimals;
};

/* The first of all figures; then comes the counter, if the plan has one. */
static const struct compared closed_figures[] = {
	{ "throughput, MB/s", 0, METRIC_MEGABYTES_PER_S, 3 },
	{ "p90 of response times, ms", 0, METRIC_P90_MS, 1 },
	{ "CPU, ms per image", 0, METRIC_CPU_MS_PER_IMAGE, 3 },
};

static const struct {
	const char *of;
	int metric;
} open_figures[] = {
	{ "", OPEN_P90_MS },
	{ " of uploads ", OPEN_SMALLEST_P90_MS },
};

enum {
	COMPARED_MAX = ARRAY_SIZE(closed_figures) + 1 +
		       ARRAY_SIZE(open_figures) * PLAN_RATES_MAX
};

/* The plan has a counter. */
static struct compared counted_figure(const struct plan *plan)
{
	struct compared c = { "", 0, METRIC_COUNTED_PER_S, 3 };

	snprintf(c.name, sizeof(c.name), "rate counted by the server, %s (%s)",
		 counts_bytes(plan->server_counter) ? "MB/s" : "1/s",
		 plan->server_counter);
	return c;
}

/* All figures in which the arms of a plan are compared.  Returns how many. */
static size_t list_figures(const struct plan *plan,
			   struct compared list[COMPARED_MAX])
{
	size_t count = ARRAY_SIZE(closed_figures);

	memcpy(list, closed_figures, sizeof(closed_figures));
	if (plan->server_counter != NULL)
		list[count++] = counted_figure(plan);
	for (size_t k = 0; k < plan->open.rate_count; k++)
		for (size_t i = 0; i < ARRAY_SIZE(open_figures); i++) {
			struct compared *c = &list[count++];
			const char *of = open_figures[i].of;

			*c = (struct compared){ "", plan->open.percents[k],
						open_figures[i].metric, 1 };
			snprintf(c->name, sizeof(c->name),
				 "p90%s%s at %g %% of the capacity, ms", of,
				 *of == '\0' ?
					 "" :
					 class_bounds[CLASSES_BY_BYTES][0].name,
				 c->percent);
		}
	return count;
}

/* Empty, if the plan of `f` does not have the load, or `arm` is NULL. */
static const struct sample *sample_of(const struct figures *f,
				      const struct arm_figures *arm,
				      const struct compared *what)
{
	static const struct sample none;
	const struct open_loop *open = &f->plan->open;
	size_t rate = 0;

	if (arm == NULL)
		return &none;
	if (what->percent == 0)
		return &arm->metrics[what->metric];
	while (rate < open->rate_count && open->percents[rate] != what->percent)
		rate++;
	return rate < open->rate_count ? &arm->open[rate][what->metric] : &none;
}

static const struct arm_figures *find_arm(const struct figures *f,
					  const char *name)
{
	for (size_t i = 0; i < f->arm_count; i++)
		if (strcmp(f->arms[i].name, name) == 0)
			return &f->arms[i];
	return NULL;
}

/*
 * The arms in the order of the tables, against the baseline or, if `before` is
 * not NULL, against themselves there.  Returns how many have the figure.
 */
static size_t find_effects(const struct figures *f,
			   const struct figures *before,
			   const struct compared *what,
			   struct effect effects[PLAN_ARMS_MAX])
{
	const struct arm_figures *baseline = f->baseline;
	size_t count = 0;

	for (size_t i = 0; i < f->arm_count; i++) {
		const struct arm_figures *arm = f->ranked[i];
		const struct sample *sample = sample_of(f, arm, what);
		const struct sample *other = NULL;

		if (before != NULL)
			other = sample_of(before, find_arm(before, arm->name),
					  what);
		else if (arm != baseline && baseline != NULL)
			other = sample_of(f, baseline, what);
		if (sample->count > 0 && (before == NULL || other->count > 0))
			effects[count++] = (struct effect){
				.name = arm->name,
				.sample = sample,
				.other = other,
			};
	}
	effects_judge(effects, count, before != NULL);
	return count;
}

static void write_power(const struct report *r, const struct effect *effects,
			size_t count)
{
	struct text text;
	FILE *out = text_open(&text);

	if (out == NULL)
		return;

	bool any = effects_write_power(effects, count, out);
	char *line = text_close(&text, out);

	if (any && line != NULL)
		write_element(r, &paragraph, "%s", line);
	free(line);
}

static void write_effect(const struct report *r, const struct effect *e,
			 const struct compared *what)
{
	static const char *const words[] = {
		[VERDICT_NONE] = "-",
		[VERDICT_LESS] = "less",
		[VERDICT_MORE] = "more",
		[VERDICT_EQUIVALENT] = "equivalent",
		[VERDICT_OPEN] = "not decided",
	};
	const struct sample_ratio *ratio = &e->ratio;
	bool is_alone = e->other == NULL;
	bool is_baseline = is_alone && r->figures.baseline != NULL;

	begin_row(r, find_arm(&r->figures, e->name));
	write_element(r, &cell, "%.*f", what->decimals,
		      sample_median(e->sample));
	if (is_baseline)
		write_element(r, &cell, "1");
	else if (is_alone || isnan(ratio->ratio))
		write_element(r, &cell, "-");
	else
		write_element(r, &cell, "%.3f", ratio->ratio);
	if (e->verdict == VERDICT_NONE) {
		for (int i = 0; i < 3; i++)
			write_element(r, &cell, "-");
	} else {
		write_element(r, &cell, "%.3f to %.3f", ratio->low,
			      ratio->high);
		write_element(r, &cell, "%.3g", e->p);
		write_element(r, &cell, "%.3g", e->equivalence_p);
	}
	write_element(r, &cell, "%s",
		      is_baseline ? "the baseline" : words[e->verdict]);
	if (is_alone || isnan(ratio->deviation))
		write_element(r, &cell, "-");
	else
		write_element(r, &cell, "%.2f %%", 100 * ratio->deviation);
	write_element(r, &cell, "%zu", sample_added(e->sample));
	end_row(r);
}

/* A table that compares the arms in one figure. */
static void write_compared(const struct report *r, const struct compared *what)
{
	char median[sizeof(what->name) + 8];
	const char *const titles[] = {
		median,
		"Ratio to the baseline",
		"Its 95 % interval",
		"p, no difference",
		"p, not within 2 %",
		"Verdict",
		"Scatter of the ratio",
		"Runs",
	};
	struct effect effects[PLAN_ARMS_MAX];
	size_t count = find_effects(&r->figures, NULL, what, effects);

	if (count == 0)
		return;
	snprintf(median, sizeof(median), "Median %s", what->name);
	begin_table(r, titles, ARRAY_SIZE(titles));
	for (size_t i = 0; i < count; i++)
		write_effect(r, &effects[i], what);
	end_table(r);
	write_power(r, effects, count);
}

/* What a finding's list is called. */
static const char *const verdict_titles[] = {
	[VERDICT_LESS] = "less",
	[VERDICT_MORE] = "more",
	[VERDICT_EQUIVALENT] = "equivalent within 2 %",
	[VERDICT_OPEN] = "not decided",
};

/*
 * "-12.0 % [-14.1, -9.9]".  If nothing is decided, the upper end may be
 * millions, which have no use.
 */
static void print_ratio(FILE *out, const struct effect *e)
{
	const struct sample_ratio *r = &e->ratio;
	double high = 100 * (r->high - 1);

	fprintf(out, "%+.1f %% [%+.1f, ", 100 * (r->ratio - 1),
		100 * (r->low - 1));
	if (e->verdict == VERDICT_OPEN && high > PERCENT_MOST)
		fprintf(out, "above +%d]", PERCENT_MOST);
	else
		fprintf(out, "%+.1f]", high);
}

/* "less: A -12.0 % [-14.1, -9.9], B ...; not decided: C ..." */
static void write_finding(const struct report *r, const struct compared *what)
{
	struct effect effects[PLAN_ARMS_MAX];
	size_t count = find_effects(&r->figures, NULL, what, effects);
	struct text text;
	FILE *out = text_open(&text);
	bool any = false;

	if (out == NULL)
		return;
	for (int v = VERDICT_LESS; v <= VERDICT_OPEN; v++) {
		bool is_begun = false;

		for (size_t i = 0; i < count; i++) {
			if (effects[i].verdict != (enum verdict)v)
				continue;
			if (!is_begun)
				fprintf(out, "%s%s: ", any ? "; " : "",
					verdict_titles[v]);
			fprintf(out, "%s%s ", is_begun ? ", " : "",
				effects[i].name);
			print_ratio(out, &effects[i]);
			is_begun = any = true;
		}
	}

	char *line = text_close(&text, out);

	if (any && line != NULL)
		write_element(r, &item, "%s: %s.", what->name, line);
	free(line);
}

/* What the tables say, in a line for each figure. */
static void write_findings(const struct report *r)
{
	const struct figures *f = &r->figures;
	struct compared list[COMPARED_MAX];
	size_t count = list_figures(&r->plan, list);

	if (f->arm_count < 2 && f->baseline != NULL)
		return;
	write_element(r, &heading, "Findings");
	if (f->baseline == NULL) {
		write_element(r, &paragraph,
			      "The baseline, %s, has no run that counts, so "
			      "nothing is compared.",
			      f->baseline_name);
		return;
	}
	if (f->baseline->metrics[METRIC_MEGABYTES_PER_S].count < 2) {
		write_element(r, &paragraph,
			      "From one repetition no difference can be told "
			      "from chance: take the figures as samples.");
		return;
	}
	write_element(
		r, &paragraph,
		"Against %s, the baseline: ratios within repetitions, with "
		"95 %% intervals. Less and more: a paired t test of the "
		"logarithms, p <= %g. Equivalent: two one-sided tests, within "
		"%d %%, p <= %g. Both corrected by Holm's method for the "
		"arms of a line.",
		f->baseline->name, EFFECT_SIGNIFICANT / 100.0,
		EFFECT_EQUIVALENT, EFFECT_SIGNIFICANT / 100.0);
	write_markup(r, "\n", "<ul>\n");
	for (size_t i = 0; i < count; i++)
		write_finding(r, &list[i]);
	write_markup(r, "", "</ul>\n");
}

/* "0.998 [0.971, 1.026]"; 1 for the baseline. */
static void write_ratio(const struct report *r, const struct arm_figures *arm,
			const struct compared *what)
{
	const struct figures *f = &r->figures;
	struct sample_ratio ratio = sample_compare(
		sample_of(f, arm, what), sample_of(f, f->baseline, what),
		EFFECT_LEVEL / 100.0);

	if (isnan(ratio.ratio))
		write_element(r, &cell, "-");
	else if (arm == f->baseline)
		write_element(r, &cell, "1");
	else if (isnan(ratio.low))
		write_element(r, &cell, "%.3f", ratio.ratio);
	else
		write_element(r, &cell, "%.3f [%.3f, %.3f]", ratio.ratio,
			      ratio.low, ratio.high);
}

static void write_median(const struct report *r, const struct arm_figures *arm,
			 const struct compared *what)
{
	double median = sample_median(sample_of(&r->figures, arm, what));

	if (isnan(median))
		write_element(r, &cell, "-");
	else
		write_element(r, &cell, "%.*f", what->decimals, median);
}

/*
 * What one wants to know first of each arm.  Of the open loop, it is the last
 * load of the plan.
 */
static void write_summary(const struct report *r)
{
	size_t rates = r->plan.open.rate_count;
	double load = rates > 0 ? r->plan.open.percents[rates - 1] : 0;
	struct compared medians[] = {
		{ "CPU, ms per image", 0, METRIC_CPU_MS_PER_IMAGE, 2 },
		{ "Peak memory, MiB", 0, METRIC_PEAK_MEMORY_MIB, 0 },
		{ "p90, ms", 0, METRIC_P90_MS, 0 },
		{ "", load, OPEN_SMALLEST_P90_MS, 0 },
	};
	size_t count = ARRAY_SIZE(medians) - (rates == 0);
	const char *titles[ARRAY_SIZE(medians) + 1] = { "Throughput" };

	snprintf(medians[3].name, sizeof(medians[3].name),
		 "%s at %g %%: p90, ms", class_bounds[CLASSES_BY_BYTES][0].name,
		 load);
	for (size_t k = 0; k < count; k++)
		titles[k + 1] = medians[k].name;
	write_element(r, &heading, "In five figures");
	begin_table(r, titles, count + 1);
	for (size_t i = 0; i < r->figures.arm_count; i++) {
		const struct arm_figures *arm = r->figures.ranked[i];

		begin_row(r, arm);
		write_ratio(r, arm, &closed_figures[0]);
		for (size_t k = 0; k < count; k++)
			write_median(r, arm, &medians[k]);
		end_row(r);
	}
	end_table(r);
	if (r->figures.baseline != NULL)
		write_element(r, &paragraph,
			      "Throughput: ratio to %s, with its 95 %% "
			      "interval; otherwise medians of the repetitions.",
			      r->figures.baseline->name);
	else
		write_element(r, &paragraph, "Medians of the repetitions.");
}

static void write_open_table(const struct report *r)
{
	char smallest[32], largest[32], slowest[32];
	const struct column columns[] = {
		{ "Load", LOAD, 0, 0 },
		{ "Offered/s", MEDIAN, OPEN_RATE_PER_S, 1 },
		{ "Responses/s", MEDIAN, OPEN_RESPONSES_PER_S, 1 },
		{ "p50, ms", MEDIAN, OPEN_P50_MS, 1 },
		{ "p90, ms", MEDIAN, OPEN_P90_MS, 1 },
		{ "p99, ms", MEDIAN, OPEN_P99_MS, 1 },
		{ smallest, MEDIAN, OPEN_SMALLEST_P90_MS, 1 },
		{ largest, MEDIAN, OPEN_LARGEST_P90_MS, 1 },
		{ slowest, MEDIAN, OPEN_LARGEST_P99_MS, 1 },
		{ "Not answered 2xx, %", MEDIAN, OPEN_FAILED_PERCENT, 2 },
		{ "Runs", LOAD_RUNS, 0, 0 },
	};

	snprintf(smallest, sizeof(smallest), "%s: p90, ms",
		 class_bounds[CLASSES_BY_BYTES][0].name);
	snprintf(largest, sizeof(largest), "%s: p90, ms",
		 class_bounds[CLASSES_BY_BYTES][CLASS_COUNT - 1].name);
	snprintf(slowest, sizeof(slowest), "%s: p99, ms",
		 class_bounds[CLASSES_BY_BYTES][CLASS_COUNT - 1].name);
	write_table(r, columns, ARRAY_SIZE(columns), r->plan.open.rate_count);
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

/* Runs of the arm that others have disturbed. */
static void write_disturbed(const struct report *r,
			    const struct arm_figures *arm)
{
	if (arm->left_out_runs > 0)
		write_element(
			r, &item,
			"%s: runs left out of all figures: %zu. In each of %d "
			"attempts, other programs and the hypervisor took more "
			"than %g %% of the cores; up to %.1f %% in the last.",
			arm->name, arm->left_out_runs, MACHINE_ATTEMPTS,
			plan_left_out_percent(&r->plan),
			arm->worst_left_out_percent);
	if (arm->disturbed_runs > 0)
		write_element(
			r, &item,
			"%s: runs disturbed in all %d attempts: %zu. The last "
			"attempts are used, in which other programs and the "
			"hypervisor took up to %.1f %% of the cores.",
			arm->name, MACHINE_ATTEMPTS, arm->disturbed_runs,
			arm->worst_percent);
}

/* A sample of ones, of the same blocks. */
static struct sample ones_like(const struct sample *s)
{
	struct sample ones = *s;

	for (size_t i = 0; i < ones.count; i++)
		ones.values[i] = 1;
	return ones;
}

/* Whether the arms were in a steady state in each loop. */
struct steadiness {
	size_t checked, steady;
	FILE *unchecked; /* gets a list; NULL: out of memory */
	size_t unchecked_count;
};

static void check_loop(const struct report *r, const struct arm_figures *arm,
		       const struct sample *growth, const char *loop,
		       struct steadiness *all)
{
	struct sample ones = ones_like(growth);
	struct sample_ratio g =
		sample_compare(growth, &ones, EFFECT_LEVEL / 100.0);

	if (isnan(g.low)) {
		if (all->unchecked != NULL)
			fprintf(all->unchecked, "%s%s, %s",
				all->unchecked_count > 0 ? "; " : "", arm->name,
				loop);
		all->unchecked_count++;
		return;
	}
	all->checked++;
	if (g.low <= STEADY && g.high >= 1 / STEADY) {
		all->steady++;
		return;
	}
	write_element(r, &item,
		      "%s, %s: no steady state: in the second half of a run "
		      "the mean response time was %.2f times [%.2f, %.2f] "
		      "that of the first half, so it depends on the length "
		      "of the run.",
		      arm->name, loop, g.ratio, g.low, g.high);
}

static void check_arm(const struct report *r, const struct arm_figures *arm,
		      struct steadiness *all)
{
	check_loop(r, arm, &arm->metrics[METRIC_GROWTH], "closed loop", all);
	for (size_t k = 0; k < r->plan.open.rate_count; k++) {
		char loop[48];

		snprintf(loop, sizeof(loop), "open loop at %g %%",
			 r->plan.open.percents[k]);
		if (arm->open_runs[k] > 0)
			check_loop(r, arm, &arm->open[k][OPEN_GROWTH], loop,
				   all);
	}
}

/* Each loop of an arm without a steady state, and a sentence on the others. */
static void write_steadiness(const struct report *r)
{
	struct text text;
	struct steadiness all = { .unchecked = text_open(&text) };
	char *unchecked = NULL;

	for (size_t i = 0; i < r->figures.arm_count; i++)
		check_arm(r, &r->figures.arms[i], &all);
	if (all.unchecked != NULL)
		unchecked = text_close(&text, all.unchecked);
	write_element(
		r, &item,
		"Steady state: in %zu of %zu loops of the arms, no change of "
		"the mean response time by more than %.0f %% from the first "
		"half of a run to the second was found%s%s.",
		all.steady, all.checked + all.unchecked_count,
		100 * (STEADY - 1),
		all.unchecked_count > 0 ?
			"; too few replies or repetitions to check: " :
			"",
		unchecked != NULL ? unchecked : "");
	free(unchecked);
}

/* A run that the server itself has spoiled looks undisturbed. */
static void write_outliers(const struct report *r,
			   const struct arm_figures *arm)
{
	struct compared list[COMPARED_MAX];
	size_t count = list_figures(&r->plan, list);

	for (size_t i = 0; i < count; i++) {
		const struct sample *s = sample_of(&r->figures, arm, &list[i]);
		double median = sample_median(s);

		for (size_t k = 0; k < s->count; k++)
			if (s->values[k] > OUTLIER * median ||
			    s->values[k] * OUTLIER < median)
				write_element(
					r, &item,
					"%s, repetition %zu: %s: %.*f, more "
					"than %g times from the median %.*f. "
					"It counts as the others.",
					arm->name, s->blocks[k], list[i].name,
					list[i].decimals, s->values[k], OUTLIER,
					list[i].decimals, median);
	}
}

/* What makes the figures doubtful. */
static void write_warnings(const struct report *r)
{
	const struct figures *f = &r->figures;

	for (size_t i = 0; i < f->arm_count; i++) {
		write_disturbed(r, &f->arms[i]);
		write_outliers(r, &f->arms[i]);
		write_losses(r, &f->arms[i]);
	}
	write_steadiness(r);
	for (size_t i = 0; i < f->warning_count; i++)
		write_element(
			r, &item, "%s: %s (runs: %zu%s).", f->warnings[i].arm,
			f->warnings[i].text, f->warnings[i].count,
			f->warnings[i].count > 1 ? "; figures of the first" :
						   "");
}

/* "WHAT: median 2.5, 1.2 - 3.4 over all runs."; nothing if it is not known. */
static void write_spread(const struct report *r, const char *what,
			 const struct samples *s, int decimals)
{
	if (s->count > 0)
		write_element(r, &item,
			      "%s at the end of a run: median %.*f, %.*f - "
			      "%.*f over all runs.",
			      what, decimals,
			      quantile_between(s->values, s->count, 0.5),
			      decimals, s->values[0], decimals,
			      s->values[s->count - 1]);
}

/* How many runs were disturbed, and of how many that is not known. */
static void write_judged(const struct report *r)
{
	const struct disturbances *d = &r->figures.disturbances;
	char rest[96] = "";

	if (!plan_judges(&r->plan))
		return;
	if (d->not_judged > 0)
		snprintf(rest, sizeof(rest), "; not judged%s: %zu of %zu",
			 d->too_short == d->not_judged ?
				 ", because they are shorter than " TEXT_OF(
					 MACHINE_JUDGED_S) " s" :
				 "",
			 d->not_judged, d->runs);
	write_element(r, &item,
		      "Runs made again: %zu; disturbed each time: %zu%s.",
		      d->repeated, d->disturbed + d->left_out, rest);
}

/* Which runs others have disturbed, and what else makes figures doubtful. */
static void write_quality(const struct report *r)
{
	const struct figures *f = &r->figures;

	write_element(r, &heading, "Quality of the measurement");
	if (plan_judges(&r->plan))
		write_element(
			r, &paragraph,
			"A run is disturbed if other programs and the "
			"hypervisor take more than %g %% of the machine's "
			"cores; it is then made again, up to %d times in all. "
			"If it is disturbed by more than %g %% each time, it "
			"counts in no figure and no verdict.",
			r->plan.disturbed_percent, MACHINE_ATTEMPTS,
			plan_left_out_percent(&r->plan));
	write_element(r, &paragraph,
		      "A p99 is given only if each run of the arm has 1,000 "
		      "replies, and a p90 for 100.");
	write_markup(r, "\n", "<ul>\n");
	write_judged(r);
	write_spread(r, "Load average of a minute, server and client included,",
		     &f->loads, 2);
	write_spread(r, "Mean frequency of the cores, MHz,", &f->core_mhz, 0);
	write_warnings(r);
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
		"warm up%s; query %s. In each repetition the arms are in "
		"random order, with a new server for each; repetitions: %.0f.",
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

/* The same, as the servers count it. */
static void write_counted(const struct report *r)
{
	struct compared counted;

	if (r->plan.server_counter == NULL)
		return;
	counted = counted_figure(&r->plan);
	write_element(
		r, &paragraph,
		"Counted by the server: how much %s in its /metrics grew, "
		"per second of the run:",
		r->plan.server_counter);
	write_compared(r, &counted);
}

static void write_closed_loops(const struct report *r)
{
	write_element(r, &heading, "Throughput (the thesis's table 4.4)");
	write_compared(r, &closed_figures[0]);
	write_counted(r);
	write_element(r, &heading, "What clients see (table 4.5)");
	write_means(r, METRIC_MAKESPAN_S, METRIC_P90_MS);
	write_element(r, &paragraph, "Response times, compared:");
	write_compared(r, &closed_figures[1]);
	write_element(r, &heading, "What it costs the server (table 4.6)");
	write_means(r, METRIC_CPU_PERCENT, METRIC_CLIENT_PERCENT);
	write_element(r, &paragraph, "CPU time, compared:");
	write_compared(r, &closed_figures[2]);
	write_element(
		r, &paragraph,
		"Figures are means of all runs unless they say median, which "
		"is that of the repetitions (with slices, of their means). "
		"Ratios "
		"are geometric means of the ratios within a repetition; "
		"scatter is the standard deviation of their logarithms. Rows "
		"in the order of the first table. Uploads: bytes of the files, "
		"credited when they are answered; the thesis measured its "
		"network interface. Response times count from the last byte "
		"sent to the last byte received.");
}

static bool has_plot_in(const struct report *r, enum plot_place place)
{
	for (size_t i = 0; i < r->plots.count; i++)
		if (r->plots.list[i].place == place)
			return true;
	return false;
}

/* Arms without a p90 have no box beside the others. */
static void explain_no_box(const struct report *r)
{
	for (size_t i = 0; i < r->figures.arm_count; i++)
		if (r->figures.arms[i].every[METRIC_P90_MS].count == 0)
			write_element(r, &paragraph,
				      "%s has no box of p90: not each of its "
				      "runs has 100 replies.",
				      r->figures.arms[i].name);
}

static void write_closed_plots(const struct report *r)
{
	write_element(r, &heading, "Plots");
	if (*r->plots.missing.text != '\0')
		write_element(r, &paragraph,
			      "There are none: %s. Where gnuplot is installed, "
			      "`gnuplot " PLOT_SCRIPT "` draws them.",
			      r->plots.missing.text);
	else if (r->plots.count == 0)
		write_element(r, &paragraph,
			      "There are none: no figure has two runs of an "
			      "arm.");
	if (has_plot_in(r, PLOT_BOXES))
		write_element(r, &paragraph,
			      "A point is a run; boxes have the quartiles and "
			      "the median of all runs.");
	if (has_plot_in(r, PLOT_BOXES))
		explain_no_box(r);
	write_plots(r, PLOT_BOXES);
	if (has_plot_in(r, PLOT_TIMES))
		write_element(r, &paragraph,
			      "The curve of an arm has only points that all "
			      "its runs have.");
	write_plots(r, PLOT_TIMES);
}

static void write_open_loops(const struct report *r)
{
	const struct figures *f = &r->figures;
	const struct open_loop *open = &r->plan.open;
	struct compared list[COMPARED_MAX];
	size_t count = list_figures(&r->plan, list);
	bool has_bound_arm = false;
	bool is_measured = false;
	bool has_runs = false;

	for (size_t i = 0; i < f->arm_count; i++) {
		has_bound_arm |=
			r->plan.arms[f->arms[i].number].connections > 0;
		is_measured |= f->arms[i].open_tries[0] > 0;
		for (size_t k = 0; k < open->rate_count; k++)
			has_runs |= f->arms[i].open_runs[k] > 0;
	}
	if (!is_measured)
		return;
	write_element(r, &heading, "Open loop");
	if (!has_runs) {
		write_element(r, &paragraph,
			      "No run of the open loops counts: others took "
			      "more than %g %% of the cores in each.",
			      plan_left_out_percent(&r->plan));
		return;
	}
	write_element(
		r, &paragraph,
		"Requests at random times (Poisson), %g s for each load, at "
		"the same rates for all: shares of the throughput of %s in "
		"the closed loops of the same repetition; %" PRIu64
		" connections where an arm has no number of its own. Response "
		"times count from when a request was to be sent.",
		open->duration_s, f->baseline_name, open->connections);
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
	for (size_t i = 0; i < count; i++)
		if (list[i].percent > 0)
			write_compared(r, &list[i]);
	write_plots(r, PLOT_OPEN_LOOP);
}

/* The arms that are in no table, and what that changes. */
static void print_lost(FILE *out, const struct figures *f)
{
	const struct disturbances *d = &f->disturbances;

	if (d->lost_count == 0)
		return;
	fprintf(out, d->lost_count == 1 ?
			     " No closed loop of this arm is left, so it is in "
			     "no table:" :
			     " No closed loop of these arms is left, so they "
			     "are in no table:");
	for (size_t i = 0; i < d->lost_count; i++)
		fprintf(out, "%s %s", i > 0 ? "," : "", d->lost[i]);
	fprintf(out, ".");
	if (f->baseline == NULL && f->arm_count > 0)
		fprintf(out,
			" The baseline, %s, has no run that counts, so nothing "
			"is compared. Figures of the other arms follow.",
			f->baseline_name);
}

/* The disturbed runs that count. */
static void print_counted(FILE *out, const struct disturbances *d)
{
	bool is_one = d->disturbed == 1;

	if (d->disturbed == 0)
		return;
	if (d->left_out == 0)
		fprintf(out, is_one ? " It counts" : " They count");
	else if (is_one)
		fprintf(out, " The other one counts");
	else
		fprintf(out, " The other %zu count", d->disturbed);
	fprintf(out, ": on a quiet machine, figures may be better.");
}

/*
 * What must be known before all figures; nothing, if no run was disturbed each
 * time.  The caller frees it.  NULL: out of memory.
 */
static char *make_banner(const struct figures *f)
{
	const struct disturbances *d = &f->disturbances;
	struct text text;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	if (d->disturbed + d->left_out > 0)
		fprintf(out,
			"In %zu of %zu runs, other programs and the hypervisor "
			"took more than %g %% of the machine's cores, up to "
			"%.1f %%, each time that the run was made.",
			d->disturbed + d->left_out, d->runs,
			f->plan->disturbed_percent, d->worst_percent);
	if (d->left_out > 0)
		fprintf(out,
			" %zu of these, with more than %g %%, %s in no "
			"figure and no verdict.",
			d->left_out, plan_left_out_percent(f->plan),
			d->left_out == 1 ? "counts" : "count");
	if (d->disturbed_rates > 0)
		fprintf(out,
			" In %zu of the repetitions, the rates of the open "
			"loops follow from these all the same.",
			d->disturbed_rates);
	print_lost(out, f);
	print_counted(out, d);
	if (d->left_out > 0)
		fprintf(out, " Measure again when the machine is quiet, or "
			     "raise left_out_percent in the plan (figures are "
			     "then rough).");
	return text_close(&text, out);
}

/* Why it is not known which runs were disturbed; else it is empty. */
static void explain_not_judged(const struct figures *f, struct error *why)
{
	const struct disturbances *d = &f->disturbances;
	const struct samples *s = &f->taken;

	*why->text = '\0';
	if (d->runs > 0 && d->too_short == d->runs)
		error_set(why,
			  "How much others took is not known, because all "
			  "runs are shorter than %g s: let them last 1 s "
			  "or more (duration_s).",
			  MACHINE_JUDGED_S);
	else if (!plan_judges(f->plan) && s->count > 0)
		error_set(why,
			  "The plan's disturbed_percent is 100. Other programs "
			  "and the hypervisor took %.0f %% of the cores in the "
			  "median of the runs, up to %.0f %%.",
			  quantile_between(s->values, s->count, 0.5),
			  s->values[s->count - 1]);
}

static void write_banner(const struct report *r)
{
	char *text = make_banner(&r->figures);
	struct error why;

	explain_not_judged(&r->figures, &why);
	if (*why.text != '\0')
		write_element(r, &not_judged, "%s", why.text);
	if (text != NULL && *text != '\0')
		write_element(r, &banner, "%s", text);
	free(text);
}

/* Was the comparison interrupted, or has an arm failed? */
static void write_stop(const struct report *r)
{
	const cJSON *stopped = json_at(r->results, "stopped");

	if (stopped != NULL)
		write_element(
			r, &stop,
			"It ended in repetition %.0f of %.0f: %s. What follows "
			"is what had been measured.",
			json_number(stopped, "repetition", 0),
			json_number(r->results, "repetitions", 0),
			json_text(stopped, "why"));
}

static void write_document(const struct report *r)
{
	begin_document(r);
	write_stop(r);
	write_banner(r);
	write_setup(r);
	if (r->figures.arm_count == 0 && r->figures.disturbances.runs > 0) {
		write_element(r, &paragraph,
			      "No run is left of which there "
			      "could be figures.");
		write_quality(r);
	} else if (r->figures.arm_count == 0) {
		write_element(r, &paragraph, "Nothing was measured.");
	} else {
		write_findings(r);
		write_summary(r);
		write_quality(r);
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

static bool report_read(struct report *r, const cJSON *results,
			struct error *error)
{
	*r = (struct report){ .results = results };
	return results_read_plan(results, &r->plan, error) &&
	       (figures_init(&r->figures, &r->plan, results) ||
		error_fail(error, "out of memory"));
}

static void report_release(struct report *r)
{
	plots_release(&r->plots);
	figures_release(&r->figures);
	plan_release(&r->plan);
}

bool report_write(const char *folder, const cJSON *results,
		  struct report_notes *notes, struct error *error)
{
	struct report r;
	bool written = report_read(&r, results, error) &&
		       plots_draw(&r.plots, &r.figures, folder, error) &&
		       write_files(&r, folder, error);
	char *text = written ? make_banner(&r.figures) : NULL;

	*notes = (struct report_notes){ .no_plots = r.plots.missing };
	if (text != NULL)
		snprintf(notes->disturbed, sizeof(notes->disturbed), "%s",
			 text);
	if (written)
		explain_not_judged(&r.figures, &notes->not_judged);
	free(text);
	report_release(&r);
	return written;
}

/* The rates of an open loop are shares of each comparison's own capacity. */
static void print_change(FILE *out, const struct figures *now,
			 const struct figures *before, const struct effect *e,
			 const struct compared *what)
{
	const struct arm_figures *arm = find_arm(now, e->name);
	const struct arm_figures *other = find_arm(before, e->name);
	struct compared rate = *what;

	rate.metric = OPEN_RATE_PER_S;
	fprintf(out, "%s: %s", e->name, what->name);
	if (what->percent > 0)
		fprintf(out, " (%.1f requests/s, was %.1f)",
			sample_median(sample_of(now, arm, &rate)),
			sample_median(sample_of(before, other, &rate)));
	fprintf(out, ": medians %.*f, was %.*f; ", what->decimals,
		sample_median(e->sample), what->decimals,
		sample_median(e->other));
	if (e->verdict == VERDICT_NONE) {
		fprintf(out, "one run cannot be compared\n");
		return;
	}
	fprintf(out, "ratio of the geometric means ");
	print_ratio(out, e);
	fprintf(out, ", %s, p = %.3g\n", verdict_titles[e->verdict],
		e->verdict == VERDICT_EQUIVALENT ? e->equivalence_p : e->p);
}

/* Returns how many were printed. */
static size_t print_changes(FILE *out, const struct figures *now,
			    const struct figures *before)
{
	struct compared list[COMPARED_MAX];
	struct effect effects[PLAN_ARMS_MAX];
	size_t figures = list_figures(now->plan, list), printed = 0;

	for (size_t i = 0; i < figures; i++) {
		size_t count = find_effects(now, before, &list[i], effects);

		for (size_t k = 0; k < count; k++)
			print_change(out, now, before, &effects[k], &list[i]);
		printed += count;
	}
	return printed;
}

bool report_print_changes(FILE *out, const cJSON *results, const cJSON *before,
			  struct error *error)
{
	struct report now = { 0 }, then = { 0 };
	bool done = report_read(&now, results, error) &&
		    report_read(&then, before, error) &&
		    results_are_alike(results, before, error);

	if (done && print_changes(out, &now.figures, &then.figures) == 0)
		done = error_fail(error, "no arm is in both");
	report_release(&now);
	report_release(&then);
	return done;
}
