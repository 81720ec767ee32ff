/* SPDX-License-Identifier: MIT */
#include "stages/bench/report.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>

enum { ROUNDS_MAX = 1000 };

static const char *const mode_names[] = {
	[MODE_LOAD] = "load",
	[MODE_EMPTY] = "empty",
	[MODE_WAKE] = "wake",
};

/* Counts are of this. */
static const char *const mode_units[] = {
	[MODE_LOAD] = "per request",
	[MODE_EMPTY] = "per event at a stage",
	[MODE_WAKE] = "one request at a time",
};

static void print_head(FILE *out, const struct options *o)
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

static void print_cell(FILE *out, const struct options *o,
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

void report_print(FILE *out, const struct options *o,
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

static void add(cJSON *object, const char *name, double number)
{
	cJSON_AddNumberToObject(object, name, number);
}

static cJSON *run_json(const struct options *o, const struct run_result *r)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *figures = cJSON_AddObjectToObject(object, "figures");
	cJSON *stages = cJSON_AddArrayToObject(object, "stages");

	add(object, "finished", (double)r->finished_count);
	add(object, "steps", (double)r->step_count);
	for (int i = 0; i < FIGURES; i++)
		add(figures, figure_abouts[i].name, r->figures[i]);
	for (uint32_t i = 0; i < o->model.stage_count; i++) {
		cJSON *stage = cJSON_CreateObject();

		cJSON_AddItemToArray(stages, stage);
		cJSON_AddStringToObject(stage, "name", o->model.stages[i].name);
		add(stage, "arrived", (double)r->arrived_counts[i]);
		add(stage, "handled", (double)r->handled_counts[i]);
	}
	return object;
}

bool report_save(const struct options *o, const struct run_result *results)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *runs;

	cJSON_AddStringToObject(root, "graph", o->graph_path);
	cJSON_AddStringToObject(root, "mode", mode_names[o->mode]);
	add(root, "seed", (double)o->config.seed);
	add(root, "scale", o->config.scale);
	add(root, "memory_bytes", (double)o->config.memory_bytes);
	add(root, "clients", o->config.client_count);
	add(root, "rate_per_s", o->config.rate_per_s);
	runs = cJSON_AddArrayToObject(root, "runs");
	for (uint32_t i = 0; i < o->round_count * o->arm_count; i++) {
		const struct arm *arm = &o->arms[i % o->arm_count];
		cJSON *object = run_json(o, &results[i]);

		cJSON_AddItemToArray(runs, object);
		add(object, "round", i / o->arm_count + 1);
		cJSON_AddStringToObject(object, "arm", arm->name);
		add(object, "cores", cores_count(arm->cores));
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
