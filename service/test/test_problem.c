/* SPDX-License-Identifier: MIT */
/* Promise: every problem has a 4xx or 5xx status and its own stable code. */
#include "service/http/problem.h"
#include "service/http/transport.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static const char *member(const cJSON *o, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(o, name));
}

static void test_each_is_whole_and_unlike_the_others(void)
{
	char codes[PROBLEMS][64] = { { 0 } };

	for (int i = PROBLEM_NONE + 1; i < PROBLEMS; i++) {
		unsigned int status = problem_status((enum problem)i);
		char *text = problem_json((enum problem)i, NULL, "id-1");
		cJSON *o = cJSON_Parse(text);

		assert(status >= 400 && status <= 599);
		assert(cJSON_GetObjectItem(o, "status")->valuedouble ==
		       (double)status);
		assert(strlen(member(o, "title")) > 0);
		assert(strlen(member(o, "detail")) > 0);
		assert(strcmp(member(o, "type"), "about:blank") == 0);
		assert(strcmp(member(o, "request_id"), "id-1") == 0);
		(void)strncpy(codes[i], member(o, "code"), 63);
		for (int k = PROBLEM_NONE + 1; k < i; k++)
			assert(strcmp(codes[i], codes[k]) != 0);
		cJSON_Delete(o);
		free(text);
	}
}

/* http_reason() ends the program if there is none. */
static void test_each_status_has_a_reason(void)
{
	for (enum problem p = PROBLEM_NONE + 1; p < PROBLEMS; p++)
		assert(http_reason(problem_status(p))[0] != '\0');
	assert(strcmp(http_reason(404), "Not Found") == 0);
}

static void test_better_detail_is_used(void)
{
	char *text = problem_json(PROBLEM_BAD_PARAMETER, "w is \"odd\".", "x");
	cJSON *o = cJSON_Parse(text);

	assert(strcmp(member(o, "detail"), "w is \"odd\".") == 0);
	cJSON_Delete(o);
	free(text);
}

static void test_each_image_error_is_a_problem(void)
{
	struct upload u = { .end = UPLOAD_ENDED, .err = IMG_OK };

	assert(problem_of_upload(&u) == PROBLEM_NONE);
	for (int i = IMG_OK + 1; i <= IMG_ERR_NO_MEMORY; i++) {
		u.err = (enum img_err)i;
		assert(problem_status(problem_of_upload(&u)) >= 400);
	}
}

int main(void)
{
	test_each_is_whole_and_unlike_the_others();
	test_each_status_has_a_reason();
	test_better_detail_is_used();
	test_each_image_error_is_a_problem();
	return 0;
}
