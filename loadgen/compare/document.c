/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/document.h"

#include "loadgen/compare/svg.h"

#include <stdarg.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

static const char style[] =
	":root{color-scheme:light dark;--ink:#1b1b1b;--soft:#5a5a5a;"
	"--grid:#ddd;--paper:#fff}\n"
	"@media (prefers-color-scheme: dark){:root{--ink:#e8e8e8;"
	"--soft:#a8a8a8;--grid:#3a3a3a;--paper:#161616}}\n"
	"body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);"
	"background:var(--paper);max-width:60rem;margin:0 auto;padding:1rem}\n"
	"h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}\n"
	".wide{overflow-x:auto;margin:1rem 0}\n"
	"table{border-collapse:collapse;font-size:.9rem;"
	"font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.3rem .7rem;text-align:right;white-space:nowrap;"
	"border-bottom:1px solid var(--grid)}\n"
	"th{white-space:normal;vertical-align:bottom;font-weight:600}\n"
	"th:first-child,td:first-child{text-align:left;padding-left:0}\n"
	"th:first-child,td:first-child{position:sticky;left:0;"
	"background:var(--paper)}\n";

/* What Markdown would take for its own. */
static void write_markdown(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("\\`*_|<>[]#", *text) != NULL)
			fputc('\\', out);
		fputc(*text == '\n' ? ' ' : *text, out);
	}
}

__attribute__((format(printf, 2, 0))) static void
write_both(const struct document *d, const char *format, va_list args)
{
	char text[TEXT_BYTES];

	vsnprintf(text, sizeof(text), format, args);
	write_markdown(d->markdown, text);
	svg_escape(d->html, text);
}

void document_begin(const struct document *d, const char *title)
{
	fputs("# ", d->markdown);
	write_markdown(d->markdown, title);
	fputs("\n", d->markdown);
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" "
	      "content=\"width=device-width,initial-scale=1\">\n<title>",
	      d->html);
	svg_escape(d->html, title);
	fprintf(d->html, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>",
		style);
	svg_escape(d->html, title);
	fputs("</h1>\n", d->html);
}

void document_end(const struct document *d)
{
	fputs("</body>\n</html>\n", d->html);
}

void document_heading(const struct document *d, const char *text)
{
	fputs("\n## ", d->markdown);
	write_markdown(d->markdown, text);
	fputs("\n", d->markdown);
	fputs("<h2>", d->html);
	svg_escape(d->html, text);
	fputs("</h2>\n", d->html);
}

void document_paragraph(const struct document *d, const char *format, ...)
{
	va_list args;

	fputs("\n", d->markdown);
	fputs("<p>", d->html);
	va_start(args, format);
	write_both(d, format, args);
	va_end(args);
	fputs("\n", d->markdown);
	fputs("</p>\n", d->html);
}

void document_list_begin(const struct document *d)
{
	fputs("\n", d->markdown);
	fputs("<ul>\n", d->html);
}

void document_item(const struct document *d, const char *format, ...)
{
	va_list args;

	fputs("- ", d->markdown);
	fputs("<li>", d->html);
	va_start(args, format);
	write_both(d, format, args);
	va_end(args);
	fputs("\n", d->markdown);
	fputs("</li>\n", d->html);
}

void document_list_end(const struct document *d)
{
	fputs("</ul>\n", d->html);
}

void document_table_begin(const struct document *d, const char *const *titles,
			  size_t count)
{
	fputs("\n|", d->markdown);
	fputs("<div class=\"wide\"><table>\n<thead><tr>", d->html);
	for (size_t i = 0; i < count; i++) {
		fputs(" ", d->markdown);
		write_markdown(d->markdown, titles[i]);
		fputs(" |", d->markdown);
		fputs("<th>", d->html);
		svg_escape(d->html, titles[i]);
		fputs("</th>", d->html);
	}
	fputs("\n|---|", d->markdown);
	for (size_t i = 1; i < count; i++)
		fputs("--:|", d->markdown);
	fputs("\n", d->markdown);
	fputs("</tr></thead>\n<tbody>\n", d->html);
}

void document_row_begin(const struct document *d)
{
	fputs("|", d->markdown);
	fputs("<tr>", d->html);
}

void document_cell(const struct document *d, const char *format, ...)
{
	va_list args;

	fputs(" ", d->markdown);
	fputs("<td>", d->html);
	va_start(args, format);
	write_both(d, format, args);
	va_end(args);
	fputs(" |", d->markdown);
	fputs("</td>", d->html);
}

void document_row_end(const struct document *d)
{
	fputs("\n", d->markdown);
	fputs("</tr>\n", d->html);
}

void document_table_end(const struct document *d)
{
	fputs("</tbody></table></div>\n", d->html);
}

void document_figure(const struct document *d, const char *name,
		     const char *title, const char *svg)
{
	fputs("\n![", d->markdown);
	write_markdown(d->markdown, title);
	fprintf(d->markdown, "](%s)\n", name);
	fprintf(d->html, "<div class=\"wide\">\n%s</div>\n", svg);
}
