/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/plot.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	TOP = 56,
	LEFT = 70,
	BOTTOM_SPACE = 50,
	FIELD_WIDTH = 480,
	FIELD_HEIGHT = 320,
	LABEL_GAP = 16,  /* between names, from line to line */
	LABEL_LEFT = 26, /* from the field */
	SAMPLE = 28,     /* of a line, before its name */
	LETTER = 7,
	CURVES_MAX = 16,
};

struct field {
	struct scale x;
	struct scale y;
};

struct range {
	double low;
	double high;
};

static void widen(struct range *range, double value)
{
	range->low = fmin(range->low, value);
	range->high = fmax(range->high, value);
}

/* False: there is no point at all. */
static bool find_field(struct field *field, const struct line_plot *plot)
{
	struct range x = { INFINITY, -INFINITY };
	struct range y = { INFINITY, -INFINITY };

	for (size_t i = 0; i < plot->curve_count; i++)
		for (size_t k = 0; k < plot->curves[i].count; k++) {
			widen(&x, plot->curves[i].points[k].x);
			widen(&y, plot->curves[i].points[k].y);
		}
	if (x.low > x.high)
		return false;
	scale_init(&field->x, plot->x_kind, x.low, x.high, LEFT,
		   LEFT + FIELD_WIDTH);
	scale_init(&field->y, plot->y_kind, y.low, y.high, TOP + FIELD_HEIGHT,
		   TOP);
	return true;
}

static void draw_axes(FILE *out, const struct line_plot *plot,
		      const struct field *f)
{
	const double bottom = TOP + FIELD_HEIGHT;
	const double right = LEFT + FIELD_WIDTH;

	for (size_t i = 0; i < f->x.tick_count; i++) {
		double at = scale_px(&f->x, f->x.ticks[i].value);

		svg_line(out, "grid", (struct point){ at, TOP },
			 (struct point){ at, bottom });
		svg_text(out, "tick", SVG_MIDDLE,
			 (struct point){ at, bottom + 17 },
			 f->x.ticks[i].label);
	}
	for (size_t i = 0; i < f->y.tick_count; i++) {
		double at = scale_px(&f->y, f->y.ticks[i].value);

		svg_line(out, "grid", (struct point){ LEFT, at },
			 (struct point){ right, at });
		svg_text(out, "tick", SVG_END,
			 (struct point){ LEFT - 8, at + 4 },
			 f->y.ticks[i].label);
	}
	svg_line(out, "axis", (struct point){ LEFT, bottom },
		 (struct point){ right, bottom });
	svg_line(out, "axis", (struct point){ LEFT, TOP },
		 (struct point){ LEFT, bottom });
	svg_text(out, "name", SVG_MIDDLE,
		 (struct point){ (LEFT + right) / 2, bottom + 38 },
		 plot->x_title);
	svg_text(out, "name", SVG_START, (struct point){ 12, TOP - 12 },
		 plot->y_title);
}

static struct point place(const struct field *f, struct point p)
{
	return (struct point){ scale_px(&f->x, p.x), scale_px(&f->y, p.y) };
}

static void draw_curve(FILE *out, const struct line_plot *plot,
		       const struct plot_curve *curve, const struct field *f)
{
	struct point points[PLOT_POINTS_MAX];

	assert(curve->count <= PLOT_POINTS_MAX);
	for (size_t k = 0; k < curve->count; k++)
		points[k] = place(f, curve->points[k]);
	svg_path(out, curve->series, points, curve->count);
	for (size_t k = 0; k < curve->count && plot->markers; k++)
		svg_marker(out, curve->series, points[k]);
}

static struct point end_of(const struct plot_curve *curve,
			   const struct field *f)
{
	return place(f, curve->points[curve->count - 1]);
}

static bool ends_later(const struct line_plot *plot, const struct field *f,
		       size_t i, size_t than)
{
	struct point a = end_of(&plot->curves[i], f);
	struct point b = end_of(&plot->curves[than], f);

	return fabs(a.y - b.y) > 0.5 ? a.y > b.y : a.x > b.x;
}

/* Curves with points, by where they end: from top to bottom, left to right. */
static size_t sort_by_end(const struct line_plot *plot, const struct field *f,
			  size_t sorted[CURVES_MAX], double y[CURVES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < plot->curve_count && count < CURVES_MAX; i++) {
		size_t at = count;

		if (plot->curves[i].count == 0)
			continue;
		for (; at > 0 && ends_later(plot, f, sorted[at - 1], i); at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = i;
		count++;
	}
	for (size_t i = 0; i < count; i++)
		y[i] = end_of(&plot->curves[sorted[i]], f).y;
	return count;
}

/* Names at the right, each with a piece of its line, and tied to its end. */
static void draw_names(FILE *out, const struct line_plot *plot,
		       const struct field *f)
{
	const double right = LEFT + FIELD_WIDTH;
	size_t sorted[CURVES_MAX];
	double y[CURVES_MAX];
	size_t count = sort_by_end(plot, f, sorted, y);

	scale_spread(y, count, LABEL_GAP, TOP, TOP + FIELD_HEIGHT);
	for (size_t i = 0; i < count; i++) {
		const struct plot_curve *curve = &plot->curves[sorted[i]];
		struct point end = end_of(curve, f);
		struct point sample[] = {
			{ right + LABEL_LEFT, y[i] },
			{ right + LABEL_LEFT + SAMPLE, y[i] },
		};

		if (plot->markers)
			svg_line(out, "lead",
				 (struct point){ end.x + 5, end.y },
				 (struct point){ sample[0].x - 4, y[i] });
		svg_path(out, curve->series, sample, 2);
		if (plot->markers)
			svg_marker(out, curve->series,
				   (struct point){ sample[0].x + SAMPLE / 2.,
						   y[i] });
		svg_text(out, "name", SVG_START,
			 (struct point){ sample[1].x + 6, y[i] + 4 },
			 curve->name);
	}
}

static double name_width(const struct line_plot *plot)
{
	size_t longest = 0;

	for (size_t i = 0; i < plot->curve_count; i++)
		if (strlen(plot->curves[i].name) > longest)
			longest = strlen(plot->curves[i].name);
	return (double)longest * LETTER + LABEL_LEFT + SAMPLE + 16;
}

bool plot_lines(FILE *out, const struct line_plot *plot)
{
	struct field field;

	if (!find_field(&field, plot))
		return false;
	svg_begin(out, LEFT + FIELD_WIDTH + name_width(plot),
		  TOP + FIELD_HEIGHT + BOTTOM_SPACE, plot->title);
	svg_text(out, "title", SVG_START, (struct point){ 12, 24 },
		 plot->title);
	draw_axes(out, plot, &field);
	for (size_t i = 0; i < plot->curve_count; i++)
		if (plot->curves[i].count > 0)
			draw_curve(out, plot, &plot->curves[i], &field);
	draw_names(out, plot, &field);
	svg_end(out);
	return true;
}
