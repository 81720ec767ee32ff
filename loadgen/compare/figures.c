/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/figures.h"

#include "loadgen/compare/results.h"
#include "loadgen/report/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024. * 1024)

const struct metric_view metric_views[METRIC_COUNT] = {
	[METRIC_MEGABYTES_PER_S] = { "MB/s", 3, false, "throughput.svg",
				     "Throughput, closed loop",
				     "processed uploads, MB/s (more is "
				     "better)" },
	[METRIC_MAKESPAN_S] = { "Makespan, s", 2, true, "makespan.svg",
				"Makespan, closed loop", "s (less is better)" },
	[METRIC_RESPONSES_PER_S] = { "Responses/s", 2, false, "responses.svg",
				     "Responses per second, closed loop",
				     "responses/s (more is better)" },
	[METRIC_P90_MS] = { "Response time, 90th percentile, ms", 1, true,
			    "response_p90.svg",
			    "Response time, 90th percentile, closed loop",
			    "ms (less is better)" },
	[METRIC_CPU_PERCENT] = { "Server CPU use, % (100: one core)", 1, true,
				 "cpu_use.svg", "Server's CPU use, closed loop",
				 "% (100: one core)" },
	[METRIC_UPLOADS_MBIT_S] = { "Uploads, Mbit/s (greatest 5 s)", 1, false,
				    "uploads.svg",
				    "Uploads in the greatest 5 s, closed loop",
				    "Mbit/s (more is better)" },
	[METRIC_CPU_MS_PER_IMAGE] = { "CPU, ms per image", 2, true, "cpu.svg",
				      "Server's CPU time per image",
				      "ms (less is better)" },
	[METRIC_PEAK_MEMORY_MIB] = { "Peak memory, MiB", 1, true, "memory.svg",
				     "Server's peak memory",
				     "MiB (less is better)" },
	[METRIC_SWITCHES_PER_IMAGE] = { "Context switches per image", 1, true,
					"switches.svg",
					"Context switches per image",
					"switches (less is better)" },
	[METRIC_CLIENT_PERCENT] = { "Client's CPU, % of the server's", 1, true,
				    NULL, NULL, NULL },
};

/* NAN: it is missing. */
static double number_at(const cJSON *object, const char *key)
{
	return json_number(object, key, (double)NAN);
}

static const cJSON *item_at(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/*
 * Bytes per second in the best of the 5 s intervals.  The last one is shorter
 * and does not count, unless it is the only one.
 */
static double best_interval(const cJSON *result)
{
	const cJSON *interval;
	double best = NAN;
	double begin_s = 0;

	cJSON_ArrayForEach(interval, item_at(result, "intervals"))
	{
		double end_s = number_at(interval, "end_s");

		if (end_s - begin_s > 4.999)
			best = fmax(best, number_at(interval, "bytes_per_s"));
		begin_s = end_s;
	}
	return isnan(best) ? number_at(result, "bytes_per_s") : best;
}

static void add_closed_run(struct arm_figures *arm, const cJSON *result)
{
	struct sample *metrics = arm->metrics;
	const cJSON *server = item_at(result, "server");
	double cpu_s = number_at(server, "cpu_s");
	double switches = number_at(server, "voluntary_switches") +
			  number_at(server, "involuntary_switches");
	double ok = results_count_ok(result);

	sample_add(&metrics[METRIC_MEGABYTES_PER_S],
		   number_at(result, "bytes_per_s") / 1e6);
	sample_add(&metrics[METRIC_MAKESPAN_S],
		   number_at(result, "makespan_s"));
	sample_add(&metrics[METRIC_RESPONSES_PER_S],
		   number_at(result, "responses_per_s"));
	sample_add(&metrics[METRIC_P90_MS],
		   number_at(item_at(result, "response_ms"), "p90"));
	sample_add(&metrics[METRIC_CPU_PERCENT],
		   number_at(server, "cpu_percent"));
	sample_add(&metrics[METRIC_UPLOADS_MBIT_S],
		   best_interval(result) * 8 / 1e6);
	sample_add(&metrics[METRIC_CPU_MS_PER_IMAGE], cpu_s * 1000 / ok);
	sample_add(&metrics[METRIC_PEAK_MEMORY_MIB],
		   number_at(server, "peak_memory_bytes") / MIB);
	sample_add(&metrics[METRIC_SWITCHES_PER_IMAGE], switches / ok);
	sample_add(&metrics[METRIC_CLIENT_PERCENT],
		   number_at(result, "client_cpu_s") * 100 / cpu_s);
}

/* All runs have the same ladder; a longer run has more rungs. */
static void add_rung(struct arm_figures *arm, double percent, double ms)
{
	size_t i = 0;

	while (i < arm->rung_count && arm->rungs[i].percent < percent - 1e-9)
		i++;
	if (i == arm->rung_count ||
	    arm->rungs[i].percent > percent + 1e-9) { /* a new one */
		if (arm->rung_count == FIGURES_RUNGS_MAX)
			return;
		memmove(&arm->rungs[i + 1], &arm->rungs[i],
			(arm->rung_count - i) * sizeof(*arm->rungs));
		arm->rungs[i] = (struct rung){ .percent = percent };
		arm->rung_count++;
	}
	sample_add(&arm->rungs[i].ms, ms);
}

static void add_percentiles(struct arm_figures *arm, const cJSON *result)
{
	const cJSON *pair;

	cJSON_ArrayForEach(pair, item_at(result, "percentiles"))
	{
		const cJSON *percent = cJSON_GetArrayItem(pair, 0);
		const cJSON *ms = cJSON_GetArrayItem(pair, 1);

		if (cJSON_IsNumber(percent) && cJSON_IsNumber(ms))
			add_rung(arm, percent->valuedouble, ms->valuedouble);
	}
}

/* Response times of a size class. */
static const cJSON *class_times(const cJSON *result, int class)
{
	return item_at(
		cJSON_GetArrayItem(item_at(result, "size_classes"), class),
		"response_ms");
}

static void add_open_run(struct sample open[OPEN_METRIC_COUNT],
			 const cJSON *result)
{
	const cJSON *times = item_at(result, "response_ms");
	double requests = number_at(result, "requests");

	sample_add(&open[OPEN_RATE_PER_S], number_at(result, "rate_per_s"));
	sample_add(&open[OPEN_RESPONSES_PER_S],
		   number_at(result, "responses_per_s"));
	sample_add(&open[OPEN_P50_MS], number_at(times, "p50"));
	sample_add(&open[OPEN_P90_MS], number_at(times, "p90"));
	sample_add(&open[OPEN_P99_MS], number_at(times, "p99"));
	sample_add(&open[OPEN_SMALLEST_P90_MS],
		   number_at(class_times(result, 0), "p90"));
	sample_add(&open[OPEN_LARGEST_P99_MS],
		   number_at(class_times(result, SIZE_CLASS_COUNT - 1), "p99"));
	sample_add(&open[OPEN_FAILED_PERCENT],
		   100 * (requests - results_count_ok(result)) / requests);
}

static const char *skip_number(const char *text)
{
	return text + strspn(text, "0123456789.");
}

/* Are two warnings equal except for their numbers? */
static bool is_like(const char *a, const char *b)
{
	for (; *a != '\0'; a++, b++) {
		a = skip_number(a);
		b = skip_number(b);
		if (*a != *b || *a == '\0')
			break;
	}
	return *a == *b;
}

static void add_warning(struct figures *f, const char *arm, const char *text)
{
	size_t i = 0;

	while (i < f->warning_count && (strcmp(f->warnings[i].arm, arm) != 0 ||
					!is_like(f->warnings[i].text, text)))
		i++;
	if (i == FIGURES_WARNINGS_MAX)
		return;
	if (i == f->warning_count)
		f->warnings[f->warning_count++] =
			(struct figures_warning){ arm, text, 0 };
	f->warnings[i].count++;
}

static void add_warnings(struct figures *f, const char *arm,
			 const cJSON *result)
{
	const cJSON *warning;

	cJSON_ArrayForEach(warning, item_at(result, "warnings"))
	{
		if (cJSON_IsString(warning))
			add_warning(f, arm, warning->valuestring);
	}
}

struct sorting {
	struct figures *figures;
	const struct plan *plan;
};

/* A results_run_fn. */
static void sort_run(const struct results_run *run, const cJSON *result,
		     void *arg)
{
	struct sorting *sorting = arg;
	const struct plan *plan = sorting->plan;
	struct figures *f = sorting->figures;
	struct arm_figures *arm = f->arms;

	if (run->load == LOAD_WARM_UP)
		return;
	while (arm < f->arms + f->arm_count && strcmp(arm->name, run->arm) != 0)
		arm++;
	if (arm == f->arms + f->arm_count)
		return;
	add_warnings(f, arm->name, result);
	if (run->load == LOAD_CLOSED) {
		add_closed_run(arm, result);
		add_percentiles(arm, result);
		return;
	}
	for (size_t i = 0; i < plan->open.rate_count; i++)
		if (plan->open.percents[i] == run->percent_of_capacity)
			add_open_run(arm->open[i], result);
}

/* Remove the arms that were not measured. */
static void drop_empty(struct figures *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->arm_count; i++)
		if (f->arms[i].metrics[METRIC_MEGABYTES_PER_S].count > 0)
			f->arms[kept++] = f->arms[i];
	f->arm_count = kept;
}

static double mean_throughput(const struct arm_figures *arm)
{
	return sample_mean(&arm->metrics[METRIC_MEGABYTES_PER_S]);
}

static void rank_arms(struct figures *f)
{
	for (size_t i = 0; i < f->arm_count; i++) {
		double mean = mean_throughput(&f->arms[i]);
		size_t rank = i;

		while (rank > 0 &&
		       mean_throughput(&f->arms[f->ranking[rank - 1]]) < mean) {
			f->ranking[rank] = f->ranking[rank - 1];
			rank--;
		}
		f->ranking[rank] = i;
	}
}

bool figures_init(struct figures *f, const struct plan *plan,
		  const cJSON *results)
{
	struct sorting sorting = { f, plan };

	*f = (struct figures){
		.arms = calloc(plan->arm_count, sizeof(*f->arms)),
		.arm_count = plan->arm_count,
	};
	if (f->arms == NULL)
		return false;
	for (size_t i = 0; i < plan->arm_count; i++) {
		f->arms[i].name = plan->arms[i].name;
		f->arms[i].number = i;
	}
	results_for_each(results, sort_run, &sorting);
	drop_empty(f);
	rank_arms(f);
	return true;
}

size_t figures_closed_runs(const struct arm_figures *arm)
{
	return arm->metrics[METRIC_MEGABYTES_PER_S].count;
}

/* Every open loop begins with the lowest rate. */
size_t figures_open_runs(const struct arm_figures *arm)
{
	return arm->open[0][OPEN_RATE_PER_S].count;
}

void figures_release(struct figures *f)
{
	free(f->arms);
	*f = (struct figures){ 0 };
}
