/* SPDX-License-Identifier: MIT */
#include "stages/graph.h"

#include "base/file.h"
#include "base/json.h"
#include "base/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <metis.h>

enum { FILE_BYTES_MAX = 1 << 20 };

bool graph_can_be_saved(const char *path, struct error *error)
{
	struct file_draft draft;
	struct error with_path;
	struct stat found;

	/* rename() could not replace this file. */
	if (path[0] == '\0')
		return error_fail(error, "%s", strerror(ENOENT));
	if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
		return error_fail(error, "%s", strerror(EISDIR));
	if (!file_draft_open(&draft, path, &with_path))
		return error_fail(error, "%s", strerror(errno));

	bool ok = fputc('\n', draft.out) != EOF && fflush(draft.out) == 0 &&
		  fsync(fileno(draft.out)) == 0;

	if (!ok)
		error_set(error, "%s", strerror(errno));
	file_draft_drop(&draft);
	return ok;
}

static void write_stage(struct json *j, const struct stage_graph *g,
			uint32_t from)
{
	json_open_object(j, g->names[from]);
	json_add_number(j, "service_ns", (double)g->service_ns[from]);
	json_open_object(j, "sent");
	for (uint32_t to = 0; to < g->stage_count; to++)
		if (g->sent_counts[from][to] > 0)
			json_add_number(j, g->names[to],
					(double)g->sent_counts[from][to]);
	json_close(j);
	json_close(j);
}

bool graph_save(const struct stage_graph *g, const char *path,
		struct error *error)
{
	struct file_draft draft;
	struct error with_path;
	struct json j;

	if (!file_draft_open(&draft, path, &with_path))
		return error_fail(error, "%s", strerror(errno));
	json_begin(&j, draft.out, JSON_INDENTED);
	json_open_object(&j, NULL);
	json_open_object(&j, "stages");
	for (uint32_t i = 0; i < g->stage_count; i++)
		write_stage(&j, g, i);
	json_close(&j);
	json_close(&j);
	(void)fputc('\n', draft.out);
	return file_draft_commit(&draft, &with_path) ||
	       error_fail(error, "%s", strerror(errno));
}

/* A missing weight is 0. */
static bool read_weight(const cJSON *object, const char *name, uint64_t *weight,
			struct error *error)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	double value = item != NULL ? item->valuedouble : 0;

	if (item != NULL && !cJSON_IsNumber(item))
		return error_fail(error, "%s is not a number", name);
	*weight = 0;
	if (value >= 0 && value < 0x1p64)
		*weight = (uint64_t)value;
	return (double)*weight == value ||
	       error_fail(error,
			  "%s: %.16g is not a whole number from 0 to 2^64",
			  name, value);
}

/* Are all keys of the object stages? */
static bool has_only_stages(const struct stage_graph *g, const cJSON *object,
			    struct error *error)
{
	return flags_check_names(object, g->names, g->stage_count, "stage",
				 error);
}

static bool read_sent(struct stage_graph *g, uint32_t from, const cJSON *sent,
		      struct error *error)
{
	if (!has_only_stages(g, sent, error))
		return false;
	for (uint32_t to = 0; to < g->stage_count; to++)
		if (!read_weight(sent, g->names[to], &g->sent_counts[from][to],
				 error))
			return false;
	return true;
}

static bool read_stage(struct stage_graph *g, uint32_t from, const cJSON *stage,
		       struct error *error)
{
	static const struct flag keys[] = {
		{ .name = "service_ns" },
		{ .name = "sent" },
		{ 0 },
	};
	const cJSON *sent = cJSON_GetObjectItemCaseSensitive(stage, "sent");
	struct error why;

	if (stage != NULL && !cJSON_IsObject(stage))
		return error_fail(error, "it must be an object");
	if (!flags_read_object(keys, stage, NULL, error) ||
	    !read_weight(stage, "service_ns", &g->service_ns[from], error))
		return false;
	return read_sent(g, from, sent, &why) ||
	       error_fail(error, "sent: %s", why.text);
}

static bool read_graph(struct stage_graph *g, const cJSON *root,
		       struct error *error)
{
	static const struct flag keys[] = { { .name = "stages" }, { 0 } };
	const cJSON *stages = cJSON_GetObjectItemCaseSensitive(root, "stages");
	struct error why;

	if (!cJSON_IsObject(root) || !cJSON_IsObject(stages))
		return error_fail(error, "no object \"stages\" in it");
	if (!flags_read_object(keys, root, NULL, error))
		return false;
	if (!has_only_stages(g, stages, &why))
		return error_fail(error, "stages: %s", why.text);
	for (uint32_t i = 0; i < g->stage_count; i++)
		if (!read_stage(g, i,
				cJSON_GetObjectItemCaseSensitive(stages,
								 g->names[i]),
				&why))
			return error_fail(error, "stage '%.64s': %s",
					  g->names[i], why.text);
	return true;
}

bool graph_load(struct stage_graph *g, const char *path, struct error *error)
{
	const char *why;
	char *text = file_read_text(path, FILE_BYTES_MAX, &why);
	struct stage_graph loaded = *g;
	cJSON *root;
	bool ok;

	if (text == NULL)
		return error_fail(error, "%s", why);
	root = json_read_text(text, error);
	ok = root != NULL && read_graph(&loaded, root, error);
	if (ok)
		*g = loaded;
	cJSON_Delete(root);
	free(text);
	return ok;
}

enum {
	SCALE = 1 << 20,
	GAIN_MIN = 20, /* a move must reduce the work by at least 1/20 */
};

/* A graph in METIS's form: the neighbours of stage i begin at firsts[i]. */
struct metis_graph {
	idx_t stage_count;
	idx_t works[STAGES_MAX];
	idx_t firsts[STAGES_MAX + 1];
	idx_t neighbours[STAGES_MAX * STAGES_MAX];
	idx_t event_counts[STAGES_MAX * STAGES_MAX];
};

/* Events between two stages, in both directions. */
static double passed(const struct stage_graph *g, uint32_t a, uint32_t b)
{
	return a == b ? 0 :
			(double)g->sent_counts[a][b] +
				(double)g->sent_counts[b][a];
}

/* METIS wants positive integers whose sums fit in 32 bits. */
static idx_t scale(double weight, double total)
{
	return 1 + (total > 0 ? (idx_t)(weight / total * SCALE) : 0);
}

/* False: the graph has no weights. */
static bool build(const struct stage_graph *g, struct metis_graph *m)
{
	double work_total = 0, passed_total = 0;
	idx_t edges = 0;

	for (uint32_t i = 0; i < g->stage_count; i++) {
		work_total += (double)g->service_ns[i];
		for (uint32_t j = 0; j < i; j++)
			passed_total += passed(g, i, j);
	}
	m->stage_count = (idx_t)g->stage_count;
	for (uint32_t i = 0; i < g->stage_count; i++) {
		m->works[i] = scale((double)g->service_ns[i], work_total);
		m->firsts[i] = edges;
		for (uint32_t j = 0; j < g->stage_count; j++) {
			if (passed(g, i, j) == 0)
				continue;
			m->neighbours[edges] = (idx_t)j;
			m->event_counts[edges++] =
				scale(passed(g, i, j), passed_total);
		}
	}
	m->firsts[g->stage_count] = edges;
	return work_total > 0 || passed_total > 0;
}

/*
 * By recursive bisection.  METIS's other method, k-way, balances small graphs
 * less well.  False: no memory.
 */
static bool cut(struct metis_graph *m, idx_t part_count, idx_t *parts)
{
	idx_t options[METIS_NOPTIONS], weights_per_stage = 1, cut_count;

	(void)METIS_SetDefaultOptions(options);
	options[METIS_OPTION_SEED] = 1;
	int status = METIS_PartGraphRecursive(
		&m->stage_count, &weights_per_stage, m->firsts, m->neighbours,
		m->works, NULL, m->event_counts, &part_count, NULL, NULL,
		options, &cut_count, parts);

	assert(status == METIS_OK || status == METIS_ERROR_MEMORY);
	return status == METIS_OK;
}

/*
 * Move a stage out of the heaviest part, if this makes the heavier of the two
 * parts enough lighter.  METIS is made for large graphs: in one of a few uneven
 * stages it may leave a part with far more than its share.
 */
static bool lighten(const struct metis_graph *m, idx_t part_count, idx_t *parts)
{
	idx_t loads[STAGES_MAX] = { 0 }, heaviest = 0;
	idx_t stage = -1, target = -1;

	for (idx_t i = 0; i < m->stage_count; i++)
		loads[parts[i]] += m->works[i];
	for (idx_t p = 1; p < part_count; p++)
		if (loads[p] > loads[heaviest])
			heaviest = p;
	idx_t least = loads[heaviest] - loads[heaviest] / GAIN_MIN;

	for (idx_t i = 0; i < m->stage_count; i++)
		for (idx_t p = 0; p < part_count && parts[i] == heaviest; p++) {
			idx_t left = loads[heaviest] - m->works[i];
			idx_t there = loads[p] + m->works[i];
			idx_t heavier = left > there ? left : there;

			if (p != heaviest && heavier < least) {
				least = heavier;
				stage = i;
				target = p;
			}
		}
	if (stage != -1)
		parts[stage] = target;
	return stage != -1;
}

/*
 * Give an empty part a stage of the heaviest part that has more than one,
 * because the cores of an empty part would do nothing.  False: no part is
 * empty.
 */
static bool fill(const struct metis_graph *m, idx_t part_count, idx_t *parts)
{
	idx_t loads[STAGES_MAX] = { 0 }, counts[STAGES_MAX] = { 0 };
	idx_t empty = 0, from = -1, stage = -1, least = 0;

	for (idx_t i = 0; i < m->stage_count; i++) {
		loads[parts[i]] += m->works[i];
		counts[parts[i]]++;
	}
	while (empty < part_count && counts[empty] > 0)
		empty++;
	if (empty == part_count)
		return false;
	for (idx_t p = 0; p < part_count; p++)
		if (counts[p] > 1 && (from == -1 || loads[p] > loads[from]))
			from = p;
	for (idx_t i = 0; i < m->stage_count; i++) {
		idx_t left = loads[parts[i]] - m->works[i];
		idx_t heavier = left > m->works[i] ? left : m->works[i];

		if (parts[i] == from && (stage == -1 || heavier < least)) {
			least = heavier;
			stage = i;
		}
	}
	parts[stage] = empty;
	return true;
}

static void number_by_first_stage(const idx_t *cut_parts, uint32_t stage_count,
				  uint32_t *parts)
{
	uint32_t numbered = 0;

	for (uint32_t i = 0; i < stage_count; i++) {
		uint32_t earlier = 0;

		while (earlier < i && cut_parts[earlier] != cut_parts[i])
			earlier++;
		parts[i] = earlier < i ? parts[earlier] : numbered++;
	}
}

bool graph_cut(const struct stage_graph *g, uint32_t part_count,
	       uint32_t parts[STAGES_MAX])
{
	uint32_t used =
		part_count < g->stage_count ? part_count : g->stage_count;
	idx_t cut_parts[STAGES_MAX];
	struct metis_graph m;

	assert(part_count >= 1);
	assert(g->stage_count >= 1 && g->stage_count <= STAGES_MAX);
	if (!build(g, &m) || used == 1 || used == g->stage_count) {
		for (uint32_t i = 0; i < g->stage_count; i++)
			parts[i] = i * used / g->stage_count;
		return true;
	}
	if (!cut(&m, (idx_t)used, cut_parts))
		return false;
	do {
		while (lighten(&m, (idx_t)used, cut_parts))
			continue;
	} while (fill(&m, (idx_t)used, cut_parts));
	number_by_first_stage(cut_parts, g->stage_count, parts);
	return true;
}
