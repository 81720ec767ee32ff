/* SPDX-License-Identifier: MIT */
/* stages_bench: a stage graph in threads, under several schedules. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/machine_usage.h"
#include "base/quantiles.h"
#include "base/random.h"
#include "base/util.h"
#include "stages/bench/options.h"
#include "stages/flags.h"
#include "version.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { EXIT_USAGE = 2 };

enum { ROUNDS_MAX = 1000 };

static const char *const mode_names[] = {
	[MODE_LOAD] = "load",
	[MODE_EMPTY] = "empty",
	[MODE_FIBRES] = "fibres",
	[MODE_WAKE] = "wake",
};

/* How a run was made, and what others did meanwhile. */
struct conditions {
	uint32_t attempts;
	/* Of the last attempt; at its begin, the time when it began. */
	double own_s, seconds;
	struct machine_watch watch;
	struct machine_usage machine;
};

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static double disturbed_percent(const struct conditions *c)
{
	return machine_disturbed_percent(&c->machine, c->own_s, c->seconds);
}

static void begin_attempt(struct conditions *c)
{
	c->attempts++;
	machine_watch_begin(&c->watch);
	c->own_s = seconds(clock_cpu_ns());
	c->seconds = seconds(clock_now_ns());
}

/* True: others have disturbed it, so it must be made again. */
static bool end_attempt(const struct stages_bench_options *o,
			struct conditions *c)
{
	c->seconds = seconds(clock_now_ns()) - c->seconds;
	c->own_s = seconds(clock_cpu_ns()) - c->own_s;
	machine_watch_end(&c->watch, &c->machine);
	if (!machine_must_repeat(disturbed_percent(c), o->disturbed_percent,
				 c->attempts))
		return false;
	fprintf(stderr,
		"other programs and the hypervisor took %.1f %% "
		"of the cores; again\n",
		disturbed_percent(c));
	return true;
}

/* All runs of the program. */
struct runs {
	uint32_t count;
	struct run_result *results;   /* not of MODE_FIBRES */
	struct fibres_result *fibres; /* of MODE_FIBRES */
	struct conditions *conditions;
};

/* What others did to all runs. */
struct disturbances {
	uint32_t again_count;     /* attempts that were made again */
	uint32_t disturbed_count; /* runs that were disturbed each time */
	uint32_t unjudged_count;
};

static struct disturbances
count_disturbances(const struct stages_bench_options *o,
		   const struct runs *runs)
{
	struct disturbances d = { 0 };

	for (uint32_t i = 0; i < runs->count; i++) {
		double percent = disturbed_percent(&runs->conditions[i]);

		d.again_count += runs->conditions[i].attempts - 1;
		d.disturbed_count += percent > o->disturbed_percent;
		d.unjudged_count += isnan(percent);
	}
	return d;
}

/* What must be known before the figures: that they are doubtful. */
static void print_disturbed(FILE *out, const struct stages_bench_options *o,
			    const struct runs *runs)
{
	struct disturbances d = count_disturbances(o, runs);

	if (d.disturbed_count > 0)
		fprintf(out,
			"**Disturbed**: in %" PRIu32 " of %" PRIu32
			" runs, other programs and the hypervisor took more "
			"than %g %% of the machine's cores in each of %d "
			"attempts.\n\n",
			d.disturbed_count, runs->count, o->disturbed_percent,
			MACHINE_ATTEMPTS);
}

static void print_disturbances(FILE *out, const struct stages_bench_options *o,
			       const struct runs *runs)
{
	struct disturbances d = count_disturbances(o, runs);

	fprintf(out,
		"\nA run is made again, up to %d times in all, if other "
		"programs and the hypervisor took more than %g %% of the "
		"machine's cores. Runs made again: %" PRIu32
		"; disturbed each time: %" PRIu32
		"; not judged, because they are shorter than %g s: %" PRIu32
		" of %" PRIu32 ".\n",
		MACHINE_ATTEMPTS, o->disturbed_percent, d.again_count,
		d.disturbed_count, MACHINE_JUDGED_S, d.unjudged_count,
		runs->count);
}

static void write_disturbances(struct json *j,
			       const struct stages_bench_options *o,
			       const struct runs *runs)
{
	struct disturbances d = count_disturbances(o, runs);

	json_add_number(j, "disturbed_percent_max", o->disturbed_percent);
	json_add_whole(j, "runs_made_again", d.again_count);
	json_add_whole(j, "runs_disturbed_each_time", d.disturbed_count);
	json_add_whole(j, "runs_not_judged", d.unjudged_count);
}

static void write_conditions(struct json *j, const struct conditions *c)
{
	json_add_whole(j, "attempts", c->attempts);
	machine_add_json(j, &c->machine, c->own_s, c->seconds);
}

/* The unit that counts refer to. */
static const char *const mode_units[] = {
	[MODE_LOAD] = "per request",
	[MODE_EMPTY] = "per event at a stage",
	[MODE_WAKE] = "one request at a time",
};

static void print_head(FILE *out, const struct stages_bench_options *o)
{
	const struct run_config *c = &o->config;

	fprintf(out,
		"%s, times x %g, %" PRIu64 " bytes, at most %" PRIu32
		" requests under way; medians of %" PRIu32
		" runs (least - most); counts %s\n\n| schedule | cores ",
		o->graph_path, c->scale, c->memory_bytes, c->client_count,
		o->round_count, mode_units[o->mode]);
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].mode == o->mode)
			fprintf(out, "| %s ", figures[i].title);
	fputs("|\n|---|---", out);
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].mode == o->mode)
			fputs("|---", out);
	fputs("|\n", out);
}

/*
 * A cell of a table, with the median and the range.  A dash: one run or more
 * has no value, because it has too few samples.
 */
static void print_values(FILE *out, double *values, uint32_t count,
			 int decimals)
{
	for (uint32_t i = 0; i < count; i++)
		if (isnan(values[i])) {
			fputs("| - ", out);
			return;
		}
	quantiles_sort(values, count);
	fprintf(out, "| %.*f ", decimals, quantile_between(values, count, 0.5));
	if (count > 1)
		fprintf(out, "(%.*f - %.*f) ", decimals, values[0], decimals,
			values[count - 1]);
}

static void print_cell(FILE *out, const struct stages_bench_options *o,
		       const struct run_result *results, uint32_t arm,
		       int figure)
{
	double values[ROUNDS_MAX];
	uint32_t count = o->round_count;
	int decimals = figures[figure].decimals;

	for (uint32_t i = 0; i < count; i++)
		values[i] = results[i * o->arm_count + arm].values[figure];
	print_values(out, values, count, decimals);
}

/* Of all rounds: the most threads, those at the ends, and the changes. */
static void print_pool(FILE *out, const struct stages_bench_options *o,
		       const struct runs *runs, uint32_t arm, uint32_t stage)
{
	uint64_t most = 0, last_min = UINT64_MAX, last_max = 0;
	uint64_t joined = 0, left = 0;

	for (uint32_t i = arm; i < runs->count; i += o->arm_count) {
		const struct run_pool *p = &runs->results[i].pools[stage];

		most = max_u64(most, p->threads_most);
		last_min = min_u64(last_min, p->threads_last);
		last_max = max_u64(last_max, p->threads_last);
		joined += p->joined_count;
		left += p->left_count;
	}
	fprintf(out, "| `%s` | %s | %" PRIu64 " | %" PRIu64, o->arms[arm].name,
		o->model.stages[stage].name, most, last_min);
	if (last_max > last_min)
		fprintf(out, " - %" PRIu64, last_max);
	fprintf(out, " | %" PRIu64 " | %" PRIu64 " |\n", joined, left);
}

/* A table of the pools whose number of threads changes by itself. */
static void print_pools(FILE *out, const struct stages_bench_options *o,
			const struct runs *runs)
{
	bool has_head = false;

	for (uint32_t arm = 0; arm < o->arm_count; arm++)
		for (uint32_t i = 0; i < o->model.stage_count; i++) {
			if (runs->results[arm].pools[i].threads_most == 0)
				continue;
			if (!has_head)
				fputs("\n| schedule | pool | threads, most | "
				      "at the end | joined, all rounds | left "
				      "|\n|---|---|--:|--:|--:|--:|\n",
				      out);
			has_head = true;
			print_pool(out, o, runs, arm, i);
		}
}

/* Did all runs of the arm count? */
static bool has_hardware(const struct stages_bench_options *o,
			 const struct runs *runs, uint32_t arm)
{
	for (uint32_t i = arm; i < runs->count; i += o->arm_count)
		if (!runs->results[i].has_hardware)
			return false;
	return true;
}

/* A cell for each of the columns of print_hardware(), for one event. */
static void print_hardware_row(FILE *out, const struct stages_bench_options *o,
			       const struct runs *runs, uint32_t arm,
			       uint32_t stage)
{
	double values[PERF_COUNTERS + 1][ROUNDS_MAX];
	uint32_t rounds = 0;

	for (uint32_t i = arm; i < runs->count; i += o->arm_count, rounds++) {
		const struct run_result *r = &runs->results[i];
		const uint64_t *counts = r->hardware[stage];
		double events = (double)r->handled_counts[stage];

		for (int k = 0; k < PERF_COUNTERS; k++)
			values[k][rounds] =
				events > 0 ? (double)counts[k] / events : NAN;
		values[PERF_COUNTERS][rounds] =
			(double)counts[PERF_CYCLES] /
			(double)counts[PERF_INSTRUCTIONS];
	}
	fprintf(out, "| `%s` | %s ", o->arms[arm].name,
		o->model.stages[stage].name);
	print_values(out, values[PERF_CYCLES], rounds, 0);
	print_values(out, values[PERF_INSTRUCTIONS], rounds, 0);
	print_values(out, values[PERF_COUNTERS], rounds, 2);
	print_values(out, values[PERF_CACHE_MISSES], rounds, 2);
	fputs("|\n", out);
}

/* Arms whose workers could not count. */
static void print_refused(FILE *out, const struct stages_bench_options *o,
			  const struct runs *runs)
{
	const char *before = "\nHardware counters are not available with ";

	for (uint32_t arm = 0; arm < o->arm_count; arm++) {
		if (has_hardware(o, runs, arm))
			continue;
		fprintf(out, "%s`%s`", before, o->arms[arm].name);
		before = ", ";
	}
	if (*before == ',')
		fputs(": this machine has none, as most virtual machines; or "
		      "the system does not allow them (see "
		      "`/proc/sys/kernel/perf_event_paranoid`); or another "
		      "program holds them; or the policy has no workers.\n",
		      out);
}

/* With --counters: what each stage took, for those arms that have it. */
static void print_hardware(FILE *out, const struct stages_bench_options *o,
			   const struct runs *runs)
{
	bool has_head = false;

	if (!o->config.counts_hardware)
		return;
	for (uint32_t arm = 0; arm < o->arm_count; arm++) {
		if (!has_hardware(o, runs, arm))
			continue;
		if (!has_head)
			fputs("\n| schedule | stage | cycles per event | "
			      "instructions | cycles per instruction | cache "
			      "misses |\n|---|---|--:|--:|--:|--:|\n",
			      out);
		has_head = true;
		for (uint32_t i = 0; i < o->model.stage_count; i++)
			print_hardware_row(out, o, runs, arm, i);
	}
	print_refused(out, o, runs);
}

static void report_print(FILE *out, const struct stages_bench_options *o,
			 const struct runs *runs)
{
	print_head(out, o);
	for (uint32_t arm = 0; arm < o->arm_count; arm++) {
		fprintf(out, "| `%s` | %" PRIu32 " ", o->arms[arm].name,
			cores_count(o->arms[arm].cores));
		for (int i = 0; i < FIGURES; i++)
			if (figures[i].mode == o->mode)
				print_cell(out, o, runs->results, arm, i);
		fputs("|\n", out);
	}
}

static void write_pool(struct json *j, const struct run_pool *p)
{
	if (p->threads_most == 0) {
		json_add_null(j, "pool");
		return;
	}
	json_open_object(j, "pool");
	json_add_whole(j, "threads_most", p->threads_most);
	json_add_whole(j, "threads_last", p->threads_last);
	json_add_whole(j, "joined", p->joined_count);
	json_add_whole(j, "left", p->left_count);
	json_close(j);
}

/* `counts` is NULL if there are none. */
static void write_hardware(struct json *j, const uint64_t *counts)
{
	if (counts == NULL) {
		json_add_null(j, "hardware");
		return;
	}
	json_open_object(j, "hardware");
	json_add_whole(j, "cycles", counts[PERF_CYCLES]);
	json_add_whole(j, "instructions", counts[PERF_INSTRUCTIONS]);
	json_add_whole(j, "cache_misses", counts[PERF_CACHE_MISSES]);
	json_close(j);
}

static void write_run(struct json *j, const struct stages_bench_options *o,
		      const struct run_result *r)
{
	json_open_object(j, "figures");
	for (int i = 0; i < FIGURES; i++)
		json_add_number(j, figures[i].name, r->values[i]);
	json_close(j);
	json_open_array(j, "half_means_ms");
	for (int i = 0; i < 2; i++)
		json_add_number(j, NULL, r->half_means_ms[i]);
	json_close(j);
	json_open_array(j, "stages");
	for (uint32_t i = 0; i < o->model.stage_count; i++) {
		json_open_object(j, NULL);
		json_add_text(j, "name", o->model.stages[i].name);
		json_add_whole(j, "arrived", r->arrived_counts[i]);
		json_add_whole(j, "handled", r->handled_counts[i]);
		write_pool(j, &r->pools[i]);
		write_hardware(j, r->has_hardware ? r->hardware[i] : NULL);
		json_close(j);
	}
	json_close(j);
	json_add_whole(j, "finished", r->finished_count);
	json_add_whole(j, "steps", r->step_count);
}

static void write_report(struct json *j, const struct stages_bench_options *o,
			 const struct runs *runs)
{
	json_open_object(j, NULL);
	json_add_text(j, "graph", o->graph_path);
	json_add_text(j, "mode", mode_names[o->mode]);
	json_add_whole(j, "seed", o->config.seed);
	json_add_number(j, "scale", o->config.scale);
	json_add_whole(j, "memory_bytes", o->config.memory_bytes);
	json_add_whole(j, "clients", o->config.client_count);
	json_add_number(j, "rate_per_s", o->config.rate_per_s);
	write_disturbances(j, o, runs);
	json_open_array(j, "runs");
	for (uint32_t i = 0; i < runs->count; i++) {
		const struct arm *arm = &o->arms[i % o->arm_count];

		json_open_object(j, NULL);
		write_run(j, o, &runs->results[i]);
		write_conditions(j, &runs->conditions[i]);
		json_add_whole(j, "round", i / o->arm_count + 1);
		json_add_text(j, "arm", arm->name);
		json_add_whole(j, "cores", cores_count(arm->cores));
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

/*
 * User-level threads: in each round, each arm with each number of threads, in
 * each case.
 */
struct fibres_row {
	const struct arm *arm;
	uint32_t round;
	const char *title; /* of its case */
	struct fibres_config config;
};

static const struct {
	bool are_all_runnable, uses_huge_pages;
	const char *title;
} fibres_cases[] = {
	{ true, false, "all" },
	{ true, true, "all; events in huge pages" },
	{ false, false, "10" },
};

enum { FIBRES_CASES = ARRAY_SIZE(fibres_cases) };

static uint32_t fibres_row_count(const struct stages_bench_options *o)
{
	return o->arm_count * o->fibre_count_count * FIBRES_CASES;
}

/* Rows of a round have numbers below fibres_row_count(). */
static struct fibres_row fibres_row(const struct stages_bench_options *o,
				    uint32_t number)
{
	uint32_t row = number % fibres_row_count(o);
	uint32_t which = row % FIBRES_CASES;
	uint32_t count =
		o->fibre_counts[row / FIBRES_CASES % o->fibre_count_count];

	return (struct fibres_row){
		.arm = &o->arms[row / FIBRES_CASES / o->fibre_count_count],
		.round = number / fibres_row_count(o) + 1,
		.title = fibres_cases[which].title,
		.config = { .count = count,
			    .are_all_runnable =
				    fibres_cases[which].are_all_runnable,
			    .uses_huge_pages =
				    fibres_cases[which].uses_huge_pages,
			    .switch_count = max_u64(o->config.request_count,
						    2 * (uint64_t)count) },
	};
}

static void fibres_print_cell(FILE *out, const struct stages_bench_options *o,
			      const struct fibres_result *results, uint32_t row,
			      int figure)
{
	double values[ROUNDS_MAX] = { 0 };
	int decimals = fibres_views[figure].decimals;

	for (uint32_t i = 0; i < o->round_count; i++)
		values[i] =
			results[i * fibres_row_count(o) + row].values[figure];
	if (values[0] > 0)
		print_values(out, values, o->round_count, decimals);
	else
		fputs("| - ", out);
}

static void fibres_print(FILE *out, const struct stages_bench_options *o,
			 const struct runs *runs)
{
	fprintf(out,
		"Medians of %" PRIu32
		" runs (least - most)\n\n| schedule | threads | runnable ",
		o->round_count);
	for (int i = 0; i < FIBRES_FIGURES; i++)
		fprintf(out, "| %s ", fibres_views[i].title);
	fputs("|\n|---|--:|--:", out);
	for (int i = 0; i < FIBRES_FIGURES; i++)
		fputs("|--:", out);
	fputs("|\n", out);
	for (uint32_t i = 0; i < fibres_row_count(o); i++) {
		struct fibres_row row = fibres_row(o, i);

		fprintf(out, "| `%s` | %" PRIu32 " | %s ", row.arm->name,
			row.config.count, row.title);
		for (int k = 0; k < FIBRES_FIGURES; k++)
			fibres_print_cell(out, o, runs->fibres, i, k);
		fputs("|\n", out);
	}
}

static void write_fibres(struct json *j, const struct stages_bench_options *o,
			 const struct runs *runs)
{
	json_open_object(j, NULL);
	json_add_text(j, "mode", mode_names[o->mode]);
	write_disturbances(j, o, runs);
	json_open_array(j, "runs");
	for (uint32_t i = 0; i < runs->count; i++) {
		struct fibres_row row = fibres_row(o, i);
		const struct fibres_result *r = &runs->fibres[i];

		json_open_object(j, NULL);
		json_open_object(j, "figures");
		for (int k = 0; k < FIBRES_FIGURES; k++)
			json_add_number(j, fibres_views[k].name, r->values[k]);
		json_close(j);
		json_add_whole(j, "round", row.round);
		json_add_text(j, "arm", row.arm->name);
		json_add_whole(j, "threads", row.config.count);
		json_add_bool(j, "all_runnable", row.config.are_all_runnable);
		json_add_bool(j, "huge_pages", row.config.uses_huge_pages);
		json_add_whole(j, "ended", r->ended_count);
		json_add_whole(j, "waited", r->waited_count);
		json_add_whole(j, "switches", r->switch_count);
		write_conditions(j, &runs->conditions[i]);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

/* All figures of all runs as JSON. */
static void report_save(FILE *file, const struct stages_bench_options *o,
			const struct runs *runs)
{
	struct json j;

	json_begin(&j, file, JSON_INDENTED);
	if (o->mode == MODE_FIBRES)
		write_fibres(&j, o, runs);
	else
		write_report(&j, o, runs);
	(void)fputc('\n', file);
}

static int complain(const struct error *error, int status)
{
	fprintf(stderr, "stages_bench: %s\n", error->text);
	return status;
}

/* `json` is the file of --json, or NULL. */
static void report(const struct stages_bench_options *o,
		   const struct runs *runs, FILE *json)
{
	print_disturbed(stdout, o, runs);
	if (o->mode == MODE_FIBRES) {
		fibres_print(stdout, o, runs);
	} else {
		report_print(stdout, o, runs);
		print_pools(stdout, o, runs);
		print_hardware(stdout, o, runs);
	}
	print_disturbances(stdout, o, runs);
	if (json != NULL)
		report_save(json, o, runs);
}

/* A last attempt that was disturbed counts, but is marked. */
static void show_disturbed(const struct stages_bench_options *o,
			   const struct conditions *c)
{
	double percent = disturbed_percent(c);

	if (percent > o->disturbed_percent)
		fprintf(stderr, "; disturbed, %.0f %%", percent);
	fputc('\n', stderr);
}

static void show_progress(const struct stages_bench_options *o, uint32_t at,
			  const struct runs *runs)
{
	const struct run_result *result = &runs->results[at];
	int i = 0;

	while (figures[i].mode != o->mode)
		i++;
	fprintf(stderr, "round %u, %s: %s %.1f", at / o->arm_count + 1,
		o->arms[at % o->arm_count].name, figures[i].title,
		result->values[i]);
	show_disturbed(o, &runs->conditions[at]);
}

/* The runs of a round in random order, by the method of Fisher and Yates. */
static void shuffle(uint32_t order[ARMS_MAX], uint32_t count, uint64_t seed)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = random_below(&seed, i + 1);

		order[i] = order[at];
		order[at] = i;
	}
}

/* False: no memory or threads. */
static bool run_arm(const struct stages_bench_options *o,
		    const struct run_config *config, const struct runs *runs,
		    uint32_t at)
{
	const struct arm *arm = &o->arms[at % o->arm_count];
	bool ok;

	do {
		begin_attempt(&runs->conditions[at]);
		ok = run(config, &arm->schedule, arm->cores,
			 &runs->results[at]);
	} while (ok && end_attempt(o, &runs->conditions[at]));
	if (ok)
		show_progress(o, at, runs);
	return ok;
}

/* False: no memory or threads. */
static bool run_all(struct stages_bench_options *o, const struct runs *runs)
{
	uint32_t order[ARMS_MAX];

	o->config.steps_per_ns = run_measure_speed();
	for (uint32_t i = 0; i < runs->count; i++) {
		uint32_t round = i / o->arm_count;
		struct run_config config = o->config;

		config.seed += round;
		if (i % o->arm_count == 0)
			shuffle(order, o->arm_count, config.seed);
		if (!run_arm(o, &config, runs,
			     round * o->arm_count + order[i % o->arm_count]))
			return false;
	}
	return true;
}

/* False: no memory or threads. */
static bool run_all_fibres(const struct stages_bench_options *o,
			   const struct runs *runs)
{
	for (uint32_t i = 0; i < runs->count; i++) {
		struct fibres_row row = fibres_row(o, i);

		do {
			begin_attempt(&runs->conditions[i]);
			if (!fibres_run(&row.config, &row.arm->schedule,
					row.arm->cores, &runs->fibres[i]))
				return false;
		} while (end_attempt(o, &runs->conditions[i]));
		fprintf(stderr,
			"round %u, %s, %u threads, runnable: %s: %s %.1f",
			row.round, row.arm->name, row.config.count, row.title,
			fibres_views[0].title, runs->fibres[i].values[0]);
		show_disturbed(o, &runs->conditions[i]);
	}
	return true;
}

/* Returns the exit status. */
static int measure(struct stages_bench_options *o, FILE *json)
{
	bool is_fibres = o->mode == MODE_FIBRES;
	uint32_t count = o->round_count *
			 (is_fibres ? fibres_row_count(o) : o->arm_count);
	struct runs runs = {
		.count = count,
		.results = calloc(count, sizeof(*runs.results)),
		.fibres = calloc(count, sizeof(*runs.fibres)),
		.conditions = calloc(count, sizeof(*runs.conditions)),
	};
	int status = 0;

	if (runs.results == NULL || runs.fibres == NULL ||
	    runs.conditions == NULL ||
	    !(is_fibres ? run_all_fibres(o, &runs) : run_all(o, &runs))) {
		fputs("stages_bench: no memory or threads\n", stderr);
		status = 1;
	} else {
		report(o, &runs, json);
	}
	free(runs.results);
	free(runs.fibres);
	free(runs.conditions);
	return status;
}

static int measure_and_save(struct stages_bench_options *o)
{
	struct error error;
	FILE *json = NULL;
	int status;

	if (o->json_path != NULL) {
		json = file_open_figures(o->json_path, &error);
		if (json == NULL)
			return complain(&error, EXIT_USAGE);
	}
	status = measure(o, json);
	if (json != NULL && !file_close_figures(json, o->json_path, &error))
		status = complain(&error, 1);
	return status;
}

int main(int argc, char **argv)
{
	struct stages_bench_options o;
	struct error error;
	int status = 0;

	file_fill_standard();
	if (!stages_bench_options_parse(&o, argc, argv, &error)) {
		status = complain(&error, EXIT_USAGE);
	} else if (program_answer(&stages_bench_program, &o.asked,
				  DARKROOM_COMMIT, stdout)) {
		status = 0;
	} else if (o.wants_policies) {
		policies_print(stdout);
	} else {
		status = measure_and_save(&o);
	}
	stages_bench_options_release(&o);
	return program_finish(&stages_bench_program, status);
}
