/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/figures.h"

#include "base/machine_usage.h"
#include "base/quantiles.h"
#include "loadgen/compare/results.h"
#include "loadgen/report/record.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct metric_view metric_views[METRIC_COUNT] = {
	[METRIC_MEGABYTES_PER_S] = { "MB/s", 3, "throughput.svg",
				     "Throughput, closed loop",
				     "processed uploads, MB/s (more is "
				     "better)" },
	[METRIC_MAKESPAN_S] = { "Makespan, s", 2, "makespan.svg",
				"Makespan, closed loop", "s (less is better)" },
	[METRIC_RESPONSES_PER_S] = { "Responses/s", 2, "responses.svg",
				     "Responses per second, closed loop",
				     "responses/s (more is better)" },
	[METRIC_REFUSED_PERCENT] = { "Replies 503, %", 1, NULL, NULL, NULL },
	[METRIC_P90_MS] = { "Response time, 90th percentile, ms", 1,
			    "response_p90.svg",
			    "Response time, 90th percentile, closed loop",
			    "ms (less is better)" },
	[METRIC_CPU_PERCENT] = { "Server CPU use, % (100: one core)", 1,
				 "cpu_use.svg", "Server's CPU use, closed loop",
				 "% (100: one core)" },
	[METRIC_UPLOADS_MBIT_S] = { "Uploads, Mbit/s (greatest 5 s)", 1,
				    "uploads.svg",
				    "Uploads in the greatest 5 s, closed loop",
				    "Mbit/s (more is better)" },
	[METRIC_CPU_MS_PER_IMAGE] = { "CPU, ms per image", 2, "cpu.svg",
				      "Server's CPU time per image",
				      "ms (less is better)" },
	[METRIC_PEAK_MEMORY_MIB] = { "Peak memory, MiB", 1, "memory.svg",
				     "Server's peak memory",
				     "MiB (less is better)" },
	[METRIC_SWITCHES_PER_IMAGE] = { "Context switches per image", 1,
					"switches.svg",
					"Context switches per image",
					"switches (less is better)" },
	[METRIC_CLIENT_PERCENT] = { "Client's CPU, % of the server's", 1, NULL,
				    NULL, NULL },
	[METRIC_GROWTH] = { "Second half by first", 2, NULL, NULL, NULL },
	[METRIC_COUNTED_PER_S] = { "Counted by the server, per s", 3, NULL,
				   NULL, NULL },
};

static double number_at(const cJSON *json, const char *path)
{
	return json_number(json, path, NAN);
}

/*
 * Bytes per second in the best of the 5 s intervals; a shorter one, at the end
 * of the run, does not count.  NAN: there is none.
 */
static double best_interval(const cJSON *result)
{
	const cJSON *interval;
	double best = NAN;
	double begin_s = 0;

	cJSON_ArrayForEach(interval, json_at(result, "intervals"))
	{
		double end_s = number_at(interval, "end_s");

		if (end_s - begin_s > 4.999)
			best = fmax(best, number_at(interval, "bytes_per_s"));
		begin_s = end_s;
	}
	return best;
}

/* A percentile of `count` replies; NAN if these are too few. */
static double percentile_at(const cJSON *result, const char *path, double count,
			    enum figure figure)
{
	return count >= (double)figure_samples[figure] ?
		       number_at(result, path) :
		       (double)NAN;
}

/* Did response times grow within the run? */
static double growth(const cJSON *result)
{
	return number_at(result, "half_means_ms.1") /
	       number_at(result, "half_means_ms.0");
}

bool counts_bytes(const char *counter)
{
	return strstr(counter, "_bytes") != NULL;
}

static double counted_per_s(const cJSON *result)
{
	double per_s = number_at(result, "server_counter.per_s");

	return counts_bytes(json_text(result, "server_counter.name")) ?
		       per_s / 1e6 :
		       per_s;
}

/* NAN and infinity are ignored.  False: out of memory. */
static bool add_value(struct samples *s, double value)
{
	if (!isfinite(value))
		return true;
	if (!samples_reserve(s))
		return false;
	samples_add(s, value);
	return true;
}

/*
 * Add the values of a run: to the sample of each metric, and to those of every
 * run.  False: out of memory.
 */
static bool add_values(struct sample *samples, struct samples *every,
		       size_t count, size_t block, const double *values)
{
	for (size_t i = 0; i < count; i++) {
		sample_add_block(&samples[i], block, values[i]);
		if (!add_value(&every[i], values[i]))
			return false;
	}
	return true;
}

static bool add_closed_run(struct arm_figures *arm, size_t block,
			   const cJSON *result)
{
	double ok = results_count_ok(result);
	double cpu_s = number_at(result, "server.cpu_s");
	double switches = number_at(result, "server.voluntary_switches") +
			  number_at(result, "server.involuntary_switches");
	double memory = number_at(result, "server.peak_memory_bytes");
	const double values[METRIC_COUNT] = {
		[METRIC_MEGABYTES_PER_S] =
			number_at(result, "bytes_per_s") / 1e6,
		[METRIC_MAKESPAN_S] = number_at(result, "makespan_s"),
		[METRIC_RESPONSES_PER_S] = number_at(result, "responses_per_s"),
		[METRIC_REFUSED_PERCENT] = 100 * results_count_refused(result) /
					   number_at(result, "requests"),
		[METRIC_P90_MS] = percentile_at(result, "response_ms.p90", ok,
						FIGURE_P90),
		[METRIC_CPU_PERCENT] = number_at(result, "server.cpu_percent"),
		[METRIC_UPLOADS_MBIT_S] = best_interval(result) * 8 / 1e6,
		[METRIC_CPU_MS_PER_IMAGE] = cpu_s * 1000 / ok,
		[METRIC_PEAK_MEMORY_MIB] = memory / (1 << 20),
		[METRIC_SWITCHES_PER_IMAGE] = switches / ok,
		[METRIC_CLIENT_PERCENT] =
			number_at(result, "client_cpu_s") * 100 / cpu_s,
		[METRIC_GROWTH] = growth(result),
		[METRIC_COUNTED_PER_S] = counted_per_s(result),
	};

	return add_values(arm->metrics, arm->every, METRIC_COUNT, block,
			  values);
}

/*
 * Add a time to the rung of `percent`, which may be new.  HdrHistogram's
 * percentages are the same for all runs, but a run with more replies has more
 * of them.
 */
static void add_rung(struct arm_figures *arm, size_t block, double percent,
		     double ms)
{
	size_t i = 0;

	while (i < arm->rung_count && arm->rungs[i].percent < percent - 1e-9)
		i++;
	if (i == arm->rung_count ||
	    arm->rungs[i].percent > percent + 1e-9) { /* a new rung */
		if (arm->rung_count == FIGURES_RUNGS_MAX)
			return;
		memmove(&arm->rungs[i + 1], &arm->rungs[i],
			(arm->rung_count - i) * sizeof(*arm->rungs));
		arm->rungs[i] = (struct rung){ .percent = percent };
		arm->rung_count++;
	}
	sample_add_block(&arm->rungs[i].ms, block, ms);
}

/* Ten replies or more must be slower, as with the 1,000 of a p99. */
static void add_percentiles(struct arm_figures *arm, size_t block,
			    const cJSON *result)
{
	double ok = results_count_ok(result);
	const cJSON *pair;

	cJSON_ArrayForEach(pair, json_at(result, "percentiles"))
	{
		double percent = number_at(pair, "0");
		double ms = number_at(pair, "1");

		if ((100 - percent) * ok >= 10 * 100 && !isnan(ms))
			add_rung(arm, block, percent, ms);
	}
}

static bool add_open_run(struct arm_figures *arm, size_t rate, size_t block,
			 const cJSON *result)
{
	double requests = number_at(result, "requests");
	double ok = results_count_ok(result);
	double small = number_at(result, "size_classes.0.count");
	double large = number_at(result, "size_classes.3.count");
	const double values[OPEN_METRIC_COUNT] = {
		[OPEN_RATE_PER_S] = number_at(result, "rate_per_s"),
		[OPEN_RESPONSES_PER_S] = number_at(result, "responses_per_s"),
		[OPEN_P50_MS] = number_at(result, "response_ms.p50"),
		[OPEN_P90_MS] = percentile_at(result, "response_ms.p90", ok,
					      FIGURE_P90),
		[OPEN_P99_MS] = percentile_at(result, "response_ms.p99", ok,
					      FIGURE_P99),
		[OPEN_SMALLEST_P90_MS] =
			percentile_at(result, "size_classes.0.response_ms.p90",
				      small, FIGURE_P90),
		[OPEN_LARGEST_P90_MS] =
			percentile_at(result, "size_classes.3.response_ms.p90",
				      large, FIGURE_P90),
		[OPEN_LARGEST_P99_MS] =
			percentile_at(result, "size_classes.3.response_ms.p99",
				      large, FIGURE_P99),
		[OPEN_FAILED_PERCENT] = 100 * (requests - ok) / requests,
		[OPEN_GROWTH] = growth(result),
	};

	static_assert(CLASS_COUNT == 4, "the last one is 3");
	return add_values(arm->open[rate], arm->every_open[rate],
			  OPEN_METRIC_COUNT, block, values);
}

/* Do two warnings differ only in their numbers? */
static bool is_like(const char *a, const char *b)
{
	static const char digits[] = "0123456789.";

	for (;; a++, b++) {
		a += strspn(a, digits);
		b += strspn(b, digits);
		if (*a != *b || *a == '\0')
			return *a == *b;
	}
}

static void add_warnings(struct figures *f, const char *arm,
			 const cJSON *result)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_at(result, "warnings"))
	{
		const char *text = cJSON_GetStringValue(item);
		struct figures_warning *w = f->warnings;
		struct figures_warning *end = w + f->warning_count;

		while (w < end && text != NULL &&
		       (strcmp(w->arm, arm) != 0 || !is_like(w->text, text)))
			w++;
		if (text == NULL || w == f->warnings + FIGURES_WARNINGS_MAX)
			continue;
		if (w == end)
			f->warnings[f->warning_count++] =
				(struct figures_warning){ arm, text, 0 };
		w->count++;
	}
}

/* Count what others did in a run.  False: so much that it is left out. */
static bool note_disturbance(struct figures *f, struct arm_figures *arm,
			     const struct results_run *run)
{
	struct disturbances *d = &f->disturbances;
	double percent = results_disturbed_percent(run->result);

	d->runs++;
	d->not_judged += isnan(percent);
	d->too_short += isnan(percent) &&
			number_at(run->result, "makespan_s") < MACHINE_JUDGED_S;
	for (size_t i = 0; i < f->plan->open.rate_count; i++)
		arm->open_tries[i] +=
			run->load == LOAD_OPEN &&
			f->plan->open.percents[i] == run->percent_of_capacity;
	if (percent > f->plan->disturbed_percent)
		d->worst_percent = fmax(d->worst_percent, percent);
	if (percent > plan_left_out_percent(f->plan)) {
		d->left_out++;
		arm->left_out_runs++;
		arm->worst_left_out_percent =
			fmax(arm->worst_left_out_percent, percent);
		return false;
	}
	if (percent > f->plan->disturbed_percent) {
		d->disturbed++;
		arm->disturbed_runs++;
		arm->worst_percent = fmax(arm->worst_percent, percent);
	}
	return true;
}

/* False: out of memory. */
static bool add_run(struct figures *f, const struct results_run *run)
{
	const struct open_loop *open = &f->plan->open;
	struct arm_figures *arm = f->arms;

	if (run->load == LOAD_WARM_UP)
		return true;
	while (arm < f->arms + f->arm_count && strcmp(arm->name, run->arm) != 0)
		arm++;
	if (arm == f->arms + f->arm_count)
		return true;
	if (run->is_repeated) {
		f->disturbances.repeated++;
		return true;
	}
	if (!add_value(&f->taken, results_disturbed_percent(run->result)))
		return false;
	if (!note_disturbance(f, arm, run))
		return true;
	add_warnings(f, arm->name, run->result);
	if (!add_value(&f->loads,
		       number_at(run->result, "machine.load_average")) ||
	    !add_value(&f->core_mhz,
		       number_at(run->result, "machine.core_mhz")))
		return false;
	if (run->load == LOAD_CLOSED) {
		arm->closed_runs++;
		add_percentiles(arm, run->repetition, run->result);
		return add_closed_run(arm, run->repetition, run->result);
	}
	for (size_t i = 0; i < open->rate_count; i++) {
		if (open->percents[i] != run->percent_of_capacity)
			continue;
		arm->open_runs[i]++;
		f->has_losses |= results_count_ok(run->result) <
				 number_at(run->result, "requests");
		return add_open_run(arm, i, run->repetition, run->result);
	}
	return true;
}

/* Make a sample empty that lacks a value of one of the runs. */
static void drop_partial(struct sample *s, size_t runs)
{
	if (sample_added(s) < runs)
		s->count = 0;
}

/* Drop what is partial, and sort the rest. */
static void finish_values(struct sample *samples, struct samples *every,
			  size_t count, size_t runs)
{
	for (size_t i = 0; i < count; i++) {
		drop_partial(&samples[i], runs);
		if (samples[i].count == 0)
			every[i].count = 0;
		quantiles_sort(every[i].values, every[i].count);
	}
}

static void finish_arm(struct arm_figures *arm)
{
	finish_values(arm->metrics, arm->every, METRIC_COUNT, arm->closed_runs);
	for (size_t i = 0; i < arm->rung_count; i++)
		drop_partial(&arm->rungs[i].ms, arm->closed_runs);
	for (size_t i = 0; i < PLAN_RATES_MAX; i++)
		finish_values(arm->open[i], arm->every_open[i],
			      OPEN_METRIC_COUNT, arm->open_runs[i]);
}

static void release_arm(struct arm_figures *arm)
{
	for (size_t i = 0; i < METRIC_COUNT; i++)
		samples_release(&arm->every[i]);
	for (size_t k = 0; k < PLAN_RATES_MAX; k++)
		for (size_t i = 0; i < OPEN_METRIC_COUNT; i++)
			samples_release(&arm->every_open[k][i]);
}

/* Remove the arms that were not measured, and rank the others. */
static void rank_arms(struct figures *f)
{
	struct disturbances *d = &f->disturbances;
	size_t count = 0;

	for (size_t i = 0; i < f->arm_count; i++) {
		struct arm_figures *arm = &f->arms[count];
		const struct sample *speed = arm->metrics; /* throughput */
		size_t rank = count;

		*arm = f->arms[i];
		finish_arm(arm);
		if (arm->closed_runs == 0) {
			if (arm->left_out_runs > 0)
				d->lost[d->lost_count++] = arm->name;
			release_arm(arm);
			continue;
		}
		for (; rank > 0 && sample_mean(f->ranked[rank - 1]->metrics) <
					   sample_mean(speed);
		     rank--)
			f->ranked[rank] = f->ranked[rank - 1];
		f->ranked[rank] = arm;
		count++;
	}
	f->arm_count = count;
	if (count > 0 && f->arms[0].name == f->baseline_name)
		f->baseline = &f->arms[0];
}

/* The first arm that was measured, and what was left out of its runs. */
static void note_baseline(struct figures *f, const cJSON *results)
{
	struct disturbances *d = &f->disturbances;
	double repetitions = fmin(json_number(results, "repetitions", 0),
				  PLAN_REPETITIONS_MAX);
	const struct arm_figures *arm = f->arms;
	bool all_left_out;

	while (arm < f->arms + f->arm_count &&
	       arm->closed_runs + arm->left_out_runs == 0)
		arm++;
	if (arm == f->arms + f->arm_count)
		return;
	f->baseline_name = arm->name;
	if (f->plan->open.rate_count == 0)
		return;
	for (uint64_t r = 1; (double)r <= repetitions; r++) {
		results_capacity_per_s(results, f->plan, arm->name, r,
				       &all_left_out);
		d->disturbed_rates += all_left_out;
	}
}

bool figures_init(struct figures *f, const struct plan *plan,
		  const cJSON *results)
{
	struct results_run run;
	const cJSON *entry;

	*f = (struct figures){
		.plan = plan,
		.arms = calloc(plan->arm_count, sizeof(*f->arms)),
		.arm_count = plan->arm_count,
	};
	if (f->arms == NULL)
		return false;
	for (size_t i = 0; i < plan->arm_count; i++) {
		f->arms[i].name = plan->arms[i].name;
		f->arms[i].number = i;
	}
	cJSON_ArrayForEach(entry, json_at(results, "runs"))
	{
		if (results_read_run(entry, &run) && !add_run(f, &run))
			return false;
	}
	note_baseline(f, results);
	rank_arms(f);
	quantiles_sort(f->loads.values, f->loads.count);
	quantiles_sort(f->core_mhz.values, f->core_mhz.count);
	quantiles_sort(f->taken.values, f->taken.count);
	return true;
}

void figures_release(struct figures *f)
{
	for (size_t i = 0; f->arms != NULL && i < f->arm_count; i++)
		release_arm(&f->arms[i]);
	samples_release(&f->loads);
	samples_release(&f->core_mhz);
	samples_release(&f->taken);
	free(f->arms);
	*f = (struct figures){ 0 };
}
