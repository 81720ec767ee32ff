/* SPDX-License-Identifier: MIT */
#include "service/report/stats_figures.h"

#include "service/report/draft.h"
#include "service/text.h"

#include "stages/cores.h"

#include <stdlib.h>

static void add_figures(struct draft *d, cJSON *to, struct figures f)
{
	for (uint32_t i = 0; i < f.count; i++)
		draft_number(d, to, f.list[i].name, f.list[i].value);
}

char *stats_schedule(const struct pipeline_config *config)
{
	struct text text;
	FILE *f = text_open(&text);

	if (f == NULL)
		return NULL;
	pipeline_print_schedule(config, f);
	return text_close(&text, f);
}

static void add_cores(struct draft *d, const struct cores *cores)
{
	cJSON *list = cJSON_AddArrayToObject(d->root, "cores");

	for (uint32_t i = 0; i < cores_count(cores); i++)
		(void)draft_item(d, list,
				 cJSON_CreateNumber(cores_cpu(cores, i)));
}

static void add_sandbox(struct draft *d, const struct sandbox *s)
{
	cJSON *o = cJSON_AddObjectToObject(d->root, "sandbox");

	draft_switch(d, o, "no_new_privileges", s->no_new_privileges);
	draft_number(d, o, "landlock_abi", s->landlock_abi);
	draft_switch(d, o, "seccomp", s->seccomp);
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
		draft_text(d, to, "hardware", "not available");
}

static void add_stages(struct draft *d, const struct stats *s,
		       bool has_hardware)
{
	cJSON *list = cJSON_AddArrayToObject(d->root, "stages");

	for (uint32_t i = 0; i < s->pipeline.stage_count; i++) {
		const struct stage_stats *counts = &s->pipeline.stages[i];
		cJSON *o = draft_item(d, list, cJSON_CreateObject());

		draft_text(d, o, "name", s->pipeline.stage_names[i]);
		add_counts(d, o, stats_of_stage, counts);
		add_figures(d, o, stats_rates(&s->recent[i]));
		add_hardware(d, o, counts, has_hardware);
	}
}

static void add_workers(struct draft *d, const struct stats *s,
			const struct group *g)
{
	cJSON *list = cJSON_AddArrayToObject(d->root, "workers");

	draft_note(d, list != NULL);
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats worker;
		cJSON *o = draft_item(d, list, cJSON_CreateObject());

		group_read_worker(g, i, &worker);
		draft_text(d, o, "name", worker.name);
		add_figures(d, o, stats_worker(s, &worker));
		add_counts(d, o, stats_of_work, &worker.work);
	}
}

char *stats_json(struct stats_source *source)
{
	const struct pipeline_config *c = source->config;
	const struct group *g = pipeline_group(source->pipeline);
	struct stats s;
	char *schedule = stats_schedule(c);
	struct draft d = draft_begin();

	stats_read(source, &s);
	draft_text(&d, d.root, "version", DARKROOM_VERSION);
	draft_text(&d, d.root, "policy", c->schedule.policy->name);
	draft_text(&d, d.root, "schedule", schedule); /* NULL is noted */
	free(schedule);
	draft_number(&d, d.root, "parts", c->schedule.part_count);
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
	return draft_end(&d);
}
