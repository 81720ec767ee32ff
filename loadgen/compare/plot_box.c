/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/plot.h"

#include "loadgen/compare/statistics.h"

#include <math.h>
#include <string.h>

enum {
	TOP = 40,
	BOTTOM = 50,
	RIGHT = 30,
	ROW = 30,
	BOX = 16,
	FIELD = 480, /* width of where the data are */
	LETTER = 7,  /* width, about; the greatest name has its room */
	NAME_MIN = 90,
};

static double name_width(const struct box_plot *plot)
{
	size_t longest = 0;

	for (size_t i = 0; i < plot->row_count; i++)
		if (strlen(plot->rows[i].name) > longest)
			longest = strlen(plot->rows[i].name);
	return fmax(NAME_MIN, (double)longest * LETTER + 20);
}

/* False: there is no value at all. */
static bool find_range(const struct box_plot *plot, double *low, double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	for (size_t i = 0; i < plot->row_count; i++)
		for (size_t k = 0; k < plot->rows[i].count; k++) {
			*low = fmin(*low, plot->rows[i].values[k]);
			*high = fmax(*high, plot->rows[i].values[k]);
		}
	return *low <= *high;
}

static void draw_axis(FILE *out, const struct box_plot *plot,
		      const struct scale *x, double bottom)
{
	for (size_t i = 0; i < x->tick_count; i++) {
		double at = scale_px(x, x->ticks[i].value);

		svg_line(out, "grid", (struct point){ at, TOP },
			 (struct point){ at, bottom });
		svg_text(out, "tick", SVG_MIDDLE,
			 (struct point){ at, bottom + 17 }, x->ticks[i].label);
	}
	svg_line(out, "axis", (struct point){ x->from_px, bottom },
		 (struct point){ x->to_px, bottom });
	svg_text(out, "name", SVG_MIDDLE,
		 (struct point){ (x->from_px + x->to_px) / 2, bottom + 38 },
		 plot->x_title);
}

static void draw_row(FILE *out, const struct plot_row *row,
		     const struct scale *x, double middle)
{
	struct five_numbers five;
	double left;
	double right;

	svg_text(out, "name", SVG_END,
		 (struct point){ x->from_px - 12, middle + 4 }, row->name);
	if (row->count == 0)
		return;
	five = statistics_five(row->values, row->count);
	left = scale_px(x, five.lower_quartile);
	right = scale_px(x, five.upper_quartile);
	svg_stroke(out, row->series,
		   (struct point){ scale_px(x, five.min), middle },
		   (struct point){ left, middle });
	svg_stroke(out, row->series, (struct point){ right, middle },
		   (struct point){ scale_px(x, five.max), middle });
	svg_box(out, row->series, (struct point){ left, middle - BOX / 2. },
		right - left, BOX);
	for (size_t k = 0; k < row->count; k++)
		svg_marker(
			out, row->series,
			(struct point){ scale_px(x, row->values[k]), middle });
	svg_stroke(out, row->series,
		   (struct point){ scale_px(x, five.median),
				   middle - BOX / 2. - 3 },
		   (struct point){ scale_px(x, five.median),
				   middle + BOX / 2. + 3 });
}

bool plot_boxes(FILE *out, const struct box_plot *plot)
{
	double left = name_width(plot);
	double bottom = TOP + ROW * (double)plot->row_count;
	struct scale x;
	double low;
	double high;

	if (!find_range(plot, &low, &high))
		return false;
	scale_init(&x, SCALE_LINEAR, low, high, left, left + FIELD);
	svg_begin(out, left + FIELD + RIGHT, bottom + BOTTOM, plot->title);
	svg_text(out, "title", SVG_START, (struct point){ 12, 24 },
		 plot->title);
	draw_axis(out, plot, &x, bottom);
	for (size_t i = 0; i < plot->row_count; i++)
		draw_row(out, &plot->rows[i], &x,
			 TOP + ROW * ((double)i + 0.5));
	svg_end(out);
	return true;
}
