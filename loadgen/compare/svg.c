/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/svg.h"

/*
 * Okabe and Ito's colours, which the colour-blind can tell apart, made darker
 * or lighter until they stand out from the ground: light, then dark.
 */
static const char *const colours[SVG_COLOURS][2] = {
	{ "#0072b2", "#4ea8e0" }, { "#d55e00", "#ff8a3d" },
	{ "#00805c", "#2fc79a" }, { "#b0508a", "#e39ac6" },
	{ "#8a6d00", "#e0c33c" }, { "#2b93cc", "#9ad7ff" },
	{ "#5b3a8e", "#b49be8" }, { "#5f5f5f", "#b5b5b5" },
	{ "#a6192e", "#ff7f8e" },
};

static const char *const dashes[] = { "none", "7 3", "2 3", "9 3 2 3" };

enum { DASHES = sizeof(dashes) / sizeof(*dashes), MARKERS = 4 };

void svg_escape(FILE *out, const char *text)
{
	for (const char *c = text; *c != '\0'; c++) {
		switch (*c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
		}
	}
}

static void write_colours(FILE *out, int ground)
{
	fprintf(out, ".plot{--ink:%s;--soft:%s;--grid:%s;--paper:%s}\n",
		ground == 0 ? "#1b1b1b" : "#e8e8e8",
		ground == 0 ? "#5a5a5a" : "#a8a8a8",
		ground == 0 ? "#dddddd" : "#3a3a3a",
		ground == 0 ? "#ffffff" : "#161616");
	for (int i = 0; i < SVG_COLOURS; i++)
		fprintf(out, ".s%d{--c:%s}\n", i, colours[i][ground]);
}

void svg_begin(FILE *out, double width, double height, const char *title)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" "
		"role=\"img\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\">\n<title>",
		width, height, width, height);
	svg_escape(out, title);
	fputs("</title>\n<style>\n", out);
	write_colours(out, 0);
	fputs("@media (prefers-color-scheme: dark){\n", out);
	write_colours(out, 1);
	fputs("}\n"
	      ".plot text{font:12px system-ui,sans-serif;fill:var(--ink)}\n"
	      ".plot .title{font-size:14px;font-weight:600}\n"
	      ".plot .tick{fill:var(--soft)}\n"
	      ".paper{fill:var(--paper)}\n"
	      ".axis{stroke:var(--soft)}\n"
	      ".grid{stroke:var(--grid)}\n"
	      ".lead{stroke:var(--soft);stroke-dasharray:1 2}\n"
	      ".stroke{stroke:var(--c);stroke-width:2;fill:none}\n"
	      ".box{stroke:var(--c);stroke-width:1.5;fill:var(--c);"
	      "fill-opacity:.18}\n"
	      ".mark{stroke:var(--paper);stroke-width:1;fill:var(--c)}\n",
	      out);
	for (int i = 0; i < DASHES; i++)
		fprintf(out, ".d%d{stroke-dasharray:%s}\n", i, dashes[i]);
	fputs("</style>\n<rect class=\"paper\" width=\"100%\" "
	      "height=\"100%\"/>\n",
	      out);
}

void svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}

void svg_line(FILE *out, const char *style, struct point from, struct point to)
{
	fprintf(out,
		"<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
		"y2=\"%.1f\"/>\n",
		style, from.x, from.y, to.x, to.y);
}

void svg_text(FILE *out, const char *style, enum svg_anchor anchor,
	      struct point place, const char *text)
{
	static const char *const names[] = { "start", "middle", "end" };

	fprintf(out,
		"<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">",
		style, names[anchor], place.x, place.y);
	svg_escape(out, text);
	fputs("</text>\n", out);
}

void svg_box(FILE *out, size_t series, struct point corner, double width,
	     double height)
{
	fprintf(out,
		"<rect class=\"box s%zu\" x=\"%.1f\" y=\"%.1f\" "
		"width=\"%.1f\" height=\"%.1f\"/>\n",
		series % SVG_COLOURS, corner.x, corner.y, width, height);
}

void svg_stroke(FILE *out, size_t series, struct point from, struct point to)
{
	fprintf(out,
		"<line class=\"stroke s%zu\" x1=\"%.1f\" y1=\"%.1f\" "
		"x2=\"%.1f\" y2=\"%.1f\"/>\n",
		series % SVG_COLOURS, from.x, from.y, to.x, to.y);
}

void svg_path(FILE *out, size_t series, const struct point *points,
	      size_t count)
{
	fprintf(out, "<path class=\"stroke s%zu d%zu\" d=\"",
		series % SVG_COLOURS, series % DASHES);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%c%.1f %.1f", i == 0 ? 'M' : 'L', points[i].x,
			points[i].y);
	fputs("\"/>\n", out);
}

/* Circle, square, diamond and triangle, of about the same area. */
void svg_marker(FILE *out, size_t series, struct point place)
{
	static const char *const shapes[MARKERS] = {
		"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
		"M-3.5 -3.5h7v7h-7z",
		"M0 -5L5 0L0 5L-5 0z",
		"M0 -4.5L4.5 4L-4.5 4z",
	};

	fprintf(out,
		"<path class=\"mark s%zu\" transform=\"translate(%.1f %.1f)\" "
		"d=\"%s\"/>\n",
		series % SVG_COLOURS, place.x, place.y,
		shapes[series % MARKERS]);
}
