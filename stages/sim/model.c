/* SPDX-License-Identifier: MIT */
#include "stages/sim/model.h"

#include <cjson/cJSON.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20, VISIT_ROUNDS = 10000 };

static bool fail(const char **why, const char *sentence)
{
	*why = sentence;
	return false;
}

static uint32_t find_stage(const struct model *m, const char *name)
{
	uint32_t i = 0;

	while (i < m->stage_count && strcmp(m->stages[i].name, name) != 0)
		i++;
	return i;
}

static bool read_names(struct model *m, const cJSON *stages, const char **why)
{
	const cJSON *stage;

	if (!cJSON_IsArray(stages) || cJSON_GetArraySize(stages) < 1 ||
	    cJSON_GetArraySize(stages) > STAGES_MAX)
		return fail(why, "there are not 1 to 32 stages");
	cJSON_ArrayForEach(stage, stages)
	{
		const cJSON *name =
			cJSON_GetObjectItemCaseSensitive(stage, "name");

		if (!cJSON_IsString(name) || name->valuestring[0] == '\0')
			return fail(why, "a stage has no name");
		if (find_stage(m, name->valuestring) < m->stage_count)
			return fail(why, "two stages have the same name");
		char *copy = strdup(name->valuestring);

		if (copy == NULL)
			return fail(why, "out of memory");
		m->stages[m->stage_count++].name = copy;
	}
	return true;
}

static bool read_service(const struct model *m, struct model_stage *s,
			 const cJSON *json, const char *folder,
			 const char **why)
{
	const cJSON *factor =
		cJSON_GetObjectItemCaseSensitive(json, "us_per_size");
	const cJSON *own = cJSON_GetObjectItemCaseSensitive(json, "service_us");

	if (factor == NULL && own == NULL)
		return fail(why, "a stage has no service time");
	if (factor != NULL) {
		if (!m->has_size || !cJSON_IsNumber(factor) ||
		    factor->valuedouble < 0)
			return fail(why, "us_per_size needs a number, and the "
					 "graph a size");
		s->ns_per_size = 1000 * factor->valuedouble;
	}
	return own == NULL ||
	       distribution_read(&s->service_us, own, folder, why);
}

/* Probabilities by the name of the stage; *sum is 1 at most. */
static bool read_shares(const struct model *m, const cJSON *json,
			double shares[STAGES_MAX], double *sum,
			const char **why)
{
	const cJSON *share;

	*sum = 0;
	cJSON_ArrayForEach(share, json)
	{
		uint32_t to = find_stage(m, share->string);

		if (to == m->stage_count)
			return fail(why, "a route leads to no stage");
		if (!cJSON_IsNumber(share) || share->valuedouble < 0)
			return fail(why, "a route has no probability");
		shares[to] = share->valuedouble;
		*sum += share->valuedouble;
	}
	if (*sum > 1 + 1e-9)
		return fail(why, "routes come to more than 1");
	return true;
}

static bool read_entries(struct model *m, const cJSON *json, const char **why)
{
	double sum;

	m->entries[0] = json == NULL ? 1 : 0;
	if (json == NULL)
		return true;
	if (!read_shares(m, json, m->entries, &sum, why))
		return false;
	return sum > 1 - 1e-9 || fail(why, "entries come to less than 1");
}

static bool read_graph(struct model *m, const cJSON *json, const char *folder,
		       const char **why)
{
	const cJSON *size = cJSON_GetObjectItemCaseSensitive(json, "size");
	const cJSON *stages = cJSON_GetObjectItemCaseSensitive(json, "stages");
	const cJSON *stage;
	double sum;
	uint32_t i = 0;

	m->has_size = size != NULL;
	if (m->has_size && !distribution_read(&m->size, size, folder, why))
		return false;
	if (!read_names(m, stages, why) ||
	    !read_entries(m, cJSON_GetObjectItemCaseSensitive(json, "entries"),
			  why))
		return false;
	cJSON_ArrayForEach(stage, stages)
	{
		struct model_stage *s = &m->stages[i++];
		const cJSON *routes =
			cJSON_GetObjectItemCaseSensitive(stage, "routes");

		if (!read_service(m, s, stage, folder, why) ||
		    !read_shares(m, routes, s->routes, &sum, why))
			return false;
	}
	return true;
}

bool model_read(struct model *m, const char *json, const char *folder,
		const char **why)
{
	cJSON *parsed = cJSON_Parse(json);

	*m = (struct model){ .stage_count = 0 };
	bool ok = parsed != NULL ? read_graph(m, parsed, folder, why) :
				   fail(why, "it is not JSON");

	cJSON_Delete(parsed);
	return ok;
}

bool model_load(struct model *m, const char *path, const char **why)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, FILE_BYTES_MAX);
	char *folder = strdup(path);
	bool ok = in != NULL && text != NULL && folder != NULL &&
		  fread(text, 1, FILE_BYTES_MAX - 1, in) > 0;

	*m = (struct model){ .stage_count = 0 };
	ok = ok ? model_read(m, text, dirname(folder), why) :
		  fail(why, "it cannot be read");
	if (in != NULL)
		(void)fclose(in);
	free(folder);
	free(text);
	return ok;
}

void model_release(struct model *m)
{
	distribution_release(&m->size);
	for (uint32_t i = 0; i < m->stage_count; i++) {
		distribution_release(&m->stages[i].service_us);
		free(m->stages[i].name);
	}
	*m = (struct model){ .stage_count = 0 };
}

/* One of the stages; stage_count: none. */
static uint32_t draw_stage(const struct model *m,
			   const double shares[STAGES_MAX], struct random *r)
{
	double share = random_uniform(r);
	uint32_t to = 0;

	while (to < m->stage_count && (share -= shares[to]) >= 0)
		to++;
	return to;
}

void model_draw(const struct model *m, struct random *r, struct model_path *out)
{
	double size = m->has_size ? distribution_draw(&m->size, r) : 0;
	double work_ns = 0;
	uint32_t at = draw_stage(m, m->entries, r);

	out->step_count = 0;
	while (at < m->stage_count && out->step_count < MODEL_STEPS_MAX) {
		const struct model_stage *s = &m->stages[at];
		double ns = size * s->ns_per_size +
			    1000 * distribution_draw(&s->service_us, r);

		work_ns += ns;
		out->steps[out->step_count++] = (struct model_step){
			.stage = at,
			.service_ns = (uint64_t)llround(ns),
		};
		at = draw_stage(m, s->routes, r);
	}
	out->size = m->has_size ? size : work_ns / 1000;
}

/*
 * Mean visits of a request to each stage, v = entries + v P, by adding up the
 * terms of v = entries (1 + P + P^2 + ...).
 */
static void count_visits(const struct model *m, double visits[STAGES_MAX])
{
	double reached[STAGES_MAX];
	double left = 1;

	memcpy(reached, m->entries, sizeof(reached));
	memset(visits, 0, STAGES_MAX * sizeof(*visits));
	for (int round = 0; left > 1e-12 && round < VISIT_ROUNDS; round++) {
		double next[STAGES_MAX] = { 0 };

		left = 0;
		for (uint32_t i = 0; i < m->stage_count; i++) {
			visits[i] += reached[i];
			for (uint32_t to = 0; to < m->stage_count; to++)
				next[to] +=
					reached[i] * m->stages[i].routes[to];
		}
		memcpy(reached, next, sizeof(next));
		for (uint32_t i = 0; i < m->stage_count; i++)
			left += reached[i];
	}
}

double model_work_ns(const struct model *m, double by_stage[STAGES_MAX])
{
	double visits[STAGES_MAX];
	double sum = 0;

	count_visits(m, visits);
	for (uint32_t i = 0; i < m->stage_count; i++) {
		const struct model_stage *s = &m->stages[i];

		by_stage[i] = visits[i] * (m->size.mean * s->ns_per_size +
					   1000 * s->service_us.mean);
		sum += by_stage[i];
	}
	return sum;
}

void model_weigh(const struct model *m, struct stage_graph *out)
{
	double visits[STAGES_MAX], by_stage[STAGES_MAX];

	count_visits(m, visits);
	(void)model_work_ns(m, by_stage);
	*out = (struct stage_graph){ .stage_count = m->stage_count };
	for (uint32_t i = 0; i < m->stage_count; i++) {
		out->names[i] = m->stages[i].name;
		out->service_ns[i] = (uint64_t)llround(1e6 * by_stage[i]);
		for (uint32_t to = 0; to < m->stage_count; to++)
			out->sent_counts[i][to] = (uint64_t)llround(
				1e6 * visits[i] * m->stages[i].routes[to]);
	}
}
