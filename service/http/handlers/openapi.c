/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/openapi.json: the description of the API for programs, OpenAPI 3.1.
 *
 * openapi.json has what people write: summaries, replies, schemas.  The rest is
 * made here of the tables by which the server works: paths and methods of
 * route.c, parameters of head/params.c, problems of reply/problem.c.
 */
#include "service/http/handlers/openapi.h"

#include "service/http/head/params.h"
#include "service/http/http_state.h"
#include "service/http/request.h"

#include "base/embed.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

EMBED_TEXT(openapi_text, "openapi.json")

enum { KEY_BYTES = 80 };

/* These add and return the new value; NULL: no memory. */

static cJSON *add_object(cJSON *to, const char *name)
{
	return cJSON_AddObjectToObject(to, name);
}

static void add_text(cJSON *to, const char *name, const char *text)
{
	if (text != NULL)
		(void)cJSON_AddStringToObject(to, name, text);
}

static void add_ref(cJSON *list, const char *kind, const char *name)
{
	char path[KEY_BYTES];
	cJSON *ref = cJSON_CreateObject();

	(void)snprintf(path, sizeof(path), "#/components/%s/%s", kind, name);
	add_text(ref, "$ref", path);
	(void)cJSON_AddItemToArray(list, ref);
}

static const char *const patterns[] = {
	[PARAM_COLOUR] = "^([0-9a-fA-F]{6}|transparent)$",
	[PARAM_SCORE] = "^(" PARAMS_SCORE_PREFIX "[0-9.]+|none)$",
	[PARAM_RECT] = "^[0-9]+,[0-9]+,[0-9]+,[0-9]+$",
	[PARAM_POINT] = "^[0-9.]+,[0-9.]+$",
	[PARAM_SIDES] = "^[0-9]+(,[0-9]+(,[0-9]+,[0-9]+)?)?$",
	[PARAM_WORD] = NULL,
	[PARAM_NAME] = "^[a-z0-9_-]{1,32}$",
};

static const char *const examples[] = {
	[PARAM_COLOUR] = "0080ff",     [PARAM_SCORE] = PARAMS_SCORE_PREFIX "75",
	[PARAM_RECT] = "10,20,100,80", [PARAM_POINT] = "0.5,0.25",
	[PARAM_SIDES] = "10",          [PARAM_WORD] = NULL,
	[PARAM_NAME] = "none",
};

static bool is_whole(const struct param *p)
{
	return p->kind == PARAM_SIDE || p->kind == PARAM_QUALITY ||
	       p->kind == PARAM_BYTES;
}

static void add_words(cJSON *schema, const struct param *p)
{
	cJSON *list = cJSON_AddArrayToObject(schema, "enum");

	add_text(schema, "type", "string");
	for (uint32_t i = 0; i < p->word_count; i++)
		(void)cJSON_AddItemToArray(
			list, cJSON_CreateString(p->words[i].name));
	add_text(schema, "default", p->default_text);
}

static void add_range(cJSON *schema, const struct param *p)
{
	add_text(schema, "type", is_whole(p) ? "integer" : "number");
	/* 0: there is none. */
	(void)cJSON_AddNumberToObject(schema, "minimum",
				      p->kind == PARAM_SIGMA ? 0 : p->min);
	(void)cJSON_AddNumberToObject(schema, "maximum", p->max);
	if (p->default_text != NULL)
		(void)cJSON_AddNumberToObject(schema, "default",
					      strtod(p->default_text, NULL));
}

static void add_schema(cJSON *to, const struct param *p)
{
	cJSON *schema = add_object(to, "schema");

	if (p->word_count > 0) {
		add_words(schema, p);
		add_text(to, "example", p->words[p->word_count - 1].name);
	} else if (patterns[p->kind] != NULL) {
		add_text(schema, "type", "string");
		add_text(schema, "pattern", patterns[p->kind]);
		add_text(schema, "default", p->default_text);
		add_text(to, "example", examples[p->kind]);
	} else if (p->auto_text != NULL) {
		cJSON *any = cJSON_AddArrayToObject(schema, "anyOf");
		cJSON *number = cJSON_CreateObject();
		cJSON *word = cJSON_CreateObject();

		add_range(number, p);
		add_text(word, "type", "string");
		add_text(word, "const", "auto");
		(void)cJSON_AddItemToArray(any, number);
		(void)cJSON_AddItemToArray(any, word);
		(void)cJSON_AddNumberToObject(to, "example", p->max);
	} else {
		add_range(schema, p);
		(void)cJSON_AddNumberToObject(to, "example", p->max);
	}
}

static void add_parameters(cJSON *components)
{
	cJSON *all = cJSON_GetObjectItem(components, "parameters");

	for (uint32_t i = 0; i < params_count; i++) {
		const struct param *p = &params_table[i];
		cJSON *o = add_object(all, p->name);

		add_text(o, "name", p->name);
		add_text(o, "in", "query");
		add_text(o, "description", p->help);
		add_schema(o, p);
	}
}

/* The codes, and what each means. */
static void add_problems(cJSON *components)
{
	cJSON *schema = cJSON_GetObjectItem(
		cJSON_GetObjectItem(components, "schemas"), "Problem");
	cJSON *code = cJSON_GetObjectItem(
		cJSON_GetObjectItem(schema, "properties"), "code");
	cJSON *list = cJSON_AddArrayToObject(code, "enum");
	cJSON *table = add_object(code, "x-problems");

	for (int i = PROBLEM_NONE + 1; i < PROBLEMS; i++) {
		const char *name = problem_code((enum problem)i);
		cJSON *o = add_object(table, name);

		(void)cJSON_AddItemToArray(list, cJSON_CreateString(name));
		(void)cJSON_AddNumberToObject(o, "status",
					      problem_status((enum problem)i));
		add_text(o, "title", problem_title((enum problem)i));
		add_text(o, "detail", problem_detail((enum problem)i));
	}
}

/* The parameters of an operation, and its body. */
static void add_input(cJSON *operation, const struct route *route)
{
	cJSON *takes = cJSON_DetachItemFromObject(operation, "x-takes");
	const char *what = cJSON_GetStringValue(takes);
	cJSON *list = cJSON_GetObjectItem(operation, "parameters");

	if (list == NULL)
		list = cJSON_AddArrayToObject(operation, "parameters");
	if (strstr(route->path, "{id}") != NULL)
		add_ref(list, "parameters", "id");
	if (strstr(route->path, "{variant}") != NULL)
		add_ref(list, "parameters", "variantName");
	if (what != NULL && strcmp(what, "file") != 0) {
		for (uint32_t i = 0; i < params_count; i++)
			add_ref(list, "parameters", params_table[i].name);
		add_ref(list, "parameters", "variant");
	}
	if (what != NULL && strcmp(what, "parameters") != 0) {
		add_ref(list, "parameters", "requestTimeout");
		add_text(add_object(operation, "requestBody"), "$ref",
			 "#/components/requestBodies/Picture");
	}
	cJSON_Delete(takes);
}

/* Who may: see enum role.  A server without keys asks for none. */
static void add_security(cJSON *operation, enum role role)
{
	cJSON *list = cJSON_AddArrayToObject(operation, "security");
	/* GET of an image, too, if it makes a picture. */
	bool needs_key = role == ROLE_UPLOAD || role == ROLE_REMOVAL ||
			 role == ROLE_REPORT;
	cJSON *o;

	if (needs_key) {
		o = cJSON_CreateObject();
		(void)cJSON_AddArrayToObject(o, "key");
		(void)cJSON_AddItemToArray(list, o);
	}
	if (role == ROLE_UPLOAD) {
		o = cJSON_CreateObject();
		(void)cJSON_AddArrayToObject(o, "signature");
		(void)cJSON_AddItemToArray(list, o);
	}
	(void)cJSON_AddItemToArray(list, cJSON_CreateObject());
}

static void add_operation(cJSON *paths, cJSON *described,
			  const struct route *route)
{
	static const char refs[] = "#/components/responses/Problem";
	const char *method = route_method_name(route);
	char key[KEY_BYTES], name[16];
	cJSON *path, *operation, *responses;

	(void)snprintf(key, sizeof(key), "%s %s", method, route->path);
	operation = cJSON_DetachItemFromObject(described, key);
	if (operation == NULL)
		operation = cJSON_CreateObject();
	for (size_t i = 0; i <= strlen(method); i++)
		name[i] = (char)(method[i] | (method[i] != '\0' ? 0x20 : 0));
	path = cJSON_GetObjectItemCaseSensitive(paths, route->path);
	if (path == NULL)
		path = add_object(paths, route->path);
	(void)cJSON_AddItemToObject(path, name, operation);
	add_input(operation, route);
	add_security(operation, route->role);
	responses = cJSON_GetObjectItem(operation, "responses");
	if (responses == NULL)
		responses = add_object(operation, "responses");
	add_text(add_object(responses, "4XX"), "$ref", refs);
	add_text(add_object(responses, "5XX"), "$ref", refs);
}

static void add_paths(cJSON *o)
{
	cJSON *described = cJSON_DetachItemFromObject(o, "operations");
	cJSON *paths = add_object(o, "paths");
	const struct route *route;

	for (uint32_t i = 0; (route = route_at(i)) != NULL; i++)
		/* What `makes` is described with the path's other GET. */
		if ((route->role != ROLE_PAGE || route->is_described) &&
		    !route->makes)
			add_operation(paths, described, route);
	cJSON_Delete(described);
}

char *openapi_make(void)
{
	cJSON *o = cJSON_Parse(openapi_text);
	cJSON *components = cJSON_GetObjectItem(o, "components");
	char *text;

	add_text(cJSON_GetObjectItem(o, "info"), "version", DARKROOM_VERSION);
	add_paths(o);
	add_parameters(components);
	add_problems(components);
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	return text;
}

static bool reply_description(struct request *r)
{
	struct reply p;

	if (!request_takes(r, NULL))
		return reply_with_problem(r, PROBLEM_BAD_PARAMETER);
	if (!reply_begin_text(r, &p, openapi_make()))
		return false;
	reply_add_header(&p, "Cache-Control", "no-cache");
	return reply_send(r, STATUS_OK, "application/json", &p);
}

const struct handler openapi_handler = { .reply = reply_description };
