/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/results.h"

#include "base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RESULTS_SCHEMA "darkroom-compare/1"

static const char *const load_names[] = {
	[LOAD_WARM_UP] = "warm-up",
	[LOAD_CLOSED] = "closed",
	[LOAD_OPEN] = "open",
};

/*
 * The rest of the first line of `in` that begins with `key`; JSON's null if
 * there is none.  Closes `in`, which may be NULL.
 */
static cJSON *read_line(FILE *in, int (*close_stream)(FILE *), const char *key)
{
	char line[256];
	cJSON *found = NULL;

	while (in != NULL && found == NULL &&
	       fgets(line, sizeof(line), in) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, key, strlen(key)) == 0)
			found = cJSON_CreateString(line + strlen(key));
	}
	if (in != NULL)
		close_stream(in);
	return found != NULL ? found : cJSON_CreateNull();
}

static cJSON *describe_machine(void)
{
	cJSON *machine = cJSON_CreateObject();

	cJSON_AddItemToObject(machine, "cpu",
			      read_line(fopen("/proc/cpuinfo", "re"), fclose,
					"model name\t: "));
	cJSON_AddNumberToObject(machine, "cores",
				(double)sysconf(_SC_NPROCESSORS_ONLN));
	cJSON_AddItemToObject(machine, "kernel",
			      read_line(popen("uname -srm", "re"), pclose, ""));
	cJSON_AddNumberToObject(machine, "memory_bytes",
				(double)sysconf(_SC_PHYS_PAGES) *
					(double)sysconf(_SC_PAGESIZE));
	return machine;
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
	/* The commit of the current folder. */
	cJSON_AddItemToObject(
		results, "commit",
		read_line(popen("git describe --always --dirty --abbrev=12 "
				"--exclude '*' 2>/dev/null",
				"re"),
			  pclose, ""));
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
	if (run->load == LOAD_CLOSED)
		cJSON_AddNumberToObject(entry, "slice", (double)run->slice);
	cJSON_AddNumberToObject(entry, "attempt", (double)run->attempt);
	if (run->is_repeated)
		cJSON_AddTrueToObject(entry, "repeated");
	cJSON_AddItemToObject(entry, "result", result);
	cJSON_AddItemToArray(cJSON_GetObjectItem(results, "runs"), entry);
}

void results_set_stop(cJSON *results, uint64_t repetition, const char *why)
{
	cJSON *stopped;

	cJSON_DeleteItemFromObject(results, "stopped");
	if (why == NULL)
		return;
	stopped = cJSON_AddObjectToObject(results, "stopped");
	cJSON_AddNumberToObject(stopped, "repetition", (double)repetition);
	cJSON_AddStringToObject(stopped, "why", why);
}

bool results_read_run(const cJSON *entry, struct results_run *run)
{
	const cJSON *arm = cJSON_GetObjectItem(entry, "arm");

	*run = (struct results_run){
		.arm = json_text(entry, "arm"),
		.repetition = (uint64_t)json_number(entry, "repetition", 0),
		.percent_of_capacity =
			json_number(entry, "percent_of_capacity", 0),
		.slice = (uint64_t)json_number(entry, "slice", 1),
		.attempt = (uint64_t)json_number(entry, "attempt", 1),
		.is_repeated =
			cJSON_IsTrue(cJSON_GetObjectItem(entry, "repeated")),
		.result = cJSON_GetObjectItem(entry, "result"),
	};
	while (run->load < ARRAY_SIZE(load_names) &&
	       strcmp(json_text(entry, "load"), load_names[run->load]) != 0)
		run->load++;
	return run->load < ARRAY_SIZE(load_names) && cJSON_IsString(arm) &&
	       run->repetition > 0;
}

size_t results_count_runs(const cJSON *results)
{
	struct results_run run;
	const cJSON *entry;
	size_t count = 0;

	cJSON_ArrayForEach(entry, cJSON_GetObjectItem(results, "runs")) count +=
		results_read_run(entry, &run) && run.load != LOAD_WARM_UP;
	return count;
}

double results_disturbed_percent(const cJSON *result)
{
	return json_number(result, "machine.disturbed_percent", NAN);
}

double results_capacity_per_s(const cJSON *results, const struct plan *plan,
			      const char *arm, uint64_t repetition,
			      bool *all_left_out)
{
	struct sample quiet = { 0 }, left_out = { 0 };
	struct results_run run;
	const cJSON *entry;

	cJSON_ArrayForEach(entry, cJSON_GetObjectItem(results, "runs"))
	{
		if (!results_read_run(entry, &run) || run.is_repeated ||
		    run.load != LOAD_CLOSED || run.repetition != repetition ||
		    strcmp(run.arm, arm) != 0)
			continue;
		sample_add(results_disturbed_percent(run.result) >
					   plan_left_out_percent(plan) ?
				   &left_out :
				   &quiet,
			   json_number(run.result, "responses_per_s", 0));
	}
	*all_left_out = quiet.count == 0 && left_out.count > 0;
	return sample_median(*all_left_out ? &left_out : &quiet);
}

static const char *value_text(const cJSON *item, char number[32])
{
	if (cJSON_IsString(item) && *item->valuestring != '\0')
		return item->valuestring;
	if (!cJSON_IsNumber(item))
		return "none";
	snprintf(number, 32, "%.15g", item->valuedouble);
	return number;
}

bool results_are_alike(const cJSON *now, const cJSON *before,
		       struct error *error)
{
	static const struct {
		const char *name, *path;
	} facts[] = {
		{ "processor", "machine.cpu" },
		{ "number of cores", "machine.cores" },
		{ "data set", "dataset" },
		{ "number of files", "runs.0.result.files" },
		{ "bytes of the files", "runs.0.result.uploaded_bytes" },
		{ "query", "plan.query" },
		{ "file of queries", "plan.params" },
		{ "number of connections", "plan.closed.connections" },
		{ "counter", "runs.0.result.server_counter.name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		const cJSON *a = json_at(now, facts[i].path);
		const cJSON *b = json_at(before, facts[i].path);
		char numbers[2][32];
		const char *is = value_text(a, numbers[0]);
		const char *was = value_text(b, numbers[1]);
		bool is_later = strncmp(facts[i].path, "runs.", 5) == 0;

		if (strcmp(is, was) != 0 &&
		    !(is_later && (a == NULL || b == NULL)))
			return error_fail(error,
					  "these cannot be compared: the %s is "
					  "%s, and was %s",
					  facts[i].name, is, was);
	}
	return true;
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

double results_count_refused(const cJSON *result)
{
	return json_number(result, "responses.503", 0);
}

bool results_read_plan(const cJSON *results, struct plan *plan,
		       struct error *error)
{
	const cJSON *dataset = cJSON_GetObjectItem(results, "dataset");
	cJSON *json = cJSON_GetObjectItem(results, "plan");

	if (strcmp(json_text(results, "schema"), RESULTS_SCHEMA) != 0 ||
	    json == NULL)
		return error_fail(error, "not of schema " RESULTS_SCHEMA);
	if (!plan_read(plan, cJSON_Duplicate(json, 1), error))
		return false;
	if (cJSON_IsString(dataset))
		plan->dataset = dataset->valuestring;
	return true;
}
