/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/tables.h"

#include "loadgen/size_class.h"

#include <stdbool.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const double LEVEL = 0.95;

static const struct arm_figures *ranked(const struct figures *f, size_t rank)
{
	return &f->arms[f->ranking[rank]];
}

static void mean_cell(const struct document *d, const struct sample *s,
		      int decimals)
{
	if (s->count > 0)
		document_cell(d, "%.*f", decimals, sample_mean(s));
	else
		document_cell(d, "-");
}

static void median_cell(const struct document *d, const struct sample *s,
			int decimals)
{
	if (s->count > 0)
		document_cell(d, "%.*f", decimals, sample_median(s));
	else
		document_cell(d, "-");
}

static void difference_cell(const struct document *d, const struct sample *s,
			    const struct sample *best)
{
	if (s->count == 0)
		document_cell(d, "-");
	else if (s == best)
		document_cell(d, "%s", "");
	else
		document_cell(d, "%+.2f %%",
			      100 * (sample_mean(s) / sample_mean(best) - 1));
}

static void deviation_cell(const struct document *d, const struct sample *s,
			   int decimals)
{
	if (s->count > 1)
		document_cell(d, "%.*f", decimals,
			      statistics_deviation(s->values, s->count));
	else
		document_cell(d, "-");
}

/* The interval with its true level, as "41.20 to 43.05 (93.75 %)". */
static void interval_cell(const struct document *d, const struct sample *s,
			  int decimals)
{
	struct confidence_interval interval;

	if (s->count < 2) {
		document_cell(d, "-");
		return;
	}
	interval = statistics_median_interval(s->values, s->count, LEVEL);
	document_cell(d, "%.*f to %.*f (%.4g %%)", decimals, interval.low,
		      decimals, interval.high, 100 * interval.level);
}

static void p_cell(const struct document *d, const struct sample *s,
		   const struct sample *first)
{
	if (s == first || s->count < 2 || first->count < 2)
		document_cell(d, "-");
	else
		document_cell(d, "%.3g", sample_p(s, first));
}

/* A metric whose differences are told. */
struct compared {
	enum metric metric;
	const char *mean; /* titles */
	const char *median;
	int decimals;
	bool less_is_better;
};

/* NULL: no arm has a value. */
static const struct sample *best_of(const struct figures *f,
				    const struct compared *c)
{
	const struct sample *best = NULL;

	for (size_t i = 0; i < f->arm_count; i++) {
		const struct sample *s = &f->arms[i].metrics[c->metric];

		if (s->count > 0 &&
		    (best == NULL ||
		     (c->less_is_better ? sample_mean(s) < sample_mean(best) :
					  sample_mean(s) > sample_mean(best))))
			best = s;
	}
	return best;
}

static void compare(const struct document *d, const struct figures *f,
		    const struct compared *c)
{
	const char *const titles[] = {
		"Configuration",
		c->mean,
		"Difference in mean",
		"Standard deviation",
		c->median,
		"Confidence interval of the median (its level)",
		"p, against the first measured",
		"Runs",
	};
	const struct sample *first = &f->arms[0].metrics[c->metric];
	const struct sample *best = best_of(f, c);

	document_table_begin(d, titles, COUNT(titles));
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct arm_figures *arm = ranked(f, i);
		const struct sample *s = &arm->metrics[c->metric];

		document_row_begin(d);
		document_cell(d, "%s", arm->name);
		mean_cell(d, s, c->decimals);
		difference_cell(d, s, best);
		deviation_cell(d, s, c->decimals);
		median_cell(d, s, c->decimals);
		interval_cell(d, s, c->decimals);
		p_cell(d, s, first);
		document_cell(d, "%zu", s->count);
		document_row_end(d);
	}
	document_table_end(d);
}

void tables_throughput(const struct document *d, const struct figures *f)
{
	static const struct compared throughput = {
		METRIC_MEGABYTES_PER_S, "Mean, MB/s", "Median, MB/s", 3, false,
	};

	compare(d, f, &throughput);
}

void tables_response_time(const struct document *d, const struct figures *f)
{
	static const struct compared p90 = {
		METRIC_P90_MS, "Mean of p90, ms", "Median of p90, ms", 1, true,
	};

	compare(d, f, &p90);
}

void tables_cpu(const struct document *d, const struct figures *f)
{
	static const struct compared cpu = {
		METRIC_CPU_MS_PER_IMAGE,
		"Mean CPU, ms per image",
		"Median CPU, ms per image",
		3,
		true,
	};

	compare(d, f, &cpu);
}

/* A column of means. */
struct column {
	const char *title;
	enum metric metric;
	int decimals;
};

enum { COLUMNS_MAX = 8 };

static void write_means(const struct document *d, const struct figures *f,
			const struct column *columns, size_t count)
{
	const char *titles[COLUMNS_MAX + 1] = { "Configuration" };

	for (size_t i = 0; i < count; i++)
		titles[i + 1] = columns[i].title;
	document_table_begin(d, titles, count + 1);
	for (size_t i = 0; i < f->arm_count; i++) {
		const struct arm_figures *arm = ranked(f, i);

		document_row_begin(d);
		document_cell(d, "%s", arm->name);
		for (size_t k = 0; k < count; k++)
			mean_cell(d, &arm->metrics[columns[k].metric],
				  columns[k].decimals);
		document_row_end(d);
	}
	document_table_end(d);
}

void tables_client(const struct document *d, const struct figures *f)
{
	static const struct column columns[] = {
		{ "Makespan, s", METRIC_MAKESPAN_S, 2 },
		{ "Responses/s", METRIC_RESPONSES_PER_S, 2 },
		{ "Response time, 90th percentile, ms", METRIC_P90_MS, 1 },
	};

	write_means(d, f, columns, COUNT(columns));
}

void tables_server(const struct document *d, const struct figures *f)
{
	static const struct column columns[] = {
		{ "Server CPU use, % (100: one core)", METRIC_CPU_PERCENT, 1 },
		{ "Uploads, Mbit/s (greatest 5 s)", METRIC_UPLOADS_MBIT_S, 1 },
		{ "CPU, ms per image", METRIC_CPU_MS_PER_IMAGE, 2 },
		{ "Peak memory, MiB", METRIC_PEAK_MEMORY_MIB, 1 },
		{ "Context switches per image", METRIC_SWITCHES_PER_IMAGE, 1 },
		{ "Client's CPU, % of the server's", METRIC_CLIENT_PERCENT, 1 },
	};

	write_means(d, f, columns, COUNT(columns));
}

static void open_row(const struct document *d, const struct arm_figures *arm,
		     double percent, const struct sample *open)
{
	document_row_begin(d);
	document_cell(d, "%s", arm->name);
	document_cell(d, "%g %%", percent);
	median_cell(d, &open[OPEN_RATE_PER_S], 1);
	median_cell(d, &open[OPEN_RESPONSES_PER_S], 1);
	median_cell(d, &open[OPEN_P50_MS], 1);
	median_cell(d, &open[OPEN_P90_MS], 1);
	median_cell(d, &open[OPEN_P99_MS], 1);
	median_cell(d, &open[OPEN_SMALLEST_P90_MS], 1);
	median_cell(d, &open[OPEN_LARGEST_P99_MS], 1);
	median_cell(d, &open[OPEN_FAILED_PERCENT], 2);
	document_cell(d, "%zu of %zu", open[OPEN_RATE_PER_S].count,
		      figures_open_runs(arm));
	document_row_end(d);
}

void tables_open_loop(const struct document *d, const struct figures *f,
		      const struct plan *plan)
{
	char smallest[32], largest[32];
	const char *titles[] = {
		"Configuration", "Load",
		"Offered/s",     "Responses/s",
		"p50, ms",       "p90, ms",
		"p99, ms",       smallest,
		largest,         "Not answered 2xx, %",
		"Runs",
	};

	snprintf(smallest, sizeof(smallest), "%s: p90, ms",
		 size_classes[0].name);
	snprintf(largest, sizeof(largest), "%s: p99, ms",
		 size_classes[SIZE_CLASS_COUNT - 1].name);
	document_table_begin(d, titles, COUNT(titles));
	for (size_t k = 0; k < plan->open.rate_count; k++)
		for (size_t i = 0; i < f->arm_count; i++) {
			const struct arm_figures *arm = ranked(f, i);

			if (arm->open[k][OPEN_RATE_PER_S].count > 0)
				open_row(d, arm, plan->open.percents[k],
					 arm->open[k]);
		}
	document_table_end(d);
}
