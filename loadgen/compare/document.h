/* SPDX-License-Identifier: MIT */
/*
 * Document: text, tables and plots, written once and told twice: in Markdown,
 * and as one HTML file that needs nothing else.
 *
 * All text is plain and escaped here.
 *
 * Ownership  the streams stay the caller's; write errors are left in them.
 */
#ifndef LOADGEN_COMPARE_DOCUMENT_H
#define LOADGEN_COMPARE_DOCUMENT_H

#include <stddef.h>
#include <stdio.h>

struct document {
	FILE *markdown;
	FILE *html;
};

void document_begin(const struct document *d, const char *title);
void document_end(const struct document *d);

void document_heading(const struct document *d, const char *text);

__attribute__((format(printf, 2, 3))) void
document_paragraph(const struct document *d, const char *format, ...);

/* Items stand between list_begin and list_end. */
void document_list_begin(const struct document *d);
__attribute__((format(printf, 2, 3))) void
document_item(const struct document *d, const char *format, ...);
void document_list_end(const struct document *d);

/* A table: its titles, then rows of as many cells, then its end. */
void document_table_begin(const struct document *d, const char *const *titles,
			  size_t count);
void document_row_begin(const struct document *d);
__attribute__((format(printf, 2, 3))) void
document_cell(const struct document *d, const char *format, ...);
void document_row_end(const struct document *d);
void document_table_end(const struct document *d);

/* `svg` in the HTML, and a link to the file `name` in the Markdown. */
void document_figure(const struct document *d, const char *name,
		     const char *title, const char *svg);

#endif
