/* SPDX-License-Identifier: MIT */
/*
 * Plots: the figures of a comparison as SVG files, drawn by gnuplot.
 *
 * A script is written into the report's folder as PLOT_SCRIPT: the text of
 * plot.gnuplot, and after it all data.  gnuplot, a program in PATH, runs it.
 * Each SVG gets a style sheet that follows the reader's choice of light or
 * dark.  The script stays in the folder, so that users can change the plots.
 *
 * Names of arms are untrusted: they are quoted so that gnuplot takes every
 * character as text.
 */
#ifndef LOADGEN_COMPARE_PLOT_H
#define LOADGEN_COMPARE_PLOT_H

#include "base/error.h"
#include "loadgen/compare/figures.h"

#include <stdbool.h>
#include <stddef.h>

#define PLOT_SCRIPT "plots.gnuplot"

enum { PLOTS_MAX = 16 };

/* The part of the report in which a plot stands. */
enum plot_place { PLOT_BOXES, PLOT_TIMES, PLOT_OPEN_LOOP };

struct plot {
	enum plot_place place;
	const char *file; /* in the report's folder */
	const char *title;
	char *svg;
};

/* All zero: none. */
struct plots {
	/* A plot is left out if it would have at most a point for each arm. */
	struct plot list[PLOTS_MAX];
	size_t count;
	struct error missing; /* why there are none; empty: they were drawn */
};

/*
 * Draw all plots into `folder`, and describe them in `p`, which must be empty.
 * If gnuplot is not installed, there are none: the result is true, and
 * `missing` says why.  False: gnuplot failed or a file could not be written.
 */
MUST_CHECK bool plots_draw(struct plots *p, const struct figures *f,
			   const char *folder, struct error *error);

void plots_release(struct plots *p);

#endif
