/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/plan.h"

#include "base/machine_usage.h"
#include "base/options.h"
#include "loadgen/options.h"

#include <stdio.h>
#include <string.h>

enum { PASSES_MAX = 1000000, SECONDS_MAX = 86400 };

/* A key with the same name as its field.  Messages call its value `kind`. */
#define KEY(parent, field, kind)                                               \
	.name = #field, .values = kind, FLAG_FIELD(struct parent, field)

static const struct flag plan_keys[] = {
	{ KEY(plan, title, "TEXT") },
	{ KEY(plan, dataset, "DIR") },
	{ KEY(plan, params, "FILE") },
	{ KEY(plan, cacert, "FILE") },
	{ KEY(plan, server_counter, "NAME") },
	{ .name = "query" },
	{ .name = "verify",
	  .values = "size|decode|none",
	  FLAG_CHOICE_FIELD(struct plan, verify) },
	{ .name = "refusals",
	  .values = "fail|count",
	  FLAG_CHOICE_FIELD(struct plan, refusals) },
	{ KEY(plan, repetitions, "N"), .least = 1,
	  .most = PLAN_REPETITIONS_MAX },
	{ KEY(plan, disturbed_percent, "PERCENT"), .least = 0.1, .most = 100 },
	{ .name = "closed" },
	{ .name = "open" },
	{ .name = "arms" },
	{ 0 },
};

static const struct flag closed_keys[] = {
	{ KEY(closed_loop, connections, "N"), .least = 1,
	  .most = PLAN_CONNECTIONS_MAX },
	{ KEY(closed_loop, passes, "N"), .least = 1, .most = PASSES_MAX },
	{ KEY(closed_loop, duration_s, "S"), .least = 0.001,
	  .most = SECONDS_MAX },
	{ KEY(closed_loop, slices, "N"), .least = 1, .most = PLAN_SLICES_MAX },
	{ 0 },
};

static const struct flag open_keys[] = {
	{ .name = "percent_of_capacity" },
	{ KEY(open_loop, connections, "N"), .least = 1,
	  .most = PLAN_CONNECTIONS_MAX },
	{ KEY(open_loop, duration_s, "S"), .least = 0.001,
	  .most = SECONDS_MAX },
	{ 0 },
};

static const struct flag arm_keys[] = {
	{ KEY(arm, name, "TEXT") },
	{ .name = "command" },
	{ .name = "environment" },
	{ KEY(arm, directory, "DIR") },
	{ KEY(arm, url, "URL") },
	{ KEY(arm, connections, "N"), .least = 1,
	  .most = PLAN_CONNECTIONS_MAX },
	{ 0 },
};

/* An object of the plan. */
struct section {
	const cJSON *json;
	const char *name; /* in messages: "arm 'Cohort'" */
	struct error *error;
};

static bool refuse(const struct section *s, const char *what)
{
	return error_fail(s->error, "%s: %s", s->name, what);
}

static cJSON *item_at(const struct section *s, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(s->json, key);
}

/* Read the numbers and texts of an object. */
static bool read_keys(const struct section *s, const struct flag *keys,
		      void *to)
{
	struct error why;

	if (!cJSON_IsObject(s->json))
		return refuse(s, "it must be an object");
	return flags_read_object(keys, s->json, to, &why) ||
	       refuse(s, why.text);
}

/*
 * Are there at most `max` items in a list or object, and are all of them texts?
 */
static bool are_texts(const cJSON *items, int max)
{
	const cJSON *item = items->child;

	while (cJSON_IsString(item))
		item = item->next;
	return item == NULL && cJSON_GetArraySize(items) <= max;
}

/* Is it a list of 1 to `max` items? */
static bool is_list(const cJSON *json, int max)
{
	return cJSON_IsArray(json) && cJSON_GetArraySize(json) >= 1 &&
	       cJSON_GetArraySize(json) <= max;
}

static bool read_closed(struct closed_loop *closed, const struct section *s)
{
	closed->slices = 1;
	if (!read_keys(s, closed_keys, closed))
		return false;
	if (closed->connections == 0)
		return refuse(s, "connections is missing");
	return (closed->passes == 0) != (closed->duration_s == 0) ||
	       refuse(s, "passes or duration_s, not both");
}

static bool read_open(struct open_loop *open, const struct section *s)
{
	const cJSON *list = item_at(s, "percent_of_capacity");
	const cJSON *item;
	double last = 0;

	if (s->json == NULL)
		return true;
	open->connections = 256;
	if (!read_keys(s, open_keys, open))
		return false;
	if (open->duration_s == 0)
		return refuse(s, "duration_s is missing");
	if (!is_list(list, PLAN_RATES_MAX))
		return refuse(s, "percent_of_capacity must be a list of 1 to "
				 "16 numbers");
	cJSON_ArrayForEach(item, list)
	{
		double percent = cJSON_GetNumberValue(item);

		if (!(percent >= 1 && percent <= 1000 && percent > last))
			return refuse(s, "percent_of_capacity must be numbers "
					 "from 1 to 1000 that rise");
		last = open->percents[open->rate_count++] = percent;
	}
	return true;
}

static bool read_command(struct arm *arm, const struct section *s)
{
	arm->command = item_at(s, "command");
	arm->environment = item_at(s, "environment");
	if (arm->command != NULL &&
	    !(is_list(arm->command, PLAN_ARGUMENTS_MAX) &&
	      are_texts(arm->command, PLAN_ARGUMENTS_MAX)))
		return refuse(s, "command must be a list of 1 to 64 texts");
	if (arm->environment != NULL &&
	    (!cJSON_IsObject(arm->environment) ||
	     !are_texts(arm->environment, PLAN_ARGUMENTS_MAX)))
		return refuse(s, "environment must be an object of at most 64 "
				 "texts");
	return true;
}

static bool read_arm(struct plan *plan, const cJSON *json, struct error *error)
{
	struct arm *arm = &plan->arms[plan->arm_count++];
	char name[PLAN_NAME_BYTES_MAX + 16];
	const struct section s = { json, name, error };

	snprintf(name, sizeof(name), "arm %zu", plan->arm_count);
	if (!read_keys(&s, arm_keys, arm))
		return false;
	if (arm->name == NULL || strlen(arm->name) > PLAN_NAME_BYTES_MAX ||
	    strpbrk(arm->name, ",\n") != NULL)
		return refuse(&s, "its name must have 1 to 48 bytes and no "
				  "comma");
	snprintf(name, sizeof(name), "arm '%s'", arm->name);
	for (const struct arm *other = plan->arms; other < arm; other++)
		if (strcmp(other->name, arm->name) == 0)
			return refuse(&s, "another arm has the same name");
	if (arm->url == NULL || strncmp(arm->url, "http://", 7) != 0)
		return refuse(&s, "its url must begin with http://");
	if (!read_command(arm, &s))
		return false;
	return arm->command != NULL || strstr(arm->url, PLAN_PORT) == NULL ||
	       refuse(&s, "its url has {port}, but there is no command");
}

static bool read_arms(struct plan *plan, const struct section *s)
{
	const cJSON *list = item_at(s, "arms");
	const cJSON *item;

	if (!is_list(list, PLAN_ARMS_MAX))
		return refuse(s, "arms must be a list of 1 to 16");
	cJSON_ArrayForEach(item, list)
	{
		if (!read_arm(plan, item, s->error))
			return false;
	}
	return true;
}

bool plan_read(struct plan *plan, cJSON *json, struct error *error)
{
	const struct section s = { json, "plan", error };
	const struct section closed = { item_at(&s, "closed"), "closed",
					error };
	const struct section open = { item_at(&s, "open"), "open", error };
	const cJSON *query = item_at(&s, "query");

	*plan = (struct plan){ .json = json,
			       .query = "",
			       .repetitions = 10,
			       .disturbed_percent = MACHINE_DISTURBED_PERCENT };
	if (!read_keys(&s, plan_keys, plan))
		return false;
	if (plan->title == NULL)
		return refuse(&s, "title is missing");
	if (plan->server_counter != NULL &&
	    !counter_name_is_valid(plan->server_counter))
		return refuse(&s, "server_counter must be a counter's name, of "
				  "up to 63 letters, digits, _ and :");
	if (query != NULL && !cJSON_IsString(query))
		return refuse(&s, "query must be a text");
	if (query != NULL)
		plan->query = query->valuestring;
	return read_closed(&plan->closed, &closed) &&
	       read_open(&plan->open, &open) && read_arms(plan, &s);
}

bool plan_choose_arms(struct plan *plan, const char *names, struct error *error)
{
	bool chosen[PLAN_ARMS_MAX] = { false };
	const char *end = names - 1;
	size_t kept = 0;

	do {
		const char *name = end + 1;
		size_t length = strcspn(name, ",");
		size_t i = 0;

		while (i < plan->arm_count &&
		       (strlen(plan->arms[i].name) != length ||
			strncmp(plan->arms[i].name, name, length) != 0))
			i++;
		if (i == plan->arm_count)
			return error_fail(error, "the plan has no arm '%.*s'",
					  (int)length, name);
		chosen[i] = true;
		end = name + length;
	} while (*end != '\0');
	for (size_t i = 0; i < plan->arm_count; i++)
		if (chosen[i])
			plan->arms[kept++] = plan->arms[i];
	plan->arm_count = kept;
	return true;
}

void plan_set_connections(struct plan *plan, uint64_t count)
{
	cJSON *closed = cJSON_GetObjectItemCaseSensitive(plan->json, "closed");

	plan->closed.connections = count;
	(void)cJSON_SetNumberValue(
		cJSON_GetObjectItemCaseSensitive(closed, "connections"),
		(double)count);
}

uint64_t plan_connections(const struct arm *arm, uint64_t of_plan)
{
	return arm->connections != 0 ? arm->connections : of_plan;
}

void plan_release(struct plan *plan)
{
	cJSON_Delete(plan->json);
	*plan = (struct plan){ 0 };
}
