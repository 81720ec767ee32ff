/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* An object of the JSON, and its name for messages ("arm 'Cohort'"). */
struct section {
	const cJSON *json;
	const char *name;
	struct error *error;
};

static bool refuse(const struct section *section, const char *key,
		   const char *wanted)
{
	error_set(section->error, "%s: \"%s\" must be %s", section->name, key,
		  wanted);
	return false;
}

static cJSON *find_key(const struct section *section, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(section->json, key);
}

/* Every key of an object is one of `keys` (ended by NULL), and comes once. */
static bool check_keys(const struct section *section, const char *const *keys)
{
	const cJSON *item;

	if (!cJSON_IsObject(section->json)) {
		error_set(section->error, "%s must be an object",
			  section->name);
		return false;
	}
	cJSON_ArrayForEach(item, section->json)
	{
		const char *const *key = keys;

		while (*key != NULL && strcmp(*key, item->string) != 0)
			key++;
		if (*key == NULL) {
			error_set(section->error, "%s: unknown key \"%s\"",
				  section->name, item->string);
			return false;
		}
		if (find_key(section, *key) != item) {
			error_set(section->error, "%s: \"%s\" is there twice",
				  section->name, *key);
			return false;
		}
	}
	return true;
}

/* A missing key leaves `value` as it is. */
static bool read_text(const struct section *section, const char *key,
		      const char **value)
{
	const cJSON *item = find_key(section, key);

	if (item == NULL)
		return true;
	if (!cJSON_IsString(item))
		return refuse(section, key, "text");
	*value = item->valuestring;
	return true;
}

static bool read_name(const struct section *section, const char *key,
		      const char **value)
{
	return read_text(section, key, value) &&
	       ((*value != NULL && **value != '\0') ||
		refuse(section, key, "there, and not empty"));
}

static bool read_count(const struct section *section, const char *key,
		       uint64_t max, uint64_t *value)
{
	const cJSON *item = find_key(section, key);
	char wanted[64];

	if (item == NULL)
		return true;
	if (cJSON_IsNumber(item) && item->valuedouble >= 1 &&
	    item->valuedouble <= (double)max &&
	    item->valuedouble == floor(item->valuedouble)) {
		*value = (uint64_t)item->valuedouble;
		return true;
	}
	snprintf(wanted, sizeof(wanted), "a whole number from 1 to %llu",
		 (unsigned long long)max);
	return refuse(section, key, wanted);
}

static bool read_duration(const struct section *section, double *value_s)
{
	const cJSON *item = find_key(section, "duration_s");

	if (item == NULL)
		return true;
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.001) ||
	    !(item->valuedouble <= 86400))
		return refuse(section, "duration_s",
			      "seconds, from 0.001 to 86400");
	*value_s = item->valuedouble;
	return true;
}

static bool read_closed(struct plan *plan, const cJSON *json,
			struct error *error)
{
	static const char *const keys[] = { "connections", "passes",
					    "duration_s", NULL };
	const struct section section = { json, "\"closed\"", error };
	struct closed_loop *closed = &plan->closed;

	if (json == NULL) {
		error_set(error, "\"closed\" is missing");
		return false;
	}
	if (!check_keys(&section, keys) ||
	    !read_count(&section, "connections", 100000,
			&closed->connections) ||
	    !read_count(&section, "passes", 1000000, &closed->passes) ||
	    !read_duration(&section, &closed->duration_s))
		return false;
	if (closed->connections == 0)
		return refuse(&section, "connections", "there");
	if ((closed->passes == 0) == (closed->duration_s == 0)) {
		error_set(error,
			  "\"closed\": \"passes\" or \"duration_s\", not both");
		return false;
	}
	return true;
}

/* The list `key`, of 1 to `max` items.  NULL: it is none. */
static const cJSON *read_list(const struct section *section, const char *key,
			      int max, const char *wanted)
{
	const cJSON *list = find_key(section, key);

	if (cJSON_IsArray(list) && cJSON_GetArraySize(list) >= 1 &&
	    cJSON_GetArraySize(list) <= max)
		return list;
	(void)refuse(section, key, wanted);
	return NULL;
}

static bool read_percents(struct open_loop *open, const struct section *section)
{
	static const char key[] = "percent_of_capacity";
	const cJSON *list = read_list(section, key, PLAN_RATES_MAX,
				      "a list of 1 to 16 numbers");
	const cJSON *item;

	if (list == NULL)
		return false;
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= 1) ||
		    !(item->valuedouble <= 1000))
			return refuse(section, key, "numbers from 1 to 1000");
		if (open->rate_count > 0 &&
		    item->valuedouble <= open->percents[open->rate_count - 1])
			return refuse(section, key, "numbers that rise");
		open->percents[open->rate_count++] = item->valuedouble;
	}
	return true;
}

static bool read_open(struct plan *plan, const cJSON *json, struct error *error)
{
	static const char *const keys[] = { "percent_of_capacity", "duration_s",
					    "connections", NULL };
	const struct section section = { json, "\"open\"", error };
	struct open_loop *open = &plan->open;

	if (json == NULL)
		return true;
	open->connections = 256;
	return check_keys(&section, keys) && read_percents(open, &section) &&
	       read_count(&section, "connections", 100000,
			  &open->connections) &&
	       read_duration(&section, &open->duration_s) &&
	       (open->duration_s > 0 ||
		refuse(&section, "duration_s", "there"));
}

static bool read_command(struct arm *arm, const struct section *section)
{
	const cJSON *list;
	const cJSON *item;
	size_t count = 0;

	if (find_key(section, "command") == NULL)
		return true;
	list = read_list(section, "command", PLAN_ARGUMENTS_MAX,
			 "a list of 1 to 64 texts");
	if (list == NULL)
		return false;
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsString(item))
			return refuse(section, "command", "a list of texts");
		arm->command[count++] = item->valuestring;
	}
	return true;
}

static bool read_environment(struct arm *arm, const struct section *section)
{
	const cJSON *object = find_key(section, "environment");
	const cJSON *item;

	if (object == NULL)
		return true;
	if (!cJSON_IsObject(object) ||
	    cJSON_GetArraySize(object) > PLAN_VARIABLES_MAX)
		return refuse(section, "environment",
			      "an object of at most 32 texts");
	cJSON_ArrayForEach(item, object)
	{
		if (!cJSON_IsString(item))
			return refuse(section, "environment",
				      "an object of texts");
		arm->environment[arm->variable_count++] = (struct variable){
			item->string,
			item->valuestring,
		};
	}
	return true;
}

static bool read_arm(struct plan *plan, const cJSON *json, struct error *error)
{
	static const char *const keys[] = { "name",        "command",
					    "environment", "directory",
					    "url",         "connections",
					    NULL };
	struct arm *arm = &plan->arms[plan->arm_count++];
	char name[PLAN_NAME_BYTES_MAX + 16];
	struct section section = { json, name, error };

	snprintf(name, sizeof(name), "arm %zu", plan->arm_count);
	if (!check_keys(&section, keys) ||
	    !read_name(&section, "name", &arm->name))
		return false;
	if (strlen(arm->name) > PLAN_NAME_BYTES_MAX ||
	    strpbrk(arm->name, ",\n") != NULL)
		return refuse(&section, "name",
			      "at most 48 bytes, without a comma");
	for (size_t i = 0; i + 1 < plan->arm_count; i++)
		if (strcmp(plan->arms[i].name, arm->name) == 0)
			return refuse(&section, "name", "unlike all others");
	snprintf(name, sizeof(name), "arm '%s'", arm->name);
	if (!read_name(&section, "url", &arm->url) ||
	    !read_text(&section, "directory", &arm->directory) ||
	    !read_count(&section, "connections", 100000, &arm->connections) ||
	    !read_command(arm, &section) || !read_environment(arm, &section))
		return false;
	if (strncmp(arm->url, "http://", 7) != 0)
		return refuse(&section, "url", "one of http://");
	if (arm->command[0] == NULL && strstr(arm->url, PLAN_PORT) != NULL)
		return refuse(&section, "url",
			      "without {port} where there is no command");
	return true;
}

static bool read_arms(struct plan *plan, const cJSON *list, struct error *error)
{
	const cJSON *item;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) < 1 ||
	    cJSON_GetArraySize(list) > PLAN_ARMS_MAX) {
		error_set(error, "\"arms\" must be a list of 1 to %d",
			  PLAN_ARMS_MAX);
		return false;
	}
	cJSON_ArrayForEach(item, list)
	{
		if (!read_arm(plan, item, error))
			return false;
	}
	return true;
}

static bool read_verify(struct plan *plan, const struct section *section)
{
	plan->verify = "size";
	if (!read_text(section, "verify", &plan->verify))
		return false;
	if (strcmp(plan->verify, "none") == 0)
		plan->verify = NULL;
	else if (strcmp(plan->verify, "size") != 0 &&
		 strcmp(plan->verify, "decode") != 0)
		return refuse(section, "verify", "size, decode or none");
	return true;
}

bool plan_read(struct plan *plan, cJSON *json, struct error *error)
{
	static const char *const keys[] = { "title",       "dataset", "query",
					    "verify",      "closed",  "open",
					    "repetitions", "arms",    NULL };
	const struct section section = { json, "plan", error };

	*plan = (struct plan){ .json = json, .query = "", .repetitions = 5 };
	return check_keys(&section, keys) &&
	       read_name(&section, "title", &plan->title) &&
	       read_text(&section, "dataset", &plan->dataset) &&
	       read_text(&section, "query", &plan->query) &&
	       read_verify(plan, &section) &&
	       read_count(&section, "repetitions", PLAN_REPETITIONS_MAX,
			  &plan->repetitions) &&
	       read_closed(plan, find_key(&section, "closed"), error) &&
	       read_open(plan, find_key(&section, "open"), error) &&
	       read_arms(plan, find_key(&section, "arms"), error);
}

/* Is `name`, of `length` bytes, the arm's name? */
static bool is_named(const struct arm *arm, const char *name, size_t length)
{
	return strlen(arm->name) == length &&
	       strncmp(arm->name, name, length) == 0;
}

bool plan_choose_arms(struct plan *plan, const char *names, struct error *error)
{
	bool chosen[PLAN_ARMS_MAX] = { false };
	size_t kept = 0;
	size_t length;

	for (const char *name = names;; name += length + 1) {
		size_t i = 0;

		length = strcspn(name, ",");
		while (i < plan->arm_count &&
		       !is_named(&plan->arms[i], name, length))
			i++;
		if (i == plan->arm_count) {
			error_set(error, "the plan has no arm '%.*s'",
				  (int)length, name);
			return false;
		}
		chosen[i] = true;
		if (name[length] == '\0')
			break;
	}
	for (size_t i = 0; i < plan->arm_count; i++)
		if (chosen[i])
			plan->arms[kept++] = plan->arms[i];
	plan->arm_count = kept;
	return true;
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
