/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/figures.h"

#include "loadgen/compare/json_file.h"
#include "loadgen/compare/results.h"
#include "loadgen/size_class.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024. * 1024)

/* NAN: there is none. */
static double number(const cJSON *object, const char *key)
{
	return json_number(object, key, (double)NAN);
}

static const cJSON *part(const cJSON *object, const char *key)
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

	cJSON_ArrayForEach(interval, part(result, "intervals"))
	{
		double end_s = number(interval, "end_s");

		if (end_s - begin_s > 4.999)
			best = fmax(best, number(interval, "bytes_per_s"));
		begin_s = end_s;
	}
	return isnan(best) ? number(result, "bytes_per_s") : best;
}

static void add_closed(struct arm_figures *arm, const cJSON *result)
{
	struct sample *metrics = arm->metrics;
	const cJSON *server = part(result, "server");
	double cpu_s = number(server, "cpu_s");
	double switches = number(server, "voluntary_switches") +
			  number(server, "involuntary_switches");
	double ok = results_count_ok(result);

	sample_add(&metrics[METRIC_MEGABYTES_PER_S],
		   number(result, "bytes_per_s") / 1e6);
	sample_add(&metrics[METRIC_MAKESPAN_S], number(result, "makespan_s"));
	sample_add(&metrics[METRIC_RESPONSES_PER_S],
		   number(result, "responses_per_s"));
	sample_add(&metrics[METRIC_P90_MS],
		   number(part(result, "response_ms"), "p90"));
	sample_add(&metrics[METRIC_CPU_PERCENT], number(server, "cpu_percent"));
	sample_add(&metrics[METRIC_UPLOADS_MBIT_S],
		   best_interval(result) * 8 / 1e6);
	sample_add(&metrics[METRIC_CPU_MS_PER_IMAGE], cpu_s * 1000 / ok);
	sample_add(&metrics[METRIC_PEAK_MEMORY_MIB],
		   number(server, "peak_memory_bytes") / MIB);
	sample_add(&metrics[METRIC_SWITCHES_PER_IMAGE], switches / ok);
	sample_add(&metrics[METRIC_CLIENT_PERCENT],
		   number(result, "client_cpu_s") * 100 / cpu_s);
}

/* The ladder is the same in all runs; a longer run has more of it. */
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

	cJSON_ArrayForEach(pair, part(result, "percentiles"))
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
	return part(cJSON_GetArrayItem(part(result, "size_classes"), class),
		    "response_ms");
}

static void add_open(struct sample open[OPEN_METRIC_COUNT], const cJSON *result)
{
	const cJSON *times = part(result, "response_ms");
	double requests = number(result, "requests");

	sample_add(&open[OPEN_RATE_PER_S], number(result, "rate_per_s"));
	sample_add(&open[OPEN_RESPONSES_PER_S],
		   number(result, "responses_per_s"));
	sample_add(&open[OPEN_P50_MS], number(times, "p50"));
	sample_add(&open[OPEN_P90_MS], number(times, "p90"));
	sample_add(&open[OPEN_P99_MS], number(times, "p99"));
	sample_add(&open[OPEN_SMALLEST_P90_MS],
		   number(class_times(result, 0), "p90"));
	sample_add(&open[OPEN_LARGEST_P99_MS],
		   number(class_times(result, SIZE_CLASS_COUNT - 1), "p99"));
	sample_add(&open[OPEN_FAILED_PERCENT],
		   100 * (requests - results_count_ok(result)) / requests);
}

static const char *skip_number(const char *text)
{
	return text + strspn(text, "0123456789.");
}

/* Is it the same warning, but for its numbers? */
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

	cJSON_ArrayForEach(warning, part(result, "warnings"))
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
		add_closed(arm, result);
		add_percentiles(arm, result);
		return;
	}
	for (size_t i = 0; i < plan->open.rate_count; i++)
		if (plan->open.percents[i] == run->percent_of_capacity)
			add_open(arm->open[i], result);
}

/* Arms that were not measured are no arms. */
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

static void rank(struct figures *f)
{
	for (size_t i = 0; i < f->arm_count; i++) {
		double mean = mean_throughput(&f->arms[i]);
		size_t place = i;

		while (place > 0 &&
		       mean_throughput(&f->arms[f->ranking[place - 1]]) <
			       mean) {
			f->ranking[place] = f->ranking[place - 1];
			place--;
		}
		f->ranking[place] = i;
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
	rank(f);
	return true;
}

size_t figures_closed_runs(const struct arm_figures *arm)
{
	return arm->metrics[METRIC_MEGABYTES_PER_S].count;
}

/* The lowest rate is offered in all of them. */
size_t figures_open_runs(const struct arm_figures *arm)
{
	return arm->open[0][OPEN_RATE_PER_S].count;
}

void figures_release(struct figures *f)
{
	free(f->arms);
	*f = (struct figures){ 0 };
}
