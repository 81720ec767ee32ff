/* SPDX-License-Identifier: MIT */
#include "stages/sim/distribution.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool distribution_read(struct distribution *d, const cJSON *json,
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

double distribution_draw(const struct distribution *d, struct random *r)
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

void distribution_release(struct distribution *d)
{
	free(d->shares);
	free(d->values);
	*d = (struct distribution){ 0 };
}
