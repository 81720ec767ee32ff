/* SPDX-License-Identifier: MIT */
#include "loadgen/targets.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `target` and a query more, which may be NULL.  NULL: out of memory. */
static char *extend(const char *target, const char *query)
{
	const char *mark = strchr(target, '?');
	const char *joint = "?";
	char *longer;

	if (query == NULL)
		return strdup(target);
	if (mark != NULL)
		joint = mark[1] == '\0' ? "" : "&";
	return asprintf(&longer, "%s%s%s", target, joint, query) < 0 ? NULL :
								       longer;
}

static char *make_target(const char *base, const char *file_query,
			 const char *drawn_query)
{
	char *with_file = extend(base, file_query);
	char *whole;

	if (with_file == NULL)
		return NULL;
	whole = extend(with_file, drawn_query);
	free(with_file);
	return whole;
}

static bool have_queries(const struct dataset *dataset)
{
	for (uint32_t i = 0; i < dataset->count; i++)
		if (dataset->files[i].query != NULL)
			return true;
	return false;
}

static bool make_texts(struct targets *t, const char *base,
		       const struct dataset *dataset,
		       const struct params *params)
{
	size_t made = 0;

	t->texts = calloc((size_t)t->file_count * t->param_count,
			  sizeof(*t->texts));
	if (t->texts == NULL)
		return false;
	for (uint32_t file = 0; file < t->file_count; file++)
		for (uint32_t param = 0; param < t->param_count; param++) {
			const char *drawn = params->count == 0 ?
						    NULL :
						    params->all[param].query;

			t->texts[made] = make_target(
				base, dataset->files[file].query, drawn);
			if (t->texts[made++] == NULL)
				return false;
		}
	return true;
}

bool targets_init(struct targets *t, const char *base,
		  const struct dataset *dataset, const struct params *params,
		  struct error *error)
{
	*t = (struct targets){
		.file_count = have_queries(dataset) ? dataset->count : 1,
		.param_count = params->count == 0 ? 1 : params->count,
	};
	if ((uint64_t)t->file_count * t->param_count > TARGETS_MAX) {
		error_set(error,
			  "%u files with queries of their own, times %u: more "
			  "than %d requests to tell apart",
			  t->file_count, t->param_count, TARGETS_MAX);
		*t = (struct targets){ 0 };
		return false;
	}
	if (make_texts(t, base, dataset, params))
		return true;
	error_set(error, "%s", strerror(ENOMEM));
	targets_release(t);
	return false;
}

const char *targets_find(const struct targets *t, uint32_t file, uint32_t param)
{
	assert(param < t->param_count);
	if (t->file_count == 1)
		file = 0;
	assert(file < t->file_count);
	return t->texts[(size_t)file * t->param_count + param];
}

void targets_release(struct targets *t)
{
	size_t count = (size_t)t->file_count * t->param_count;

	for (size_t i = 0; t->texts != NULL && i < count; i++)
		free(t->texts[i]);
	free(t->texts);
	*t = (struct targets){ 0 };
}
