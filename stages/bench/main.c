/* SPDX-License-Identifier: MIT */
/* stages_bench: a stage graph in threads, under several schedules in turn. */
#include "base/quantiles.h"
#include "stages/bench/options.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { EXIT_USAGE = 2 };

enum { ROUNDS_MAX = 1000 };

static const char *const mode_names[] = {
	[MODE_LOAD] = "load",
	[MODE_EMPTY] = "empty",
	[MODE_WAKE] = "wake",
};

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
		if (figure_abouts[i].mode == o->mode)
			fprintf(out, "| %s ", figure_abouts[i].title);
	fputs("|\n|---|---", out);
	for (int i = 0; i < FIGURES; i++)
		if (figure_abouts[i].mode == o->mode)
			fputs("|---", out);
	fputs("|\n", out);
}

struct spread {
	double median, least, most;
};

/* Sorts `values`; count >= 1. */
static struct spread spread_of(double *values, uint32_t count)
{
	quantiles_sort(values, count);
	return (struct spread){
		.median = quantile_between(values, count, 0.5),
		.least = values[0],
		.most = values[count - 1],
	};
}

static void print_cell(FILE *out, const struct stages_bench_options *o,
		       const struct run_result *results, uint32_t arm,
		       int figure)
{
	double values[ROUNDS_MAX];
	int decimals = figure_abouts[figure].decimals;

	for (uint32_t i = 0; i < o->round_count; i++)
		values[i] = results[i * o->arm_count + arm].figures[figure];
	struct spread s = spread_of(values, o->round_count);

	fprintf(out, "| %.*f ", decimals, s.median);
	if (o->round_count > 1)
		fprintf(out, "(%.*f - %.*f) ", decimals, s.least, decimals,
			s.most);
}

static void report_print(FILE *out, const struct stages_bench_options *o,
			 const struct run_result *results)
{
	print_head(out, o);
	for (uint32_t arm = 0; arm < o->arm_count; arm++) {
		fprintf(out, "| `%s` | %" PRIu32 " ", o->arms[arm].name,
			cores_count(o->arms[arm].cores));
		for (int i = 0; i < FIGURES; i++)
			if (figure_abouts[i].mode == o->mode)
				print_cell(out, o, results, arm, i);
		fputs("|\n", out);
	}
}

static void add_number(cJSON *object, const char *name, double number)
{
	cJSON_AddNumberToObject(object, name, number);
}

static cJSON *run_json(const struct stages_bench_options *o,
		       const struct run_result *r)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *figures = cJSON_AddObjectToObject(object, "figures");
	cJSON *stages = cJSON_AddArrayToObject(object, "stages");

	add_number(object, "finished", (double)r->finished_count);
	add_number(object, "steps", (double)r->step_count);
	for (int i = 0; i < FIGURES; i++)
		add_number(figures, figure_abouts[i].name, r->figures[i]);
	for (uint32_t i = 0; i < o->model.stage_count; i++) {
		cJSON *stage = cJSON_CreateObject();

		cJSON_AddItemToArray(stages, stage);
		cJSON_AddStringToObject(stage, "name", o->model.stages[i].name);
		add_number(stage, "arrived", (double)r->arrived_counts[i]);
		add_number(stage, "handled", (double)r->handled_counts[i]);
	}
	return object;
}

/* All figures of all runs as JSON.  False: not written; errno says why. */
static bool report_save(const struct stages_bench_options *o,
			const struct run_result *results)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *runs;

	cJSON_AddStringToObject(root, "graph", o->graph_path);
	cJSON_AddStringToObject(root, "mode", mode_names[o->mode]);
	add_number(root, "seed", (double)o->config.seed);
	add_number(root, "scale", o->config.scale);
	add_number(root, "memory_bytes", (double)o->config.memory_bytes);
	add_number(root, "clients", o->config.client_count);
	add_number(root, "rate_per_s", o->config.rate_per_s);
	runs = cJSON_AddArrayToObject(root, "runs");
	for (uint32_t i = 0; i < o->round_count * o->arm_count; i++) {
		const struct arm *arm = &o->arms[i % o->arm_count];
		cJSON *object = run_json(o, &results[i]);

		cJSON_AddItemToArray(runs, object);
		add_number(object, "round", i / o->arm_count + 1);
		cJSON_AddStringToObject(object, "arm", arm->name);
		add_number(object, "cores", cores_count(arm->cores));
	}
	char *text = cJSON_Print(root);
	FILE *file = text != NULL ? fopen(o->json_path, "w") : NULL;
	bool ok = file != NULL && fprintf(file, "%s\n", text) > 0;

	if (file != NULL && fclose(file) != 0)
		ok = false;
	free(text);
	cJSON_Delete(root);
	return ok;
}

static void show_progress(const struct stages_bench_options *o, uint32_t at,
			  const struct run_result *result)
{
	int i = 0;

	while (figure_abouts[i].mode != o->mode)
		i++;
	fprintf(stderr, "round %u, %s: %s %.1f\n", at / o->arm_count + 1,
		o->arms[at % o->arm_count].name, figure_abouts[i].title,
		result->figures[i]);
}

static int run_all(struct stages_bench_options *o)
{
	uint32_t count = o->round_count * o->arm_count;
	struct run_result *results = calloc(count, sizeof(*results));
	int status = 0;

	o->config.steps_per_ns = run_measure_speed();
	for (uint32_t i = 0; i < count && status == 0; i++) {
		const struct arm *arm = &o->arms[i % o->arm_count];
		struct run_config config = o->config;

		config.seed += i / o->arm_count;
		if (results == NULL ||
		    !run(&config, &arm->schedule, arm->cores, &results[i])) {
			fputs("stages_bench: no memory or threads\n", stderr);
			status = 1;
		} else {
			show_progress(o, i, &results[i]);
		}
	}
	if (status == 0)
		report_print(stdout, o, results);
	if (status == 0 && o->json_path != NULL && !report_save(o, results)) {
		fprintf(stderr, "stages_bench: --json '%s': %s\n", o->json_path,
			strerror(errno));
		status = 1;
	}
	free(results);
	return status;
}

int main(int argc, char **argv)
{
	struct stages_bench_options o;
	struct error error;
	int status = 0;

	if (!stages_bench_options_parse(&o, argc, argv, &error)) {
		fprintf(stderr, "stages_bench: %s\n", error.text);
		status = EXIT_USAGE;
	} else if (!program_answer(&stages_bench_program, &o.asked,
				   DARKROOM_COMMIT, stdout)) {
		status = run_all(&o);
	}
	stages_bench_options_release(&o);
	return status;
}
