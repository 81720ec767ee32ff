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

/* Curves of times. */
struct line_plot {
	enum plot_place place;
	const char *file;
	const char *title;
	bool nines; /* shares of replies by their times; or times by rates */
	enum open_metric metric; /* of times by rates */
};

/* Only a plot that has data is added. */
static const struct plot *add_plot(struct plots *p, enum plot_place place,
				   const char *file, const char *title)
{
	assert(p->count < PLOTS_MAX);
	p->list[p->count] = (struct plot){ place, file, title, NULL };
	return &p->list[p->count++];
}

/* Begin a plot of FIELD_WIDTH x `height` pixels; its data are still missing. */
static void begin_plot(FILE *script, const struct plot *plot, size_t left,
		       size_t right, size_t field_height, const char *x_title)
{
	double width = (double)(left + FIELD_WIDTH + right);
	double height = (double)(TOP + field_height + BOTTOM);

	fprintf(script,
		"\nreset\n"
		"set terminal svg size %.0f,%.0f dynamic noenhanced "
		"background rgb '" PAPER "' font 'system-ui,sans-serif,12'\n"
		"set lmargin at screen %f\nset rmargin at screen %f\n"
		"set tmargin at screen %f\nset bmargin at screen %f\n"
		"set border lc rgb '#%06x'\nset tics nomirror scale 0 "
		"tc rgb '#%06x'\nset grid lt 1 lw 1 lc rgb '#%06x'\n"
		"set format '%%.10g'\n"
		"set label at screen %f, screen %f left font ',14' ",
		width, height, (double)left / width,
		(double)(left + FIELD_WIDTH) / width, 1 - TOP / height,
		BOTTOM / height, soft.light, soft.light, grid.light, 12 / width,
		1 - 18 / height);
	write_string(script, plot->title);
	fprintf(script, "\nset output ");
	write_string(script, plot->file);
	fprintf(script, "\nset xlabel ");
	write_string(script, x_title);
	fprintf(script, "\n");
}

static int marker_of(const struct arm_figures *arm)
{
	static const int types[] = { 7, 5, 13, 9 }; /* circle, square, ... */

	return types[arm->number % ARRAY_SIZE(types)];
}

/* A row of each arm: its name, the data of its box, and all values. */
static void write_rows(FILE *script, const struct figures *f,
		       enum metric metric)
{
	for (size_t i = 0; i < f->arm_count; i++) {
		fprintf(script,
			"set label at graph 0, first %zu right "
			"offset character -1,0 ",
			i);
		write_string(script, f->ranked[i]->name);
		fputc('\n', script);
	}
	fprintf(script, "$boxes << EOD\n");
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct sample *s = &f->ranked[i]->metrics[metric];
		double five[5];

		sample_five_numbers(s, five);
		if (s->count > 0)
			fprintf(script,
				"%zu %.17g %.17g %.17g %.17g %.17g %u\n", i,
				five[0], five[1], five[2], five[3], five[4],
				arm_colour(f->ranked[i]));
	}
	fprintf(script, "EOD\n$values << EOD\n");
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct arm_figures *arm = f->ranked[i];

		for (size_t k = 0; k < arm->metrics[metric].count; k++)
			fprintf(script, "%zu %.17g %d %u\n", i,
				arm->metrics[metric].values[k], marker_of(arm),
				arm_colour(arm));
	}
	fprintf(script, "EOD\n");
}

/*
 * Quartiles and median of each arm as a box, lines to both ends, and all
 * values.
 */
static void write_boxes(FILE *script, struct plots *p, const struct figures *f,
			enum metric metric)
{
	const struct metric_view *view = &metric_views[metric];
	size_t left = longest_name(f) * LETTER + 20;
	size_t count = 0;

	for (size_t i = 0; i < f->arm_count; i++)
		count += f->arms[i].metrics[metric].count;
	if (count == 0 || view->plot_file == NULL)
		return;
	begin_plot(script,
		   add_plot(p, PLOT_BOXES, view->plot_file, view->plot_title),
		   left < 90 ? 90 : left, RIGHT, ROW_HEIGHT * f->arm_count,
		   view->plot_axis);
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
}

/* Times by rates, or shares of the replies by their times. */
struct curve {
	const struct arm_figures *arm;
	struct {
		double x, y; /* x rises */
	} points[POINTS_MAX];
	size_t count;
};

/*
 * The key lists curves in the order of their last points: from top to bottom,
 * and from left to right.
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

/* A logarithmic axis of times, with a tenth of room at both ends. */
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

/* An axis of shares, on which 0, 90, 99, 99.9 ... % have equal distances. */
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

	for (size_t i = 0; i < count; i++) {
		fprintf(script, "$curve%zu << EOD\n", i);
		for (size_t k = 0; k < curves[i].count; k++) {
			double y = curves[i].points[k].y;

			fprintf(script, "%.17g %.17g\n", curves[i].points[k].x,
				nines ? -log10(1 - y / 100) : y);
		}
		fprintf(script, "EOD\n");
	}
	for (size_t i = 0; i < count; i++) {
		const struct arm_figures *arm = curves[i].arm;

		fprintf(script,
			"%s$curve%zu with %s lw 2 dt %s lc rgb '#%06x' ",
			i == 0 ? "plot " : ", \\\n\t", i,
			nines ? "lines" : "linespoints",
			dashes[arm->number % ARRAY_SIZE(dashes)],
			arm_colour(arm));
		if (!nines)
			fprintf(script, "pt %d ps 0.6 ", marker_of(arm));
		fprintf(script, "title ");
		write_string(script, arm->name);
	}
	fputc('\n', script);
}

/*
 * Add a point at the median time, if all of `runs` have a time: a median of
 * some runs would be that of the faster ones.  A time of 0 has no place on a
 * logarithmic axis.
 */
static void add_point(struct curve *curve, const struct sample *ms, size_t runs,
		      double other, bool nines)
{
	double time = sample_median(ms);

	if (ms->count != runs || !(time > 0))
		return;
	assert(curve->count < POINTS_MAX);
	curve->points[curve->count].x = nines ? time : other;
	curve->points[curve->count++].y = nines ? other : time;
}

static void find_curve(struct curve *curve, const struct arm_figures *arm,
		       const struct line_plot *line)
{
	curve->arm = arm;
	for (size_t k = 0; k < PLAN_RATES_MAX && !line->nines; k++)
		add_point(curve, &arm->open[k][line->metric], arm->open_runs,
			  sample_median(&arm->open[k][OPEN_RATE_PER_S]), false);
	/* 100 % has infinitely many nines. */
	for (size_t k = 0; k < arm->rung_count && line->nines; k++)
		if (arm->rungs[k].percent < 99.9999)
			add_point(curve, &arm->rungs[k].ms, arm->closed_runs,
				  arm->rungs[k].percent, true);
}

static void write_lines(FILE *script, struct plots *p, const struct figures *f,
			const struct line_plot *line)
{
	size_t key = longest_name(f) * LETTER + KEY_WIDTH;
	double width = (double)(LEFT + FIELD_WIDTH + key);
	double height = TOP + FIELD_HEIGHT + BOTTOM;
	double low_ms = INFINITY, high_ms = 0, high_percent = 0;
	struct curve curves[PLAN_ARMS_MAX] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < f->arm_count; i++)
		find_curve(&curves[i], &f->arms[i], line);
	qsort(curves, f->arm_count, sizeof(*curves), compare_ends);
	for (; count < f->arm_count && curves[count].count > 0; count++)
		for (size_t k = 0; k < curves[count].count; k++) {
			double x = curves[count].points[k].x;
			double y = curves[count].points[k].y;

			low_ms = fmin(low_ms, line->nines ? x : y);
			high_ms = fmax(high_ms, line->nines ? x : y);
			high_percent = fmax(high_percent, y);
		}
	if (count == 0)
		return;
	begin_plot(script, add_plot(p, line->place, line->file, line->title),
		   LEFT, key, FIELD_HEIGHT,
		   line->nines ? "response time, ms" :
				 "requests offered per second");
	fprintf(script,
		"set border 3\nset label '%s' at screen %f, screen %f left\n"
		"set key at screen %f, screen %f left top Left reverse "
		"samplen 3 spacing 1.3\n",
		line->nines ? "replies that came sooner, %" : "ms", 12 / width,
		1 - (TOP - 12) / height, (LEFT + FIELD_WIDTH + 16) / width,
		1 - TOP / height);
	write_log_axis(script, line->nines ? 'x' : 'y', low_ms, high_ms);
	if (line->nines)
		write_nines_axis(script, high_percent);
	write_curves(script, curves, count, line->nines);
}

/* All plots of a report, which are added to `p`.  NULL: out of memory. */
static char *make_script(struct plots *p, const struct figures *f)
{
	static const struct line_plot lines[] = {
		{ PLOT_TIMES, "response_times.svg",
		  "Response times, closed loop (medians of the runs)", true,
		  0 },
		{ PLOT_OPEN_LOOP, "load_p50.svg",
		  "Response time under load, median", false, OPEN_P50_MS },
		{ PLOT_OPEN_LOOP, "load_p90.svg",
		  "Response time under load, 90th percentile", false,
		  OPEN_P90_MS },
		{ PLOT_OPEN_LOOP, "load_p99.svg",
		  "Response time under load, 99th percentile", false,
		  OPEN_P99_MS },
	};
	struct text text;
	FILE *script = text_open(&text);

	if (script == NULL)
		return NULL;
	fprintf(script,
		"# All plots of a report; to draw them: gnuplot " PLOT_SCRIPT
		"\nset encoding utf8\n");
	for (int i = 0; i < METRIC_COUNT; i++)
		write_boxes(script, p, f, (enum metric)i);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		write_lines(script, p, f, &lines[i]);
	return text_close(&text, script);
}

/* What replaces a colour in dark mode.  gnuplot writes rgb() in two ways. */
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
 * Write gnuplot's SVG with our style sheet.  gnuplot gives the picture and each
 * curve a <title>, such as "gnuplot_plot_1"; the first becomes the plot's
 * title, and the others are left out.
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
	struct text styled;
	const char *why;
	char *svg;
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", drafts, plot->file);
	svg = file_read_text(path, SVG_BYTES_MAX, &why);
	if (svg == NULL) {
		error_set(error, "%s: %s", path, why);
		return false;
	}
	out = text_open(&styled);
	if (out != NULL) {
		write_styled(out, svg, plot->title);
		plot->svg = text_close(&styled, out);
	}
	free(svg);
	return file_write_text(folder, plot->file, plot->svg, error);
}

/* Run gnuplot in the new folder `drafts`, inside the report's folder. */
static bool run_gnuplot(struct plots *p, const char *drafts, const char *log,
			struct error *error)
{
	static const char *const words[] = { "gnuplot", "-d",
					     "../" PLOT_SCRIPT };
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
	char drafts[PATH_MAX], path[PATH_MAX + 32];
	bool drawn = file_write_text(folder, PLOT_SCRIPT, script, error);

	free(script);
	if (!drawn)
		return false;
	snprintf(drafts, sizeof(drafts), "%s/plots.XXXXXX", folder);
	if (mkdtemp(drafts) == NULL) {
		error_set(error, "%s: %s", drafts, strerror(errno));
		return false;
	}
	snprintf(path, sizeof(path), "%s/log", drafts);
	drawn = run_gnuplot(p, drafts, path, error);
	unlink(path);
	if (*p->missing.text != '\0')
		p->count = 0;
	for (size_t i = 0; i < p->count; i++) {
		drawn = drawn &&
			finish_plot(&p->list[i], drafts, folder, error);
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
