/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/measurement.h"

#include "loadgen/compare/first_failure.h"
#include "loadgen/compare/json_file.h"
#include "loadgen/compare/process.h"
#include "loadgen/compare/results.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 24, VALUE_BYTES = 32, TAIL_BYTES = 320 };

struct arguments {
	const char *words[ARGUMENTS_MAX + 1];
	char values[ARGUMENTS_MAX][VALUE_BYTES]; /* of numbers */
	size_t count;
};

static void add(struct arguments *a, const char *option, const char *value)
{
	assert(a->count + 2 <= ARGUMENTS_MAX);
	a->words[a->count++] = option;
	a->words[a->count++] = value;
}

static void add_count(struct arguments *a, const char *option, uint64_t value)
{
	char *text = a->values[a->count];

	snprintf(text, VALUE_BYTES, "%" PRIu64, value);
	add(a, option, text);
}

static void add_decimal(struct arguments *a, const char *option, double value)
{
	char *text = a->values[a->count];

	snprintf(text, VALUE_BYTES, "%.6f", value);
	add(a, option, text);
}

static void fill(struct arguments *a, const struct measurement *m,
		 const char *json)
{
	a->words[a->count++] = "/proc/self/exe";
	add(a, "--dataset", m->dataset);
	add(a, "--json", json);
	add_count(a, "--connections", m->connections);
	add_count(a, "--seed", m->seed);
	if (m->rate_per_s > 0)
		add_decimal(a, "--rate", m->rate_per_s);
	if (m->passes > 0)
		add_count(a, "--passes", m->passes);
	else
		add_decimal(a, "--duration", m->duration_s);
	if (m->verify != NULL)
		add(a, "--verify", m->verify);
	if (m->csv != NULL)
		add(a, "--csv", m->csv);
	a->words[a->count++] = m->url;
}

/* loadgen ends with 1 if not all was answered: that is a result, too. */
static bool read_result(int status, const char *json, const char *log,
			cJSON **result, struct error *error)
{
	char how[64];
	char tail[TAIL_BYTES];

	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) {
		*result = json_file_read(json, error);
		return *result != NULL;
	}
	process_describe(status, how, sizeof(how));
	process_log_tail(log, tail, sizeof(tail));
	error_set(error, "loadgen: %s\n%s", how, tail);
	return false;
}

bool measurement_run(const struct measurement *m, const char *folder,
		     const volatile sig_atomic_t *stop, cJSON **result,
		     struct error *error)
{
	struct arguments arguments = { 0 };
	struct process process = { 0 };
	int status;
	struct process_config config = { .command = arguments.words };
	char *json = NULL;
	char *log = NULL;
	bool ran = false;

	if (asprintf(&json, "%s/run.json", folder) >= 0 &&
	    asprintf(&log, "%s/loadgen.log", folder) >= 0) {
		fill(&arguments, m, json);
		config.log = log;
		unlink(json);
		ran = process_start(&process, &config, error);
	} else {
		error_set(error, "out of memory");
	}
	if (ran) {
		process_wait(&process, stop, &status);
		ran = read_result(status, json, log, result, error);
		unlink(json);
	}
	free(json);
	free(log);
	return ran;
}

static bool check_answered(const cJSON *result, const char *csv,
			   struct error *error)
{
	double requests = json_number(result, "requests", 0);
	double failed = requests - results_count_ok(result);
	struct error first;

	if (failed == 0)
		return true;
	if (csv != NULL && first_failure_find(csv, &first))
		error_set(error,
			  "%.0f of %.0f requests were not answered 2xx; the "
			  "first: %s",
			  failed, requests, first.text);
	else
		error_set(error, "%.0f of %.0f requests were not answered 2xx",
			  failed, requests);
	return false;
}

static bool check_verified(const cJSON *result, struct error *error)
{
	const cJSON *verify =
		cJSON_GetObjectItemCaseSensitive(result, "verify");
	const cJSON *first =
		cJSON_GetObjectItemCaseSensitive(verify, "first_wrong");
	double wrong = json_number(verify, "wrong", 0);

	if (wrong == 0)
		return true;
	error_set(error, "%.0f of %.0f replies are wrong: %s", wrong,
		  json_number(verify, "checked", 0),
		  cJSON_IsString(first) ? first->valuestring : "?");
	return false;
}

bool measurement_check(const cJSON *result, const char *csv,
		       struct error *error)
{
	if (json_number(result, "requests", 0) > 0)
		return check_answered(result, csv, error) &&
		       check_verified(result, error);
	error_set(error, "nothing was sent");
	return false;
}
