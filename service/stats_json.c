/* SPDX-License-Identifier: MIT */
#include "service/stats_figures.h"

#include "stages/cores.h"

#include <stdlib.h>

#include <cjson/cJSON.h>

/* cJSON's adders do nothing on NULL: one check at the end is enough. */

static void add_figures(cJSON *to, struct figures f)
{
	for (uint32_t i = 0; i < f.count; i++)
		(void)cJSON_AddNumberToObject(to, f.list[i].name,
					      f.list[i].value);
}

static void add_schedule(cJSON *to, const struct stats_source *source)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (f == NULL)
		return;
	schedule_print(&source->config->schedule, pipeline_step_names,
		       PIPELINE_STEPS, f);
	if (fclose(f) == 0)
		(void)cJSON_AddStringToObject(to, "schedule", text);
	free(text);
}

static void add_cores(cJSON *to, const struct cores *cores)
{
	cJSON *list = cJSON_AddArrayToObject(to, "cores");

	for (uint32_t i = 0; i < cores_count(cores); i++)
		(void)cJSON_AddItemToArray(
			list, cJSON_CreateNumber(cores_cpu(cores, i)));
}

static void add_sandbox(cJSON *to, const struct sandbox *s)
{
	cJSON *o = cJSON_AddObjectToObject(to, "sandbox");

	(void)cJSON_AddBoolToObject(o, "no_new_privileges",
				    s->no_new_privileges);
	(void)cJSON_AddNumberToObject(o, "landlock_abi", s->landlock_abi);
	(void)cJSON_AddBoolToObject(o, "seccomp", s->seccomp);
}

static void add_counts(cJSON *to, stats_counts_fn *const *of,
		       const struct stage_stats *counts)
{
	for (; *of != NULL; of++)
		add_figures(to, (*of)(counts));
}

static void add_stages(cJSON *to, const struct stats *s, bool has_hardware)
{
	cJSON *list = cJSON_AddArrayToObject(to, "stages");

	for (uint32_t i = 0; i < PIPELINE_STEPS; i++) {
		const struct stage_stats *counts = &s->pipeline.stages[i];
		cJSON *o = cJSON_CreateObject();

		(void)cJSON_AddStringToObject(o, "name",
					      pipeline_step_names[i]);
		add_counts(o, stats_of_stage, counts);
		add_figures(o, stats_rates(&s->recent[i]));
		if (has_hardware)
			add_figures(cJSON_AddObjectToObject(o, "hardware"),
				    stats_hardware(counts));
		else
			(void)cJSON_AddStringToObject(o, "hardware",
						      "not available");
		(void)cJSON_AddItemToArray(list, o);
	}
}

static void add_workers(cJSON *to, const struct stats *s, const struct group *g)
{
	cJSON *list = cJSON_AddArrayToObject(to, "workers");

	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats worker;
		cJSON *o = cJSON_CreateObject();

		group_read_worker(g, i, &worker);
		(void)cJSON_AddStringToObject(o, "name", worker.name);
		add_figures(o, stats_worker(s, &worker));
		add_counts(o, stats_of_work, &worker.work);
		(void)cJSON_AddItemToArray(list, o);
	}
}

char *stats_json(struct stats_source *source)
{
	const struct pipeline_config *c = source->config;
	const struct group *g = pipeline_group(source->pipeline);
	struct stats s;
	cJSON *o = cJSON_CreateObject();

	stats_read(source, &s);
	(void)cJSON_AddStringToObject(o, "version", DARKROOM_VERSION);
	(void)cJSON_AddStringToObject(o, "policy", c->schedule.policy->name);
	add_schedule(o, source);
	(void)cJSON_AddNumberToObject(o, "parts", c->schedule.part_count);
	add_cores(o, c->cores);
	add_sandbox(o, source->sandbox);
	add_figures(o, stats_process(&s));
	add_figures(cJSON_AddObjectToObject(o, "uploads"), stats_uploads(&s));
	add_figures(cJSON_AddObjectToObject(o, "buffers"), stats_buffers(&s));
	add_figures(cJSON_AddObjectToObject(o, "memory"), stats_memory(&s));
	add_stages(o, &s, group_counts_hardware(g));
	add_workers(o, &s, g);

	char *text = cJSON_PrintUnformatted(o);

	cJSON_Delete(o);
	return text;
}
