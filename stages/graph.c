/* SPDX-License-Identifier: MIT */
#include "stages/graph.h"

#include "stages/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

enum { FILE_BYTES_MAX = 1 << 20 };

static bool add_stage(const struct stage_graph *g, uint32_t from, cJSON *stages)
{
	cJSON *stage = cJSON_AddObjectToObject(stages, g->names[from]);
	bool ok = cJSON_AddNumberToObject(stage, "service_ns",
					  (double)g->service_ns[from]) != NULL;
	cJSON *sent = cJSON_AddObjectToObject(stage, "sent");

	for (uint32_t to = 0; to < g->stage_count; to++)
		if (g->sent_counts[from][to] > 0)
			ok = ok && cJSON_AddNumberToObject(
					   sent, g->names[to],
					   (double)g->sent_counts[from][to]);
	return ok && sent != NULL;
}

/* NULL: no memory.  The caller frees it. */
static char *print_graph(const struct stage_graph *g)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *stages = cJSON_AddObjectToObject(root, "stages");
	bool ok = stages != NULL;

	for (uint32_t i = 0; i < g->stage_count; i++)
		ok = ok && add_stage(g, i, stages);
	char *text = ok ? cJSON_Print(root) : NULL;

	cJSON_Delete(root);
	return text;
}

/* False: errno says why. */
static bool write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f == NULL)
		return false;
	bool ok = fputs(text, f) >= 0 && fputc('\n', f) != EOF &&
		  fflush(f) == 0 && fsync(fileno(f)) == 0;
	int error = errno;

	(void)fclose(f); /* it has nothing left to write */
	errno = error;
	return ok;
}

/* NULL: no memory.  The caller frees it. */
static char *draft_of(const char *path)
{
	char *draft;

	return asprintf(&draft, "%s.tmp", path) != -1 ? draft : NULL;
}

bool graph_can_be_saved(const char *path)
{
	struct stat found;

	/* What rename() would not replace. */
	if (path[0] == '\0') {
		errno = ENOENT;
		return false;
	}
	if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
		errno = EISDIR;
		return false;
	}
	char *draft = draft_of(path);
	bool ok = draft != NULL && write_file(draft, "");
	int error = errno;

	if (draft != NULL)
		(void)unlink(draft);
	free(draft);
	errno = error;
	return ok;
}

bool graph_save(const struct stage_graph *g, const char *path)
{
	char *text = print_graph(g), *draft = draft_of(path);
	bool ok = text != NULL && draft != NULL && write_file(draft, text) &&
		  rename(draft, path) == 0;
	int error = errno;

	if (!ok && draft != NULL)
		(void)unlink(draft);
	free(draft);
	cJSON_free(text);
	errno = error;
	return ok;
}

/* A missing one is 0.  False: it is no whole number that fits. */
static bool read_weight(const cJSON *object, const char *name, uint64_t *weight)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	double value = item != NULL ? item->valuedouble : 0;

	if (item != NULL && !cJSON_IsNumber(item))
		return false;
	if (!(value >= 0 && value < 0x1p64))
		return false;
	*weight = (uint64_t)value;
	return (double)*weight == value;
}

/* Returns what is wrong, or NULL. */
static const char *read_stage(struct stage_graph *g, uint32_t from,
			      const cJSON *stage)
{
	const cJSON *sent = cJSON_GetObjectItemCaseSensitive(stage, "sent");

	if (stage != NULL && !cJSON_IsObject(stage))
		return "a stage is not an object";
	if (sent != NULL && !cJSON_IsObject(sent))
		return "a stage's \"sent\" is not an object";
	if (!read_weight(stage, "service_ns", &g->service_ns[from]))
		return "a stage's \"service_ns\" is not a whole number from 0 "
		       "up";
	for (uint32_t to = 0; to < g->stage_count; to++)
		if (!read_weight(sent, g->names[to], &g->sent_counts[from][to]))
			return "a count of \"sent\" is not a whole number "
			       "from 0 up";
	return NULL;
}

/* Returns what is wrong, or NULL. */
static const char *read_graph(struct stage_graph *g, const cJSON *root)
{
	const cJSON *stages = cJSON_GetObjectItemCaseSensitive(root, "stages");
	const char *why = NULL;

	if (root == NULL)
		return "not JSON";
	if (!cJSON_IsObject(stages))
		return "no object \"stages\" in it";
	for (uint32_t i = 0; i < g->stage_count && why == NULL; i++)
		why = read_stage(
			g, i,
			cJSON_GetObjectItemCaseSensitive(stages, g->names[i]));
	return why;
}

bool graph_load(struct stage_graph *g, const char *path, const char **why)
{
	char *text = text_file_read(path, FILE_BYTES_MAX, why);

	if (text == NULL)
		return false;
	const bool nothing_may_follow = true;
	cJSON *root = cJSON_ParseWithOpts(text, NULL, nothing_may_follow);
	struct stage_graph loaded = *g;

	*why = read_graph(&loaded, root);
	if (*why == NULL)
		*g = loaded;
	cJSON_Delete(root);
	free(text);
	return *why == NULL;
}
