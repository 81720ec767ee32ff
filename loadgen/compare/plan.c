/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/plan.h"

#include "loadgen/compare/json_file.h"

#include <math.h>
#include <string.h>

/* A part of the JSON, and its name for messages ("arm 'Cohort'"). */
struct part {
	const cJSON *json;
	const char *name;
	struct error *error;
};

static bool refuse(const struct part *part, const char *key, const char *wanted)
{
	error_set(part->error, "%s: \"%s\" must be %s", part->name, key,
		  wanted);
	return false;
}

static cJSON *find(const struct part *part, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(part->json, key);
}

/* Every key of an object is one of `keys` (ended by NULL), and comes once. */
static bool check_keys(const struct part *part, const char *const *keys)
{
	const cJSON *item;

	if (!cJSON_IsObject(part->json)) {
		error_set(part->error, "%s must be an object", part->name);
		return false;
	}
	cJSON_ArrayForEach(item, part->json)
	{
		const char *const *key = keys;

		while (*key != NULL && strcmp(*key, item->string) != 0)
			key++;
		if (*key == NULL) {
			error_set(part->error, "%s: unknown key \"%s\"",
				  part->name, item->string);
			return false;
		}
		if (find(part, *key) != item) {
			error_set(part->error, "%s: \"%s\" is there twice",
				  part->name, *key);
			return false;
		}
	}
	return true;
}

/* A missing key leaves `value` as it is. */
static bool take_text(const struct part *part, const char *key,
		      const char **value)
{
	const cJSON *item = find(part, key);

	if (item == NULL)
		return true;
	if (!cJSON_IsString(item))
		return refuse(part, key, "text");
	*value = item->valuestring;
	return true;
}

static bool take_name(const struct part *part, const char *key,
		      const char **value)
{
	return take_text(part, key, value) &&
	       ((*value != NULL && **value != '\0') ||
		refuse(part, key, "there, and not empty"));
}

static bool take_count(const struct part *part, const char *key, uint64_t max,
		       uint64_t *value)
{
	const cJSON *item = find(part, key);
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
	return refuse(part, key, wanted);
}

static bool take_duration(const struct part *part, double *value_s)
{
	const cJSON *item = find(part, "duration_s");

	if (item == NULL)
		return true;
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.001) ||
	    !(item->valuedouble <= 86400))
		return refuse(part, "duration_s",
			      "seconds, from 0.001 to 86400");
	*value_s = item->valuedouble;
	return true;
}

static bool take_closed(struct plan *plan, const cJSON *json,
			struct error *error)
{
	static const char *const keys[] = { "connections", "passes",
					    "duration_s", NULL };
	const struct part part = { json, "\"closed\"", error };
	struct closed_loop *closed = &plan->closed;

	if (json == NULL) {
		error_set(error, "\"closed\" is missing");
		return false;
	}
	if (!check_keys(&part, keys) ||
	    !take_count(&part, "connections", 100000, &closed->connections) ||
	    !take_count(&part, "passes", 1000000, &closed->passes) ||
	    !take_duration(&part, &closed->duration_s))
		return false;
	if (closed->connections == 0)
		return refuse(&part, "connections", "there");
	if ((closed->passes == 0) == (closed->duration_s == 0)) {
		error_set(error,
			  "\"closed\": \"passes\" or \"duration_s\", not both");
		return false;
	}
	return true;
}

static bool take_percents(struct open_loop *open, const struct part *part)
{
	static const char key[] = "percent_of_capacity";
	const cJSON *list = find(part, key);
	const cJSON *item;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) < 1 ||
	    cJSON_GetArraySize(list) > PLAN_RATES_MAX)
		return refuse(part, key, "a list of 1 to 16 numbers");
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= 1) ||
		    !(item->valuedouble <= 1000))
			return refuse(part, key, "numbers from 1 to 1000");
		if (open->rate_count > 0 &&
		    item->valuedouble <= open->percents[open->rate_count - 1])
			return refuse(part, key, "numbers that rise");
		open->percents[open->rate_count++] = item->valuedouble;
	}
	return true;
}

static bool take_open(struct plan *plan, const cJSON *json, struct error *error)
{
	static const char *const keys[] = { "percent_of_capacity", "duration_s",
					    "connections", NULL };
	const struct part part = { json, "\"open\"", error };
	struct open_loop *open = &plan->open;

	if (json == NULL)
		return true;
	open->connections = 256;
	return check_keys(&part, keys) && take_percents(open, &part) &&
	       take_count(&part, "connections", 100000, &open->connections) &&
	       take_duration(&part, &open->duration_s) &&
	       (open->duration_s > 0 || refuse(&part, "duration_s", "there"));
}

static bool take_command(struct arm *arm, const struct part *part)
{
	const cJSON *list = find(part, "command");
	const cJSON *item;
	size_t count = 0;

	if (list == NULL)
		return true;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) < 1 ||
	    cJSON_GetArraySize(list) > PLAN_ARGUMENTS_MAX)
		return refuse(part, "command", "a list of 1 to 64 texts");
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsString(item))
			return refuse(part, "command", "a list of texts");
		arm->command[count++] = item->valuestring;
	}
	return true;
}

static bool take_environment(struct arm *arm, const struct part *part)
{
	const cJSON *object = find(part, "environment");
	const cJSON *item;

	if (object == NULL)
		return true;
	if (!cJSON_IsObject(object) ||
	    cJSON_GetArraySize(object) > PLAN_VARIABLES_MAX)
		return refuse(part, "environment",
			      "an object of at most 32 texts");
	cJSON_ArrayForEach(item, object)
	{
		if (!cJSON_IsString(item))
			return refuse(part, "environment",
				      "an object of texts");
		arm->environment[arm->variable_count++] = (struct variable){
			item->string,
			item->valuestring,
		};
	}
	return true;
}

static bool take_arm(struct plan *plan, const cJSON *json, struct error *error)
{
	static const char *const keys[] = { "name",        "command",
					    "environment", "directory",
					    "url",         "connections",
					    NULL };
	struct arm *arm = &plan->arms[plan->arm_count++];
	char name[PLAN_NAME_BYTES_MAX + 16];
	struct part part = { json, name, error };

	snprintf(name, sizeof(name), "arm %zu", plan->arm_count);
	if (!check_keys(&part, keys) || !take_name(&part, "name", &arm->name))
		return false;
	if (strlen(arm->name) > PLAN_NAME_BYTES_MAX ||
	    strpbrk(arm->name, ",\n") != NULL)
		return refuse(&part, "name",
			      "at most 48 bytes, without a comma");
	for (size_t i = 0; i + 1 < plan->arm_count; i++)
		if (strcmp(plan->arms[i].name, arm->name) == 0)
			return refuse(&part, "name", "unlike all others");
	snprintf(name, sizeof(name), "arm '%s'", arm->name);
	if (!take_name(&part, "url", &arm->url) ||
	    !take_text(&part, "directory", &arm->directory) ||
	    !take_count(&part, "connections", 100000, &arm->connections) ||
	    !take_command(arm, &part) || !take_environment(arm, &part))
		return false;
	if (strncmp(arm->url, "http://", 7) != 0)
		return refuse(&part, "url", "one of http://");
	if (arm->command[0] == NULL && strstr(arm->url, PLAN_PORT) != NULL)
		return refuse(&part, "url",
			      "without {port} where there is no command");
	return true;
}

static bool take_arms(struct plan *plan, const cJSON *list, struct error *error)
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
		if (!take_arm(plan, item, error))
			return false;
	}
	return true;
}

static bool take_verify(struct plan *plan, const struct part *part)
{
	plan->verify = "size";
	if (!take_text(part, "verify", &plan->verify))
		return false;
	if (strcmp(plan->verify, "none") == 0)
		plan->verify = NULL;
	else if (strcmp(plan->verify, "size") != 0 &&
		 strcmp(plan->verify, "decode") != 0)
		return refuse(part, "verify", "size, decode or none");
	return true;
}

bool plan_read(struct plan *plan, cJSON *json, struct error *error)
{
	static const char *const keys[] = { "title",       "dataset", "query",
					    "verify",      "closed",  "open",
					    "repetitions", "arms",    NULL };
	const struct part part = { json, "plan", error };

	*plan = (struct plan){ .json = json, .query = "", .repetitions = 5 };
	return check_keys(&part, keys) &&
	       take_name(&part, "title", &plan->title) &&
	       take_text(&part, "dataset", &plan->dataset) &&
	       take_text(&part, "query", &plan->query) &&
	       take_verify(plan, &part) &&
	       take_count(&part, "repetitions", PLAN_REPETITIONS_MAX,
			  &plan->repetitions) &&
	       take_closed(plan, find(&part, "closed"), error) &&
	       take_open(plan, find(&part, "open"), error) &&
	       take_arms(plan, find(&part, "arms"), error);
}

bool plan_load(struct plan *plan, const char *path, struct error *error)
{
	struct error why;
	cJSON *json = json_file_read(path, error);

	if (json == NULL || plan_read(plan, json, error))
		return json != NULL;
	why = *error;
	error_set(error, "%s: %s", path, why.text);
	return false;
}

/* Is `name`, `length` bytes, the arm's? */
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
