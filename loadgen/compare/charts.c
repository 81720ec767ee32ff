/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/charts.h"

#include "loadgen/compare/output_file.h"
#include "loadgen/compare/plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An SVG in the making, and where it goes. */
struct chart {
	const char *name; /* of its file */
	FILE *out;
	char *svg;
	size_t svg_bytes;
};

static bool chart_begin(struct chart *chart, const char *name,
			struct error *error)
{
	*chart = (struct chart){ .name = name };
	chart->out = open_memstream(&chart->svg, &chart->svg_bytes);
	if (chart->out == NULL)
		error_set(error, "%s: %s", name, strerror(errno));
	return chart->out != NULL;
}

static bool write_chart(const char *folder, const struct chart *chart,
			struct error *error)
{
	struct output_file file;

	if (!output_file_open(&file, folder, chart->name, error))
		return false;
	fputs(chart->svg, file.out);
	return output_file_finish(&file, error);
}

/* `drawn`: there is something in it. */
static bool chart_end(struct chart *chart, bool drawn, const char *title,
		      const struct document *d, const char *folder,
		      struct error *error)
{
	bool written = fclose(chart->out) == 0;

	if (!written)
		error_set(error, "%s: out of memory", chart->name);
	if (written && drawn) {
		document_figure(d, chart->name, title, chart->svg);
		written = write_chart(folder, chart, error);
	}
	free(chart->svg);
	return written;
}

static bool draw_box(const struct document *d, const struct figures *f,
		     enum metric metric, const char *name,
		     const struct box_plot *labels, const char *folder,
		     struct error *error)
{
	struct plot_row rows[PLAN_ARMS_MAX];
	struct box_plot plot = *labels;
	struct chart chart;

	for (size_t i = 0; i < f->arm_count; i++) {
		const struct arm_figures *arm = &f->arms[f->ranking[i]];

		rows[i] = (struct plot_row){
			.name = arm->name,
			.series = arm->number,
			.values = arm->metrics[metric].values,
			.count = arm->metrics[metric].count,
		};
	}
	plot.rows = rows;
	plot.row_count = f->arm_count;
	if (!chart_begin(&chart, name, error))
		return false;
	return chart_end(&chart, plot_boxes(chart.out, &plot), plot.title, d,
			 folder, error);
}

bool charts_boxes(const struct document *d, const struct figures *f,
		  const char *folder, struct error *error)
{
	static const struct {
		const char *name;
		enum metric metric;
		const char *title;
		const char *x_title;
	} boxes[] = {
		{ "throughput.svg", METRIC_MEGABYTES_PER_S,
		  "Throughput, closed loop",
		  "processed uploads, MB/s (more is better)" },
		{ "makespan.svg", METRIC_MAKESPAN_S, "Makespan, closed loop",
		  "s (less is better)" },
		{ "responses.svg", METRIC_RESPONSES_PER_S,
		  "Responses per second, closed loop",
		  "responses/s (more is better)" },
		{ "response_p90.svg", METRIC_P90_MS,
		  "Response time, 90th percentile, closed loop",
		  "ms (less is better)" },
		{ "cpu_use.svg", METRIC_CPU_PERCENT,
		  "Server's CPU use, closed loop", "% (100: one core)" },
		{ "uploads.svg", METRIC_UPLOADS_MBIT_S,
		  "Uploads in the greatest 5 s, closed loop",
		  "Mbit/s (more is better)" },
		{ "cpu.svg", METRIC_CPU_MS_PER_IMAGE,
		  "Server's CPU time per image", "ms (less is better)" },
		{ "memory.svg", METRIC_PEAK_MEMORY_MIB, "Server's peak memory",
		  "MiB (less is better)" },
		{ "switches.svg", METRIC_SWITCHES_PER_IMAGE,
		  "Context switches per image", "switches (less is better)" },
	};

	for (size_t i = 0; i < sizeof(boxes) / sizeof(*boxes); i++) {
		const struct box_plot labels = {
			.title = boxes[i].title,
			.x_title = boxes[i].x_title,
		};

		if (!draw_box(d, f, boxes[i].metric, boxes[i].name, &labels,
			      folder, error))
			return false;
	}
	return true;
}

/* The points of all curves of one chart. */
struct curves {
	struct point points[PLAN_ARMS_MAX][PLOT_POINTS_MAX];
	struct plot_curve curves[PLAN_ARMS_MAX];
};

static bool draw_lines(const struct document *d, const struct curves *curves,
		       size_t count, const char *name,
		       const struct line_plot *labels, const char *folder,
		       struct error *error)
{
	struct line_plot plot = *labels;
	struct chart chart;

	plot.curves = curves->curves;
	plot.curve_count = count;
	if (!chart_begin(&chart, name, error))
		return false;
	return chart_end(&chart, plot_lines(chart.out, &plot), plot.title, d,
			 folder, error);
}

static void begin_curve(struct curves *curves, size_t i,
			const struct arm_figures *arm)
{
	curves->curves[i] = (struct plot_curve){
		.name = arm->name,
		.series = arm->number,
		.points = curves->points[i],
	};
}

static void add_point(struct curves *curves, size_t i, double x, double y)
{
	curves->points[i][curves->curves[i].count++] = (struct point){ x, y };
}

/*
 * Has every one of `runs` a time?  The median of those that have would be that
 * of the lucky.  Times have a logarithmic axis, on which 0 has no place.
 */
static bool can_be_drawn(const struct sample *ms, size_t runs)
{
	return ms->count > 0 && ms->count == runs && sample_median(ms) > 0;
}

/* What all exceed has no place on an axis of nines. */
static void add_rungs(struct curves *curves, size_t i,
		      const struct arm_figures *arm)
{
	size_t runs = figures_closed_runs(arm);

	begin_curve(curves, i, arm);
	for (size_t k = 0; k < arm->rung_count; k++) {
		const struct rung *rung = &arm->rungs[k];

		if (can_be_drawn(&rung->ms, runs) && rung->percent < 99.9999)
			add_point(curves, i, sample_median(&rung->ms),
				  rung->percent);
	}
}

bool charts_response_times(const struct document *d, const struct figures *f,
			   const char *folder, struct error *error)
{
	static const struct line_plot labels = {
		.title = "Response times, closed loop (medians of the runs)",
		.x_title = "response time, ms",
		.y_title = "share of the replies that came sooner, %",
		.x_kind = SCALE_LOG,
		.y_kind = SCALE_NINES,
	};
	struct curves curves;

	for (size_t i = 0; i < f->arm_count; i++)
		add_rungs(&curves, i, &f->arms[i]);
	return draw_lines(d, &curves, f->arm_count, "response_times.svg",
			  &labels, folder, error);
}

static void add_loads(struct curves *curves, size_t i,
		      const struct arm_figures *arm, const struct plan *plan,
		      enum open_metric metric)
{
	size_t runs = figures_open_runs(arm);

	begin_curve(curves, i, arm);
	for (size_t k = 0; k < plan->open.rate_count; k++) {
		const struct sample *open = arm->open[k];

		if (can_be_drawn(&open[metric], runs))
			add_point(curves, i,
				  sample_median(&open[OPEN_RATE_PER_S]),
				  sample_median(&open[metric]));
	}
}

bool charts_open_loop(const struct document *d, const struct figures *f,
		      const struct plan *plan, const char *folder,
		      struct error *error)
{
	static const struct {
		const char *name;
		const char *title;
		enum open_metric metric;
	} charts[] = {
		{ "load_p50.svg", "Response time under load, median",
		  OPEN_P50_MS },
		{ "load_p90.svg", "Response time under load, 90th percentile",
		  OPEN_P90_MS },
		{ "load_p99.svg", "Response time under load, 99th percentile",
		  OPEN_P99_MS },
	};
	struct curves curves;

	for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); i++) {
		struct line_plot labels = {
			.title = charts[i].title,
			.x_title = "requests offered per second",
			.y_title = "ms",
			.x_kind = SCALE_LINEAR,
			.y_kind = SCALE_LOG,
			.markers = true,
		};

		for (size_t k = 0; k < f->arm_count; k++)
			add_loads(&curves, k, &f->arms[k], plan,
				  charts[i].metric);
		if (!draw_lines(d, &curves, f->arm_count, charts[i].name,
				&labels, folder, error))
			return false;
	}
	return true;
}
