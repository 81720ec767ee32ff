/* SPDX-License-Identifier: MIT */
#include "stages/sim/distribution.h"

#include "base/json.h"
#include "stages/flags.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

/* Of the values and the parameters of a distribution. */
#define VALUE_LEAST 1e-9
#define VALUE_MOST DISTRIBUTION_VALUE_MOST
#define SIGMA_MOST 10
#define SHAPE_MOST 100

double *distribution_load_numbers(const char *path, uint32_t *count,
				  struct error *error)
{
	FILE *in = fopen(path, "re");
	double *numbers = NULL, number;
	uint32_t capacity = 0;
	int found = 0;
	bool ok = in != NULL || error_fail(error, "%s", strerrordesc_np(errno));

	*count = 0;
	while (ok && (found = fscanf(in, "%lf", &number)) == 1) {
		if (*count == capacity) {
			capacity = capacity == 0 ? 1024 : 2 * capacity;
			double *more =
				realloc(numbers, capacity * sizeof(*numbers));

			if (more == NULL || capacity > DISTRIBUTION_POINTS_MAX)
				ok = error_fail(error, "too many numbers");
			numbers = more != NULL ? more : numbers;
		}
		if (!(number > 0 && number <= VALUE_MOST))
			ok = error_fail(error,
					"number %u, %g, is not above 0, and up "
					"to %g",
					*count + 1, number, VALUE_MOST);
		if (ok)
			numbers[(*count)++] = number;
	}
	if (ok && *count == 0)
		ok = error_fail(error, "it does not begin with a number");
	if (ok && found != EOF)
		ok = error_fail(error, "no number follows number %u", *count);
	if (in != NULL)
		(void)fclose(in);
	if (ok)
		return numbers;
	free(numbers);
	return NULL;
}

/* The numbers and texts of a distribution, as the file has them. */
struct distribution_keys {
	double value, mean, median, sigma, shape, min, max;
	const char *file;
};

#define KIND                                                                   \
	{                                                                      \
		.name = "kind"                                                 \
	}
#define NUMBER(field, from, to)                                                \
	{                                                                      \
		.name = #field, .values = "N",                                 \
		FLAG_FIELD(struct distribution_keys, field), .least = from,    \
		.most = to                                                     \
	}
#define VALUE(field) NUMBER(field, VALUE_LEAST, VALUE_MOST)

static const struct flag constant_keys[] = {
	KIND,
	NUMBER(value, 0, VALUE_MOST),
	{ 0 },
};
static const struct flag exponential_keys[] = { KIND, VALUE(mean), { 0 } };
static const struct flag lognormal_keys[] = {
	KIND,
	VALUE(median),
	NUMBER(sigma, VALUE_LEAST, SIGMA_MOST),
	{ 0 },
};
static const struct flag pareto_keys[] = {
	KIND,  NUMBER(shape, VALUE_LEAST, SHAPE_MOST), VALUE(min), VALUE(max),
	{ 0 },
};
static const struct flag quantiles_keys[] = {
	KIND,
	{ .name = "points" },
	{ 0 },
};
static const struct flag empirical_keys[] = {
	KIND,
	{ .name = "file",
	  .values = "FILE",
	  FLAG_FIELD(struct distribution_keys, file) },
	{ 0 },
};

static const struct flag *const keys_of_kind[] = {
	[DISTRIBUTION_CONSTANT] = constant_keys,
	[DISTRIBUTION_EXPONENTIAL] = exponential_keys,
	[DISTRIBUTION_LOGNORMAL] = lognormal_keys,
	[DISTRIBUTION_PARETO] = pareto_keys,
	[DISTRIBUTION_QUANTILES] = quantiles_keys,
	[DISTRIBUTION_EMPIRICAL] = empirical_keys,
};

/* In the order of enum distribution_kind. */
static const struct flag kind_key = {
	.name = "kind",
	.values = "constant|exponential|lognormal|pareto|quantiles|empirical",
	.type = FLAG_CHOICE,
};

static bool read_kind(const cJSON *json, enum distribution_kind *kind,
		      struct error *error)
{
	const cJSON *item = json_given(json, "kind");
	struct error why;

	if (!cJSON_IsObject(json))
		return error_fail(error,
				  "it must be a number, or an object with a "
				  "kind");
	if (!cJSON_IsString(item))
		return error_fail(error, "kind is missing");
	return flag_set(&kind_key, item->valuestring, kind, &why) ||
	       error_fail(error, "kind: %s", why.text);
}

/* Refuse a distribution, and say which keys its kind has.  Returns false. */
static bool refuse_keys(const cJSON *json, const struct flag *keys,
			const char *key, const char *what, struct error *error)
{
	const char *kind = json_given(json, "kind")->valuestring;
	size_t at;

	error_set(error, "%.64s%s; %s has", key, what, kind);
	at = strlen(error->text);
	for (keys++; keys->name != NULL && at < sizeof(error->text); keys++)
		at += (size_t)snprintf(error->text + at,
				       sizeof(error->text) - at, " %s%s",
				       keys->name,
				       keys[1].name == NULL ? "" :
				       keys[2].name == NULL ? " and" :
							      ",");
	return false;
}

/* A distribution has all keys of its kind, and no other.  The first is KIND. */
static bool check_keys(const cJSON *json, const struct flag *keys,
		       struct error *error)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json)
	{
		const struct flag *f = keys;

		while (f->name != NULL && strcmp(f->name, item->string) != 0)
			f++;
		if (f->name == NULL)
			return refuse_keys(json, keys, item->string,
					   ": there is no such key", error);
	}
	for (const struct flag *f = keys; f->name != NULL; f++)
		if (json_given(json, f->name) == NULL)
			return refuse_keys(json, keys, f->name, " is missing",
					   error);
	return true;
}

static bool set_pareto(struct distribution *d,
		       const struct distribution_keys *keys,
		       struct error *error)
{
	double a = keys->shape;

	if (!(keys->min < keys->max))
		return error_fail(error, "min is not below max");
	d->shape = a;
	d->min = keys->min;
	d->max = keys->max;
	double norm = a * pow(d->min, a) / (1 - pow(d->min / d->max, a));

	d->mean = fabs(a - 1) < 1e-9 ?
			  norm * log(d->max / d->min) :
			  norm * (pow(d->min, 1 - a) - pow(d->max, 1 - a)) /
				  (a - 1);
	return true;
}

/* Point `i`, which must be above the one before. */
static bool read_point(struct distribution *d, uint32_t i, const cJSON *point)
{
	const cJSON *share = cJSON_GetArrayItem(point, 0);
	const cJSON *value = cJSON_GetArrayItem(point, 1);

	if (!cJSON_IsNumber(share) || !cJSON_IsNumber(value) ||
	    cJSON_GetArraySize(point) != 2)
		return false;
	d->shares[i] = share->valuedouble;
	d->values[i] = value->valuedouble;
	if (!(d->values[i] > 0 && d->values[i] <= VALUE_MOST))
		return false;
	if (i == 0)
		return d->shares[0] == 0;
	if (!(d->shares[i] > d->shares[i - 1] &&
	      d->values[i] > d->values[i - 1]))
		return false;
	d->mean += (d->shares[i] - d->shares[i - 1]) *
		   (d->values[i] - d->values[i - 1]) /
		   log(d->values[i] / d->values[i - 1]);
	return true;
}

static bool read_points(struct distribution *d, const cJSON *json,
			struct error *error)
{
	const cJSON *points = json_given(json, "points");
	const cJSON *point;
	uint32_t i = 0;

	if (!cJSON_IsArray(points) || cJSON_GetArraySize(points) < 2)
		return error_fail(error, "points must be a list of two or more "
					 "[share, value]");
	d->point_count = (uint32_t)cJSON_GetArraySize(points);
	d->shares = calloc(d->point_count, sizeof(*d->shares));
	d->values = calloc(d->point_count, sizeof(*d->values));
	if (d->shares == NULL || d->values == NULL)
		return error_fail(error, "out of memory");
	cJSON_ArrayForEach(point, points)
	{
		if (!read_point(d, i++, point))
			return error_fail(error,
					  "points: the one numbered %u is not "
					  "[share, value], with both above "
					  "those before, from share 0 on",
					  i);
	}
	return d->shares[i - 1] == 1 ||
	       error_fail(error, "points: the last share is not 1");
}

static bool read_empirical(struct distribution *d, const char *file,
			   const char *folder, struct error *error)
{
	struct error why;
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s%s%s",
		       file[0] == '/' ? "" : folder, file[0] == '/' ? "" : "/",
		       file);
	d->values = distribution_load_numbers(path, &d->point_count, &why);
	if (d->values == NULL)
		return error_fail(error, "file: '%.100s': %s", file, why.text);
	for (uint32_t i = 0; i < d->point_count; i++)
		d->mean += d->values[i] / d->point_count;
	return true;
}

/* The keys of its kind were read. */
static bool set_distribution(struct distribution *d,
			     const struct distribution_keys *keys,
			     const cJSON *json, const char *folder,
			     struct error *error)
{
	switch (d->kind) {
	case DISTRIBUTION_CONSTANT:
		d->mean = keys->value;
		return true;
	case DISTRIBUTION_EXPONENTIAL:
		d->mean = keys->mean;
		return true;
	case DISTRIBUTION_LOGNORMAL:
		d->median = keys->median;
		d->sigma = keys->sigma;
		d->mean = d->median * exp(d->sigma * d->sigma / 2);
		return true;
	case DISTRIBUTION_PARETO:
		return set_pareto(d, keys, error);
	case DISTRIBUTION_QUANTILES:
		return read_points(d, json, error);
	case DISTRIBUTION_EMPIRICAL:
		return read_empirical(d, keys->file, folder, error);
	}
	abort();
}

static bool read_distribution(struct distribution *d, const cJSON *json,
			      const char *folder, struct error *error)
{
	struct distribution_keys keys = { .file = NULL };

	if (cJSON_IsNumber(json)) {
		d->mean = json->valuedouble;
		return (d->mean >= 0 && d->mean <= VALUE_MOST) ||
		       error_fail(error, "%g is not a number from 0 to %g",
				  d->mean, VALUE_MOST);
	}
	if (!read_kind(json, &d->kind, error) ||
	    !check_keys(json, keys_of_kind[d->kind], error) ||
	    !flags_read_object(keys_of_kind[d->kind], json, &keys, error) ||
	    !set_distribution(d, &keys, json, folder, error))
		return false;
	return isfinite(d->mean) ||
	       error_fail(error, "its mean cannot be computed");
}

bool distribution_read(struct distribution *d, const cJSON *json,
		       const char *key, const char *folder, struct error *error)
{
	const cJSON *item = json_given(json, key);
	struct error why;

	*d = (struct distribution){ .kind = DISTRIBUTION_CONSTANT };
	return item == NULL || read_distribution(d, item, folder, &why) ||
	       error_fail(error, "%s: %s", key, why.text);
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
