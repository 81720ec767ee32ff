/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/plot.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/quantiles.h"
#include "base/text.h"
#include "loadgen/compare/process.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

EMBED_TEXT(plot_gnuplot, "plot.gnuplot")

enum {
	SVG_BYTES_MAX = 16 << 20,
	POINTS_MAX = FIGURES_RUNGS_MAX,
	/*
	 * A plot in which every arm has fewer points is left out: it would
	 * show no more than its numbers in the table, as if they were certain.
	 */
	POINTS_MIN = 2,
};

#define STYLE "plots.css" /* written by the script */

/*
 * Write `text` as a gnuplot string in double quotes.  Every character that
 * gnuplot may interpret (quotes, backquotes, macros, escapes, line ends) is
 * written as an octal escape.  Control characters become spaces.
 */
static void write_string(FILE *script, const char *text)
{
	fputc('"', script);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (isalnum(c) || c >= 0x80 || strchr(" ,.:;()+-_", c) != NULL)
			fputc(c, script);
		else
			fprintf(script, "\\%03o", c < ' ' ? ' ' : c);
	}
	fputc('"', script);
}

/* Set a variable of the script, or the item `i` >= 1 of an array. */
static void set_string(FILE *script, const char *variable, size_t i,
		       const char *text)
{
	fputs(variable, script);
	if (i > 0)
		fprintf(script, "[%zu]", i);
	fputs(" = ", script);
	write_string(script, text);
	fputc('\n', script);
}

/* Begin a plot, for which the caller has data. */
static void add_plot(FILE *script, struct plots *p, enum plot_place place,
		     const char *file, const char *title, const char *x_title)
{
	assert(p->count < PLOTS_MAX);
	p->list[p->count++] = (struct plot){ place, file, title, NULL };
	fputc('\n', script);
	set_string(script, "file", 0, file);
	set_string(script, "plot_title", 0, title);
	set_string(script, "x_title", 0, x_title);
}

static void write_arms(FILE *script, const struct figures *f)
{
	size_t longest = 0;

	static_assert(PLAN_ARMS_MAX == 16, "the arrays in plot.gnuplot");
	for (size_t i = 0; i < f->arm_count; i++) {
		const char *name = f->arms[i].name;

		set_string(script, "name", i + 1, name);
		fprintf(script, "number[%zu] = %zu\nranked[%zu] = %td\n", i + 1,
			f->arms[i].number, i + 1, f->ranked[i] - f->arms + 1);
		longest = strlen(name) > longest ? strlen(name) : longest;
	}
	fprintf(script, "arms = %zu\nlongest = %zu\n", f->arm_count, longest);
}

/* A plot with a box for each arm; of open loops, for the plan's last load. */
struct box_plot {
	enum plot_place place;
	const char *file;
	const char *title;
	const char *axis;
	int metric; /* enum metric or, in PLOT_OPEN_LOOP, enum open_metric */
};

/* The values of every run of the arm. */
static const struct samples *values_in(const struct box_plot *box,
				       const struct figures *f, size_t rank)
{
	const struct arm_figures *arm = f->ranked[rank];

	return box->place == PLOT_BOXES ?
		       &arm->every[box->metric] :
		       &arm->every_open[f->plan->open.rate_count - 1]
				       [box->metric];
}

static void write_boxes(FILE *script, struct plots *p, const struct figures *f,
			const struct box_plot *box)
{
	size_t most = 0;

	for (size_t i = 0; i < f->arm_count; i++)
		if (values_in(box, f, i)->count > most)
			most = values_in(box, f, i)->count;
	if (most < POINTS_MIN)
		return;
	add_plot(script, p, box->place, box->file, box->title, box->axis);
	fprintf(script, "$boxes << EOD\n");
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct samples *s = values_in(box, f, i);

		if (s->count == 0)
			continue;
		fprintf(script, "%zu", i);
		for (int k = 0; k < 5; k++)
			fprintf(script, " %.17g",
				quantile_between(s->values, s->count, k / 4.));
		fprintf(script, " %zu\n", f->ranked[i]->number);
	}
	fprintf(script, "EOD\n$values << EOD\n");
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct samples *s = values_in(box, f, i);

		for (size_t k = 0; k < s->count; k++)
			fprintf(script, "%zu %.17g %zu\n", i, s->values[k],
				f->ranked[i]->number);
	}
	fprintf(script, "EOD\neval boxes\n");
}

/*
 * A plot of curves: response times (y) by request rates (x) or, in PLOT_TIMES,
 * shares of the replies (y) by response times (x).
 */
struct line_plot {
	enum plot_place place;
	const char *file;
	const char *title;
	enum open_metric metric; /* not used in PLOT_TIMES */
};

/* The curve of an arm in such a plot. */
struct curve {
	const struct arm_figures *arm;
	struct {
		double x, y; /* x rises */
	} points[POINTS_MAX];
	size_t count;
};

/*
 * The key lists the curves in the order of their last points: the highest
 * first; at the same height, the leftmost first.
 */
static int compare_ends(const void *left, const void *right)
{
	const struct curve *a = left, *b = right;
	double dx, dy;

	if (a->count == 0 || b->count == 0)
		return (a->count == 0) - (b->count == 0);
	dx = a->points[a->count - 1].x - b->points[b->count - 1].x;
	dy = a->points[a->count - 1].y - b->points[b->count - 1].y;
	return dy != 0 ? (dy < 0) - (dy > 0) : (dx > 0) - (dx < 0);
}

/*
 * Add a point at the median time and `other`, the other coordinate.  There is
 * none for a time of 0, because the axis of times is logarithmic.
 */
static void add_point(struct curve *curve, const struct sample *ms,
		      double other, bool has_nines)
{
	double time = sample_median(ms);

	if (!(time > 0))
		return;
	assert(curve->count < POINTS_MAX);
	curve->points[curve->count].x = has_nines ? time : other;
	curve->points[curve->count++].y = has_nines ? other : time;
}

static void find_curve(struct curve *curve, const struct arm_figures *arm,
		       const struct line_plot *line)
{
	bool has_nines = line->place == PLOT_TIMES;

	curve->arm = arm;
	for (size_t k = 0; k < PLAN_RATES_MAX && !has_nines; k++)
		if (arm->open_tries[k] == arm->open_tries[0])
			add_point(curve, &arm->open[k][line->metric],
				  sample_median(&arm->open[k][OPEN_RATE_PER_S]),
				  false);
	/* 100 % has infinitely many nines, so it is off the axis. */
	for (size_t k = 0; k < arm->rung_count && has_nines; k++)
		if (arm->rungs[k].percent < 99.9999)
			add_point(curve, &arm->rungs[k].ms,
				  arm->rungs[k].percent, true);
}

static void write_curves(FILE *script, struct plots *p, const struct figures *f,
			 const struct line_plot *line)
{
	struct curve curves[PLAN_ARMS_MAX] = { 0 };
	bool has_nines = line->place == PLOT_TIMES;
	size_t count = 0, most = 0;

	for (size_t i = 0; i < f->arm_count; i++) {
		find_curve(&curves[i], &f->arms[i], line);
		/* These curves have no marks, so one point is invisible. */
		if (has_nines && curves[i].count < POINTS_MIN)
			curves[i].count = 0;
		if (curves[i].count > most)
			most = curves[i].count;
	}
	if (most < POINTS_MIN)
		return;
	qsort(curves, f->arm_count, sizeof(*curves), compare_ends);
	while (count < f->arm_count && curves[count].count > 0)
		count++;
	add_plot(script, p, line->place, line->file, line->title,
		 has_nines ? "response time, ms" :
			     "requests offered per second");
	fprintf(script, "has_nines = %d\ncount = %zu\n", has_nines, count);
	for (size_t i = 0; i < count; i++)
		fprintf(script, "curve_arm[%zu] = %td\n", i + 1,
			curves[i].arm - f->arms + 1);
	fprintf(script, "$curves << EOD\n");
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < curves[i].count; k++)
			fprintf(script, "%.17g %.17g\n", curves[i].points[k].x,
				curves[i].points[k].y);
		fprintf(script, "\n\n");
	}
	fprintf(script, "EOD\neval curves\n");
}

static void write_all_boxes(FILE *script, struct plots *p,
			    const struct figures *f)
{
	static const struct box_plot open[] = {
		{ PLOT_OPEN_LOOP, "open_p90.svg",
		  "Response time, 90th percentile, last load of the open loop",
		  "ms (less is better)", OPEN_P90_MS },
		{ PLOT_OPEN_LOOP, "open_small_p90.svg",
		  "The same of the smallest uploads", "ms (less is better)",
		  OPEN_SMALLEST_P90_MS },
	};

	for (int i = 0; i < METRIC_COUNT; i++) {
		const struct metric_view *view = &metric_views[i];
		const struct box_plot box = { PLOT_BOXES, view->plot_file,
					      view->plot_title, view->plot_axis,
					      i };

		if (view->plot_file != NULL)
			write_boxes(script, p, f, &box);
	}
	for (size_t i = 0; i < ARRAY_SIZE(open) && f->plan->open.rate_count > 0;
	     i++)
		write_boxes(script, p, f, &open[i]);
}

/*
 * The script of all plots, which are also added to `p`.  The caller frees it.
 * NULL: out of memory.
 */
static char *make_script(struct plots *p, const struct figures *f)
{
	static const struct line_plot lines[] = {
		{ PLOT_TIMES, "response_times.svg",
		  "Response times, closed loop (medians of the repetitions)",
		  0 },
		{ PLOT_OPEN_LOOP, "load_p50.svg",
		  "Response time under load, median", OPEN_P50_MS },
		{ PLOT_OPEN_LOOP, "load_p90.svg",
		  "Response time under load, 90th percentile", OPEN_P90_MS },
		{ PLOT_OPEN_LOOP, "load_p99.svg",
		  "Response time under load, 99th percentile", OPEN_P99_MS },
	};
	struct text text;
	FILE *script = text_open(&text);

	if (script == NULL)
		return NULL;
	fprintf(script,
		"# All plots of a report; to draw them: gnuplot " PLOT_SCRIPT
		"\n%s\n",
		plot_gnuplot);
	write_arms(script, f);
	write_all_boxes(script, p, f);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		write_curves(script, p, f, &lines[i]);
	return text_close(&text, script);
}

/*
 * Write gnuplot's SVG with a style sheet.  gnuplot gives the picture and each
 * curve a <title>, such as "gnuplot_plot_1"; the first becomes the plot's
 * title, and the others are left out.
 */
static void write_styled(FILE *out, const char *svg, const char *title,
			 const char *style)
{
	static const char begin[] = "<title>", end[] = "</title>";
	const char *at = strstr(svg, begin);

	for (size_t i = 0; at != NULL && strstr(at, end) != NULL; i++) {
		fwrite(svg, 1, (size_t)(at - svg), out);
		svg = strstr(at, end) + strlen(end);
		at = strstr(svg, begin);
		if (i == 0)
			fprintf(out, "<title>%s</title>\n<style>\n%s</style>",
				title, style);
	}
	fputs(svg, out);
}

/*
 * Read the file `name` in the folder `drafts` and remove it.  NULL: it could
 * not be read.  The caller frees the text.
 */
static char *take_draft(const char *drafts, const char *name,
			struct error *error)
{
	char path[PATH_MAX + 32];
	const char *why;
	char *text;

	snprintf(path, sizeof(path), "%s/%s", drafts, name);
	text = file_read_text(path, SVG_BYTES_MAX, &why);
	if (text == NULL)
		error_set(error, "%s: %s", path, why);
	unlink(path);
	return text;
}

/* Add the style sheet to what gnuplot drew, and write it to `folder`. */
static bool finish_plot(struct plot *plot, const char *svg, const char *style,
			const char *folder, struct error *error)
{
	struct text styled;
	FILE *out = text_open(&styled);

	if (out != NULL) {
		write_styled(out, svg, plot->title, style);
		plot->svg = text_close(&styled, out);
	}
	return file_write_text(folder, plot->file, plot->svg, error);
}

/*
 * Run gnuplot in the new folder `drafts`, inside the report's folder.  If it is
 * not installed, set p->missing and return true.
 */
static bool run_gnuplot(struct plots *p, const char *drafts, const char *log,
			struct error *error)
{
	static const char *const words[] = { "gnuplot", "-d",
					     ("../" PLOT_SCRIPT) };
	static const volatile sig_atomic_t never_stop;
	cJSON *command = cJSON_CreateStringArray(words, ARRAY_SIZE(words));
	const struct process_config config = {
		.command = command,
		.directory = drafts,
		.log = log,
	};
	int status;
	bool is_installed =
		process_run(&config, &never_stop, &status, &p->missing);

	cJSON_Delete(command);
	if (!is_installed || status == 0)
		return true;
	process_explain(error, "gnuplot", &status, log);
	return false;
}

bool plots_draw(struct plots *p, const struct figures *f, const char *folder,
		struct error *error)
{
	char *script = make_script(p, f);
	char drafts[PATH_MAX], log[PATH_MAX + 32];
	bool drawn = file_write_text(folder, PLOT_SCRIPT, script, error);
	struct error ignored;
	char *style = NULL;

	free(script);
	if (!drawn)
		return false;
	snprintf(drafts, sizeof(drafts), "%s/plots.XXXXXX", folder);
	if (mkdtemp(drafts) == NULL)
		return error_fail(error, "%s: %s", drafts, strerror(errno));
	snprintf(log, sizeof(log), "%s/log", drafts);
	drawn = run_gnuplot(p, drafts, log, error);
	unlink(log);
	if (*p->missing.text != '\0') {
		p->count = 0;
	} else {
		style = take_draft(drafts, STYLE, drawn ? error : &ignored);
		drawn = drawn && style != NULL;
	}
	for (size_t i = 0; i < p->count; i++) {
		struct plot *plot = &p->list[i];
		char *svg = take_draft(drafts, plot->file,
				       drawn ? error : &ignored);

		drawn = drawn && svg != NULL &&
			finish_plot(plot, svg, style, folder, error);
		free(svg);
	}
	free(style);
	rmdir(drafts);
	return drawn;
}

void plots_release(struct plots *p)
{
	for (size_t i = 0; i < PLOTS_MAX; i++)
		free(p->list[i].svg);
	*p = (struct plots){ 0 };
}
