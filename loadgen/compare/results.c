/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/results.h"

#include "loadgen/compare/machine.h"

#include <string.h>
#include <time.h>

static const char *const load_names[] = {
	[LOAD_WARM_UP] = "warm-up",
	[LOAD_CLOSED] = "closed",
	[LOAD_OPEN] = "open",
};

enum { LOAD_COUNT = sizeof(load_names) / sizeof(*load_names) };

cJSON *results_new(const struct plan *plan)
{
	cJSON *results = cJSON_CreateObject();
	time_t now = time(NULL);
	struct tm utc;
	char began[32];

	gmtime_r(&now, &utc);
	strftime(began, sizeof(began), "%Y-%m-%dT%H:%M:%SZ", &utc);
	cJSON_AddStringToObject(results, "schema", RESULTS_SCHEMA);
	cJSON_AddStringToObject(results, "began", began);
	cJSON_AddItemToObject(results, "plan", cJSON_Duplicate(plan->json, 1));
	cJSON_AddStringToObject(results, "dataset", plan->dataset);
	cJSON_AddNumberToObject(results, "repetitions",
				(double)plan->repetitions);
	cJSON_AddItemToObject(results, "machine", machine_describe());
	cJSON_AddItemToObject(results, "commit", machine_commit());
	cJSON_AddArrayToObject(results, "runs");
	return results;
}

void results_add(cJSON *results, const struct results_run *run, cJSON *result)
{
	cJSON *entry = cJSON_CreateObject();

	cJSON_AddStringToObject(entry, "arm", run->arm);
	cJSON_AddStringToObject(entry, "load", load_names[run->load]);
	cJSON_AddNumberToObject(entry, "repetition", (double)run->repetition);
	if (run->load == LOAD_OPEN)
		cJSON_AddNumberToObject(entry, "percent_of_capacity",
					run->percent_of_capacity);
	cJSON_AddItemToObject(entry, "result", result);
	cJSON_AddItemToArray(cJSON_GetObjectItem(results, "runs"), entry);
}

/* False: it is none that results_add() made. */
static bool read_run(const cJSON *entry, struct results_run *run)
{
	const cJSON *arm = cJSON_GetObjectItem(entry, "arm");
	const cJSON *load = cJSON_GetObjectItem(entry, "load");
	const cJSON *repetition = cJSON_GetObjectItem(entry, "repetition");
	const cJSON *percent =
		cJSON_GetObjectItem(entry, "percent_of_capacity");

	if (!cJSON_IsString(arm) || !cJSON_IsString(load) ||
	    !cJSON_IsNumber(repetition))
		return false;
	*run = (struct results_run){
		.arm = arm->valuestring,
		.repetition = (uint64_t)repetition->valuedouble,
	};
	if (cJSON_IsNumber(percent))
		run->percent_of_capacity = percent->valuedouble;
	for (int i = 0; i < LOAD_COUNT; i++) {
		run->load = (enum load)i;
		if (strcmp(load->valuestring, load_names[i]) == 0)
			return true;
	}
	return false;
}

void results_for_each(const cJSON *results, results_run_fn *each, void *arg)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, cJSON_GetObjectItem(results, "runs"))
	{
		struct results_run run;

		if (read_run(entry, &run))
			each(&run, cJSON_GetObjectItem(entry, "result"), arg);
	}
}

double results_count_ok(const cJSON *result)
{
	const cJSON *item;
	double count = 0;

	cJSON_ArrayForEach(item, cJSON_GetObjectItem(result, "responses"))
	{
		if (item->string[0] == '2')
			count += item->valuedouble;
	}
	return count;
}

bool results_read_plan(const cJSON *results, struct plan *plan,
		       struct error *error)
{
	const cJSON *schema = cJSON_GetObjectItem(results, "schema");
	const cJSON *dataset = cJSON_GetObjectItem(results, "dataset");
	cJSON *json = cJSON_GetObjectItem(results, "plan");

	if (!cJSON_IsString(schema) ||
	    strcmp(schema->valuestring, RESULTS_SCHEMA) != 0 || json == NULL) {
		error_set(error, "not of schema " RESULTS_SCHEMA);
		return false;
	}
	if (!plan_read(plan, cJSON_Duplicate(json, 1), error))
		return false;
	if (cJSON_IsString(dataset))
		plan->dataset = dataset->valuestring;
	return true;
}
