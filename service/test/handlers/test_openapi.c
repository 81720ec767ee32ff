/* SPDX-License-Identifier: MIT */
/*
 * The description of the API has every route with a summary, and nothing that
 * is no route; openapi/test_openapi.sh compares it with replies.
 */
#include "service/http/handlers/openapi.h"

#include "service/http/head/params.h"
#include "service/http/request.h"

#include "base/test/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static cJSON *description(void)
{
	char *text = openapi_make();
	cJSON *o = cJSON_Parse(text);

	CHECK(o != NULL);
	free(text);
	return o;
}

static const cJSON *find_operation(const cJSON *paths,
				   const struct route *route)
{
	const char *method = route_method_name(route);
	char name[16] = "";

	for (size_t i = 0; method[i] != '\0'; i++)
		name[i] = (char)tolower((unsigned char)method[i]);
	return cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(paths, route->path), name);
}

static void test_every_route_is_described(void)
{
	cJSON *o = description();
	const cJSON *paths = cJSON_GetObjectItem(o, "paths"), *path;
	const struct route *route;
	uint32_t count = 0, found = 0;

	for (uint32_t i = 0; (route = route_at(i)) != NULL; i++) {
		const cJSON *operation = find_operation(paths, route);

		if ((route->role == ROLE_PAGE && !route->is_described) ||
		    route->makes)
			continue;
		count++;
		if (cJSON_GetObjectItem(operation, "summary") == NULL)
			(void)fprintf(stderr, "not described: %s %s\n",
				      route_method_name(route), route->path);
		CHECK(cJSON_GetObjectItem(operation, "summary") != NULL);
		CHECK(cJSON_GetObjectItem(operation, "operationId") != NULL);
	}
	cJSON_ArrayForEach(path, paths) found +=
		(uint32_t)cJSON_GetArraySize(path);
	CHECK(found == count);
	CHECK(cJSON_GetObjectItem(o, "operations") == NULL);
	cJSON_Delete(o);
}

static void test_every_parameter_is_there(void)
{
	cJSON *o = description();
	const cJSON *all = cJSON_GetObjectItem(
		cJSON_GetObjectItem(o, "components"), "parameters");

	for (uint32_t i = 0; i < params_count; i++) {
		const cJSON *p = cJSON_GetObjectItemCaseSensitive(
			all, params_table[i].name);

		CHECK(cJSON_GetObjectItem(p, "schema") != NULL);
		CHECK(cJSON_GetObjectItem(p, "example") != NULL);
	}
	cJSON_Delete(o);
}

int main(void)
{
	test_every_route_is_described();
	test_every_parameter_is_there();
	return 0;
}
