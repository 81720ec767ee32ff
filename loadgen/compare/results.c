/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/results.h"

#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define RESULTS_SCHEMA "darkroom-compare/1"

static const char *const load_names[] = {
	[LOAD_WARM_UP] = "warm-up",
	[LOAD_CLOSED] = "closed",
	[LOAD_OPEN] = "open",
};

/* The value of the first line "model name : VALUE" of /proc/cpuinfo. */
static cJSON *read_cpu_name(void)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[256];
	cJSON *name = NULL;

	while (in != NULL && name == NULL &&
	       fgets(line, sizeof(line), in) != NULL) {
		const char *colon = strchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "model name", 10) == 0 && colon != NULL)
			name = cJSON_CreateString(colon + 2);
	}
	if (in != NULL)
		fclose(in);
	return name != NULL ? name : cJSON_CreateNull();
}

static cJSON *describe_machine(void)
{
	cJSON *machine = cJSON_CreateObject();
	struct utsname names;
	char kernel[256];

	cJSON_AddItemToObject(machine, "cpu", read_cpu_name());
	cJSON_AddNumberToObject(machine, "cores",
				(double)sysconf(_SC_NPROCESSORS_ONLN));
	if (uname(&names) == 0) {
		snprintf(kernel, sizeof(kernel), "%s %s %s", names.sysname,
			 names.release, names.machine);
		cJSON_AddStringToObject(machine, "kernel", kernel);
	} else {
		cJSON_AddNullToObject(machine, "kernel");
	}
	cJSON_AddNumberToObject(machine, "memory_bytes",
				(double)sysconf(_SC_PHYS_PAGES) *
					(double)sysconf(_SC_PAGESIZE));
	return machine;
}

/* The commit of the current folder; null: no Git tree. */
static cJSON *describe_commit(void)
{
	FILE *in = popen("git describe --always --dirty --abbrev=12 "
			 "--exclude '*' 2>/dev/null",
			 "re");
	char text[64] = "";

	if (in != NULL) {
		if (fgets(text, sizeof(text), in) == NULL)
			text[0] = '\0';
		pclose(in);
	}
	text[strcspn(text, "\n")] = '\0';
	return text[0] != '\0' ? cJSON_CreateString(text) : cJSON_CreateNull();
}

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
	cJSON_AddItemToObject(results, "machine", describe_machine());
	cJSON_AddItemToObject(results, "commit", describe_commit());
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

/* False: results_add() cannot have made it. */
static bool read_run(const cJSON *entry, struct results_run *run)
{
	const cJSON *arm = cJSON_GetObjectItem(entry, "arm");
	const cJSON *load = cJSON_GetObjectItem(entry, "load");

	if (!cJSON_IsString(arm) || !cJSON_IsString(load) ||
	    !cJSON_HasObjectItem(entry, "repetition"))
		return false;
	*run = (struct results_run){
		.arm = arm->valuestring,
		.repetition = (uint64_t)json_number(entry, "repetition", 0),
		.percent_of_capacity =
			json_number(entry, "percent_of_capacity", 0),
	};
	for (size_t i = 0; i < ARRAY_SIZE(load_names); i++) {
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

double json_number(const cJSON *object, const char *key, double missing)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : missing;
}
