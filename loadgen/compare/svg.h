/* SPDX-License-Identifier: MIT */
/*
 * SVG: the elements that the plots need, written to a stream.
 *
 * Colours are classes of one style sheet, which follows the reader's choice of
 * light or dark; the same sheet in each, so that plots can stand alone or in
 * one page.  Text is escaped here.
 *
 * Units      pixels, from the top left.
 */
#ifndef LOADGEN_COMPARE_SVG_H
#define LOADGEN_COMPARE_SVG_H

#include <stdio.h>

/* Colours differ for so many series; markers and dashes for as many more. */
enum { SVG_COLOURS = 9 };

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

struct point {
	double x;
	double y;
};

/* For XML and HTML: & < > " and '; control characters become spaces. */
void svg_escape(FILE *out, const char *text);

void svg_begin(FILE *out, double width, double height, const char *title);
void svg_end(FILE *out);

/* `style`: a class of the sheet: "axis", "grid", "lead" ... */
void svg_line(FILE *out, const char *style, struct point from, struct point to);
void svg_text(FILE *out, const char *style, enum svg_anchor anchor,
	      struct point place, const char *text);

/* Of a series, numbered from 0. */
void svg_box(FILE *out, size_t series, struct point corner, double width,
	     double height);
void svg_stroke(FILE *out, size_t series, struct point from, struct point to);
void svg_path(FILE *out, size_t series, const struct point *points,
	      size_t count);
void svg_marker(FILE *out, size_t series, struct point place);

#endif
