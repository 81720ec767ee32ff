/* SPDX-License-Identifier: MIT */
#include "stages/sim/model.h"

#include "base/file.h"

#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { FILE_BYTES_MAX = 1 << 20, VISIT_ROUNDS = 10000 };

#define BYTES_MAX 1e15 /* of memory */

static bool fail(const char **why, const char *sentence)
{
	*why = sentence;
	return false;
}

double *distribution_load_numbers(const char *path, uint32_t *count,
				  const char **why)
{
	FILE *in = fopen(path, "r");
	double *numbers = NULL, number;
	uint32_t capacity = 0;
	int found = 0;

	*why = "a file of numbers cannot be read";
	if (in == NULL)
		return NULL;
	*why = NULL;
	*count = 0;
	while (*why == NULL && (found = fscanf(in, "%lf", &number)) == 1) {
		if (*count == capacity) {
			capacity = capacity == 0 ? 1024 : 2 * capacity;
			double *more =
				realloc(numbers, capacity * sizeof(*numbers));

			if (more == NULL || capacity > DISTRIBUTION_POINTS_MAX)
				*why = "a file has too many numbers";
			numbers = more != NULL ? more : numbers;
		}
		if (!(number > 0) || !isfinite(number))
			*why = "a file has a number that is not above 0";
		if (*why == NULL)
			numbers[(*count)++] = number;
	}
	if (*why == NULL && (found != EOF || *count == 0))
		*why = "a file has something else than numbers";
	(void)fclose(in);
	if (*why == NULL)
		return numbers;
	free(numbers);
	return NULL;
}

/* A member that must be a number above 0. */
static bool read_number(const cJSON *json, const char *name, double *out,
			const char **why)
{
	const cJSON *number = cJSON_GetObjectItemCaseSensitive(json, name);

	if (!cJSON_IsNumber(number) || !(number->valuedouble > 0))
		return fail(why, "a distribution lacks a number above 0");
	*out = number->valuedouble;
	return true;
}

static bool read_lognormal(struct distribution *d, const cJSON *json,
			   const char **why)
{
	if (!read_number(json, "median", &d->median, why) ||
	    !read_number(json, "sigma", &d->sigma, why))
		return false;
	d->mean = d->median * exp(d->sigma * d->sigma / 2);
	return true;
}

static bool read_pareto(struct distribution *d, const cJSON *json,
			const char **why)
{
	if (!read_number(json, "shape", &d->shape, why) ||
	    !read_number(json, "min", &d->min, why) ||
	    !read_number(json, "max", &d->max, why))
		return false;
	if (!(d->min < d->max))
		return fail(why, "a pareto's min is not below its max");
	double a = d->shape;
	double norm = a * pow(d->min, a) / (1 - pow(d->min / d->max, a));

	d->mean = fabs(a - 1) < 1e-9 ?
			  norm * log(d->max / d->min) :
			  norm * (pow(d->min, 1 - a) - pow(d->max, 1 - a)) /
				  (a - 1);
	return true;
}

static bool read_points(struct distribution *d, const cJSON *json,
			const char **why)
{
	const cJSON *points = cJSON_GetObjectItemCaseSensitive(json, "points");
	const cJSON *point;
	uint32_t i = 0;

	d->point_count = (uint32_t)cJSON_GetArraySize(points);
	d->shares = calloc(d->point_count + 1, sizeof(*d->shares));
	d->values = calloc(d->point_count + 1, sizeof(*d->values));
	if (d->shares == NULL || d->values == NULL || d->point_count < 2)
		return fail(why, "quantiles need two points or more");
	cJSON_ArrayForEach(point, points)
	{
		const cJSON *share = cJSON_GetArrayItem(point, 0);
		const cJSON *value = cJSON_GetArrayItem(point, 1);

		if (!cJSON_IsNumber(share) || !cJSON_IsNumber(value))
			return fail(why, "a quantile is not [share, value]");
		d->shares[i] = share->valuedouble;
		d->values[i] = value->valuedouble;
		if (!(d->values[i] > 0) ||
		    (i > 0 && !(d->shares[i] > d->shares[i - 1] &&
				d->values[i] > d->values[i - 1])))
			return fail(why, "quantiles do not ascend");
		if (i > 0)
			d->mean += (d->shares[i] - d->shares[i - 1]) *
				   (d->values[i] - d->values[i - 1]) /
				   log(d->values[i] / d->values[i - 1]);
		i++;
	}
	if (d->shares[0] != 0 || d->shares[i - 1] != 1)
		return fail(why, "quantiles do not go from 0 to 1");
	return true;
}

static bool read_empirical(struct distribution *d, const cJSON *json,
			   const char *folder, const char **why)
{
	const cJSON *file = cJSON_GetObjectItemCaseSensitive(json, "file");
	char path[4096];

	if (!cJSON_IsString(file))
		return fail(why, "an empirical distribution lacks its file");
	(void)snprintf(path, sizeof(path), "%s%s%s",
		       file->valuestring[0] == '/' ? "" : folder,
		       file->valuestring[0] == '/' ? "" : "/",
		       file->valuestring);
	d->values = distribution_load_numbers(path, &d->point_count, why);
	if (d->values == NULL)
		return false;
	for (uint32_t i = 0; i < d->point_count; i++)
		d->mean += d->values[i] / d->point_count;
	return true;
}

static bool is_kind(const cJSON *json, const char *name)
{
	const cJSON *kind = cJSON_GetObjectItemCaseSensitive(json, "kind");

	return cJSON_IsString(kind) && strcmp(kind->valuestring, name) == 0;
}

/*
 * Fill `d` from its JSON; relative files are looked for in `folder`.  False:
 * *why says what is wrong, and `d` may only be given to distribution_release().
 */
static bool distribution_read(struct distribution *d, const cJSON *json,
			      const char *folder, const char **why)
{
	*d = (struct distribution){ .kind = DISTRIBUTION_CONSTANT };
	if (cJSON_IsNumber(json) && json->valuedouble >= 0) {
		d->mean = json->valuedouble;
		return true;
	}
	if (is_kind(json, "constant"))
		return read_number(json, "value", &d->mean, why);
	if (is_kind(json, "exponential")) {
		d->kind = DISTRIBUTION_EXPONENTIAL;
		return read_number(json, "mean", &d->mean, why);
	}
	if (is_kind(json, "lognormal")) {
		d->kind = DISTRIBUTION_LOGNORMAL;
		return read_lognormal(d, json, why);
	}
	if (is_kind(json, "pareto")) {
		d->kind = DISTRIBUTION_PARETO;
		return read_pareto(d, json, why);
	}
	if (is_kind(json, "quantiles")) {
		d->kind = DISTRIBUTION_QUANTILES;
		return read_points(d, json, why);
	}
	if (is_kind(json, "empirical")) {
		d->kind = DISTRIBUTION_EMPIRICAL;
		return read_empirical(d, json, folder, why);
	}
	return fail(why, "a distribution is of no known kind");
}

static double draw_quantile(const struct distribution *d, double share)
{
	uint32_t i = 1;

	while (d->shares[i] < share)
		i++;
	double part =
		(share - d->shares[i - 1]) / (d->shares[i] - d->shares[i - 1]);

	return d->values[i - 1] * pow(d->values[i] / d->values[i - 1], part);
}

/* By inversion; the part of a Pareto above `max` is left out. */
static double draw_pareto(const struct distribution *d, double share)
{
	double cut = 1 - pow(d->min / d->max, d->shape);

	return d->min / pow(1 - share * cut, 1 / d->shape);
}

static double distribution_draw(const struct distribution *d, struct random *r)
{
	switch (d->kind) {
	case DISTRIBUTION_CONSTANT:
		return d->mean;
	case DISTRIBUTION_EXPONENTIAL:
		return random_exponential(r, d->mean);
	case DISTRIBUTION_LOGNORMAL:
		return d->median * exp(d->sigma * random_normal(r));
	case DISTRIBUTION_PARETO:
		return draw_pareto(d, random_uniform(r));
	case DISTRIBUTION_QUANTILES:
		return draw_quantile(d, random_uniform(r));
	case DISTRIBUTION_EMPIRICAL:
		return d->values[(uint32_t)(random_uniform(r) *
					    d->point_count)];
	}
	abort();
}

/* A distribution of zeros is allowed. */
static void distribution_release(struct distribution *d)
{
	free(d->shares);
	free(d->values);
	*d = (struct distribution){ 0 };
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

/* *out stays 0 without the member.  False: it is something else. */
static bool read_bytes(const cJSON *json, const char *name, double *out)
{
	const cJSON *number = cJSON_GetObjectItemCaseSensitive(json, name);

	if (number == NULL)
		return true;
	*out = number->valuedouble;
	return cJSON_IsNumber(number) && fabs(*out) <= BYTES_MAX;
}

static bool read_takes(const struct model *m, struct model_stage *s,
		       const cJSON *json, const char **why)
{
	if (!read_bytes(json, "takes", &s->takes) ||
	    !read_bytes(json, "takes_per_size", &s->takes_per_size))
		return fail(why, "what a stage takes is not a number of bytes");
	return m->has_size || s->takes_per_size == 0 ||
	       fail(why, "takes_per_size needs a graph with a size");
}

static bool read_memory(struct model *m, const cJSON *json, const char **why)
{
	double bytes = 0;

	if (!read_bytes(json, "memory", &bytes) || bytes < 0)
		return fail(why, "memory is not a number of bytes");
	m->memory = (uint64_t)bytes;
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
	const cJSON *deadline =
		cJSON_GetObjectItemCaseSensitive(json, "deadline_us");
	const cJSON *stages = cJSON_GetObjectItemCaseSensitive(json, "stages");
	const cJSON *stage;
	double sum;
	uint32_t i = 0;

	m->has_size = size != NULL;
	if (m->has_size && !distribution_read(&m->size, size, folder, why))
		return false;
	m->has_deadline = deadline != NULL;
	if (m->has_deadline &&
	    !distribution_read(&m->deadline_us, deadline, folder, why))
		return false;
	if (!read_memory(m, json, why) || !read_names(m, stages, why) ||
	    !read_entries(m, cJSON_GetObjectItemCaseSensitive(json, "entries"),
			  why))
		return false;
	cJSON_ArrayForEach(stage, stages)
	{
		struct model_stage *s = &m->stages[i++];
		const cJSON *routes =
			cJSON_GetObjectItemCaseSensitive(stage, "routes");

		if (!read_service(m, s, stage, folder, why) ||
		    !read_takes(m, s, stage, why) ||
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
	char *text = file_read_text(path, FILE_BYTES_MAX, why);
	char *folder = strdup(path);

	if (folder == NULL)
		*why = "out of memory";
	*m = (struct model){ .stage_count = 0 };
	bool ok = text != NULL && folder != NULL &&
		  model_read(m, text, dirname(folder), why);

	free(folder);
	free(text);
	return ok;
}

void model_names(const struct model *m, const char *names[STAGES_MAX])
{
	for (uint32_t i = 0; i < m->stage_count; i++)
		names[i] = m->stages[i].name;
}

void model_release(struct model *m)
{
	distribution_release(&m->size);
	distribution_release(&m->deadline_us);
	for (uint32_t i = 0; i < m->stage_count; i++) {
		distribution_release(&m->stages[i].service_us);
		free(m->stages[i].name);
	}
	*m = (struct model){ .stage_count = 0 };
}

/* Draw one of the stages; stage_count means none. */
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
			.taken = llround(s->takes + size * s->takes_per_size),
		};
		at = draw_stage(m, s->routes, r);
	}
	out->size = m->has_size ? size : work_ns / 1000;
	out->deadline_ns =
		m->has_deadline ?
			(uint64_t)llround(
				1000 * distribution_draw(&m->deadline_us, r)) :
			0;
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
