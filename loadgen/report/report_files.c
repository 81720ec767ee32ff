/* SPDX-License-Identifier: MIT */
/* Files for other programs: CSV rows and HdrHistogram percentiles. */
#include "loadgen/report/report.h"

#include "base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROW_END "\r\n" /* RFC 4180 */

void csv_write_names(FILE *out)
{
	fputs("intended_s,start_s,sent_s,end_s,file,status,error,"
	      "uploaded_bytes,reply_bytes,response_ms,size_class,"
	      "target,megapixels,unloaded_ms" ROW_END,
	      out);
}

/* Quoted only if `text` contains a character that needs it. */
static void csv_write_text(FILE *out, const char *text)
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

static void csv_write_time(FILE *out, bool is_known, uint64_t ns)
{
	if (is_known)
		fprintf(out, "%.6f", (double)ns / (double)NS_PER_S);
	putc(',', out);
}

void csv_write_row(FILE *out, const struct result *r, const char *path)
{
	unsigned class = class_of(CLASSES_BY_BYTES, (double)r->uploaded_bytes);

	csv_write_time(out, r->scheduled, r->intended_ns);
	csv_write_time(out, r->started_ns != 0, r->started_ns);
	csv_write_time(out, r->sent_ns != 0, r->sent_ns);
	csv_write_time(out, true, r->ended_ns);
	csv_write_text(out, path);
	putc(',', out);
	if (r->error == NULL)
		fprintf(out, "%d", r->status);
	putc(',', out);
	if (r->error != NULL)
		csv_write_text(out, r->error);
	fprintf(out, ",%" PRIu64 ",%zu,", r->uploaded_bytes, r->reply_bytes);
	if (r->error == NULL)
		fprintf(out, "%.6f",
			(double)r->response_ns / (double)NS_PER_MS);
	putc(',', out);
	csv_write_text(out, class_bounds[CLASSES_BY_BYTES][class].name);
	putc(',', out);
	csv_write_text(out, r->target);
	putc(',', out);
	if (r->megapixels > 0)
		fprintf(out, "%.6f", r->megapixels);
	putc(',', out);
	if (r->unloaded_ns != 0)
		fprintf(out, "%.6f",
			(double)r->unloaded_ns / (double)NS_PER_MS);
	fputs(ROW_END, out);
}

/* The standard deviation of the whole population, as in HdrHistogram. */
static double deviation(const struct samples *s, double mean)
{
	double squares = 0;

	for (size_t i = 0; i < s->count; i++)
		squares += (s->values[i] - mean) * (s->values[i] - mean);
	return sqrt(squares / (double)s->count);
}

static void percentiles_write_footer(FILE *out, struct samples *ns)
{
	struct summary s = { 0 };
	double spread = 0;

	if (samples_summarize(ns, &s))
		spread = deviation(ns, s.figures[FIGURE_MEAN]);
	fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
		s.figures[FIGURE_MEAN] / (double)NS_PER_MS,
		spread / (double)NS_PER_MS);
	fprintf(out, "#[Max     = %12.3f, Total count    = %12zu]\n",
		s.figures[FIGURE_MAX] / (double)NS_PER_MS, ns->count);
}

bool percentiles_write(FILE *out, struct samples *ns)
{
	struct samples_rung rung;

	fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile",
		"TotalCount", "1/(1-Percentile)");
	for (unsigned i = 0; samples_rung(ns, i, &rung); i++) {
		fprintf(out, "%12.3f %2.12f %10zu",
			rung.value / (double)NS_PER_MS, rung.percentile,
			rung.count);
		if (rung.percentile < 1)
			fprintf(out, " %14.2f", 1 / (1 - rung.percentile));
		fprintf(out, "\n");
	}
	percentiles_write_footer(out, ns);
	return fflush(out) == 0 && !ferror(out);
}
