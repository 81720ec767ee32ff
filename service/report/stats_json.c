/* SPDX-License-Identifier: MIT */
#include "service/report/stats_figures.h"

#include "service/text.h"

#include "stages/cores.h"

#include <stdlib.h>

#include <cjson/cJSON.h>

/* An object, and whether all of it could be made: half an answer is none. */
struct draft {
	cJSON *root;
	bool is_whole;
};

static void note(struct draft *d, bool added)
{
	d->is_whole = d->is_whole && added;
}

static void add_number(struct draft *d, cJSON *to, const char *name,
		       double value)
{
	note(d, cJSON_AddNumberToObject(to, name, value) != NULL);
}

static void add_text(struct draft *d, cJSON *to, const char *name,
		     const char *value)
{
	note(d, cJSON_AddStringToObject(to, name, value) != NULL);
}

static void add_switch(struct draft *d, cJSON *to, const char *name, bool value)
{
	note(d, cJSON_AddBoolToObject(to, name, value) != NULL);
}

/* At the end of an array; owned by that. */
static cJSON *add_item(struct draft *d, cJSON *list, cJSON *item)
{
	bool added = item != NULL && cJSON_AddItemToArray(list, item);

	note(d, added);
	if (added)
		return item;
	cJSON_Delete(item);
	return NULL;
}

static void add_figures(struct draft *d, cJSON *to, struct figures f)
{
	for (uint32_t i = 0; i < f.count; i++)
		add_number(d, to, f.list[i].name, f.list[i].value);
}

static void add_schedule(struct draft *d, const struct stats_source *source)
{
	struct text text;
	FILE *f = text_open(&text);

	note(d, f != NULL);
	if (f == NULL)
		return;
	pipeline_print_schedule(source->config, f);

	char *flags = text_close(&text, f);

	add_text(d, d->root, "schedule", flags); /* NULL is noted */
	free(flags);
}

static void add_cores(struct draft *d, const struct cores *cores)
{
	cJSON *list = cJSON_AddArrayToObject(d->root, "cores");

	for (uint32_t i = 0; i < cores_count(cores); i++)
		(void)add_item(d, list,
			       cJSON_CreateNumber(cores_cpu(cores, i)));
}

static void add_sandbox(struct draft *d, const struct sandbox *s)
{
	cJSON *o = cJSON_AddObjectToObject(d->root, "sandbox");

	add_switch(d, o, "no_new_privileges", s->no_new_privileges);
	add_number(d, o, "landlock_abi", s->landlock_abi);
	add_switch(d, o, "seccomp", s->seccomp);
}

static void add_counts(struct draft *d, cJSON *to, stats_counts_fn *const *of,
		       const struct stage_stats *counts)
{
	for (; *of != NULL; of++)
		add_figures(d, to, (*of)(counts));
}

static void add_hardware(struct draft *d, cJSON *to,
			 const struct stage_stats *counts, bool has_hardware)
{
	if (has_hardware)
		add_figures(d, cJSON_AddObjectToObject(to, "hardware"),
			    stats_hardware(counts));
	else
		add_text(d, to, "hardware", "not available");
}

static void add_stages(struct draft *d, const struct stats *s,
		       bool has_hardware)
{
	cJSON *list = cJSON_AddArrayToObject(d->root, "stages");

	for (uint32_t i = 0; i < s->pipeline.stage_count; i++) {
		const struct stage_stats *counts = &s->pipeline.stages[i];
		cJSON *o = add_item(d, list, cJSON_CreateObject());

		add_text(d, o, "name", s->pipeline.stage_names[i]);
		add_counts(d, o, stats_of_stage, counts);
		add_figures(d, o, stats_rates(&s->recent[i]));
		add_hardware(d, o, counts, has_hardware);
	}
}

static void add_workers(struct draft *d, const struct stats *s,
			const struct group *g)
{
	cJSON *list = cJSON_AddArrayToObject(d->root, "workers");

	note(d, list != NULL);
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats worker;
		cJSON *o = add_item(d, list, cJSON_CreateObject());

		group_read_worker(g, i, &worker);
		add_text(d, o, "name", worker.name);
		add_figures(d, o, stats_worker(s, &worker));
		add_counts(d, o, stats_of_work, &worker.work);
	}
}

char *stats_json(struct stats_source *source)
{
	const struct pipeline_config *c = source->config;
	const struct group *g = pipeline_group(source->pipeline);
	struct stats s;
	struct draft d = { .root = cJSON_CreateObject(), .is_whole = true };

	stats_read(source, &s);
	add_text(&d, d.root, "version", DARKROOM_VERSION);
	add_text(&d, d.root, "policy", c->schedule.policy->name);
	add_schedule(&d, source);
	add_number(&d, d.root, "parts", c->schedule.part_count);
	add_cores(&d, c->cores);
	add_sandbox(&d, source->sandbox);
	add_figures(&d, d.root, stats_process(&s));
	add_figures(&d, cJSON_AddObjectToObject(d.root, "uploads"),
		    stats_uploads(&s));
	add_figures(&d, cJSON_AddObjectToObject(d.root, "buffers"),
		    stats_buffers(&s));
	add_figures(&d, cJSON_AddObjectToObject(d.root, "memory"),
		    stats_memory(&s));
	if (source->store != NULL)
		add_figures(&d, cJSON_AddObjectToObject(d.root, "store"),
			    stats_store(source->store));
	add_stages(&d, &s, group_counts_hardware(g));
	add_workers(&d, &s, g);

	char *text = d.is_whole ? cJSON_PrintUnformatted(d.root) : NULL;

	cJSON_Delete(d.root);
	return text;
}
