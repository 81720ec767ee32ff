/* SPDX-License-Identifier: MIT */
#include "stages/sim/model.h"

#include "base/file.h"
#include "base/json.h"
#include "stages/flags.h"

#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { FILE_BYTES_MAX = 1 << 20, VISIT_ROUNDS = 10000 };

#define BYTES_MAX 1e15 /* of memory */
/* Of whole numbers that are computed. */
#define WHOLE_MOST 1e18

/* --- Objects of the file. --- */

/* A key without a field is read by other functions. */
static bool read_keys(const cJSON *json, const struct flag *keys, void *to,
		      struct error *error)
{
	if (!cJSON_IsObject(json))
		return error_fail(error, "it must be an object");
	return flags_read_object(keys, json, to, error);
}

static uint32_t find_stage(const struct model *m, const char *name)
{
	uint32_t i = 0;

	while (i < m->stage_count && strcmp(m->stages[i].name, name) != 0)
		i++;
	return i;
}

static bool read_name(struct model *m, const cJSON *stage, struct error *error)
{
	const cJSON *name = json_given(stage, "name");
	char *copy;

	if (!cJSON_IsString(name) || name->valuestring[0] == '\0')
		return error_fail(error, "stage %u has no name",
				  m->stage_count + 1);
	if (find_stage(m, name->valuestring) < m->stage_count)
		return error_fail(error, "stage '%.64s' is there twice",
				  name->valuestring);
	copy = strdup(name->valuestring);
	if (copy == NULL)
		return error_fail(error, "out of memory");
	m->stages[m->stage_count++].name = copy;
	return true;
}

static bool read_names(struct model *m, const cJSON *stages,
		       struct error *error)
{
	const cJSON *stage;

	if (!cJSON_IsArray(stages) || cJSON_GetArraySize(stages) < 1 ||
	    cJSON_GetArraySize(stages) > STAGES_MAX)
		return error_fail(error, "stages must be a list of 1 to %d",
				  STAGES_MAX);
	cJSON_ArrayForEach(stage, stages)
	{
		if (!read_name(m, stage, error))
			return false;
	}
	return true;
}

/* Probabilities by the name of the stage; *sum is 1 at most. */
static bool read_shares(const struct model *m, const cJSON *json,
			double shares[STAGES_MAX], double *sum,
			struct error *error)
{
	const char *names[STAGES_MAX];
	const cJSON *share;

	*sum = 0;
	for (uint32_t i = 0; i < m->stage_count; i++)
		names[i] = m->stages[i].name;
	if (!flags_check_names(json, names, m->stage_count, "stage", error))
		return false;
	cJSON_ArrayForEach(share, json)
	{
		if (!cJSON_IsNumber(share) ||
		    !(share->valuedouble >= 0 && share->valuedouble <= 1))
			return error_fail(
				error, "'%.64s' has no probability from 0 to 1",
				share->string);
		shares[find_stage(m, share->string)] = share->valuedouble;
		*sum += share->valuedouble;
	}
	return *sum <= 1 + 1e-9 ||
	       error_fail(error, "the probabilities come to %g, more than 1",
			  *sum);
}

static bool read_entries(struct model *m, const cJSON *json,
			 struct error *error)
{
	const cJSON *entries = json_given(json, "entries");
	struct error why;
	double sum;

	m->entries[0] = entries == NULL ? 1 : 0;
	if (entries == NULL)
		return true;
	if (!read_shares(m, entries, m->entries, &sum, &why))
		return error_fail(error, "entries: %s", why.text);
	return sum > 1 - 1e-9 ||
	       error_fail(error,
			  "entries: the probabilities come to %g, less than 1",
			  sum);
}

/* The routes of requests that have passed another stage. */
static bool read_routes_after(struct model *m, struct model_stage *s,
			      const cJSON *after, struct error *error)
{
	uint32_t turn = m->stage_count;
	double sum;

	if (!cJSON_IsObject(after) || cJSON_GetArraySize(after) != 1)
		return error_fail(error, "it must name one stage");
	turn = find_stage(m, after->child->string);
	if (turn == m->stage_count)
		return error_fail(error, "there is no stage '%.64s'",
				  after->child->string);
	if (m->turn != m->stage_count && m->turn != turn)
		return error_fail(error,
				  "'%.64s': another stage has one after "
				  "'%.64s'",
				  after->child->string,
				  m->stages[m->turn].name);
	m->turn = turn;
	memset(s->routes[1], 0, sizeof(s->routes[1]));
	return read_shares(m, after->child, s->routes[1], &sum, error);
}

static bool read_routes(struct model *m, struct model_stage *s,
			const cJSON *json, struct error *error)
{
	const cJSON *routes = json_given(json, "routes");
	const cJSON *after = json_given(json, "routes_after");
	struct error why;
	double sum;

	if (routes != NULL && !read_shares(m, routes, s->routes[0], &sum, &why))
		return error_fail(error, "routes: %s", why.text);
	memcpy(s->routes[1], s->routes[0], sizeof(s->routes[1]));
	return after == NULL || read_routes_after(m, s, after, &why) ||
	       error_fail(error, "routes_after: %s", why.text);
}

static bool read_counts(const struct model *m, struct model_stage *s,
			const cJSON *forks, struct error *error)
{
	const char *names[STAGES_MAX];
	const cJSON *count;

	model_names(m, names);
	if (!flags_check_names(forks, names, m->stage_count, "stage", error))
		return false;
	cJSON_ArrayForEach(count, forks)
	{
		double n = count->valuedouble;

		if (!cJSON_IsNumber(count) || n != floor(n) || n < 1 ||
		    n > MODEL_CHILDREN_MAX - s->child_count)
			return error_fail(error,
					  "'%.64s' has no number of children "
					  "from 1 on, and up to %d in all",
					  count->string, MODEL_CHILDREN_MAX);
		s->forks[find_stage(m, count->string)] = (uint32_t)n;
		s->child_count += (uint32_t)n;
	}
	return s->child_count > 0 || error_fail(error, "it names no stage");
}

static bool read_forks(const struct model *m, struct model_stage *s,
		       const cJSON *json, struct error *error)
{
	const cJSON *forks = json_given(json, "forks");
	struct error why;

	return forks == NULL || read_counts(m, s, forks, &why) ||
	       error_fail(error, "forks: %s", why.text);
}

/* *out stays 0 without the member. */
static bool read_bytes(const cJSON *json, const char *name, double *out,
		       struct error *error)
{
	const cJSON *number = json_given(json, name);

	if (number == NULL)
		return true;
	*out = number->valuedouble;
	return (cJSON_IsNumber(number) && fabs(*out) <= BYTES_MAX) ||
	       error_fail(error, "%s is not a number of bytes from %g to %g",
			  name, -BYTES_MAX, BYTES_MAX);
}

struct stage_keys {
	double us_per_size, join_us_per_size;
	const char *regime, *discipline, *balance;
	int type;
};

static const struct flag stage_keys[] = {
	{ .name = "name" },
	{ .name = "us_per_size",
	  .values = "N",
	  FLAG_FIELD(struct stage_keys, us_per_size),
	  .most = DISTRIBUTION_VALUE_MOST },
	{ .name = "service_us" },
	{ .name = "join_us_per_size",
	  .values = "N",
	  FLAG_FIELD(struct stage_keys, join_us_per_size),
	  .most = DISTRIBUTION_VALUE_MOST },
	{ .name = "join_us" },
	{ .name = "forks" },
	{ .name = "takes" },
	{ .name = "takes_per_size" },
	{ .name = "routes" },
	{ .name = "routes_after" },
	{ .name = "regime",
	  .values = "REGIME",
	  FLAG_FIELD(struct stage_keys, regime) },
	{ .name = "discipline",
	  .values = "DISCIPLINE",
	  FLAG_FIELD(struct stage_keys, discipline) },
	{ .name = "balance",
	  .values = "BALANCE",
	  FLAG_FIELD(struct stage_keys, balance) },
	{ .name = "type",
	  .values = "shared|exclusive|partitioned|pass-through",
	  FLAG_CHOICE_FIELD(struct stage_keys, type) },
	{ 0 },
};

/* Set a flag for one stage; NULL: leave it as it is. */
static bool read_rule(struct schedule *s, const char *name, const char *text,
		      struct error *error)
{
	static const char *const one[] = { "" };
	char value[64];
	struct error why;

	if (text == NULL)
		return true;
	if (snprintf(value, sizeof(value), "=%s", text) < (int)sizeof(value) &&
	    schedule_set(s, name, value, one, 1))
		return true;
	(void)schedule_refuse(name, text, NULL, 0, &why);
	return error_fail(error, "%s: %s", name, why.text);
}

static bool read_rules(struct stage_rules *rules, uint32_t stage,
		       const struct stage_keys *keys, struct error *error)
{
	struct schedule s;

	schedule_init(&s);
	if (!read_rule(&s, "regime", keys->regime, error) ||
	    !read_rule(&s, "discipline", keys->discipline, error) ||
	    !read_rule(&s, "balance", keys->balance, error))
		return false;
	rules->regimes[stage] = s.rules.regimes[0];
	rules->disciplines[stage] = s.rules.disciplines[0];
	rules->sharings[stage] = s.rules.sharings[0];
	rules->own_regimes |= s.rules.own_regimes << stage;
	rules->own_disciplines |= s.rules.own_disciplines << stage;
	rules->own_sharings |= s.rules.own_sharings << stage;
	rules->default_sharings = rules->own_sharings;
	return true;
}

/* Which keys of a stage need others. */
static bool check_together(const struct model *m, const struct model_stage *s,
			   const cJSON *json, struct error *error)
{
	static const char *const of_size[] = { "us_per_size",
					       "join_us_per_size",
					       "takes_per_size" };
	static const char *const of_forks[] = { "join_us", "join_us_per_size" };

	if (json_given(json, "us_per_size") == NULL &&
	    json_given(json, "service_us") == NULL)
		return error_fail(error, "service_us or us_per_size is "
					 "missing");
	for (size_t i = 0; i < ARRAY_SIZE(of_size) && !m->has_size; i++)
		if (json_given(json, of_size[i]) != NULL)
			return error_fail(error, "%s needs a graph with a size",
					  of_size[i]);
	for (size_t i = 0; i < ARRAY_SIZE(of_forks) && s->child_count == 0; i++)
		if (json_given(json, of_forks[i]) != NULL)
			return error_fail(error, "%s needs forks", of_forks[i]);
	return true;
}

static bool read_stage(struct model *m, struct model_stage *s,
		       const cJSON *json, const char *folder,
		       struct error *error)
{
	struct stage_keys keys = { 0 };

	if (!read_keys(json, stage_keys, &keys, error) ||
	    !distribution_read(&s->work.us, json, "service_us", folder,
			       error) ||
	    !distribution_read(&s->join.us, json, "join_us", folder, error) ||
	    !read_bytes(json, "takes", &s->takes, error) ||
	    !read_bytes(json, "takes_per_size", &s->takes_per_size, error) ||
	    !read_routes(m, s, json, error) || !read_forks(m, s, json, error) ||
	    !read_rules(&m->rules, (uint32_t)(s - m->stages), &keys, error))
		return false;
	s->work.ns_per_size = 1000 * keys.us_per_size;
	s->join.ns_per_size = 1000 * keys.join_us_per_size;
	s->type = (enum stage_type)keys.type;
	return check_together(m, s, json, error);
}

/*
 * A place of a request: a stage, and whether it has passed `turn`, of which
 * `turn` itself counts.  Places are numbered: stage, or STAGES_MAX + stage.
 */
enum { WHERE_MAX = 2 * STAGES_MAX };

static uint32_t place_of(const struct model *m, uint32_t stage, bool has_passed)
{
	return has_passed || stage == m->turn ? STAGES_MAX + stage : stage;
}

/* Of the stages that may follow this place, by stage. */
static const double *routes_from(const struct model *m, uint32_t place)
{
	return m->stages[place % STAGES_MAX].routes[place / STAGES_MAX];
}

/* The place after this one, if the request goes to `stage`. */
static uint32_t next_place(const struct model *m, uint32_t place,
			   uint32_t stage)
{
	return place_of(m, stage, place >= STAGES_MAX);
}

static const struct model_stage *stage_at(const struct model *m, uint32_t place)
{
	return &m->stages[place % STAGES_MAX];
}

/* The share of events that end after this place. */
static double end_share(const struct model *m, uint32_t place)
{
	double sum = 0;

	for (uint32_t to = 0; to < m->stage_count; to++)
		sum += routes_from(m, place)[to];
	return sum < 1 - 1e-9 ? 1 - sum : 0;
}

/* Requests, one each, begin at these places. */
static void start_requests(const struct model *m, double at[WHERE_MAX])
{
	memset(at, 0, WHERE_MAX * sizeof(*at));
	for (uint32_t i = 0; i < m->stage_count; i++)
		at[place_of(m, i, false)] = m->entries[i];
}

/* Children of a fork at `from` begin at these places. */
static void start_children(const struct model *m, uint32_t from,
			   double at[WHERE_MAX])
{
	memset(at, 0, WHERE_MAX * sizeof(*at));
	for (uint32_t i = 0; i < m->stage_count; i++)
		at[next_place(m, from, i)] += stage_at(m, from)->forks[i];
}

/* The places that events come to, and their children, from `start` on. */
static void find_reached(const struct model *m, const double start[WHERE_MAX],
			 bool reached[WHERE_MAX])
{
	bool is_changed = true;

	for (uint32_t i = 0; i < WHERE_MAX; i++)
		reached[i] = start[i] > 0;
	while (is_changed) {
		is_changed = false;
		for (uint32_t from = 0; from < WHERE_MAX; from++)
			for (uint32_t i = 0; i < m->stage_count; i++) {
				uint32_t to = next_place(m, from, i);

				if (reached[from] && !reached[to] &&
				    routes_from(m, from)[i] +
						    stage_at(m, from)
							    ->forks[i] >
					    0)
					is_changed = reached[to] = true;
			}
	}
}

/* The places from which a request may come to its end. */
static void find_ending(const struct model *m, bool ends[WHERE_MAX])
{
	bool is_changed = true;

	for (uint32_t place = 0; place < WHERE_MAX; place++)
		ends[place] = place % STAGES_MAX < m->stage_count &&
			      end_share(m, place) > 0;
	while (is_changed) {
		is_changed = false;
		for (uint32_t from = 0; from < WHERE_MAX; from++)
			for (uint32_t i = 0; i < m->stage_count; i++)
				if (!ends[from] &&
				    routes_from(m, from)[i] > 0 &&
				    ends[next_place(m, from, i)])
					is_changed = ends[from] = true;
	}
}

/* A pass-through stage needs a sender inside, and is a part of its turn. */
static bool check_passes(const struct model *m, struct error *error)
{
	for (uint32_t i = 0; i < m->stage_count; i++) {
		bool begins = m->entries[i] > 0;

		for (uint32_t from = 0; from < m->stage_count; from++)
			begins |= m->stages[from].forks[i] > 0;
		if (m->stages[i].type == STAGE_PASS_THROUGH &&
		    (begins || m->stages[i].child_count > 0))
			return error_fail(error,
					  "stage '%.64s': a pass-through stage "
					  "does not fork, and neither requests "
					  "nor children begin there",
					  m->stages[i].name);
	}
	return true;
}

/* Children come to no stage that forks. */
static bool check_forks(const struct model *m, struct error *error)
{
	double start[WHERE_MAX];
	bool reached[WHERE_MAX];

	for (uint32_t from = 0; from < WHERE_MAX; from++) {
		start_children(m, from, start);
		find_reached(m, start, reached);
		for (uint32_t to = 0; to < WHERE_MAX; to++)
			if (reached[to] && stage_at(m, to)->child_count > 0)
				return error_fail(error,
						  "stage '%.64s': forks: a "
						  "child comes to stage "
						  "'%.64s', which forks, too",
						  stage_at(m, from)->name,
						  stage_at(m, to)->name);
	}
	return true;
}

/* Does each stage have requests that come, end, and fit into the memory? */
static bool check_flow(const struct model *m, struct error *error)
{
	double start[WHERE_MAX];
	bool reached[WHERE_MAX], ends[WHERE_MAX];

	start_requests(m, start);
	find_reached(m, start, reached);
	find_ending(m, ends);
	for (uint32_t i = 0; i < m->stage_count; i++) {
		const struct model_stage *s = &m->stages[i];
		double taken = s->takes + m->size.mean * s->takes_per_size;

		uint32_t after = STAGES_MAX + i;

		if (!reached[i] && !reached[after])
			return error_fail(error,
					  "stage '%.64s': no request comes to "
					  "it: it is no entry, and no route "
					  "from one leads to it",
					  s->name);
		if ((reached[i] && !ends[i]) ||
		    (reached[after] && !ends[after]))
			return error_fail(error,
					  "stage '%.64s': routes: a request "
					  "never ends",
					  s->name);
		if (m->memory > 0 && taken > (double)m->memory)
			return error_fail(error,
					  "stage '%.64s': takes: %.15g bytes "
					  "in the mean are more than memory, "
					  "%" PRIu64,
					  s->name, taken, m->memory);
	}
	return true;
}

struct graph_keys {
	double memory;
};

static const struct flag graph_keys[] = {
	{ .name = "about" },
	{ .name = "size" },
	{ .name = "deadline_us" },
	{ .name = "memory",
	  .values = "N",
	  FLAG_FIELD(struct graph_keys, memory),
	  .most = BYTES_MAX },
	{ .name = "entries" },
	{ .name = "stages" },
	{ 0 },
};

static bool read_graph(struct model *m, const cJSON *json, const char *folder,
		       struct error *error)
{
	const cJSON *stages = json_given(json, "stages");
	const cJSON *stage;
	struct graph_keys keys = { 0 };
	struct error why;
	uint32_t i = 0;

	if (!read_keys(json, graph_keys, &keys, error) ||
	    !distribution_read(&m->size, json, "size", folder, error) ||
	    !distribution_read(&m->deadline_us, json, "deadline_us", folder,
			       error) ||
	    !read_names(m, stages, error) || !read_entries(m, json, error))
		return false;
	m->turn = m->stage_count;
	m->memory = (uint64_t)keys.memory;
	m->has_size = json_given(json, "size") != NULL;
	m->has_deadline = json_given(json, "deadline_us") != NULL;
	cJSON_ArrayForEach(stage, stages)
	{
		struct model_stage *s = &m->stages[i++];

		if (!read_stage(m, s, stage, folder, &why))
			return error_fail(error, "stage '%.64s': %s", s->name,
					  why.text);
	}
	return check_passes(m, error) && check_forks(m, error) &&
	       check_flow(m, error);
}

bool model_read(struct model *m, const char *json, const char *folder,
		struct error *error)
{
	cJSON *parsed = json_read_text(json, error);

	*m = (struct model){ .stage_count = 0 };
	bool ok = parsed != NULL && read_graph(m, parsed, folder, error);

	cJSON_Delete(parsed);
	return ok;
}

bool model_load(struct model *m, const char *path, struct error *error)
{
	const char *why = "out of memory";
	char *folder = strdup(path);
	char *text = folder != NULL ?
			     file_read_text(path, FILE_BYTES_MAX, &why) :
			     NULL;

	*m = (struct model){ .stage_count = 0 };
	bool ok = text != NULL ? model_read(m, text, dirname(folder), error) :
				 error_fail(error, "%s", why);

	free(folder);
	free(text);
	return ok;
}

void model_names(const struct model *m, const char *names[STAGES_MAX])
{
	for (uint32_t i = 0; i < m->stage_count; i++)
		names[i] = m->stages[i].name;
}

bool model_check_types(const struct model *m, const struct schedule *s,
		       struct error *error)
{
	for (uint32_t i = 0; i < m->stage_count; i++)
		if (m->stages[i].type == STAGE_PARTITIONED &&
		    s->balance == BALANCE_PARTITION)
			return error_fail(error,
					  "--balance partition: stage '%.64s' "
					  "is divided by keys, so it cannot "
					  "belong to some of the cores",
					  m->stages[i].name);
	return true;
}

void model_release(struct model *m)
{
	distribution_release(&m->size);
	distribution_release(&m->deadline_us);
	for (uint32_t i = 0; i < m->stage_count; i++) {
		distribution_release(&m->stages[i].work.us);
		distribution_release(&m->stages[i].join.us);
		free(m->stages[i].name);
	}
	*m = (struct model){ .stage_count = 0 };
}

static int64_t whole(double number)
{
	return llround(fmin(fmax(number, -WHOLE_MOST), WHOLE_MOST));
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

/* Add a step; returns its work, in ns. */
static double draw_step(const struct model_work *work, uint32_t stage,
			double taken, struct random *r, struct model_path *out)
{
	double ns = out->size * work->ns_per_size +
		    1000 * distribution_draw(&work->us, r);

	if (out->step_count == out->capacity) {
		out->capacity += MODEL_STEPS_MAX;
		out->steps = realloc(out->steps,
				     out->capacity * sizeof(*out->steps));
		if (out->steps == NULL)
			abort();
	}
	out->steps[out->step_count++] = (struct model_step){
		.stage = stage,
		.service_ns = (uint64_t)whole(ns),
		.taken = whole(taken),
	};
	return ns;
}

/*
 * The path of an event from a place on, with those of its children.  Returns
 * the work, in ns.
 */
static double draw_path(const struct model *m, struct random *r, uint32_t place,
			struct model_path *out)
{
	double sum_ns = 0;

	for (uint32_t passed = 1;; passed++) {
		const struct model_stage *s = stage_at(m, place);
		double taken = s->takes + out->size * s->takes_per_size;
		uint32_t stage = place % STAGES_MAX, at = out->step_count, to;

		sum_ns += draw_step(&s->work, stage, taken, r, out);
		for (uint32_t i = 0; i < m->stage_count; i++)
			for (uint32_t n = 0; n < s->forks[i]; n++)
				sum_ns += draw_path(
					m, r, next_place(m, place, i), out);
		if (s->child_count > 0) {
			out->steps[at].child_count = s->child_count;
			out->steps[at].next = out->step_count - at;
			at = out->step_count;
			sum_ns += draw_step(&s->join, stage, 0, r, out);
		}
		to = draw_stage(m, routes_from(m, place), r);
		if (to == m->stage_count || passed == MODEL_STEPS_MAX)
			return sum_ns;
		out->steps[at].next = 1;
		place = next_place(m, place, to);
	}
}

void model_draw(const struct model *m, struct random *r, struct model_path *out)
{
	uint32_t first;
	double work_ns;

	out->size = m->has_size ? distribution_draw(&m->size, r) : 0;
	out->step_count = 0;
	do
		first = draw_stage(m, m->entries, r);
	while (first == m->stage_count); /* their sum may be a little below 1 */
	work_ns = draw_path(m, r, place_of(m, first, false), out);
	if (!m->has_size)
		out->size = work_ns / 1000;
	out->deadline_ns =
		m->has_deadline ?
			(uint64_t)whole(1000 *
					distribution_draw(&m->deadline_us, r)) :
			0;
}

void model_path_release(struct model_path *path)
{
	free(path->steps);
	*path = (struct model_path){ 0 };
}

const struct model_step *model_next_child(const struct model_step *child,
					  uint64_t *left_ns)
{
	*left_ns = child->service_ns;
	while (child->next > 0) {
		child += child->next;
		*left_ns += child->service_ns;
	}
	return child + 1;
}

uint32_t model_children_max(const struct model *m)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < m->stage_count; i++)
		if (m->stages[i].child_count > most)
			most = m->stages[i].child_count;
	return most;
}

/*
 * Mean visits to each place, v = start + v P, by adding up the terms of v =
 * start (1 + P + P^2 + ...).  A visit with a fork counts once, and is followed
 * by the children.
 */
static void count_visits(const struct model *m, const double start[WHERE_MAX],
			 double visits[WHERE_MAX])
{
	double reached[WHERE_MAX];
	double left = 1;

	memcpy(reached, start, sizeof(reached));
	memset(visits, 0, WHERE_MAX * sizeof(*visits));
	for (int round = 0; left > 1e-12 && round < VISIT_ROUNDS; round++) {
		double next[WHERE_MAX] = { 0 };

		left = 0;
		for (uint32_t from = 0; from < WHERE_MAX; from++) {
			visits[from] += reached[from];
			for (uint32_t to = 0; to < m->stage_count; to++)
				next[next_place(m, from, to)] +=
					reached[from] *
					(routes_from(m, from)[to] +
					 stage_at(m, from)->forks[to]);
		}
		memcpy(reached, next, sizeof(next));
		for (uint32_t place = 0; place < WHERE_MAX; place++)
			left += reached[place];
	}
}

/* Of a request. */
static void count_all_visits(const struct model *m, double visits[WHERE_MAX])
{
	double start[WHERE_MAX];

	start_requests(m, start);
	count_visits(m, start, visits);
}

static double mean_ns(const struct model *m, const struct model_work *work)
{
	return m->size.mean * work->ns_per_size + 1000 * work->us.mean;
}

double model_work_ns(const struct model *m, double by_stage[STAGES_MAX])
{
	double visits[WHERE_MAX];
	double sum = 0;

	count_all_visits(m, visits);
	for (uint32_t i = 0; i < m->stage_count; i++) {
		const struct model_stage *s = &m->stages[i];

		by_stage[i] = (visits[i] + visits[STAGES_MAX + i]) *
			      (mean_ns(m, &s->work) + mean_ns(m, &s->join));
		sum += by_stage[i];
	}
	return sum;
}

/*
 * Each fork at this place sends the parent on from where its last child ends,
 * which may be any of them.
 */
static void add_joins(const struct model *m, uint32_t place, double forks,
		      double sent[STAGES_MAX][STAGES_MAX])
{
	double start[WHERE_MAX], visits[WHERE_MAX];
	uint32_t count = stage_at(m, place)->child_count;

	if (count == 0)
		return;
	start_children(m, place, start);
	count_visits(m, start, visits);
	for (uint32_t from = 0; from < WHERE_MAX; from++)
		sent[from % STAGES_MAX][place % STAGES_MAX] +=
			forks * visits[from] * end_share(m, from) / count;
}

void model_weigh(const struct model *m, struct stage_graph *out)
{
	double visits[WHERE_MAX], by_stage[STAGES_MAX];
	double sent[STAGES_MAX][STAGES_MAX] = { 0 };

	count_all_visits(m, visits);
	(void)model_work_ns(m, by_stage);
	for (uint32_t from = 0; from < WHERE_MAX; from++) {
		for (uint32_t to = 0; to < m->stage_count; to++)
			sent[from % STAGES_MAX][to] +=
				visits[from] * (routes_from(m, from)[to] +
						stage_at(m, from)->forks[to]);
		add_joins(m, from, visits[from], sent);
	}
	*out = (struct stage_graph){ .stage_count = m->stage_count };
	for (uint32_t i = 0; i < m->stage_count; i++) {
		out->names[i] = m->stages[i].name;
		out->service_ns[i] = (uint64_t)whole(1e6 * by_stage[i]);
		for (uint32_t to = 0; to < m->stage_count; to++)
			out->sent_counts[i][to] =
				(uint64_t)whole(1e6 * sent[i][to]);
	}
}
