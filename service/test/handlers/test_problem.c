/* SPDX-License-Identifier: MIT */
/*
 * Promises: every problem has a 4xx or 5xx status and its own stable code; the
 * numbers of a limit are members, as far as they are known.
 */
#include "service/http/reply/problem.h"
#include "service/http/transport.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
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
		char *text = problem_json((enum problem)i, NULL, NULL, "id-1");
		cJSON *o = cJSON_Parse(text);

		CHECK_NUMBER(status, >=, 400);
		CHECK_NUMBER(status, <=, 599);
		CHECK_NUMBER(cJSON_GetObjectItem(o, "status")->valuedouble, ==,
			     (double)status);
		CHECK_NUMBER(strlen(member(o, "title")), >, 0);
		CHECK_NUMBER(strlen(member(o, "detail")), >, 0);
		CHECK_TEXT(member(o, "type"), "about:blank");
		CHECK_TEXT(member(o, "request_id"), "id-1");
		(void)strncpy(codes[i], member(o, "code"), 63);
		for (int k = PROBLEM_NONE + 1; k < i; k++)
			CHECK(strcmp(codes[i], codes[k]) != 0);
		cJSON_Delete(o);
		free(text);
	}
}

/* http_reason() ends the program if there is none. */
static void test_each_status_has_a_reason(void)
{
	for (enum problem p = PROBLEM_NONE + 1; p < PROBLEMS; p++)
		CHECK_NUMBER(http_reason(problem_status(p))[0], !=, '\0');
	CHECK_TEXT(http_reason(404), "Not Found");
}

static void test_better_detail_is_used(void)
{
	char *text =
		problem_json(PROBLEM_BAD_PARAMETER, "w is \"odd\".", NULL, "x");
	cJSON *o = cJSON_Parse(text);

	CHECK_TEXT(member(o, "detail"), "w is \"odd\".");
	cJSON_Delete(o);
	free(text);
}

/* What cJSON_PrintUnformatted() prints of the members about a limit. */
static void check_excess(const struct excess *excess, const char *wanted)
{
	static const char *const names[] = { "limit", "value", "unit" };
	char *text = problem_json(PROBLEM_BODY_TOO_LARGE, NULL, excess, "x");
	cJSON *o = cJSON_Parse(text), *found = cJSON_CreateObject();
	char *printed;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (cJSON_HasObjectItem(o, names[i]))
			(void)cJSON_AddItemToObject(
				found, names[i],
				cJSON_DetachItemFromObject(o, names[i]));
	printed = cJSON_PrintUnformatted(found);
	CHECK_TEXT(printed, wanted);
	cJSON_free(printed);
	cJSON_Delete(found);
	cJSON_Delete(o);
	free(text);
}

static void test_numbers_of_a_limit_are_members(void)
{
	check_excess(NULL, "{}");
	check_excess(&(struct excess){ .unit = NULL }, "{}");
	check_excess(&(struct excess){ 199756801, 1e8, "pixels" },
		     "{\"limit\":100000000,\"value\":199756801,"
		     "\"unit\":\"pixels\"}");
	check_excess(&(struct excess){ 1.25, 0.5, "seconds" },
		     "{\"limit\":0.5,\"value\":1.25,\"unit\":\"seconds\"}");
	check_excess(&(struct excess){ NAN, 64, "scans" },
		     "{\"limit\":64,\"unit\":\"scans\"}");
}

static void test_each_image_error_is_a_problem(void)
{
	struct upload u = { .end = UPLOAD_ENDED, .err = IMG_OK };

	CHECK_NUMBER(problem_of_upload(&u), ==, PROBLEM_NONE);
	for (int i = IMG_OK + 1; i <= IMG_ERR_NO_MEMORY; i++) {
		u.err = (enum img_err)i;
		CHECK_NUMBER(problem_status(problem_of_upload(&u)), >=, 400);
	}
}

/* How an accepted upload ends for good: each by a problem that is final. */
static void test_what_ends_an_upload_is_final(void)
{
	struct upload u = { .end = UPLOAD_ENDED };

	for (uint32_t f = 0; f < IMG_FORMATS; f++)
		for (int i = IMG_OK + 1; i < IMG_ERR_NO_MEMORY; i++) {
			u.header.format = img_formats[f];
			u.err = (enum img_err)i;
			CHECK(problem_is_final(problem_of_upload(&u)));
		}
	u.end = UPLOAD_TOO_MUCH;
	CHECK(problem_is_final(problem_of_upload(&u)));
	u.end = UPLOAD_TOO_MUCH_OUTPUT;
	CHECK(problem_is_final(problem_of_upload(&u)));
	u.end = UPLOAD_TOO_MUCH_CPU;
	CHECK(problem_is_final(problem_of_upload(&u)));
	u.end = UPLOAD_LATE;
	CHECK(!problem_is_final(problem_of_upload(&u)));
	CHECK(!problem_is_final(PROBLEM_NONE));
	CHECK(!problem_is_final(PROBLEM_METHOD_NOT_ALLOWED));
}

int main(void)
{
	test_each_is_whole_and_unlike_the_others();
	test_each_status_has_a_reason();
	test_better_detail_is_used();
	test_numbers_of_a_limit_are_members();
	test_each_image_error_is_a_problem();
	test_what_ends_an_upload_is_final();
	return 0;
}
