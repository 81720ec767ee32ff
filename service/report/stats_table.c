/* SPDX-License-Identifier: MIT */
/*
 * Tables with a row per stage or worker; columns are as wide as their headings,
 * and stages have several tables, one for each group of figures.
 */
#include "service/report/stats_figures.h"

#include <math.h>
#include <string.h>

enum { NAME_WIDTH = 15, NUMBER_WIDTH = 9 };

/* Whole numbers without a point. */
static int decimals(double value)
{
	return value == floor(value) ? 0 : 3;
}

static void print_headings(FILE *to, const char *what, struct figures f)
{
	(void)fprintf(to, "%-*s", NAME_WIDTH, what);
	for (uint32_t i = 0; i < f.count; i++)
		(void)fprintf(to, " %*s", NUMBER_WIDTH, f.list[i].name);
	(void)fputc('\n', to);
}

static void print_row(FILE *to, const char *name, struct figures f)
{
	(void)fprintf(to, "%-*s", NAME_WIDTH, name);
	for (uint32_t i = 0; i < f.count; i++) {
		int width = (int)strlen(f.list[i].name);

		(void)fprintf(to, " %*.*f",
			      width > NUMBER_WIDTH ? width : NUMBER_WIDTH,
			      decimals(f.list[i].value), f.list[i].value);
	}
	(void)fputc('\n', to);
}

static void print_one(FILE *to, const char *what, struct figures f)
{
	print_headings(to, what, f);
	print_row(to, "", f);
}

static void print_stages(FILE *to, const struct stats *s, stats_counts_fn *of)
{
	print_headings(to, "stage", of(&s->pipeline.stages[0]));
	for (uint32_t i = 0; i < s->pipeline.stage_count; i++)
		print_row(to, s->pipeline.stage_names[i],
			  of(&s->pipeline.stages[i]));
}

static void print_rates(FILE *to, const struct stats *s)
{
	print_headings(to, "stage", stats_rates(&s->recent[0]));
	for (uint32_t i = 0; i < s->pipeline.stage_count; i++)
		print_row(to, s->pipeline.stage_names[i],
			  stats_rates(&s->recent[i]));
}

/* One group of figures; without `of`, those that workers alone have. */
static void print_workers(FILE *to, const struct stats *s,
			  const struct group *g, stats_counts_fn *of)
{
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats worker;

		group_read_worker(g, i, &worker);
		struct figures f = of != NULL ? of(&worker.work) :
						stats_worker(s, &worker);

		if (i == 0)
			print_headings(to, "worker", f);
		print_row(to, worker.name, f);
	}
}

void stats_print(struct stats_source *source, FILE *to)
{
	const struct group *g = pipeline_group(source->pipeline);
	struct stats s;

	stats_read(source, &s);
	(void)fprintf(to, "darkroom " DARKROOM_VERSION ": ");
	pipeline_print_schedule(source->config, to);
	(void)fputc('\n', to);
	print_one(to, "process", stats_process(&s));
	print_one(to, "uploads", stats_uploads(&s));
	print_one(to, "buffers", stats_buffers(&s));
	print_one(to, "memory", stats_memory(&s));
	if (source->store != NULL)
		print_one(to, "store", stats_store(source->store));
	for (stats_counts_fn *const *of = stats_of_stage; *of != NULL; of++)
		print_stages(to, &s, *of);
	print_rates(to, &s);
	if (group_counts_hardware(g))
		print_stages(to, &s, stats_hardware);
	else
		(void)fprintf(to, "hardware counters: not available\n");
	print_workers(to, &s, g, NULL);
	for (stats_counts_fn *const *of = stats_of_work; *of != NULL; of++)
		print_workers(to, &s, g, *of);
}
