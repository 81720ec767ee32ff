/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/plan.h"

#include "base/machine_usage.h"
#include "base/options.h"
#include "base/util.h"
#include "loadgen/options.h"

#include <stdio.h>
#include <string.h>

enum { PASSES_MAX = 1000000, SECONDS_MAX = 86400 };

/* A key with the same name as its field.  Messages call its value `kind`. */
#define KEY(parent, field, kind)                                               \
	.name = #field, .values = kind, FLAG_FIELD(struct parent, field)

static const struct flag top_keys[] = {
	{ KEY(plan, title, "TEXT"), .help = "of the report; required" },
	{ KEY(plan, dataset, "DIR"),
	  .help = "the files to send; --dataset overrides it" },
	{ .name = "query",
	  .values = "TEXT",
	  .help = "appended to the URL of each arm, such as \"w=640&h=640\"" },
	{ KEY(plan, params, "FILE"),
	  .help = "queries to draw from, as for --params of loadgen(1)" },
	{ KEY(plan, cacert, "FILE"), .help = "as --cacert of loadgen(1)" },
	{ .name = "verify",
	  .values = "size|decode|none",
	  .initial = "size",
	  .help = "how the replies of the pass that warms a server up are "
		  "checked, as by --verify of loadgen(1)",
	  FLAG_CHOICE_FIELD(struct plan, verify) },
	{ .name = "refusals",
	  .values = "fail|count",
	  .initial = "fail",
	  .help = "what a reply 503 in a closed loop does: end the comparison, "
		  "or count, and the connection sends its next request at once",
	  FLAG_CHOICE_FIELD(struct plan, refusals) },
	{ KEY(plan, server_counter, "NAME"),
	  .help = "compare how fast this counter in the /metrics of the "
		  "servers grows; all must have it" },
	{ KEY(plan, repetitions, "N"), .least = 1, .most = PLAN_REPETITIONS_MAX,
	  .initial = "10",
	  .help = "how often each arm is measured, in random order" },
	{ KEY(plan, disturbed_percent, "PERCENT"), .least = 0.1, .most = 100,
	  .initial = TEXT_OF(MACHINE_DISTURBED_PERCENT),
	  .help = "a run is made again at once, up to three times in all, if "
		  "other programs and the hypervisor took more than this of "
		  "the machine's cores; 100: none is" },
	{ KEY(plan, left_out_percent, "PERCENT"), .least = 0.1, .most = 100,
	  .initial = TEXT_OF(MACHINE_NO_VERDICT_PERCENT),
	  .help = "a run that is still disturbed by more than this counts in "
		  "no figure and no verdict; not less than disturbed_percent" },
	{ .name = "closed",
	  .values = "{...}",
	  .help = "the closed loops; required" },
	{ .name = "open",
	  .values = "{...}",
	  .help = "open loops; default: none" },
	{ .name = "arms",
	  .values = "[{...}, ...]",
	  .help = "the servers, 1 to 16; the first is the baseline; required" },
	{ 0 },
};

static const struct flag closed_keys[] = {
	{ KEY(closed_loop, connections, "N"), .least = 1,
	  .most = PLAN_CONNECTIONS_MAX,
	  .help = "required; each sends its next request when its last reply "
		  "is complete" },
	{ KEY(closed_loop, passes, "N"), .least = 1, .most = PASSES_MAX,
	  .help = "send every file N times; or duration_s" },
	{ KEY(closed_loop, duration_s, "S"), .least = 0.001,
	  .most = SECONDS_MAX, .help = "send for S seconds" },
	{ KEY(closed_loop, slices, "N"), .least = 1, .most = PLAN_SLICES_MAX,
	  .initial = "1",
	  .help = "measure each arm N times in a repetition, in turns, and "
		  "take the mean" },
	{ 0 },
};

static const struct flag open_keys[] = {
	{ .name = "percent_of_capacity",
	  .values = "[N, ...]",
	  .help = "request rates that rise, in % of the first arm's rate in "
		  "the closed loops of the repetition; required" },
	{ KEY(open_loop, connections, "N"), .least = 1,
	  .most = PLAN_CONNECTIONS_MAX, .initial = "256",
	  .help = "opened when needed, at most N" },
	{ KEY(open_loop, duration_s, "S"), .least = 0.001, .most = SECONDS_MAX,
	  .help = "seconds at each rate; required" },
	{ 0 },
};

static const struct flag arm_keys[] = {
	{ KEY(arm, name, "TEXT"),
	  .help = "in tables and for --arms: 1 to 48 bytes, no comma; "
		  "required" },
	{ .name = "command",
	  .values = "[\"WORD\", ...]",
	  .help = "program and arguments that start the server; {port} is a "
		  "free port; default: it runs already, and is not stopped" },
	{ .name = "environment",
	  .values = "{\"NAME\": \"VALUE\", ...}",
	  .help = "variables to add, also with {port}" },
	{ KEY(arm, directory, "DIR"),
	  .help = "where to run the command; default: here" },
	{ KEY(arm, url, "URL"),
	  .help = "such as http://127.0.0.1:{port}/; required" },
	{ KEY(arm, connections, "N"), .least = 1, .most = PLAN_CONNECTIONS_MAX,
	  .help = "of this arm, in both loops; default: as in closed and "
		  "open" },
	{ 0 },
};

const struct flag_group plan_keys[] = {
	{ .flags = top_keys, .title = "Keys of a plan" },
	{ .flags = closed_keys, .title = "Keys of closed" },
	{ .flags = open_keys, .title = "Keys of open" },
	{ .flags = arm_keys, .title = "Keys of each of arms" },
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
	flags_init(closed_keys, closed);
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
	flags_init(open_keys, open);
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

static const char bad_name[] = "its name must have 1 to 48 bytes, not only "
			       "spaces, and no comma";

static bool is_name(const char *name)
{
	return strlen(name) <= PLAN_NAME_BYTES_MAX &&
	       strpbrk(name, ",\n") == NULL &&
	       name[strspn(name, " \t")] != '\0';
}

static bool read_arm(struct plan *plan, const cJSON *json, struct error *error)
{
	struct arm *arm = &plan->arms[plan->arm_count++];
	char name[PLAN_NAME_BYTES_MAX + 16];
	const struct section s = { json, name, error };
	const cJSON *given = item_at(&s, "name");

	snprintf(name, sizeof(name), "arm %zu", plan->arm_count);
	if (cJSON_IsString(given) && !is_name(given->valuestring))
		return refuse(&s, bad_name);
	if (!read_keys(&s, arm_keys, arm))
		return false;
	if (arm->name == NULL)
		return refuse(&s, bad_name);
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

	*plan = (struct plan){ .json = json, .query = "" };
	flags_init(top_keys, plan);
	if (!read_keys(&s, top_keys, plan))
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
	if (item_at(&s, "left_out_percent") != NULL &&
	    plan->left_out_percent < plan->disturbed_percent)
		return error_fail(error,
				  "plan: left_out_percent: %g is less than "
				  "disturbed_percent, %g",
				  plan->left_out_percent,
				  plan->disturbed_percent);
	return read_closed(&plan->closed, &closed) &&
	       read_open(&plan->open, &open) && read_arms(plan, &s);
}

/* The plan has no arm of this name.  Returns false. */
static bool refuse_arm(const struct plan *plan, const char *name,
		       size_t name_bytes, struct error *error)
{
	size_t at;

	error_set(error, "the plan has no arm '%.*s'; there are",
		  (int)name_bytes, name);
	at = strlen(error->text);
	for (size_t i = 0; i < plan->arm_count && at < sizeof(error->text); i++)
		at += (size_t)snprintf(error->text + at,
				       sizeof(error->text) - at, "%s %s",
				       i > 0 ? "," : "", plan->arms[i].name);
	return false;
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
			return refuse_arm(plan, name, length, error);
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

double plan_left_out_percent(const struct plan *plan)
{
	return plan->left_out_percent > plan->disturbed_percent ?
		       plan->left_out_percent :
		       plan->disturbed_percent;
}

bool plan_judges(const struct plan *plan)
{
	return plan->disturbed_percent < 100;
}

void plan_release(struct plan *plan)
{
	cJSON_Delete(plan->json);
	*plan = (struct plan){ 0 };
}
