/* SPDX-License-Identifier: MIT */
/*
 * Plots: box plots and lines, as SVG.
 *
 * A series has its name beside its data, and not in a legend; colour, marker
 * and dash follow its number.
 */
#ifndef LOADGEN_COMPARE_PLOT_H
#define LOADGEN_COMPARE_PLOT_H

#include "loadgen/compare/scale.h"
#include "loadgen/compare/svg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One box: the quartiles and the median, a line to both ends, all values. */
struct plot_row {
	const char *name;
	size_t series;
	const double *values;
	size_t count; /* 0: the row is left empty */
};

/* Rows from top to bottom, in one scale. */
struct box_plot {
	const char *title;
	const char *x_title; /* with the unit */
	const struct plot_row *rows;
	size_t row_count;
};

/* False: no row has a value, and nothing was written. */
bool plot_boxes(FILE *out, const struct box_plot *plot);

enum { PLOT_POINTS_MAX = 128 };

struct plot_curve {
	const char *name;
	size_t series;
	const struct point *points; /* x rises */
	size_t count;               /* up to PLOT_POINTS_MAX; 0: left out */
};

struct line_plot {
	const char *title;
	const char *x_title;
	const char *y_title;
	enum scale_kind x_kind;
	enum scale_kind y_kind;
	bool markers; /* at each point; names are tied to the last */
	const struct plot_curve *curves;
	size_t curve_count;
};

/* False: no curve has a point, and nothing was written. */
bool plot_lines(FILE *out, const struct line_plot *plot);

#endif
