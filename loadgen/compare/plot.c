/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/plot.h"

#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "loadgen/compare/process.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAPER "#ffffff"

/* Pixels. */
enum {
	FIELD_WIDTH = 480,  /* where the data are */
	FIELD_HEIGHT = 320, /* of lines */
	ROW_HEIGHT = 30,    /* of boxes */
	TOP = 56,
	BOTTOM = 60,
	LEFT = 70, /* of lines; of boxes it depends on the names */
	RIGHT = 30,
	LETTER = 7, /* its width, about */
	KEY_WIDTH = 70,
};

enum { COLOURS = 9, SVG_BYTES_MAX = 16 << 20, POINTS_MAX = FIGURES_RUNGS_MAX };

struct colour {
	unsigned light; /* 0xrrggbb, on white */
	unsigned dark;
};

static const struct colour soft = { 0x5a5a5a, 0xa8a8a8 };
static const struct colour grid = { 0xdddddd, 0x3a3a3a };

/*
 * Okabe and Ito's colours, which colour-blind readers can tell apart, made
 * darker or lighter until they stand out from the background.
 */
static const struct colour arm_colours[COLOURS] = {
	{ 0x0072b2, 0x4ea8e0 }, { 0xd55e00, 0xff8a3d }, { 0x00805c, 0x2fc79a },
	{ 0xb0508a, 0xe39ac6 }, { 0x8a6d00, 0xe0c33c }, { 0x2b93cc, 0x9ad7ff },
	{ 0x5b3a8e, 0xb49be8 }, { 0x5f5f5f, 0xb5b5b5 }, { 0xa6192e, 0xff7f8e },
};

static unsigned arm_colour(const struct arm_figures *arm)
{
	return arm_colours[arm->number % COLOURS].light;
}

/*
 * As a gnuplot string in double quotes.  Every character that gnuplot may
 * interpret (quotes, backquotes, macros, escapes, line ends) is written as an
 * octal escape.  Control characters become spaces.
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

static size_t longest_name(const struct figures *f)
{
	size_t longest = 0;

	for (size_t i = 0; i < f->arm_count; i++)
		longest = strlen(f->arms[i].name) > longest ?
				  strlen(f->arms[i].name) :
				  longest;
	return longest;
}

/* The parts that all plots share; after it only their data are missing. */
static void begin_plot(FILE *script, const struct plot *plot, size_t left,
		       size_t right, size_t field_height, const char *x_title)
{
	double width = (double)(left + FIELD_WIDTH + right);
	double height = (double)(TOP + field_height + BOTTOM);

	fprintf(script,
		"\nreset\n"
		"set terminal svg size %.0f,%.0f dynamic noenhanced "
		"background rgb '" PAPER "' font 'system-ui,sans-serif,12'\n"
		"set output ",
		width, height);
	write_string(script, plot->file);
	fprintf(script,
		"\nset lmargin at screen %f\nset rmargin at screen %f\n"
		"set tmargin at screen %f\nset bmargin at screen %f\n"
		"set label at screen %f, screen %f left "
		"font ',14' ",
		(double)left / width, (double)(left + FIELD_WIDTH) / width,
		1 - TOP / height, BOTTOM / height, 12 / width, 1 - 18 / height);
	write_string(script, plot->title);
	fprintf(script, "\nset xlabel ");
	write_string(script, x_title);
	fprintf(script,
		"\nset border lc rgb '#%06x'\nset tics nomirror scale 0 "
		"tc rgb '#%06x'\nset grid lt 1 lw 1 lc rgb '#%06x'\n"
		"set format '%%.10g'\n",
		soft.light, soft.light, grid.light);
}

static int marker_of(const struct arm_figures *arm)
{
	static const int types[] = { 7, 5, 13, 9 }; /* circle, square, ... */

	return types[arm->number % ARRAY_SIZE(types)];
}

/* A row of each arm: its name, and the data of its box. */
static void write_rows(FILE *script, const struct figures *f,
		       enum metric metric)
{
	for (size_t i = 0; i < f->arm_count; i++) {
		fprintf(script,
			"set label at graph 0, first %zu right "
			"offset character -1,0 ",
			i);
		write_string(script, f->arms[f->ranking[i]].name);
		fputc('\n', script);
	}
	fprintf(script, "$boxes << EOD\n");
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct arm_figures *arm = &f->arms[f->ranking[i]];
		struct five_numbers five;

		if (arm->metrics[metric].count == 0)
			continue;
		five = sample_five_numbers(&arm->metrics[metric]);
		fprintf(script, "%zu %.17g %.17g %.17g %.17g %.17g %u\n", i,
			five.min, five.lower_quartile, five.median,
			five.upper_quartile, five.max, arm_colour(arm));
	}
	fprintf(script, "EOD\n$values << EOD\n");
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct arm_figures *arm = &f->arms[f->ranking[i]];

		for (size_t k = 0; k < arm->metrics[metric].count; k++)
			fprintf(script, "%zu %.17g %d %u\n", i,
				arm->metrics[metric].values[k], marker_of(arm),
				arm_colour(arm));
	}
	fprintf(script, "EOD\n");
}

/*
 * Quartiles and median of each arm as a box, lines to both ends, and all
 * values.  False: no arm has a value, and nothing was written.
 */
static bool write_boxes(FILE *script, const struct plot *plot,
			const struct figures *f, enum metric metric)
{
	size_t left = longest_name(f) * LETTER + 20;
	size_t count = 0;

	for (size_t i = 0; i < f->arm_count; i++)
		count += f->arms[i].metrics[metric].count;
	if (count == 0)
		return false;
	begin_plot(script, plot, left < 90 ? 90 : left, RIGHT,
		   ROW_HEIGHT * f->arm_count, metric_views[metric].plot_axis);
	fprintf(script,
		"set border 1\nunset key\nunset ytics\n"
		"set yrange [%zu.5:-0.5]\n",
		f->arm_count - 1);
	write_rows(script, f, metric);
	fputs("plot $boxes using 4:1:3:5:($1-.27):($1+.27):7 with boxxyerror "
	      "fs transparent solid .18 lc rgb variable, \\\n"
	      "\t$boxes using 2:1:($3-$2):(0):7 with vectors nohead lw 2 "
	      "lc rgb variable, \\\n"
	      "\t$boxes using 5:1:($6-$5):(0):7 with vectors nohead lw 2 "
	      "lc rgb variable, \\\n"
	      "\t$boxes using 4:($1-.37):(0):(.74):7 with vectors nohead "
	      "lw 2 lc rgb variable, \\\n"
	      "\t$values using 2:1:3:4 with points pt variable ps .6 "
	      "lc rgb variable\n",
	      script);
	return true;
}

struct curve {
	const struct arm_figures *arm;
	double x[POINTS_MAX]; /* rises */
	double y[POINTS_MAX];
	size_t count;
};

static void add_point(struct curve *curve, double x, double y)
{
	assert(curve->count < POINTS_MAX);
	curve->x[curve->count] = x;
	curve->y[curve->count++] = y;
}

/* The key has the order in which curves end: top to bottom, left to right. */
static int compare_ends(const void *left, const void *right)
{
	const struct curve *a = left;
	const struct curve *b = right;
	double ax, bx, ay, by;

	if (a->count == 0 || b->count == 0)
		return (a->count == 0) - (b->count == 0);
	ax = a->x[a->count - 1];
	bx = b->x[b->count - 1];
	ay = a->y[a->count - 1];
	by = b->y[b->count - 1];
	return ay != by ? (ay < by) - (ay > by) : (ax > bx) - (ax < bx);
}

/* An axis of times: a part of a decade is enough room at its ends. */
static void write_log_axis(FILE *script, char axis, double low, double high)
{
	double decades = log10(high / low);

	fprintf(script,
		"set logscale %c\nset %crange [%.6g:%.6g]\nset %ctics (", axis,
		axis, low / 1.1, high * 1.1, axis);
	for (int power = -3; power <= 7; power++) {
		fprintf(script, "1e%d, ", power);
		if (decades <= 3)
			fprintf(script, "2e%d, 5e%d, ", power, power);
	}
	fprintf(script, "1e8)\n");
}

/* Shares in per cent: equal steps from 0 to 90, 99, 99.9 ... */
static void write_nines_axis(FILE *script, double high)
{
	double nines = fmax(1, ceil(-log10(1 - high / 100) - 1e-9));

	fprintf(script,
		"set yrange [0:%g]\nset ytics ('0' 0, '50' %.6f, '90' 1, "
		"'99' 2, '99.9' 3, '99.99' 4, '99.999' 5, '99.9999' 6)\n",
		nines, log10(2));
}

static void write_curves(FILE *script, const struct curve *curves, size_t count,
			 bool nines)
{
	static const char *const dashes[] = { "solid", "(12,5)", "(3,5)",
					      "(14,5,3,5)" };
	const char *separator = "plot ";

	for (size_t i = 0; i < count; i++) {
		fprintf(script, "$curve%zu << EOD\n", i);
		for (size_t k = 0; k < curves[i].count; k++)
			fprintf(script, "%.17g %.17g\n", curves[i].x[k],
				nines ? -log10(1 - curves[i].y[k] / 100) :
					curves[i].y[k]);
		fprintf(script, "EOD\n");
	}
	for (size_t i = 0; i < count; i++) {
		const struct arm_figures *arm = curves[i].arm;

		fprintf(script,
			"%s$curve%zu with %s lw 2 dt %s lc rgb '#%06x' ",
			separator, i, nines ? "lines" : "linespoints",
			dashes[arm->number % ARRAY_SIZE(dashes)],
			arm_colour(arm));
		if (!nines)
			fprintf(script, "pt %d ps 0.6 ", marker_of(arm));
		fprintf(script, "title ");
		write_string(script, arm->name);
		separator = ", \\\n\t";
	}
	fputc('\n', script);
}

/*
 * `nines`: shares of the replies by their times; or else times by rates.
 * False: no curve has a point, and nothing was written.
 */
static bool write_lines(FILE *script, const struct plot *plot,
			struct curve *curves, const struct figures *f,
			bool nines)
{
	size_t key = longest_name(f) * LETTER + KEY_WIDTH;
	double width = (double)(LEFT + FIELD_WIDTH + key);
	double height = TOP + FIELD_HEIGHT + BOTTOM;
	double low_ms = INFINITY;
	double high_ms = 0;
	double high_percent = 0;
	size_t count = 0;

	qsort(curves, f->arm_count, sizeof(*curves), compare_ends);
	for (; count < f->arm_count && curves[count].count > 0; count++)
		for (size_t k = 0; k < curves[count].count; k++) {
			double x = curves[count].x[k];
			double y = curves[count].y[k];

			low_ms = fmin(low_ms, nines ? x : y);
			high_ms = fmax(high_ms, nines ? x : y);
			high_percent = fmax(high_percent, nines ? y : 0);
		}
	if (count == 0)
		return false;
	begin_plot(script, plot, LEFT, key, FIELD_HEIGHT,
		   nines ? "response time, ms" : "requests offered per second");
	fprintf(script,
		"set border 3\nset label '%s' at screen %f, screen %f left\n"
		"set key at screen %f, screen %f left top Left reverse "
		"samplen 3 spacing 1.3\n",
		nines ? "replies that came sooner, %" : "ms", 12 / width,
		1 - (TOP - 12) / height, (LEFT + FIELD_WIDTH + 16) / width,
		1 - TOP / height);
	write_log_axis(script, nines ? 'x' : 'y', low_ms, high_ms);
	if (nines)
		write_nines_axis(script, high_percent);
	write_curves(script, curves, count, nines);
	return true;
}

/*
 * Has every one of `runs` a time?  The median of only some would be that of the
 * luckier ones.  Times have a logarithmic axis, which has no 0.
 */
static bool can_be_drawn(const struct sample *ms, size_t runs)
{
	return ms->count > 0 && ms->count == runs && sample_median(ms) > 0;
}

static void find_times_curve(struct curve *curve, const struct arm_figures *arm)
{
	*curve = (struct curve){ .arm = arm };
	for (size_t k = 0; k < arm->rung_count; k++) {
		const struct rung *rung = &arm->rungs[k];

		if (can_be_drawn(&rung->ms, figures_closed_runs(arm)) &&
		    rung->percent < 99.9999) /* 100 % has infinitely many 9s */
			add_point(curve, sample_median(&rung->ms),
				  rung->percent);
	}
}

static void find_load_curve(struct curve *curve, const struct arm_figures *arm,
			    const struct plan *plan, enum open_metric metric)
{
	*curve = (struct curve){ .arm = arm };
	for (size_t k = 0; k < plan->open.rate_count; k++) {
		const struct sample *open = arm->open[k];

		if (can_be_drawn(&open[metric], figures_open_runs(arm)))
			add_point(curve, sample_median(&open[OPEN_RATE_PER_S]),
				  sample_median(&open[metric]));
	}
}

/* Keep a plot that was written. */
static void keep_plot(struct plots *p, const struct plot *plot, bool written)
{
	assert(p->count < PLOTS_MAX);
	if (written)
		p->list[p->count++] = *plot;
}

static bool write_script(FILE *script, struct plots *p, const struct figures *f,
			 const struct plan *plan)
{
	static const struct plot times = {
		PLOT_TIMES, "response_times.svg",
		"Response times, closed loop (medians of the runs)", NULL
	};
	static const struct plot loads[] = {
		{ PLOT_OPEN_LOOP, "load_p50.svg",
		  "Response time under load, median", NULL },
		{ PLOT_OPEN_LOOP, "load_p90.svg",
		  "Response time under load, 90th percentile", NULL },
		{ PLOT_OPEN_LOOP, "load_p99.svg",
		  "Response time under load, 99th percentile", NULL },
	};
	struct curve *curves = calloc(f->arm_count, sizeof(*curves));

	if (curves == NULL)
		return false;
	fprintf(script,
		"# All plots of a report; to draw them: gnuplot " PLOT_SCRIPT
		"\nset encoding utf8\n");
	for (int i = 0; i < METRIC_COUNT; i++) {
		const struct plot plot = { PLOT_BOXES,
					   metric_views[i].plot_file,
					   metric_views[i].plot_title, NULL };

		if (plot.file != NULL)
			keep_plot(
				p, &plot,
				write_boxes(script, &plot, f, (enum metric)i));
	}
	for (size_t i = 0; i < f->arm_count; i++)
		find_times_curve(&curves[i], &f->arms[i]);
	keep_plot(p, &times, write_lines(script, &times, curves, f, true));
	for (size_t k = 0; k < ARRAY_SIZE(loads); k++) {
		for (size_t i = 0; i < f->arm_count; i++)
			find_load_curve(&curves[i], &f->arms[i], plan,
					OPEN_P50_MS + (enum open_metric)k);
		keep_plot(p, &loads[k],
			  write_lines(script, &loads[k], curves, f, false));
	}
	free(curves);
	return true;
}

static bool write_script_file(struct plots *p, const struct figures *f,
			      const struct plan *plan, const char *folder,
			      struct error *error)
{
	char path[PATH_MAX];
	struct file_draft draft;

	snprintf(path, sizeof(path), "%s/" PLOT_SCRIPT, folder);
	if (!file_draft_open(&draft, path, error))
		return false;
	if (write_script(draft.out, p, f, plan))
		return file_draft_commit(&draft, error);
	file_draft_drop(&draft);
	error_set(error, "%s: out of memory", path);
	return false;
}

/* In the dark, a colour becomes another.  gnuplot writes it in two ways. */
static void write_dark_rule(FILE *out, const struct colour *colour)
{
	static const char *const attributes[] = { "fill", "stroke", "color" };
	unsigned red = colour->light >> 16;
	unsigned green = colour->light >> 8 & 0xff;
	unsigned blue = colour->light & 0xff;

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		fprintf(out,
			"[%s=\"rgb(%3u, %3u, %3u)\"],[%s=\"rgb(%u,%u,%u)\"]"
			"{%s:#%06x}\n",
			attributes[i], red, green, blue, attributes[i], red,
			green, blue, attributes[i], colour->dark);
}

static void write_style(FILE *out)
{
	fputs("<style>\n@media (prefers-color-scheme:dark){\n"
	      "[fill=\"" PAPER "\"]{fill:#161616}"
	      "[fill=\"black\"]{fill:#e8e8e8}"
	      "[stroke=\"black\"]{stroke:#e8e8e8}"
	      "[color=\"black\"]{color:#e8e8e8}\n",
	      out);
	write_dark_rule(out, &soft);
	write_dark_rule(out, &grid);
	for (size_t i = 0; i < COLOURS; i++)
		write_dark_rule(out, &arm_colours[i]);
	fputs("}\n</style>", out);
}

/*
 * gnuplot's SVG with our style sheet, and with the plot's title in place of
 * gnuplot's own, which name it and each curve "gnuplot_plot_1".
 */
static void write_styled(FILE *out, const char *svg, const char *title)
{
	static const char begin[] = "<title>", end[] = "</title>";
	const char *at = strstr(svg, begin);

	for (size_t i = 0; at != NULL && strstr(at, end) != NULL; i++) {
		fwrite(svg, 1, (size_t)(at - svg), out);
		svg = strstr(at, end) + strlen(end);
		at = strstr(svg, begin);
		if (i > 0)
			continue;
		fprintf(out, "<title>%s</title>\n", title);
		write_style(out);
	}
	fputs(svg, out);
}

/* Read what gnuplot drew in `drafts`, and write it, styled, to `folder`. */
static bool finish_plot(struct plot *plot, const char *drafts,
			const char *folder, struct error *error)
{
	char path[PATH_MAX + 32];
	struct file_draft draft;
	struct text styled;
	const char *why = "out of memory";
	char *svg;
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", drafts, plot->file);
	svg = file_read_text(path, SVG_BYTES_MAX, &why);
	out = svg != NULL ? text_open(&styled) : NULL;
	if (out != NULL) {
		write_styled(out, svg, plot->title);
		plot->svg = text_close(&styled, out);
	}
	free(svg);
	if (plot->svg == NULL) {
		error_set(error, "%s: %s", path, why);
		return false;
	}
	snprintf(path, sizeof(path), "%s/%s", folder, plot->file);
	if (!file_draft_open(&draft, path, error))
		return false;
	fputs(plot->svg, draft.out);
	return file_draft_commit(&draft, error);
}

/* Run gnuplot in the new folder `drafts`, inside the report's folder. */
static bool run_gnuplot(struct plots *p, const char *drafts, const char *log,
			struct error *error)
{
	static const char *const command[] = { "gnuplot", "-d",
					       "../" PLOT_SCRIPT, NULL };
	static const volatile sig_atomic_t never_stop;
	const struct process_config config = {
		.command = command,
		.directory = drafts,
		.log = log,
	};
	struct process process = { 0 };
	int status;

	if (!process_start(&process, &config, &p->missing)) {
		p->count = 0;
		return true;
	}
	process_wait(&process, &never_stop, &status);
	if (status == 0)
		return true;
	process_explain(error, "gnuplot", &status, log);
	return false;
}

bool plots_draw(struct plots *p, const struct figures *f,
		const struct plan *plan, const char *folder,
		struct error *error)
{
	char drafts[PATH_MAX];
	char path[PATH_MAX + 32];
	size_t count;
	bool drawn;

	*p = (struct plots){ 0 };
	if (!write_script_file(p, f, plan, folder, error))
		return false;
	snprintf(drafts, sizeof(drafts), "%s/plots.XXXXXX", folder);
	if (mkdtemp(drafts) == NULL) {
		error_set(error, "%s: %s", drafts, strerror(errno));
		return false;
	}
	count = p->count;
	snprintf(path, sizeof(path), "%s/log", drafts);
	drawn = run_gnuplot(p, drafts, path, error);
	unlink(path);
	for (size_t i = 0; i < p->count && drawn; i++)
		drawn = finish_plot(&p->list[i], drafts, folder, error);
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", drafts, p->list[i].file);
		unlink(path);
	}
	rmdir(drafts);
	return drawn;
}

void plots_release(struct plots *p)
{
	for (size_t i = 0; i < PLOTS_MAX; i++)
		free(p->list[i].svg);
	*p = (struct plots){ 0 };
}
