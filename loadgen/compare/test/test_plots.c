/* SPDX-License-Identifier: MIT */
/* Plots and documents are well-formed, whatever the names; empty: nothing. */
#include "loadgen/compare/document.h"
#include "loadgen/compare/plot.h"
#include "loadgen/compare/test/xml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char nasty[] = "<a href=\"x\">&'\x01|</svg>";

static char *escaped(const char *text)
{
	char *result;
	size_t bytes;
	FILE *out = open_memstream(&result, &bytes);

	svg_escape(out, text);
	fclose(out);
	return result;
}

static void test_escape(void)
{
	char *text = escaped("a<b>&\"'\n\xc3\xa9");

	assert(strcmp(text, "a&lt;b&gt;&amp;&quot;&#39; \xc3\xa9") == 0);
	free(text);
}

/* The test's own judge. */
static void test_well_formedness(void)
{
	assert(xml_is_well_formed("<a x=\"1\">t &amp; <b/></a>"));
	assert(!xml_is_well_formed("<a><b></a></b>"));
	assert(!xml_is_well_formed("<a>&</a>"));
	assert(!xml_is_well_formed("<a>"));
	assert(!xml_is_well_formed("<a x=1/>"));
	assert(!xml_is_well_formed("<a/><b/>"));
	assert(!xml_is_well_formed("<a x=\"<\"/>"));
}

static void test_boxes(void)
{
	static const double values[] = { 3, 1, 2 };
	struct plot_row rows[] = {
		{ nasty, 0, values, 3 },
		{ "one value", 12, values, 1 },
		{ "none", 2, NULL, 0 },
	};
	struct box_plot plot = { nasty, "x", rows, 3 };
	char *svg;
	size_t bytes;
	FILE *out = open_memstream(&svg, &bytes);

	assert(plot_boxes(out, &plot));
	fclose(out);
	assert(xml_is_well_formed(svg));
	assert(strstr(svg, "one value") != NULL);
	assert(strstr(svg, "none") != NULL);
	assert(strstr(svg, "prefers-color-scheme: dark") != NULL);
	assert(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL);
	free(svg);
	rows[0].count = 0;
	rows[1].count = 0;
	out = open_memstream(&svg, &bytes);
	assert(!plot_boxes(out, &plot));
	fclose(out);
	assert(bytes == 0);
	free(svg);
}

static void test_lines(void)
{
	static const struct point points[] = { { 1, 10 }, { 2, 1000 } };
	struct plot_curve curves[] = {
		{ nasty, 0, points, 2 },
		{ "one point", 30, points, 1 },
		{ "absent", 2, NULL, 0 },
	};
	struct line_plot plot = {
		.title = "T",
		.x_title = nasty,
		.y_title = "y",
		.x_kind = SCALE_LINEAR,
		.y_kind = SCALE_LOG,
		.markers = true,
		.curves = curves,
		.curve_count = 3,
	};
	char *svg;
	size_t bytes;
	FILE *out = open_memstream(&svg, &bytes);

	assert(plot_lines(out, &plot));
	fclose(out);
	assert(xml_is_well_formed(svg));
	assert(strstr(svg, "one point") != NULL);
	assert(strstr(svg, "absent") == NULL);
	assert(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL);
	free(svg);
	curves[0].count = 0;
	curves[1].count = 0;
	out = open_memstream(&svg, &bytes);
	assert(!plot_lines(out, &plot));
	fclose(out);
	free(svg);
}

/* As many points as there may be; the last is drawn, too. */
static void test_long_curve(void)
{
	struct point points[PLOT_POINTS_MAX];
	struct plot_curve curve = { "long", 0, points, PLOT_POINTS_MAX };
	struct line_plot plot = {
		.title = "T",
		.x_title = "x",
		.y_title = "y",
		.curves = &curve,
		.curve_count = 1,
	};
	size_t count = 0;
	char *svg;
	size_t bytes;
	FILE *out = open_memstream(&svg, &bytes);

	for (int i = 0; i < PLOT_POINTS_MAX; i++)
		points[i] = (struct point){ i, i };
	assert(plot_lines(out, &plot));
	fclose(out);
	for (const char *at = strstr(svg, " d=\"M"); *at != '/'; at++)
		count += *at == 'M' || *at == 'L';
	assert(count == PLOT_POINTS_MAX);
	free(svg);
}

static void write_document(const struct document *d)
{
	static const char *const titles[] = { "A|B", "C" };

	document_begin(d, nasty);
	document_heading(d, "H");
	document_paragraph(d, "%s and %d", nasty, 7);
	document_list_begin(d);
	document_item(d, "%s", nasty);
	document_list_end(d);
	document_table_begin(d, titles, 2);
	document_row_begin(d);
	document_cell(d, "%s", "x|y");
	document_cell(d, "%d", 1);
	document_row_end(d);
	document_table_end(d);
	document_figure(d, "f.svg", nasty, "<svg/>");
	document_end(d);
}

/* meta has no end in HTML: the one thing that is not XML. */
static void drop_metas(char *html)
{
	char *meta;

	while ((meta = strstr(html, "<meta")) != NULL) {
		char *end = strchr(meta, '>') + 1;

		memmove(meta, end, strlen(end) + 1);
	}
}

static void test_document(void)
{
	char *markdown;
	char *html;
	size_t bytes;
	size_t html_bytes;
	struct document d = {
		.markdown = open_memstream(&markdown, &bytes),
		.html = open_memstream(&html, &html_bytes),
	};

	write_document(&d);
	fclose(d.markdown);
	fclose(d.html);
	assert(strstr(markdown, "| A\\|B | C |\n|---|--:|\n| x\\|y | 1 |\n") !=
	       NULL);
	assert(strstr(markdown, "](f.svg)") != NULL);
	assert(strstr(markdown, "\\<a href") != NULL);
	assert(strncmp(html, "<!DOCTYPE html>\n", 16) == 0);
	assert(strstr(html, "http://") == NULL &&
	       strstr(html, "https://") == NULL);
	assert(strstr(html, "<td>x|y</td><td>1</td>") != NULL);
	drop_metas(html);
	assert(xml_is_well_formed(html + 16));
	free(markdown);
	free(html);
}

int main(void)
{
	test_escape();
	test_well_formedness();
	test_boxes();
	test_lines();
	test_long_curve();
	test_document();
	return 0;
}
