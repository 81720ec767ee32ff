/* SPDX-License-Identifier: MIT */
/* What is written is the same text that cJSON prints for the same values. */
#include "base/json.h"

#include "base/test/check.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

static const double numbers[] = { 0,      -0.0, 1,    -17,  0.1,
				  1e300,  1e-7, 3.25, 1e15, 123456789012345,
				  1.0 / 3 };

static const char odd_text[] = "\"quoted\" \\ \b\f\n\r\t \x01\x1f / \xc3\xa4";

static void write_all(struct json *j)
{
	json_open_object(j, NULL);
	json_add_text(j, "text", odd_text);
	json_open_array(j, "numbers");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_add_number(j, NULL, numbers[i]);
	json_close(j);
	json_open_object(j, "empty \"object\"");
	json_close(j);
	json_open_array(j, "empty array");
	json_close(j);
	json_open_array(j, "objects");
	for (int i = 0; i < 2; i++) {
		json_open_object(j, NULL);
		json_add_bool(j, "true", true);
		json_add_bool(j, "false", false);
		json_add_text(j, "null", NULL);
		json_add_number(j, "not a number", NAN);
		json_close(j);
	}
	json_close(j);
	json_add_whole(j, "whole", 1099511627776);
	json_close(j);
}

static char *written(enum json_style style)
{
	struct text text;
	FILE *out = text_open(&text);
	struct json j;

	CHECK(out != NULL);
	json_begin(&j, out, style);
	write_all(&j);
	CHECK_NUMBER(j.depth, ==, 0);
	return text_close(&text, out);
}

/* Parsed and printed again by cJSON, the text is the same. */
static void test_layout_is_that_of_cjson(void)
{
	for (int style = JSON_COMPACT; style <= JSON_INDENTED; style++) {
		char *text = written((enum json_style)style);
		struct error error;
		cJSON *json = json_read_text(text, &error);
		char *again = style == JSON_INDENTED ?
				      cJSON_Print(json) :
				      cJSON_PrintUnformatted(json);

		CHECK(json != NULL);
		CHECK_TEXT(text, again);
		CHECK_TEXT(cJSON_GetObjectItem(json, "text")->valuestring,
			   odd_text);
		cJSON_free(again);
		cJSON_Delete(json);
		free(text);
	}
}

static void test_large_whole_numbers_are_exact(void)
{
	char text[32] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	struct json j;

	CHECK(out != NULL);
	json_begin(&j, out, JSON_COMPACT);
	json_add_whole(&j, NULL, UINT64_MAX);
	CHECK_NUMBER(fclose(out), ==, 0);
	CHECK_TEXT(text, "18446744073709551615");
}

/* A buffer has what a stream has, as far as there is room. */
static void test_buffers(void)
{
	static const char wanted[] =
		"{\"a\":[1.000250,0.008],\"b\":0.125,\"c\":null,"
		"\"d\":\"\\u007f\\n\"}";
	char bytes[sizeof(wanted)];

	for (size_t room = 0; room <= sizeof(wanted); room++) {
		size_t whole = sizeof(wanted) - 1;
		struct json j;

		json_begin_bytes(&j, bytes, room);
		json_open_object(&j, NULL);
		json_open_array(&j, "a");
		json_add_decimal(&j, NULL, 1000250, 6);
		json_add_decimal(&j, NULL, 8, 3);
		json_close(&j);
		json_add_rounded(&j, "b", 0.12504, 3);
		json_add_rounded(&j, "c", NAN, 3);
		json_add_text(&j, "d", "\x7f\n");
		json_close(&j);
		CHECK_NUMBER((size_t)(j.at - bytes), ==,
			     (room < whole ? room : whole));
		CHECK(memcmp(bytes, wanted, (size_t)(j.at - bytes)) == 0);
	}
}

/* A line ends after each comma of the outermost array. */
static void test_lines(void)
{
	struct text text;
	FILE *out = text_open(&text);
	struct json j;
	char *lines;

	CHECK(out != NULL);
	json_begin(&j, out, JSON_LINES);
	json_open_array(&j, NULL);
	for (uint64_t i = 0; i < 2; i++) {
		json_open_object(&j, NULL);
		json_add_whole(&j, "a", i);
		json_add_whole(&j, "b", i);
		json_close(&j);
	}
	json_close(&j);
	lines = text_close(&text, out);
	CHECK(lines != NULL);
	CHECK_TEXT(lines, "[{\"a\":0,\"b\":0},\n{\"a\":1,\"b\":1}]");
	free(lines);
}

static void test_files_that_are_not_json(void)
{
	char path[] = "/tmp/test_base_json-XXXXXX";
	int fd = mkstemp(path);
	struct error error;
	cJSON *json;

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(write(fd, "{\n\"a\": 1,\n}", 11), ==, 11);
	CHECK(json_read_file(path, 100, &error) == NULL);
	CHECK_NUMBER(strstr(error.text, path), ==, error.text);
	CHECK_PART(error.text, ": not JSON in line 3");
	CHECK(json_read_file(path, 10, &error) == NULL);
	CHECK_PART(error.text, ": too large");
	CHECK_NUMBER(pwrite(fd, " ", 1, 8), ==, 1);
	json = json_read_file(path, 11, &error);
	CHECK(cJSON_IsNumber(cJSON_GetObjectItem(json, "a")));
	cJSON_Delete(json);
	CHECK(json_read_text("{} x", &error) == NULL);
	(void)close(fd);
	(void)unlink(path);
	CHECK(json_read_file(path, 10, &error) == NULL);
	CHECK_PART(error.text, ": No such file");
}

static void test_paths(void)
{
	struct error error;
	cJSON *json = json_read_text(
		"{\"a\": [1, {\"b\": {\"c\": 2, \"t\": \"x\"}}]}", &error);

	CHECK_NUMBER(json_number(json, "a.0", 0), ==, 1);
	CHECK_NUMBER(json_number(json, "a.1.b.c", 0), ==, 2);
	CHECK_TEXT(json_text(json, "a.1.b.t"), "x");
	CHECK_NUMBER(json_at(json, ""), ==, json);
	CHECK_NUMBER(cJSON_GetArraySize(json_at(json, "a")), ==, 2);
	CHECK(json_at(json, "a.2") == NULL);
	CHECK(json_at(json, "a.1.B") == NULL);
	CHECK(json_at(json, "a.0.b") == NULL);
	CHECK(json_at(NULL, "a") == NULL);
	CHECK_NUMBER(json_number(json, "a.1.b.t", 7), ==, 7);
	CHECK(isnan(json_number(json, "d", NAN)));
	CHECK_NUMBER(json_whole(json, "a.1.b.c"), ==, 2);
	CHECK_NUMBER(json_whole(json, "d"), ==, 0);
	CHECK_TEXT(json_text(json, "a.0"), "-");
	cJSON_Delete(json);
}

int main(void)
{
	test_paths();
	test_layout_is_that_of_cjson();
	test_large_whole_numbers_are_exact();
	test_buffers();
	test_lines();
	test_files_that_are_not_json();
	return 0;
}
