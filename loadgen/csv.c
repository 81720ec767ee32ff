/* SPDX-License-Identifier: MIT */
#include "loadgen/csv.h"

#include "loadgen/clock.h"
#include "loadgen/size_class.h"

#include <inttypes.h>
#include <string.h>

#define ROW_END "\r\n" /* as RFC 4180 has it */

void csv_write_names(FILE *out)
{
	fputs("intended_s,start_s,sent_s,end_s,file,status,error,uploaded_"
	      "bytes,"
	      "reply_bytes,response_ms,size_class,target" ROW_END,
	      out);
}

/* Quoted if it must be. */
static void write_text(FILE *out, const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void write_time(FILE *out, bool is_known, uint64_t ns)
{
	if (is_known)
		fprintf(out, "%.6f", (double)ns / (double)NS_PER_S);
	putc(',', out);
}

void csv_write_row(FILE *out, const struct result *r, const char *path)
{
	write_time(out, r->scheduled, r->intended_ns);
	write_time(out, r->started_ns != 0, r->started_ns);
	write_time(out, r->sent_ns != 0, r->sent_ns);
	write_time(out, true, r->ended_ns);
	write_text(out, path);
	putc(',', out);
	if (r->error == NULL)
		fprintf(out, "%d", r->status);
	putc(',', out);
	if (r->error != NULL)
		write_text(out, r->error);
	fprintf(out, ",%" PRIu64 ",%zu,", r->uploaded_bytes, r->reply_bytes);
	if (r->error == NULL)
		fprintf(out, "%.6f",
			(double)r->response_ns / (double)NS_PER_MS);
	putc(',', out);
	write_text(out, size_classes[size_class_of(r->uploaded_bytes)].name);
	putc(',', out);
	write_text(out, r->target);
	fputs(ROW_END, out);
}
