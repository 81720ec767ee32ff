/* SPDX-License-Identifier: MIT */
#include "loadgen/percentiles.h"

#include "loadgen/clock.h"

static void write_footer(FILE *out, struct samples *ns)
{
	struct summary s = { 0 };
	double deviation = 0;

	if (samples_summarize(ns, &s))
		deviation = samples_deviation(ns);
	fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
		s.figures[FIGURE_MEAN] / (double)NS_PER_MS,
		deviation / (double)NS_PER_MS);
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
	write_footer(out, ns);
	return fflush(out) == 0 && !ferror(out);
}
