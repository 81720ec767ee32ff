/* SPDX-License-Identifier: MIT */
/* What there is to see: told once to each viewer. */
#include "service/report/live_state.h"

#include "service/http/viewers.h"
#include "service/report/draft.h"
#include "service/report/stats_figures.h"
#include "service/text.h"

#include "stages/cores.h"
#include "stages/schedule_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The value of --balance without its number. */
static void add_balance(struct draft *d, const struct schedule_word *words,
			uint32_t count)
{
	const char *value = "shared";
	char name[16];

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(words[i].flag, "balance") == 0)
			value = words[i].value;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(value, "="),
		       value);
	draft_text(d, d->root, "balance", name);
}

static void add_word(struct draft *d, cJSON *list, const char *flag,
		     const char *value, const char *meaning)
{
	cJSON *o = draft_item(d, list, cJSON_CreateObject());

	draft_text(d, o, "flag", flag);
	draft_text(d, o, "value", value);
	draft_text(d, o, "meaning", meaning);
}

static void add_express(struct draft *d, cJSON *list, uint64_t express_ns)
{
	char value[24];

	(void)snprintf(value, sizeof(value), "%" PRIu64 "ms",
		       express_ns / 1000000);
	add_word(d, list, "express", value,
		 "While large uploads keep the workers, one that will likely "
		 "take less CPU time than this goes past them, to a thread of "
		 "its own, which takes all its steps.");
}

static void add_words(struct draft *d, const struct pipeline_config *c)
{
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	uint32_t count = schedule_words(&c->schedule, pipeline_step_names,
					PIPELINE_STEPS, words);
	cJSON *list = cJSON_AddArrayToObject(d->root, "words");

	for (uint32_t i = 0; i < count; i++)
		add_word(d, list, words[i].flag, words[i].value,
			 words[i].meaning);
	if (c->express_ns > 0)
		add_express(d, list, c->express_ns);
	add_balance(d, words, count);
}

static void add_stages(struct draft *d, const struct pipeline *p)
{
	struct pipeline_stats stats;
	cJSON *list = cJSON_AddArrayToObject(d->root, "stages");

	pipeline_read(p, &stats);
	for (uint32_t i = 0; i < stats.stage_count; i++)
		(void)draft_item(d, list,
				 cJSON_CreateString(stats.stage_names[i]));
}

static void add_workers(struct draft *d, const struct live *l)
{
	cJSON *list = cJSON_AddArrayToObject(d->root, "workers");

	draft_note(d, list != NULL);
	for (uint32_t i = 0; i < l->worker_count; i++) {
		const struct pipeline_lane *lane = &l->workers[i].lane;
		struct worker_stats worker;
		cJSON *o = draft_item(d, list, cJSON_CreateObject());

		group_read_worker(lane->group, l->workers[i].index, &worker);
		draft_text(d, o, "name", worker.name);
		draft_number(d, o, "part", worker.part);
		draft_text(d, o, "lane",
			   lane->step_first == PIPELINE_DECODE ?
				   "workers" :
				   pipeline_step_names[lane->step_first]);
	}
}

static char *hello_json(const struct live *l)
{
	const struct pipeline *p = l->source->pipeline;
	const struct pipeline_config *c = l->source->config;
	struct pipeline_load load = pipeline_load(p);
	char *schedule = stats_schedule(c);
	struct draft d = draft_begin();

	draft_text(&d, d.root, "version", DARKROOM_VERSION);
	draft_number(&d, d.root, "interval_ms", VIEWERS_INTERVAL_MS);
	draft_text(&d, d.root, "policy", c->schedule.policy->name);
	draft_text(&d, d.root, "schedule", schedule);
	free(schedule);
	add_words(&d, c);
	add_stages(&d, p);
	draft_number(&d, d.root, "parts", l->part_count);
	add_workers(&d, l);
	draft_number(&d, d.root, "cores", cores_count(c->cores));
	draft_number(&d, d.root, "uploads_max", load.uploads_max);
	if (c->memory_bytes_max < UINT64_MAX)
		draft_number(&d, d.root, "memory_limit_bytes",
			     (double)load.limit_bytes);
	else
		draft_note(&d, cJSON_AddNullToObject(
				       d.root, "memory_limit_bytes") != NULL);
	return draft_end(&d);
}

char *live_hello(const struct live *l)
{
	char *json = hello_json(l);
	struct text text;
	FILE *to;

	if (json == NULL)
		return NULL;
	to = live_begin_event(&text, "hello");
	if (to != NULL)
		(void)fputs(json, to);
	free(json);
	return to != NULL ? live_end_event(&text, to) : NULL;
}
